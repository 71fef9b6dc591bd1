package x64

import (
	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
)

// TwoAddress is the constraint of encodings without VEX.
func (m machine) TwoAddress(inst *asm.Inst) (first, second regalloc.Reg, commute bool) {
	if !m.legacy() || !overwrites(inst) {
		return 0, 0, false
	}
	return regalloc.Reg(inst.Src[0]), regalloc.Reg(inst.Src[1]), commutes(inst.Op)
}

// overwrites reports whether inst without VEX overwrites its first source.
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

// commutingOps are the operations with commutative sources. The minimum and maximum of floats are not: they give the second
// source where one is NaN.
var commutingOps = [...]asm.Op{
	asm.VADDPS, asm.VADDPD, asm.VMULPS, asm.VMULPD, asm.VANDPS, asm.VANDPD, asm.VORPS, asm.VORPD, asm.VXORPS, asm.VXORPD,
	asm.VPADDB, asm.VPADDW, asm.VPADDD, asm.VPADDQ, asm.VPADDUSB, asm.VPADDUSW, asm.VPMULLW, asm.VPMULLD, asm.VPMULHW,
	asm.VPMULHUW, asm.VPMULUDQ, asm.VPMULDQ, asm.VPAVGB, asm.VPAVGW, asm.VPSADBW, asm.VPAND, asm.VPOR, asm.VPXOR,
	asm.VPMINSB, asm.VPMINSW, asm.VPMINSD, asm.VPMINUB, asm.VPMINUW, asm.VPMINUD,
	asm.VPMAXSB, asm.VPMAXSW, asm.VPMAXSD, asm.VPMAXUB, asm.VPMAXUW, asm.VPMAXUD,
	asm.VPCMPEQB, asm.VPCMPEQW, asm.VPCMPEQD, asm.VPCMPEQQ,
}

var isCommuting = func() map[asm.Op]bool {
	m := map[asm.Op]bool{}
	for _, op := range commutingOps {
		m[op] = true
	}
	return m
}()

// commutes reports whether the sources of op may change places.
func commutes(op asm.Op) bool { return isCommuting[op] }

// twoAddress rewrites vector instructions of two sources so that Dst is Src[0], as encodings without VEX demand.
func twoAddress(r *regalloc.Result[asm.Inst]) {
	n := 0
	for i := range r.Insts {
		if in := &r.Insts[i]; overwrites(in) && in.Dst != in.Src[0] {
			n += 2
		}
	}
	if n == 0 {
		return
	}
	out := make([]asm.Inst, 0, len(r.Insts)+n)
	move := func(to, from asm.Reg, size uint8) {
		out = append(out, machine{}.Move(regalloc.Reg(to), regalloc.Reg(from), size))
	}
	scratch := int32(-1)
	spill := func(to, from asm.Reg) {
		move(to, from, 16)
		out[len(out)-1].Mem.Disp = scratch
	}
	for i := range r.Insts {
		in := r.Insts[i]
		d := in.Dst
		switch {
		case !overwrites(&in) || d == in.Src[0]:
		case in.Src[1] != d:
			move(d, in.Src[0], in.Size)
			in.Src[0] = d
		case commutes(in.Op):
			in.Src[0], in.Src[1] = d, in.Src[0]
		default:
			// The second source is in the destination: it moves to the frame, or to another register.
			if scratch < 0 {
				scratch = (r.Frame + 15) &^ 15
				r.Frame = scratch + 16
			}
			if _, ok := in.TakesMem(1, asm.Legacy); ok {
				spill(0, d)
				move(d, in.Src[0], in.Size)
				in.Src[0], in.Src[1], in.Mem = d, 0, asm.Mem{Base: asm.RBP, Disp: scratch}
				break
			}
			t := asm.Phys(asm.Vec, 0)
			for t == d || t == in.Src[0] {
				t++
			}
			spill(0, t)
			move(t, d, in.Size)
			move(d, in.Src[0], in.Size)
			in.Src[0], in.Src[1] = d, t
			out = append(out, in)
			spill(t, 0)
			continue
		}
		out = append(out, in)
	}
	r.Insts = out
}
