package draw

import (
	"fmt"
	"strings"
)

// deepest is how far a tree goes to the right. What would lie deeper is written below it as a tree of its own.
const deepest = 40

// Tree is the graph as text: under each node those it depends on. A node that several depend on has a number and is
// written out once.
func (g *Graph) Tree() string {
	t := &tree{g: g, uses: g.uses(), number: map[int]int{}, later: g.Roots}
	for len(t.later) > 0 {
		root := t.later[0]
		t.later = t.later[1:]
		t.write(root)
	}
	return t.b.String()
}

type tree struct {
	g      *Graph
	uses   []int
	number map[int]int // of nodes that may come again
	later  []int       // trees to be written
	done   map[int]bool
	b      strings.Builder
}

type treeLine struct {
	node        int
	depth       int
	first, rest string // before its name, and before what is below it
}

// write writes a node and those below it. It keeps its own stack: graphs may be very deep.
func (t *tree) write(root int) {
	stack := []treeLine{{node: root}}
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		t.b.WriteString(l.first)
		if !t.head(l) {
			continue
		}
		n := &t.g.Nodes[l.node]
		for i := len(n.Sources) - 1; i >= 0; i-- {
			branch, below := "├─ ", "│  "
			if i == len(n.Sources)-1 {
				branch, below = "└─ ", "   "
			}
			stack = append(stack, treeLine{n.Sources[i], l.depth + 1, l.rest + branch, l.rest + below})
		}
	}
}

// head writes the line of a node and tells whether what is below it comes here.
func (t *tree) head(l treeLine) bool {
	n := &t.g.Nodes[l.node]
	k, known := t.number[l.node]
	switch leaf := len(n.Sources) == 0; {
	case known && (l.depth > 0 || t.done[l.node]):
		fmt.Fprintf(&t.b, "[%d] %s\n", k, n.Name)
		return false
	case leaf || !known && t.uses[l.node] < 2 && l.depth < deepest:
		t.b.WriteString(n.label() + "\n")
		return true
	case !known:
		k = len(t.number) + 1
		t.number[l.node] = k
	}
	if l.depth >= deepest {
		t.later = append(t.later, l.node)
		fmt.Fprintf(&t.b, "[%d] %s, see below\n", k, n.Name)
		return false
	}
	if t.done == nil {
		t.done = map[int]bool{}
	}
	t.done[l.node] = true
	fmt.Fprintf(&t.b, "[%d] %s\n", k, n.label())
	return true
}
