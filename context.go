package polygrad

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"polygrad/core/symbolic"
	"polygrad/exec"
	"polygrad/variable"
)

// A Context holds tensors, the random stream that they are drawn from and the modes of a program: tensors of different contexts cannot
// meet. It may be used from any goroutine; its calls run one after another. The functions of the package use a context that it makes.
type Context struct {
	mu   sync.Mutex
	vars *variable.Context

	lostMu sync.Mutex
	lost   []*variable.Variable // of tensors that the collector has found
}

// NewContext makes a context on a device: "native", "wasm", "clang", "interp", or "" for that of the environment variable POLY_DEVICE,
// which is "native" unless it is set and the processor or the build has no native code.
func NewContext(device string) (*Context, error) {
	e, err := executorOf(device)
	if err != nil {
		return nil, fmt.Errorf("polygrad: NewContext: device: %w", err)
	}
	g := symbolic.NewGraph()
	if exec.AsTinygrad() {
		g.AsTinygrad()
	}
	return &Context{vars: variable.NewContext(g, func() (*exec.Executor, error) { return e, nil })}, nil
}

// Default returns the context of the package's functions.
var Default = sync.OnceValue(func() *Context {
	c, err := NewContext("")
	if err != nil {
		panic(err) // the device that the environment asks for
	}
	return c
})

// executors are shared by contexts: a kernel is compiled once.
var executors sync.Map

func executorOf(device string) (*exec.Executor, error) {
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
	c.dropLost()
	if collected {
		afterGC.Store(variable.InUse())
	}
	if g := c.vars.Graph; g.Crowded() {
		g.Sweep(c.vars.Roots)
	}
}

func (c *Context) unlock() { c.mu.Unlock() }

// tensor is the tensor of a variable, which the collector drops.
func (c *Context) tensor(v *variable.Variable) *Tensor {
	t := &Tensor{c: c, v: v}
	runtime.AddCleanup(t, c.lose, v)
	return t
}

// lose notes the variable of a tensor that the collector has found. The next call drops it, or a timer if there is none.
func (c *Context) lose(v *variable.Variable) {
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	if c.lost = append(c.lost, v); len(c.lost) == 1 {
		time.AfterFunc(lostAtMost, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.dropLost()
		})
	}
}

// lostAtMost is how long a variable whose tensor the collector has found may wait to be dropped.
const lostAtMost = 20 * time.Millisecond

// dropLost drops variables whose tensors the collector has found.
func (c *Context) dropLost() {
	c.lostMu.Lock()
	lost := c.lost
	c.lost = nil
	c.lostMu.Unlock()
	for _, v := range lost {
		v.Drop()
	}
}

// SetTraining sets whether dropout drops and batch normalisation learns, and returns what was set before.
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

// NoGrad calls f; what is computed from tensors meanwhile, by any goroutine, has no gradients.
func (c *Context) NoGrad(f func() error) error {
	set := func(on bool) {
		c.lock()
		defer c.unlock()
		c.vars.NoGrad(on)
	}
	set(true)
	defer set(false)
	return f()
}

// Seed begins the random stream again. Equal seeds give equal numbers on every device, in every language and in tinygrad.
func (c *Context) Seed(seed uint64) {
	c.lock()
	defer c.unlock()
	c.vars.Stream.Seed(seed)
}
