package lax_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"polygrad"
	"polygrad/core/tensor/ops"
	"polygrad/lax"
)

func from[T polygrad.Element](values []T, shape ...int) *polygrad.Tensor {
	return polygrad.From(values, shape...)
}

func equal[T polygrad.Element](t *testing.T, what string, x *polygrad.Tensor, want ...T) {
	t.Helper()
	got, err := polygrad.Values[T](x)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if !slices.Equal(got, want) {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

var x = from([]float32{1, 2, 3, 4, 5, 6}, 2, 3)

// One small case of each function; tests/peers compares them with JAX.
var cases = map[string]func(t *testing.T, what string){
	"dynamic_slice": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicSlice(x, from([]int32{0, 1}), []int{2, 2}), 2, 3, 5, 6)
	},
	"dynamic_slice_in_dim": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicSliceInDim(x, 7, 2, lax.WithAxis(1)), 2, 3, 5, 6)
	},
	"dynamic_index_in_dim": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicIndexInDim(x, -1, lax.WithKeepdims(false)), 4, 5, 6)
	},
	"dynamic_update_slice": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicUpdateSlice(x, from([]float32{8, 9}, 2, 1), from([]int32{0, 1})), 1, 8, 3, 4, 9, 6)
	},
	"dynamic_update_slice_in_dim": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicUpdateSliceInDim(x, from([]float32{8, 9}, 2, 1), 0, 1), 8, 2, 3, 9, 5, 6)
	},
	"dynamic_update_index_in_dim": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DynamicUpdateIndexInDim(x, from([]float32{8, 9}), 2, 1), 1, 2, 8, 4, 5, 9)
	},
	"gather": func(t *testing.T, what string) {
		at := from([]int32{1, 5}, 2, 1)
		equal[float32](t, what, lax.Gather(x, at, []int{1}, []int{0}, []int{0}, []int{1, 3}, lax.WithFillValue(-1)), 4, 5, 6, -1, -1, -1)
	},
	"scatter":     scattered(lax.Scatter, 1, 2, 3, 10, 10, 10),
	"scatter_add": scattered(lax.ScatterAdd, 1, 2, 3, 14, 15, 16),
	"scatter_mul": scattered(lax.ScatterMul, 1, 2, 3, 40, 50, 60),
	"scatter_min": scattered(lax.ScatterMin, 1, 2, 3, 4, 5, 6),
	"scatter_max": scattered(lax.ScatterMax, 1, 2, 3, 10, 10, 10),
	"pad": func(t *testing.T, what string) {
		equal[float32](t, what, lax.Pad(from([]float32{1, 2}), 0, []int{-1}, lax.WithHigh(1), lax.WithInterior(2)), 0, 0, 2, 0)
	},
	"rev": func(t *testing.T, what string) { equal[float32](t, what, lax.Rev(x, []int{1}), 3, 2, 1, 6, 5, 4) },
	"select_n": func(t *testing.T, what string) {
		equal[float32](t, what, lax.SelectN([]*polygrad.Tensor{from([]int32{0, 1}), from([]float32{1, 2}), from([]float32{3, 4})}), 1, 4)
	},
	"clamp": func(t *testing.T, what string) { equal[float32](t, what, lax.Clamp(x, 2, 4), 2, 2, 3, 4, 4, 4) },
	"reduce": func(t *testing.T, what string) {
		equal[float32](t, what, lax.Reduce(x, 2, "mul", lax.WithDimensions(1)), 12, 240)
	},
	"reduce_sum": func(t *testing.T, what string) {
		equal[uint8](t, what, lax.ReduceSum(from([]uint8{200, 100}), []int{0}), 44)
	},
	"reduce_prod": func(t *testing.T, what string) { equal[float32](t, what, lax.ReduceProd(x, []int{0, 1}), 720) },
	"reduce_max":  func(t *testing.T, what string) { equal[float32](t, what, lax.ReduceMax(x, []int{0}), 4, 5, 6) },
	"reduce_min":  func(t *testing.T, what string) { equal[float32](t, what, lax.ReduceMin(x, []int{1}), 1, 4) },
	"reduce_and": func(t *testing.T, what string) {
		equal[int32](t, what, lax.ReduceAnd(from([]int32{7, 13, 5}), []int{0}), 5)
	},
	"reduce_or": func(t *testing.T, what string) {
		equal(t, what, lax.ReduceOr(from([]bool{false, true}), []int{0}), true)
	},
	"reduce_xor": func(t *testing.T, what string) {
		equal[int32](t, what, lax.ReduceXor(from([]int32{7, 13, 5}), []int{0}), 15)
	},
	"argmax": func(t *testing.T, what string) { equal[int32](t, what, lax.ArgMax(x, 1), 2, 2) },
	"argmin": func(t *testing.T, what string) {
		equal[int64](t, what, lax.ArgMin(x, 0, lax.WithIndexDType(polygrad.Int64)), 0, 0, 0)
	},
	"reduce_window": func(t *testing.T, what string) {
		equal[float32](t, what, lax.ReduceWindow(x, 0, "add", []int{1, 2}, lax.WithPadding("SAME")), 3, 5, 3, 9, 11, 6)
	},
	"sliding_windows": func(t *testing.T, what string) {
		equal[float32](t, what, lax.SlidingWindows(from([]float32{1, 2, 3}), 9, []int{2}, lax.WithPadding([]int{1, 0})), 9, 1, 1, 2, 2, 3)
	},
	"select_and_scatter_add": func(t *testing.T, what string) {
		equal[float32](t, what, lax.SelectAndScatterAdd(from([]float32{1, 5, 5, 2}), from([]float32{10, 20, 30}), "ge", []int{2}), 0, 30, 30, 0)
	},
	"conv_general_dilated": func(t *testing.T, what string) {
		equal[float32](t, what, lax.ConvGeneralDilated(from([]float32{1, 2}, 1, 1, 2), from([]float32{1, 10}, 1, 1, 2), []int{1}, lax.WithLhsDilation(3)), 1, 0, 20)
	},
	"conv_transpose": func(t *testing.T, what string) {
		equal[float32](t, what, lax.ConvTranspose(from([]float32{1, 2}, 1, 1, 2), from([]float32{1, 10}, 1, 1, 2), []int{2}), 10, 1, 20, 2)
	},
	"dot_general": func(t *testing.T, what string) {
		equal[float32](t, what, lax.DotGeneral(x, x, []int{1}, []int{1}), 14, 32, 32, 77)
	},
	"sort": func(t *testing.T, what string) {
		r := lax.Sort([]*polygrad.Tensor{from([]float32{2, 1, 2}), from([]float32{6, 5, 4})}, lax.WithNumKeys(2))
		equal[float32](t, what, r[0], 1, 2, 2)
		equal[float32](t, what, r[1], 5, 4, 6)
	},
	"top_k": func(t *testing.T, what string) {
		values, at := lax.TopK(from([]float32{3, 1, 2}), 2)
		equal[float32](t, what, values, 3, 2)
		equal[int32](t, what, at, 0, 2)
	},
	"cumsum": func(t *testing.T, what string) {
		equal[float32](t, what, lax.CumSum(x, lax.WithAxis(1), lax.WithReverse(true)), 6, 5, 3, 15, 11, 6)
	},
	"cumprod": func(t *testing.T, what string) { equal[float32](t, what, lax.CumProd(x), 1, 2, 3, 4, 10, 18) },
	"cummax": func(t *testing.T, what string) {
		equal[float32](t, what, lax.CumMax(from([]float32{2, 1, 3})), 2, 2, 3)
	},
	"cummin": func(t *testing.T, what string) {
		equal[float32](t, what, lax.CumMin(from([]float32{2, 1, 3})), 2, 1, 1)
	},
	"cumlogsumexp": func(t *testing.T, what string) { equal[float32](t, what, lax.Cumlogsumexp(from([]float32{7})), 7) },
	"reduce_precision": func(t *testing.T, what string) {
		equal[float32](t, what, lax.ReducePrecision(from([]float32{1.0625, 100, 1.1875}), 3, 3), 1, float32(math.Inf(1)), 1.25)
	},
	"bitcast_convert_type": func(t *testing.T, what string) {
		equal[uint8](t, what, lax.BitcastConvertType(from([]float32{1}), polygrad.Uint8), 0, 0, 128, 63)
	},
	"broadcasted_iota": func(t *testing.T, what string) {
		equal[int32](t, what, lax.BroadcastedIota(polygrad.Int32, []int{2, 3}, 0), 0, 0, 0, 1, 1, 1)
	},
}

