package main

import (
	"fmt"
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// memTensor is the object of a PolyTensor: float32 memory, a node, or both. One without a context is persistent: contexts wrap its
// memory when they use it.
type memTensor struct {
	rec  *tensorRecord
	ctx  *context
	leaf leaf // in ctx
	data unsafe.Pointer
	// owned data is freed with the tensor.
	owned bool
	shape uop.Shape
	// of is the persistent tensor with the same memory, nil for others.
	of *memTensor

	// freed and wraps are guarded by tensors.mu.
	freed bool
	wraps map[*context]leaf
}

// leaf is a tensor in a context: the node and a reference to it for the tensor's lifetime.
type leaf struct {
	v value
	h uintptr
}

// tensorRecord is PolyTensor.
type tensorRecord struct {
	ctx, uop uintptr
	data     unsafe.Pointer
	numel    int64
	shape    [maxOutDims]int64
	ndim     int32
	owned    bool
	_        [6]uintptr
}

// tensors are the live PolyTensors and PolyLinears by address. A lock of a context is taken before mu, never after.
var tensors struct {
	mu     sync.Mutex
	live   map[uintptr]*memTensor
	layers map[uintptr]*linearLayer
	home   *context
}

const float32Size = 4

// sharedContext is the context of operations on persistent tensors only.
func sharedContext() (*context, error) {
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if tensors.home == nil {
		c, err := newContext()
		if err != nil {
			return nil, err
		}
		tensors.home = c
	}
	return tensors.home, nil
}

// tensorAt finds a tensor.
func tensorAt(arg string, h uintptr) (*memTensor, error) {
	if h == 0 {
		return nil, &argError{arg, handle.ErrNull}
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	t := tensors.live[h]
	if t == nil {
		return nil, badArg(arg, "is not a tensor: it was freed, or it never was one")
	}
	return t, nil
}

// floats is zeroed memory for n floats.
func floats(n int64) (unsafe.Pointer, error) {
	p := cAligned(uintptr((max(n, 1)*float32Size + 63) / 64 * 64))
	if p == nil {
		return nil, fmt.Errorf("cannot get %d bytes of memory", n*float32Size)
	}
	clear(unsafe.Slice((*float32)(p), n))
	return p, nil
}

// add makes the record of a tensor.
func (t *memTensor) add() uintptr {
	t.rec = (*tensorRecord)(cCalloc(1, unsafe.Sizeof(tensorRecord{})))
	*t.rec = tensorRecord{uop: t.leaf.h, data: t.data, numel: t.shape.MaxNumel(), ndim: int32(len(t.shape)), owned: t.owned}
	if t.ctx != nil {
		t.rec.ctx = uintptr(t.ctx.entry.Token())
	}
	for i, d := range t.shape {
		t.rec.shape[i] = d.N
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if tensors.live == nil {
		tensors.live = map[uintptr]*memTensor{}
	}
	h := uintptr(unsafe.Pointer(t.rec))
	tensors.live[h] = t
	return h
}

// free frees a tensor: no context uses its memory afterwards.
func (t *memTensor) free() {
	tensors.mu.Lock()
	if t.freed {
		tensors.mu.Unlock()
		return
	}
	t.freed = true
	delete(tensors.live, uintptr(unsafe.Pointer(t.rec)))
	leaves := t.wraps
	t.wraps = nil
	tensors.mu.Unlock()
	if t.ctx != nil {
		leaves = map[*context]leaf{t.ctx: t.leaf}
	}
	for c, l := range leaves {
		c.mu.Lock()
		if !c.dead {
			c.waitJobs() // wait for jobs on the memory
			if t.of == nil {
				c.unbind(l.v.host)
			}
			delete(c.wrapped, t)
			c.release(l.h)
		}
		c.mu.Unlock()
	}
	if t.owned {
		cFree(t.data)
	}
	cFree(unsafe.Pointer(t.rec))
}

// releaseWrapped drops the leaves of persistent tensors in a dying context.
func (c *context) releaseWrapped() {
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	for t := range c.wrapped {
		delete(t.wraps, c)
	}
	c.wrapped = nil
}

// tensor is the node of a tensor in a context. A persistent tensor keeps its node.
func (c *context) tensor(arg string, t *memTensor) (value, error) {
	switch {
	case t.ctx == c:
		return t.leaf.v, nil
	case t.ctx != nil:
		return value{}, badArg(arg, "belongs to another context")
	}
	if l, ok := c.wrapped[t]; ok {
		return l.v, nil
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if t.freed {
		return value{}, &argError{arg, handle.ErrStale}
	}
	v, err := c.hostBuffer(uop.Float32, t.shape, t.data, uintptr(t.shape.MaxNumel()*float32Size))
	if err != nil {
		return value{}, err
	}
	h, err := c.out(v)
	if err != nil {
		return value{}, err
	}
	if c.wrapped == nil {
		c.wrapped = map[*memTensor]leaf{}
	}
	if t.wraps == nil {
		t.wraps = map[*context]leaf{}
	}
	c.wrapped[t], t.wraps[c] = leaf{v, h}, leaf{v, h}
	return v, nil
}

// persistent makes a tensor without a context with memory initialized by fill.
func persistent(fn string, shape *int64, ndim int32, fill func(data []float32)) uintptr {
	return withoutContext(fn, 0, func() (uintptr, error) {
		return must(newPersistent(must(tensorShape(shape, ndim)), fill)).add(), nil
	})
}

func newPersistent(s uop.Shape, fill func(data []float32)) (*memTensor, error) {
	n := s.MaxNumel()
	p, err := floats(n)
	if err != nil {
		return nil, err
	}
	fill(unsafe.Slice((*float32)(p), n))
	return &memTensor{data: p, owned: true, shape: s}, nil
}

// tensorShape reads the shape of a tensor, of at most POLY_MAX_OUT_DIMS dimensions.
func tensorShape(shape *int64, ndim int32) (uop.Shape, error) {
	if ndim > maxOutDims {
		return nil, badArg("shape", "%d dimensions, expected at most %d", ndim, maxOutDims)
	}
	s, err := sizes("shape", shape, ndim)
	if err == nil {
		_, err = tensor.MostElements(s)
	}
	return s, err
}

// inContext makes a tensor of a value; its context is locked.
func (c *context) inContext(v value, data unsafe.Pointer) (*memTensor, error) {
	s := v.Keep.Shape()
	if len(s) > maxOutDims {
		return nil, fmt.Errorf("arguments: the result has %d dimensions, expected at most %d", len(s), maxOutDims)
	}
	h, err := c.out(v)
	if err != nil {
		return nil, err
	}
	return &memTensor{ctx: c, leaf: leaf{v, h}, data: data, shape: s}, nil
}

// buildTensor runs a request that makes a tensor in a context.
func buildTensor(fn string, ctx uintptr, f func(c *context) (*memTensor, error)) (h uintptr) {
	withContext(fn, ctx, func(c *context) error {
		t, err := f(c)
		if err == nil {
			h = t.add()
		}
		return err
	}, func() { h = 0 })
	return h
}

// tensorArg is an argument of a function of tensors.
type tensorArg struct {
	arg string
	h   uintptr
}

// tensorOp runs an operation of tensors in the context of the first one that has a context.
func tensorOp(fn string, args []tensorArg, op func(us []*uop.UOp) (*uop.UOp, error)) uintptr {
	ts := make([]*memTensor, len(args))
	var c *context
	for i, a := range args {
		t, err := tensorAt(a.arg, a.h)
		if err != nil {
			fail(fn, err)
			return 0
		}
		if ts[i] = t; c == nil {
			c = t.ctx
		}
	}
	if c == nil {
		var err error
		if c, err = sharedContext(); err != nil {
			fail(fn, err)
			return 0
		}
	}
	return buildTensor(fn, uintptr(c.entry.Token()), func(c *context) (*memTensor, error) {
		us := make([]*uop.UOp, len(ts))
		for i, t := range ts {
			v := must(c.tensor(args[i].arg, t))
			us[i] = v.Keep
		}
		u := must(op(us))
		return c.inContext(single(u), nil)
	})
}

// realize computes a tensor into memory of its own. The context is locked.
func (c *context) realizeTensor(t *memTensor) error {
	n := t.shape.MaxNumel()
	if err := t.checkAlive(); err != nil {
		return err
	}
	if t.data == nil {
		p, err := floats(n)
		if err != nil {
			return err
		}
		t.data, t.owned = p, true
		store(&t.rec.data, p)
		t.rec.owned = true
	}
	if n == 0 {
		return nil
	}
	b := c.g.NewBuffer(tensor.DeviceName, n, uop.Float32)
	return c.run(c.g.Sink(nil, b.Store(t.leaf.v.Keep)), []exec.Binding{{Buffer: b, Ptr: t.data, Bytes: n * float32Size}}, nil)
}

// checkAlive is an error for a tensor with freed memory.
func (t *memTensor) checkAlive() error {
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if t.freed || t.of != nil && t.of.freed {
		return &argError{"t", handle.ErrStale}
	}
	return nil
}

// computed reports whether the data of a tensor is the result of its node, not given memory.
func (t *memTensor) computed() bool { return t.ctx != nil && t.leaf.v.host == nil }

func poly_tensor_realize(h uintptr) int32 {
	const fn = "poly_tensor_realize"
	t, err := tensorAt("t", h)
	if err != nil {
		fail(fn, err)
		return -1
	}
	if !t.computed() {
		return 0
	}
	return status(fn, uintptr(t.ctx.entry.Token()), func(c *context) error { return c.realizeTensor(t) })
}

func poly_tensor_item(h uintptr) (v float32) {
	const fn = "poly_tensor_item"
	t, err := tensorAt("t", h)
	if err == nil && t.shape.MaxNumel() == 0 {
		err = badArg("t", "has shape %s, which has no first element", t.shape)
	}
	if err != nil {
		fail(fn, err)
		return 0
	}
	if !t.computed() {
		if err := t.checkAlive(); err != nil {
			fail(fn, err)
			return 0
		}
		return *(*float32)(t.data)
	}
	withContext(fn, uintptr(t.ctx.entry.Token()), func(c *context) error {
		if t.data == nil {
			check(c.realizeTensor(t))
		}
		v = *(*float32)(t.data)
		return nil
	}, func() {})
	return v
}

func poly_tensor_free(h uintptr) {
	if t, err := tensorAt("t", h); err == nil {
		t.free()
	}
}

func poly_tensor_input(ctx uintptr, data *float32, shape *int64, ndim int32) uintptr {
	return buildTensor("poly_tensor_input", ctx, func(c *context) (*memTensor, error) {
		s := must(tensorShape(shape, ndim))
		v := must(c.hostBuffer(uop.Float32, s, unsafe.Pointer(data), uintptr(s.MaxNumel()*float32Size)))
		return c.inContext(v, unsafe.Pointer(data))
	})
}

func poly_tensor_wrap(ctx, h uintptr) uintptr {
	return buildTensor("poly_tensor_wrap", ctx, func(c *context) (*memTensor, error) {
		t := must(tensorAt("persistent", h))
		v := must(c.tensor("persistent", t))
		w, err := c.inContext(v, t.data)
		if err == nil && t.ctx == nil {
			w.of = t
		}
		return w, err
	})
}

func poly_tensor_zeros(shape *int64, ndim int32) uintptr {
	return persistent("poly_tensor_zeros", shape, ndim, func([]float32) {})
}

func poly_tensor_ones(shape *int64, ndim int32) uintptr {
	return persistent("poly_tensor_ones", shape, ndim, func(data []float32) {
		for i := range data {
			data[i] = 1
		}
	})
}

func poly_tensor_rand(shape *int64, ndim int32) uintptr {
	return persistent("poly_tensor_rand", shape, ndim, func(data []float32) { initUniform(data, int64(len(data))) })
}

func poly_tensor_from_data(data *float32, shape *int64, ndim int32) uintptr {
	const fn = "poly_tensor_from_data"
	s, err := tensorShape(shape, ndim)
	n := s.MaxNumel()
	if err == nil && n > 0 && data == nil {
		err = badArg("data", "is NULL, expected %d numbers", n)
	}
	if err != nil {
		fail(fn, err)
		return 0
	}
	return persistent(fn, shape, ndim, func(to []float32) { copy(to, unsafe.Slice(data, n)) })
}
