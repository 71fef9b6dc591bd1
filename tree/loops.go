package tree

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"polygrad"
)

// sameKind is an error if x has another shape or type than like.
func sameKind(x, like *Tensor, name, likeName string) error {
	if x.DType() != like.DType() || !slices.Equal(x.Shape(), like.Shape()) {
		return fmt.Errorf("%s is %s of shape %v, expected %s of shape %v as %s", name, x.DType(), x.Shape(), like.DType(), like.Shape(), likeName)
	}
	return nil
}

// Scan runs step for each element of sequences, along the first axes of their tensors, in order, or from the last element to the first with reverse.
// step takes the carry and an element, and returns the new carry, a tree like init of the same shapes and types, and values to keep. Scan returns the
// carry after all steps and the kept values of all steps, stacked along a new first axis. length is needed if there are no sequences, and -1
// otherwise. See polygrad.Scan.
func Scan[C, X, Y any](step func(carry C, element X) (C, Y, error), init C, sequences X, length int, reverse bool) (last C, kept Y, err error) {
	const who = "Scan"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if step == nil {
		return last, kept, errors.New("step: is nil, expected a function")
	}
	if in, err = flatten(of("carry", &init), of("sequences", &sequences)); err != nil {
		return last, kept, err
	}
	n := in.sizes[0]
	found, rest, err := polygrad.Scan(func(carry, elements []*Tensor) (next, kept []*Tensor, err error) {
		v := in.build(slices.Concat(carry, elements))
		c, y, err := step(as[C](v[0]), as[X](v[1]))
		if err != nil {
			return nil, nil, err
		}
		if err := sameStatic("carry", &c, &init, "the carry after a step", "before"); err != nil {
			return nil, nil, err
		}
		if out, err = flatten(of("carry", &c), of("kept", &y)); err != nil {
			return nil, nil, err
		}
		return out.tensors[:out.sizes[0]:out.sizes[0]], out.tensors[out.sizes[0]:], nil
	}, in.tensors[:n:n], in.tensors[n:], length, reverse)
	if err != nil {
		return last, kept, err
	}
	return as[C](in.like(0, found)), as[Y](out.like(1, rest)), nil
}

// ForLoop runs step for the numbers from lower to upper-1, each an Int32 of shape (), on a carry, and returns the last carry. step returns a tree
// like init, of the same shapes and types. See polygrad.ForLoop.
func ForLoop[C any](lower, upper int, step func(i *Tensor, carry C) (C, error), init C) (last C, err error) {
	const who = "ForLoop"
	if step == nil {
		return last, fail(who, errors.New("step: is nil, expected a function"), nil, nil)
	}
	numbers := polygrad.Arange(lower, max(lower, upper), 1)
	last, _, err = Scan(func(carry C, i *Tensor) (C, None, error) {
		next, err := step(i, carry)
		return next, None{}, err
	}, init, numbers, -1, false)
	return last, renameError(who, err)
}

// renameError replaces the name of a function of this package in an error by that of the function that called it.
func renameError(who string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Function == "Scan" {
		return &Error{who, e.Err, e.text}
	}
	return err
}

// Each applies f to each element of sequences along their first axes, one after the other, and returns the results stacked along a new first axis.
// VMap applies a function to all elements at once.
func Each[X, Y any](f func(element X) (Y, error), sequences X) (kept Y, err error) {
	if f == nil {
		return kept, fail("Each", errNil, nil, nil)
	}
	_, kept, err = Scan(func(carry None, x X) (None, Y, error) {
		y, err := f(x)
		return carry, y, err
	}, None{}, sequences, -1, false)
	return kept, renameError("Each", err)
}

// WhileLoop runs step on a carry as long as a condition holds, and returns the last carry. condition computes a bool of shape () from the carry, step
// a tree like init, of the same shapes and types. The loop has no gradient: see polygrad.WhileLoop.
func WhileLoop[C any](condition func(carry C) (*Tensor, error), step func(carry C) (C, error), init C) (last C, err error) {
	const who = "WhileLoop"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	switch {
	case condition == nil:
		return last, errors.New("condition: is nil, expected a function")
	case step == nil:
		return last, errors.New("step: is nil, expected a function")
	}
	if in, err = flatten(of("carry", &init)); err != nil {
		return last, err
	}
	found, err := polygrad.WhileLoop(func(carry []*Tensor) (*Tensor, error) {
		return condition(as[C](in.build(carry)[0]))
	}, func(carry []*Tensor) ([]*Tensor, error) {
		c, err := step(as[C](in.build(carry)[0]))
		if err != nil {
			return nil, err
		}
		if err := sameStatic("carry", &c, &init, "the carry after a step", "before"); err != nil {
			return nil, err
		}
		if out, err = flatten(of("carry", &c)); err != nil {
			return nil, err
		}
		return out.tensors, nil
	}, in.tensors...)
	if err != nil {
		return last, err
	}
	return as[C](in.like(0, found)), nil
}

