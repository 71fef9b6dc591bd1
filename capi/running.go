package main

import (
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// executors are shared by all contexts, one for each device, so a kernel is compiled once.
var executors struct {
	sync.Mutex
	byName map[string]*exec.Executor
}

// executor opens a device; "" is that of the environment.
func executor(name string) (*exec.Executor, error) {
	name = exec.Named(name)
	executors.Lock()
	defer executors.Unlock()
	if e := executors.byName[name]; e != nil {
		return e, nil
	}
	e, err := exec.Open(name)
	if err != nil {
		return nil, err
	}
	if executors.byName == nil {
		executors.byName = map[string]*exec.Executor{}
	}
	executors.byName[name] = e
	return e, nil
}

// executor is the executor of the context's device.
func (c *context) executor() (*exec.Executor, error) { return executor(c.device) }

// anyExecutor is the executor of the device that an array was put on, "" for none.
func (c *context) anyExecutor(device string) (*exec.Executor, error) {
	if device == "" {
		device = c.device
	}
	return executor(device)
}

// executorOf is the executor of a device, or of the context's device if it has no name.
func (c *context) executorOf(device string) (*exec.Executor, error) {
	if device == chosen {
		return c.executor()
	}
	return executor(device)
}

func poly_cpu_cache_flush() { flushExecutors() }

func poly_sched_cache_flush() { flushExecutors() }

func flushExecutors() {
	executors.Lock()
	defer executors.Unlock()
	for _, e := range executors.byName {
		e.Flush()
	}
}

// run computes a sink. Unbound buffers use their host memory.
func (c *context) run(sink *uop.UOp, binds []exec.Binding, vars map[string]int64) error {
	e, err := c.executor()
	if err != nil {
		return err
	}
	s, err := e.Prepare(sink)
	if err != nil {
		return err
	}
	return c.execute(s, binds, vars)
}

// withHost adds the memory of host buffers to bindings; of two bindings the first counts.
func (c *context) withHost(s *exec.Step, binds []exec.Binding) []exec.Binding {
	c.allBinds = append(c.allBinds[:0], binds...)
	for _, b := range s.Buffers() {
		if h, ok := c.host[b]; ok {
			c.allBinds = append(c.allBinds, exec.Binding{Buffer: b, Ptr: h.data, Bytes: int64(h.nbytes)})
		} else if bound, ok, err := c.vars.Memory(b, s.OwnMemory()); err == nil && ok {
			c.allBinds = append(c.allBinds, bound)
		}
	}
	return c.allBinds
}

// baseBuffer is the BUFFER under a node that is one, perhaps reshaped or of a variable size.
func baseBuffer(arg string, u *uop.UOp) (*uop.UOp, error) {
	if b := tensor.BaseBuffer(u); b != nil {
		return b, nil
	}
	return nil, badArg(arg, "is a %s, expected a buffer or a reshaped one", u.Op)
}

// buffersOf are the buffers behind handles from C.
func (c *context) buffersOf(arg string, list *uintptr, n int32) ([]*uop.UOp, error) {
	vs, err := c.args(arg, list, n)
	if err != nil {
		return nil, err
	}
	buffers := make([]*uop.UOp, len(vs))
	for i, v := range vs {
		if buffers[i], err = baseBuffer(indexed(arg, i), v.Keep); err != nil {
			return nil, err
		}
	}
	return buffers, nil
}

func poly_store_val(ctx, buf, val uintptr) uintptr {
	return buildNode("poly_store_val", ctx, func(c *context) (value, error) {
		t := must(c.arg("buf", buf))
		v := must(c.arg("value", val))
		s, err := tensor.Store(t.Keep, v.For(t.Keep))
		return single(s), err
	})
}

func poly_assign(ctx, target, val uintptr) uintptr {
	return buildNode("poly_assign", ctx, func(c *context) (value, error) {
		t := must(c.arg("target", target))
		v := must(c.arg("value", val))
		a, err := tensor.AssignTo(t.Keep, v.For(t.Keep))
		return single(a), err
	})
}

func poly_sink1(ctx, s uintptr) uintptr {
	return buildNode("poly_sink1", ctx, func(c *context) (value, error) {
		v := must(c.arg("store", s))
		return c.sink([]value{v})
	})
}

func poly_sink_n(ctx uintptr, stores *uintptr, n int32) uintptr {
	return buildNode("poly_sink_n", ctx, func(c *context) (value, error) {
		vs := must(c.args("stores", stores, n))
		return c.sink(vs)
	})
}

func (c *context) sink(stores []value) (value, error) {
	src := make([]*uop.UOp, len(stores))
	for i, v := range stores {
		if v.Keep.Op != uop.Store && v.Keep.Op != uop.Assign {
			return value{}, badArg(indexed("stores", i), "is a %s, expected a STORE or an ASSIGN", v.Keep.Op)
		}
		src[i] = v.Keep
	}
	return single(c.g.Sink(nil, src...)), nil
}

// sinkArg is an argument that is a program.
func (c *context) sinkArg(h uintptr) (*uop.UOp, error) {
	v, err := c.arg("sink", h)
	if err != nil {
		return nil, err
	}
	if v.Keep.Op != uop.Sink {
		return nil, badArg("sink", "is a %s, expected a SINK (poly_sink1, poly_sink_n)", v.Keep.Op)
	}
	return v.Keep, nil
}

// word reads the n-th 8 bytes of an array of records.
func word(p unsafe.Pointer, n int) uintptr { return *(*uintptr)(unsafe.Add(p, 8*n)) }

// records checks the count and the address of an array of records. Readers allocate as they read: a count that is too large ends at
// the first invalid record.
func records(arg string, p unsafe.Pointer, n int32) error {
	switch {
	case n < 0:
		return badArg(arg, "%d records, expected 0 or more", n)
	case n > 0 && p == nil:
		return badArg(arg, "is NULL, expected %d records", n)
	}
	return nil
}

// bindings reads PolyBufferBinding records of either layout; the next call reuses the result. A record begins with buffer and
// pointer; old ones are 16 bytes long and new ones 32, with a byte count as third word. From two records on, the third word
// distinguishes them: it is a handle or a count.
func (c *context) bindings(p unsafe.Pointer, n int32) ([]exec.Binding, error) {
	if err := records("binds", p, n); err != nil {
		return nil, err
	}
	words := 4
	if n > 1 && handle.Looks(handle.Token(word(p, 2))) {
		words = 2
	}
	out := c.bindsBuf[:0]
	for i := range int(n) {
		v, err := c.arg("binds", word(p, i*words))
		if err != nil {
			return nil, atElement(i, err)
		}
		b, err := baseBuffer("binds", v.Keep)
		if err != nil {
			return nil, atElement(i, err)
		}
		bound := exec.Binding{Buffer: b, Ptr: *(*unsafe.Pointer)(unsafe.Add(p, 8*(i*words+1)))}
		if n > 1 && words == 4 {
			bound.Bytes = int64(word(p, i*words+2))
		}
		out = append(out, bound)
	}
	c.bindsBuf = out
	return out, nil
}

// variables reads PolyVarBinding records: a node and an int32, 16 bytes.
func (c *context) variables(p unsafe.Pointer, n int32) (map[string]int64, error) {
	if err := records("vars", p, n); err != nil || n == 0 {
		return nil, err
	}
	out := map[string]int64{}
	for i := range int(n) {
		name := indexed("vars", i)
		v, err := c.arg(name, word(p, 2*i))
		if err != nil {
			return nil, err
		}
		u := v.Keep
		for u.Op == uop.Bind || u.Op == uop.Cast {
			u = u.Src[0]
		}
		if u.Op != uop.DefineVar {
			return nil, badArg(name, "is a %s, expected a variable", u.Op)
		}
		a := u.Arg.(uop.VarArg)
		k := int64(*(*int32)(unsafe.Add(p, 16*i+8)))
		if c := uop.Int(k); c.Less(a.Min) || a.Max.Less(c) {
			return nil, badArg(name, "%d is outside of %s", k, a)
		}
		out[a.Name] = k
	}
	return out, nil
}

func realize(fn string, ctx, sink uintptr, binds unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) int32 {
	return status(fn, ctx, func(c *context) error {
		s := must(c.sinkArg(sink))
		b := must(c.bindings(binds, n))
		v := must(c.variables(vars, nVars))
		return c.run(s, b, v)
	})
}

func poly_realize(ctx, sink uintptr, binds unsafe.Pointer, n int32) int32 {
	return realize("poly_realize", ctx, sink, binds, n, nil, 0)
}

func poly_realize_ex(ctx, sink uintptr, binds unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) int32 {
	return realize("poly_realize_ex", ctx, sink, binds, n, vars, nVars)
}

func poly_realize_flat(ctx, sink uintptr, buffers *uintptr, datas *unsafe.Pointer, n int32) int32 {
	return status("poly_realize_flat", ctx, func(c *context) error {
		s := must(c.sinkArg(sink))
		bs := must(c.buffersOf("buffers", buffers, n))
		if n > 0 && datas == nil {
			return badArg("datas", "is NULL, expected %d pointers", n)
		}
		binds := make([]exec.Binding, len(bs))
		for i, b := range bs {
			binds[i] = exec.Binding{Buffer: b, Ptr: unsafe.Slice(datas, n)[i]}
		}
		return c.run(s, binds, nil)
	})
}

// beginBinds is the list that poly_realize_begin starts.
type beginBinds struct {
	binds []exec.Binding
	err   error // the first bind that failed
}

func poly_realize_begin(ctx uintptr) {
	if c, err := enter(ctx); err == nil {
		c.beginBinds = beginBinds{}
		c.mu.Unlock()
	}
}

func poly_realize_bind(ctx, buffer uintptr, data unsafe.Pointer) {
	c, err := enter(ctx)
	if err != nil {
		return
	}
	defer c.mu.Unlock()
	v, err := c.arg("buffer", buffer)
	if err == nil {
		var b *uop.UOp
		if b, err = baseBuffer("buffer", v.Keep); err == nil {
			c.beginBinds.binds = append(c.beginBinds.binds, exec.Binding{Buffer: b, Ptr: data})
		}
	}
	if c.beginBinds.err == nil {
		c.beginBinds.err = err
	}
}

func poly_realize_exec(ctx, sink uintptr) int32 {
	return status("poly_realize_exec", ctx, func(c *context) error {
		list := c.beginBinds
		c.beginBinds = beginBinds{}
		if list.err != nil {
			return list.err
		}
		s := must(c.sinkArg(sink))
		return c.run(s, list.binds, nil)
	})
}
