package polygrad

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"polygrad/exec"
	"polygrad/variable"
)

// A Context owns tensors, a random stream, the training and gradient modes, and a device. Tensors of different contexts cannot be
// combined. Any goroutine may use a context; its calls are serialized. The functions of the package use the context Default.
type Context struct {
	mu     sync.Mutex
	vars   *variable.Context
	device string

	garbageMu sync.Mutex
	garbage   []dropper // of collected tensors, not dropped yet
}

// NewContext returns a context that runs kernels on a device: "native" (machine code), "wasm", "webgpu", "clang", "interp", or "" for the device
// that the environment variable POLY_DEVICE names. Without that variable "" is "native", or "wasm" where the processor or the build has
// no native code. "cpu" is the same, unless the variable names a GPU. A device that is unknown or not available is an error. Tensors may be put
// on other devices: see Tensor.To.
func NewContext(device string) (*Context, error) {
	e, err := executorOf(device)
	if err != nil {
		return nil, wrapError("NewContext", fmt.Errorf("device: %w", err))
	}
	return &Context{device: exec.Named(device), vars: variable.NewContext(exec.NewGraph(), func(device string) (*exec.Executor, error) {
		if device == "" {
			return e, nil
		}
		return executorOf(device)
	})}, nil
}

// Default returns the context of the package's functions, on the device of POLY_DEVICE. It panics if that is not available.
var Default = sync.OnceValue(func() *Context {
	c, err := NewContext("")
	if err != nil {
		panic(err) // the device that the environment asks for
	}
	return c
})

// ErrInterrupted is the error of a computation that the function given to SetPoll has ended.
var ErrInterrupted = exec.ErrInterrupted

// SetPoll sets a function that is called every few milliseconds during a computation, between kernels and within long loops. If it returns true, the
// computation ends with ErrInterrupted. A nil function removes it. To let a context.Context cancel computations, use SetPoll(func() bool { return
// ctx.Err() != nil }). The function must not use tensors.
func SetPoll(stop func() bool) { exec.SetPoll(stop) }

// executors are shared by contexts: a kernel is compiled once.
var executors sync.Map

func executorOf(device string) (*exec.Executor, error) {
	device = exec.Named(device)
	if e, ok := executors.Load(device); ok {
		return e.(*exec.Executor), nil
	}
	e, err := exec.Open(device)
	if err != nil {
		return nil, err
	}
	kept, _ := executors.LoadOrStore(device, e)
	return kept.(*exec.Executor), nil
}

// lock begins a call.
func (c *Context) lock() {
	c.mu.Lock()
	collected := collectGarbage()
	c.dropGarbage()
	if collected {
		afterGC.Store(variable.InUse())
	}
	if g := c.vars.Graph; g.Crowded() {
		g.Sweep(c.vars.Roots)
	}
}

func (c *Context) unlock() { c.mu.Unlock() }

// tensor makes the tensor of a variable, which is dropped when the tensor has been garbage collected.
func (c *Context) tensor(v *variable.Variable) *Tensor {
	t := &Tensor{c: c, v: v}
	runtime.AddCleanup(t, c.dropLater, dropper(v))
	return t
}

// A dropper is what a tensor or another object leaves behind when it has been garbage collected.
type dropper interface{ Drop() }

// dropLater records what a collected object leaves behind. The next call on the context drops it, or a timer if there is no such call.
func (c *Context) dropLater(v dropper) {
	c.garbageMu.Lock()
	defer c.garbageMu.Unlock()
	if c.garbage = append(c.garbage, v); len(c.garbage) == 1 {
		time.AfterFunc(maxDropDelay, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.dropGarbage()
		})
	}
}

// maxDropDelay is how long the variable of a collected tensor may wait to be dropped.
const maxDropDelay = 20 * time.Millisecond

// dropGarbage drops the variables of collected tensors.
func (c *Context) dropGarbage() {
	c.garbageMu.Lock()
	garbage := c.garbage
	c.garbage = nil
	c.garbageMu.Unlock()
	for _, v := range garbage {
		v.Drop()
	}
}

// SetTraining sets training mode, in which Dropout drops elements and batch normalisation uses and updates batch statistics, and returns
// the mode before the call.
func (c *Context) SetTraining(on bool) (before bool) {
	c.lock()
	defer c.unlock()
	before, c.vars.Training = c.vars.Training, on
	return before
}

// Training reports whether training mode is on.
func (c *Context) Training() bool {
	c.lock()
	defer c.unlock()
	return c.vars.Training
}

// NoGrad calls f and returns its error. Until f returns, results of operations in the context, by any goroutine, do not require
// gradients.
func (c *Context) NoGrad(f func() error) error {
	if f == nil {
		return errors.New("polygrad: NoGrad: the function is nil")
	}
	set := func(on bool) {
		c.lock()
		defer c.unlock()
		c.vars.NoGrad(on)
	}
	set(true)
	defer set(false)
	return f()
}

// Seed restarts the random stream of the context. Equal seeds give equal numbers on every device, in every language and in tinygrad.
func (c *Context) Seed(seed uint64) {
	c.lock()
	defer c.unlock()
	c.vars.Stream.Seed(seed)
}
