// Package beam finds the fastest layout of a kernel on any device by timing several, and keeps the results on disk.
package beam

import (
	"cmp"
	"slices"
	"time"

	"polygrad/core/nest/plan"
)

// Subject is a kernel with several possible layouts.
type Subject interface {
	// Try times a choice. One that takes longer than limit may be aborted; its time is then a lower bound. near are the neighbouring
	// choices; ok is false if the choice is impossible, equals another one, or computes something else.
	Try(c plan.Choice, limit time.Duration) (t time.Duration, near []plan.Choice, ok bool)
	// Enough reports whether the search should end.
	Enough() bool
}

// Found is the result of a search.
type Found struct {
	Choice plan.Choice
	// Time is the time of a run, Heuristic that of the heuristics' choice.
	Time, Heuristic time.Duration
	// Tried is the number of timed choices.
	Tried int
}

type trial struct {
	choice plan.Choice
	time   time.Duration
	near   []plan.Choice
	opened bool // its neighbours were tried
}

const (
	// better is the fraction of another's time below which a choice counts as faster: times are noisy.
	better = 0.97
	// hopeless is the multiple of the best time at which a choice is aborted.
	hopeless = 1.5
	// duels is the number of final comparisons between the best choice and the heuristics: enough for both to run undisturbed at
	// least once on a shared machine.
	duels = 6
)

// Search begins with the heuristics' choice and expands the width best choices so far to their neighbours, until these are no
// faster, most have been tried, or Enough.
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

// ranked sorts trials by time; ties keep their order.
func ranked(all []*trial) []*trial {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b *trial) int { return cmp.Compare(a.time, b.time) })
	return out
}

// neighbours interleaves the neighbours of trials, so each gets its best ones tried if time is short.
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

// settle compares the fastest choice with the heuristics again, alternating, so noise does not decide.
func settle(s Subject, all []*trial) Found {
	first, winner := all[0], all[0]
	for _, x := range all {
		if x.time < winner.time {
			winner = x
		}
	}
	// Of equally fast ones the earlier, simpler one wins.
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
