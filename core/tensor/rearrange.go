package tensor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"polygrad/core/uop"
)

// arrangement is one side of a rearrange formula: the axis names, and the groups as ranges of names. An
// empty group is an axis of size 1.
type arrangement struct {
	names  []string
	groups [][2]int
}

const dotsName = "..."

func parseArrangement(formula, side string) (a arrangement) {
	side = strings.NewReplacer("…", dotsName, "(", " ( ", ")", " ) ").Replace(side)
	open := -1
	for _, tok := range strings.Fields(side) {
		switch {
		case tok == "(":
			if open >= 0 {
				fail("formula", "%q: a group is in a group, expected groups beside each other", formula)
			}
			open = len(a.names)
		case tok == ")":
			if open < 0 {
				fail("formula", "%q: ) without (, expected both", formula)
			}
			a.groups = append(a.groups, [2]int{open, len(a.names)})
			open = -1
		case tok == "1":
			if open < 0 {
				a.groups = append(a.groups, [2]int{len(a.names), len(a.names)})
			}
		case tok == dotsName || isAxisName(tok):
			if slices.Contains(a.names, tok) {
				fail("formula", "%q: %s occurs twice on one side, expected it once", formula, tok)
			}
			a.names = append(a.names, tok)
		default:
			fail("formula", "%q: %q, expected the name of an axis", formula, tok)
		}
	}
	if open >= 0 {
		fail("formula", "%q: ( without ), expected both", formula)
	}
	return a
}

func isAxisName(s string) bool {
	for i, c := range s {
		if !(unicode.IsLetter(c) || i > 0 && (c == '_' || unicode.IsDigit(c))) {
			return false
		}
	}
	return !strings.HasSuffix(s, "_")
}

// expandDots replaces the ellipsis by n names.
func (a arrangement) expandDots(n int) arrangement {
	at := slices.Index(a.names, dotsName)
	if at < 0 {
		return a
	}
	out := arrangement{}
	out.names = append(out.names, a.names[:at]...)
	for i := range n {
		out.names = append(out.names, fmt.Sprintf("%s%d", dotsName, i))
	}
	out.names = append(out.names, a.names[at+1:]...)
	for _, g := range a.groups {
		for i := range g {
			if g[i] > at {
				g[i] += n - 1
			}
		}
		out.groups = append(out.groups, g)
	}
	return out
}

// rank is the number of axes of a side.
func (a arrangement) rank() int {
	n := len(a.names)
	for _, g := range a.groups {
		n += 1 - (g[1] - g[0])
	}
	return n
}

func rearrange(x *uop.UOp, formula string, sizes map[string]int64) *uop.UOp {
	left, right, ok := strings.Cut(formula, "->")
	if !ok || strings.Contains(right, "->") {
		fail("formula", "%q, expected one ->", formula)
	}
	l, r := parseArrangement(formula, left), parseArrangement(formula, right)
	for name := range sizes {
		if !slices.Contains(l.names, name) {
			fail("sizes", "%s is no axis, expected one of %q", name, formula)
		}
	}
	for _, side := range [][2]arrangement{{l, r}, {r, l}} {
		for _, name := range side[0].names {
			if !slices.Contains(side[1].names, name) {
				fail("formula", "%q: %s is only on one side, expected it on both", formula, name)
			}
		}
	}
	n := len(x.Shape())
	if at := slices.Index(l.names, dotsName); at >= 0 {
		for _, g := range l.groups {
			if g[0] <= at && at < g[1] {
				fail("formula", "%q: the ellipsis is in a group of the left side, expected it outside", formula)
			}
		}
		dots := n - (l.rank() - 1)
		if dots < 0 {
			fail("formula", "%q has %d axes or more, expected those of x %s", formula, l.rank()-1, x.Shape())
		}
		l, r = l.expandDots(dots), r.expandDots(dots)
	}
	if l.rank() != n {
		fail("formula", "%q has %d axes, expected those of x %s", formula, l.rank(), x.Shape())
	}
	return rejoin(splitGroups(x, formula, l, sizes), l, r)
}

// splitGroups gives every name of the left side an axis of its own.
func splitGroups(x *uop.UOp, formula string, l arrangement, sizes map[string]int64) *uop.UOp {
	for _, g := range l.groups {
		var parts uop.Shape
		known, unknown := int64(1), 0
		for _, name := range l.names[g[0]:g[1]] {
			v, ok := sizes[name]
			if !ok {
				v = -1
				unknown++
			} else {
				if v < 1 {
					fail("sizes", "%s is %d, expected a positive number", name, v)
				}
				known *= v
			}
			parts = append(parts, uop.N(v))
		}
		have := x.Shape()[g[0]]
		if unknown > 1 {
			fail("sizes", "%q: a group has several axes of unknown size, expected at most one", formula)
		}
		if !have.Symbolic() && (unknown == 0 && have.N != known || unknown == 1 && have.N%known != 0) {
			fail("sizes", "%q: axis %d has size %d, expected a multiple of the group's %d", formula, g[0], have.N, known)
		}
		x = unflatten(x, g[0], parts)
	}
	for i, name := range l.names {
		if v, ok := sizes[name]; ok && !x.Shape()[i].IsNum(v) {
			fail("sizes", "%s is %d, expected the size of its axis, %s", name, v, x.Shape()[i])
		}
	}
	return x
}

// rejoin permutes the axes into the order of the right side and joins its groups.
func rejoin(x *uop.UOp, l, r arrangement) *uop.UOp {
	order := make([]int, len(r.names))
	for i, name := range r.names {
		order[i] = slices.Index(l.names, name)
	}
	x = permute(x, order)
	for i := len(r.groups) - 1; i >= 0; i-- {
		if g := r.groups[i]; g[0] < g[1] {
			x = flatten(x, g[0], g[1]-1)
		} else {
			x = unsqueeze(x, g[0])
		}
	}
	return x
}

// Rearrange reorders, splits and joins axes by a formula of names: "b (h d) -> h b d". Groups in parentheses are axes to split
// (left) or join (right), 1 is an axis of size 1, ... stands for further axes. sizes gives sizes of names; one name of a group
// may be left out.
func Rearrange(x *uop.UOp, formula string, sizes map[string]int64) (r *uop.UOp, err error) {
	defer guard("Rearrange", &err)
	need("x", x)
	return rearrange(x, formula, sizes), nil
}