func scattered(f func(x, at, updates *polygrad.Tensor, window, inserted, to []int, opts ...polygrad.Option) *polygrad.Tensor, want ...float32) func(t *testing.T, what string) {
	return func(t *testing.T, what string) {
		at, updates := from([]int32{1, 5}, 2, 1), polygrad.Full([]int{2, 3}, 10)
		equal(t, what, f(x, at, updates.Cast(polygrad.Float32), []int{1}, []int{0}, []int{0}), want...)
	}
}

func TestEveryFunction(t *testing.T) {
	i := slices.IndexFunc(ops.Modules(), func(m ops.Module) bool { return m.Name == "lax" })
	for k := range ops.Modules()[i].Ops {
		name := ops.Modules()[i].Ops[k].FunctionName()
		check := cases[name]
		if check == nil {
			t.Errorf("%s has no test", name)
			continue
		}
		check(t, name)
	}
}

func TestErrors(t *testing.T) {
	at := from([]int32{0, 1})
	for text, y := range map[string]*polygrad.Tensor{
		"lax.DynamicSlice: start_indices: has shape (1), expected (2,): one for each axis of x (2,3)": lax.DynamicSlice(x, from([]int32{0}), []int{1, 1}),
		"lax.DynamicSlice: start_indices: is float32, expected an integer type":                       lax.DynamicSlice(x, from([]float32{0, 1}), []int{1, 1}),
		"lax.DynamicSlice: slice_sizes: [1 4], expected 0 to the sizes of x (2,3)":                    lax.DynamicSlice(x, at, []int{1, 4}),
		"lax.DynamicUpdateSlice: update: is int32, expected float32 as x":                             lax.DynamicUpdateSlice(x, polygrad.Ones([]int{1, 1}).Cast(polygrad.Int32), at),
		"lax.Gather: offset_dims: [0 1], expected 1 axes in order, one for each axis of a window":     lax.Gather(x, from([]int32{0}, 1, 1), []int{0, 1}, []int{0}, []int{0}, []int{1, 3}),
		"lax.Gather: mode: \"wrap\", expected one of \"clip\"":                                        lax.Gather(x, from([]int32{0}, 1, 1), []int{1}, []int{0}, []int{0}, []int{1, 3}, lax.WithMode("wrap")),
		"lax.ScatterAdd: updates: has shape (2,3), expected (1,3)":                                    lax.ScatterAdd(x, from([]int32{0}, 1, 1), x, []int{1}, []int{0}, []int{0}),
		"lax.Reduce: computation: \"and\" of float32, expected integers or bools for it":              lax.Reduce(x, 0, "and"),
		"lax.ReduceWindow: padding: 3 numbers, expected two for each of 2 axes":                       lax.ReduceWindow(x, 0, "add", []int{1, 1}, lax.WithPadding([]int{1, 1, 1})),
		"lax.ReduceWindow: padding: \"HALF\", expected \"VALID\"":                                     lax.ReduceWindow(x, 0, "add", []int{1, 1}, lax.WithPadding("HALF")),
		"lax.ConvGeneralDilated: rhs: has shape (2,3), expected 3 dimensions as lhs (1,2,3)":          lax.ConvGeneralDilated(x.Reshape(1, 2, 3), x, []int{1}),
		"lax.DotGeneral: rhs_contracting_dims: axis 0 of rhs (2,3), expected the size of axis 1":      lax.DotGeneral(x, x, []int{1}, []int{0}),
		"lax.TopK: k: 4 is out of range for axis 1, expected 0 to 3":                                  first(lax.TopK(x, 4)),
		"lax.Pad: low: -2 and high -2 for axis 0 of 2 elements":                                       lax.Pad(x, 0, []int{-2, 0}, lax.WithHigh(-2, 0)),
		"lax.BitcastConvertType: x: has shape (2,3), expected a last axis of 2 float32 for one":       lax.BitcastConvertType(x, polygrad.Float64),
	} {
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %q", err, text)
		}
	}
}

func first(a, _ *polygrad.Tensor) *polygrad.Tensor { return a }
