package exec

import (
	"fmt"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/schedule"
	"polygrad/core/uop"
	"polygrad/exec/device"
	render "polygrad/render/wasm"
)

// WasmPlan is a request as a WebAssembly module, for a host that runs it by itself.
type WasmPlan struct {
	// Module exports "memory" and, for each kernel, a function k0, k1, … of 32-bit addresses.
	Module []byte
	// Kernels are the kernels in execution order, each with the buffers of its addresses.
	Kernels [][]int
	// Buffers are all buffers of the kernels: first those of Inputs, the BUFFERs of the request, then temporaries.
	Buffers []WasmBuffer
	Inputs  []*uop.UOp
}

// WasmBuffer is the size of a buffer.
type WasmBuffer struct{ Elements, Bytes int64 }

const (
	wasmPage     = 1 << 16
	maxWasmPages = 1 << 16
)

// NewWasmPlan compiles a request (see Realize) for a WebAssembly host.
func NewWasmPlan(sink *uop.UOp) (*WasmPlan, error) {
	fusion := device.FusionFor(&ir.Wasm, lower.Native())
	sched, buffers, err := portable("NewWasmPlan", sink, &fusion)
	if err != nil {
		return nil, err
	}
	if len(sched.Loops) > 0 {
		return nil, fmt.Errorf("exec.NewWasmPlan: kernels are repeated, which a plan has no place for")
	}
	layout := newPlan(buffers)
	slot := layout.layout(sched)
	p := &WasmPlan{Inputs: buffers, Buffers: make([]WasmBuffer, layout.slots)}
	for i, b := range buffers {
		n := int64(b.Arg.(uop.Num))
		p.Buffers[i] = WasmBuffer{n, n * int64(b.DType.Itemsize())}
	}
	for i, s := range sched.Slots {
		if n := slot[i]; n >= len(p.Inputs) {
			p.Buffers[n] = WasmBuffer{s.Size, s.Size * int64(s.DType.Itemsize())}
		}
	}
	return p, p.render(sched, slot, layout)
}

// copies adds kernels that copy whole buffers; a temporary is as large as its source.
func (p *WasmPlan) copies(kernels []*render.Kernel, moves []move) []*render.Kernel {
	for _, m := range moves {
		if p.Buffers[m.to].Bytes == 0 {
			p.Buffers[m.to] = p.Buffers[m.from]
		}
		kernels = append(kernels, render.Copy(m.bytes))
		p.Kernels = append(p.Kernels, []int{m.to, m.from})
	}
	return kernels
}

func (p *WasmPlan) render(sched *schedule.Schedule, slot []int, layout *plan) error {
	target := lower.Native()
	kernels := p.copies(nil, layout.before)
	for _, k := range sched.Kernels {
		prog, err := lower.Lower(k.AST, target)
		if err != nil {
			return err
		}
		if len(prog.Vars) > 0 {
			return fmt.Errorf("exec.NewWasmPlan: kernel %s takes variables, which a plan has no place for", prog.Name)
		}
		nk, err := nest.Compile(prog.Name, prog.Linear, ir.Wasm)
		if err != nil {
			return err
		}
		r, err := render.Render(nk, render.Options{Whole: true})
		if err != nil {
			return err
		}
		var args []int
		for _, param := range r.Params {
			args = append(args, slot[k.Bufs[param.Slot]])
		}
		if r.Scratch > 0 {
			args = append(args, len(p.Buffers))
			p.Buffers = append(p.Buffers, WasmBuffer{r.Scratch, r.Scratch})
		}
		kernels = append(kernels, r)
		p.Kernels = append(p.Kernels, args)
	}
	kernels = p.copies(kernels, layout.after)
	bytes := int64(wasmPage)
	for _, b := range p.Buffers {
		bytes += aligned(b.Bytes)
	}
	pages := (bytes + wasmPage - 1) / wasmPage
	if pages > maxWasmPages {
		return fmt.Errorf("exec.NewWasmPlan: the buffers take %d bytes, a WebAssembly memory holds %d", bytes, maxWasmPages*wasmPage)
	}
	p.Module = render.Module(uint32(pages), kernels...)
	return nil
}
