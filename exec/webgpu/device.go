package webgpu

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"polygrad/core/lower"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule/fuse"
	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// object is something of a driver, 0 for none.
type object uintptr

// shader is a shader with so many buffers, and one of variables if uniform is set.
type shader struct {
	source  string
	buffers int
	uniform bool
}

// use is the usage of a buffer of a driver.
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
	// lend is the handle by which a program knows a buffer; adopt makes an object of a program's buffer of so many bytes, and forget gives such an
	// object up: the program may go on using the buffer. usable is an error if it cannot be submitted any more.
	lend(buffer object) uintptr
	adopt(buffer uintptr, bytes int64) (object, error)
	forget(buffer object)
	usable(buffer object) error
	// write copies to a buffer, before all that is submitted later. The sizes are multiples of 4.
	write(to object, offset int64, from []byte)
	compile(s shader) (object, error)
	drop(pipeline object)
	// group binds parts of buffers to the arguments of a pipeline: its buffers, and then that of its variables.
	group(pipeline object, bindings []binding) object
	ungroup(group object)
	// begin begins a list; the launches of a timed one are measured if the device has a clock.
	begin(timed bool) (list object)
	launch(list, pipeline, group object, x, y int64)
	copy(list, to object, toOffset int64, from object, fromOffset, bytes int64)
	// submit submits a list. If it is timed, took tells how long its launches take, and waits for them.
	submit(list object) (timed bool)
	took() (time.Duration, bool)
	// wait waits for all that was submitted; its error is the first since the last call.
	wait() error
	// read waits for all that was submitted, and copies parts of a buffer for reading, from their offsets on, to the host.
	read(buffer object, parts [][]byte, offsets []int64) error
	// lost reports whether the device is gone. What was made on it is of no use then, but can be freed; nothing waits.
	lost() bool
	// lose gives the device up, as if it had been lost.
	lose()
	// isGiven reports whether the device is this one of the program, or for 0 one of the library's choice.
	isGiven(device uintptr) bool
}

// limits are the limits of an adapter.
type limits struct {
	name, kind, driver   string // driver identifies it with its version
	buffers, dispatch    int64
	allocation, bindable int64 // bytes
	alignment            int64
	// invocations and shared are the limits of a workgroup: its invocations, and the bytes that they share.
	invocations, shared int64
	// Optional features that shaders may use.
	f16, subgroups bool
}

// Workgroups are not made larger than this, even if the adapter permits it: a larger one keeps others waiting for the memory of its processor.
const mostInvocations, mostShared = 256, 32 << 10

// llvmpipeIterations is the number of iterations, over all loops of an invocation, after which llvmpipe ends each of these loops, without an error.
const llvmpipeIterations = 65535

// Device is the device "webgpu". If its adapter is lost, another one is opened at the next use: programs go on, memory has no contents.
type Device struct {
	target *lower.Target
	open   func() (driver, limits, error)

	mu     sync.Mutex
	opened *adapter
	counts counts
}

// adapter is a driver with what was made on it.
type adapter struct {
	driver
	limits limits
	// machine is what kernels are laid out for.
	machine ir.Machine
	// tuner finds layouts of kernels by timing them.
	tuner interface {
		Choice(p *lower.Program) plan.Choice
	}
	// number counts the adapters of the device.
	number int64
	counts *counts
	pool   pool
	ahead  atomic.Int64 // lists submitted since the host waited
	// compiling is read-locked while a pipeline is made, and locked by one that is made again after an error, so that the error is that of its own
	// shader.
	compiling sync.RWMutex
	copying   sync.Mutex
	halves    halvesKnown
	copies    *pipeline // copies parts of one buffer, nil before its first use
}

// alignment is the alignment of the parts of buffers, for all adapters.
const alignment = 256

func newDevice(open func() (driver, limits, error)) (*Device, error) {
	d := &Device{target: lower.WebGPU(), open: open}
	_, err := d.adapter()
	return d, err
}

// For lays kernels out for a kind of adapter (see Adapter) with the limits of this one from now on, until another one is opened.
func (d *Device) For(kind string) {
	a := d.last()
	a.machine = machineOf(&a.limits, kind)
	a.tune(d)
}

// machineOf is a kind of adapter with some limits. A processor that stands for a GPU needs few workgroups, and has no memory that is faster than
// its caches.
func machineOf(l *limits, kind string) ir.Machine {
	m := ir.WebGPU
	m.Group, m.Shared, m.Subgroups = min(l.invocations, mostInvocations), min(l.shared, mostShared), l.subgroups
	if strings.Contains(l.name, "llvmpipe") {
		m.Iterations = llvmpipeIterations
	}
	switch kind {
	case "cpu":
		m.Workgroups, m.Shared = 4, 0
	case "small": // few workgroups fill it: kernels of few elements are laid out as those of many
		m.Workgroups = 1
	}
	return m
}

