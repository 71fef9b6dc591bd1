package exec

import (
	"runtime"

	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// The caches of programs are bounded in bytes. When they are full, entries that had no hit since the last time are evicted.

// limits bound the caches.
type limits struct {
	bytes     int64 // a few plans are kept whatever their size
	few       int
	constants int // members of a family that are compiled with their numbers as constants
}

func usual() limits {
	l := limits{bytes: settings.CacheBytes(1), few: 16, constants: 8}
	if runtime.GOARCH == "wasm" {
		l.constants = 1 // the engine compiles slowly, and runs new code slowly
	}
	return l
}

// Bytes of a node of a graph, of a launch of a plan, and of a kernel without its code, or with it where the device does not tell its size
// (measured).
const (
	nodeBytes    = 320
	launchBytes  = 160
	kernelBytes  = 1 << 10
	unknownBytes = 6 << 10
)

// bytes is the size of the caches.
func (e *Executor) bytes() int64 {
	return nodeBytes*int64(e.requests.Len()+e.asts.Len()) + launchBytes*e.launches + e.code
}

// bytesOf is the size of a kernel.
func bytesOf(k device.Kernel) int64 {
	if s, ok := k.(interface{ CodeBytes() int64 }); ok {
		return kernelBytes + s.CodeBytes()
	}
	return unknownBytes
}

// keep caches a plan.
func (e *Executor) keep(root *uop.UOp, p *plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.plans[root] = p
	e.launches += int64(len(p.launches))
	e.code += p.keptBytes()
	if len(e.plans) > e.limits.few && e.bytes() > e.limits.bytes {
		p.used = true
		e.evict()
	}
}

// evict drops the plans that had no hit since the last call, or all of them if the others take most of the bytes. A plan that is in use
// keeps its kernels.
func (e *Executor) evict() {
	e.launches, e.code = 0, 0
	used := map[device.Kernel]bool{}
	for root, p := range e.plans {
		if !p.used {
			delete(e.plans, root)
			continue
		}
		p.used = false
		e.launches += int64(len(p.launches))
		e.code += p.keptBytes()
		for _, l := range p.launches {
			used[l.code] = true
		}
	}
	for ast, k := range e.kernels {
		if used[k.code] {
			e.code += k.bytes
		} else {
			delete(e.kernels, ast)
		}
	}
	for key, f := range e.families {
		if !f.used {
			delete(e.families, key)
		}
		f.used = false
	}
	e.sweepRequests()
	e.asts.Sweep(keysOf(e.kernels))
	if e.bytes() > e.limits.bytes/4*3 {
		e.forget()
	}
}

// forget empties the caches.
func (e *Executor) forget() {
	e.requests, e.plans, e.launches = NewGraph(), map[*uop.UOp]*plan{}, 0
	e.families = map[familyKey]*family{}
	e.asts, e.kernels, e.code = NewGraph(), map[*uop.UOp]*kernel{}, 0
}

// sweep frees the nodes of requests and kernels that were not cached, such as failed ones. The caller must be building: others
// hold nodes only under the lock.
func (e *Executor) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.requests.Crowded() {
		e.sweepRequests()
	}
	if e.asts.Crowded() {
		e.asts.Sweep(keysOf(e.kernels))
	}
}

func (e *Executor) sweepRequests() {
	e.requests.Sweep(func(mark func(*uop.UOp)) {
		keysOf(e.plans)(mark)
		for key := range e.families {
			mark(key.blank)
		}
	})
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
