package polygrad

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A Context holds tensors, the random stream that they are drawn from and the modes of a program: tensors of different contexts cannot
// meet. It may be used from any goroutine; its calls run one after another. The functions of the package use a context that it makes.
type Context struct {
	mu       sync.Mutex
	graph    *uop.Graph
	exec     *exec.Executor
	device   string
	values   value // the head of the list of all values
	memory   map[*uop.UOp]*memory
	computed map[*uop.UOp]*value // the leaves with the elements of lazy nodes
	known    rewrite.Map         // their nodes
	stream   tensor.Stream
	training bool
	quiet    int // calls of NoGrad that run: no gradients
	trace    *trace
	binds    []exec.Binding
	now      call
	seed     func(words uint64) (*uop.UOp, error)
	valueOf  func(node *uop.UOp) (uop.Const, error)

	lostMu sync.Mutex
	lost   []*variable // tensors that the collector has found
}

// NewContext makes a context on a device: "native", "wasm", "clang", "interp", or "" for that of the environment variable POLY_DEVICE,
// which is "native" unless it is set and the processor or the build has no native code.
func NewContext(device string) (*Context, error) {
	e, err := executorOf(device)
	if err != nil {
		return nil, fmt.Errorf("polygrad: NewContext: device: %w", err)
	}
	c := &Context{graph: symbolic.NewGraph(), exec: e, device: device, memory: map[*uop.UOp]*memory{}, computed: map[*uop.UOp]*value{}, known: rewrite.Map{}}
	c.now.ctx, c.seed, c.valueOf = c, c.takeSeed, c.value
	c.values.prev, c.values.next = &c.values, &c.values
	if exec.AsTinygrad() {
		c.graph.AsTinygrad()
	}
	return c, nil
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
		afterGC.Store(inUse.Load())
	}
	if c.graph.Crowded() {
		c.graph.Sweep(c.roots)
	}
}

func (c *Context) unlock() { c.mu.Unlock() }

// roots are the nodes that somebody may use again.
func (c *Context) roots(mark func(*uop.UOp)) {
	for v := c.values.next; v != &c.values; v = v.next {
		mark(v.node)
		mark(v.was)
		for _, x := range v.holders {
			for _, w := range x.variables {
				mark(w.base)
				mark(w.view)
			}
		}
	}
	if c.trace != nil {
		c.trace.roots(mark)
	}
}

// newVariable makes a variable on a value.
func (c *Context) newVariable(v *value) *variable {
	x := &cell{}
	if c.trace != nil {
		c.trace.young[x] = true
	}
	w := &variable{ctx: c, cell: x, refs: 1}
	x.variables = []*variable{w}
	x.set(v)
	return w
}

// newView makes a variable that shows the cell of another one.
func (w *variable) newView(node *uop.UOp) *variable {
	shown := &variable{ctx: w.ctx, cell: w.cell, view: node, base: w.cell.value.node, detached: w.detached, refs: 1}
	w.cell.variables = append(w.cell.variables, shown)
	return shown
}

// drop ends a reference to a variable.
func (w *variable) drop() {
	if w.refs--; w.refs > 0 {
		return
	}
	for i, other := range w.cell.variables {
		if other == w {
			last := len(w.cell.variables) - 1
			w.cell.variables[i] = w.cell.variables[last]
			w.cell.variables[last] = nil
			w.cell.variables = w.cell.variables[:last]
			break
		}
	}
	w.show(nil)
	if w.grad != nil {
		w.grad.drop()
		w.grad = nil
	}
	if len(w.cell.variables) == 0 {
		old := w.cell.value
		w.cell.value = nil
		w.cell.let(old)
	}
}

// hand gives a variable to Go: the collector drops it.
func (c *Context) hand(w *variable) *Tensor {
	t := &Tensor{v: w}
	runtime.AddCleanup(t, c.lose, w)
	return t
}

// lose notes a tensor that the collector has found. The next call drops it, or a timer if there is none.
func (c *Context) lose(w *variable) {
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	if c.lost = append(c.lost, w); len(c.lost) == 1 {
		time.AfterFunc(lostAtMost, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.dropLost()
		})
	}
}

// lostAtMost is how long a tensor that the collector has found may wait to be dropped.
const lostAtMost = 20 * time.Millisecond

// dropLost drops the tensors that the collector has found.
func (c *Context) dropLost() {
	c.lostMu.Lock()
	lost := c.lost
	c.lost = nil
	c.lostMu.Unlock()
	for _, v := range lost {
		v.drop()
	}
}

// SetTraining sets whether dropout drops and batch normalisation learns, and returns what was set before.
func (c *Context) SetTraining(on bool) (before bool) {
	c.lock()
	defer c.unlock()
	before, c.training = c.training, on
	return before
}

// Training reports whether training mode is on.
func (c *Context) Training() bool {
	c.lock()
	defer c.unlock()
	return c.training
}

// NoGrad calls f; what is computed from tensors meanwhile, by any goroutine, has no gradients.
func (c *Context) NoGrad(f func() error) error {
	c.lock()
	c.quiet++
	c.unlock()
	defer func() {
		c.lock()
		c.quiet--
		c.unlock()
	}()
	return f()
}

// Seed begins the random stream again. Equal seeds give equal numbers on every device, in every language and in tinygrad.
func (c *Context) Seed(seed uint64) { c.stream.Seed(seed) }

// newBuffer makes the node of a leaf: a buffer of the greatest size of a shape, seen in that shape.
func (c *Context) newBuffer(dt *uop.DType, s uop.Shape) (*uop.UOp, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	return tensor.Beginning(c.graph.NewBuffer(tensor.DeviceName, n, dt), s)
}

// run computes a program of stores and assignments on the memory of the context.
func (c *Context) run(stores []*uop.UOp) error {
	if len(stores) == 0 {
		return nil
	}
	step, err := c.exec.Compile(c.graph.Sink(nil, stores...))
	if err != nil {
		return err
	}
	binds, err := c.bindings(step.Buffers())
	if err != nil {
		return err
	}
	return step.Run(binds, nil)
}

// bindings are the memory of buffers.
func (c *Context) bindings(buffers []*uop.UOp) ([]exec.Binding, error) {
	c.binds = c.binds[:0]
	for _, b := range buffers {
		m := c.memory[b]
		if m == nil {
			return nil, fmt.Errorf("a tensor that it is computed from was overwritten since")
		}
		c.binds = append(c.binds, exec.Binding{Buffer: b, Ptr: m.data, Bytes: int64(m.size)})
	}
	return c.binds, nil
}
