package main

import (
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model"
)

// A zooModel is the object of a PolyModel: a family of ours, or functions of the caller.
type zooModel struct {
	entry  *handle.Entry
	ctx    *context
	module *model.Module // nil for a forward of the caller
	params []zooParam

	forward, release, user unsafe.Pointer
}

// zooParam is a parameter, with a reference to its node.
type zooParam struct {
	name *byte
	leaf leaf
	data []float32 // nil for the caller's own
}

// kinds are the constructors registered by callers.
var kinds struct {
	sync.Mutex
	create map[string]unsafe.Pointer
}

func poly_model_register(kind *byte, create unsafe.Pointer) {
	if kind == nil {
		fail("poly_model_register", badArg("kind", "is NULL"))
		return
	}
	kinds.Lock()
	defer kinds.Unlock()
	if kinds.create == nil {
		kinds.create = map[string]unsafe.Pointer{}
	}
	if create == nil {
		delete(kinds.create, goString(kind))
	} else {
		kinds.create[goString(kind)] = create
	}
}

// add makes the handle of a model in its context, which is locked.
func (m *zooModel) add() (uintptr, error) {
	var err error
	if m.entry, err = handles.New(handle.Model, m.ctx, m); err != nil {
		m.end()
		return 0, err
	}
	if m.ctx.models == nil {
		m.ctx.models = map[*zooModel]struct{}{}
	}
	m.ctx.models[m] = struct{}{}
	return uintptr(m.entry.Token()), nil
}

// end drops everything that the model holds. The context is locked.
func (m *zooModel) end() {
	m.ctx.waitJobs()
	for _, p := range m.params {
		cFree(unsafe.Pointer(p.name))
		if m.ctx.dead {
			continue
		}
		if p.data != nil {
			delete(m.ctx.host, p.leaf.v.host)
		}
		m.ctx.release(p.leaf.h)
	}
	m.params = nil
	if m.module != nil {
		m.module.Free()
	}
}

// param is the index of a parameter, -1 if there is none of that name.
func (m *zooModel) param(name string) int {
	for i, p := range m.params {
		if goString(p.name) == name {
			return i
		}
	}
	return -1
}

func (m *zooModel) addParam(name string, v value, data []float32) error {
	h, err := m.ctx.out(v)
	if err == nil {
		m.params = append(m.params, zooParam{cString(name), leaf{v, h}, data})
	}
	return err
}

func poly_model_create(ctx uintptr, kind *byte, config uintptr) (h uintptr) {
	const fn = "poly_model_create"
	if kind == nil {
		fail(fn, badArg("kind", "is NULL"))
		return 0
	}
	name := goString(kind)
	kinds.Lock()
	create := kinds.create[name]
	kinds.Unlock()
	if create != nil {
		h = callCreate(create, ctx, config)
		e, err := handles.Get(handle.Token(h), handle.Model)
		if err != nil || uintptr(e.Value.(*zooModel).ctx.entry.Token()) != ctx {
			fail(fn, badArg("kind", "the constructor of %q made no model of this context", name))
			return 0
		}
		return h
	}
	c := model.NewConfig()
	if config != 0 {
		e, err := handles.Get(handle.Token(config), handle.ModelConfig)
		if err != nil {
			fail(fn, &argError{"config", err})
			return 0
		}
		from := e.Value.(*modelConfig)
		from.mu.Lock()
		c = from.Clone()
		from.mu.Unlock()
	}
	withContext(fn, ctx, func(in *context) error {
		module := must(model.NewModule(name, c))
		m := &zooModel{ctx: in, module: module}
		for _, p := range module.Params() {
			v, err := in.hostBuffer(uop.Float32, uop.ShapeOf(p.Shape...), unsafe.Pointer(unsafe.SliceData(p.Data)), uintptr(len(p.Data)*float32Size))
			if err == nil {
				err = m.addParam(p.Name, v, p.Data)
			}
			if err != nil {
				m.end()
				return err
			}
		}
		h = must(m.add())
		return nil
	}, func() {})
	return h
}

func poly_model_new(ctx uintptr, forward, user, release unsafe.Pointer) (h uintptr) {
	withContext("poly_model_new", ctx, func(c *context) error {
		if forward == nil {
			return badArg("forward", "is NULL")
		}
		var err error
		h, err = (&zooModel{ctx: c, forward: forward, user: user, release: release}).add()
		return err
	}, func() {})
	return h
}

// withModel runs a request on a model, in its context.
func withModel(fn string, h uintptr, f func(m *zooModel) error, failed func()) {
	m, err := objectOf[*zooModel]("model", h, handle.Model)
	if err != nil {
		fail(fn, err)
		failed()
		return
	}
	withContext(fn, uintptr(m.ctx.entry.Token()), func(*context) error {
		return f(must(objectOf[*zooModel]("model", h, handle.Model)))
	}, failed)
}

