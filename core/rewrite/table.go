// Package rewrite turns graphs into graphs by ordered tables of rules.
//
// A rule looks at one node and returns its replacement or nil. A Table is a list
// of rules; their order is meaning: the first rule that answers wins. Graph
// applies a table to a whole graph until nothing changes.
package rewrite

import (
	"fmt"
	"sync/atomic"

	"polygrad/core/uop"
)

// Rule replaces nodes of certain operations.
type Rule struct {
	// Name says what the rule does; statistics show it.
	Name string
	// Ops are the operations of the nodes that the rule looks at.
	Ops uop.OpSet
	// Below, if it is not empty, prunes: nodes without one of these operations at or below them are not visited.
	Below uop.OpSet
	// Need are operations that must all occur among the direct sources; others are not looked at.
	Need uop.OpSet
	// Fn returns the replacement of u, or nil (or u itself) if the rule does not apply. ctx is what was given to Graph.
	Fn func(ctx any, u *uop.UOp) *uop.UOp

	count counters
}

// Table is an ordered list of rules: its own, then those of its parts. It is written as a literal, so that it costs nothing at program start:
// the index by operations is made when the table is first used.
type Table struct {
	Name  string
	Rules []*Rule
	Parts []*Table
	made  atomic.Pointer[index]
}

// index finds the rules of a table by the operation of a node.
type index struct {
	ops  uop.OpSet // the operations that rules look at
	byOp [uop.NumAllOps][]entry
}

// entry is what the inner loop needs of a rule.
type entry struct {
	need uop.OpSet
	fn   func(ctx any, u *uop.UOp) *uop.UOp
	rule *Rule
}

// New makes a table of rules, in order.
func New(name string, rules ...*Rule) *Table { return &Table{Name: name, Rules: rules} }

// Concat is the table of all rules of the given tables, in order.
func Concat(name string, parts ...*Table) *Table { return &Table{Name: name, Parts: parts} }

// All visits the rules of the table and its parts, in order.
func (t *Table) All(yield func(*Rule) bool) { t.all(yield) }

func (t *Table) all(yield func(*Rule) bool) bool {
	for _, r := range t.Rules {
		if !yield(r) {
			return false
		}
	}
	for _, p := range t.Parts {
		if !p.all(yield) {
			return false
		}
	}
	return true
}

// index is the index of the table, made by the first call. Threads that make it at the same time make equal ones.
func (t *Table) index() *index {
	if x := t.made.Load(); x != nil {
		return x
	}
	x := new(index)
	for r := range t.All {
		if r.Ops == (uop.OpSet{}) {
			panic(fmt.Sprintf("rewrite: rule %q of table %q matches no operation", r.Name, t.Name))
		}
		if r.Below == (uop.OpSet{}) {
			x.ops = x.ops.Union(r.Ops)
		}
		x.ops = x.ops.Union(r.Below)
		for _, o := range r.Ops.List() {
			x.byOp[o] = append(x.byOp[o], entry{r.Need, r.Fn, r})
		}
	}
	t.made.Store(x)
	return x
}

// Rewrite returns the replacement of u by the first rule that applies, nil if none does.
func (t *Table) Rewrite(ctx any, u *uop.UOp) *uop.UOp {
	rules := t.index().byOp[u.Op]
	if len(rules) == 0 {
		return nil
	}
	if collecting.Load() {
		return rewriteCounted(rules, ctx, u)
	}
	src := u.SrcOps()
	for i := range rules {
		if e := &rules[i]; e.need.SubsetOf(src) {
			if v := e.fn(ctx, u); v != nil && v != u {
				return v
			}
		}
	}
	return nil
}
