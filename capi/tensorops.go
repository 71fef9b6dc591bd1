package main

import (
	"strings"
	"unsafe"

	"polygrad/capi/original"
	"polygrad/core/gradient"
	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// Operations on PolyTensors. Each makes a tensor in the context of its operands.

func tensorUnary(fn string, t uintptr, op func(*uop.UOp) (*uop.UOp, error)) uintptr {
	return tensorOp(fn, []tensorArg{{"t", t}}, func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0]) })
}

func tensorBinary(fn string, a, b uintptr, op binaryOp) uintptr {
	return tensorOp(fn, []tensorArg{{"a", a}, {"b", b}}, func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0], us[1]) })
}

func poly_tensor_add(a, b uintptr) uintptr {
	return tensorBinary("poly_tensor_add", a, b, tensor.Add)
}

func poly_tensor_sub(a, b uintptr) uintptr {
	return tensorBinary("poly_tensor_sub", a, b, tensor.Sub)
}

func poly_tensor_mul(a, b uintptr) uintptr {
	return tensorBinary("poly_tensor_mul", a, b, tensor.Mul)
}

func poly_tensor_div(a, b uintptr) uintptr {
	return tensorBinary("poly_tensor_div", a, b, tensor.Div)
}

func poly_tensor_neg(t uintptr) uintptr {
	return tensorUnary("poly_tensor_neg", t, tensor.Neg)
}

func poly_tensor_relu(t uintptr) uintptr {
	return tensorUnary("poly_tensor_relu", t, tensor.Relu)
}

func poly_tensor_sigmoid(t uintptr) uintptr {
	return tensorUnary("poly_tensor_sigmoid", t, tensor.Sigmoid)
}

func poly_tensor_matmul(a, b uintptr) uintptr {
	return tensorBinary("poly_tensor_matmul", a, b, func(x, y *uop.UOp) (*uop.UOp, error) {
		if len(x.Shape()) != 2 || len(y.Shape()) != 2 {
			return nil, badArg("a", "the shapes are %s and %s, expected two matrices", x.Shape(), y.Shape())
		}
		return tensor.MatMul(x, y)
	})
}

func poly_tensor_linear(x, w, bias uintptr) uintptr {
	args := []tensorArg{{"x", x}, {"w", w}}
	if bias != 0 {
		args = append(args, tensorArg{"bias", bias})
	}
	return tensorOp("poly_tensor_linear", args, layer)
}

// layer is x @ w^T + bias of two or three nodes.
func layer(us []*uop.UOp) (*uop.UOp, error) {
	if len(us) == 2 {
		us = append(us, nil)
	}
	return tensor.Linear(us[0], us[1], us[2])
}

func poly_tensor_mse(pred, target uintptr) uintptr {
	return tensorOp("poly_tensor_mse", []tensorArg{{"pred", pred}, {"target", target}}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MSELoss(us[0], us[1], tensor.ReduceMean)
	})
}

type axesOp func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

func tensorReduce(fn string, t uintptr, axis int32, op axesOp) uintptr {
	return tensorUnary(fn, t, func(u *uop.UOp) (*uop.UOp, error) {
		if axis == -1 {
			return op(u, nil, false)
		}
		if axis < 0 || int(axis) >= len(u.Shape()) {
			return nil, badArg("axis", "%d for shape %s, expected 0 to %d, or -1 for all", axis, u.Shape(), len(u.Shape())-1)
		}
		return op(u, []int{int(axis)}, false)
	})
}

func poly_tensor_sum(t uintptr, axis int32) uintptr {
	return tensorReduce("poly_tensor_sum", t, axis, tensor.Sum)
}

func poly_tensor_mean(t uintptr, axis int32) uintptr {
	return tensorReduce("poly_tensor_mean", t, axis, tensor.Mean)
}

func poly_tensor_max_reduce(t uintptr, axis int32) uintptr {
	return tensorReduce("poly_tensor_max_reduce", t, axis, tensor.Max)
}

func poly_tensor_reshape(t uintptr, shape *int64, ndim int32) uintptr {
	return tensorUnary("poly_tensor_reshape", t, func(u *uop.UOp) (*uop.UOp, error) {
		s, err := sizes("shape", shape, ndim)
		if err != nil {
			return nil, err
		}
		return tensor.Reshape(u, s)
	})
}

func poly_tensor_expand(t uintptr, shape *int64, ndim int32) uintptr {
	return tensorUnary("poly_tensor_expand", t, func(u *uop.UOp) (*uop.UOp, error) {
		s, err := sizes("shape", shape, ndim)
		if err != nil {
			return nil, err
		}
		return tensor.Expand(u, s)
	})
}

func poly_tensor_permute(t uintptr, perm *int64, ndim int32) uintptr {
	return tensorUnary("poly_tensor_permute", t, func(u *uop.UOp) (*uop.UOp, error) {
		axes, err := axesFrom("perm", perm, max(ndim, 0))
		if err != nil {
			return nil, err
		}
		return tensor.Permute(u, axes...)
	})
}

