//go:build linux && amd64 && cgo

package native

import (
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"

	"polygrad/core/settings"
	"polygrad/render/x64"
)

func TestFeatures(t *testing.T) {
	sse4 := []cpuid.FeatureID{cpuid.SSE42, cpuid.POPCNT}
	avx2 := append(slices.Clone(sse4), cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI1, cpuid.BMI2)
	avx512 := append(slices.Clone(avx2), cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI, cpuid.AVX512BF16)
	for _, c := range []struct {
		name, wanted string
		processor    []cpuid.FeatureID
		want         x64.Features
		ok           bool
		notice       string
	}{
		{"the best", "", avx512, x64.Features{AVX512: true, AVX2: true, VNNI: true, BF16: true}, true, ""},
		{"the best asked for", "avx512", avx512, x64.Features{AVX512: true, AVX2: true, VNNI: true, BF16: true}, true, ""},
		{"less asked for", "avx2", avx512, x64.Features{AVX2: true}, true, ""},
		{"least asked for", "sse4", avx512, x64.Features{}, true, ""},
		{"wasm asked for", "wasm", avx512, x64.Features{}, false, ""},
		{"older", "", avx2, x64.Features{AVX2: true}, true, ""},
		{"older than asked for", "avx512", avx2, x64.Features{AVX2: true}, true, "does not have that, using avx2"},
		{"older by two", "avx512", sse4, x64.Features{}, true, "using sse4"},
		{"without AVX-512 BW", "", slices.DeleteFunc(slices.Clone(avx512), func(f cpuid.FeatureID) bool { return f == cpuid.AVX512BW }), x64.Features{AVX2: true}, true, ""},
		{"too old", "", nil, x64.Features{}, false, ""},
		{"too old for what is asked for", "avx2", nil, x64.Features{}, false, "using wasm"},
	} {
		f, ok, notice := features(c.wanted, func(id cpuid.FeatureID) bool { return slices.Contains(c.processor, id) })
		if f != c.want || ok != c.ok || !strings.Contains(notice, c.notice) || (notice == "") != (c.notice == "") {
			t.Errorf("%s: %+v, %v, %q, expected %+v, %v, %q", c.name, f, ok, notice, c.want, c.ok, c.notice)
		}
	}
	var names []string
	for _, l := range levels {
		names = append(names, l.name)
	}
	if values := settings.CPU.Values.(settings.OneOf); !slices.Equal(names, values) {
		t.Errorf("levels are %v, POLY_CPU may be %v", names, values)
	}
}

// TestMachine looks at what core/nest is told: sizes that make sense, and vectors of the level.
func TestMachine(t *testing.T) {
	for lanes, f := range map[int]x64.Features{4: {}, 8: {AVX2: true}, 16: {AVX512: true, AVX2: true}} {
		m := machine(f)
		if m.Lanes != lanes || m.L1 < 8<<10 || m.L2 < m.L1 || m.L3 < m.L2 || m.Threads < 1 {
			t.Errorf("%d lanes: %+v", lanes, m)
		}
	}
}
