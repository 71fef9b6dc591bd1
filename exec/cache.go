package exec

import (
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// What is kept for requests that come again is bounded: a program with more distinct ones starts over. A loop that makes
// a new constant in each step, such as a rate of learning that is no tensor, makes a new plan in each.

// limits bound what is kept.
type limits struct {
	plans, kernels int
	bytes          int // about; few plans are kept whatever they take
	few            int
}

var usual = limits{plans: 4096, kernels: 8192, bytes: 256 << 20, few: 16}

// What is kept takes about so many bytes: a node of a graph, a launch of a plan, a kernel with its code (measured with
// training steps on the native device).
const (
	nodeBytes   = 320
	launchBytes = 160
	kernelBytes = 6 << 10
)

// bytes estimates what is kept.
func (e *Executor) bytes() int {
	return nodeBytes*(e.requests.Len()+e.asts.Len()) + launchBytes*e.launches + kernelBytes*len(e.kernels)
}

// full reports whether nothing more is to be kept.
func (e *Executor) full() bool {
	l := &e.limits
	return len(e.plans) >= l.plans || len(e.kernels) >= l.kernels || len(e.plans) >= l.few && e.bytes() >= l.bytes
}

// keep puts a plan into the cache. If that is full the cache starts over, and the plan is not in it.
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
	e.asts, e.kernels = symbolic.NewGraph(), map[*uop.UOp]*kernel{}
}

// sweep drops requests and kernels that are not kept: those that failed. Only who builds may, since nobody else holds
// nodes without the lock.
func (e *Executor) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.requests.Crowded() {
		e.requests.Sweep(keysOf(e.plans))
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

// CacheSize is the number of plans and of kernels that are kept.
func (e *Executor) CacheSize() (plans, kernels int) {
	e.building.Lock()
	defer e.building.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.plans), len(e.kernels)
}
