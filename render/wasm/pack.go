package wasm

import (
	"slices"

	"polygrad/core/uop"
)

// packer puts scalars that are computed alike, for neighbouring elements, into
// vectors: it starts from stores that are neighbours and follows their values
// to loads that are neighbours (superword-level parallelism).
type packer struct {
	*graph
	packs map[[4]int32]*value
}

// pack is the vector of some scalars (4, or 2 of a 64-bit kind). Where they do
// not fit together it is a gather of them.
func (p *packer) pack(lanes []*value) *value {
	var key [4]int32
	for i, v := range lanes {
		key[i] = v.id
	}
	if v := p.packs[key]; v != nil {
		return v
	}
	v := p.packNew(lanes, key)
	p.packs[key] = v
	return v
}

func (p *packer) packNew(lanes []*value, key [4]int32) *value {
	v0, n := lanes[0], uint8(len(lanes))
	same, alike := true, true
	for _, v := range lanes[1:] {
		same = same && v == v0
		alike = alike && v.op == v0.op && v.kind == v0.kind && len(v.args) == len(v0.args)
	}
	switch {
	case same:
		return p.splatN(v0, n)
	case !alike:
		return p.gather(lanes)
	}
	switch v0.op {
	case uop.ConstOp:
		return p.constVector(v0.kind, n, lanes...)
	case opPhi:
		if v := p.packPhis(lanes, key); v != nil {
			return v
		}
	case opFinal:
		if inner := p.pack(column(lanes, 0)); inner.op == opPhi {
			return p.final(inner)
		}
	case uop.Load:
		if v := p.packLoads(lanes); v != nil {
			return v
		}
	case uop.Range, uop.DefineVar, opExtract:
	default:
		if p.vectorizable(lanes) {
			return p.packOp(lanes)
		}
	}
	return p.gather(lanes)
}

func (p *packer) gather(lanes []*value) *value {
	if v, ok := p.ladder(lanes); ok {
		return v
	}
	return p.intern(value{op: opGather, kind: lanes[0].kind, lanes: uint8(len(lanes))}, lanes...)
}

// ladder packs integers that differ from each other by constants.
func (p *packer) ladder(lanes []*value) (*value, bool) {
	v0 := lanes[0]
	if v0.kind != kI32 && v0.kind != kI64 {
		return nil, false
	}
	a0 := p.affineOf(v0)
	steps := make([]*value, len(lanes))
	for i, v := range lanes {
		if v.kind != v0.kind {
			return nil, false
		}
		d := p.affineOf(v).plus(a0, -1)
		if len(d.terms) != 0 {
			return nil, false
		}
		steps[i] = p.constant(v0.kind, v0.kind.Wrap(d.off))
	}
	n := uint8(len(lanes))
	return p.op(uop.Add, v0.kind, n, p.splatN(v0, n), p.constVector(v0.kind, n, steps...)), true
}

func column(lanes []*value, i int) []*value {
	out := make([]*value, len(lanes))
	for j, v := range lanes {
		out[j] = v.args[i]
	}
	return out
}

// packPhis makes one vector variable of several scalar ones of a loop.
func (p *packer) packPhis(lanes []*value, key [4]int32) *value {
	l := lanes[0].loop
	var inits, nexts []*value
	for _, v := range lanes {
		if v.loop != l {
			return nil
		}
		for _, ph := range l.phis {
			if ph.v == v {
				inits, nexts = append(inits, ph.init), append(nexts, ph.next)
			}
		}
	}
	ph := p.newPhi(l, p.pack(inits))
	p.packs[key] = ph.v
	ph.next = p.pack(nexts)
	return ph.v
}

// packLoads makes one load of neighbours, or a shuffle of two such loads.
func (p *packer) packLoads(lanes []*value) *value {
	at, n := lanes[0].at, int64(len(lanes))
	if lanesOf(lanes[0].kind) != len(lanes) {
		return nil
	}
	lo, hi := at.off, at.off
	inOrder := true
	for i, v := range lanes {
		if v.at.group != at.group || v.home != lanes[0].home || v.at.gate != at.gate {
			return nil
		}
		lo, hi = min(lo, v.at.off), max(hi, v.at.off)
		inOrder = inOrder && v.at.off == at.off+int64(i)
	}
	if at.pos > 0 && !(inOrder && p.noStoreBetween(lanes)) {
		return nil
	}
	if at.gate != nil {
		// A gated load of a vector reads the start of the buffer where the gate is shut.
		if !inOrder || at.buf.size < n {
			return nil
		}
		return p.load(lanes[0].kind, uint8(n), at, p.pack(column(lanes, 1)))
	}
	if inOrder {
		return p.loadAt(at, lanes[0].kind, at.off, n)
	}
	if hi-lo >= 2*n || hi-lo < n-1 {
		return nil
	}
	var sel uint64
	for i, v := range lanes {
		l := v.at.off - lo
		if l >= n {
			l = v.at.off - (hi - n + 1) + n
		}
		sel |= uint64(l) << (8 * i)
	}
	a, b := p.loadAt(at, lanes[0].kind, lo, n), p.loadAt(at, lanes[0].kind, hi-n+1, n)
	return p.intern(value{op: opShuffle, kind: lanes[0].kind, lanes: uint8(n), bits: [2]uint64{sel}}, a, b)
}