func poly_model_add_parameter(h uintptr, name *byte, node uintptr) (rc int32) {
	withModel("poly_model_add_parameter", h, func(m *zooModel) error {
		switch {
		case m.module != nil:
			return badArg("model", "has its own parameters")
		case name == nil:
			return badArg("name", "is NULL")
		case m.param(goString(name)) >= 0:
			return badArg("name", "there is a parameter %q already", goString(name))
		}
		v := must(m.ctx.arg("node", node))
		return m.addParam(goString(name), v, nil)
	}, func() { rc = -1 })
	return rc
}

func poly_model_free(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Model)
	if err != nil {
		return
	}
	m := e.Value.(*zooModel)
	m.ctx.mu.Lock()
	mine := handles.Drop(e)
	if mine {
		delete(m.ctx.models, m)
		m.end()
	}
	m.ctx.mu.Unlock()
	if mine {
		m.released()
	}
}

// released notifies the caller that a model ended. The context is not locked.
func (m *zooModel) released() {
	if m.release != nil {
		callRelease(m.release, m.user)
	}
}

func poly_model_forward(h uintptr, inputs *uintptr, n int32, nOut *int32) (out unsafe.Pointer) {
	const fn = "poly_model_forward"
	if nOut != nil {
		*nOut = 0
	}
	var m *zooModel
	var count int32
	withModel(fn, h, func(of *zooModel) error {
		vs := must(of.ctx.args("inputs", inputs, n))
		if of.module == nil {
			m = of
			return nil
		}
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			check(v.tensor(indexed("inputs", i)))
			us[i] = v.Keep
		}
		outs := must(of.apply(us))
		out, count = cMalloc(uintptr(8*len(outs)+1)), int32(len(outs))
		return of.ctx.outAll(outs, unsafe.Slice((*uintptr)(out), len(outs)))
	}, func() {
		cFree(out)
		out = nil
	})
	if m != nil { // without the lock: the function calls the library
		out = callForward(m.forward, h, m.user, unsafe.Pointer(inputs), n, &count)
		switch {
		case out == nil:
			fail(fn, badArg("model", "its forward function gave no outputs"))
		case count < 0:
			fail(fn, badArg("model", "its forward function gave %d outputs", count))
			cFree(out)
			out = nil
		}
	}
	if nOut != nil && out != nil {
		*nOut = count
	}
	return out
}

// apply writes the formulas of a module in its context.
func (m *zooModel) apply(inputs []*uop.UOp) ([]value, error) {
	byName := map[string]*uop.UOp{}
	for _, p := range m.params {
		byName[goString(p.name)] = p.leaf.v.Keep
	}
	us, err := m.module.Apply(inputs, func(p *model.Buffer) *uop.UOp { return byName[p.Name] })
	if err != nil {
		return nil, err
	}
	out := make([]value, len(us))
	for i, u := range us {
		if u.DType != uop.Float32 {
			if u, err = tensor.Cast(u, uop.Float32); err != nil {
				return nil, err
			}
		}
		out[i] = single(u)
	}
	return out, nil
}

// named runs a request on a parameter of a model.
func named(fn string, h uintptr, name *byte, f func(m *zooModel, p zooParam) error) {
	withModel(fn, h, func(m *zooModel) error {
		if name == nil {
			return badArg("name", "is NULL")
		}
		i := m.param(goString(name))
		if i < 0 {
			return badArg("name", "the model has no parameter %q", goString(name))
		}
		return f(m, m.params[i])
	}, func() {})
}

func poly_model_parameter(h uintptr, name *byte) (node uintptr) {
	named("poly_model_parameter", h, name, func(m *zooModel, p zooParam) error {
		t, err := m.ctx.out(p.leaf.v)
		node = t
		return err
	})
	return node
}

func poly_model_parameter_data(h uintptr, name *byte, numel *int64) (data *float32) {
	if numel != nil {
		*numel = 0
	}
	named("poly_model_parameter_data", h, name, func(_ *zooModel, p zooParam) error {
		if p.data == nil {
			return badArg("name", "%q was made by the caller, who has its memory", goString(name))
		}
		if numel != nil {
			*numel = int64(len(p.data))
		}
		data = unsafe.SliceData(p.data)
		return nil
	})
	return data
}

func poly_model_parameter_count(h uintptr) (n int32) {
	withModel("poly_model_parameter_count", h, func(m *zooModel) error {
		n = int32(len(m.params))
		return nil
	}, func() { n = -1 })
	return n
}

func poly_model_parameter_name(h uintptr, i int32) (name *byte) {
	withModel("poly_model_parameter_name", h, func(m *zooModel) error {
		if i < 0 || int(i) >= len(m.params) {
			return badArg("i", "%d is out of range, the model has %d parameters", i, len(m.params))
		}
		name = m.params[i].name
		return nil
	}, func() {})
	return name
}