func poly_tensor_transpose(t uintptr) uintptr {
	return tensorUnary("poly_tensor_transpose", t, func(u *uop.UOp) (*uop.UOp, error) {
		if len(u.Shape()) != 2 {
			return nil, badArg("t", "has shape %s, expected a matrix", u.Shape())
		}
		return tensor.Transpose(u, 0, 1)
	})
}

// tensorList reads an array of tensors.
func tensorList(arg string, ts *uintptr, n int32) ([]*memTensor, error) {
	if err := records(arg, unsafe.Pointer(ts), n); err != nil {
		return nil, err
	}
	var out []*memTensor
	for i, h := range unsafe.Slice(ts, n) {
		t, err := tensorAt(indexed(arg, i), h)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// gradients differentiates a loss; it also returns the nodes of the parameters.
func (c *context) gradients(loss uintptr, ts []*memTensor) (y *uop.UOp, params, grads []*uop.UOp, err error) {
	l, err := tensorAt("loss", loss)
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := c.tensor("loss", l)
	if err != nil {
		return nil, nil, nil, err
	}
	if tensor.Elements(v.Keep) != 1 {
		return nil, nil, nil, badArg("loss", "has shape %s, expected one number", v.Keep.Shape())
	}
	for i, t := range ts {
		p, err := c.tensor(indexed("params", i), t)
		if err != nil {
			return nil, nil, nil, err
		}
		params = append(params, p.Keep)
	}
	grads, err = gradient.Of(v.Keep, params, nil)
	return v.Keep, params, grads, err
}

func poly_tensor_backward(ctx, loss uintptr, params *uintptr, n int32) (out unsafe.Pointer) {
	withContext("poly_tensor_backward", ctx, func(c *context) error {
		ts := must(tensorList("params", params, n))
		_, _, grads, err := c.gradients(loss, ts)
		if err != nil {
			return err
		}
		made := make([]*memTensor, len(grads))
		for i, g := range grads {
			if made[i], err = c.inContext(single(g), nil); err != nil {
				for _, t := range made[:i] {
					c.release(t.leaf.h)
				}
				return err
			}
		}
		out = cMalloc(uintptr(8*len(made) + 1))
		for i, t := range made {
			unsafe.Slice((*uintptr)(out), len(made))[i] = t.add()
		}
		return nil
	}, func() {})
	return out
}

// sgdRecord is PolySGD.
type sgdRecord struct {
	params *uintptr
	n      int32
	lr     float32
}

func poly_sgd_step(opt unsafe.Pointer, ctx, loss uintptr, out *float32) int32 {
	return status("poly_sgd_step", ctx, func(c *context) error {
		if opt == nil {
			return badArg("opt", "is NULL")
		}
		o := (*sgdRecord)(opt)
		ts := must(tensorList("opt", o.params, o.n))
		for i, t := range ts {
			if t.computed() {
				return badArg(indexed("opt", i), "is computed, expected a tensor with memory of its own")
			}
		}
		y, params, grads, err := c.gradients(loss, ts)
		if err != nil {
			return paramsOf(err, "opt")
		}
		return c.descend(y, params, grads, float32(o.lr), out)
	})
}

// paramsOf attributes errors to the argument of the parameters.
func paramsOf(err error, arg string) error {
	if e, ok := err.(*argError); ok && strings.HasPrefix(e.arg, "params") {
		return &argError{arg + strings.TrimPrefix(e.arg, "params"), e.err}
	}
	return err
}

// descend stores a loss and replaces each parameter by itself - lr * gradient, all from the old values. lr is in memory, so it may
// change from step to step.
func (c *context) descend(y *uop.UOp, params, grads []*uop.UOp, lr float32, out *float32) error {
	numbers, err := floats(32)
	if err != nil {
		return err
	}
	defer cFree(numbers)
	rate, loss := (*float32)(numbers), (*float32)(unsafe.Add(numbers, 64))
	*rate = lr
	at := c.g.NewBuffer(tensor.DeviceName, 1, uop.Float32)
	to := c.g.NewBuffer(tensor.DeviceName, 1, uop.Float32)
	assigns, err := original.Descend(params, grads, at.Reshape(uop.Shape{}))
	if err != nil {
		return err
	}
	src := append([]*uop.UOp{to.Store(y)}, schedule.Simultaneous(assigns)...)
	binds := []exec.Binding{{Buffer: at, Ptr: unsafe.Pointer(rate), Bytes: float32Size}, {Buffer: to, Ptr: unsafe.Pointer(loss), Bytes: float32Size}}
	if err := c.run(c.g.Sink(nil, src...), binds, nil); err != nil {
		return err
	}
	if out != nil {
		*out = float32(*loss)
	}
	return nil
}