func (p *packer) loadAt(at *place, k kind, off, n int64) *value {
	v := p.load(k, uint8(n), &place{group: at.group, off: off, pos: at.pos}, nil)
	if at.pos > 0 {
		// A pinned vector load takes the place of its first lane.
		p.pin(v, at.pos)
	}
	return v
}

// pin puts a pinned load beside the scalar load at the same position of its block.
func (p *packer) pin(v *value, pos int) {
	for _, b := range p.blocks() {
		for i, it := range b.items {
			if it.load != nil && it.load.at.pos == pos {
				v.home = b
				b.items = slices.Insert(b.items, i+1, item{load: v})
				return
			}
		}
	}
}

// noStoreBetween reports whether all lanes can be loaded where the first one
// is: no store between there and a lane's own place meets that lane.
func (p *packer) noStoreBetween(lanes []*value) bool {
	first := lanes[0].at.pos
	for _, v := range lanes {
		if v.at.pos < first {
			return false
		}
		for _, it := range v.home.items {
			if st := it.store; st != nil && st.pos > first && st.pos < v.at.pos && st.at.meets(int64(st.val.lanes), v.at, 1) {
				return false
			}
		}
	}
	return true
}

// meets reports whether n elements at one place may overlap m elements at another.
func (a *place) meets(n int64, b *place, m int64) bool {
	if a.buf != b.buf {
		return false
	}
	return a.group != b.group || a.off < b.off+m && b.off < a.off+n
}

// vectorizable reports whether there is vector code for what all lanes do.
func (p *packer) vectorizable(lanes []*value) bool {
	v0, n := lanes[0], len(lanes)
	fits := func(k kind) bool { return k == kBool || lanesOf(k) == n }
	if !fits(v0.kind) {
		return false
	}
	for i, a := range v0.args {
		for _, v := range lanes[1:] {
			if v.args[i].kind != a.kind {
				return false
			}
		}
		if !fits(a.kind) {
			return false
		}
	}
	switch v0.op {
	case uop.Idiv, uop.Mod:
		return false
	case uop.Shl, uop.Shr:
		for _, v := range lanes[1:] {
			if v.args[1] != v0.args[1] {
				return false
			}
		}
	case uop.Cast:
		from := v0.args[0].kind
		if from.Wide() && v0.kind.Wide() && from.Float() != v0.kind.Float() {
			return false
		}
	}
	return true
}

func (p *packer) packOp(lanes []*value) *value {
	v0 := lanes[0]
	if uop.GroupCommutative.Has(v0.op) {
		lanes = p.aligned(lanes)
	}
	args := make([]*value, len(v0.args))
	for i := range args {
		if i == 1 && (v0.op == uop.Shl || v0.op == uop.Shr) {
			args[i] = v0.args[1]
			continue
		}
		args[i] = p.pack(column(lanes, i))
	}
	return p.op(v0.op, v0.kind, uint8(len(lanes)), args...)
}

// aligned swaps the operands of a commutative operation where that makes them
// look like those of the first lane.
func (p *packer) aligned(lanes []*value) []*value {
	a, b := lanes[0].args[0], lanes[0].args[1]
	out := slices.Clone(lanes)
	for i, v := range lanes[1:] {
		x, y := v.args[0], v.args[1]
		if likeness(a, x)+likeness(b, y) < likeness(a, y)+likeness(b, x) {
			out[i+1] = &value{op: v.op, kind: v.kind, lanes: v.lanes, args: []*value{y, x}}
		}
	}
	return out
}

func likeness(a, b *value) int {
	switch {
	case a == b:
		return 3
	case a.op != b.op || a.kind != b.kind:
		return 0
	case a.op == uop.Load && a.at.group == b.at.group:
		return 3
	case a.op == uop.Load || a.op == opPhi && a.loop != b.loop:
		return 1
	}
	return 2
}

// blocks lists all blocks, the root first.
func (g *graph) blocks() []*block {
	out := []*block{g.root}
	for i := 0; i < len(out); i++ {
		for _, it := range out[i].items {
			if it.loop != nil {
				out = append(out, it.loop.body)
			}
		}
	}
	return out
}