// adapter is the adapter in use: another one if the last was lost.
func (d *Device) adapter() (*adapter, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.opened; a != nil && !a.lost() {
		return a, nil
	}
	return d.another()
}

// another opens an adapter. The device is locked.
func (d *Device) another() (*adapter, error) {
	r, l, err := d.open()
	if err != nil {
		return nil, err
	}
	if l.alignment > alignment {
		return nil, fmt.Errorf("webgpu.New: adapter %s binds buffers at multiples of %d bytes, expected at most %d", l.name, l.alignment, alignment)
	}
	a := &adapter{driver: r, limits: l, machine: machineOf(&l, l.kind), counts: &d.counts, pool: newPool()}
	if d.opened != nil {
		a.number = d.opened.number + 1
	}
	a.tune(d)
	d.opened = a
	return a, nil
}

// last is the adapter that was opened last.
func (d *Device) last() *adapter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

// Name is "webgpu".
func (d *Device) Name() string { return "webgpu" }

// Adapter is the name of the GPU, and what kind it is: discrete, integrated, cpu, unknown.
func (d *Device) Adapter() (name, kind string) {
	l := &d.last().limits
	return l.name, l.kind
}

// Lose gives the adapter up, as if it had been lost.
func (d *Device) Lose() { d.last().lose() }

// Generation is the number of adapters that were lost: memory has its contents while it stays the same.
func (d *Device) Generation() int64 {
	a := d.last()
	if a.lost() {
		return a.number + 1
	}
	return a.number
}

// Target is the lowering target of GPUs.
func (d *Device) Target() *lower.Target { return d.target }

// Limits are memory of its own, the adapter's number of buffers, and float64 on the host.
func (d *Device) Limits() device.Limits {
	return device.Limits{Buffers: int(d.last().limits.buffers), HostFallback: true}
}

// Fusion are the limits of fusion.
func (d *Device) Fusion() fuse.Options {
	return device.FusionFor(&d.last().machine, d.Target())
}

// List is the shader of a kernel.
func (d *Device) List(p *lower.Program) (language, code string, err error) {
	a := d.last()
	s, err := Shader(p, a.machineFor(p), a.choice(p))
	if err != nil {
		return "", "", err
	}
	return "WGSL", s.Source, nil
}

// kernel is a shader.
type kernel struct {
	*wgsl.Kernel
	machine ir.Machine
	// program is the source that the shader is made of again for an adapter that cannot run it, nil if all can.
	program *lower.Program
	mu      sync.Mutex
	made    *pipeline // on the adapter that ran the kernel last
}

// Compile writes shaders and makes pipelines.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	a, err := d.adapter()
	if err != nil {
		return nil, err
	}
	// Kernels that are timed are timed one after the other.
	choices := make([]plan.Choice, len(progs))
	for i, p := range progs {
		choices[i] = a.choice(p)
	}
	out, errs := make([]device.Kernel, len(progs)), make([]error, len(progs))
	device.Each(len(progs), func(i int) {
		m := a.machineFor(progs[i])
		s, err := Shader(progs[i], m, choices[i])
		if err == nil {
			k := &kernel{Kernel: s, machine: m}
			if !s.Portable() {
				k.program = progs[i]
			}
			_, err = k.on(a)
			out[i] = k
		}
		errs[i] = err
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choice is the layout of a kernel that the tuner found, or else that of the heuristics.
func (a *adapter) choice(p *lower.Program) plan.Choice {
	if a.tuner == nil {
		return ""
	}
	return a.tuner.Choice(p)
}

// on is the pipeline of the kernel on an adapter.
func (k *kernel) on(a *adapter) (*pipeline, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made != nil && k.made.a == a {
		return k.made, nil
	}
	s := k.Kernel
	if k.program != nil {
		if m := a.machineFor(k.program); m != k.machine {
			var err error
			if s, err = Shader(k.program, m, ""); err != nil {
				return nil, err
			}
		}
	}
	p, err := a.pipeline(shader{s.Source, len(s.Params), s.Uniforms() > 0})
	if err != nil {
		return nil, fmt.Errorf("webgpu.Compile: kernel %s: %w", k.Name, err)
	}
	if _, y := a.folded(s.Groups); y > a.limits.dispatch {
		return nil, fmt.Errorf("webgpu.Compile: kernel %s has %d workgroups, expected at most %d", k.Name, s.Groups, a.limits.dispatch*a.limits.dispatch)
	}
	p.kernel, k.made = s, p
	return p, nil
}
