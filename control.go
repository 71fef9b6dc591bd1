package polygrad

import (
	"errors"
	"fmt"

	"polygrad/variable"
)

// Scan runs step for each element of sequences along their first axes, in order, or from the last element to the first with reverse. step takes the
// carry and one element of each sequence. It returns the new carry, of the same shapes and types, and values to keep. Scan returns the carry after
// all steps and the kept values of all steps, stacked along a new first axis in the order of the sequences. A scan is one loop: neither the graph nor
// the time to compile it grows with its length. It can be differentiated in both modes. Reverse mode stores the carry before each step and values
// that are expensive to compute, such as matrix products, and recomputes the others; with Checkpoint in the step it recomputes all of them.
//
// length is the number of steps. It may be negative if there are sequences; then it is the size of their first axis.
func Scan(step func(carry, elements []*Tensor) (next, kept []*Tensor, err error), init, sequences []*Tensor, length int, reverse bool) (last, kept []*Tensor, err error) {
	last, kept, err = scan(step, init, sequences, length, reverse)
	return last, kept, wrapError("Scan", err)
}

func scan(step func(carry, elements []*Tensor) (next, kept []*Tensor, err error), init, sequences []*Tensor, length int, reverse bool) (last, kept []*Tensor, err error) {
	if step == nil {
		return nil, nil, errors.New("step: is nil, expected a function")
	}
	args, axes := append(init[:len(init):len(init)], sequences...), make([]int, len(init)+len(sequences))
	for i, x := range args {
		if err := x.Err(); err != nil {
			return nil, nil, err
		}
		if axes[i] = Unmapped; i < len(init) {
			continue
		}
		axes[i] = 0
		s := x.Shape()
		if len(s) == 0 {
			return nil, nil, fmt.Errorf("sequences[%d]: is a scalar, expected at least 1 dimension", i-len(init))
		}
		if length < 0 {
			length = s[0]
		}
		if s[0] != length {
			return nil, nil, fmt.Errorf("sequences[%d]: has shape %v, expected %d steps", i-len(init), s, length)
		}
	}
	switch {
	case len(args) == 0:
		return nil, nil, errors.New("init: is empty, and there are no sequences, expected a tensor")
	case length < 0:
		return nil, nil, fmt.Errorf("length: %d, expected 0 or more without sequences", length)
	}
	n := len(init)
	x, err := express("Scan", func(args ...*Tensor) ([]*Tensor, error) {
		next, kept, err := step(args[:n:n], args[n:])
		if err == nil && len(next) != n {
			err = fmt.Errorf("step: returns a carry of %d tensors, expected %d as init", len(next), n)
		}
		return append(next[:len(next):len(next)], kept...), err
	}, args, axes)
	if err != nil {
		return nil, nil, err
	}
	out, err := x.scan(n, length, reverse, args)
	if err != nil {
		return nil, nil, err
	}
	return out[:n:n], out[n:], nil
}

// WhileLoop runs step on a carry of the shapes and types of init as long as a condition holds, and returns the last carry. condition computes a bool
// of shape () from the carry; the host reads it once per step. The loop has no gradient, since the number of its steps is not known: use JVP, or Scan
// and ForLoop. In VMap the loop runs until the condition is false for all elements of the batch; an element for which it is false keeps its carry.
func WhileLoop(condition func(carry []*Tensor) (*Tensor, error), step func(carry []*Tensor) ([]*Tensor, error), init ...*Tensor) ([]*Tensor, error) {
	out, err := whileLoop(condition, step, init)
	return out, wrapError("WhileLoop", err)
}

func whileLoop(condition func(carry []*Tensor) (*Tensor, error), step func(carry []*Tensor) ([]*Tensor, error), init []*Tensor) ([]*Tensor, error) {
	switch {
	case condition == nil:
		return nil, errors.New("condition: is nil, expected a function")
	case step == nil:
		return nil, errors.New("step: is nil, expected a function")
	case len(init) == 0:
		return nil, errors.New("init: is empty, expected a tensor")
	}
	n := len(init)
	x, err := express("WhileLoop", func(carry ...*Tensor) ([]*Tensor, error) {
		on, err := condition(carry)
		if err != nil {
			return nil, err
		}
		next, err := step(carry)
		if err == nil && len(next) != n {
			err = fmt.Errorf("step: returns a carry of %d tensors, expected %d as init", len(next), n)
		}
		return append(next[:len(next):len(next)], on), err
	}, init, nil)
	if err != nil {
		return nil, err
	}
	return x.results(init, x.e.While)
}

