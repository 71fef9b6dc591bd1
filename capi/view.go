package main

import (
	"polygrad/core/draw"
	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/report"
)

func poly_view_graph(ctx uintptr, roots *uintptr, n, view int32) (text *byte) {
	withContext("poly_view_graph", ctx, func(c *context) error {
		check(knownView(view))
		vs := must(c.args("roots", roots, n))
		if len(vs) == 0 {
			return badArg("n", "%d, expected 1 or more", n)
		}
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			us[i] = v.Keep
		}
		if f := draw.Format(view); f == report.Code {
			text = cString(draw.List(us...))
		} else {
			text = cString(must(draw.Nodes(us...).In(f)))
		}
		return nil
	}, func() {})
	return text
}

func poly_view_kernels(ctx uintptr, values *uintptr, n int32, targets, updates *uintptr, nUpdates, runs, view int32) (text *byte) {
	withContext("poly_view_kernels", ctx, func(c *context) error {
		sink := must(c.viewed(values, n, targets, updates, nUpdates))
		text = must(c.viewSink(sink, runs, view))
		return nil
	}, func() {})
	return text
}

// viewSink describes the kernels of a program.
func (c *context) viewSink(sink *uop.UOp, runs, view int32) (*byte, error) {
	if err := knownView(view); err != nil {
		return nil, err
	}
	e, err := c.executor()
	if err != nil {
		return nil, err
	}
	c.waitJobs()
	r, err := e.Inspect(sink, func(buffers []*uop.UOp) []exec.Binding { return c.hosts(buffers, e.OwnMemory()) }, int(runs))
	if err != nil {
		return nil, err
	}
	s, err := r.In(draw.Format(view))
	if err != nil {
		return nil, err
	}
	return cString(s), nil
}

// knownView checks a PolyView.
func knownView(view int32) error {
	if view < 0 || draw.Format(view) > report.Code {
		return badArg("view", "%d, expected 0 (text), 1 (JSON), 2 (DOT), 3 (SVG) or 4 (code)", view)
	}
	return nil
}

// viewed is the program of poly_update. Its results have buffers without memory.
func (c *context) viewed(values *uintptr, n int32, targets, updates *uintptr, nUpdates int32) (*uop.UOp, error) {
	vs, err := c.args("values", values, n)
	if err != nil {
		return nil, err
	}
	ts, err := c.args("targets", targets, nUpdates)
	if err != nil {
		return nil, err
	}
	us, err := c.args("updates", updates, nUpdates)
	if err != nil {
		return nil, err
	}
	if len(vs)+len(ts) == 0 {
		return nil, badArg("n", "0 values and 0 updates, expected 1 or more")
	}
	var src []*uop.UOp
	for i, v := range vs {
		if err := v.tensor("values"); err != nil {
			return nil, atElement(i, err)
		}
		value := v.Keep.Packed()
		n, err := tensor.MostElements(value.Shape())
		if err != nil {
			return nil, atElement(i, err)
		}
		if n == 0 {
			continue
		}
		u, err := tensor.Beginning(c.g.NewBuffer(tensor.DeviceName, n, value.DType), value.Shape())
		if err != nil {
			return nil, atElement(i, err)
		}
		into, err := tensor.Store(u, v.For(u).Packed())
		if err != nil {
			return nil, atElement(i, err)
		}
		src = append(src, into)
	}
	assigns := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		if assigns[i], err = tensor.AssignTo(t.Keep, us[i].For(t.Keep)); err != nil {
			return nil, err
		}
	}
	return c.g.Sink(nil, append(src, schedule.Simultaneous(assigns)...)...), nil
}

// hosts binds buffers to their memory, for a device that has memory of its own if own is set.
func (c *context) hosts(buffers []*uop.UOp, own bool) []exec.Binding {
	var out []exec.Binding
	for _, b := range buffers {
		if h, ok := c.host[b]; ok {
			out = append(out, exec.Binding{Buffer: b, Ptr: h.data, Bytes: int64(h.nbytes)})
		} else if bound, ok, err := c.vars.Memory(b, own); err == nil && ok {
			out = append(out, bound)
		}
	}
	return out
}
