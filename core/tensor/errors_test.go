package tensor

import (
	"math"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Every bad argument is an error that names the function and the argument.
func TestErrors(t *testing.T) {
	g, other := symbolic.NewGraph(), symbolic.NewGraph()
	buf := func(dt *uop.DType, dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return g.NewBuffer(DeviceName, s.MaxNumel(), dt).Reshape(s)
	}
	x, y, v := buf(uop.Float32, 2, 3), buf(uop.Float32, 4, 2), buf(uop.Float32, 3)
	i, b := buf(uop.Int32, 2), buf(uop.Bool, 2)
	scalar := g.DeviceConst(uop.Float32, uop.Float(1), DeviceName, nil)
	foreign := other.NewBuffer(DeviceName, 6, uop.Float32)
	huge := buf(uop.Float32, 1<<30, 1)
	shape := uop.ShapeOf
	pair := func(lo, hi int64) []uop.Pair { return []uop.Pair{pairOf(lo, hi), pairOf(0, 0)} }
	one := uop.Int(1)
	one1 := func(_ any, err error) error { return err }
	one2 := func(_, _ any, err error) error { return err }
	r1 := func(u *uop.UOp, err error) error { return one1(u, err) }
	rs := func(u []*uop.UOp, err error) error { return one1(u, err) }
	r2 := func(a, c *uop.UOp, err error) error { return one2(a, c, err) }

	for _, c := range []struct {
		err  error
		want string
	}{
		{r1(Exp(nil)), "tensor.Exp: x: is nil"},
		{r1(Exp(g.DeviceOp("CPU"))), "tensor.Exp: x: is a DEVICE node"},
		{r1(Exp(g.ConstInt(3))), "tensor.Exp: x: "},
		{r1(Add(x, nil)), "tensor.Add: operands: is nil"},
		{r1(Add(x, y)), "tensor.Add: operands: shapes (2,3) and (4,2) do not broadcast"},
		{r1(Add(x, foreign)), "tensor.Add: operands: belong to different contexts"},
		{r1(BitAnd(x, x)), "tensor.BitAnd: operands: is float32, expected an integer or bool type"},
		{r1(BitNot(x)), "tensor.BitNot: x: is float"},
		{r1(ShiftLeft(x, x)), "tensor.ShiftLeft: x: is float32, expected an integer type"},
		{r1(ShiftLeftConst(i, -1)), "tensor.ShiftLeftConst: shift: is -1, expected an integer of at least 0"},
		{r1(ShiftRightConst(i, -1)), "tensor.ShiftRightConst: shift: is -1"},
		{r1(Where(x, y, v)), "tensor.Where: operands: shapes"},
		{r1(Clamp(x, nil, nil)), "tensor.Clamp: lo: and hi are both missing"},
		{r1(Softplus(x, 0)), "tensor.Softplus: beta: is 0"},
		{r1(Cast(x, uop.Void)), "tensor.Cast: dtype: is void"},
		{r1(Cast(x, nil)), "tensor.Cast: dtype: is <nil>"},
		{r1(Bitcast(v, uop.Float64)), "tensor.Bitcast: dtype: float64, expected a type whose size divides the bytes of 3 values of float32"},
		{r1(Alu(uop.Add, x)), "tensor.Alu: src: ADD has 1 sources, expected 2"},
		{r1(Alu(uop.Load, x)), "tensor.Alu: op: LOAD, expected an arithmetic operation"},
		{r1(Assign(x, y)), "tensor.Assign: shape: cannot broadcast (4,2) to (2,3)"},
		{r1(Assign(v, buf(uop.Int32, 3))), "tensor.Assign: value: is int32, expected float32 as the target"},

		{r1(Solve(buf(uop.Float32, 2, 2), v)), "tensor.Solve: b: has shape (3), expected (…, 2) or (…, 2, k)"},
		{r1(Solve(buf(uop.Float32, 2, 3, 3), buf(uop.Float32, 5, 3, 1))), "tensor.Solve: b: has shape (5,3,1), expected leading axes that broadcast with those of a, (2)"},
		{r1(Reshape(x, shape(4, 2))), "tensor.Reshape: shape: cannot reshape (2,3) to (4,2): 6 elements, expected 8"},
		{r1(Reshape(x, shape(-1, -1))), "tensor.Reshape: shape: (-1,-1) has more than one -1"},
		{r1(Reshape(x, shape(-1, 4))), "tensor.Reshape: shape: cannot reshape (2,3) to (-1,4)"},
		{r1(Reshape(x, shape(-2, 3))), "tensor.Reshape: shape: axis 0 has the size -2, expected 0 or more"},
		{r1(Expand(x, shape(2, 4))), "tensor.Expand: shape: cannot broadcast (2,3) to (2,4)"},
		{r1(Expand(huge, shape(1<<30, 1<<40))), "tensor.Expand: shape: shape (1073741824,1099511627776) has too many elements"},
		{r1(Permute(x, 0)), "tensor.Permute: order: [0] is no permutation, expected each of 2 axes once"},
		{r1(Permute(x, 0, 0)), "tensor.Permute: order: axis 0 is given twice"},
		{r1(Permute(x, 0, 2)), "tensor.Permute: order: 2 is out of range for 2 dimensions, expected -2..1"},
		{r1(Transpose(x, 0, 5)), "tensor.Transpose: dim1: 5 is out of range"},
		{r1(Flip(x, 2)), "tensor.Flip: axes: 2 is out of range"},
		{r1(Shrink(x, pair(0, 5))), "tensor.Shrink: bounds: (0,5) is out of range for axis 0, expected 0 to 2 in order"},
		{r1(Shrink(x, pair(2, 1))), "tensor.Shrink: bounds: (2,1)"},
		{r1(Shrink(x, nil)), "tensor.Shrink: bounds: has 0 pairs, expected one for each of 2 dimensions"},
		{r1(Pad(x, pair(-3, 0), one)), "tensor.Pad: padding: "},
		{r1(Pad(x, pair(0, math.MaxInt64), one)), "tensor.Pad: padding: 9223372036854775807 is too large"},
		{r1(PadWith(x, pair(-3, 0), PadReflect)), "tensor.PadWith: padding: (-3,0) of axis 0, expected no more cut off than its size 2"},
		{r1(PadWith(x, pair(math.MaxInt64, 0), PadCircular)), "tensor.PadWith: padding: (9223372036854775807,0) of axis 0 is too large"},
		{r1(Squeeze(x, 3)), "tensor.Squeeze: dim: 3"},
		{r1(Unsqueeze(x, 4)), "tensor.Unsqueeze: dim: 4"},
		{r1(Flatten(x, 1, 0)), "tensor.Flatten: start_dim: 1 is behind end_dim, expected at most 0"},
		{r1(Unflatten(x, 1, shape(2, 2))), "tensor.Unflatten: shape: cannot reshape (2,3) to (2,2,2)"},
		{r1(Repeat(x, 2)), "tensor.Repeat: repeats: has 1 entries, expected one for each of 2 dimensions"},
		{r1(Repeat(x, 2, -1)), "tensor.Repeat: repeats: -1, expected 0 or more"},
		{r1(Repeat(x, 1<<40, 1<<40)), "tensor.Repeat: repeats: shape"},
		{r1(RepeatInterleave(x, -1, 0)), "tensor.RepeatInterleave: repeats: -1, expected 0 or more"},
		{r1(Unfold(x, 1, 4, 1)), "tensor.Unfold: size: 4 is out of range for axis 1, expected 0 to 3"},
		{r1(Unfold(x, 1, 2, 0)), "tensor.Unfold: step: 0, expected 1 or more"},
		{r1(Roll(x, []int64{1}, []int{0, 1})), "tensor.Roll: shifts: has 1 numbers, expected one for each of 2 axes"},

		{r1(Full(g, shape(2, -1), one, uop.Float32)), "tensor.Full: shape: axis 1 has the size -1, expected 0 or more"},
		{r1(Full(g, shape(1<<40, 1<<40), one, uop.Float32)), "tensor.Full: shape: shape"},
		{r1(Full(g, shape(2), one, nil)), "tensor.Full: dtype: is <nil>"},
		{r1(Arange(g, one, one, uop.Int(0), nil)), "tensor.Arange: step: is 0"},
		{r1(Arange(g, one, uop.Int(300), one, uop.Uint8)), "tensor.Arange: dtype: uint8 does not hold the values 1..300, expected a wider type"},
		{r1(Arange(g, uop.Int(300), one, uop.Int(-1), uop.Uint8)), "tensor.Arange: dtype: uint8 does not hold the values 300..1, expected a wider type"},
		{r1(Arange(g, one, uop.Float(1e300), one, nil)), "tensor.Arange: stop: 1e+300 gives too many elements from 1 by 1, expected fewer than 2^59"},
		{r1(Linspace(g, one, one, -1, uop.Float32)), "tensor.Linspace: steps: -1, expected 0 or more"},
		{r1(Linspace(g, one, one, 3, uop.Bool)), "tensor.Linspace: dtype: is bool"},
		{r1(Eye(g, -1, 2, uop.Float32)), "tensor.Eye: n: -1, expected 0 or more"},
		{r1(Triu(v, 0)), "tensor.Triu: x: has 1 dimensions, expected 2 or more"},
		{r1(RandInt(g, shape(2), 5, 5, uop.Int32, 1)), "tensor.RandInt: low: 5 is no range to high, expected less than 5"},
		{r1(RandInt(g, shape(2), 0, 300, uop.Uint8, 1)), "tensor.RandInt: dtype: uint8 does not hold 0..299"},
		{r1(RandInt(g, shape(2), 0, 3, uop.Float32, 1)), "tensor.RandInt: dtype: is float"},
		{r1(Rand(g, shape(1<<33), 1)), "tensor.Rand: shape: (8589934592), expected at most 2^32 elements"},
		{r1(Dropout(x, 1.5, 1)), "tensor.Dropout: p: 1.5, expected 0 to 1"},
		{r1(Dropout(x, math.NaN(), 1)), "tensor.Dropout: p: NaN, expected 0 to 1"},

		{r1(Sum(x, []int{2}, false)), "tensor.Sum: axis: 2 is out of range for 2 dimensions, expected -2..1"},
		{r1(Max(x, []int{0, -2}, false)), "tensor.Max: axis: axis 0 is given twice"},
		{r1(ArgMax(x, 3, false)), "tensor.ArgMax: axis: 3"},
		{r1(ArgMax(buf(uop.Float32, 0, 2), 0, false)), "tensor.ArgMax: axis: 0 has size 0"},
		{r1(CumSum(x, 2)), "tensor.CumSum: axis: 2"},
		{r2(CumMax(x, -3)), "tensor.CumMax: axis: -3"},
		{r2(Sort(x, 2, false)), "tensor.Sort: dim: 2"},
		{r2(TopK(x, 4, 1, true)), "tensor.TopK: k: 4 is out of range for axis 1, expected 0 to 3"},

		{r1(Cat(nil, 0)), "tensor.Cat: tensors: are none"},
		{r1(Cat([]*uop.UOp{x, y}, 0)), "tensor.Cat: tensors[1]: has shape (4,2), expected the shape (2,3) of the first one outside of axis 0"},
		{r1(Cat([]*uop.UOp{scalar, scalar}, 0)), "tensor.Cat: dim: 0 is out of range: the tensors are scalars, expected 1 dimension or more"},
		{r1(Stack([]*uop.UOp{x, v}, 0)), "tensor.Stack: tensors[1]: has shape (3), expected the shape (2,3) of the first one"},
		{rs(Split(x, []int64{1, 1}, 1)), "tensor.Split: sizes: [1 1] add up to 2, expected 3, the size of axis 1"},
		{rs(Split(x, []int64{-1, 4}, 1)), "tensor.Split: sizes:"},
		{rs(SplitEvery(x, 0, 1)), "tensor.SplitEvery: size: 0, expected 1 or more"},
		{rs(Chunk(x, 0, 1)), "tensor.Chunk: chunks: 0, expected 1 or more"},
		{rs(Meshgrid([]*uop.UOp{x, v}, false)), "tensor.Meshgrid: tensors[0]: has shape (2,3), expected a vector"},

		{r1(GetItem(x, At(2))), "tensor.GetItem: index: 2 is out of bounds for axis 0 of size 2"},
		{r1(GetItem(x, Whole(), At(-4))), "tensor.GetItem: index: -4 is out of bounds for axis 1 of size 3"},
		{r1(GetItem(x, At(0), At(0), At(0))), "tensor.GetItem: index: has too many entries, 3, expected at most 2, one for each dimension"},
		{r1(GetItem(x, Ellipsis(), Ellipsis())), "tensor.GetItem: index: has several ellipses, expected at most one"},
		{r1(GetItem(x, Slice(nil, nil, 0))), "tensor.GetItem: index: a slice has step 0"},
		{r1(GetItem(x, Take(x))), "tensor.GetItem: index: is float32, expected an integer type"},
		{r1(GetItem(x, Take(nil))), "tensor.GetItem: index: is nil"},
		{r1(GetItem(x, Take(i), Take(buf(uop.Int32, 3)))), "tensor.GetItem: index: has tensors of shapes [(2) (3)], expected shapes that broadcast"},
		{r1(GetItem(x, Take(other.NewBuffer(DeviceName, 2, uop.Int32)))), "tensor.GetItem: index: has a tensor of another context, expected one of the context of x"},
		{r1(SetItem(x, y, Whole())), "tensor.SetItem: shape: cannot broadcast (4,2) to (2,3)"},
		{r1(Gather(x, 0, i)), "tensor.Gather: index: has shape (2), expected 2 dimensions as x (2,3)"},
		{r1(Gather(x, 2, buf(uop.Int32, 2, 3))), "tensor.Gather: dim: 2"},
		{r1(Gather(x, 0, buf(uop.Int32, 2, 4))), "tensor.Gather: index: has shape (2,4), expected at most (2,3) outside of axis 0"},
		{r1(Scatter(x, 0, buf(uop.Int32, 2, 3), y)), "tensor.Scatter: index: has shape (2,3)"},
		{r1(Scatter(x, 0, buf(uop.Int32, 1, 1), buf(uop.Int32, 1, 1))), "tensor.Scatter: src: is int32, expected float32 as x"},
		{r1(OneHot(x, 3)), "tensor.OneHot: x: is float"},
		{r1(OneHot(i, -1)), "tensor.OneHot: classes: -1, expected 0 or more"},
		{r1(Embedding(v, i)), "tensor.Embedding: weight: has shape (3), expected (vocabulary, width)"},
		{r1(Diagonal(v, 0, 0, 1)), "tensor.Diagonal: x: has 1 dimensions"},
		{r1(Diag(x)), "tensor.Diag: x: has shape (2,3), expected a vector"},

		{r1(MatMul(x, y)), "tensor.MatMul: operands: shapes (2,3) and (4,2) do not multiply: 3 columns, 4 rows"},
		{r1(MatMul(x, scalar)), "tensor.MatMul: operands: shapes (2,3) and (), expected at least 1 dimension each"},
		{r1(Linear(x, y, nil)), "tensor.Linear: weight: has shape (4,2), expected (out, in) with in the last size of x (2,3)"},
		{r1(Linear(x, buf(uop.Float32, 5, 3), v)), "tensor.Linear: bias: has shape (3), expected (5)"},
		{r1(Einsum("ij,jk", x)), `tensor.Einsum: formula: "ij,jk" has letters for 2 operands, expected 1`},
		{r1(Einsum("ij,jk->ik", x, y)), "tensor.Einsum: formula: \"ij,jk->ik\": the letter 'j' stands for sizes 3 and 4"},
		{r1(Einsum("ij,jk->ik", buf(uop.Float32, 1, 2), buf(uop.Float32, 1, 2))), "tensor.Einsum: formula: \"ij,jk->ik\": the letter 'j' stands for sizes 2 and 1"},
		{r1(Einsum("ijk->k", x)), "tensor.Einsum: formula: \"ijk->k\": operand 0 has 3 letters, expected 2, one for each dimension"},
		{r1(Einsum("ij->k", x)), "tensor.Einsum: formula: \"ij->k\": 'k' of the result is in no operand"},
		{r1(Einsum("ij->ii", x)), "tensor.Einsum: formula: \"ij->ii\": 'i' occurs twice in the result"},
		{r1(Einsum("i1->i", x)), "tensor.Einsum: formula: \"i1->i\": '1', expected a letter"},
		{r1(Einsum("ii->i", x)), "tensor.Einsum: formula: the letter 'i' stands for sizes 2 and 3"},
		{r1(Einsum("ij")), "tensor.Einsum: tensors: are none"},
		{r1(Rearrange(x, "a b", nil)), `tensor.Rearrange: formula: "a b", expected one ->`},
		{r1(Rearrange(x, "a b -> a", nil)), `tensor.Rearrange: formula: "a b -> a": b is only on one side`},
		{r1(Rearrange(x, "a b -> a b c", nil)), `tensor.Rearrange: formula: "a b -> a b c": c is only on one side`},
		{r1(Rearrange(x, "a b c -> a b c", nil)), "tensor.Rearrange: formula: \"a b c -> a b c\" has 3 axes, expected those of x (2,3)"},
		{r1(Rearrange(x, "a (b c) -> a b c", nil)), "tensor.Rearrange: sizes: \"a (b c) -> a b c\": a group has several axes of unknown size, expected at most one"},
		{r1(Rearrange(x, "a (b c) -> a b c", map[string]int64{"b": 2})), "tensor.Rearrange: sizes: \"a (b c) -> a b c\": axis 1 has size 3, expected a multiple of the group's 2"},
		{r1(Rearrange(x, "a b -> b a", map[string]int64{"z": 2})), "tensor.Rearrange: sizes: z is no axis"},
		{r1(Rearrange(x, "a b -> b a", map[string]int64{"a": 7})), "tensor.Rearrange: sizes: a is 7, expected the size of its axis, 2"},
		{r1(Rearrange(x, "a (b -> a b", nil)), `( without )`},
		{r1(Rearrange(x, "a a -> a", nil)), "a occurs twice"},

		{r1(GroupNorm(buf(uop.Float32, 1, 4), 3, nil, nil, 1e-5)), "tensor.GroupNorm: groups: 3, expected a divisor of the 4 channels"},
		{r1(BatchNorm(x, nil, nil, v, i, nil)), "tensor.BatchNorm: invstd: has shape (2), expected (3)"},
		{r1(LayerNorm(i, nil, 1e-5)), "tensor.LayerNorm: x: is int"},
		{r1(CrossEntropy(x, buf(uop.Int32, 3), 1, ReduceMean, 0)), "tensor.CrossEntropy: target: has shape (3), expected (2) for classes or (2,3) for probabilities"},
		{r1(CrossEntropy(x, i, 1, ReduceMean, 2)), "tensor.CrossEntropy: label_smoothing: is 2, expected 0..1"},
		{r1(CrossEntropy(x, i, 1, 9, 0)), "tensor.CrossEntropy: reduction: is 9"},
		{r1(SparseCategoricalCrossEntropy(x, v, -1, ReduceMean, 0)), "tensor.SparseCategoricalCrossEntropy: target: has shape (3)"},
		{r1(NLLLoss(x, i, x, nil, ReduceMean)), "tensor.NLLLoss: weight: has shape (2,3), expected (3)"},
		{r1(MSELoss(x, y, ReduceMean)), "tensor.MSELoss: target: has shape (4,2), expected the shape (2,3) of x"},
		{r1(Conv(x, y, nil, 1, Window{})), "tensor.Conv: weight: has shape (4,2)"},
		{r1(Conv(buf(uop.Float32, 1, 2, 3), buf(uop.Float32, 1, 2, 5), nil, 1, Window{})), "tensor.Conv: kernel_size: a window of 5 with dilation 1, expected one that is at most as large as the axis, 3"},
		{r1(Conv(buf(uop.Float32, 1, 2, 3), buf(uop.Float32, 1, 2, 2), v, 1, Window{})), "tensor.Conv: bias: has shape (3), expected (1)"},
		{r1(Conv(buf(uop.Float32, 1, 2, 3), buf(uop.Float32, 1, 2, 2), nil, 1, Window{Stride: []int64{0}})), "tensor.Conv: stride:"},
		{r1(MaxPool(x, []int64{1, 1, 1}, Window{})), "tensor.MaxPool: kernel_size: has 3 numbers, expected one for each window axis of x (2,3)"},
		{r1(MaxPool(buf(uop.Float32, 3, 0), []int64{1}, Window{Dilation: []int64{4}})), "tensor.MaxPool: kernel_size: a window of 1 with dilation 4, expected one that is at most as large as the axis, 0"},
		{r1(MaxPool(x, []int64{2}, Window{Stride: []int64{math.MaxInt64}})), "tensor.MaxPool: kernel_size: a window of 2, stride 9223372036854775807, dilation 1, expected smaller numbers"},
		{r1(MaxPool(x, []int64{2}, Window{Stride: []int64{1 << 58}})), "tensor.MaxPool: kernel_size: a window of 2 with stride 288230376151711744 and dilation 1 on an axis of 3, expected fewer elements"},
		{r1(AvgPool(x, []int64{0}, Window{}, true)), "tensor.AvgPool: kernel_size: [0], expected positive numbers"},
		{r1(Interpolate(x, []int64{0}, Bilinear, false)), "tensor.Interpolate: size: [0], expected positive numbers"},
		{r1(Interpolate(x, []int64{2}, Nearest, true)), "tensor.Interpolate: align_corners:"},
		{r1(ScaledDotProductAttention(x, y, y, AttentionOptions{})), "tensor.ScaledDotProductAttention: operands: shapes (2,3), (4,2) and (4,2)"},
		{r1(ScaledDotProductAttention(x, x, x, AttentionOptions{Mask: b, Causal: true})), "tensor.ScaledDotProductAttention: mask: is given together with causal"},
	} {
		if c.err == nil {
			t.Errorf("no error, need %q", c.want)
		} else if !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %q, need %q", c.err, c.want)
		}
	}
}

