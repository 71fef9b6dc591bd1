//go:build linux && amd64 && cgo

package native

import (
	"fmt"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"

	"polygrad/core/settings"
	"polygrad/render/x64"
)

// levels are the values of POLY_CPU, the most capable first: the required features of the processor, and the features for
// generated code.
var levels = []struct {
	name  string
	needs []cpuid.FeatureID
	mask  x64.Features
}{
	{"avx512", []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI1, cpuid.BMI2},
		x64.Features{AVX512: true, AVX2: true, FP16: true, BF16: true, VNNI: true, AMX: true}},
	{"avx2", []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI1, cpuid.BMI2}, x64.Features{AVX2: true}},
	{"sse4", []cpuid.FeatureID{cpuid.SSE42, cpuid.POPCNT}, x64.Features{}},
	{"wasm", nil, x64.Features{}},
}

// Features are this processor's features for generated code: all of them, or those of the level in POLY_CPU. If the processor
// lacks that level the next one counts, and notice says so. ok is false where native code is not wanted or not possible:
// kernels are WebAssembly then.
func Features() (f x64.Features, ok bool, notice string) {
	return features(settings.CPU.Get(), has)
}

func has(id cpuid.FeatureID) bool { return cpuid.CPU.Supports(id) }

func features(wanted string, has func(cpuid.FeatureID) bool) (f x64.Features, ok bool, notice string) {
	first := 0
	for wanted != "" && levels[first].name != wanted {
		first++
	}
	for i, l := range levels[first:] {
		if !all(l.needs, has) {
			continue
		}
		if wanted != "" && i > 0 {
			notice = fmt.Sprintf("POLY_CPU=%s: this processor does not have that, using %s", wanted, l.name)
		}
		if l.name == "wasm" {
			return f, false, notice
		}
		m := l.mask
		return x64.Features{
			AVX512: m.AVX512, AVX2: m.AVX2,
			FP16: m.FP16 && has(cpuid.AVX512FP16),
			BF16: m.BF16 && has(cpuid.AVX512BF16),
			VNNI: m.VNNI && has(cpuid.AVX512VNNI),
			AMX:  m.AMX && has(cpuid.AMXTILE) && has(cpuid.AMXBF16) && has(cpuid.AMXINT8) && tiles(),
		}, true, notice
	}
	panic("native.Features: the last level needs nothing")
}

func all(ids []cpuid.FeatureID, has func(cpuid.FeatureID) bool) bool {
	for _, id := range ids {
		if !has(id) {
			return false
		}
	}
	return true
}

// tiles requests permission for the AMX registers: the system does not save them by default.
func tiles() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM
	_, _, errno := unix.Syscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
