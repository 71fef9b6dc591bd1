package main

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/variable"
)

// newVariables makes the variables of a context, which share its graph, its lock and the memory of its buffers.
func (c *context) newVariables() {
	c.vars = variable.NewContext(c.g, c.anyExecutor)
	c.functions, c.nodeArgs = map[*function]struct{}{}, c.newNodeCall()
	c.operand = func(arg string, h uintptr) (*uop.UOp, error) {
		v, err := c.array(arg, h)
		if err != nil {
			return nil, err
		}
		return c.arrayCall.Operand(v)
	}
	c.vars.OnInvalidate = func() { c.mu.c.unbound++ }
	c.vars.ExternalMemory = func(b *uop.UOp) (exec.Binding, bool) {
		h, ok := c.host[b]
		return exec.Binding{Buffer: b, Ptr: h.data, Bytes: int64(h.nbytes)}, ok
	}
}

// owned is the object of a handle of a kind, in this context.
func owned[T any](c *context, arg string, h uintptr, kind handle.Kind) (v T, err error) {
	e, err := handles.Get(handle.Token(h), kind)
	if err != nil {
		return v, &argError{arg, err}
	}
	if e.Owner != any(c) {
		return v, badArg(arg, "belongs to another context")
	}
	return e.Value.(T), nil
}

func (c *context) array(arg string, h uintptr) (*variable.Variable, error) {
	return owned[*variable.Variable](c, arg, h, handle.Array)
}