// A bad argument leaves the graph usable and returns no node.
func TestErrorReturnsNoNode(t *testing.T) {
	g := symbolic.NewGraph()
	x := g.NewBuffer(DeviceName, 6, uop.Float32)
	if r, err := Reshape(x, uop.ShapeOf(5)); r != nil || err == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	if r, err := Add(x, x); r == nil || err != nil {
		t.Fatalf("got %v, %v", r, err)
	}
}

// Constants are shared, tensors of Full are not.
func TestIdentity(t *testing.T) {
	g := symbolic.NewGraph()
	c1, _ := Const(g, uop.Float32, uop.Float(2))
	c2, _ := Const(g, uop.Float32, uop.Int(2))
	if c1 != c2 {
		t.Error("equal constants are two nodes")
	}
	f1, _ := Full(g, uop.ShapeOf(2), uop.Float(2), uop.Float32)
	f2, _ := Full(g, uop.ShapeOf(2), uop.Float(2), uop.Float32)
	if f1 == f2 {
		t.Error("two tensors of Full are one node")
	}
	x := g.NewBuffer(DeviceName, 2, uop.Float32)
	if c, _ := Contiguous(x); c != x {
		t.Error("a buffer is not contiguous")
	}
	if c, _ := Cast(x, uop.Float32); c != x {
		t.Error("a cast to the same type makes a node")
	}
}
