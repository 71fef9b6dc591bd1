package lower

// The linearizer's sort key is only a partial order: pointers are compared without their base type, so two different keys can be
// neither less nor greater. The resulting order then depends on the sorting algorithm. To place nodes where tinygrad places
// them, the algorithm has to be CPython's list.sort: natural runs extended by binary insertion, merged by powersort with
// galloping. See https://github.com/python/cpython/blob/main/Objects/listsort.txt

const minGallop = 7

// pending is a sorted run waiting to be merged.
type pending struct {
	base, n, power int
}

type sorter[T any] struct {
	a    []T
	less func(x, y T) bool
	// gallop is the number of consecutive wins that starts galloping; it adapts to the data.
	gallop int
	runs   []pending
	tmp    []T
}

// pySort sorts a in place with CPython's sequence of comparisons.
func pySort[T any](a []T, less func(x, y T) bool) {
	n := len(a)
	if n < 2 {
		return
	}
	s := &sorter[T]{a: a, less: less, gallop: minGallop}
	minRun := minRunLen(n)
	for lo := 0; lo < n; {
		k, descending := s.countRun(lo, n)
		if descending {
			reverse(a[lo : lo+k])
		}
		if k < minRun {
			forced := min(n-lo, minRun)
			s.binaryInsertion(lo, lo+forced, lo+k)
			k = forced
		}
		if len(s.runs) > 0 {
			top := &s.runs[len(s.runs)-1]
			p := power(top.base, top.n, k, n)
			for len(s.runs) > 1 && s.runs[len(s.runs)-2].power > p {
				s.mergeAt(len(s.runs) - 2)
			}
			s.runs[len(s.runs)-1].power = p
		}
		s.runs = append(s.runs, pending{lo, k, 0})
		lo += k
	}
	for len(s.runs) > 1 {
		i := len(s.runs) - 2
		if i > 0 && s.runs[i-1].n < s.runs[i+1].n {
			i--
		}
		s.mergeAt(i)
	}
}

func minRunLen(n int) int {
	r := 0
	for n >= 64 {
		r |= n & 1
		n >>= 1
	}
	return n + r
}

func reverse[T any](a []T) {
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
}

// power is the depth of the boundary between two neighbouring runs in a nearly balanced merge tree.
func power(s1, n1, n2, n int) int {
	p, a := 0, 2*s1+n1
	b := a + n1 + n2
	for {
		p++
		if a >= n {
			a -= n
			b -= n
		} else if b >= n {
			return p
		}
		a <<= 1
		b <<= 1
	}
}

// countRun is the length of the run that starts at lo, and whether it is strictly descending.
func (s *sorter[T]) countRun(lo, hi int) (n int, descending bool) {
	if lo+1 == hi {
		return 1, false
	}
	a := s.a
	n = 2
	descending = s.less(a[lo+1], a[lo])
	for i := lo + 2; i < hi && s.less(a[i], a[i-1]) == descending; i++ {
		n++
	}
	return n, descending
}

func (s *sorter[T]) binaryInsertion(lo, hi, start int) {
	a := s.a
	if start == lo {
		start++
	}
	for ; start < hi; start++ {
		pivot, l, r := a[start], lo, start
		for l < r {
			m := l + (r-l)>>1
			if s.less(pivot, a[m]) {
				r = m
			} else {
				l = m + 1
			}
		}
		copy(a[l+1:start+1], a[l:start])
		a[l] = pivot
	}
}

// gallopLeft is the insertion point of key in the sorted a, left of equal elements, searched outwards from hint.
func (s *sorter[T]) gallopLeft(key T, a []T, hint int) int {
	last, ofs := 0, 1
	if s.less(a[hint], key) {
		limit := len(a) - hint
		for ofs < limit && s.less(a[hint+ofs], key) {
			last, ofs = ofs, ofs<<1+1
		}
		last, ofs = last+hint, min(ofs, limit)+hint
	} else {
		limit := hint + 1
		for ofs < limit && !s.less(a[hint-ofs], key) {
			last, ofs = ofs, ofs<<1+1
		}
		last, ofs = hint-min(ofs, limit), hint-last
	}
	for last++; last < ofs; {
		m := last + (ofs-last)>>1
		if s.less(a[m], key) {
			last = m + 1
		} else {
			ofs = m
		}
	}
	return ofs
}

// gallopRight is gallopLeft, right of equal elements.
func (s *sorter[T]) gallopRight(key T, a []T, hint int) int {
	last, ofs := 0, 1
	if s.less(key, a[hint]) {
		limit := hint + 1
		for ofs < limit && s.less(key, a[hint-ofs]) {
			last, ofs = ofs, ofs<<1+1
		}
		last, ofs = hint-min(ofs, limit), hint-last
	} else {
		limit := len(a) - hint
		for ofs < limit && !s.less(key, a[hint+ofs]) {
			last, ofs = ofs, ofs<<1+1
		}
		last, ofs = last+hint, min(ofs, limit)+hint
	}
	for last++; last < ofs; {
		m := last + (ofs-last)>>1
		if s.less(key, a[m]) {
			ofs = m
		} else {
			last = m + 1
		}
	}
	return ofs
}

