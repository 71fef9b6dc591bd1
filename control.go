package polygrad

import (
	"errors"
	"fmt"
)

// Scan runs a step for each element of sequences, in their order, or from their end with reverse. step takes the carry and one element of each
// sequence and returns the new carry, of the same shapes and types, and what is to be kept. The results are the carry after all steps, and what
// each step kept, stacked along a new first axis in the order of the sequences. A scan is one loop: neither the graph nor the time to compile
// grow with its length. It can be differentiated in both modes; reverse mode stores the carry before each step and computes the steps again.
//
// length is the number of steps, which may be negative if there are sequences: then it is the size of their first axis.
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
