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

// destructive rewrites vector instructions of two sources so that Dst is Src[0], as encodings without VEX have it. The
// vector register temp is free around each of them.
func destructive(insts []asm.Inst, origin []int32, temp asm.Reg) ([]asm.Inst, []int32) {
	n := 0
	for i := range insts {
		if in := &insts[i]; overwrites(in) && in.Dst != in.Src[0] {
			n += 2
		}
	}
	if n == 0 {
		return insts, origin
	}
	out, from := make([]asm.Inst, 0, len(insts)+n), make([]int32, 0, len(insts)+n)
	add := func(inst asm.Inst, o int32) { out, from = append(out, inst), append(from, o) }
	for i := range insts {
		in, o := insts[i], origin[i]
		if !overwrites(&in) || in.Dst == in.Src[0] {
			add(in, o)
			continue
		}
		d := in.Dst
		switch {
		case in.Src[1] != d && in.Src[2] != d:
			add(moveInst(d, in.Src[0], in.Size), Moved)
			in.Src[0] = d
			add(in, o)
		case in.Src[1] == d && in.Src[2] == 0 && commutes(in.Op):
			in.Src[0], in.Src[1] = d, in.Src[0]
			add(in, o)
		default:
			add(moveInst(temp, in.Src[0], in.Size), Moved)
			in.Src[0], in.Dst = temp, temp
			add(in, o)
			add(moveInst(d, temp, in.Size), Moved)
		}
	}
	return out, from
}
