package model

import (
	"errors"
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// WriteIR writes a definition as an IR file. Shapes that depend on a variable cannot be written.
func WriteIR(d *Definition) ([]byte, error) {
	b, err := writeIR(d)
	if err != nil {
		return nil, fmt.Errorf("model.WriteIR: %w", err)
	}
	return b, nil
}

func writeIR(d *Definition) ([]byte, error) {
	w := &irWriter{index: map[*uop.UOp]int{}, texts: map[string]uint32{}, unique: map[*uop.UOp]int64{}}
	return w.write(d)
}

type irWriter struct {
	file   irFile
	index  map[*uop.UOp]int
	texts  map[string]uint32
	unique map[*uop.UOp]int64 // files count UNIQUEs from 0
	loops  int                // the number of loops around the current node
}

func (w *irWriter) write(d *Definition) ([]byte, error) {
	for _, e := range d.Entries {
		if err := w.add(e.Sink); err != nil {
			return nil, fmt.Errorf("entry %q: %w", e.Name, err)
		}
		switch e.Name {
		case EntryLoss:
			w.file.flags |= irHasLoss
		case "train_step":
			w.file.flags |= irHasTrainStep
		}
	}
	for _, v := range d.Variables {
		node := uint32(noNode)
		if i, ok := w.index[v.Node]; ok {
			node = uint32(i)
		}
		w.file.variables = append(w.file.variables, irVariable{w.text(v.Name), v.Role, node, v.Shape})
	}
	for _, e := range d.Entries {
		w.file.entries = append(w.file.entries, irEntry{w.text(e.Name), uint32(w.index[e.Sink])})
	}
	return w.file.encode()
}

// text is the number of a string.
func (w *irWriter) text(s string) uint32 {
	i, ok := w.texts[s]
	if !ok {
		i = uint32(len(w.file.strings))
		w.texts[s] = i
		w.file.strings = append(w.file.strings, s)
	}
	return i
}

// add writes a node after its sources.
func (w *irWriter) add(u *uop.UOp) error {
	if _, done := w.index[u]; done {
		return nil
	}
	if u.Op == uop.CustomGradient { // other readers of IR files do not know it
		v := tensor.Composed(u)
		if err := w.add(v); err != nil {
			return err
		}
		w.index[u] = w.index[v]
		return nil
	}
	if u.Op == uop.DefineVar && len(u.Src) > 0 {
		return errors.New("a loop that computes with its counter, as decompositions of matrices have, cannot be written")
	}
	n := irNode{op: u.Op, dtype: u.DType}
	for i, s := range writtenSources(u) {
		statements := u.Op == uop.Repeat && i == 0
		if statements {
			w.loops++
		}
		err := w.add(s)
		if statements {
			w.loops--
		}
		if err != nil {
			return err
		}
		n.src = append(n.src, w.index[s])
	}
	var err error
	if n.arg, err = w.arg(u); err != nil {
		return err
	}
	w.index[u] = len(w.file.nodes)
	w.file.nodes = append(w.file.nodes, n)
	return nil
}

// writtenSources are the sources of a node in files.
func writtenSources(u *uop.UOp) []*uop.UOp {
	switch u.Op {
	case uop.Param:
		return nil
	case uop.Shrink:
		out := u.Src[:1:1]
		for _, p := range u.MovementPairs() {
			for _, bound := range []uop.Sint{p.Lo, p.Hi} {
				if bound.Symbolic() {
					out = append(out, bound.U)
				}
			}
		}
		return out
	}
	return nodeSources(u)
}

func (w *irWriter) arg(u *uop.UOp) (a irArg, err error) {
	switch u.Op {
	case uop.Unique:
		id, ok := w.unique[u]
		if !ok {
			id = int64(len(w.unique))
			w.unique[u] = id
		}
		return irArg{kind: argInt, num: id}, nil
	case uop.Reshape, uop.Expand:
		dims, ok := u.MovementShape().Ints()
		if !ok {
			return a, fmt.Errorf("%s to a shape that depends on a variable cannot be written", u.Op)
		}
		return irArg{kind: argInts, nums: dims}, nil
	case uop.Pad, uop.Shrink:
		for _, p := range u.MovementPairs() {
			for _, bound := range []uop.Sint{p.Lo, p.Hi} {
				switch {
				case !bound.Symbolic():
					a.nums = append(a.nums, bound.N)
				case w.loops == 0 || u.Op == uop.Pad:
					return a, fmt.Errorf("%s by sizes that depend on a variable cannot be written", u.Op)
				default:
					a.nums = append(a.nums, inLoop)
				}
			}
		}
		a.kind = argPairs
		return a, nil
	case uop.Param:
		size, fixed := u.Shape().Ints()
		if !fixed || len(size) != 1 {
			return a, fmt.Errorf("an input of shape %s cannot be written", u.Shape())
		}
		return irArg{kind: argInts, nums: []int64{int64(u.Arg.(uop.Num)), size[0]}}, nil
	}
	switch v := u.Arg.(type) {
	case nil:
		return a, nil
	case uop.Num:
		return irArg{kind: argInt, num: int64(v)}, nil
	case uop.Nums:
		return irArg{kind: argInts, nums: widen(v)}, nil
	case uop.Flags:
		a.kind = argInts
		for i, f := range v {
			if f {
				a.nums = append(a.nums, int64(i))
			}
		}
		return a, nil
	case uop.AxisReduce:
		return irArg{kind: argReduce, num: int64(v.Op), nums: widen(v.Axes)}, nil
	case uop.PrefixArg:
		a = irArg{kind: argReduce, num: int64(v.Op), nums: []int64{int64(v.Axis), 0}}
		if v.Reverse {
			a.nums[1] = 1
		}
		return a, nil
	case uop.Const:
		return constArg(v)
	case uop.RepeatArg:
		return irArg{kind: argLoop, name: w.text(v.Variable), num: v.Count, lo: int64(v.States), hi: int64(v.While)}, nil
	case uop.VarArg:
		lo, okLo := v.Min.Int64()
		hi, okHi := v.Max.Int64()
		if okLo && okHi {
			return irArg{kind: argVar, name: w.text(v.Name), lo: lo, hi: hi}, nil
		}
	}
	if u.Op == uop.Scatter || u.Op == uop.Fetch {
		return a, errors.New("a scatter, as sorts and writes at computed places have, cannot be written")
	}
	return a, fmt.Errorf("%s with the argument %s cannot be written", u.Op, u.Arg)
}

func constArg(c uop.Const) (irArg, error) {
	switch c.Kind() {
	case uop.KindBool:
		if c.Truth() {
			return irArg{kind: argBool, num: 1}, nil
		}
		return irArg{kind: argBool}, nil
	case uop.KindFloat:
		return irArg{kind: argFloat, float: c.F()}, nil
	case uop.KindInt:
		if v, ok := c.Int64(); ok {
			return irArg{kind: argInt, num: v}, nil
		}
		// uint64 constants above the range of int64 keep their bits.
		if b := c.Big(); b.IsUint64() {
			return irArg{kind: argInt, num: int64(b.Uint64())}, nil
		}
	}
	return irArg{}, fmt.Errorf("the constant %s cannot be written", c)
}

func widen(v []int) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}
