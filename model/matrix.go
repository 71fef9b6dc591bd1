package model

import (
	"fmt"
	"maps"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// storages are the data types of a language model's matrices. In float32 they are ordinary parameters. The others take less memory, and less time
// where reading weights dominates: float16 and bfloat16 round; int8 holds w as q * s with one scale factor s for each output of the layer, the
// greatest |w| of that output / 127, so the error of a weight is at most s / 2.
var storages = map[string]*uop.DType{"float32": uop.Float32, "float16": uop.Float16, "bfloat16": uop.BFloat16, "int8": uop.Int8}

// storage is the data type of a name, nil for float32.
func storage(name string) (*uop.DType, error) {
	dt, ok := storages[name]
	switch {
	case name == "" || dt == uop.Float32:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("dtype: %q, expected one of %q", name, slices.Sorted(maps.Keys(storages)))
	}
	return dt, nil
}

// scaleOf is the name of the scale factors of an int8 matrix.
func scaleOf(name string) string { return name + ".scale" }

// matrix is the weight of a linear layer, or an embedding table.
type matrix struct {
	w *uop.UOp // in float32
	// inFirst: the layout of w is (in, out), else (out, in).
	inFirst bool
	// scale are the scale factors of the outputs, nil for none.
	scale *uop.UOp
}

// matrix names a weight, in the data type of the model's matrices. Equal names are the same weight.
func (b *builder) matrix(name string, out, in int64, inFirst bool) matrix {
	m, ok := b.matrices[name]
	if !ok {
		m = b.newMatrix(name, out, in, inFirst)
		if b.matrices == nil {
			b.matrices = map[string]matrix{}
		}
		b.matrices[name] = m
	}
	return m
}

func (b *builder) newMatrix(name string, out, in int64, inFirst bool) matrix {
	shape := []int64{out, in}
	if inFirst {
		shape = []int64{in, out}
	}
	if b.stored == nil {
		return matrix{w: b.param(name, nil, shape...), inFirst: inFirst}
	}
	m := matrix{w: must(tensor.Cast(b.stow(name, b.stored, inFirst, shape...), uop.Float32)), inFirst: inFirst}
	if b.stored == uop.Int8 {
		m.scale = b.stow(scaleOf(name), uop.Float32, false, out)
	}
	return m
}

// stow names a stored array: part of the model, but not a trainable parameter.
func (b *builder) stow(name string, dt *uop.DType, perColumn bool, shape ...int64) *uop.UOp {
	node := b.bufferOf(name, dt, shape)
	b.d.Variables = append(b.d.Variables, Variable{Name: name, Role: Param, Shape: shape, Node: node, Stored: dt, PerColumn: perColumn})
	return shaped(node, shape)
}

// times is h @ wᵀ for h (…, in).
func (m matrix) times(h *uop.UOp) *uop.UOp {
	w := m.w
	if !m.inFirst {
		w = must(tensor.Transpose(w, 0, 1))
	}
	y := must(tensor.MatMul(h, w))
	if m.scale != nil {
		y = must(tensor.Mul(y, m.scale))
	}
	return y
}

// rows are rows of an embedding table by index.
func (m matrix) rows(at *uop.UOp) *uop.UOp {
	r := must(tensor.Embedding(m.w, at))
	if m.scale != nil {
		n, _ := m.scale.Shape().Ints()
		r = must(tensor.Mul(r, must(tensor.Embedding(shaped(m.scale, []int64{n[0], 1}), at))))
	}
	return r
}
