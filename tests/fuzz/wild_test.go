//go:build linux && amd64 && cgo

package fuzz

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule/fuse"
	run "polygrad/exec"
	"polygrad/exec/beam"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/native"
	"polygrad/exec/native/code"
	"polygrad/render/x64"
)

var turn = flag.Uint64("turn", 0, "which machines and layouts the random ones are")

// wild is native code for machines that do not exist: with caches of any size, so that programs of a test are packed and
// cut into tiles as large ones are elsewhere, and kernels that are laid out in any way that is possible. What is
// random about a kernel depends on the kernel alone.
type wild struct {
	device.Host
	level    string
	features x64.Features
	target   *lower.Target
}

func (w *wild) Name() string          { return "wild " + w.level }
func (w *wild) Target() *lower.Target { return w.target }

// Fusion merges whatever can be.
func (w *wild) Fusion() fuse.Options { return merging{}.Fusion() }

// machine is a random one with the instructions of this processor.
func (w *wild) machine(r *rand.Rand) ir.Machine {
	m := map[string]ir.Machine{"avx512": ir.AVX512, "avx2": ir.AVX2, "sse4": ir.SSE4}[w.level]
	m.L1 = 512 << r.IntN(7)
	m.L2 = m.L1 << r.IntN(5)
	m.L3 = m.L2 << r.IntN(4)
	m.Threads = 1 + r.IntN(3)
	if r.IntN(4) == 0 {
		m.Stream = 64
	}
	m.DotBF16 = (w.features.AMX || w.features.BF16) && r.IntN(2) == 0
	m.DotI8 = (w.features.AMX || w.features.VNNI) && r.IntN(2) == 0
	m.DotMixed = !w.features.AMX
	return m
}

// Compile lays each kernel out in a way that is some random steps away from that of the heuristics.
func (w *wild) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out := make([]device.Kernel, len(progs))
	for i, p := range progs {
		h := fnv.New64a()
		fmt.Fprint(h, beam.Key(p.Linear), *turn)
		r := rand.New(rand.NewPCG(h.Sum64(), 0))
		m := w.machine(r)
		choice := plan.Choice("")
		for range r.IntN(4) {
			_, l, err := nest.CompileAs(p.Name, p.Linear, m, choice)
			if err != nil {
				return nil, err
			}
			if near := l.Neighbours(m); len(near) > 0 {
				choice = near[r.IntN(len(near))]
			}
		}
		k := &wildKernel{}
		var err error
		if k.fast, err = w.load(p, m, choice, r.IntN(2) == 0); err != nil {
			return nil, fmt.Errorf("%s on %+v as %q: %w", p.Name, m, choice, err)
		}
		if k.params = k.fast.params; m.Stream > 0 {
			m.Stream = 0
			if k.plain, err = w.load(p, m, choice, false); err != nil {
				return nil, fmt.Errorf("%s on %+v as %q: %w", p.Name, m, choice, err)
			}
		}
		out[i] = k
	}
	return out, nil
}

// loaded is code with what its buffers have to be.
type loaded struct {
	*code.Kernel
	params []ir.Param
}

// load makes code, for several threads if there is said to be much work.
func (w *wild) load(p *lower.Program, m ir.Machine, c plan.Choice, much bool) (*loaded, error) {
	k, _, err := nest.CompileAs(p.Name, p.Linear, m, c)
	if err != nil {
		return nil, err
	}
	text, err := x64.Render(k, w.features)
	if err != nil {
		return nil, err
	}
	s := code.Spec{Name: text.Name, Text: text.Text, Buffers: text.Buffers, Vars: text.Vars, Items: text.Items, Frame: text.Frame, Scratch: text.Scratch}
	if much {
		s.Flops = 1e9
	}
	kernels, err := code.Load([]code.Spec{s})
	if err != nil {
		return nil, err
	}
	return &loaded{kernels[0], k.Params}, nil
}

// wildKernel has code for aligned buffers, and for others if that differs.
type wildKernel struct {
	fast, plain *loaded
	params      []ir.Param
}

// Run runs the kernel.
func (k *wildKernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	for i, p := range k.params {
		if k.plain != nil && p.Aligned && uintptr(bufs[i])%64 != 0 {
			return k.plain.Run(bufs, vars)
		}
	}
	return k.fast.Run(bufs, vars)
}

// wilds are the interpreter and random machines of each kind that this processor can be, or that POLY_CPU names.
func wilds(t *testing.T) []*run.Executor {
	out := []*run.Executor{run.New(interp.New())}
	levels := []string{"avx512", "avx2", "sse4"}
	if one := os.Getenv("POLY_CPU"); one != "" {
		levels = []string{one}
	}
	for _, level := range levels {
		t.Setenv("POLY_CPU", level)
		if f, ok, _ := native.Features(); ok && f.Level() == level && code.Open() == nil {
			out = append(out, run.New(&wild{level: level, features: f, target: lower.Native()}))
		}
	}
	if len(out) == 1 {
		t.Skip("no native code here")
	}
	return out
}

// TestFuzzLayouts compares kernels that are laid out at random for random machines.
func TestFuzzLayouts(t *testing.T) {
	devs := wilds(t)
	checkAll(t, devs, Generate, *seeds)
	checkRows(t, devs, rows)
}
