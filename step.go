package polygrad

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"polygrad/variable"
)

// A Step is a function of tensors that was compiled into one program, including its backward pass and optimizer updates. See Compile.
type Step struct {
	c *Context
	s *variable.Step
}

// Compile traces a function by calling it once on placeholders with the shapes and types of args, and compiles what it did.
//
//   - The function may compute, write tensors, and call Backward and an optimizer's Step. It must not read elements (Values, Item).
//   - Tensors from outside are read and written at each run. Go values and the branches that were taken are constants.
//   - Random numbers are drawn at each run, none during the trace.
//   - A run leaves the gradients that the function leaves. Exception: gradients that begin at ZeroGrad in the function and are used by an
//     optimizer in it are temporaries, and the run leaves none.
//
// No other goroutine may use the context during the trace. An error of the function, or of a result, is an error of Compile; it then has
// no effect.
func Compile(f func(args ...*Tensor) ([]*Tensor, error), args ...*Tensor) (*Step, error) {
	c := Default()
	if len(args) > 0 && args[0].Err() == nil {
		c = args[0].c
	}
	s, err := c.compile(f, args)
	return s, wrapError("Compile", err)
}

func (c *Context) compile(f func(args ...*Tensor) ([]*Tensor, error), args []*Tensor) (*Step, error) {
	if f == nil {
		return nil, errors.New("f: is nil, expected a function")
	}
	vs, err := variables(args)
	if err != nil {
		return nil, err
	}
	c.lock()
	defer func() { c.unlock() }()
	t, placeholders, err := c.vars.Trace("Compile", vs)
	if err != nil {
		return nil, err
	}
	ended := false
	defer func() {
		if !ended { // f has failed, or panicked
			t.Abandon()
		}
	}()
	vs, keep, err := c.call(f, placeholders)
	if err != nil {
		return nil, err
	}
	ended = true
	s, err := t.Compile(vs)
	runtime.KeepAlive(keep)
	if err != nil {
		return nil, err
	}
	made := &Step{c, s}
	runtime.AddCleanup(made, func(keep []*variable.Variable) {
		for _, v := range keep {
			c.dropLater(v)
		}
	}, s.Retained())
	return made, nil
}

// Run runs the program on arguments with the shapes and types of those that it was compiled for, and returns the results of the function.
func (s *Step) Run(args ...*Tensor) ([]*Tensor, error) {
	out, err := s.run(args)
	return out, wrapError("Step.Run", err)
}

func (s *Step) run(args []*Tensor) ([]*Tensor, error) {
	if s == nil || s.s == nil {
		return nil, errors.New("the step is nil or empty: see Compile")
	}
	vs, err := variables(args)
	if err != nil {
		return nil, err
	}
	s.c.lock()
	defer s.c.unlock()
	made, err := s.s.Run(vs, nil)
	if err != nil {
		return nil, err
	}
	out := make([]*Tensor, len(made))
	for i, v := range made {
		if k := slices.Index(vs, v); k >= 0 { // an argument itself
			v.Drop()
			out[i] = args[k]
			continue
		}
		out[i] = s.c.tensor(v)
	}
	return out, nil
}

// Kernels returns the number of kernels that a run executes.
func (s *Step) Kernels() int {
	if s == nil || s.s == nil {
		return 0
	}
	return s.s.Kernels()
}

// Memory returns how many bytes of intermediate results a run needs at once.
func (s *Step) Memory() int64 {
	if s == nil || s.s == nil {
		return 0
	}
	return s.s.Memory()
}

// Jit returns a compiled version of f: its first call calls f, its second call compiles f (see Compile), and all calls from the second on
// run the program, with arguments of the shapes and types of the second call. Jit of package tree compiles for each kind of arguments.
func Jit(f func(args ...*Tensor) ([]*Tensor, error)) func(args ...*Tensor) ([]*Tensor, error) {
	if f == nil {
		err := errors.New("polygrad: Jit: f: is nil, expected a function")
		return func(...*Tensor) ([]*Tensor, error) { return nil, err }
	}
	var mu sync.Mutex
	var step *Step
	calls := 0
	return func(args ...*Tensor) ([]*Tensor, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 1 {
			out, err := f(args...)
			if err == nil {
				err = Realize(out...)
			}
			return out, err
		}
		if step == nil {
			var err error
			if step, err = Compile(f, args...); err != nil {
				return nil, err
			}
		}
		return step.Run(args...)
	}
}