func (s *sorter[T]) mergeAt(i int) {
	x, y := s.runs[i], s.runs[i+1]
	s.runs[i].n = x.n + y.n
	s.runs = append(s.runs[:i+1], s.runs[i+2:]...)
	k := s.gallopRight(s.a[y.base], s.a[x.base:x.base+x.n], 0)
	x.base, x.n = x.base+k, x.n-k
	if x.n == 0 {
		return
	}
	y.n = s.gallopLeft(s.a[x.base+x.n-1], s.a[y.base:y.base+y.n], y.n-1)
	switch {
	case y.n == 0:
	case x.n <= y.n:
		s.mergeLow(x.base, x.n, y.base, y.n)
	default:
		s.mergeHigh(x.base, x.n, y.base, y.n)
	}
}

// mergeLow merges two adjacent runs from the left; the first, shorter one is copied aside.
func (s *sorter[T]) mergeLow(pa, na, pb, nb int) {
	a := s.a
	s.tmp = append(s.tmp[:0], a[pa:pa+na]...)
	t, d := s.tmp, pa
	takeB := func() { a[d] = a[pb]; d++; pb++; nb-- }
	takeA := func() { a[d] = t[0]; d++; t = t[1:] }
	// rest moves the remaining elements to the end: those of B first, then those that were copied aside.
	rest := func() {
		if nb > 0 {
			copy(a[d:d+nb], a[pb:pb+nb])
			d += nb
		}
		copy(a[d:], t)
	}
	takeB()
	if nb == 0 || len(t) == 1 {
		rest()
		return
	}
	for {
		aWins, bWins := 0, 0
		for aWins < s.gallop && bWins < s.gallop {
			if s.less(a[pb], t[0]) {
				takeB()
				aWins, bWins = 0, bWins+1
				if nb == 0 {
					rest()
					return
				}
			} else {
				takeA()
				aWins, bWins = aWins+1, 0
				if len(t) == 1 {
					rest()
					return
				}
			}
		}
		s.gallop++
		for {
			if s.gallop > 1 {
				s.gallop--
			}
			k := s.gallopRight(a[pb], t, 0)
			aWins = k
			copy(a[d:d+k], t[:k])
			d, t = d+k, t[k:]
			if k > 0 && len(t) <= 1 {
				rest()
				return
			}
			takeB()
			if nb == 0 {
				rest()
				return
			}
			k = s.gallopLeft(t[0], a[pb:pb+nb], 0)
			bWins = k
			copy(a[d:d+k], a[pb:pb+k])
			d, pb, nb = d+k, pb+k, nb-k
			if nb == 0 {
				rest()
				return
			}
			takeA()
			if len(t) == 1 {
				rest()
				return
			}
			if aWins < minGallop && bWins < minGallop {
				break
			}
		}
		s.gallop++
	}
}

// mergeHigh merges two adjacent runs from the right; the second, shorter one is copied aside.
func (s *sorter[T]) mergeHigh(pa, na, pb, nb int) {
	a := s.a
	s.tmp = append(s.tmp[:0], a[pb:pb+nb]...)
	t, d := s.tmp, pb+nb-1
	takeA := func() { a[d] = a[pa+na-1]; d--; na-- }
	takeB := func() { a[d] = t[len(t)-1]; d--; t = t[:len(t)-1] }
	rest := func() {
		if na > 0 {
			copy(a[d+1-na:d+1], a[pa:pa+na])
			d -= na
		}
		copy(a[d+1-len(t):d+1], t)
	}
	takeA()
	if na == 0 || len(t) == 1 {
		rest()
		return
	}
	for {
		aWins, bWins := 0, 0
		for aWins < s.gallop && bWins < s.gallop {
			if s.less(t[len(t)-1], a[pa+na-1]) {
				takeA()
				aWins, bWins = aWins+1, 0
				if na == 0 {
					rest()
					return
				}
			} else {
				takeB()
				aWins, bWins = 0, bWins+1
				if len(t) == 1 {
					rest()
					return
				}
			}
		}
		s.gallop++
		for {
			if s.gallop > 1 {
				s.gallop--
			}
			k := na - s.gallopRight(t[len(t)-1], a[pa:pa+na], na-1)
			aWins = k
			copy(a[d+1-k:d+1], a[pa+na-k:pa+na])
			d, na = d-k, na-k
			if na == 0 {
				rest()
				return
			}
			takeB()
			if len(t) == 1 {
				rest()
				return
			}
			k = len(t) - s.gallopLeft(a[pa+na-1], t, len(t)-1)
			bWins = k
			copy(a[d+1-k:d+1], t[len(t)-k:])
			d, t = d-k, t[:len(t)-k]
			if k > 0 && len(t) <= 1 {
				rest()
				return
			}
			takeA()
			if na == 0 {
				rest()
				return
			}
			if aWins < minGallop && bWins < minGallop {
				break
			}
		}
		s.gallop++
	}
}
