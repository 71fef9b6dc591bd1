package main

import (
	"errors"
	"strings"
	"sync"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/exec"
)

// operations are the described operations that were asked for, by number, and their numbers by name.
var operations struct {
	sync.RWMutex
	all     []*ops.Op
	numbers map[string]int32
}

// numberOfOperation is the number of an operation, from now on.
func numberOfOperation(name string) (int32, bool) {
	o := &operations
	o.Lock()
	defer o.Unlock()
	n, known := o.numbers[name]
	if known {
		return n, true
	}
	op, found := ops.FindCallable(name)
	if !found {
		return 0, false
	}
	if o.numbers == nil {
		o.numbers = map[string]int32{}
	}
	n = int32(len(o.all))
	o.all, o.numbers[name] = append(o.all, op), n
	return n, true
}

func poly_op(name *byte) int32 {
	return withoutContext("poly_op", -1, func() (int32, error) {
		if name == nil {
			return 0, badArg("name", "is NULL, expected the name of an operation")
		}
		n, known := numberOfOperation(goString(name))
		if !known {
			return 0, badArg("name", "%q is not the name of an operation", goString(name))
		}
		return n, nil
	})
}

func operation(number int32) (*ops.Op, error) {
	operations.RLock()
	all := operations.all
	operations.RUnlock()
	if number < 0 || int(number) >= len(all) {
		return nil, badArg("op", "%d is not the number of an operation, expected one of poly_op", number)
	}
	return all[number], nil
}

// titleOf is the name of an operation in errors: a layer's call is the layer.
func titleOf(op *ops.Op) string { return strings.TrimSuffix(op.Name, ".forward") }

// callArgs are the arguments of a call from C.
func callArgs(arg string, args unsafe.Pointer, n int32) ([]callArg, error) {
	if n < 0 || n > 0 && args == nil {
		return nil, badArg(arg, "%d arguments at %p, expected 0 or more and their address", n, args)
	}
	return unsafe.Slice((*callArg)(args), n), nil
}

var errRandomNode = errors.New("draws random numbers, which an operation on nodes cannot")

func poly_call(ctx uintptr, number int32, args unsafe.Pointer, n int32, out *uintptr, room int32) int32 {
	count := int32(-1)
	withContext("poly_call", ctx, func(c *context) error {
		op := must(operation(number))
		if room < 0 || room > 0 && out == nil {
			return badArg("out", "room for %d results at %p, expected 0 or more and their address", room, out)
		}
		results, err := c.call(op, must(callArgs("args", args, n)))
		if err != nil {
			return badArg("args", "%s: %w", titleOf(op), err)
		}
		if count = int32(len(results)); count > room {
			return nil
		}
		return c.outAll(results, unsafe.Slice(out, count))
	}, func() { count = -1 })
	return count
}

// A nodeCall has what the calls of operations on nodes share: their arguments, and functions that read operands.
type nodeCall struct {
	args     ops.Args
	tensor   func(arg string, h uintptr) (*uop.UOp, error)
	seed     func(words uint64) (*uop.UOp, error)
	value    func(u *uop.UOp) (uop.Const, error)
	elements ops.Elements
}

func (c *context) newNodeCall() nodeCall {
	return nodeCall{
		tensor: func(arg string, h uintptr) (*uop.UOp, error) {
			v, err := c.arg(arg, h)
			if err == nil {
				err = v.tensor(arg)
			}
			if err == nil && v.Drop != nil {
				err = badArg(arg, "has another value when dropout drops: see poly_dropout")
			}
			return v.Keep, err
		},
		seed:  func(uint64) (*uop.UOp, error) { return nil, errRandomNode },
		value: c.valueOf, elements: c.elements,
	}
}

// call calls an operation on nodes.
func (c *context) call(op *ops.Op, args []callArg) ([]value, error) {
	k := &c.nodeArgs
	r := reader{c: c, rest: args, tensor: k.tensor}
	a := &k.args
	op.Begin(a, c.g)
	a.Seed, a.Value, a.Elements = k.seed, k.value, k.elements
	if err := r.arguments(op, a); err != nil {
		return nil, err
	}
	us, err := a.Results()
	return singles(us), err
}

// elements returns the elements of a buffer in the memory of the host.
func (c *context) elements(buffer *uop.UOp) ([]byte, bool) {
	h, ok := c.host[buffer]
	if !ok || h.data == nil {
		return nil, false
	}
	return unsafe.Slice((*byte)(h.data), h.nbytes), true
}

// valueOf computes a node of one element.
func (c *context) valueOf(u *uop.UOp) (uop.Const, error) {
	var bits uint64
	b := c.g.NewBuffer(tensor.DeviceName, 1, u.DType)
	err := c.run(c.g.Sink(nil, b.Store(u)), []exec.Binding{{Buffer: b, Ptr: unsafe.Pointer(&bits), Bytes: int64(u.DType.Itemsize())}}, nil)
	return uop.FromBits(u.DType, bits), err
}
