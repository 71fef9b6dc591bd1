package tensor

import (
	"math"
	"math/bits"
	"slices"
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
		fail("formula", "%q has letters for %d operands, expected %d", formula, len(in), len(ranks))
	}
	dots := ""
	if strings.Contains(f, "...") {
		dots = einsumEllipsis(formula, f, in, ranks)
		rhs = strings.Replace(rhs, "...", dots, 1)
	}
	for _, c := range strings.Join(in, "") + rhs {
		if !strings.ContainsRune(einsumLetters, c) {
			fail("formula", "%q: %q, expected a letter", formula, c)
		}
	}
	for i, s := range in {
		if len(s) != ranks[i] {
			fail("formula", "%q: operand %d has %d letters, expected %d, one for each dimension", formula, i, len(s), ranks[i])
		}
	}
	if !arrow {
		rhs = dots + einsumSingles(strings.Join(in, ""), dots)
	}
	for i, c := range rhs {
		if !strings.ContainsRune(strings.Join(in, ""), c) {
			fail("formula", "%q: %q of the result is in no operand, expected it in one", formula, c)
		}
		if strings.ContainsRune(rhs[:i], c) {
			fail("formula", "%q: %q occurs twice in the result, expected it once", formula, c)
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
			fail("formula", "%q: operand %d has several ellipses, expected at most one", formula, i)
		} else if n == 1 {
			counts[i] = ranks[i] - (len(s) - 3)
			if counts[i] < 0 {
				fail("formula", "%q: operand %d has %d letters, expected at most %d, the number of dimensions", formula, i, len(s)-3, ranks[i])
			}
			most = max(most, counts[i])
		}
	}
	if most > len(free) {
		fail("formula", "%q: the ellipsis has too many dimensions, expected at most 52 letters", formula)
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
			fail("formula", "the letter %q stands for sizes %s and %s, expected one size", s[at], shape[at], shape[next])
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

// einsum takes diagonals, and multiplies and sums in a good order.
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
				fail("formula", "%q: the letter %q stands for sizes %s and %s, expected one size", formula, c, old, d)
			} else if !ok || old.IsNum(1) {
				sizes[c] = d
			}
		}
	}
	if len(xs) > 1 && !asTinygrad(xs[0]) && !slices.ContainsFunc(xs, func(x *uop.UOp) bool { return !x.DType.IsDifferentiable() }) {
		xs, terms.in = einsumPairs(xs, terms, sizes)
	}
	return einsumProduct(xs, terms.in, terms.out, sizes)
}

// einsumProduct aligns all operands to the sorted letters, multiplies, sums over letters missing in the result, and permutes.
func einsumProduct(xs []*uop.UOp, in []string, out string, sizes map[byte]uop.Sint) *uop.UOp {
	if len(xs) <= 2 && slices.ContainsFunc(xs, func(x *uop.UOp) bool { return x.DType.IsComplex() }) {
		return productOfPlanes(xs, func(planes []*uop.UOp) *uop.UOp { return einsumProduct(planes, in, out, sizes) })
	}
	letters := []byte(strings.Join(in, ""))
	slices.Sort(letters)
	letters = slices.Compact(letters)
	var r *uop.UOp
	for i, x := range xs {
		if x = einsumAlign(x, in[i], letters, sizes); r == nil {
			r = x
		} else {
			r = mul(r, x)
		}
	}
	gone := []int{}
	kept := ""
	for i, c := range letters {
		if strings.IndexByte(out, c) < 0 {
			gone = append(gone, i)
		} else {
			kept += string(c)
		}
	}
	r = sum(r, gone, false)
	order := make([]int, len(kept))
	for i := range order {
		order[i] = strings.IndexByte(kept, out[i])
	}
	return permute(r, order)
}

