package wasm

import (
	"fmt"

	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

// Options choose how kernels are rendered.
type Options struct {
	// Check makes every access compare its address with the bounds of its buffer.
	Check bool
	// Whole makes functions that do all work items, for hosts that know nothing of them.
	Whole bool
	// SplatLoads: the engine compiles a load that broadcasts an element to one instruction of the processor, which does not depend on the old
	// contents of its register.
	SplatLoads bool
}

// failure is why a kernel cannot be rendered.
type failure struct{ error }

func fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// Render makes a function of a legal kernel.
func Render(nk *ir.Kernel, opt Options) (k *Kernel, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			k, err = nil, fmt.Errorf("wasm.Render of %s: %w", nk.Name, r.error)
		default:
			panic(r)
		}
	}()
	k = newKernel(nk, opt)
	s, body := k.schedule(nk, opt)
	k.build = func(c *binary.Code) {
		e := &emitter{Code: c, s: s, locals: map[*inst]uint32{}, tmp: -1}
		e.code(body)
	}
	return k, nil
}

func newKernel(k *ir.Kernel, opt Options) *Kernel {
	return &Kernel{
		Name: k.Name, Params: k.Params, Vars: k.Vars, Items: k.Items, Scratch: k.Scratch, Setup: k.Setup, Flops: k.Flops, Bytes: k.Bytes,
		whole: opt.Whole,
	}
}

// schedule selects instructions and puts them in order.
func (k *Kernel) schedule(nk *ir.Kernel, opt Options) (*selector, *code) {
	s := &selector{
		k: k, root: nk.Root, items: nk.Items, check: opt.Check, splatLoads: opt.SplatLoads, table: ir.NewInternTable[instKey, inst](512),
		vars: map[*ir.Block][]*variable{}, counters: map[*ir.Loop]*inst{}, groups: map[string]*group{},
		ptrs: map[ptrKey]*inst{}, spareAt: -1,
	}
	s.findGroups(nk)
	return s, s.all()
}
