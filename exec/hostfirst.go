package exec

import (
	"slices"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// Kernels with a type that the device lacks run on the host (hostkernels.go). Values of such types are materialised where they are cast to
// another type, so that the corrections of Adam, a few float64, do not move the whole update to the host.

// storeMissingTypes stores the values that are computed from types that a target lacks, each in a buffer of its own.
func storeMissingTypes(root *uop.UOp, t *lower.Target) *uop.UOp {
	if t == nil || len(t.Missing) == 0 {
		return root
	}
	lacks := func(u *uop.UOp) bool { return !t.Emulates(u.DType.Base().Scalar()) }
	values := map[*uop.UOp]bool{}
	for _, u := range root.Toposort() {
		if u.DType != uop.Void && !lacks(u) && uop.GroupElementwise.Has(u.Op) && slices.ContainsFunc(u.Src, lacks) {
			values[u] = true
		}
	}
	return fuse.Stored(root, values)
}

// hostFirst moves the host's kernels that do not depend on others to the front and returns their number: they run before the device is
// given anything to do.
func (e *Executor) hostFirst(s *schedule.Schedule) int {
	t := e.dev.Target()
	if !e.pool.limits.HostFallback || len(t.Missing) == 0 || len(s.Loops) > 0 {
		return 0
	}
	var first, rest []schedule.Kernel
	used := map[int]bool{} // slots of the rest
	for _, k := range s.Kernels {
		dt, _ := missingType(t, k.AST)
		if dt != nil && !slices.ContainsFunc(k.Bufs, func(b int) bool { return used[b] }) {
			first = append(first, k)
			continue
		}
		for _, b := range k.Bufs {
			used[b] = true
		}
		rest = append(rest, k)
	}
	if len(first) > 0 {
		s.Kernels = slices.Concat(first, rest)
		s.PlanMemory()
	}
	return len(first)
}

// hostRuns are the first launches of a plan, which run on the host before the device is given anything.
type hostRuns struct {
	n int
	// others marks the inputs that other launches use.
	others []bool
	// offsets are the offsets of temporaries in host memory, by slot; bytes is its size.
	offsets map[int]int64
	bytes   int64
	// results are the temporaries that other launches read.
	results []int
}

// planHost plans the first n launches for the host.
func (p *plan) planHost(n int) {
	h := hostRuns{n: n, others: make([]bool, p.inputs), offsets: map[int]int64{}}
	if n == 0 || len(p.before) > 0 {
		return
	}
	use := func(slot int) {
		if slot < p.inputs {
			h.others[slot] = true
		} else if _, made := h.offsets[slot]; made && !slices.Contains(h.results, slot) {
			h.results = append(h.results, slot)
		}
	}
	for i, l := range p.launches {
		for j, s := range l.slots {
			if i >= n {
				use(s)
			} else if _, known := h.offsets[s]; s >= p.inputs && !known {
				h.offsets[s] = h.bytes
				h.bytes += aligned(max(l.code.(*hostKernel).bytes[j], 1))
			}
		}
	}
	for _, m := range p.after {
		use(m.from)
		use(m.to)
	}
	p.host = h
}

// runHost runs the first launches on host memory, if all their inputs can be there; it returns how many ran.
func (p *plan) runHost(r *run) (n int, err error) {
	h := &p.host
	if h.n == 0 {
		return 0, nil
	}
	launches := p.launches[:h.n]
	for _, l := range launches {
		for _, s := range l.slots {
			if s < p.inputs && r.bufs[s].Pointer() == nil {
				return 0, nil // the input has no host memory
			}
		}
	}
	if int64(len(r.hostMemory)) < h.bytes {
		r.hostMemory = make([]byte, h.bytes)
	}
	for _, l := range launches {
		k := l.code.(*hostKernel)
		ptrs, vars := make([]unsafe.Pointer, len(l.slots)), make([]int64, len(l.vars))
		for i, s := range l.slots {
			if s >= p.inputs {
				ptrs[i] = unsafe.Pointer(&r.hostMemory[h.offsets[s]])
				continue
			}
			ptrs[i] = r.bufs[s].Pointer()
			if a := r.arrays[s]; a != nil {
				if err := a.Read(hostBytes(ptrs[i], a.bytes)); err != nil {
					return 0, err
				}
				if k.written[i] {
					a.Written()
				}
			}
		}
		for i, v := range l.vars {
			vars[i] = r.vals[v]
		}
		if err := k.Run(ptrs, vars); err != nil {
			return 0, err
		}
	}
	return h.n, nil
}

// copyHost copies the results of the first launches from the host to the device.
func (p *plan) copyHost(r *run) error {
	for _, s := range p.host.results {
		at := p.host.offsets[s]
		if err := r.queue.CopyIn(r.bufs[s], r.hostMemory[at:at+p.host.sizeOf(p, s)]); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is the size of a temporary of the first launches.
func (h *hostRuns) sizeOf(p *plan, slot int) int64 {
	for _, l := range p.launches[:h.n] {
		if i := slices.Index(l.slots, slot); i >= 0 {
			return l.code.(*hostKernel).bytes[i]
		}
	}
	return 0
}
