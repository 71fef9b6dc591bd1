//go:build linux && amd64 && cgo

package native

import (
	"errors"
	"fmt"
	"os"

	"github.com/klauspost/cpuid/v2"

	"polygrad/core/lower"
	"polygrad/core/lower/nest"
	"polygrad/core/schedule/fuse"
	"polygrad/exec/device"
	"polygrad/exec/native/code"
	"polygrad/render/x64"
)

// Device is the device "native": kernels are machine code of this processor.
type Device struct {
	target   *lower.Target
	machine  nest.Machine
	features x64.Features
}

// New makes the device. The error wraps ErrUnavailable if this machine cannot run native code, or is not to.
func New() (device.Device, error) {
	f, ok, notice, err := Features()
	if err != nil {
		return nil, fmt.Errorf("native.New: %w", err)
	}
	if notice != "" {
		fmt.Fprintln(os.Stderr, "polygrad:", notice)
	}
	if !ok {
		return nil, fmt.Errorf("native.New: %w", ErrUnavailable)
	}
	switch err := code.Open(); {
	case errors.Is(err, code.ErrNoMemory):
		return nil, fmt.Errorf("native.New: %w: %w", ErrUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("native.New: %w", err)
	}
	return &Device{lower.Native(), machine(f), f}, nil
}

// streamFrom is the size of a buffer from which on it is written around the caches.
const streamFrom = 32 << 20

// machine describes this processor to core/lower/nest.
func machine(f x64.Features) nest.Machine {
	m := map[string]nest.Machine{"avx512": nest.AVX512, "avx2": nest.AVX2, "sse4": nest.SSE4}[f.Level()]
	c := cpuid.CPU
	if c.Cache.L1D > 0 {
		m.L1 = int64(c.Cache.L1D)
	}
	if c.Cache.L2 > 0 {
		m.L2 = int64(c.Cache.L2)
	}
	if c.Cache.L3 > 0 {
		// Virtual machines tell the cache of the whole processor and only a few of its cores.
		const mostPerCore = 4 << 20
		m.L3 = min(int64(c.Cache.L3)/int64(max(c.PhysicalCores, 1)), mostPerCore)
	}
	m.L3 = max(m.L3, m.L2)
	m.Stream = streamFrom
	m.Threads = code.Threads()
	return m
}

// Name is "native".
func (d *Device) Name() string { return "native" }

// Target is the target that lists are lowered for.
func (d *Device) Target() *lower.Target { return d.target }

// Reach is 0: buffers may lie anywhere.
func (d *Device) Reach() uintptr { return 0 }

// Fusion bounds what is merged.
func (d *Device) Fusion() fuse.Options { return fuse.For(d.machine.L2, d.machine.Threads) }

// Compile lays kernels out and makes machine code of them, side by side.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	specs, errs := make([]code.Spec, len(progs)), make([]error, len(progs))
	device.Each(len(progs), func(i int) { specs[i], errs[i] = d.render(progs[i]) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	kernels, err := code.Load(specs)
	if err != nil {
		return nil, err
	}
	out := make([]device.Kernel, len(kernels))
	for i, k := range kernels {
		out[i] = k
	}
	return out, nil
}

func (d *Device) render(p *lower.Program) (code.Spec, error) {
	k, err := nest.Compile(p.Name, p.Linear, d.machine)
	if err != nil {
		return code.Spec{}, err
	}
	c, err := x64.Render(k, d.features)
	if err != nil {
		return code.Spec{}, err
	}
	return code.Spec{
		Name: c.Name, Text: c.Text, Buffers: c.Buffers, Vars: c.Vars, Items: c.Items,
		Frame: c.Frame, Scratch: c.Scratch, Flops: c.Flops, Bytes: c.Bytes,
	}, nil
}