// arrays are the variables of n handles.
func (c *context) arrays(arg string, hs *uintptr, n int32) ([]*variable.Variable, error) {
	if n < 0 || n > 0 && hs == nil {
		return nil, badArg(arg, "%d handles at %p, expected 0 or more and their address", n, hs)
	}
	var out []*variable.Variable // grows: a count that is too large ends at the first invalid handle
	for i, h := range unsafe.Slice(hs, n) {
		v, err := c.array(arg, h)
		if err != nil {
			return nil, atElement(i, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// outArray gives a reference to a variable to C, as a handle of its own.
func (c *context) outArray(v *variable.Variable) (uintptr, error) {
	if n := len(v.Node().Shape()); n > maxDims {
		v.Drop()
		return 0, fmt.Errorf("the result has %d dimensions, expected at most %d", n, maxDims)
	}
	e := &handle.Entry{Kind: handle.Array, Owner: c, Value: v}
	if err := handles.Issue(e); err != nil {
		v.Drop()
		return 0, err
	}
	return uintptr(e.Token()), nil
}

// outArrays is outArray for several, all or none.
func (c *context) outArrays(vs []*variable.Variable, out *uintptr) error {
	hs := unsafe.Slice(out, len(vs))
	for i, v := range vs {
		if v == nil {
			hs[i] = 0
			continue
		}
		h, err := c.outArray(v)
		if err != nil {
			for _, done := range hs[:i] {
				c.releaseArray(done)
			}
			drop(vs[i+1:])
			return err
		}
		hs[i] = h
	}
	return nil
}

// drop drops results, of which those that an operation leaves out are nil.
func drop(vs []*variable.Variable) {
	for _, v := range vs {
		if v != nil {
			v.Drop()
		}
	}
}

func (c *context) releaseArray(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Array)
	if err != nil || e.Owner != any(c) {
		return
	}
	handles.Drop(e)
	e.Value.(*variable.Variable).Drop()
}

// enterContextOf locks the context of a handle; the caller unlocks it.
func enterContextOf(arg string, h uintptr, kind handle.Kind) (*context, error) {
	e, err := handles.Get(handle.Token(h), kind)
	if err != nil {
		return nil, &argError{arg, err}
	}
	c := e.Owner.(*context)
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return nil, &argError{arg, handle.ErrStale}
	}
	if c.g.Crowded() {
		c.sweep()
	}
	return c, nil
}

// withContextOf runs a request in the context of a handle. If it fails, the error is reported and failed called.
func withContextOf(fn, arg string, h uintptr, kind handle.Kind, f func(c *context) error, failed func()) {
	if err := func() (err error) {
		c, err := enterContextOf(arg, h, kind)
		if err != nil {
			return err
		}
		defer c.mu.Unlock()
		defer rescue(&err)
		return f(c)
	}(); err != nil {
		fail(fn, err)
		failed()
	}
}

// makeArray runs a request that makes a variable, whose reference goes to C.
func makeArray(fn string, ctx uintptr, f func(c *context) (*variable.Variable, error)) (h uintptr) {
	withContext(fn, ctx, func(c *context) (err error) {
		v, err := f(c)
		if err == nil {
			h, err = c.outArray(v)
		}
		return err
	}, func() { h = 0 })
	return h
}

// withArray runs a request on a variable.
func withArray(fn string, x uintptr, f func(c *context, v *variable.Variable) error, failed func()) {
	withContextOf(fn, "x", x, handle.Array, func(c *context) error {
		v, err := c.array("x", x)
		if err != nil {
			return err
		}
		return f(c, v)
	}, failed)
}

// arrayStatus runs a request on a variable that gives 0 or -1.
func arrayStatus(fn string, x uintptr, f func(c *context, v *variable.Variable) error) (rc int32) {
	withArray(fn, x, f, func() { rc = -1 })
	return rc
}

// arrayPredicate runs a request on a variable with the results 1, 0, and -1 for an error.
func arrayPredicate(fn string, x uintptr, f func(v *variable.Variable) bool) (is int32) {
	withArray(fn, x, func(_ *context, v *variable.Variable) error {
		if f(v) {
			is = 1
		}
		return nil
	}, func() { is = -1 })
	return is
}

// deriveArray runs a request that derives a variable from another one.
func deriveArray(fn string, x uintptr, f func(c *context, v *variable.Variable) (*variable.Variable, error)) (h uintptr) {
	withArray(fn, x, func(c *context, v *variable.Variable) error {
		w, err := f(c, v)
		if err == nil {
			h, err = c.outArray(w)
		}
		return err
	}, func() { h = 0 })
	return h
}

// firstHandle is the first of n handles, which determines the context.
func firstHandle(hs *uintptr, n int32) uintptr {
	if hs == nil || n <= 0 {
		return 0
	}
	return *hs
}

func poly_array_new(ctx uintptr, dtype int32, shape *int64, ndim int32, data unsafe.Pointer, nbytes uintptr) uintptr {
	return makeArray("poly_array_new", ctx, func(c *context) (*variable.Variable, error) {
		dt, s, err := c.memoryOf(dtype, shape, ndim, data != nil, nbytes)
		if err != nil {
			return nil, err
		}
		return c.vars.Fill(dt, s, func(b []byte) error {
			if data == nil {
				clear(b)
			} else {
				copy(b, unsafe.Slice((*byte)(data), nbytes))
			}
			return nil
		})
	})
}

func poly_array_share(ctx uintptr, dtype int32, shape *int64, ndim int32, data unsafe.Pointer, nbytes uintptr, token uint64) uintptr {
	return makeArray("poly_array_share", ctx, func(c *context) (*variable.Variable, error) {
		dt, s, err := c.memoryOf(dtype, shape, ndim, true, nbytes)
		if err != nil {
			return nil, err
		}
		if data == nil && nbytes > 0 {
			return nil, badArg("data", "is NULL, expected memory of %d bytes", nbytes)
		}
		return c.vars.ShareWithToken(dt, s, data, token)
	})
}

// memoryOf checks the type and the shape of an array and, of memory that is given, the size.
func (c *context) memoryOf(dtype int32, shape *int64, ndim int32, given bool, nbytes uintptr) (*uop.DType, uop.Shape, error) {
	dt, err := dtypeOf(dtype)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.sizes("shape", shape, ndim)
	if err != nil {
		return nil, nil, err
	}
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, nil, err
	}
	if want := n * int64(dt.Itemsize()); given && int64(nbytes) != want {
		return nil, nil, badArg("nbytes", "%d, expected %d for %s of shape %s", nbytes, want, dtypeName(dt), s)
	}
	return dt, s, nil
}

func poly_array_released(ctx uintptr, tokens *uint64, room int32) int32 {
	count := int32(-1)
	withContext("poly_array_released", ctx, func(c *context) error {
		if room < 0 || room > 0 && tokens == nil {
			return badArg("tokens", "room for %d at %p, expected 0 or more and its address", room, tokens)
		}
		c.released = append(c.released, c.vars.Released()...)
		n := min(int(room), len(c.released))
		for i, t := range c.released[:n] {
			unsafe.Slice(tokens, n)[i] = t
		}
		c.released = append(c.released[:0], c.released[n:]...)
		count = int32(n)
		return nil
	}, func() { count = -1 })
	return count
}

func poly_array_retain(x uintptr) uintptr {
	return deriveArray("poly_array_retain", x, func(_ *context, v *variable.Variable) (*variable.Variable, error) { return v.Retain(), nil })
}

func poly_array_release(x uintptr) {
	if c, err := enterContextOf("x", x, handle.Array); err == nil {
		c.releaseArray(x)
		c.mu.Unlock()
	}
}

func poly_array_release_n(xs *uintptr, n int32) {
	if n <= 0 || xs == nil {
		return
	}
	var c *context
	for _, x := range unsafe.Slice(xs, n) { // most are of one context
		if c == nil || !c.owns(x) {
			if c != nil {
				c.mu.Unlock()
			}
			if c, _ = enterContextOf("xs", x, handle.Array); c == nil {
				continue
			}
		}
		c.releaseArray(x)
	}
	if c != nil {
		c.mu.Unlock()
	}
}

func (c *context) owns(h uintptr) bool {
	e, err := handles.Get(handle.Token(h), handle.Array)
	return err == nil && e.Owner == any(c)
}

func poly_array_node(x uintptr) (h uintptr) {
	withArray("poly_array_node", x, func(c *context, v *variable.Variable) error {
		out, err := c.out(single(v.ExportNode()))
		h = out
		return err
	}, func() { h = 0 })
	return h
}

func poly_array_origin(x uintptr) (h uintptr) {
	withArray("poly_array_origin", x, func(c *context, v *variable.Variable) error {
		out, err := c.out(single(v.Origin()))
		h = out
		return err
	}, func() { h = 0 })
	return h
}

func poly_array_of(ctx, node uintptr, from *uintptr, n int32) uintptr {
	return makeArray("poly_array_of", ctx, func(c *context) (*variable.Variable, error) {
		u, err := c.arg("node", node)
		if err == nil {
			err = u.tensor("node")
		}
		if err != nil {
			return nil, err
		}
		vs, err := c.arrays("from", from, n)
		if err != nil {
			return nil, err
		}
		return c.vars.FromNode(u.Keep, vs...), nil
	})
}

func poly_array_describe(x uintptr, shape *int64, room int32, dtype *int32) (ndim int32) {
	withArray("poly_array_describe", x, func(c *context, v *variable.Variable) error {
		u := v.Node()
		writeSizes(u.Shape(), shape, room)
		if dtype != nil {
			*dtype = dtypeID(u.DType)
		}
		ndim = int32(len(u.Shape()))
		return nil
	}, func() { ndim = -1 })
	return ndim
}

func poly_array_call(ctx uintptr, number int32, args unsafe.Pointer, n int32, out *uintptr, room int32) int32 {
	count, err := callArrays(ctx, number, args, n, out, room)
	if err != nil {
		fail("poly_array_call", err)
		return -1
	}
	return count
}

// callArrays calls an operation on variables and returns the number of its results. It has no closures: they would cost as much as many an operation.
func callArrays(ctx uintptr, number int32, args unsafe.Pointer, n int32, out *uintptr, room int32) (count int32, err error) {
	c, err := enter(ctx)
	if err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	defer rescue(&err)
	op := must(operation(number))
	if room < 0 || room > 0 && out == nil {
		return 0, badArg("out", "room for %d results at %p, expected 0 or more and their address", room, out)
	}
	r := reader{c: c, rest: must(callArgs("args", args, n)), tensor: c.operand}
	k := c.vars.Call(op)
	defer k.End()
	c.arrayCall = k
	err = r.arguments(op, &k.Args)
	var results []*variable.Variable
	if err == nil {
		results, err = k.Results()
	}
	if err != nil {
		return 0, badArg("args", "%s: %w", titleOf(op), err)
	}
	if count = int32(len(results)); count > room {
		drop(results)
		return count, nil
	}
	if err := c.outArrays(results, out); err != nil {
		return 0, badArg("args", "%s: %w", titleOf(op), err)
	}
	return count, nil
}

func poly_array_binary(op int32, a, b uintptr) (h uintptr) {
	withContextOf("poly_array_binary", "a", a, handle.Array, func(c *context) error {
		x, err := c.array("a", a)
		if err != nil {
			return err
		}
		y, err := c.array("b", b)
		if err != nil {
			return err
		}
		v, err := c.vars.Apply(func(us []*uop.UOp) (*uop.UOp, error) {
			r, err := tensor.Binary(tensor.BinaryOp(op), us[0], us[1])
			return r, ofBinary(op, err)
		}, x, y)
		if err == nil {
			h, err = c.outArray(v)
		}
		return err
	}, func() { h = 0 })
	return h
}

// ofBinary adds the name of the operation to an error of its operands.
func ofBinary(op int32, err error) error {
	name := tensor.BinaryOp(op).String()
	if err == nil || name == "" {
		return err
	}
	return &argError{name, err}
}

func poly_array_binary_number(op int32, x uintptr, number unsafe.Pointer, reversed int32) uintptr {
	return deriveArray("poly_array_binary_number", x, func(c *context, v *variable.Variable) (*variable.Variable, error) {
		if z, is := complexNumber(number); is {
			return c.vars.Apply(func(us []*uop.UOp) (*uop.UOp, error) {
				x := us[0]
				y, err := tensor.ComplexNumber(c.g, z, x)
				if err != nil {
					return nil, err
				}
				if reversed != 0 {
					x, y = y, x
				}
				r, err := tensor.Binary(tensor.BinaryOp(op), x, y)
				return r, ofBinary(op, err)
			}, v)
		}
		n, err := numberOf("number", number)
		if err != nil {
			return nil, err
		}
		return c.vars.Apply(func(us []*uop.UOp) (*uop.UOp, error) {
			r, err := tensor.BinaryNumber(tensor.BinaryOp(op), us[0], n, reversed != 0)
			return r, ofBinary(op, err)
		}, v)
	})
}

// complexNumber reads a complex number, which takes two elements.
func complexNumber(number unsafe.Pointer) (z complex128, is bool) {
	if number == nil || (*callArg)(number).kind != callComplex {
		return 0, false
	}
	return unsafe.Slice((*callArg)(number), 2)[1].complex(), true
}

// numberOf reads a number.
func numberOf(arg string, number unsafe.Pointer) (uop.Const, error) {
	if number == nil {
		return uop.Const{}, badArg(arg, "is NULL, expected a number")
	}
	r := reader{rest: unsafe.Slice((*callArg)(number), 1)}
	switch k := r.rest[0].kind; k {
	case callBool, callInt, callUint, callFloat:
	default:
		return uop.Const{}, badArg(arg, "kind %d, expected a bool, an integer or a float", k)
	}
	v, err := r.read(arg, 0)
	switch v := v.(type) {
	case bool:
		return uop.BoolConst(v), err
	case int64:
		return uop.Int(v), err
	case float64:
		return uop.Float(v), err
	}
	return v.(uop.Const), err
}

func poly_array_realize(xs *uintptr, n int32) (rc int32) {
	if n == 0 {
		return 0
	}
	withContextOf("poly_array_realize", "xs", firstHandle(xs, n), handle.Array, func(c *context) error {
		vs, err := c.arrays("xs", xs, n)
		if err != nil {
			return err
		}
		return c.vars.Realize(vs...)
	}, func() { rc = -1 })
	return rc
}

// startJob makes a job. start begins the work, and calls done when the kernels have run.
func (c *context) startJob(start func(done func(*variable.Job)) error) (h uintptr, err error) {
	j := &job{ctx: c, done: make(chan struct{})}
	if j.entry, err = handles.New(handle.Job, c, j); err != nil {
		return 0, err
	}
	before := c.pending
	err = start(func(run *variable.Job) {
		defer close(j.done)
		if before != nil {
			<-before
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		j.err = run.End()
	})
	if err != nil {
		handles.Drop(j.entry)
		return 0, err
	}
	c.jobs[j] = struct{}{}
	return uintptr(j.entry.Token()), nil
}

func poly_array_realize_async(ctx uintptr, xs *uintptr, n int32) (h uintptr) {
	withContext("poly_array_realize_async", ctx, func(c *context) error {
		vs, err := c.arrays("xs", xs, n)
		if err == nil {
			h, err = c.startJob(func(done func(*variable.Job)) error {
				_, err := c.vars.Start(vs, done)
				return err
			})
		}
		return err
	}, func() { h = 0 })
	return h
}

func poly_array_memory() int64 { return variable.InUse() }

func poly_array_is_computed(x uintptr) int32 {
	return arrayPredicate("poly_array_is_computed", x, (*variable.Variable).IsComputed)
}

func poly_array_is_view(x uintptr) int32 {
	return arrayPredicate("poly_array_is_view", x, (*variable.Variable).IsView)
}

func poly_array_read(x uintptr, out unsafe.Pointer, nbytes uintptr) int32 {
	return arrayStatus("poly_array_read", x, func(_ *context, v *variable.Variable) (err error) {
		readErr := v.Read(func(b []byte) {
			switch {
			case len(b) != int(nbytes):
				err = badArg("nbytes", "%d, expected the %d of the elements", nbytes, len(b))
			case out == nil && nbytes > 0:
				err = badArg("out", "is NULL, expected memory of %d bytes", nbytes)
			default:
				copy(unsafe.Slice((*byte)(out), nbytes), b)
			}
		})
		if readErr != nil {
			return readErr
		}
		return err
	})
}

// ofView is the result of poly_array_fetch for a view.
const ofView = -2

func poly_array_fetch(x uintptr) (number int32) {
	failed := arrayStatus("poly_array_fetch", x, func(_ *context, v *variable.Variable) (err error) {
		number, err = v.Fetch()
		if errors.Is(err, variable.ErrNotWhole) {
			number, err = ofView, nil
		}
		return err
	})
	if failed != 0 {
		return -1
	}
	return number
}

func poly_array_fetched(ctx uintptr, number int32) int32 {
	return status("poly_array_fetched", ctx, func(c *context) error { return c.vars.Fetched(number) })
}

func poly_array_pin(x uintptr, data *unsafe.Pointer, strides *int64, room int32, writable *int32) (h uintptr) {
	withArray("poly_array_pin", x, func(c *context, v *variable.Variable) error {
		if data == nil {
			return badArg("data", "is NULL, expected memory of a pointer")
		}
		if n := len(v.Node().Shape()); room < 0 || int(room) < n && strides != nil {
			return badArg("strides", "room for %d, expected %d", room, n)
		}
		layout, p, err := v.Pin()
		if err != nil {
			return err
		}
		e, err := handles.New(handle.Pin, nil, p)
		if err != nil {
			p.Free()
			return err
		}
		store(data, layout.Data)
		if strides != nil {
			for i, n := range layout.Strides {
				unsafe.Slice(strides, room)[i] = n
			}
		}
		if writable != nil {
			*writable = 1
			if layout.Copy {
				*writable = 0
			}
		}
		h = uintptr(e.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_array_unpin(pin uintptr) {
	if e, err := handles.Get(handle.Token(pin), handle.Pin); err == nil && handles.Drop(e) {
		e.Value.(*variable.Pin).Free()
	}
}

// operandFor is the operand p, an array or a number, which becomes an array of the type of v. done releases it.
func (c *context) operandFor(arg string, v *variable.Variable, p unsafe.Pointer) (x *variable.Variable, done func(), err error) {
	if p == nil {
		return nil, nil, badArg(arg, "is NULL, expected an array or a number")
	}
	if a := (*callArg)(p); a.kind == callTensor {
		x, err = c.array(arg, uintptr(a.word))
		return x, func() {}, err
	}
	if z, is := complexNumber(p); is {
		x, err = v.ComplexLike(z)
		return x, func() { x.Drop() }, err
	}
	n, err := numberOf(arg, p)
	if err != nil {
		return nil, nil, err
	}
	if x, err = v.ScalarLike(n); err != nil {
		return nil, nil, err
	}
	return x, x.Drop, nil
}

func poly_array_assign(x uintptr, to unsafe.Pointer) int32 {
	return arrayStatus("poly_array_assign", x, func(c *context, v *variable.Variable) error {
		w, done, err := c.operandFor("value", v, to)
		if err != nil {
			return err
		}
		defer done()
		return v.Assign(w)
	})
}

func poly_array_update(x uintptr, to unsafe.Pointer) int32 {
	return arrayStatus("poly_array_update", x, func(c *context, v *variable.Variable) error {
		w, done, err := c.operandFor("value", v, to)
		if err != nil {
			return err
		}
		defer done()
		return v.Update(w)
	})
}

func poly_array_assign_n(targets, values *uintptr, n int32) (rc int32) {
	if n == 0 {
		return 0
	}
	withContextOf("poly_array_assign_n", "targets", firstHandle(targets, n), handle.Array, func(c *context) error {
		to, err := c.arrays("targets", targets, n)
		if err != nil {
			return err
		}
		news, err := c.arrays("values", values, n)
		if err != nil {
			return err
		}
		return c.vars.AssignAll(to, news)
	}, func() { rc = -1 })
	return rc
}

func poly_array_set(x uintptr, args unsafe.Pointer, n int32, to unsafe.Pointer) int32 {
	return arrayStatus("poly_array_set", x, func(c *context, v *variable.Variable) error {
		given, err := callArgs("items", args, n)
		if err != nil {
			return err
		}
		var from []*variable.Variable
		r := reader{c: c, rest: given, tensor: func(arg string, h uintptr) (*uop.UOp, error) {
			w, err := c.array(arg, h)
			if err != nil {
				return nil, err
			}
			from = append(from, w)
			return w.Node(), nil
		}}
		var index []tensor.Index
		for i := 0; len(r.rest) > 0; i++ {
			item, err := r.index("items")
			if err != nil {
				return insideElement("items", i, err)
			}
			index = append(index, item)
		}
		w, done, err := c.operandFor("value", v, to)
		if err != nil {
			return err
		}
		defer done()
		return v.Set(w, index, from...)
	})
}

func poly_array_replace(x, by uintptr) int32 {
	return arrayStatus("poly_array_replace", x, func(c *context, v *variable.Variable) error {
		w, err := c.array("by", by)
		if err != nil {
			return err
		}
		return v.Replace(w)
	})
}

func poly_array_detach(x uintptr) uintptr {
	return deriveArray("poly_array_detach", x, func(_ *context, v *variable.Variable) (*variable.Variable, error) { return v.Detach() })
}

func poly_array_to(x uintptr, device int32) uintptr {
	return deriveArray("poly_array_to", x, func(_ *context, v *variable.Variable) (*variable.Variable, error) {
		if _, err := deviceExecutor(device); err != nil {
			return nil, err
		}
		return v.To(devices[device].backend)
	})
}

func poly_array_move(x uintptr, device int32) int32 {
	return arrayStatus("poly_array_move", x, func(_ *context, v *variable.Variable) error {
		if _, err := deviceExecutor(device); err != nil {
			return err
		}
		return v.Move(devices[device].backend)
	})
}

func poly_array_gpu_buffer(x uintptr) (buffer int64) {
	withArray("poly_array_gpu_buffer", x, func(_ *context, v *variable.Variable) error {
		b, err := v.LendBuffer()
		buffer = int64(b)
		return err
	}, func() { buffer = 0 })
	return buffer
}

func poly_array_of_gpu_buffer(ctx uintptr, dtype int32, shape *int64, ndim int32, buffer, offset, room int64) uintptr {
	return makeArray("poly_array_of_gpu_buffer", ctx, func(c *context) (*variable.Variable, error) {
		dt, s, err := c.memoryOf(dtype, shape, ndim, false, 0)
		if err != nil {
			return nil, err
		}
		if buffer == 0 {
			return nil, badArg("buffer", "is 0, expected a buffer")
		}
		return c.vars.AdoptBuffer(dt, s, exec.GPU, uintptr(buffer), offset, room)
	})
}

func poly_array_device(x uintptr) int32 {
	device := int32(-1)
	arrayStatus("poly_array_device", x, func(c *context, v *variable.Variable) error {
		device = deviceNumber(cmp.Or(v.Device(), c.device))
		return nil
	})
	return device
}

func poly_array_clone(x uintptr) uintptr {
	return deriveArray("poly_array_clone", x, func(_ *context, v *variable.Variable) (*variable.Variable, error) { return v.Clone() })
}
