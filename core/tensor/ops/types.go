package ops

import "strings"

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
