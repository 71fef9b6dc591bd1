package tensor

import (
	"polygrad/core/uop"
)

// sizeTensor makes a tensor of a symbolic size: an integer made of variables, as default integers.
func sizeTensor(x *uop.UOp, size *uop.UOp) *uop.UOp {
	g := x.Graph()
	switch size.Op {
	case uop.ConstOp:
		return constant(x, uop.DefaultInt, size.ConstVal())
	case uop.Bind:
		v, n := size.Unbind()
		c := constant(x, uop.DefaultInt, uop.Int(n))
		v = g.New(uop.DefineVar, uop.DefaultInt, c.Src, v.Arg, nil)
		return g.New(uop.Bind, uop.DefaultInt, []*uop.UOp{v, c}, nil, nil)
	case uop.Cast: // of a variable to the type of sizes
		return sizeTensor(x, size.Src[0])
	case uop.DefineVar:
		return g.New(uop.DefineVar, uop.DefaultInt, constant(x, uop.DefaultInt, uop.Int(0)).Src, size.Arg, nil)
	case uop.Neg:
		return neg(sizeTensor(x, size.Src[0]))
	case uop.Add, uop.Mul, uop.Idiv, uop.Mod, uop.Max:
		return sizeTensor(x, size.Src[0]).Alu(size.Op, sizeTensor(x, size.Src[1]))
	}
	fail("x", "is the size %s, expected a tensor", size.Render())
	return nil
}
