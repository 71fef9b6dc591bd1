// Package draw shows graphs to people: as a tree of text, in the language of Graphviz, as a picture (SVG) and as
// records (JSON). It draws any graph without cycles; Nodes makes one of the nodes of programs.
package draw

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Format is a form of a graph.
type Format int

// The forms, numbered as PolyView is in the C interface.
const (
	Text Format = iota
	JSON
	DOT
	SVG
)

// Kind is the class of a node, shown by its colour.
type Kind string

// The kinds of nodes.
const (
	Memory   Kind = "memory"   // what is read and written
	Constant Kind = "constant" // a number
	Movement Kind = "movement" // elements in other places
	Math     Kind = "math"     // an element from elements
	Reduce   Kind = "reduce"   // an element from many
	Control  Kind = "control"  // loops, stores, order
)

// A Node is something with a name that depends on others.
type Node struct {
	Name string `json:"name"`
	// Detail is further text, shown behind or under the name.
	Detail string `json:"detail,omitempty"`
	Kind   Kind   `json:"kind"`
	// Sources are the numbers of the nodes it depends on, all smaller than its own.
	Sources []int `json:"sources"`
}

// A Graph is a list of nodes, each behind those it depends on.
type Graph struct {
	Nodes []Node `json:"nodes"`
	// Roots are the nodes that were asked for.
	Roots []int `json:"roots"`
}

// In writes the graph in a format.
func (g *Graph) In(f Format) (string, error) {
	switch f {
	case Text:
		return g.Tree(), nil
	case JSON:
		b, err := json.Marshal(g)
		return string(b) + "\n", err
	case DOT:
		return g.DOT(), nil
	case SVG:
		return g.SVG()
	}
	return "", fmt.Errorf("draw: format %d, expected 0 (text), 1 (JSON), 2 (DOT) or 3 (SVG)", f)
}

// label is the text of a node in one line.
func (n *Node) label() string {
	if n.Detail == "" {
		return n.Name
	}
	return n.Name + " " + n.Detail
}

// uses counts how often each node is a source or a root.
func (g *Graph) uses() []int {
	uses := make([]int, len(g.Nodes))
	for _, n := range g.Nodes {
		for _, s := range n.Sources {
			uses[s]++
		}
	}
	for _, r := range g.Roots {
		uses[r]++
	}
	return uses
}

// withoutUnused drops nodes that no root depends on.
func (g *Graph) withoutUnused() *Graph {
	needed := make([]bool, len(g.Nodes))
	for _, r := range g.Roots {
		needed[r] = true
	}
	for i, n := range slices.Backward(g.Nodes) {
		if needed[i] {
			for _, s := range n.Sources {
				needed[s] = true
			}
		}
	}
	at := make([]int, len(g.Nodes))
	out := &Graph{}
	move := func(list []int) []int {
		moved := make([]int, len(list))
		for i, s := range list {
			moved[i] = at[s]
		}
		return moved
	}
	for i, n := range g.Nodes {
		if needed[i] {
			at[i] = len(out.Nodes)
			n.Sources = move(n.Sources)
			out.Nodes = append(out.Nodes, n)
		}
	}
	out.Roots = move(g.Roots)
	return out
}
