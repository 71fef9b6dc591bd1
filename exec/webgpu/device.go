package webgpu

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest/ir"
	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// object is something of a driver, 0 for none.
type object uintptr

// use is what a buffer of a driver is for.
type use int

const (
	storage  use = iota
	uniform      // variables of kernels
	readback     // memory that the host reads
)

// binding is a part of a buffer that a kernel is given.
type binding struct {
	buffer       object
	offset, size int64
}

// driver is an implementation of WebGPU: a library, or what the page has. Its lists are recorded by one goroutine each.
type driver interface {
	allocate(bytes int64, u use) (object, error)
	free(buffer object)
	// write copies to a buffer, before all that is submitted later. The sizes are multiples of 4.
	write(to object, offset int64, from []byte)
	// compile makes a pipeline of a shader with so many buffers, and one of variables if uniform is set.
	compile(source string, buffers int, uniform bool) (object, error)
	drop(pipeline object)
	begin() (list object)
	launch(list, pipeline object, bindings []binding, x, y int64)
	copy(list, to object, toOffset int64, from object, fromOffset, bytes int64)
	submit(list object)
	// wait waits for all that was submitted; its error is the first since the last call.
	wait() error
	// read waits, and copies from the beginnings of a buffer that is for it to the host, part by part.
	read(buffer object, parts [][]byte, offsets []int64) error
}

// limits are those of an adapter.
type limits struct {
	name, kind           string
	buffers, dispatch    int64
	allocation, bindable int64 // bytes
	alignment            int64
}

// Device is the device "webgpu".
type Device struct {
	driver
	limits  limits
	target  *lower.Target
	machine ir.Machine
	// compiling is held while a pipeline is made, so an error is that of its shader.
	compiling sync.Mutex
	copies    object // the pipeline that copies parts of one buffer, 0 before its first use
}

// alignment is that of the parts of buffers, for all adapters.
const alignment = 256

func newDevice(d driver, l limits) (*Device, error) {
	if l.alignment > alignment {
		return nil, fmt.Errorf("webgpu.New: adapter %s binds buffers at multiples of %d bytes, expected at most %d", l.name, l.alignment, alignment)
	}
	return &Device{driver: d, limits: l, target: lower.WebGPU(), machine: ir.WebGPU}, nil
}

// Name is "webgpu".
func (d *Device) Name() string { return "webgpu" }

// Adapter is the name of the GPU, and what kind it is: discrete, integrated, cpu, unknown.
func (d *Device) Adapter() (name, kind string) { return d.limits.name, d.limits.kind }

// Target is that of GPUs.
func (d *Device) Target() *lower.Target { return d.target }

// Limits are memory of its own, the adapter's number of buffers, and float64 on the host.
func (d *Device) Limits() device.Limits {
	return device.Limits{Buffers: int(d.limits.buffers), Elsewhere: true}
}

// List is the shader of a kernel.
func (d *Device) List(p *lower.Program) (language, code string, err error) {
	s, err := Shader(p, d.machine)
	if err != nil {
		return "", "", err
	}
	return "WGSL", s.Source, nil
}

// kernel is a shader as a pipeline.
type kernel struct {
	*wgsl.Kernel
	pipeline object
	x, y     int64 // workgroups
}

// Compile makes pipelines.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out, errs := make([]device.Kernel, len(progs)), make([]error, len(progs))
	device.Each(len(progs), func(i int) { out[i], errs[i] = d.compileOne(progs[i]) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d *Device) compileOne(p *lower.Program) (*kernel, error) {
	s, err := Shader(p, d.machine)
	if err != nil {
		return nil, err
	}
	k := &kernel{Kernel: s}
	if k.x, k.y = d.folded(s.Groups); k.y > d.limits.dispatch {
		return nil, fmt.Errorf("webgpu.Compile: kernel %s has %d workgroups, expected at most %d", s.Name, s.Groups, d.limits.dispatch*d.limits.dispatch)
	}
	d.compiling.Lock()
	defer d.compiling.Unlock()
	if k.pipeline, err = d.compile(s.Source, len(s.Params), s.Uniforms() > 0); err != nil {
		return nil, fmt.Errorf("webgpu.Compile: kernel %s: %w", s.Name, err)
	}
	runtime.AddCleanup(k, d.drop, k.pipeline)
	return k, nil
}

// folded are so many workgroups in two dimensions: one is limited.
func (d *Device) folded(groups int64) (x, y int64) {
	x = min(groups, d.limits.dispatch)
	return x, (groups + x - 1) / x
}

// copier is the pipeline that copies parts of one buffer.
func (d *Device) copier() (object, error) {
	d.compiling.Lock()
	defer d.compiling.Unlock()
	if d.copies == 0 {
		p, err := d.compile(wgsl.Copy, 2, false)
		if err != nil {
			return 0, fmt.Errorf("webgpu: copies within a buffer: %w", err)
		}
		d.copies = p
	}
	return d.copies, nil
}

// memory is what a Buffer points to: a buffer of the driver from an offset on, and the bytes from there to its end.
type memory struct {
	buffer       object
	offset, left int64
}

func memoryOf(b device.Buffer) *memory { return (*memory)(b.Pointer()) }

// Allocate makes a buffer.
func (d *Device) Allocate(bytes int64) (device.Buffer, error) {
	bytes = (max(bytes, 1) + alignment - 1) &^ (alignment - 1)
	if bytes > d.limits.allocation {
		return device.Buffer{}, fmt.Errorf("webgpu.Allocate: got %d bytes, expected at most %d, the limit of adapter %s", bytes, d.limits.allocation, d.limits.name)
	}
	b, err := d.allocate(bytes, storage)
	if err != nil {
		return device.Buffer{}, fmt.Errorf("webgpu.Allocate: %d bytes: %w", bytes, err)
	}
	return device.At(unsafe.Pointer(&memory{buffer: b, left: bytes})), nil
}

// Free frees a buffer.
func (d *Device) Free(b device.Buffer, _ int64) error {
	d.free(memoryOf(b).buffer)
	return nil
}

// Part is the same buffer from an offset on.
func (d *Device) Part(b device.Buffer, offset int64) device.Buffer {
	m := *memoryOf(b)
	m.offset, m.left = m.offset+offset, m.left-offset
	return device.At(unsafe.Pointer(&m))
}
