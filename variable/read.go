package variable

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// Item is the value of a variable of one element.
func (v *Variable) Item() (item uop.Const, err error) {
	node := v.Node()
	if n := tensor.Elements(node); n != 1 {
		return item, fmt.Errorf("the tensor has shape %s, expected one element", node.Shape())
	}
	if node.DType.IsComplex() {
		return item, fmt.Errorf("the tensor is %s, expected a real type: see real, imag and abs", node.DType.NumpyName())
	}
	err = v.Read(func(b []byte) { item = firstOf(b, node.DType) })
	return item, err
}

// Read computes a variable and passes its elements, in row-major order, to f, which must not keep them.
func (v *Variable) Read(f func(b []byte)) error {
	if v.ctx.trace != nil {
		return v.ctx.trace.valueNeeded()
	}
	if err := v.ctx.Realize(v); err != nil {
		return err
	}
	leaf, node := v.leaf(), v.Node()
	if _, fixed := node.Shape().Ints(); !fixed {
		return v.readBox(f)
	}
	size := sizeOf(tensor.Elements(node), node.DType)
	if !v.IsView() || leaf == v.computedView || size == 0 {
		b, err := leaf.mem.bytes()
		if err == nil {
			f(b[:size])
		}
		return err
	}
	strides, offset, ok, err := tensor.ViewLayout(node, leaf.node)
	part := leaf.mem.onDevice() && size < leaf.mem.size/2 // then a kernel costs less than copying all from the device
	if err == nil && ok && !part && rowMajor(strides, node.Shape()) {
		from := uintptr(offset) * uintptr(node.DType.Itemsize())
		b, err := leaf.mem.bytes()
		if err == nil {
			f(b[from : from+size])
		}
		return err
	}
	m, err := v.ctx.compute(node, v.cell.value.device)
	if err != nil {
		return err
	}
	defer m.free()
	b, err := m.bytes()
	if err == nil {
		f(b)
	}
	return err
}

// readBox is Read for a tensor of symbolic size, whose memory has room for the maximum.
func (v *Variable) readBox(f func(b []byte)) error {
	leaf, node := v.leaf(), v.Node()
	count, err := BoundShape(node.Shape())
	if err != nil {
		return err
	}
	m := leaf.mem
	if v.IsView() && leaf != v.computedView {
		if m, err = v.ctx.compute(node, v.cell.value.device); err != nil {
			return err
		}
		defer m.free()
	}
	b, err := m.bytes()
	if err == nil {
		f(copyBox(b, node.Shape(), count, node.DType.Itemsize()))
	}
	return err
}

// ErrNotWhole is the error of a view that has no elements of its own.
var ErrNotWhole = errors.New("the tensor is a view, expected one with elements of its own")

// A fetch is on its way to the memory of the host.
type fetch struct {
	*exec.Fetch
	m *memory
}

// Fetch computes a variable and starts to copy its elements from the device to the host, for one that cannot wait for them: when it is told the
// number it calls Fetched, and then reading finds them. The number is 0 if there is nothing to wait for.
func (v *Variable) Fetch() (number int32, err error) {
	c := v.ctx
	if c.trace != nil {
		return 0, c.trace.valueNeeded()
	}
	if err := c.Realize(v); err != nil {
		return 0, err
	}
	leaf := v.leaf()
	if leaf.mem == nil {
		return 0, nil
	}
	if v.IsView() && leaf != v.computedView && (leaf.mem.onDevice() || c.ownMemory(v.cell.value.device)) {
		return 0, ErrNotWhole
	}
	if leaf.mem.array == nil {
		return 0, nil
	}
	f, number, err := leaf.mem.array.Fetch()
	if number != 0 {
		if c.fetches == nil {
			c.fetches = map[int32]fetch{}
		}
		c.fetches[number] = fetch{f, leaf.mem}
	}
	return number, err
}

// Fetched gives what was fetched to the variable that it was fetched for, if that is still there and has not changed since.
func (c *Context) Fetched(number int32) error {
	f, ok := c.fetches[number]
	delete(c.fetches, number)
	if !ok || f.m.array == nil {
		return nil
	}
	b, err := f.m.room()
	if err == nil {
		f.Arrived(b)
	}
	return err
}

// rowMajor reports whether strides are those of contiguous elements in row-major order.
func rowMajor(strides []int64, s uop.Shape) bool {
	next := int64(1)
	for i, d := range slices.Backward(s) {
		if !d.IsNum(1) && strides[i] != next {
			return false
		}
		next *= d.Max()
	}
	return true
}

