// Package rewrite turns graphs into graphs by ordered tables of rules.
//
// A rule looks at one node and returns its replacement or nil. A Table is a list
// of rules; their order is meaning: the first rule that answers wins. Graph
// applies a table to a whole graph until nothing changes.
package rewrite

import (
	"fmt"

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

// Table is an ordered list of rules.
type Table struct {
	Name  string
	Rules []*Rule
	ops   uop.OpSet // the operations that rules look at
	byOp  [uop.NumAllOps][]entry
}

// entry is what the inner loop needs of a rule.
type entry struct {
	need uop.OpSet
	fn   func(ctx any, u *uop.UOp) *uop.UOp
	rule *Rule
}

// New makes a table of rules, in order.
func New(name string, rules ...*Rule) *Table {
	t := &Table{Name: name, Rules: rules}
	for _, r := range rules {
		if r.Ops == (uop.OpSet{}) {
			panic(fmt.Sprintf("rewrite.New: rule %q of table %q matches no operation", r.Name, name))
		}
		if r.Below == (uop.OpSet{}) {
			t.ops = t.ops.Union(r.Ops)
		}
		t.ops = t.ops.Union(r.Below)
		for _, o := range r.Ops.List() {
			t.byOp[o] = append(t.byOp[o], entry{r.Need, r.Fn, r})
		}
	}
	return t
}

// Concat is the table of all rules of the given tables, in order.
func Concat(name string, tables ...*Table) *Table {
	var rules []*Rule
	for _, t := range tables {
		rules = append(rules, t.Rules...)
	}
	return New(name, rules...)
}

// Rewrite returns what the first rule that answers makes of u, or nil.
func (t *Table) Rewrite(ctx any, u *uop.UOp) *uop.UOp {
	rules := t.byOp[u.Op]
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
