package main

import "testing"

func TestErrorsNameArgumentsAsTheHeaderDoes(t *testing.T) {
	for _, c := range []struct{ fn, text, want string }{
		{"poly_cumsum", "dim: 9 is out of range", "axis: 9 is out of range"},
		{"poly_permute", "order[1]: twice", "perm[1]: twice"},
		{"poly_reshape", "shape: cannot reshape", "dims: cannot reshape"},
		{"poly_full", "shape: too many elements", "shape: too many elements"},
		{"poly_binary", "operands: do not fit", "operands: do not fit"},
		{"poly_exp", "reshape: does not fit", "arguments: reshape: does not fit"},
		{"poly_sum_reduce", "shape: tensor.Reshape: cannot", "shape: cannot"},
		{"poly_exp", "x: is NULL", "x: is NULL"},
		{"poly_exp", "tensor.Exp: x: tensor.Cast: cannot", "x: cannot"},
		{"poly_exp", "x: of layer h.0.Attn: 1.5: is odd", "x: of layer h.0.Attn: 1.5: is odd"},
		{"poly_exp", "x: exec.Run", "x: exec.Run"},
		{"poly_exp", "no colon", "no colon"},
	} {
		if got := inHeaderTerms(c.fn, c.text); got != c.want {
			t.Errorf("inWordsOf(%s, %q) = %q, want %q", c.fn, c.text, got, c.want)
		}
	}
}
