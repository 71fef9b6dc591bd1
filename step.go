package polygrad

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"polygrad/variable"
)

// A Step is a function of tensors, compiled into one program: forward and backward passes and the update of an optimizer, as the
// function has them. See Compile.
type Step struct {
	c *Context
	s *variable.Step
}

// Compile traces a function of tensors, by calling it once on tensors like args, and compiles it. The function must not look at values
// (Values, Item), and computes the same for tensors of the same shapes and types: what else it depends on is part of the program. It
// may write tensors and call Backward and an optimizer's Step. Tensors that it uses besides its arguments are read, and written, where
// they are at each run. Random numbers are drawn by runs, not by tracing. A run leaves the gradients that the function would leave, but
// none where they began at ZeroGrad and an optimizer in the function has used them. While the function is traced no other goroutine may
// use its context.
func Compile(f func(args ...*Tensor) ([]*Tensor, error), args ...*Tensor) (*Step, error) {
	c := Default()
	if len(args) > 0 && args[0].Err() == nil {
		c = args[0].c
	}
	s, err := c.compile(f, args)
	return s, told("Compile", err)
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
	t, stand, err := c.vars.Trace("Compile", vs)
	if err != nil {
		return nil, err
	}
	given := make([]*Tensor, len(args))
	for i, v := range stand {
		given[i] = c.tensor(v)
	}
	ended := false
	defer func() {
		if !ended { // f has failed, or panicked
			t.Abandon()
		}
	}()
	var results []*Tensor
	func() {
		c.unlock()
		defer c.lock()
		results, err = f(given...)
	}()
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if err := r.Err(); err != nil {
			return nil, err
		}
		if r.c != c {
			return nil, fmt.Errorf("result %d: %w", i, variable.ErrForeign)
		}
	}
	if vs, err = variables(results); err != nil {
		return nil, err
	}
	ended = true
	s, err := t.Compile(vs)
	runtime.KeepAlive(given)
	runtime.KeepAlive(results)
	if err != nil {
		return nil, err
	}
	made := &Step{c, s}
	runtime.AddCleanup(made, func(keep []*variable.Variable) {
		for _, v := range keep {
			c.lose(v)
		}
	}, s.Kept())
	return made, nil
}

// Run runs the program on arguments with the shapes and types of those that it was compiled for.
func (s *Step) Run(args ...*Tensor) ([]*Tensor, error) {
	out, err := s.run(args)
	return out, told("Step.Run", err)
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

// Kernels returns the number of kernels of a run.
func (s *Step) Kernels() int {
	if s == nil || s.s == nil {
		return 0
	}
	return s.s.Kernels()
}

// Jit returns a function that does what f does: its first call runs f, the second compiles it (see Compile), the later ones run the
// program, on arguments of the shapes and types of the second call.
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