// AssociativeScan returns the running combinations of the elements of sequences along the first axes of their tensors: the elements up to each
// position, or from each position on with reverse, are combined. combine makes one element of two, a tree like sequences of the same shapes and
// types, and must be associative. See polygrad.AssociativeScan.
func AssociativeScan[X any](combine func(a, b X) (X, error), sequences X, reverse bool) (made X, err error) {
	const who = "AssociativeScan"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if combine == nil {
		return made, errors.New("combine: is nil, expected a function")
	}
	if in, err = flatten(of("sequences", &sequences)); err != nil {
		return made, err
	}
	found, err := polygrad.AssociativeScan(func(a, b []*Tensor) ([]*Tensor, error) {
		x, err := combine(as[X](in.build(a)[0]), as[X](in.build(b)[0]))
		if err != nil {
			return nil, err
		}
		if err := sameStatic("the result", &x, &sequences, "what combine returns", "sequences"); err != nil {
			return nil, err
		}
		if out, err = flatten(of("the result", &x)); err != nil {
			return nil, err
		}
		return out.tensors, nil
	}, in.tensors, reverse)
	if err != nil {
		return made, err
	}
	return as[X](in.like(0, found)), nil
}

// Cond returns the result of ifTrue for an operand if predicate, a Bool of shape (), is true, and otherwise that of ifFalse. Only that branch is
// computed. Both branches must return trees of the same structure, shapes and types.
func Cond[A, R any](predicate *Tensor, ifTrue, ifFalse func(operand A) (R, error), operand A) (result R, err error) {
	const who = "Cond"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if predicate == nil {
		return result, errors.New("predicate: is nil, expected a tensor")
	}
	if in, err = flatten(of("operand", &operand)); err != nil {
		return result, err
	}
	branches, err := alternatives(in, &out, []string{"ifTrue", "ifFalse"}, ifTrue, ifFalse)
	if err != nil {
		return result, err
	}
	found, err := polygrad.Cond(predicate, branches[0], branches[1], in.tensors...)
	if err != nil {
		return result, err
	}
	return as[R](out.build(found)[0]), nil
}

// Switch returns the result of branches[index] for an operand. index is an integer of shape (), which is clamped to the range of branches. Only that
// branch is computed. All branches must return trees of the same structure, shapes and types.
func Switch[A, R any](index *Tensor, branches []func(operand A) (R, error), operand A) (result R, err error) {
	const who = "Switch"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if index == nil {
		return result, errors.New("index: is nil, expected a tensor")
	}
	if in, err = flatten(of("operand", &operand)); err != nil {
		return result, err
	}
	names := make([]string, len(branches))
	for k := range branches {
		names[k] = fmt.Sprintf("branches[%d]", k)
	}
	list, err := alternatives(in, &out, names, branches...)
	if err != nil {
		return result, err
	}
	found, err := polygrad.Switch(index, list, in.tensors...)
	if err != nil {
		return result, err
	}
	return as[R](out.build(found)[0]), nil
}

// alternatives are branches as functions of tensors, whose results must have the same structure.
func alternatives[A, R any](in *trees, out **trees, names []string, branches ...func(operand A) (R, error)) ([]polygrad.Function, error) {
	list := make([]polygrad.Function, len(branches))
	first := -1
	var before R
	for k, f := range branches {
		if f == nil {
			return nil, fmt.Errorf("%s: is nil, expected a function", names[k])
		}
		var own *trees
		list[k] = in.function(func(v []reflect.Value) ([]named, error) {
			result, err := f(as[A](v[0]))
			if err != nil {
				return nil, err
			}
			made, err := flatten(of("result", &result))
			if err == nil && first >= 0 {
				if err = made.sameAs(*out, "the result of "+names[k], "that of "+names[first]); err == nil {
					err = sameStatic("result", &result, &before, "the result of "+names[k], "that of "+names[first])
				}
			}
			if first < 0 {
				first, *out, before = k, made, result
			}
			return []named{of("result", &result)}, err
		}, &own)
	}
	return list, nil
}
