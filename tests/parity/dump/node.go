// Package dump reads and writes graphs as lists of nodes, in the form of the reference data:
// [index, operation, dtype, [indices of sources], arg] and, in dumps of passes, a tag.
package dump

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"polygrad/core/uop"
)

// Node is one node of a list. Arg and Tag are nil where there is none.
type Node struct {
	Op, DType string
	Src       []int
	Arg, Tag  *string
}

// UnmarshalJSON reads the array form of a node.
func (n *Node) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != 5 && len(parts) != 6 {
		return fmt.Errorf("dump.Node: a node has 5 or 6 fields, given %d", len(parts))
	}
	*n = Node{}
	into := []any{&n.Op, &n.DType, &n.Src, &n.Arg, &n.Tag}
	for i, p := range parts[1:] {
		if err := json.Unmarshal(p, into[i]); err != nil {
			return fmt.Errorf("dump.Node: field %d: %w", i+1, err)
		}
	}
	return nil
}

// String prints a node for people.
func (n Node) String() string {
	s := fmt.Sprintf("%-14s %-20s %v", n.Op, n.DType, n.Src)
	if n.Arg != nil {
		s += " " + *n.Arg
	}
	if n.Tag != nil {
		s += " tag=" + *n.Tag
	}
	return s
}

// Equal compares two nodes at the same place of two lists. Constants are compared as numbers, since languages print
// them differently. Tags are compared if withTags is set.
func (n Node) Equal(o Node, withTags bool) bool {
	if n.Op != o.Op || n.DType != o.DType || len(n.Src) != len(o.Src) {
		return false
	}
	for i := range n.Src {
		if n.Src[i] != o.Src[i] {
			return false
		}
	}
	return sameText(n.canonicalArg(), o.canonicalArg()) && (!withTags || sameText(n.Tag, o.Tag))
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// canonicalArg is the arg with a constant in one spelling.
func (n Node) canonicalArg() *string {
	if n.Op != "CONST" || n.Arg == nil {
		return n.Arg
	}
	f, err := strconv.ParseFloat(*n.Arg, 64)
	if err != nil {
		return n.Arg
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if f != f {
		s = "nan"
	}
	return &s
}

// Diff is the index of the first node that differs between two lists, or -1.
func Diff(a, b []Node, withTags bool) int {
	for i := range min(len(a), len(b)) {
		if !a[i].Equal(b[i], withTags) {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// Digest is the hash that the reference data gives a list: of its compact JSON without tags.
func Digest(list []Node) string {
	rows := make([][]any, len(list))
	for i, n := range list {
		src := n.Src
		if src == nil {
			src = []int{}
		}
		rows[i] = []any{i, n.Op, n.DType, src, n.Arg}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(rows); err != nil {
		panic(err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:8])
}

// StructuralHashes hashes every node together with everything below it.
func StructuralHashes(list []Node) []string {
	h := make([]string, len(list))
	for i, n := range list {
		arg := "-"
		if a := n.canonicalArg(); a != nil {
			arg = "=" + *a
		}
		b := []byte(n.Op + "\x00" + n.DType + "\x00" + arg)
		for _, s := range n.Src {
			b = append(append(b, 0), h[s]...)
		}
		sum := sha256.Sum256(b)
		h[i] = string(sum[:16])
	}
	return h
}

// Graph lists the graph below root in the order of its toposort.
func Graph(root *uop.UOp) []Node { return List(root.Toposort()) }

// List writes a list of nodes. Unique numbers are renumbered by first appearance: u0, u1 … and l0, l1 …
func List(list []*uop.UOp) []Node {
	at := make(map[*uop.UOp]int, len(list))
	unique := map[uop.Op]int{}
	out := make([]Node, len(list))
	for i, u := range list {
		at[u] = i
		n := Node{Op: u.Op.String(), DType: u.DType.String(), Src: make([]int, len(u.Src)), Arg: text(u.Arg), Tag: text(u.Tag)}
		for j, s := range u.Src {
			k, ok := at[s]
			if !ok {
				k = -1
			}
			n.Src[j] = k
		}
		switch u.Op {
		case uop.Unique, uop.LUnique:
			letter := "u"
			if u.Op == uop.LUnique {
				letter = "l"
			}
			s := letter + strconv.Itoa(unique[u.Op])
			unique[u.Op]++
			n.Arg = &s
		case uop.Call:
			n.Arg = nil
		}
		out[i] = n
	}
	return out
}

func text(a uop.Arg) *string {
	if a == nil {
		return nil
	}
	s := a.String()
	if c, ok := a.(uop.MovementChain); ok {
		s = chainText(c)
	}
	return &s
}
