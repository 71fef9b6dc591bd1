package regalloc

import "polygrad/render/x64/asm"

// overwrites reports whether the encoding of inst without VEX has its destination in the place of its first source.
func overwrites(inst *asm.Inst) bool {
	if inst.Dst.Class() != asm.Vec || inst.Src[0].Class() != asm.Vec || inst.ReadsDst() {
		return false
	}
	return inst.Src[1] != 0 || !inst.Mem.None() || shifts[inst.Op]
}

// shifts are the operations that overwrite their only register.
var shifts = map[asm.Op]bool{
	asm.VPSLLW: true, asm.VPSLLD: true, asm.VPSLLQ: true, asm.VPSRLW: true, asm.VPSRLD: true, asm.VPSRLQ: true,
	asm.VPSRAW: true, asm.VPSRAD: true, asm.VPSLLDQ: true, asm.VPSRLDQ: true,
}

// commuting are the operations whose two sources may change places. The minimum and maximum of floats are not: they
// give the second source where one is NaN.
var commuting = [...]asm.Op{
	asm.VADDPS, asm.VADDPD, asm.VMULPS, asm.VMULPD, asm.VANDPS, asm.VANDPD, asm.VORPS, asm.VORPD, asm.VXORPS, asm.VXORPD,
	asm.VPADDB, asm.VPADDW, asm.VPADDD, asm.VPADDQ, asm.VPADDUSB, asm.VPADDUSW, asm.VPMULLW, asm.VPMULLD, asm.VPMULHW,
	asm.VPMULHUW, asm.VPMULUDQ, asm.VPMULDQ, asm.VPAVGB, asm.VPAVGW, asm.VPSADBW, asm.VPAND, asm.VPOR, asm.VPXOR,
	asm.VPMINSB, asm.VPMINSW, asm.VPMINSD, asm.VPMINUB, asm.VPMINUW, asm.VPMINUD,
	asm.VPMAXSB, asm.VPMAXSW, asm.VPMAXSD, asm.VPMAXUB, asm.VPMAXUW, asm.VPMAXUD,
	asm.VPCMPEQB, asm.VPCMPEQW, asm.VPCMPEQD, asm.VPCMPEQQ,
}

var isCommuting = func() map[asm.Op]bool {
	m := map[asm.Op]bool{}
	for _, op := range commuting {
		m[op] = true
	}
	return m
}()

// commutes reports whether the sources of op may change places.
func commutes(op asm.Op) bool { return isCommuting[op] }

// destructive rewrites vector instructions of two sources so that Dst is Src[0], as encodings without VEX have it.
func (r *Result) destructive() {
	n := 0
	for i := range r.Insts {
		if in := &r.Insts[i]; overwrites(in) && in.Dst != in.Src[0] {
			n += 2
		}
	}
	if n == 0 {
		return
	}
	out, from := make([]asm.Inst, 0, len(r.Insts)+n), make([]int32, 0, len(r.Insts)+n)
	add := func(inst asm.Inst, o int32) { out, from = append(out, inst), append(from, o) }
	scratch := int32(-1)
	for i := range r.Insts {
		in, o := r.Insts[i], r.Origin[i]
		if !overwrites(&in) || in.Dst == in.Src[0] {
			add(in, o)
			continue
		}
		d := in.Dst
		switch {
		case in.Src[1] != d:
			add(moveInst(d, in.Src[0], in.Size), Moved)
			in.Src[0] = d
		case commutes(in.Op):
			in.Src[0], in.Src[1] = d, in.Src[0]
		default:
			// The second source is where the first has to go: it moves to the frame, or to a register that does so.
			if scratch < 0 {
				scratch = (r.Frame + 15) &^ 15
				r.Frame = scratch + 16
			}
			store, load := storeInst(d, 16), loadInst(d, 16)
			store.Mem.Disp, load.Mem.Disp = scratch, scratch
			if _, ok := in.TakesMem(1, asm.Legacy); ok {
				add(store, Moved)
				add(moveInst(d, in.Src[0], in.Size), Moved)
				in.Src[0], in.Src[1], in.Mem = d, 0, load.Mem
				break
			}
			t := asm.Phys(asm.Vec, 0)
			for t == d || t == in.Src[0] {
				t++
			}
			store.Src[0], load.Dst = t, t
			add(store, Moved)
			add(moveInst(t, d, in.Size), Moved)
			add(moveInst(d, in.Src[0], in.Size), Moved)
			in.Src[0], in.Src[1] = d, t
			add(in, o)
			add(load, Moved)
			continue
		}
		add(in, o)
	}
	r.Insts, r.Origin = out, from
}
