package exec

import (
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// The caches are bounded: when one is full it is emptied.

// limits bound the caches.
type limits struct {
	plans, kernels int
	bytes          int // estimated; a few plans are kept whatever their size
	few            int
	constants      int // members of a family that are compiled with their numbers as constants
}

var usual = limits{plans: 4096, kernels: 8192, bytes: 256 << 20, few: 16, constants: 8}

// Estimated bytes of a node of a graph, a launch of a plan, a kernel with its code (measured with training steps on the native
// device).
const (
	nodeBytes   = 320
	launchBytes = 160
	kernelBytes = 6 << 10
)

// bytes estimates the size of the caches.
func (e *Executor) bytes() int {
	return nodeBytes*(e.requests.Len()+e.asts.Len()) + launchBytes*e.launches + kernelBytes*len(e.kernels)
}

// full reports whether a limit is reached.
func (e *Executor) full() bool {
	l := &e.limits
	return len(e.plans) >= l.plans || len(e.kernels) >= l.kernels || len(e.plans) >= l.few && e.bytes() >= l.bytes
}

// keep caches a plan. A full cache is emptied first, and the plan is not kept.
func (e *Executor) keep(root *uop.UOp, p *plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.full() {
		e.forget()
		return
	}
	e.plans[root] = p
	e.launches += len(p.launches)
}

// forget empties the caches.
func (e *Executor) forget() {
	e.requests, e.plans, e.launches = symbolic.NewGraph(), map[*uop.UOp]*plan{}, 0
	e.families = map[familyKey]*family{}
	e.asts, e.kernels = symbolic.NewGraph(), map[*uop.UOp]*kernel{}
}

// sweep frees the nodes of requests and kernels that were not cached, such as failed ones. The caller must be building: others
// hold nodes only under the lock.
func (e *Executor) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.requests.Crowded() {
		e.requests.Sweep(func(mark func(*uop.UOp)) {
			keysOf(e.plans)(mark)
			for key := range e.families {
				mark(key.blank)
			}
		})
	}
	if e.asts.Crowded() {
		e.asts.Sweep(keysOf(e.kernels))
	}
}

func keysOf[V any](m map[*uop.UOp]V) func(mark func(*uop.UOp)) {
	return func(mark func(*uop.UOp)) {
		for u := range m {
			mark(u)
		}
	}
}

// CacheSize is the number of cached plans and kernels.
func (e *Executor) CacheSize() (plans, kernels int) {
	e.building.Lock()
	defer e.building.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.plans), len(e.kernels)
}
