package main

import (
	"unsafe"

	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// An update is the program of poly_update: values to compute into memory, and buffers to replace, all from the old contents.
type update struct {
	sink   *uop.UOp
	leaves []value // a buffer for each value
}

// update makes the program for arrays of handles from C.
func (c *context) update(values *uintptr, data *unsafe.Pointer, n int32, targets, updates *uintptr, nUpdates int32) (up update, err error) {
	vs, err := c.args("values", values, n)
	if err != nil {
		return up, err
	}
	if n > 0 && data == nil {
		return up, badArg("data", "is NULL, expected %d pointers", n)
	}
	ts, err := c.args("targets", targets, nUpdates)
	if err != nil {
		return up, err
	}
	us, err := c.args("updates", updates, nUpdates)
	if err != nil {
		return up, err
	}
	assigns := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		if assigns[i], err = tensor.AssignTo(t.Keep, us[i].For(t.Keep)); err != nil {
			return up, err
		}
	}
	return c.updateOf(vs, unsafe.Slice(data, n), assigns)
}

// updateOf makes the program that writes values to memory and then assigns.
func (c *context) updateOf(vs []value, data []unsafe.Pointer, assigns []*uop.UOp) (up update, err error) {
	defer func() {
		if err != nil {
			c.forget(up.leaves)
		}
	}()
	src := make([]*uop.UOp, 0, len(vs)+len(assigns))
	for i, v := range vs {
		if err := v.tensor("values"); err != nil {
			return up, atElement(i, err)
		}
		s := v.Keep.Shape()
		// The caller gave no size: it is that of the value.
		leaf, err := c.hostBuffer(v.Keep.DType, s, data[i], uintptr(tensor.Elements(v.Keep))*uintptr(v.Keep.DType.Itemsize()))
		if err != nil {
			return up, err
		}
		up.leaves = append(up.leaves, leaf)
		if tensor.Elements(v.Keep) > 0 {
			into, err := tensor.Store(leaf.Keep, v.For(leaf.Keep))
			if err != nil {
				return up, atElement(i, err)
			}
			src = append(src, into)
		}
	}
	up.sink = c.g.Sink(nil, append(src, schedule.Simultaneous(assigns)...)...)
	return up, nil
}

// prune computes run-invariant parts of a program, assuming that only the given buffers change, and replaces them by the results.
func (c *context) prune(sink *uop.UOp, changing []*uop.UOp) (up update, err error) {
	defer func() {
		if err != nil {
			c.forget(up.leaves)
		}
	}()
	up.sink = sink
	known := rewrite.Map{}
	var stores []*uop.UOp
	for _, u := range schedule.RunInvariant(sink, changing) {
		leaf, err := c.ownBuffer(u.DType, u.Shape())
		if err != nil {
			return up, err
		}
		up.leaves = append(up.leaves, leaf)
		known[u] = leaf.Keep
		if tensor.Elements(u) > 0 {
			into, err := tensor.Store(leaf.Keep, u)
			if err != nil {
				return up, err
			}
			stores = append(stores, into)
		}
	}
	if len(stores) > 0 {
		if err := c.run(c.g.Sink(nil, stores...), nil, nil); err != nil {
			return up, err
		}
	}
	up.sink = rewrite.Substitute(sink, known)
	return up, nil
}

// forget unbinds the memory of buffers without handles.
func (c *context) forget(leaves []value) {
	for _, l := range leaves {
		c.unbind(l.host)
	}
}

// unbind removes a buffer's memory.
func (c *context) unbind(b *uop.UOp) {
	h := c.host[b]
	delete(c.host, b)
	c.mu.c.unbound++
	switch {
	case !h.own:
	case c.pending == nil:
		h.free()
	default:
		// Running jobs may use it.
		go func(done chan struct{}) {
			<-done
			h.free()
		}(c.pending)
	}
}

// hasRoom checks that memory of so many bytes holds each value.
func (c *context) hasRoom(values *uintptr, nbytes *uintptr, n int32) error {
	vs, err := c.args("values", values, n)
	if err != nil {
		return err
	}
	if n > 0 && nbytes == nil {
		return badArg("nbytes", "is NULL, expected %d sizes", n)
	}
	for i, have := range unsafe.Slice(nbytes, n) {
		if err := vs[i].tensor("values"); err != nil {
			return atElement(i, err)
		}
		v := vs[i].Keep
		if need := uintptr(tensor.Elements(v)) * uintptr(v.DType.Itemsize()); have < need {
			return badArg("nbytes", "nbytes[%d] is %d, expected at least %d for %s of shape %s", i, have, need, v.DType, v.Shape())
		}
	}
	return nil
}

// runUpdate runs the program of poly_update; room, if not nil, checks its memory.
func runUpdate(fn string, ctx uintptr, room func(c *context) error, values *uintptr, data *unsafe.Pointer, n int32, leaves, targets, updates *uintptr, nUpdates int32) int32 {
	return status(fn, ctx, func(c *context) error {
		if room != nil {
			if err := room(c); err != nil {
				return err
			}
		}
		up := must(c.update(values, data, n, targets, updates, nUpdates))
		var err error
		if len(up.sink.Src) > 0 {
			err = c.run(up.sink, nil, nil)
		}
		if err != nil || leaves == nil {
			c.forget(up.leaves)
			return err
		}
		return c.outAll(up.leaves, unsafe.Slice(leaves, n))
	})
}

func poly_realize_into(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, leaves *uintptr) int32 {
	return runUpdate("poly_realize_into", ctx, nil, values, data, n, leaves, nil, nil, 0)
}

func poly_update_sized(ctx uintptr, values *uintptr, data *unsafe.Pointer, nbytes *uintptr, n int32, leaves, targets, updates *uintptr, nUpdates int32) int32 {
	room := func(c *context) error { return c.hasRoom(values, nbytes, n) }
	return runUpdate("poly_update_sized", ctx, room, values, data, n, leaves, targets, updates, nUpdates)
}

func poly_update(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, leaves, targets, updates *uintptr, nUpdates int32) int32 {
	return runUpdate("poly_update", ctx, nil, values, data, n, leaves, targets, updates, nUpdates)
}
