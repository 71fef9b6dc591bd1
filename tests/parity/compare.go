// Package parity compares what this compiler makes of the reference cases with what tinygrad made of them, node by node.
package parity

import (
	"slices"
	"sort"

	"polygrad/tests/parity/dump"
)

// Level is one way to compare two results. Levels are independent of each other.
type Level int

// The levels: number of kernels, counts of operations per kernel, operations of the linear list, the linear list with
// everything, the graph before linearizing whatever its order, the kernel before lowering, the computed values.
const (
	Kern Level = iota
	Struct
	Ops
	Full
	Graph
	AST
	Vals
	numLevels
)

var levelNames = [numLevels]string{"kern", "struct", "ops", "full", "graph", "ast", "vals"}

// String is the name of the level.
func (l Level) String() string { return levelNames[l] }

// Levels says for each level whether a case is equal there.
type Levels [numLevels]bool

// Compare compares a candidate with the reference.
func Compare(ref, got *dump.Case) Levels {
	var l Levels
	l[Kern] = ref.NKernels == got.NKernels && len(ref.Kernels) == len(got.Kernels)
	if l[Kern] {
		l[Struct] = all(ref, got, sameStructure)
		l[Ops] = all(ref, got, func(a, b *dump.Kernel) bool { return slices.Equal(a.Ops, b.Ops) })
		l[Full] = all(ref, got, func(a, b *dump.Kernel) bool { return dump.Diff(a.Linear, b.Linear, false) < 0 })
		l[Graph] = all(ref, got, func(a, b *dump.Kernel) bool { return sameGraph(a.Rewritten, b.Rewritten) })
		l[AST] = all(ref, got, func(a, b *dump.Kernel) bool { return dump.Diff(a.AST, b.AST, false) < 0 })
	}
	l[Vals] = sameValues(ref.Outputs, got.Outputs)
	return l
}

func all(ref, got *dump.Case, same func(a, b *dump.Kernel) bool) bool {
	for i := range ref.Kernels {
		if !same(&ref.Kernels[i], &got.Kernels[i]) {
			return false
		}
	}
	return true
}

func sameStructure(a, b *dump.Kernel) bool {
	if len(a.Structure) != len(b.Structure) {
		return false
	}
	for k, v := range a.Structure {
		if w, ok := b.Structure[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func sameGraph(a, b []dump.Node) bool {
	x, y := dump.StructuralHashes(a), dump.StructuralHashes(b)
	sort.Strings(x)
	sort.Strings(y)
	return slices.Equal(x, y)
}

func sameValues(ref, got []dump.Output) bool {
	if len(ref) != len(got) {
		return false
	}
	for i, r := range ref {
		want, have := r.Values, got[i].Values
		if want == nil {
			want, have = r.Sample, sampled(have, r.Stride)
		}
		if len(want) != len(have) {
			return false
		}
		for j := range want {
			if !have[j].Close(want[j], r.DType) {
				return false
			}
		}
	}
	return true
}

// sampled picks every stride-th value.
func sampled(v []dump.Value, stride int) []dump.Value {
	var out []dump.Value
	for i := 0; i < len(v) && stride > 0; i += stride {
		out = append(out, v[i])
	}
	return out
}

// Structure is the signature of a linear list: how often the operations of loops and memory occur, and how deep loops nest.
func Structure(ops []string) map[string]int {
	s := map[string]int{}
	for _, o := range []string{"RANGE", "END", "REDUCE", "STORE", "LOAD", "INDEX", "AFTER", "DEFINE_LOCAL", "DEFINE_REG"} {
		s[o] = 0
	}
	depth, least, most := 0, 0, 0
	for _, o := range ops {
		if _, ok := s[o]; ok {
			s[o]++
		}
		switch o {
		case "RANGE":
			depth++
		case "END":
			depth--
		}
		least, most = min(least, depth), max(most, depth)
	}
	s["MAX_RANGE_DEPTH"], s["FINAL_RANGE_DEPTH"], s["MIN_RANGE_DEPTH"] = most, depth, least
	return s
}
