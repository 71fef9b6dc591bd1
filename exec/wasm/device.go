// Package wasm runs kernels that were rendered to WebAssembly on the caller's memory: with wazero's compiler, or, where the library is itself
// WebAssembly, with the engine that runs it.
package wasm

import (
	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/exec/device"
	render "polygrad/render/wasm"
	"polygrad/render/wasm/binary"
)

// Device is the device "wasm", the default one: kernels are WebAssembly with SIMD, compiled to machine code in this process. It needs
// nothing installed and runs wherever Go does.
type Device struct {
	device.Host
	target  *lower.Target
	machine ir.Machine
	options render.Options
}

// New makes the device. With POLY_CHECK=1 in the environment its kernels check
// the bounds of every access.
func New() *Device {
	m, options := compiler()
	device.Caches(&m)
	m.Threads = threads()
	options.Check = settings.Check.On()
	return &Device{target: lower.Native(), machine: m, options: options}
}

// Name is "wasm".
func (d *Device) Name() string { return "wasm" }

// Target is the target that lists are lowered for.
func (d *Device) Target() *lower.Target { return d.target }

// Fusion returns the limits of fusion.
func (d *Device) Fusion() fuse.Options {
	return device.FusionFor(&d.machine, d.Target())
}

// Compile lays kernels out, renders them and compiles them as one module.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	return device.CompileByRows(progs, d.compile)
}

func (d *Device) compile(progs []*lower.Program) ([]device.Kernel, error) {
	rendered, errs := make([]*render.Kernel, len(progs)), make([]error, len(progs))
	device.Each(len(progs), func(i int) { rendered[i], errs[i] = d.render(progs[i]) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	kernels, err := Compile(d.machine.Threads, rendered...)
	if err != nil {
		return nil, err
	}
	out := make([]device.Kernel, len(kernels))
	for i, k := range kernels {
		out[i] = k
	}
	return out, nil
}

func (d *Device) render(p *lower.Program) (*render.Kernel, error) {
	k, err := nest.Compile(p.Name, p.Linear, d.machine)
	if err != nil {
		return nil, err
	}
	return render.Render(k, d.options)
}

// List writes a kernel as a module in the text format of WebAssembly.
func (d *Device) List(p *lower.Program) (language, code string, err error) {
	k, err := d.render(p)
	if err != nil {
		return "", "", err
	}
	code, err = binary.Text(encode(k))
	return "WebAssembly", code, err
}
