package tensor

import (
	"sort"
	"strings"

	"polygrad/core/uop"
)

const einsumLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// einsumTerms are the letters of the operands, of the result, and of the ellipsis of a formula.
type einsumTerms struct {
	in        []string
	out, dots string
}

// parseEinsum parses "ab,bc->ac". Without an arrow the result has every letter that occurs once, sorted; an ellipsis is one
// letter for each remaining axis of an operand.
func parseEinsum(formula string, ranks []int) einsumTerms {
	f := strings.ReplaceAll(formula, " ", "")
	lhs, rhs, arrow := strings.Cut(f, "->")
	in := strings.Split(lhs, ",")
	if len(in) != len(ranks) {
		fail("formula", "%q has %d operands, given %d", formula, len(in), len(ranks))
	}
	dots := ""
	if strings.Contains(f, "...") {
		dots = einsumEllipsis(formula, f, in, ranks)
		rhs = strings.Replace(rhs, "...", dots, 1)
	}
	for _, c := range strings.Join(in, "") + rhs {
		if !strings.ContainsRune(einsumLetters, c) {
			fail("formula", "%q: %q is no letter", formula, c)
		}
	}
	for i, s := range in {
		if len(s) != ranks[i] {
			fail("formula", "%q: operand %d has %d letters for %d dimensions", formula, i, len(s), ranks[i])
		}
	}
	if !arrow {
		rhs = dots + einsumSingles(strings.Join(in, ""), dots)
	}
	for i, c := range rhs {
		if !strings.ContainsRune(strings.Join(in, ""), c) {
			fail("formula", "%q: %q of the result is in no operand", formula, c)
		}
		if strings.ContainsRune(rhs[:i], c) {
			fail("formula", "%q: %q occurs twice in the result", formula, c)
		}
	}
	return einsumTerms{in, rhs, dots}
}

// einsumEllipsis replaces the ellipses of the operands by unused letters and returns these.
func einsumEllipsis(formula, f string, in []string, ranks []int) string {
	free := ""
	for _, c := range einsumLetters {
		if !strings.ContainsRune(f, c) {
			free += string(c)
		}
	}
	most, counts := 0, make([]int, len(in))
	for i, s := range in {
		if n := strings.Count(s, "..."); n > 1 {
			fail("formula", "%q: operand %d has more than one ellipsis", formula, i)
		} else if n == 1 {
			counts[i] = ranks[i] - (len(s) - 3)
			if counts[i] < 0 {
				fail("formula", "%q: operand %d has %d letters for %d dimensions", formula, i, len(s)-3, ranks[i])
			}
			most = max(most, counts[i])
		}
	}
	if most > len(free) {
		fail("formula", "%q: too many dimensions for the ellipsis", formula)
	}
	for i, s := range in {
		in[i] = strings.Replace(s, "...", free[most-counts[i]:most], 1)
	}
	return free[:most]
}

// einsumSingles are the letters that occur once, sorted, without those of the ellipsis.
func einsumSingles(all, dots string) string {
	var out []string
	for _, c := range all {
		if strings.Count(all, string(c)) == 1 && !strings.ContainsRune(dots, c) {
			out = append(out, string(c))
		}
	}
	sort.Strings(out)
	return strings.Join(out, "")
}

// einsumTrace takes the diagonal where a letter occurs twice in an operand.
func einsumTrace(x *uop.UOp, s string) (*uop.UOp, string) {
	for at := 0; at < len(s); {
		next := strings.IndexByte(s[at+1:], s[at])
		if next < 0 {
			at++
			continue
		}
		next += at + 1
		shape := x.Shape()
		if shape[at] != shape[next] {
			fail("formula", "the letter %q stands for sizes %s and %s", s[at], shape[at], shape[next])
		}
		var order []int
		for i := range shape {
			if i != at && i != next {
				order = append(order, i)
			}
		}
		x = diagonalOfLast(permute(x, append(order, at, next)))
		rest := s[:at] + s[at+1:next] + s[next+1:]
		s, at = rest+s[at:at+1], 0
	}
	return x, s
}

// diagonalOfLast is the diagonal of two last axes of equal size.
func diagonalOfLast(x *uop.UOp) *uop.UOp {
	s := x.Shape()
	last := len(s) - 2
	n := intSize("operands", s, last)
	flat := padAxis(flatten(x, -2, -1), last, 0, n, 0)
	return index(unflatten(flat, -1, uop.ShapeOf(n, n+1)), Ellipsis(), At(0))
}

// einsum aligns all operands to the sorted letters, multiplies, sums over letters missing in the result, and permutes.
func einsum(formula string, xs []*uop.UOp) *uop.UOp {
	ranks := make([]int, len(xs))
	for i, x := range xs {
		ranks[i] = len(x.Shape())
	}
	terms := parseEinsum(formula, ranks)
	sizes := map[byte]uop.Sint{}
	xs = append([]*uop.UOp(nil), xs...)
	for i := range xs {
		xs[i], terms.in[i] = einsumTrace(xs[i], terms.in[i])
		for j, d := range xs[i].Shape() {
			c := terms.in[i][j]
			broadcasts := strings.IndexByte(terms.dots, c) >= 0 && (sizes[c].IsNum(1) || d.IsNum(1))
			if old, ok := sizes[c]; ok && old != d && !broadcasts {
				fail("formula", "%q: the letter %q stands for sizes %s and %s", formula, c, old, d)
			} else if !ok || old.IsNum(1) {
				sizes[c] = d
			}
		}
	}
	letters := make([]byte, 0, len(sizes))
	for c := range sizes {
		letters = append(letters, c)
	}
	sort.Slice(letters, func(i, j int) bool { return letters[i] < letters[j] })
	var r *uop.UOp
	for i, x := range xs {
		if x = einsumAlign(x, terms.in[i], letters, sizes); r == nil {
			r = x
		} else {
			r = mul(r, x)
		}
	}
	gone := []int{}
	kept := ""
	for i, c := range letters {
		if strings.IndexByte(terms.out, c) < 0 {
			gone = append(gone, i)
		} else {
			kept += string(c)
		}
	}
	r = sum(r, gone, false)
	order := make([]int, len(kept))
	for i := range order {
		order[i] = strings.IndexByte(kept, terms.out[i])
	}
	return permute(r, order)
}

// einsumAlign permutes the axes of x into the order of the letters and expands it to all of them.
func einsumAlign(x *uop.UOp, s string, letters []byte, sizes map[byte]uop.Sint) *uop.UOp {
	if s == "" {
		return x
	}
	var order []int
	var narrow, wide uop.Shape
	for _, c := range letters {
		d := uop.N(1)
		if i := strings.IndexByte(s, c); i >= 0 {
			order = append(order, i)
			d = x.Shape()[i]
		}
		narrow, wide = append(narrow, d), append(wide, sizes[c])
	}
	return expand(reshape(permute(x, order), narrow), wide)
}

// Einsum is the sum of products that a formula of letters describes, one letter for each axis, such as
// "ij,jk->ik"; all axes of a letter have one size. Blanks do not count. Without "->" the result has every letter that occurs once, in
// alphabetical order. A letter that occurs twice in an operand takes its diagonal. "..." stands for
// further axes, which broadcast.
func Einsum(formula string, xs ...*uop.UOp) (r *uop.UOp, err error) {
	defer guard("Einsum", &err)
	needTensors(xs)
	return einsum(formula, xs), nil
}
