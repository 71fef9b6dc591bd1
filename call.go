package polygrad

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// An Option is an argument by name, of an operation that may be called without it. See the With functions.
type Option struct {
	name  string
	value any
}

// An Index selects along an axis: see At, Slice, All, NewAxis, Ellipsis and Take.
type Index struct {
	item  tensor.Index
	take  *Tensor
	sizes *[2]any
	step  int64
}

// At selects one element and removes the axis; a negative number counts from the end.
func At(i int) Index { return Index{item: tensor.At(int64(i))} }

// Slice keeps start (included) to stop (excluded); negative numbers count from the end.
func Slice(start, stop int) Index { return SliceBy(start, stop, 1) }

// SliceBy is Slice with a step, which may be negative.
func SliceBy(start, stop, step int) Index {
	lo, hi := int64(start), int64(stop)
	return Index{item: tensor.Slice(&lo, &hi, int64(step))}
}

// SliceFrom keeps start to the end.
func SliceFrom(start int) Index {
	lo := int64(start)
	return Index{item: tensor.Slice(&lo, nil, 1)}
}

// SliceSizes is Slice with bounds that may be variable: an int or a *Size each; nil leaves one open.
func SliceSizes(start, stop any) Index { return SliceSteps(start, stop, 1) }

// SliceSteps is SliceSizes with a step, which may be negative.
func SliceSteps(start, stop any, step int) Index {
	return Index{sizes: &[2]any{start, stop}, step: int64(step)}
}

// All keeps an axis.
func All() Index { return Index{item: tensor.Whole()} }

// NewAxis inserts an axis of size 1.
func NewAxis() Index { return Index{item: tensor.NewAxis()} }

// Ellipsis keeps all axes that no other index is for.
func Ellipsis() Index { return Index{item: tensor.Ellipsis()} }

// Take selects elements by an integer tensor, whose shape replaces the axis.
func Take(t *Tensor) Index { return Index{take: t} }

// A call is an operation on its way: its arguments, and the values among them. A context has one at a time.
type call struct {
	ctx  *Context
	args ops.Args
	from []*value
	outs []*variable
}

func described(name string) *ops.Op {
	op, ok := ops.Find(name)
	if !ok {
		panic("polygrad: no operation " + name)
	}
	return op
}

// call1 calls a method with one result.
func (t *Tensor) call1(op *ops.Op, opts []Option, args ...any) *Tensor {
	if err := t.Err(); err != nil {
		return &Tensor{err: err}
	}
	defer runtime.KeepAlive(t) // the collector must not find it before the call has begun
	return t.v.ctx.one(op, t.v, nil, opts, args)
}

// call calls a method with several results.
func (t *Tensor) call(op *ops.Op, opts []Option, args ...any) []*Tensor {
	if err := t.Err(); err != nil {
		return many(op, &Tensor{err: err})
	}
	defer runtime.KeepAlive(t)
	return t.v.ctx.several(op, t.v, nil, opts, args)
}

// make1 calls a maker.
func (c *Context) make1(op *ops.Op, opts []Option, args ...any) *Tensor {
	return c.one(op, nil, nil, opts, args)
}

// join calls a joiner.
func join(op *ops.Op, xs []*Tensor, opts []Option, args ...any) []*Tensor {
	if len(xs) == 0 {
		return many(op, failed(ops.GoName(op.Name), errors.New("xs: no tensors, expected one or more")))
	}
	for _, x := range xs {
		if err := x.Err(); err != nil {
			return many(op, &Tensor{err: err})
		}
	}
	return xs[0].v.ctx.several(op, nil, xs, opts, args)
}

// many is an error as every result of an operation.
func many(op *ops.Op, t *Tensor) []*Tensor { return slices.Repeat([]*Tensor{t}, max(op.Results, 1)) }

// one calls an operation with one result.
func (c *Context) one(op *ops.Op, x *variable, xs []*Tensor, opts []Option, args []any) *Tensor {
	c.lock()
	defer c.unlock()
	outs, err := c.call(op, x, xs, opts, args)
	if err != nil {
		return failed(ops.GoName(op.Name), err)
	}
	return c.hand(outs[0])
}

// several calls an operation. An error comes as every result.
func (c *Context) several(op *ops.Op, x *variable, xs []*Tensor, opts []Option, args []any) []*Tensor {
	c.lock()
	defer c.unlock()
	outs, err := c.call(op, x, xs, opts, args)
	if err != nil {
		return many(op, failed(ops.GoName(op.Name), err))
	}
	results := make([]*Tensor, len(outs))
	for i, v := range outs {
		results[i] = c.hand(v)
	}
	return results
}

// call calls an operation with a tensor, or tensors, in front of its arguments. The results are valid until the next call.
func (c *Context) call(op *ops.Op, x *variable, xs []*Tensor, opts []Option, args []any) ([]*variable, error) {
	k := &c.now
	defer k.end()
	k.begin(op)
	nodes, err := k.run(x, xs, opts, args)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if op.View && len(k.from) == 1 {
			if is, err := tensor.IsView(node, x.cell.value.node); err == nil && is {
				k.outs = append(k.outs, x.newView(node))
				continue
			}
		}
		k.outs = append(k.outs, c.result(node, k.from))
	}
	return k.outs, nil
}

