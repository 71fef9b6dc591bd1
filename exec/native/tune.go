//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/klauspost/cpuid/v2"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/native/beam"
	"polygrad/exec/native/code"
	"polygrad/render/x64"
)

// tuner finds choices for kernels by timing them.
type tuner struct {
	width    int
	machine  ir.Machine
	features x64.Features
	cache    *beam.Cache
}

// timing serializes the timing of kernels.
var timing sync.Mutex

const (
	// worthwhile is the estimated time of a run from which a kernel is tuned.
	worthwhile = 20 * time.Microsecond
	// patience is the time limit of a search, choices the limit of tried ones.
	patience = time.Second
	choices  = 24
	perWidth = 12
	// mostMemory is the limit of the sizes of all buffers of a kernel that is tuned.
	mostMemory = 1 << 30
)

// newTuner makes the tuner of POLY_BEAM, nil for none.
func newTuner(m ir.Machine, f x64.Features) *tuner {
	width := settings.Beam.Number()
	if width == 0 {
		return nil
	}
	cache := beam.OpenCache(beam.Dir(), beam.MachineKey(cpuid.CPU.BrandName, m, f))
	return &tuner{width, m, f, cache}
}

// choice is the fastest known choice for a kernel.
func (t *tuner) choice(p *lower.Program) plan.Choice {
	if t == nil {
		return ""
	}
	k, err := nest.Compile(p.Name, p.Linear, t.machine)
	if err != nil || code.Estimate(k.Flops, k.Bytes) < worthwhile || !measurable(k, p.Linear) {
		return ""
	}
	key := beam.Key(p.Linear)
	if c, ok := t.cache.Get(key); ok {
		return c
	}
	timing.Lock()
	defer timing.Unlock()
	s, err := newSubject(t, p, k)
	if err != nil {
		return ""
	}
	defer s.release()
	found, ok := beam.Search(s, t.width, choices+perWidth*t.width)
	if !ok {
		return ""
	}
	t.cache.Put(key, found.Choice, found.Time)
	if settings.Dump.Get() == "beam" {
		fmt.Fprintf(os.Stderr, "kernel %s: %.1f us by the heuristics (choice %s), %.1f us by choice %s, the best of %d\n",
			p.Name, microseconds(found.Heuristic), k.Choice, microseconds(found.Time), orNone(found.Choice), found.Tried)
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