// ForLoop runs step for the numbers from lower to upper-1, each an Int32 of shape (), on a carry of the shapes and types of init, and returns the
// last carry. It is a Scan, and can be differentiated in both modes.
func ForLoop(lower, upper int, step func(i *Tensor, carry []*Tensor) ([]*Tensor, error), init ...*Tensor) ([]*Tensor, error) {
	if step == nil {
		return nil, wrapError("ForLoop", errors.New("step: is nil, expected a function"))
	}
	numbers := Arange(lower, max(lower, upper), 1)
	last, _, err := scan(func(carry, elements []*Tensor) (next, kept []*Tensor, err error) {
		next, err = step(elements[0], carry)
		return next, nil, err
	}, init, []*Tensor{numbers}, -1, false)
	return last, wrapError("ForLoop", err)
}

// Map applies f to each element of xs along their first axes, one after the other, and returns the results stacked along a new first axis. VMap
// applies a function to all elements at once.
func Map(f Function, xs ...*Tensor) ([]*Tensor, error) {
	if f == nil {
		return nil, wrapError("Map", errors.New("f: is nil, expected a function"))
	}
	_, kept, err := scan(func(_, elements []*Tensor) (next, kept []*Tensor, err error) {
		kept, err = f(elements...)
		return nil, kept, err
	}, nil, xs, -1, false)
	return kept, wrapError("Map", err)
}

// AssociativeScan returns the running combinations of the elements of sequences along their first axes: the elements up to each position, or from
// each position on with reverse, are combined. combine makes one element of two, of the same shapes and types. It must be associative, that is, (a b)
// c is a (b c). It is called once, and combines many pairs at a time: the scan takes about as many steps as the square root of the number of
// elements.
func AssociativeScan(combine func(a, b []*Tensor) ([]*Tensor, error), sequences []*Tensor, reverse bool) ([]*Tensor, error) {
	out, err := associativeScan(combine, sequences, reverse)
	return out, wrapError("AssociativeScan", err)
}

func associativeScan(combine func(a, b []*Tensor) ([]*Tensor, error), sequences []*Tensor, reverse bool) ([]*Tensor, error) {
	n := len(sequences)
	switch {
	case combine == nil:
		return nil, errors.New("combine: is nil, expected a function")
	case n == 0:
		return nil, errors.New("sequences: is empty, expected a tensor")
	}
	for i, x := range sequences {
		if err := x.Err(); err != nil {
			return nil, err
		}
		if s := x.Shape(); len(s) == 0 || s[0] != sequences[0].Shape()[0] {
			return nil, fmt.Errorf("sequences[%d]: has shape %v, expected as many elements along a first axis as sequences[0] of shape %v", i, s, sequences[0].Shape())
		}
	}
	x, err := express("AssociativeScan", func(args ...*Tensor) ([]*Tensor, error) {
		out, err := combine(args[:n:n], args[n:])
		if err == nil && len(out) != n {
			err = fmt.Errorf("combine: returns %d tensors, expected %d as sequences", len(out), n)
		}
		return out, err
	}, append(sequences[:n:n], sequences...), make([]int, 2*n))
	if err != nil {
		return nil, err
	}
	return x.results(sequences, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.AssociativeScan(reverse, vs) })
}

// Cond returns the results of ifTrue for operands if predicate, a Bool of shape (), is true, and otherwise those of ifFalse. Only that branch is
// computed. Both branches must return the same number of tensors, of the same shapes and types.
func Cond(predicate *Tensor, ifTrue, ifFalse Function, operands ...*Tensor) ([]*Tensor, error) {
	if err := predicate.Err(); err != nil {
		return nil, err
	}
	if d := predicate.DType(); d != Bool {
		return nil, wrapError("Cond", fmt.Errorf("predicate: is %s, expected bool", d))
	}
	out, err := choose("Cond", predicate.Cast(Int32), []Function{ifFalse, ifTrue}, operands)
	return out, wrapError("Cond", err)
}

// Switch returns the results of branches[index] for operands. index is an integer of shape (), which is clamped to the range of branches. Only that
// branch is computed. All branches must return the same number of tensors, of the same shapes and types.
func Switch(index *Tensor, branches []Function, operands ...*Tensor) ([]*Tensor, error) {
	out, err := choose("Switch", index, branches, operands)
	return out, wrapError("Switch", err)
}

func choose(who string, index *Tensor, branches []Function, operands []*Tensor) ([]*Tensor, error) {
	if len(branches) == 0 {
		return nil, errors.New("branches: none, expected one or more")
	}
	args := append([]*Tensor{index}, operands...)
	lengths := make([]int, len(branches))
	x, err := express(who, func(given ...*Tensor) ([]*Tensor, error) {
		var all []*Tensor
		for k, f := range branches {
			if f == nil {
				return nil, fmt.Errorf("branch %d: is nil, expected a function", k)
			}
			results, err := f(given[1:]...)
			if err != nil {
				return nil, err
			}
			if lengths[k] = len(results); lengths[k] != lengths[0] {
				return nil, fmt.Errorf("branch %d returns %d tensors, and branch 0 %d", k, lengths[k], lengths[0])
			}
			all = append(all, results...)
		}
		return all, nil
	}, args, nil)
	if err != nil {
		return nil, err
	}
	return x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.Switch(len(branches), vs) })
}
