package model

import (
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// indexOps are the operations on the variable of a loop.
var indexOps = uop.Ops(uop.ConstOp, uop.DefineVar, uop.Add, uop.Mul)

func isIndex(v Readings) bool { return v.Keep.DType == uop.IndexT }

// isOpen reports whether node i belongs to the statements of a loop.
func (r *irBuilder) isOpen(i int) bool {
	n := &r.file.nodes[i]
	src := n.src
	switch {
	case n.op == uop.Param, n.op == uop.DefineVar && n.dtype == uop.IndexT:
		return true
	case n.op == uop.Repeat:
		src = src[1:]
	case n.op == uop.Sink && len(src) > 0 && r.file.nodes[src[0]].op == uop.Sink:
		return true
	}
	for _, s := range src {
		if r.open[s] {
			return true
		}
	}
	return false
}

// param stands for an operand of a loop, as a row of elements.
func (r *irBuilder) param(n *irNode) (Readings, error) {
	if n.arg.kind != argInts || len(n.arg.nums) != 2 || n.arg.nums[0] < 0 || n.arg.nums[0] >= int64(len(r.file.nodes)) || n.arg.nums[1] < 0 || n.arg.nums[1] > maxElements {
		return Readings{}, fmt.Errorf("has no number and elements")
	}
	src := []*uop.UOp{r.g.ShapeArg(uop.ShapeOf(n.arg.nums[1])), r.g.DeviceOp(tensor.DeviceName)}
	return Readings{Keep: r.g.New(uop.Param, n.dtype, src, uop.Num(n.arg.nums[0]), nil)}, nil
}

// writeState is an ASSIGN to a part of a state.
func writeState(op uop.Op, target, value *uop.UOp) (Readings, error) {
	for u := target; u.Op != uop.Param; u = u.Src[0] {
		if u.Op != uop.Reshape && u.Op != uop.Shrink && u.Op != uop.Permute && u.Op != uop.Flip {
			return Readings{}, fmt.Errorf("writes to a %s, expected a part of a state", u.Op)
		}
	}
	if op != uop.Assign || value.DType != target.DType || !value.Shape().Equal(target.Shape()) {
		return Readings{}, fmt.Errorf("a value of %s %s, expected an ASSIGN of %s %s", value.DType, value.Shape(), target.DType, target.Shape())
	}
	return Readings{Keep: target.AssignTo(value)}, nil
}

// index computes with the variable of a loop.
func index(n *irNode, src []Readings) (Readings, error) {
	u := src[0].Keep
	switch {
	case n.op == uop.Cast && n.dtype != uop.IndexT:
		return Readings{Keep: u.Cast(n.dtype)}, nil
	case indexOps.Has(n.op) && n.dtype == uop.IndexT && isIndex(src[0]) && isIndex(src[1]):
		return Readings{Keep: u.Alu(n.op, src[1].Keep)}, nil
	}
	return Readings{}, fmt.Errorf("is no operation on the variable of a loop")
}

// loop reads a REPEAT, and checks that its statements read and write its operands only.
func (r *irBuilder) loop(n *irNode) (Readings, error) {
	operands := make([]*uop.UOp, len(n.src)-1)
	for i, s := range n.src[1:] {
		if operands[i] = r.values[s].Keep; operands[i] == nil || notTensors.Has(operands[i].Op) || operands[i].DType == uop.IndexT {
			return Readings{}, fmt.Errorf("source %d is a %s, expected a tensor", i+1, r.file.nodes[s].op)
		}
	}
	a := uop.RepeatArg{Count: n.arg.num, States: int(n.arg.lo), While: int(n.arg.hi)}
	if n.arg.kind != argLoop || a.Count < 1 || a.Count > math.MaxInt32 || n.arg.lo < 1 || n.arg.lo > int64(len(operands)) || n.arg.hi < 0 || n.arg.hi > n.arg.lo {
		return Readings{}, fmt.Errorf("has no number of iterations and of states")
	}
	a.Variable = r.file.strings[n.arg.name]
	if a.While > 0 && (operands[a.While-1].DType != uop.Bool || operands[a.While-1].Size() != 1) {
		return Readings{}, fmt.Errorf("lasts for state %d, which is no bool", a.While-1)
	}
	statements := r.values[n.src[0]].Keep
	if statements == nil || statements.Op != uop.Sink || len(statements.Src) == 0 {
		return Readings{}, fmt.Errorf("has no statements")
	}
	for _, s := range statements.Src {
		if s.Op != uop.Sink {
			return Readings{}, fmt.Errorf("a statement is a %s, expected a SINK", s.Op)
		}
		for _, w := range s.Src {
			if w.Op != uop.Assign || w.Src[0].Base().Op != uop.Param || int(w.Src[0].Base().Arg.(uop.Num)) >= a.States {
				return Readings{}, fmt.Errorf("a statement writes what is no state")
			}
		}
	}
	seen := map[*uop.UOp]bool{}
	var check func(u *uop.UOp) error
	check = func(u *uop.UOp) error {
		if seen[u] {
			return nil
		}
		seen[u] = true
		src := u.Src
		switch u.Op {
		case uop.Param:
			k := int(u.Arg.(uop.Num))
			if k >= len(operands) || u.DType != operands[k].DType || u.Size() != operands[k].Size() {
				return fmt.Errorf("operand %d is not %s of %d elements", k, u.DType, u.Size())
			}
			return nil
		case uop.DefineVar:
			v := u.Arg.(uop.VarArg)
			lo, _ := v.Min.Int64()
			hi, _ := v.Max.Int64()
			if v.Name != a.Variable || lo != 0 || hi != a.Count-1 {
				return fmt.Errorf("reads the variable %q from %d to %d, expected %q from 0 to %d", v.Name, lo, hi, a.Variable, a.Count-1)
			}
		case uop.Buffer, uop.Store:
			return fmt.Errorf("a statement has a %s, expected operands only", u.Op)
		case uop.Repeat:
			src = src[1:] // those statements have their own operands
		}
		for _, s := range src {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(statements); err != nil {
		return Readings{}, err
	}
	return Readings{Keep: r.g.RepeatOn(a, statements.Src, operands[:a.States], operands[a.States:])[0].Src[0]}, nil
}

// result is a state after a loop.
func (r *irBuilder) result(n *irNode, loop *uop.UOp) (Readings, error) {
	if loop == nil || loop.Op != uop.Repeat || n.arg.kind != argInt || n.arg.num < 0 || n.arg.num >= int64(loop.Arg.(uop.RepeatArg).States) {
		return Readings{}, fmt.Errorf("is no state of a loop")
	}
	return Readings{Keep: r.g.New(uop.Result, loop.Src[1+n.arg.num].DType, []*uop.UOp{loop}, uop.Num(n.arg.num), nil)}, nil
}
