package polygrad

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/variable"
)

// A Size is an integer that may depend on variables: the size of an axis, or a bound of an index. Kernels and compiled steps are compiled
// once for all values of the variables. A Size that fails carries an error (Err), and so does every size and tensor made from it.
type Size struct {
	ctx *Context
	s   uop.Sint
	// v keeps the node of a symbolic size.
	v   *variable.Variable
	err error
}

// Variable is Context.Variable in the default context.
func Variable(name string, least, greatest int) *Size {
	return Default().Variable(name, least, greatest)
}

// Variable returns a variable with values from least to greatest, both included, within int32. Bind gives it a value. The same name and
// bounds give the same variable.
func (c *Context) Variable(name string, least, greatest int) *Size {
	switch {
	case name == "":
		return &Size{err: errors.New("polygrad: Variable: name: is empty")}
	case least > greatest || least < math.MinInt32 || greatest > math.MaxInt32:
		return &Size{err: fmt.Errorf("polygrad: Variable: %d to %d, expected an interval of int32", least, greatest)}
	}
	c.lock()
	defer c.unlock()
	u := c.vars.Graph.Variable(name, uop.Int(int64(least)), uop.Int(int64(greatest)), uop.Int32)
	s, err := tensor.SizeOf(u)
	return c.size(s, "Variable", err)
}

// size makes a size.
func (c *Context) size(s uop.Sint, fn string, err error) *Size {
	if err != nil {
		return &Size{err: failedTensor(fn, err).err}
	}
	z := &Size{ctx: c, s: s}
	if s.Symbolic() {
		z.v = c.vars.FromNode(s.U)
		runtime.AddCleanup(z, c.dropLater, dropper(z.v))
	}
	return z
}

// Bind returns the variable with the value n. A size that is not a variable, or a value outside of its bounds, is an error.
func (z *Size) Bind(n int) *Size {
	if err := z.Err(); err != nil {
		return &Size{err: err}
	}
	c := z.ctx
	c.lock()
	defer c.unlock()
	list := tensor.SizeVariables(z.s)
	if len(list) != 1 {
		return c.size(z.s, "Size.Bind", fmt.Errorf("%s, expected a variable", tensor.SizeString(z.s)))
	}
	u := list[0].Variable
	for u.Op == uop.Cast || u.Op == uop.Bind {
		u = u.Src[0]
	}
	a := u.Arg.(uop.VarArg)
	if k := uop.Int(int64(n)); k.Less(a.Min) || a.Max.Less(k) {
		return c.size(z.s, "Size.Bind", fmt.Errorf("%d is outside of %s", n, a))
	}
	bound := c.vars.Graph.New(uop.Bind, u.DType, []*uop.UOp{u, c.vars.Graph.Const(u.DType, uop.Int(int64(n)))}, nil, nil)
	s, err := tensor.SizeOf(bound)
	return c.size(s, "Size.Bind", err)
}

// Add returns the sum of the size and x, an int or a *Size of the same context.
func (z *Size) Add(x any) *Size { return z.with("Size.Add", tensor.SizeAdd, x) }

// Sub returns the difference of the size and x.
func (z *Size) Sub(x any) *Size { return z.with("Size.Sub", tensor.SizeSub, x) }

// Mul returns the product of the size and x.
func (z *Size) Mul(x any) *Size { return z.with("Size.Mul", tensor.SizeMul, x) }

// Div returns the quotient of the size and x, rounded down.
func (z *Size) Div(x any) *Size { return z.with("Size.Div", tensor.SizeDiv, x) }

// Mod returns the remainder of Div, with the sign of x.
func (z *Size) Mod(x any) *Size { return z.with("Size.Mod", tensor.SizeMod, x) }

func (z *Size) with(fn string, op tensor.SizeOperation, x any) *Size {
	if err := z.Err(); err != nil {
		return &Size{err: err}
	}
	c := z.ctx
	c.lock()
	defer c.unlock()
	other, err := c.sint(x)
	if err != nil {
		return c.size(z.s, fn, err)
	}
	s, err := tensor.SizeOp(c.vars.Graph, op, z.s, other)
	return c.size(s, fn, err)
}

// sint is an int or a *Size as a size of the graph.
func (c *Context) sint(x any) (uop.Sint, error) {
	switch x := x.(type) {
	case int:
		return uop.N(int64(x)), nil
	case *Size:
		if err := x.Err(); err != nil {
			return uop.Sint{}, err
		}
		if x.ctx != c {
			return uop.Sint{}, errors.New("the size belongs to another context")
		}
		return x.s, nil
	}
	return uop.Sint{}, fmt.Errorf("a size is %T, expected int or *Size", x)
}

// Value returns the value of a size. It is an error if a variable is not bound.
func (z *Size) Value() (n int, err error) {
	if err := z.Err(); err != nil {
		return 0, err
	}
	v, ok := tensor.SizeValue(z.s)
	if !ok {
		return 0, fmt.Errorf("polygrad: Size.Value: %s has no value: bind its variables", tensor.SizeString(z.s))
	}
	return int(v), nil
}

// Bounds returns the least and the greatest value of a size; 0, 0 if it has an error.
func (z *Size) Bounds() (least, greatest int) {
	if z.Err() != nil {
		return 0, 0
	}
	lo, hi := tensor.SizeBounds(z.s)
	return int(lo), int(hi)
}

// Err returns the error of the size, the first one in the chain of operations that made it, or nil.
func (z *Size) Err() error {
	switch {
	case z == nil:
		return errors.New("polygrad: the size is nil")
	case z.err == nil && z.ctx == nil:
		return errors.New("polygrad: the size is empty: see Variable")
	}
	return z.err
}

func (z *Size) String() string {
	if err := z.Err(); err != nil {
		return "Size(" + err.Error() + ")"
	}
	return tensor.SizeString(z.s)
}

// Sizes returns the size of each axis as a Size, which may be symbolic; nil if the tensor has an error.
func (t *Tensor) Sizes() (sizes []*Size) {
	t.withLock(func() {
		for _, s := range t.v.Node().Shape() {
			sizes = append(sizes, t.c.size(s, "Sizes", nil))
		}
	})
	return sizes
}
