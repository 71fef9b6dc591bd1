//go:build linux && amd64 && cgo

package native

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/klauspost/cpuid/v2"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/exec/beam"
	"polygrad/exec/device"
	"polygrad/exec/native/code"
	"polygrad/render/x64"
	"polygrad/render/x64/pipeline"
)

// Device is the device "native": kernels are machine code of this processor.
type Device struct {
	device.Host
	target   *lower.Target
	machine  ir.Machine
	features x64.Features
	tuner    *beam.Tuner // nil for none
}

// New makes the device. The error wraps ErrUnavailable if this machine cannot run native code, or must not.
func New() (device.Device, error) {
	f, ok, notice := Features()
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
	m := machine(f)
	m.SplitF32 = f.AMX && settings.F32.Get() == "bf16x3"
	d := &Device{target: lower.Native(), machine: m, features: f}
	d.tuner = beam.NewTuner(beam.Device{
		Device: d, Machine: beam.MachineKey(cpuid.CPU.BrandName, m, f), Lay: d.candidate, Patience: time.Second,
		Estimate: func(c *beam.Candidate) time.Duration { return code.Estimate(c.Kernel.Flops, c.Kernel.Bytes) },
	})
	return d, nil
}

// SplitsF32 reports whether products of F32 split each factor into three BF16, for AMX tiles: faster, with an error like that of
// other summation orders.
func (d *Device) SplitsF32() bool { return d.machine.SplitF32 }

// streamFrom is the buffer size from which non-temporal stores are used: there, together with the next kernel that reads the
// buffer, they take as long as cached stores.
const streamFrom = 16 << 20

// machine describes this processor to core/nest/ir.
func machine(f x64.Features) ir.Machine {
	m := map[string]ir.Machine{"avx512": ir.AVX512, "avx2": ir.AVX2, "sse4": ir.SSE4}[f.Level()]
	device.Caches(&m)
	m.Stream = streamFrom
	m.Threads = code.Threads()
	// Intel's processors are slower at vector products of BF16 than of F32, and may be slow at results that are too small.
	amd := cpuid.CPU.IsVendor(cpuid.AMD)
	m.DotBF16 = f.AMX || f.BF16 && amd
	m.ScalesToZero = amd
	m.DotI8, m.DotMixed = f.AMX || f.VNNI, !f.AMX
	return m
}

// Name is "native".
func (d *Device) Name() string { return "native" }

// Target is the target of its lists.
func (d *Device) Target() *lower.Target { return d.target }

// Fusion are the limits of fusion.
func (d *Device) Fusion() fuse.Options {
	o := device.FusionFor(&d.machine, d.Target())
	o.SortsRows = d.features.AVX2
	return o
}

// Compile plans kernels and compiles them to machine code, in parallel.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	return device.CompileByRows(progs, d.compile)
}

func (d *Device) compile(progs []*lower.Program) ([]device.Kernel, error) {
	// Kernels that are timed are timed one after the other.
	choices := make([]plan.Choice, len(progs))
	for i, p := range progs {
		if p.Sort() == nil {
			choices[i] = d.tuner.Choice(p)
		}
	}
	made, errs := make([]made, len(progs)), make([]error, len(progs))
	device.Each(len(progs), func(i int) { made[i], errs[i] = d.render(progs[i], choices[i]) })
	var specs []code.Spec
	for i, m := range made {
		if errs[i] != nil {
			return nil, errs[i]
		}
		specs = append(specs, m.specs...)
	}
	kernels, err := code.Load(specs)
	if err != nil {
		return nil, err
	}
	out := make([]device.Kernel, len(progs))
	for i, m := range made {
		out[i] = kernels[0]
		switch {
		case len(m.specs) > 1 && m.sorting != nil:
			out[i] = m.sorting.NewShared(slices.Clone(kernels[:len(m.specs)]))
		case len(m.specs) > 1:
			out[i] = &streaming{kernels[0], kernels[1], m.aligned}
		}
		kernels = kernels[len(m.specs):]
	}
	return out, nil
}

