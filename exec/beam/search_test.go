package beam

import (
	"fmt"
	"testing"
	"time"

	"polygrad/core/nest/plan"
)

// plans are choices with the times that they take, and those next to them.
type plans struct {
	times map[plan.Choice]time.Duration
	near  map[plan.Choice][]plan.Choice
	tried []plan.Choice
	most  int
}

func (p *plans) Try(c plan.Choice, _ time.Duration) (time.Duration, []plan.Choice, bool) {
	p.tried = append(p.tried, c)
	t, ok := p.times[c]
	return t, p.near[c], ok
}

func (p *plans) Enough() bool { return p.most > 0 && len(p.tried) >= p.most }

func TestSearchFindsTheFastest(t *testing.T) {
	// w2 is slower than the heuristics and the way to the best one, which a beam of one does not go.
	p := &plans{
		times: map[plan.Choice]time.Duration{"": 100, "w1": 80, "w2": 90, "w3": 300, "w1h1": 85, "w2h2": 40},
		near:  map[plan.Choice][]plan.Choice{"": {"w1", "w2", "w3", "w4"}, "w1": {"w1h1"}, "w2": {"w2h2"}},
	}
	for width, want := range map[int]plan.Choice{1: "w1", 2: "w2h2", 4: "w2h2"} {
		f, ok := Search(p, width, 100)
		if !ok || f.Choice != want || f.Time != p.times[want] || f.Heuristic != 100 {
			t.Errorf("width %d: found %+v, %v, expected %q", width, f, ok, want)
		}
	}
}

func TestSearchKeepsTheHeuristicsIfTheyAreAsFast(t *testing.T) {
	p := &plans{
		times: map[plan.Choice]time.Duration{"": 1000, "w1": 990, "w2": 1000},
		near:  map[plan.Choice][]plan.Choice{"": {"w2", "w1"}},
	}
	if f, ok := Search(p, 4, 100); !ok || f.Choice != "" || f.Time != 1000 || f.Tried != 3 {
		t.Errorf("found %+v, %v, expected no choice", f, ok)
	}
}

// Of choices that are about as fast the first one is found, whatever the noise.
func TestSearchBreaksTies(t *testing.T) {
	p := &plans{
		times: map[plan.Choice]time.Duration{"": 1000, "w1": 502, "w2": 500, "w3": 501},
		near:  map[plan.Choice][]plan.Choice{"": {"w1", "w2", "w3"}},
	}
	if f, _ := Search(p, 2, 100); f.Choice != "w1" {
		t.Errorf("found %q, expected the first of three that are as fast", f.Choice)
	}
}

func TestSearchEnds(t *testing.T) {
	endless := &plans{times: map[plan.Choice]time.Duration{"": 1 << 40}, near: map[plan.Choice][]plan.Choice{}}
	last := plan.Choice("")
	for i := 1; i < 1000; i++ {
		c := plan.Choice(fmt.Sprintf("x%d", i))
		endless.times[c] = 1<<40 - time.Duration(i)<<28
		endless.near[last] = []plan.Choice{c}
		last = c
	}
	if Search(endless, 1, 20); len(endless.tried) > 20+2*duels {
		t.Errorf("%d choices were tried, expected at most 20 and those of the duel", len(endless.tried))
	}
	endless.tried, endless.most = nil, 5
	if Search(endless, 1, 1000); len(endless.tried) > 5+2*duels {
		t.Errorf("%d choices were tried after it was enough", len(endless.tried))
	}
	if _, ok := Search(&plans{}, 1, 10); ok {
		t.Error("a kernel that does not run was found fast")
	}
}
