// Package rewrite turns graphs into graphs by ordered tables of rules.
//
// A rule looks at one node and returns its replacement or nil. A Table is a list
// of rules; their order is meaning: the first rule that answers wins. Graph
// applies a table to a whole graph until nothing changes.
package rewrite

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"polygrad/core/uop"
)

// Rule replaces nodes of certain operations.
type Rule struct {
	// Name says what the rule does; statistics and dumps show it.
	Name string
	// Ops are the operations of the nodes that the rule looks at.
	Ops uop.OpSet
	// Need are operations that must all occur among the direct sources; others are not looked at.
	Need uop.OpSet
	// Fn returns the replacement of u, or nil (or u itself) if the rule does not apply. ctx is what was given to Graph.
	Fn func(ctx any, u *uop.UOp) *uop.UOp

	tries, hits, nanos atomic.Int64
}

// Table is an ordered list of rules.
type Table struct {
	Name  string
	Rules []*Rule
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
	if statsOn.Load() {
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

var statsOn atomic.Bool

// CollectStats switches the counting of tries, hits and time per rule on or off.
func CollectStats(on bool) { statsOn.Store(on) }

var counted struct {
	sync.Mutex
	rules map[*Rule]struct{}
}

func rewriteCounted(rules []entry, ctx any, u *uop.UOp) *uop.UOp {
	src := u.SrcOps()
	for _, e := range rules {
		r := e.rule
		if !r.Need.SubsetOf(src) {
			continue
		}
		start := time.Now()
		v := r.Fn(ctx, u)
		r.nanos.Add(int64(time.Since(start)))
		if r.tries.Add(1) == 1 {
			counted.Lock()
			if counted.rules == nil {
				counted.rules = map[*Rule]struct{}{}
			}
			counted.rules[r] = struct{}{}
			counted.Unlock()
		}
		if v != nil && v != u {
			r.hits.Add(1)
			return v
		}
	}
	return nil
}

// RuleStats is what one rule did while statistics were collected. Time includes the rewrites that a rule starts itself.
type RuleStats struct {
	Rule        *Rule
	Tries, Hits int64
	Time        time.Duration
}

// Stats lists the rules that were tried since CollectStats(true), in no particular order.
func Stats() []RuleStats {
	counted.Lock()
	defer counted.Unlock()
	var out []RuleStats
	for r := range counted.rules {
		out = append(out, RuleStats{r, r.tries.Load(), r.hits.Load(), time.Duration(r.nanos.Load())})
	}
	return out
}

// String names the rules, one a line.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d rules)\n", t.Name, len(t.Rules))
	for _, r := range t.Rules {
		fmt.Fprintf(&b, "  %s\n", r.Name)
	}
	return b.String()
}
