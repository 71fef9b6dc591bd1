package rewrite

import (
	"sync"
	"sync/atomic"
	"time"

	"polygrad/core/uop"
)

// counters is what a rule did while statistics were collected.
type counters struct{ tries, hits, nanos atomic.Int64 }

// RuleStats is what one rule did since CollectStats(true). Time includes the rewrites that a rule starts itself.
type RuleStats struct {
	Rule        *Rule
	Tries, Hits int64
	Time        time.Duration
}

var (
	collecting atomic.Bool
	tried      sync.Map // *Rule, those with counters above 0
)

// CollectStats switches the counting of tries, hits and time per rule on or off; switching it on starts at 0.
func CollectStats(on bool) {
	if on {
		tried.Range(func(r, _ any) bool {
			c := &r.(*Rule).count
			c.tries.Store(0)
			c.hits.Store(0)
			c.nanos.Store(0)
			return true
		})
		tried.Clear()
	}
	collecting.Store(on)
}

// Stats lists the rules that were tried since CollectStats(true), in no particular order.
func Stats() []RuleStats {
	var out []RuleStats
	tried.Range(func(k, _ any) bool {
		r := k.(*Rule)
		out = append(out, RuleStats{r, r.count.tries.Load(), r.count.hits.Load(), time.Duration(r.count.nanos.Load())})
		return true
	})
	return out
}

// rewriteCounted is Rewrite that counts.
func rewriteCounted(rules []entry, ctx any, u *uop.UOp) *uop.UOp {
	src := u.SrcOps()
	for i := range rules {
		e := &rules[i]
		if !e.need.SubsetOf(src) {
			continue
		}
		start := time.Now()
		v := e.fn(ctx, u)
		c := &e.rule.count
		c.nanos.Add(int64(time.Since(start)))
		if c.tries.Add(1) == 1 {
			tried.Store(e.rule, nil)
		}
		if v != nil && v != u {
			c.hits.Add(1)
			return v
		}
	}
	return nil
}