func (k *call) begin(op *ops.Op) {
	op.Begin(&k.args, k.ctx.graph)
	k.args.Training, k.args.Seed, k.args.Value = k.ctx.training, k.ctx.seed, k.ctx.valueOf
	k.outs = k.outs[:0]
}

// end lets go of the values of a call.
func (k *call) end() {
	for _, v := range k.from {
		if v.refs == 0 && v.histories == 0 && !v.leaf { // nothing was computed from it
			v.free()
		}
	}
	clear(k.from)
	k.from = k.from[:0]
}

// result is a variable of its own for a new node.
func (c *Context) result(node *uop.UOp, from []*value) *variable {
	made := &struct { // one allocation for all
		variable
		cell
		value
		variables [1]*variable
		holders   [1]*cell
		from      [2]*value
	}{}
	v, x, w := &made.value, &made.cell, &made.variable
	v.from, v.holders, x.variables = append(made.from[:0], from...), made.holders[:0], append(made.variables[:0], w)
	c.enlist(v, node)
	if c.quiet > 0 && v.flow == flowAlways {
		v.node, _ = tensor.Detach(node) // any tensor can be detached
		v.flow = flowNever
	}
	w.ctx, w.cell, w.refs = c, x, 1
	if c.trace != nil {
		c.trace.young[x] = true
	}
	x.set(v)
	return w
}

func (k *call) run(x *variable, xs []*Tensor, opts []Option, args []any) ([]*uop.UOp, error) {
	a := &k.args
	if x != nil {
		k.from = append(k.from, x.source())
		a.X = x.node()
	}
	for i, t := range xs {
		u, err := k.tensor(t)
		if err != nil {
			return nil, fmt.Errorf("xs[%d]: %w", i, err)
		}
		a.Xs = append(a.Xs, u)
	}
	for i, arg := range args {
		v, err := k.argument(arg)
		if err == nil {
			err = a.SetAt(i, v)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, o := range opts {
		v, err := k.argument(o.value)
		if err == nil {
			err = a.Set(o.name, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return a.Results()
}

// tensor is a tensor as an operand.
func (k *call) tensor(t *Tensor) (*uop.UOp, error) {
	switch {
	case t.Err() != nil:
		return nil, t.Err()
	case t.v.ctx != k.ctx:
		return nil, errors.New("belongs to another context")
	}
	k.from = append(k.from, t.v.source())
	return t.v.node(), nil
}

// takeSeed takes words of the random stream for the call that runs: a leaf of three numbers.
func (c *Context) takeSeed(words uint64) (*uop.UOp, error) {
	v, err := c.newSeed(words)
	if err != nil {
		return nil, err
	}
	c.now.from = append(c.now.from, v)
	return v.node, nil
}

// value computes a node of one element.
func (c *Context) value(node *uop.UOp) (uop.Const, error) {
	if c.trace != nil {
		return uop.Const{}, c.trace.valueNeeded()
	}
	m, err := c.compute(node)
	if err != nil {
		return uop.Const{}, err
	}
	defer m.free()
	bits := uint64(0)
	for i, x := range m.bytes() {
		bits |= uint64(x) << (8 * i)
	}
	return uop.FromBits(node.DType, bits), nil
}

// argument is a Go value as one that operations know.
func (k *call) argument(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, float64:
		return v, nil
	case *Tensor:
		if v == nil {
			return nil, nil
		}
		return k.tensor(v)
	case int:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case []int:
		out := make([]int64, len(v))
		for i, n := range v {
			out[i] = int64(n)
		}
		return out, nil
	case []float64:
		return v, nil
	case DType:
		return v.uop()
	case [][2]int:
		out := make([][]uop.Sint, len(v))
		for i, p := range v {
			out[i] = []uop.Sint{uop.N(int64(p[0])), uop.N(int64(p[1]))}
		}
		return out, nil
	case []Index:
		return k.items(v)
	case *Size:
		s, err := k.ctx.sint(v)
		if err != nil {
			return nil, err
		}
		return tensor.FromSize(k.ctx.graph, s)
	case map[string]int:
		out := map[string]int64{}
		for name, n := range maps.All(v) {
			out[name] = int64(n)
		}
		return out, nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint():
		return uop.Uint(r.Uint()), nil
	}
	return nil, fmt.Errorf("an argument is %T, expected a tensor or a number", v)
}

// items are an index expression.
func (k *call) items(list []Index) ([]tensor.Index, error) {
	out := make([]tensor.Index, len(list))
	for i, x := range list {
		out[i] = x.item
		if x.sizes != nil {
			var bounds [2]*uop.Sint
			for n, given := range x.sizes {
				if given == nil {
					continue
				}
				s, err := k.ctx.sint(given)
				if err != nil {
					return nil, fmt.Errorf("items[%d]: %w", i, err)
				}
				bounds[n] = &s
			}
			out[i] = tensor.SliceSizes(bounds[0], bounds[1], x.step)
		}
		if x.take != nil {
			u, err := k.tensor(x.take)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			out[i] = tensor.Take(u)
		}
	}
	return out, nil
}
