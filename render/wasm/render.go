package wasm

import (
	"fmt"
	"strconv"

	"polygrad/core/intern"
	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// Options choose how kernels are rendered.
type Options struct {
	// Check makes every access compare its address with the bounds of its buffer.
	Check bool
}

// Render turns the linear list of a kernel into a Kernel.
func Render(name string, list []*uop.UOp, opt Options) (k *Kernel, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case badList:
			k, err = nil, fmt.Errorf("wasm.Render: kernel %s: %w", name, r.error)
		default:
			panic(r)
		}
	}()
	k = &Kernel{Name: name, Threads: 1}
	s, c, err := k.plan(list, opt)
	if err != nil {
		return nil, fmt.Errorf("wasm.Render: kernel %s: %w", name, err)
	}
	k.build = func(m *binary.Module, h *helpers) {
		e := &emitter{Code: binary.NewCode(k.paramTypes()...), s: s, h: h, m: m, locals: map[*inst]uint32{}, tmp: -1}
		e.code(c)
		m.Func("k"+strconv.Itoa(h.kernels), e.Code)
		h.kernels++
	}
	return k, nil
}

// plan takes the list through all stages up to scheduled code.
func (k *Kernel) plan(list []*uop.UOp, opt Options) (*selector, *code, error) {
	g := newGraph(2 * len(list))
	im := &importer{graph: g, k: k, bufs: map[*uop.UOp]*buffer{}, vars: map[string]int{}}
	if err := im.run(list); err != nil {
		return nil, nil, err
	}
	p := &packer{graph: g, packs: make(map[[4]int32]*value, len(list)/2)}
	p.reshape()
	p.packStores()
	g.spread(k)
	s := &selector{
		g: g, k: k, check: opt.Check, table: intern.NewTable[instKey, inst](len(list)), vars: map[*block][]*variable{},
		iters: map[*loop]*inst{}, ptrs: map[ptrKey]*inst{}, lowest: map[*group]int64{},
	}
	s.findLowest(g.places())
	return s, s.all(), nil
}

// visit calls f for every value that the kernel needs, and each for every place
// without condition that it stores to.
func (g *graph) visit(f func(*value), each func(*place)) {
	w := g.walk()
	var visit func(v *value)
	visit = func(v *value) {
		if !w.first(v) {
			return
		}
		f(v)
		for _, a := range v.args {
			visit(a)
		}
		if v.at != nil {
			for _, t := range v.at.terms {
				visit(t.v)
			}
		}
		if v.op == opPhi {
			for _, p := range v.loop.phis {
				if p.v == v {
					visit(p.init)
					visit(p.next)
				}
			}
		}
	}
	for _, b := range g.blocks() {
		for _, it := range b.items {
			if it.loop != nil {
				visit(it.loop.count)
			}
			st := it.store
			if st == nil {
				continue
			}
			visit(st.val)
			if st.gate != nil {
				visit(st.gate)
			} else if each != nil {
				each(st.at)
			}
			for _, t := range st.at.terms {
				visit(t.v)
			}
		}
	}
}

// places lists where the kernel's loads and stores without condition go.
func (g *graph) places() []*place {
	var out []*place
	add := func(p *place) { out = append(out, p) }
	g.visit(func(v *value) {
		if v.at != nil && v.at.gate == nil {
			add(v.at)
		}
	}, add)
	return out
}

func (k *Kernel) paramTypes() []binary.ValType {
	var out []binary.ValType
	for range k.Params {
		out = append(out, binary.I32)
	}
	for _, v := range k.Vars {
		out = append(out, typeOf(kindOf(v.DType)))
	}
	if k.Threads > 1 {
		out = append(out, binary.I32)
	}
	if k.Scratch > 0 {
		out = append(out, binary.I32)
	}
	return out
}

func (k *Kernel) scratchParam() int {
	n := len(k.Params) + len(k.Vars)
	if k.Threads > 1 {
		n++
	}
	return n
}
