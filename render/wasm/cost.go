package wasm

import "polygrad/core/uop"

// costs adds up what computing values costs, in instructions. What lies in a
// loop counts more the deeper the loop is.
type costs struct {
	g    *graph
	walk walk
	sum  int
	base int // depth of the block that counts once
}

const loopFactor = 16

func (g *graph) costOf(base int, vs ...*value) int {
	c := costs{g: g, walk: g.walk(), base: base}
	for _, v := range vs {
		c.add(v)
	}
	return c.sum
}

func (c *costs) add(v *value) {
	if v == nil || !c.walk.first(v) {
		return
	}
	n := ownCost(v)
	_, early := c.g.earlier(v)
	if early {
		// It is made before the loop, and loaded here.
		n = 1
	}
	for range v.home.depth - c.base {
		n *= loopFactor
	}
	if v.home.depth >= c.base {
		c.sum += n
	}
	if early {
		return
	}
	for i, a := range v.args {
		if v.lanes > 1 && i == 1 && (v.op == uop.Shl || v.op == uop.Shr) {
			continue
		}
		c.add(a)
	}
	if v.op == opPhi {
		for _, p := range v.loop.phis {
			if p.v == v {
				c.add(p.init)
				c.add(p.next)
			}
		}
	}
}

func ownCost(v *value) int {
	switch v.op {
	case uop.ConstOp, uop.Range, uop.DefineVar, opPhi, opFinal:
		return 0
	case opGather:
		return 2 * len(v.args)
	case opShuffle:
		return 4
	case opSplat:
		return 2
	case uop.Load:
		n := 1
		if v.at.gate != nil {
			n = 4
		}
		if v.kind == kF16 || v.kind == kBF16 || v.kind < kI32 {
			n += 2
		}
		return n
	case uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh:
		return 25
	case uop.Fdiv, uop.Sqrt:
		return 4
	}
	switch v.kind {
	case kF16, kE4M3, kE5M2, kBF16:
		return 12
	case kI8, kU8, kI16, kU16:
		return 2
	case kI64, kU64:
		if v.lanes > 1 && (v.op == uop.Mul || v.op == uop.CmpLt || v.op == uop.Max) {
			return 6
		}
	}
	return 1
}
