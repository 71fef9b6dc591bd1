// Package beam searches among the ways to lay a kernel out for the one that runs fastest, and keeps on disk what it
// found. It knows neither how kernels are made nor how they are timed.
package beam

import (
	"cmp"
	"slices"
	"time"

	"polygrad/core/nest/plan"
)

// Subject is a kernel that can be laid out in several ways.
type Subject interface {
	// Try times a choice. One that takes longer than limit may be given up early, and its time is then a lower bound.
	// near are the choices next to it; ok is false if it has no use, because it cannot be, or is the same as another, or
	// computes something else.
	Try(c plan.Choice, limit time.Duration) (t time.Duration, near []plan.Choice, ok bool)
	// Enough reports whether no more time should be spent.
	Enough() bool
}

// Found is what a search found.
type Found struct {
	Choice plan.Choice
	// Time is that of a run, Heuristic that of a run without a choice.
	Time, Heuristic time.Duration
	// Tried is how many choices were timed.
	Tried int
}

type trial struct {
	choice plan.Choice
	time   time.Duration
	near   []plan.Choice
	opened bool // its neighbours were tried
}

const (
	// better is what share of another's time a choice must take to count as faster: times vary by more than nothing.
	better = 0.97
	// hopeless is how many times the best time a choice may take before it is given up.
	hopeless = 1.5
	// duels is how often the best one is compared with the heuristics in the end: often enough for both to have all
	// processors for themselves at least once, if others use them too.
	duels = 6
)

// Search begins with the heuristics and goes on from the best choices so far, as many as width, to their neighbours,
// until these are no faster, most have been tried, or it is enough.
func Search(s Subject, width, most int) (f Found, ok bool) {
	t, near, ok := s.Try("", time.Hour)
	if !ok {
		return f, false
	}
	all := []*trial{{time: t, near: near}}
	seen := map[plan.Choice]bool{"": true}
	best := t
	for {
		var open []*trial
		for i, x := range ranked(all) {
			if i < width && !x.opened {
				open = append(open, x)
			}
		}
		if len(open) == 0 {
			break
		}
		for _, c := range neighbours(open) {
			if seen[c] || len(seen) >= most || s.Enough() {
				continue
			}
			seen[c] = true
			if t, near, ok := s.Try(c, time.Duration(hopeless*float64(best))); ok {
				all = append(all, &trial{choice: c, time: t, near: near})
				best = min(best, t)
			}
		}
		if len(seen) >= most || s.Enough() {
			break
		}
	}
	return settle(s, all), true
}

// ranked are trials by time; of those that take the same the earlier comes first.
func ranked(all []*trial) []*trial {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b *trial) int { return cmp.Compare(a.time, b.time) })
	return out
}

// neighbours are those of trials by turns, so that each has its best ones tried if there is not time for all.
func neighbours(of []*trial) []plan.Choice {
	var out []plan.Choice
	for i := 0; ; i++ {
		more := false
		for _, x := range of {
			x.opened = true
			if i < len(x.near) {
				out, more = append(out, x.near[i]), true
			}
		}
		if !more {
			return out
		}
	}
}

// settle compares the fastest choice with the heuristics once more, by turns: noise must not decide.
func settle(s Subject, all []*trial) Found {
	first, winner := all[0], all[0]
	for _, x := range all {
		if x.time < winner.time {
			winner = x
		}
	}
	// Among equally fast ones the earlier, simpler one is taken.
	for _, x := range all {
		if better*float64(x.time) <= float64(winner.time) {
			winner = x
			break
		}
	}
	f := Found{Choice: winner.choice, Time: winner.time, Heuristic: first.time, Tried: len(all)}
	if winner == first {
		return f
	}
	for range duels {
		for _, x := range []*trial{first, winner} {
			if t, _, ok := s.Try(x.choice, time.Hour); ok {
				x.time = min(x.time, t)
			}
		}
	}
	f.Time, f.Heuristic = winner.time, first.time
	if float64(winner.time) > better*float64(first.time) {
		f.Choice, f.Time = first.choice, first.time
	}
	return f
}
