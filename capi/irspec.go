package main

import (
	"slices"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model"
)

// irSpec is PolyIrSpec.
type irSpec struct {
	ctx      uintptr
	buffers  *irBuffer
	entries  *irEntry
	nBuffers int32
	nEntries int32
}

// irBuffer is PolyIrBuffer.
type irBuffer struct {
	name   *byte
	role   int32
	ndim   int32
	shape  [maxOutDims]int64
	buffer uintptr
}

// irEntry is PolyIrEntry.
type irEntry struct {
	name *byte
	sink uintptr
}

// definition is the graph that a spec names.
func (c *context) definition(s *irSpec) (*model.Definition, error) {
	switch {
	case s.nBuffers < 0 || s.nBuffers > 0 && s.buffers == nil:
		return nil, badArg("spec", "%d buffers at NULL", s.nBuffers)
	case s.nEntries < 0 || s.nEntries > 0 && s.entries == nil:
		return nil, badArg("spec", "%d entries at NULL", s.nEntries)
	}
	d := &model.Definition{Graph: c.g}
	named := map[*uop.UOp]bool{}
	for i, b := range unsafe.Slice(s.buffers, s.nBuffers) {
		at := indexed("spec.buffers", i)
		switch {
		case b.name == nil:
			return nil, badArg(at, "has no name")
		case b.role < int32(model.Param) || b.role > int32(model.Aux):
			return nil, badArg(at, "role %d, expected 0 to %d", b.role, model.Aux)
		case b.ndim < 0 || b.ndim > maxOutDims:
			return nil, badArg(at, "%d dimensions, expected 0 to %d", b.ndim, maxOutDims)
		}
		v := model.Variable{Name: goString(b.name), Role: model.Role(b.role), Shape: slices.Clone(b.shape[:b.ndim])}
		count, err := tensor.MostElements(uop.ShapeOf(v.Shape...))
		if err != nil {
			return nil, &argError{at, err}
		}
		if b.buffer != 0 {
			x, err := c.arg(at, b.buffer)
			if err != nil {
				return nil, err
			}
			if v.Node, err = baseBuffer(at, x.Keep); err != nil {
				return nil, err
			}
			if v.Node.DType != uop.Float32 || tensor.Elements(v.Node) != count {
				return nil, badArg(at, "is %s of %d elements, expected float of %d", v.Node.DType, tensor.Elements(v.Node), count)
			}
			named[v.Node] = true
		}
		d.Variables = append(d.Variables, v)
	}
	for i, e := range unsafe.Slice(s.entries, s.nEntries) {
		at := indexed("spec.entries", i)
		if e.name == nil {
			return nil, badArg(at, "has no name")
		}
		x, err := c.arg(at, e.sink)
		if err != nil {
			return nil, err
		}
		if x.Keep.Op != uop.Sink {
			return nil, badArg(at, "is a %s, expected a SINK (poly_sink1, poly_sink_n)", x.Keep.Op)
		}
		if u := x.Keep.Find(func(u *uop.UOp) bool { return u.Op == uop.Buffer && !named[u] }); u != nil {
			return nil, badArg(at, "uses a buffer of %s elements that has no name", u.Arg)
		}
		d.Entries = append(d.Entries, model.Entry{Name: goString(e.name), Sink: x.Keep})
	}
	return d, nil
}

func poly_ir_export(spec unsafe.Pointer, n *int32) (out *byte) {
	const fn = "poly_ir_export"
	if n != nil {
		*n = 0
	}
	if spec == nil {
		fail(fn, badArg("spec", "is NULL"))
		return nil
	}
	s := (*irSpec)(spec)
	withContext(fn, s.ctx, func(c *context) error {
		d := must(c.definition(s))
		b, err := model.WriteIR(d)
		if err != nil {
			return &argError{"spec", err}
		}
		out, err = copyToC(b, n)
		return err
	}, func() {})
	return out
}

func poly_ir_import(data *byte, n int32, out unsafe.Pointer) int32 {
	const fn = "poly_ir_import"
	if out == nil {
		fail(fn, badArg("out", "is NULL"))
		return -1
	}
	s := (*irSpec)(out)
	store(s, irSpec{})
	b, err := bytesFrom("data", unsafe.Pointer(data), int64(n))
	if err == nil {
		var d *model.Definition
		if d, err = readIR(b); err == nil {
			err = s.fill(d)
		}
	}
	if err != nil {
		fail(fn, err)
		return -1
	}
	return 0
}

func readIR(b []byte) (d *model.Definition, err error) {
	defer rescue(&err)
	return model.ReadIR(b)
}

// fill makes a context of a definition.
func (s *irSpec) fill(d *model.Definition) error {
	c, err := newContext()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.g = d.Graph
	s.ctx = uintptr(c.entry.Token())
	s.buffers = (*irBuffer)(cCalloc(uintptr(len(d.Variables)+1), unsafe.Sizeof(irBuffer{})))
	s.entries = (*irEntry)(cCalloc(uintptr(len(d.Entries)+1), unsafe.Sizeof(irEntry{})))
	s.nBuffers, s.nEntries = int32(len(d.Variables)), int32(len(d.Entries))
	for i, v := range d.Variables {
		b := &unsafe.Slice(s.buffers, len(d.Variables))[i]
		*b = irBuffer{name: cString(v.Name), role: int32(v.Role), ndim: int32(len(v.Shape))}
		copy(b.shape[:], v.Shape)
		if v.Node != nil && err == nil {
			b.buffer, err = c.out(single(v.Node))
		}
	}
	for i, e := range d.Entries {
		to := &unsafe.Slice(s.entries, len(d.Entries))[i]
		to.name = cString(e.Name)
		if err == nil {
			to.sink, err = c.out(single(e.Sink))
		}
	}
	if err != nil {
		c.destroy()
		s.free()
	}
	return err
}

// free frees what fill allocated.
func (s *irSpec) free() {
	if s.buffers != nil {
		for _, b := range unsafe.Slice(s.buffers, max(s.nBuffers, 0)) {
			cFree(unsafe.Pointer(b.name))
		}
	}
	if s.entries != nil {
		for _, e := range unsafe.Slice(s.entries, max(s.nEntries, 0)) {
			cFree(unsafe.Pointer(e.name))
		}
	}
	cFree(unsafe.Pointer(s.buffers))
	cFree(unsafe.Pointer(s.entries))
	store(s, irSpec{})
}

func poly_ir_spec_free(spec unsafe.Pointer) {
	if spec != nil {
		s := (*irSpec)(spec)
		ctx := s.ctx
		s.free()
		s.ctx = ctx
	}
}
