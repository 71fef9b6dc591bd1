package exec

import (
	"math/bits"
	"slices"
	"sync"

	"polygrad/exec/device"
)

// pool is the memory for temporaries that the runs of all plans share. A run takes one arena and gives it back.
// What is idle is kept, because fresh memory costs a fault for each page, but not more than a limit, so
// that a program of many different requests needs no more memory than its largest ones.
type pool struct {
	dev    device.Device
	limits device.Limits
	limit  int64 // of the bytes that are idle; the arena that was used last may exceed it alone

	mu    sync.Mutex
	idle  []*arena // the one used last at the end
	bytes int64    // of the idle ones
}

func newPool(dev device.Device, limit int64) *pool {
	return &pool{dev: dev, limits: dev.Limits(), limit: limit}
}

// idleLimit is the limit of an executor's pool.
const idleLimit = 512 << 20

// smallArena is the size of the smallest arena: large enough for most requests to fit in any.
const smallArena = 1 << 20

// arenaSize rounds up to one of four sizes in each doubling, so that requests of similar sizes share.
func arenaSize(bytes int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(max(bytes, smallArena)-1))-3, 0)
	return (max(bytes, smallArena) + step - 1) &^ (step - 1)
}

// take returns an arena of at least that many bytes for the caller alone. If near is not empty, the
// arena lies within the device's reach of it unless the system has no such room.
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

// find takes the arena that was used last among those that will do.
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

// give takes an arena back.
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

// trim releases idle arenas, those first that were not used for the longest time, until they
// have no more than that many bytes or only so many are left.
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
