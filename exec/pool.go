package exec

import (
	"math/bits"
	"slices"
	"sync"

	"polygrad/exec/device"
)

// pool is the memory for temporaries, shared by the runs of all plans. Each run takes one arena and returns it. Idle arenas are
// kept, because fresh memory costs a fault for each page, but only up to a limit, so a program of many different requests
// needs no more memory than its largest ones.
type pool struct {
	dev    device.Device
	limits device.Limits
	limit  int64 // of idle bytes; the last arena alone may exceed it

	mu    sync.Mutex
	idle  []*arena // the one used last at the end
	bytes int64    // of the idle ones
}

func newPool(dev device.Device, limit int64) *pool {
	return &pool{dev: dev, limits: dev.Limits(), limit: limit}
}

// smallArena is the smallest arena size: most requests fit in any arena.
const smallArena = 1 << 20

// arenaSize rounds up to one of four sizes in each doubling, so requests of similar sizes share arenas.
func arenaSize(bytes int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(max(bytes, smallArena)-1))-3, 0)
	return (max(bytes, smallArena) + step - 1) &^ (step - 1)
}

// take returns an arena of at least n bytes for the caller alone. If near is not empty, the arena lies within the device's reach
// of it, if the system has room there.
func (p *pool) take(bytes int64, near span) (*arena, error) {
	if a := p.find(bytes, near); a != nil {
		return a, nil
	}
	size := arenaSize(bytes)
	p.trim(p.limit-size, 0)
	if near.hi == 0 {
		return newArena(p.dev, size, 0)
	}
	if a, err := newArenaNear(p.dev, size, near); a != nil || err != nil {
		return a, err
	}
	if a := p.find(bytes, span{}); a != nil {
		return a, nil
	}
	return newArena(p.dev, size, 0)
}

// find takes the most recently used of the suitable arenas.
func (p *pool) find(bytes int64, near span) *arena {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if a := p.idle[i]; a.size >= bytes && a.within(bytes, near, p.limits.Reach) {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.bytes -= a.size
			return a
		}
	}
	return nil
}

// give returns an arena.
func (p *pool) give(a *arena) {
	p.mu.Lock()
	p.idle = append(p.idle, a)
	p.bytes += a.size
	over := p.bytes > p.limit
	p.mu.Unlock()
	if over {
		p.trim(p.limit, 1)
	}
}

// trim releases idle arenas, the least recently used first, down to a number of bytes or of arenas.
func (p *pool) trim(bytes int64, keep int) {
	p.mu.Lock()
	n := 0
	for ; p.bytes > bytes && n < len(p.idle)-keep; n++ {
		p.bytes -= p.idle[n].size
	}
	old := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.mu.Unlock()
	for _, a := range old {
		a.release()
	}
}