// einsumPairs sums over the letters that only one operand has, and then multiplies two operands at a time until two are left, in
// the order that takes the fewest operations.
func einsumPairs(xs []*uop.UOp, terms einsumTerms, sizes map[byte]uop.Sint) ([]*uop.UOp, []string) {
	xs, in := slices.Clone(xs), slices.Clone(terms.in)
	kept := func(s string, without ...int) string {
		out := ""
		for _, c := range s {
			elsewhere := func(i int) bool { return !slices.Contains(without, i) && strings.ContainsRune(in[i], c) }
			if !strings.ContainsRune(out, c) && (strings.ContainsRune(terms.out, c) || slices.ContainsFunc(countTo(len(in)), elsewhere)) {
				out += string(c)
			}
		}
		return out
	}
	for i := range xs {
		if left := kept(in[i], i); left != in[i] {
			xs[i], in[i] = einsumProduct(xs[i:i+1], in[i:i+1], left, sizes), left
		}
	}
	for len(xs) > 2 {
		i, j := einsumNext(in, terms.out, sizes)
		out := kept(in[i]+in[j], i, j)
		r := einsumProduct([]*uop.UOp{xs[i], xs[j]}, []string{in[i], in[j]}, out, sizes)
		xs, in = append(slices.Delete(slices.Delete(xs, j, j+1), i, i+1), r), append(slices.Delete(slices.Delete(in, j, j+1), i, i+1), out)
	}
	return xs, in
}

const (
	// mostOrdered is the number of operands up to which all orders are compared; of more the cheapest pair comes first.
	mostOrdered = 8
	// storedWork is what an element of an intermediate result costs, in multiplications: it is stored and loaded again.
	storedWork = 8
)

// einsumNext is the pair of operands i < j that is multiplied first.
func einsumNext(in []string, out string, sizes map[byte]uop.Sint) (int, int) {
	if len(in) > mostOrdered {
		return einsumCheapest(in, sizes)
	}
	// The letters of a set of operands that are needed outside of it, and all of them.
	letters := func(set int) (needed, all string) {
		outside := out
		for i, s := range in {
			if set>>i&1 == 0 {
				outside += s
			} else {
				all += s
			}
		}
		for _, c := range all {
			if strings.ContainsRune(outside, c) {
				needed += string(c)
			}
		}
		return needed, all
	}
	volume := einsumVolume(sizes)
	full := 1<<len(in) - 1
	cost, split := make([]float64, full+1), make([]int, full+1)
	for set := 1; set <= full; set++ {
		if set&(set-1) == 0 {
			continue
		}
		cost[set] = math.Inf(1)
		own, _ := letters(set)
		for part := (set - 1) & set; part > 0; part = (part - 1) & set {
			a, _ := letters(part)
			b, _ := letters(set &^ part)
			if c := cost[part] + cost[set&^part] + volume(a+b) + storedWork*volume(own); c < cost[set] {
				cost[set], split[set] = c, part
			}
		}
	}
	set := full
	for bits.OnesCount(uint(set)) > 2 {
		if bits.OnesCount(uint(split[set])) > 1 {
			set = split[set]
		} else {
			set &^= split[set]
		}
	}
	return bits.TrailingZeros(uint(set)), bits.Len(uint(set)) - 1
}

// einsumCheapest is the pair of operands whose product takes the fewest operations.
func einsumCheapest(in []string, sizes map[byte]uop.Sint) (first, second int) {
	volume, best := einsumVolume(sizes), math.Inf(1)
	for j := range in {
		for i := range j {
			if c := volume(in[i] + in[j]); c < best {
				first, second, best = i, j, c
			}
		}
	}
	return first, second
}

// einsumVolume gives the number of elements of some letters, each of which counts once.
func einsumVolume(sizes map[byte]uop.Sint) func(letters string) float64 {
	return func(letters string) float64 {
		n := 1.0
		for i := range letters {
			if strings.IndexByte(letters[:i], letters[i]) < 0 {
				n *= float64(sizes[letters[i]].Max())
			}
		}
		return n
	}
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
