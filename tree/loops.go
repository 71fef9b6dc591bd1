package tree

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"polygrad"
)

// sameKind reports a tensor of another shape or type than one that it stands for.
func sameKind(x, like *Tensor, name, likeName string) error {
	if x.DType() != like.DType() || !slices.Equal(x.Shape(), like.Shape()) {
		return fmt.Errorf("%s is %s of shape %v, expected %s of shape %v as %s", name, x.DType(), x.Shape(), like.DType(), like.Shape(), likeName)
	}
	return nil
}

// Scan runs a step for each element of sequences, whose tensors have the elements along their first axes, in their order, or from their end with
// reverse. The step takes the carry and an element of each sequence, and returns the new carry, a tree like init of the same shapes and types, and
// what is to be kept of it. The results are the carry after all steps, and what each step kept, stacked along a new first axis. length is needed if
// there are no sequences, and -1 otherwise. See polygrad.Scan.
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

// ForLoop runs a step for the numbers from lower to upper-1, an int32 of shape () each, on a carry. The step returns a tree like init, of the same shapes
// and types. See polygrad.ForLoop.
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

// renameError gives an error of a function of this package the name of the one that called it.
func renameError(who string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Function == "Scan" {
		return &Error{who, e.Err, e.text}
	}
	return err
}

// Each gives the results of f for each element of sequences along their first axes, stacked: f is run for one element after the other, whereas VMap
// runs it for all at once.
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

// WhileLoop runs a step on a carry as long as a condition holds, a bool of shape () that is computed from the carry. The step returns a tree like init, of
// the same shapes and types. The loop has no gradient: see polygrad.WhileLoop.
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

// AssociativeScan combines elements of sequences, whose tensors have them along their first axes: the result at each place is all elements up to it
// combined, or all from it on with reverse. combine makes one element of two, a tree like sequences of the same shapes and types, and is
// associative. See polygrad.AssociativeScan.
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

// Cond gives the result of ifTrue, or of ifFalse, for an operand; predicate is a bool of shape (). Only that branch is computed. Both return trees that
// are alike, of the same shapes and types.
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

// Switch gives the result of the branch with a number for an operand; index is an integer of shape (), of which numbers out of range stand for the first
// and the last branch. Only that branch is computed. All return trees that are alike, of the same shapes and types.
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

// alternatives are branches as functions of tensors, whose results must be alike.
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
