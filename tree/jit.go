package tree

import (
	"fmt"
	"strings"
	"sync"

	"polygrad"
)

// Jitted is a function that is compiled once for each kind of arguments: see Jit. It may be called from any goroutine.
type Jitted[P, D, R any] struct {
	f        func(P, D) (R, error)
	mu       sync.Mutex
	programs map[string]*program
	info     CacheInfo
}

type program struct {
	step    *polygrad.Step
	results *trees
}

// CacheInfo counts the calls that found a program, those that compiled one, and the programs there are.
type CacheInfo struct{ Hits, Misses, Size int }

// Jit returns a compiled version of f. Call compiles f for the shapes and types of the tensors in its arguments and for all other values in them,
// which are static (numbers, strings, bools), and runs the program for arguments of the same kind. Static values are constants of the program, and f
// may branch on them. See polygrad.Compile for what f may do.
func Jit[P, D, R any](f func(params P, data D) (R, error)) *Jitted[P, D, R] {
	return &Jitted[P, D, R]{f: f, programs: map[string]*program{}}
}

// Call runs the program for arguments of this kind, and compiles it if there is none. While another function is traced, it calls f.
func (j *Jitted[P, D, R]) Call(params P, data D) (result R, err error) {
	const who = "Jit"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if j == nil || j.f == nil {
		return result, errNil
	}
	if in, err = flatten(of("params", &params), of("data", &data)); err != nil {
		return result, err
	}
	if len(in.tensors) > 0 && polygrad.Traced(in.tensors[0]) {
		return j.f(params, data)
	}
	key, err := signature(in, of("params", &params), of("data", &data))
	if err != nil {
		return result, err
	}
	p, err := j.program(key, in)
	if err != nil {
		return result, err
	}
	out = p.results
	found, err := p.step.Run(in.tensors...)
	if err != nil {
		return result, err
	}
	return as[R](p.results.build(found)[0]), nil
}

// signature is the kind of arguments as text: their structure and static values, and the types and shapes of their tensors.
func signature(in *trees, parts ...named) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		if err := staticText(&b, p.v, p.name, map[uintptr]bool{}); err != nil {
			return "", err
		}
	}
	for _, x := range in.tensors {
		fmt.Fprint(&b, x.DType(), x.Shape())
	}
	return b.String(), nil
}

func (j *Jitted[P, D, R]) program(key string, in *trees) (*program, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.programs[key]; p != nil {
		j.info.Hits++
		return p, nil
	}
	j.info.Misses++
	p := &program{}
	step, err := polygrad.Compile(in.function(call2(j.f), &p.results), in.tensors...)
	if err != nil {
		return nil, err
	}
	p.step, p.results.tensors = step, nil
	j.programs[key] = p
	return p, nil
}

// CacheInfo returns how many calls found a program, how many compiled one, and how many programs there are.
func (j *Jitted[P, D, R]) CacheInfo() CacheInfo {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.info.Size = len(j.programs)
	return j.info
}

// ClearCache drops all programs and resets the counts.
func (j *Jitted[P, D, R]) ClearCache() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.programs, j.info = map[string]*program{}, CacheInfo{}
}

// Kernels returns the number of kernels that a run of the program for such arguments launches. It compiles the program if there is none.
func (j *Jitted[P, D, R]) Kernels(params P, data D) (n int, err error) {
	defer func() { err = fail("Jit", err, nil, nil) }()
	if j == nil || j.f == nil {
		return 0, errNil
	}
	in, err := flatten(of("params", &params), of("data", &data))
	if err != nil {
		return 0, err
	}
	key, err := signature(in, of("params", &params), of("data", &data))
	if err != nil {
		return 0, err
	}
	p, err := j.program(key, in)
	if err != nil {
		return 0, err
	}
	return p.step.Kernels(), nil
}