// candidate lays a kernel out for the tuner.
func (d *Device) candidate(p *lower.Program, c plan.Choice) (*beam.Candidate, error) {
	k, l, err := nest.CompileAs(p.Name, p.Linear, d.machine, c)
	if err != nil {
		return nil, err
	}
	rendered, err := x64.Render(k, d.features)
	if err != nil {
		return nil, err
	}
	return &beam.Candidate{Kernel: k, Code: string(rendered.Text), Near: l.Neighbours(d.machine), Load: func() (device.Kernel, func(), error) {
		kernels, err := code.Load([]code.Spec{spec(rendered)})
		if err != nil {
			return nil, nil, err
		}
		return kernels[0], kernels[0].Close, nil
	}}, nil
}

// made is the code of a kernel. Non-temporal stores need aligned buffers, so a kernel with such stores has code for others, too.
type made struct {
	specs   []code.Spec
	aligned []int // the buffers that have to be aligned
	sorting *code.Sorting
}

func (d *Device) render(p *lower.Program, c plan.Choice) (m made, err error) {
	if s := p.Sort(); s != nil {
		m.sorting = d.sorting(p.Name, s)
		m.specs, err = m.sorting.Specs()
		return m, err
	}
	k, _, err := nest.CompileAs(p.Name, p.Linear, d.machine, c)
	if err != nil {
		return m, err
	}
	for i, q := range k.Params {
		if q.Aligned {
			m.aligned = append(m.aligned, i)
		}
	}
	if err := m.add(k, d.features); err != nil || m.aligned == nil {
		return m, err
	}
	plain := d.machine
	plain.Stream = 0
	if k, _, err = nest.CompileAs(p.Name, p.Linear, plain, c); err != nil {
		return m, err
	}
	return m, m.add(k, d.features)
}

// sorting is the kernel of a SORT.
func (d *Device) sorting(name string, s *lower.Sorting) *code.Sorting {
	out := &code.Sorting{Name: name, Rows: s.Rows, Length: s.Length, Bytes: s.DType.Itemsize(), Vector: 4 * d.machine.Lanes}
	switch {
	case s.DType.IsFloat():
		out.Kind = code.SortFloats
	case !s.DType.IsUnsigned():
		out.Kind = code.SortSigned
	}
	if s.Descending {
		out.Kind |= code.SortDescending
	}
	return out
}

// List is the machine code of a kernel in assembler syntax, with the minimal time of its blocks.
func (d *Device) List(p *lower.Program) (language, code string, err error) {
	if s := p.Sort(); s != nil {
		return "C", fmt.Sprintf("poly_native_sort_%s_%d(args, %d, %d)", d.machine.Name, 8*s.DType.Itemsize(), s.Length, d.sorting(p.Name, s).Kind), nil
	}
	k, _, err := nest.CompileAs(p.Name, p.Linear, d.machine, d.tuner.Choice(p))
	if err != nil {
		return "", "", err
	}
	c, err := x64.Render(k, d.features)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	pipeline.Dump(&b, p.Name, c.Insts)
	return "x86-64", b.String(), nil
}

func (m *made) add(k *ir.Kernel, f x64.Features) error {
	c, err := x64.Render(k, f)
	if err != nil {
		return err
	}
	m.specs = append(m.specs, spec(c))
	return nil
}

// spec is the loadable part of a kernel's code.
func spec(c *x64.Code) code.Spec {
	return code.Spec{
		Name: c.Name, Text: c.Text, Buffers: c.Buffers, Vars: c.Vars, Items: c.Items,
		Frame: c.Frame, Scratch: c.Scratch, Setup: c.Setup, Flops: c.Flops, Bytes: c.Bytes,
	}
}

// streaming is a kernel with code for aligned buffers and for others.
type streaming struct {
	fast, plain *code.Kernel
	aligned     []int
}

// CodeBytes is the size of the code.
func (s *streaming) CodeBytes() int64 { return s.fast.CodeBytes() + s.plain.CodeBytes() }

// Run runs the kernel.
func (s *streaming) Run(bufs []unsafe.Pointer, vars []int64) error {
	for _, i := range s.aligned {
		if uintptr(bufs[i])%64 != 0 {
			return s.plain.Run(bufs, vars)
		}
	}
	return s.fast.Run(bufs, vars)
}
