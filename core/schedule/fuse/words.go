package fuse

import (
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// boolsInWord is the number of bools, of a byte each, in a word.
const boolsInWord = 4

// reduceWords reads the bools of any and all in words, each of which has the bools of neighbouring elements: they are combined at once.
func (f *fuser) reduceWords() (changed bool) {
	for i, g := range f.groups {
		if g.body == nil || len(g.body.stores) != 1 || overlap(g.reads, g.writes) {
			continue
		}
		if b := f.inWords(g.body); b != nil {
			f.groups[i], f.changed, changed = groupOf(b, g.kernels), true, true
		}
	}
	return changed
}

// inWords is a body that reduces bools in memory by any or all (a maximum, with or without negations) in whole words; nil for other bodies, and
// if rows do not begin and end at a word.
func (f *fuser) inWords(b *body) *body {
	s := b.stores[0]
	reduced, inverted := notOf(s.value)
	if reduced.Op != uop.Reduce || reduced.DType != uop.Bool || uop.Op(reduced.Arg.(uop.OpArg)) != uop.Max {
		return nil
	}
	load, negated := notOf(reduced.Src[0])
	if load.Op != uop.Index || load.DType != uop.Bool {
		return nil
	}
	for _, r := range load.Ranges() {
		if variable(r) || sizeOf(r)%boolsInWord != 0 || sizeOf(r) == boolsInWord {
			continue
		}
		word := f.newRange(r.With(r.Src[0].IntLike(sizeOf(r) / boolsInWord)))
		words := wordsAt(load, r, word)
		if words == nil {
			continue
		}
		ones := words.Graph().Const(uop.Uint32, uop.Int(0x01010101))
		if negated {
			words = words.Xor(ones)
		}
		if at := slices.Index(reduced.Src[1:], r); at >= 0 {
			loops := slices.Clone(reduced.Src)
			loops[0], loops[1+at] = words, word
			value := words.Graph().New(uop.Reduce, uop.Uint32, loops, uop.OpArg(uop.Or), nil).Ne(ones.IntLike(0))
			if inverted {
				value = value.Not()
			}
			return b.withValues(map[*uop.UOp]*uop.UOp{s.value: value})
		}
		to := wordsAt(s.at, r, word)
		if to == nil {
			continue
		}
		value := reduced.Graph().New(uop.Reduce, uop.Uint32, append([]*uop.UOp{words}, reduced.Src[1:]...), uop.OpArg(uop.Or), nil)
		if inverted {
			value = value.Xor(ones)
		}
		loops := slices.Clone(s.loops)
		loops[slices.Index(loops, r)] = word
		all := slices.Clone(b.loops)
		all[slices.Index(all, r)] = word
		return &body{stores: []store{{slot: s.slot, at: to, value: value, loops: loops}}, loops: all}
	}
	return nil
}

// notOf is the operand of a negation, or the value itself.
func notOf(u *uop.UOp) (of *uop.UOp, negated bool) {
	if u.Op == uop.CmpNe && u.Src[1].Op == uop.ConstOp && u.DType == uop.Bool && u.Src[0].DType == uop.Bool && u.Src[1].ConstVal().Truth() {
		return u.Src[0], true
	}
	return u, false
}

// wordsAt turns an INDEX of bools with stride 1 in r into an INDEX of words: boolsInWord iterations of r become one iteration of word. It is nil
// if a word would have elements of other iterations.
func wordsAt(at, r, word *uop.UOp) *uop.UOp {
	memory := at.Src[0]
	if memory.Op != uop.Param || len(at.Src) != 2 || memory.DType.Size%boolsInWord != 0 || strideIn(at.Src[1], r) != 1 {
		return nil
	}
	first := replace(at.Src[1], map[*uop.UOp]*uop.UOp{r: word.Mul(word.IntLike(boolsInWord))})
	index := symbolic.Divides(first, uop.Int(boolsInWord))
	if index == nil {
		return nil
	}
	return memory.WithDType(uop.Uint32.Ptr(memory.DType.Size/boolsInWord, uop.Global)).IndexAs(uop.Uint32, simplify(index))
}