// BoundShape evaluates a shape with the values bound to its variables.
func BoundShape(s uop.Shape) ([]int, error) {
	out := make([]int, len(s))
	for i, d := range s {
		n, ok := tensor.SizeValue(d)
		if !ok {
			return nil, fmt.Errorf("axis %d has the size %s, which has no value: bind its variables", i, tensor.SizeString(d))
		}
		out[i] = int(n)
	}
	return out, nil
}

// copyBox copies the leading count[i] elements of each axis i of an array of shape most.
func copyBox(from []byte, most uop.Shape, count []int, item int) []byte {
	total, row := item, item
	for _, n := range count {
		total *= n
	}
	out := make([]byte, 0, total)
	if total == 0 {
		return out
	}
	strides := make([]int, len(most))
	for i := len(most) - 1; i >= 0; i-- {
		strides[i] = row
		row *= int(most[i].Max())
	}
	var copyFrom func(axis, at int)
	copyFrom = func(axis, at int) {
		if axis == len(count) {
			out = append(out, from[at:at+item]...)
			return
		}
		for i := range count[axis] {
			copyFrom(axis+1, at+i*strides[axis])
		}
	}
	copyFrom(0, 0)
	return out
}

// A Layout is where the elements of a variable lie in memory.
type Layout struct {
	Data unsafe.Pointer
	// Strides are in elements.
	Strides []int64
	// Bytes is the size of the memory from Data on.
	Bytes uintptr
	// Copy: the memory is a copy, so writes to it do not change the variable.
	Copy bool
}

// Pin computes a variable and returns the layout of its memory, valid until the pin is freed; writes there change the variable. A view
// that strides cannot describe is copied.
func (v *Variable) Pin() (Layout, *Pin, error) {
	if v.ctx.trace != nil {
		return Layout{}, nil, v.ctx.trace.valueNeeded()
	}
	if !v.IsView() {
		if err := v.cell.unshare(v.ctx); err != nil {
			return Layout{}, nil, err
		}
	}
	if err := v.ctx.Realize(v); err != nil {
		return Layout{}, nil, err
	}
	leaf, node := v.leaf(), v.Node()
	item := uintptr(node.DType.Itemsize())
	m := leaf.mem
	if err := m.toHost(); err != nil {
		return Layout{}, nil, err
	}
	if leaf.node == node || leaf == v.computedView || !v.IsView() {
		return Layout{Data: m.data, Strides: boxStrides(node.Shape()), Bytes: m.size}, m.pin(), nil
	}
	if strides, offset, ok, err := tensor.ViewLayout(node, leaf.node); err == nil && ok {
		from := uintptr(offset) * item
		return Layout{Data: unsafe.Add(m.data, from), Strides: strides, Bytes: m.size - from}, m.pin(), nil
	}
	m, err := v.ctx.compute(node, v.cell.value.device)
	if err != nil {
		return Layout{}, nil, err
	}
	if err := m.toHost(); err != nil {
		m.free()
		return Layout{}, nil, err
	}
	p := m.pin()
	m.free() // takes effect when the pin is freed
	return Layout{Data: m.data, Strides: boxStrides(node.Shape()), Bytes: m.size, Copy: true}, p, nil
}

// boxStrides are the strides of an array of the maximum size of each axis.
func boxStrides(s uop.Shape) []int64 {
	strides, next := make([]int64, len(s)), int64(1)
	for i, d := range slices.Backward(s) {
		strides[i] = next
		next *= d.Max()
	}
	return strides
}

// Share makes a variable on memory of a host, in row-major order, without a copy: writes to the variable change the memory. keep is
// the object that owns the memory. A device with memory of its own gets a copy.
func (c *Context) Share(dt *uop.DType, s uop.Shape, data unsafe.Pointer, keep any) (*Variable, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	host := &memory{data: data, size: sizeOf(n, dt), owner: keep}
	m, err := c.keepable(host, "")
	if m != host {
		host.free()
	}
	if err != nil {
		return nil, err
	}
	return c.fromMemory(dt, s, m)
}

// ShareWithToken is Share for a host that polls Released for the token to learn that the memory is no longer in use.
func (c *Context) ShareWithToken(dt *uop.DType, s uop.Shape, data unsafe.Pointer, token uint64) (*Variable, error) {
	return c.Share(dt, s, data, hostToken{c, token})
}
