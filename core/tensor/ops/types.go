package ops

import (
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Types are the types that the operands of an operation may have.
type Types int

// The sets of types.
const (
	AnyType       Types = iota
	FloatTypes          // floating types
	IntegerTypes        // integers: not bool
	IntegerOrBool       // integers and bool
)

// String returns the set for the documentation.
func (t Types) String() string {
	return [...]string{"any", "floating types", "integers", "integers and bool"}[t]
}

// Operations of other sets than AnyType, and those without a gradient: their results are indices, truth values or integers.
var (
	typesOf = setsByName(map[Types]string{
		FloatTypes: `rand_like triangular_solve cdist scaled_dot_product_attention layernorm rmsnorm groupnorm binary_crossentropy
			binary_crossentropy_logits cross_entropy nll_loss sparse_categorical_crossentropy ctc_loss mse_loss l1_loss huber_loss`,
		IntegerTypes:  "bincount lshift rshift one_hot",
		IntegerOrBool: "bitwise_and bitwise_or bitwise_xor bitwise_not",
	})
	withoutGradient = setsByName(map[bool]string{
		true: `eq ne lt le gt ge logical_not isnan isinf isfinite isclose allclose isin all argmax argmin argsort nonzero searchsorted
			bincount histogram one_hot multinomial keccak zeros_like ones_like full_like rand_like randn_like idiv rshift
			bitwise_and bitwise_or bitwise_xor bitwise_not`,
	})
)

func setsByName[K comparable](names map[K]string) map[string]K {
	out := map[string]K{}
	for k, list := range names {
		for name := range strings.FieldsSeq(list) {
			out[name] = k
		}
	}
	return out
}

// ofOneType is a function whose operands NumPy promotes to one type: signed integers beside uint64 to float64, the only one that has a place for
// both. Operators of Tensors give uint64, as tinygrad's do; comparisons are exact and need no common type.
func ofOneType(op Op) Op {
	build := op.Build
	op.Build = func(a *Args) ([]*uop.UOp, error) {
		a.signedAsFloats()
		return build(a)
	}
	return op
}

func ofOneTypes(list []Op) []Op {
	for i := range list {
		list[i] = ofOneType(list[i])
	}
	return list
}

// signedAsFloats casts tensors of signed integers to float64 if another one is uint64.
func (a *Args) signedAsFloats() {
	signed, long := false, false
	a.each(func(u *uop.UOp) *uop.UOp {
		signed, long = signed || isSigned(u.DType), long || u.DType == uop.Uint64
		return u
	})
	if !signed || !long {
		return
	}
	a.each(func(u *uop.UOp) *uop.UOp {
		if isSigned(u.DType) {
			u, _ = tensor.Cast(u, uop.Float64) // between numbers always
		}
		return u
	})
}

func isSigned(dt *uop.DType) bool { return dt.IsInt() && !dt.IsUnsigned() }

// each puts what f gives in place of the tensors of a call.
func (a *Args) each(f func(u *uop.UOp) *uop.UOp) {
	if a.X != nil {
		a.X = f(a.X)
	}
	for i, u := range a.Xs {
		a.Xs[i] = f(u)
	}
	for i, v := range a.values {
		if u, is := v.(*uop.UOp); is {
			a.values[i] = f(u)
		}
	}
}
