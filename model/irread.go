package model

import (
	"fmt"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// ReadIR makes a definition from an IR file. Buffers get fresh numbers: the numbers in a file are local to it.
func ReadIR(data []byte) (d *Definition, err error) {
	f, err := decodeIR(data)
	if err != nil {
		return nil, fmt.Errorf("model.ReadIR: data: %w", err)
	}
	r := &irBuilder{file: f, g: exec.NewGraph(), shapes: map[int][]int64{}, open: make([]bool, len(f.nodes))}
	if d, err = r.build(); err != nil {
		return nil, fmt.Errorf("model.ReadIR: data: %w", err)
	}
	return d, nil
}

type irBuilder struct {
	file   *irFile
	g      *uop.Graph
	values []Readings
	shapes map[int][]int64 // of the named buffers, by node
	open   []bool          // by node: it is computed from a PARAM of a loop around it, or is a statement
}

func (r *irBuilder) build() (*Definition, error) {
	for _, v := range r.file.variables {
		if v.node == noNode {
			continue
		}
		name, i := r.file.strings[v.name], int(v.node)
		n, err := elements(v.shape)
		if err != nil {
			return nil, fmt.Errorf("buffer %q: %w", name, err)
		}
		switch node := &r.file.nodes[i]; {
		case node.op != uop.Buffer:
			return nil, fmt.Errorf("buffer %q: node %d is a %s, expected a BUFFER", name, i, node.op)
		case node.dtype != uop.Float32:
			return nil, fmt.Errorf("buffer %q: has type %s, expected %s", name, node.dtype, uop.Float32)
		case node.arg.num != n:
			return nil, fmt.Errorf("buffer %q: has %d elements, but shape %v", name, node.arg.num, v.shape)
		}
		r.shapes[i] = v.shape
	}
	r.values = make([]Readings, len(r.file.nodes))
	for i := range r.file.nodes {
		v, err := r.node(&r.file.nodes[i])
		if err != nil {
			return nil, fmt.Errorf("node %d: %s: %w", i, r.file.nodes[i].op, err)
		}
		r.values[i] = v
		r.open[i] = r.isOpen(i)
	}
	d := &Definition{Graph: r.g}
	for _, v := range r.file.variables {
		name := r.file.strings[v.name]
		out := Variable{Name: name, Role: v.role, Shape: v.shape}
		if v.node != noNode {
			out.Node = r.values[v.node].Keep
		}
		d.Variables = append(d.Variables, out)
	}
	for _, e := range r.file.entries {
		name := r.file.strings[e.name]
		s := r.values[e.node].Keep
		if s == nil || s.Op != uop.Sink {
			return nil, fmt.Errorf("entry %q: node %d is a %s, expected a SINK", name, e.node, r.file.nodes[e.node].op)
		}
		if r.open[e.node] {
			return nil, fmt.Errorf("entry %q: node %d is a part of a loop", name, e.node)
		}
		d.Entries = append(d.Entries, Entry{name, s})
	}
	return d, nil
}

// needSources are the operations of files, with their number of sources.
var needSources = func() map[uop.Op]int {
	m := map[uop.Op]int{
		uop.Unique: 0, uop.Device: 0, uop.ConstOp: 0, uop.DefineVar: 0, uop.Bind: 2, uop.Cast: 1, uop.Bitcast: 1, uop.Detach: 1,
		uop.Contiguous: 1, uop.ContiguousBackward: 1, uop.Store: 2, uop.Assign: 2, uop.ReduceAxis: 1, uop.Param: 0, uop.Result: 1,
	}
	for _, group := range []struct {
		ops uop.OpSet
		n   int
	}{{uop.GroupUnary, 1}, {uop.GroupBinary, 2}, {uop.GroupTernary, 3}, {uop.GroupMovement, 1}} {
		for _, op := range group.ops.List() {
			m[op] = group.n
		}
	}
	return m
}()

// anyDType are the operations with a type in the file that is not a tensor's.
var anyDType = uop.Ops(uop.Unique, uop.Device, uop.Store, uop.Sink, uop.Repeat)

// notTensors are the operations that no other reads.
var notTensors = uop.Ops(uop.Sink, uop.Store, uop.Assign, uop.Repeat)

func (r *irBuilder) node(n *irNode) (v Readings, err error) {
	want, known := needSources[n.op]
	switch {
	case n.op == uop.Sink, n.op == uop.PrefixAxis && len(n.src) > 0, n.op == uop.Buffer && len(n.src) > 0, n.op == uop.Repeat && len(n.src) > 1,
		n.op == uop.Shrink && len(n.src) > 1:
	case !known:
		return v, fmt.Errorf("is no operation of a model")
	case len(n.src) != want:
		return v, fmt.Errorf("has %d sources, expected %d", len(n.src), want)
	}
	if !anyDType.Has(n.op) && (n.dtype == uop.Void || n.dtype == uop.IndexT && !indexOps.Has(n.op)) {
		return v, fmt.Errorf("has type %s, expected that of a tensor", n.dtype)
	}
	src := make([]Readings, len(n.src))
	for k, s := range n.src {
		src[k] = r.values[s]
	}
	switch n.op {
	case uop.Unique, uop.Device:
		return v, nil
	case uop.Buffer:
		if n.arg.kind != argInt || n.arg.num < 0 || n.arg.num > maxElements {
			return v, fmt.Errorf("has no number of elements")
		}
		return Readings{Keep: r.g.NewBuffer(tensor.DeviceName, n.arg.num, n.dtype)}, nil
	case uop.ConstOp:
		return r.constant(n)
	case uop.DefineVar:
		if n.arg.kind != argVar || n.arg.lo > n.arg.hi {
			return v, fmt.Errorf("has no name and bounds")
		}
		return Readings{Keep: r.g.Variable(r.file.strings[n.arg.name], uop.Int(n.arg.lo), uop.Int(n.arg.hi), n.dtype)}, nil
	case uop.Sink:
		return r.sink(n.src)
	case uop.Param:
		return r.param(n)
	case uop.Repeat:
		return r.loop(n)
	case uop.Result:
		return r.result(n, src[0].Keep)
	}
	for k, s := range src {
		if s.Keep == nil || notTensors.Has(s.Keep.Op) {
			return v, fmt.Errorf("source %d is a %s, expected a tensor", k, r.file.nodes[n.src[k]].op)
		}
	}
	switch {
	case n.op == uop.Shrink && !isIndex(src[0]):
		return r.movement(n, src)
	case slices.ContainsFunc(src, isIndex):
		return index(n, src)
	case n.op == uop.Bind:
		return r.bind(src)
	case n.op == uop.Store || n.op == uop.Assign:
		return r.write(n.op, src)
	case n.op == uop.ReduceAxis:
		return reduce(n, src[0])
	case n.op == uop.PrefixAxis:
		return prefix(n, src)
	case uop.GroupMovement.Has(n.op):
		return r.movement(n, src)
	}
	for k := range src {
		src[k] = r.shaped(n.src[k], src[k])
	}
	return Lift(func(us []*uop.UOp) (*uop.UOp, error) { return elementwise(n, us) }, src...)
}

func (r *irBuilder) constant(n *irNode) (Readings, error) {
	var c uop.Const
	switch n.arg.kind {
	case argInt:
		c = uop.Int(n.arg.num)
		if n.dtype == uop.Uint64 {
			c = uop.Uint(uint64(n.arg.num))
		}
	case argFloat:
		c = uop.Float(n.arg.float)
	case argBool:
		c = uop.BoolConst(n.arg.num != 0)
	default:
		return Readings{}, fmt.Errorf("has no value")
	}
	if n.dtype == uop.IndexT {
		return Readings{Keep: r.g.Const(n.dtype, c)}, nil
	}
	return Readings{Keep: r.g.DeviceConst(n.dtype, c, tensor.DeviceName, nil)}, nil
}

func (r *irBuilder) bind(src []Readings) (Readings, error) {
	v, c := src[0].Keep, src[1].Keep
	if v.Op != uop.DefineVar || c.Op != uop.ConstOp {
		return Readings{}, fmt.Errorf("binds %s to %s, expected a variable and a constant", v.Op, c.Op)
	}
	return Readings{Keep: r.g.New(uop.Bind, v.DType, []*uop.UOp{v, r.g.Const(v.DType, c.ConstVal())}, nil, nil)}, nil
}

// shaped gives a named buffer its shape: the original's losses use the target flat, as it lies in memory.
func (r *irBuilder) shaped(i int, v Readings) Readings {
	if s, ok := r.shapes[i]; ok && len(s) > 1 && v.Keep.Op == uop.Buffer {
		return Readings{Keep: v.Keep.Reshape(uop.ShapeOf(s...))}
	}
	return v
}

// sink takes STOREs and ASSIGNs; the statements of a loop are a SINK of such SINKs.
func (r *irBuilder) sink(src []int) (Readings, error) {
	us := make([]*uop.UOp, len(src))
	for k, s := range src {
		if us[k] = r.values[s].Keep; us[k] == nil || us[k].Op != uop.Store && us[k].Op != uop.Assign && us[k].Op != uop.Sink {
			return Readings{}, fmt.Errorf("source %d is a %s, expected a STORE or an ASSIGN", k, r.file.nodes[s].op)
		}
	}
	return Readings{Keep: r.g.Sink(nil, us...)}, nil
}

// write makes a STORE or an ASSIGN of the reading that fits the target.
func (r *irBuilder) write(op uop.Op, src []Readings) (Readings, error) {
	target := src[0].Keep
	if target.Base().Op == uop.Param {
		return writeState(op, target, src[1].Keep)
	}
	base := target
	for base.Op == uop.Reshape {
		base = base.Src[0]
	}
	if base.Op != uop.Buffer {
		return Readings{}, fmt.Errorf("writes to a %s, expected a BUFFER", target.Op)
	}
	n := base.Shape().MaxNumel()
	v := src[1].WithElements(n)
	s := v.Shape()
	if have := s.MaxNumel(); have != n && have != 1 {
		return Readings{}, fmt.Errorf("a value of shape %s does not fit a buffer of %d elements", s, n)
	}
	if op == uop.Store {
		return Readings{Keep: base.Store(v)}, nil
	}
	if v.DType != target.DType {
		return Readings{}, fmt.Errorf("assigns %s to a buffer of %s", v.DType, target.DType)
	}
	if s.MaxNumel() == n {
		v = v.Reshape(target.Shape())
	}
	u, err := tensor.Assign(target, v)
	return Readings{Keep: u}, err
}

func reduce(n *irNode, x Readings) (Readings, error) {
	op := uop.Op(n.arg.num)
	if n.arg.kind != argReduce || op != uop.Add && op != uop.Mul && op != uop.Max {
		return Readings{}, fmt.Errorf("has no operation ADD, MUL or MAX")
	}
	along := func(u *uop.UOp) (*uop.UOp, []int, error) {
		axes := make([]int, len(n.arg.nums))
		for i, a := range n.arg.nums {
			if a < 0 || a >= int64(len(u.Shape())) {
				return nil, nil, fmt.Errorf("axis %d of shape %s", a, u.Shape())
			}
			axes[i] = int(a)
		}
		return u.ReduceAxes(op, axes...), axes, nil
	}
	keep, _, err := along(x.Keep)
	drop, axes, dropErr := along(x.Dropped())
	if dropErr == nil {
		drop = without(drop, axes)
	}
	return Feasible(keep, drop, err, dropErr)
}

// prefix reads a running reduction: its arg are the operation, and the axis with 1 for the reverse direction.
func prefix(n *irNode, src []Readings) (Readings, error) {
	op := uop.Op(n.arg.num)
	if n.arg.kind != argReduce || len(n.arg.nums) != 2 || op != uop.Add && op != uop.Mul && op != uop.Max && op != uop.MulAcc {
		return Readings{}, fmt.Errorf("has no operation ADD, MUL, MAX or MULACC along an axis")
	}
	a := uop.PrefixArg{Op: op, Axis: int(n.arg.nums[0]), Reverse: n.arg.nums[1] != 0}
	shape := src[0].Keep.Shape()
	if n.arg.nums[0] < 0 || n.arg.nums[0] >= int64(len(shape)) {
		return Readings{}, fmt.Errorf("axis %d of shape %s", n.arg.nums[0], shape)
	}
	operands := make([]*uop.UOp, len(src))
	for i, s := range src {
		operands[i] = s.Keep
		if !s.Keep.Shape().Equal(shape) || s.Keep.DType != src[0].Keep.DType {
			return Readings{}, fmt.Errorf("source %d is %s %s, expected %s %s", i, s.Keep.DType, s.Keep.Shape(), src[0].Keep.DType, shape)
		}
	}
	if len(src) != a.Operands() {
		return Readings{}, fmt.Errorf("has %d sources, expected %d", len(src), a.Operands())
	}
	return Readings{Keep: operands[0].PrefixAlong(a, operands[1:]...)}, nil
}

// without removes reduced axes from the shape.
func without(u *uop.UOp, axes []int) *uop.UOp {
	out := uop.Shape{}
	for i, d := range u.Shape() {
		if !slices.Contains(axes, i) {
			out = append(out, d)
		}
	}
	return u.Reshape(out)
}

func (r *irBuilder) movement(n *irNode, src []Readings) (Readings, error) {
	x, nums, bounds := src[0], n.arg.nums, src[1:]
	kind := uint8(argInts)
	if n.op == uop.Pad || n.op == uop.Shrink {
		kind = argPairs
	}
	if n.arg.kind != kind {
		return Readings{}, fmt.Errorf("has no sizes")
	}
	var u *uop.UOp
	var err error
	switch n.op {
	case uop.Reshape:
		m := int64(-1)
		if m, err = elements(nums); err == nil {
			u, err = tensor.Reshape(x.WithElements(m), uop.ShapeOf(nums...))
		}
	case uop.Expand:
		u, err = tensor.Expand(x.WithAxes(len(nums)), uop.ShapeOf(nums...))
	case uop.Permute:
		u, err = tensor.Permute(x.WithAxes(len(nums)), narrow(nums)...)
	case uop.Flip:
		u, err = tensor.Flip(x.Keep, narrow(nums)...)
	default:
		x := x.WithAxes(len(nums) / 2)
		pairs := make([]uop.Pair, len(nums)/2)
		both := make([]uop.Sint, len(nums))
		for i, v := range nums {
			if both[i] = uop.N(v); v != inLoop || n.op == uop.Pad {
				continue
			}
			if len(bounds) == 0 || bounds[0].Keep.DType != uop.IndexT {
				return Readings{}, fmt.Errorf("has no source for a bound that moves")
			}
			both[i], bounds = uop.S(bounds[0].Keep), bounds[1:]
		}
		for i := range pairs {
			pairs[i] = uop.Pair{Lo: both[2*i], Hi: both[2*i+1]}
		}
		if len(pairs) != len(x.Shape()) {
			err = fmt.Errorf("%d pairs for shape %s", len(pairs), x.Shape())
		} else if n.op == uop.Pad {
			u, err = tensor.Pad(x, pairs, uop.Int(0).As(x.DType))
		} else {
			u, err = tensor.Shrink(x, pairs)
		}
	}
	if err == nil && len(bounds) > 0 {
		err = fmt.Errorf("has %d more sources than bounds that move", len(bounds))
	}
	return Readings{Keep: u}, err
}

func narrow(v []int64) []int {
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}

// primitive are the operations of the compiler; the others are composed of them.
var primitive = uop.GroupALU.Minus(uop.Neg, uop.Sub, uop.Fdiv, uop.CmpEq, uop.Pow)

func elementwise(n *irNode, us []*uop.UOp) (*uop.UOp, error) {
	u := us[0]
	switch n.op {
	case uop.Cast:
		return tensor.Cast(u, n.dtype)
	case uop.Bitcast:
		return tensor.Bitcast(u, n.dtype)
	case uop.Detach:
		return tensor.Detach(u)
	case uop.Contiguous:
		return u.ContiguousOp(), nil
	case uop.ContiguousBackward:
		return tensor.ContiguousBackward(u)
	}
	if primitive.Has(n.op) && alike(n.op, us) {
		return u.Alu(n.op, us[1:]...), nil
	}
	return tensor.Alu(n.op, us...)
}

// whole are the operations that are undefined on floats.
var whole = uop.Ops(uop.Idiv, uop.Mod, uop.Xor, uop.Or, uop.And, uop.Shl, uop.Shr, uop.Threefry)

// alike reports whether sources need neither promotion nor broadcasting for an operation.
func alike(op uop.Op, us []*uop.UOp) bool {
	if float := us[0].DType.IsFloat(); float && whole.Has(op) || !float && uop.GroupUnary.Has(op) {
		return false
	}
	for _, u := range us[1:] {
		if !u.Shape().Equal(us[0].Shape()) {
			return false
		}
	}
	if op == uop.Where {
		return us[0].DType == uop.Bool && us[1].DType == us[2].DType
	}
	return len(us) == 1 || us[0].DType == us[1].DType
}
