package beam

import (
	"fmt"
	"os"
	"sync"
	"time"

	"polygrad/core/lower"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// Device describes a device to a tuner.
type Device struct {
	device.Device
	// Machine identifies the processor or adapter, its driver and what kernels are laid out for: choices are kept for each.
	Machine string
	// Lay lays a kernel out as a choice says.
	Lay func(p *lower.Program, c plan.Choice) (*Candidate, error)
	// Estimate is about how long a run takes, and Patience the time limit of a search.
	Estimate func(c *Candidate) time.Duration
	Patience time.Duration
}

// Candidate is a kernel as a choice lays it out.
type Candidate struct {
	Kernel *ir.Kernel
	// Code is what runs: kernels of equal code are the same.
	Code string
	// Near are the neighbouring choices.
	Near []plan.Choice
	// Load makes a kernel that the device runs.
	Load func() (k device.Kernel, release func(), err error)
}

// Tuner finds choices for the kernels of a device by timing them.
type Tuner struct {
	Device
	width int
	cache *Cache
}

// timing serializes the timing of kernels.
var timing sync.Mutex

const (
	// worthwhile is the estimated time of a run from which a kernel is tuned.
	worthwhile = 20 * time.Microsecond
	// choices is the limit of tried choices, and perWidth more for each that the search goes on from.
	choices  = 24
	perWidth = 12
	// mostMemory is the limit of the sizes of all buffers of a kernel that is tuned.
	mostMemory = 1 << 30
)

// NewTuner makes the tuner of POLY_BEAM, nil for none.
func NewTuner(d Device) *Tuner {
	width := settings.Beam.Number()
	if width == 0 {
		return nil
	}
	return &Tuner{d, width, OpenCache(Dir(), d.Machine)}
}

// Choice is the fastest known choice for a kernel. A nil tuner leaves it to the heuristics.
func (t *Tuner) Choice(p *lower.Program) plan.Choice {
	if t == nil {
		return ""
	}
	c, err := t.Lay(p, "")
	if err != nil || t.Estimate(c) < worthwhile || !measurable(c.Kernel, p.Linear) {
		return ""
	}
	key := Key(p.Linear)
	if c, ok := t.cache.Get(key); ok {
		return c
	}
	timing.Lock()
	defer timing.Unlock()
	if c, ok := t.cache.Get(key); ok { // another thread has found it
		return c
	}
	s, err := newSubject(t, p, c.Kernel)
	if err != nil {
		return ""
	}
	defer s.release()
	found, ok := Search(s, t.width, choices+perWidth*t.width)
	if !ok {
		return ""
	}
	t.cache.Put(key, found.Choice, found.Time)
	if settings.Dump.Get() == "beam" {
		fmt.Fprintf(os.Stderr, "kernel %s: %.1f us by the heuristics (choice %s), %.1f us by choice %s, the best of %d\n",
			p.Name, microseconds(found.Heuristic), c.Kernel.Choice, microseconds(found.Time), orNone(found.Choice), found.Tried)
	}
	return found.Choice
}

func microseconds(t time.Duration) float64 { return t.Seconds() * 1e6 }

func orNone(c plan.Choice) plan.Choice {
	if c == "" {
		return "none"
	}
	return c
}

// measurable reports whether a kernel runs on any numbers: it loads no addresses from memory, and its buffers are not too large.
func measurable(k *ir.Kernel, list []*uop.UOp) bool {
	sum := int64(0)
	for _, p := range k.Params {
		if p.Size <= 0 {
			return false
		}
		sum += p.Bytes()
	}
	loads := map[*uop.UOp]bool{}
	var hasLoad func(u *uop.UOp) bool
	hasLoad = func(u *uop.UOp) bool {
		found, known := loads[u]
		if known {
			return found
		}
		found = u.Op == uop.Load
		for _, s := range u.Src {
			found = found || u.Op != uop.Range && hasLoad(s)
		}
		loads[u] = found
		return found
	}
	for _, u := range list {
		if u.Op == uop.Index && hasLoad(u.Src[1]) || u.Op == uop.Range && hasLoad(u.Src[0]) {
			return false
		}
	}
	return sum <= mostMemory
}
