package variable

import (
	"errors"
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A tensor that was put on a device stays there, and what is computed from it is computed there. Other tensors are computed on the device of
// the context, or on that of the tensors that they are combined with. Memory moves to the device of the program that uses it.

// Executors opens the device of a name, "" for that of the context.
type Executors func(device string) (*exec.Executor, error)

// sameDevice reports whether two names, "" that of the context, mean one device: its programs are those of one executor.
func (c *Context) sameDevice(a, b string) bool {
	if a == b {
		return true
	}
	x, err := c.executor(a)
	if err != nil {
		return false
	}
	y, err := c.executor(b)
	return err == nil && x == y
}

// Device is the name of the device that the variable was put on, "" if it follows the context and other operands.
func (v *Variable) Device() string { return v.cell.value.device }

// To is the variable on a device: itself if it is there, else a copy, through which gradients flow.
func (v *Variable) To(device string) (*Variable, error) {
	c := v.ctx
	if c.sameDevice(v.cell.value.device, device) {
		return v.Retain(), nil
	}
	if err := v.mayLeave(device); err != nil {
		return nil, err
	}
	from := []*value{v.source()}
	node, err := tensor.Contiguous(v.Node())
	if err != nil {
		return nil, err
	}
	w := c.result(node, from)
	made := w.cell.value
	made.device = device
	if leaf := v.leaf(); c.trace == nil && leaf != nil && leaf.mem != nil && (!v.IsView() || leaf == v.computedView) {
		if err := c.copyTo(made, leaf.mem); err != nil {
			w.Drop()
			return nil, err
		}
	}
	return w, nil
}

// mayLeave checks that a variable may be moved to a device. It is computed where it is, one that is nowhere on the new device.
func (v *Variable) mayLeave(device string) error {
	c, now := v.ctx, v.cell.value.device
	if _, err := c.executor(device); err != nil || now == "" || c.sameDevice(now, device) {
		return err
	}
	if c.trace != nil {
		return fmt.Errorf("the tensor is on the device %s while %s traces the function, which runs on one: move the tensor before", now, c.trace.caller)
	}
	return c.Realize(v)
}

// Move puts the variable itself on a device, without a copy: its memory moves when it is used there.
func (v *Variable) Move(device string) error {
	if v.cell.value.device == device {
		return nil
	}
	c := v.ctx
	c.waitJobs() // they know values by their devices
	if v.IsView() {
		w, err := v.To(device)
		if err == nil {
			err = v.Replace(w)
			w.Drop()
		}
		return err
	}
	err := v.mayLeave(device)
	if err == nil {
		err = v.cell.unshare(c)
	}
	if err != nil {
		return err
	}
	if x := v.cell.value; x.leaf || len(x.cells) == 1 {
		x.invalidate()
		x.device = device
		return c.own(x)
	}
	w, err := v.To(device)
	if err == nil {
		v.cell.set(w.cell.value)
		w.Drop()
	}
	return err
}

// errNoExchange is the error of a device without buffers of WebGPU.
var errNoExchange = errors.New("the device has no buffers of WebGPU, expected webgpu")

// LendBuffer computes a variable and is its buffer on its device, for a program that uses the device: a WGPUBuffer, or the number of a GPUBuffer of a
// page, of at least as many bytes as the elements have. The variable has the same memory, until it is written or freed.
func (v *Variable) LendBuffer() (buffer uintptr, err error) {
	c := v.ctx
	if c.trace != nil {
		return 0, c.trace.valueNeeded()
	}
	if err := c.Realize(v); err != nil {
		return 0, err
	}
	if !v.IsView() {
		if err := v.cell.unshare(c); err != nil {
			return 0, err
		}
	}
	leaf := v.leaf()
	if v.IsView() && leaf != v.computedView {
		return 0, ErrNotWhole
	}
	e, err := c.executor(v.Device())
	if err != nil {
		return 0, err
	}
	m := leaf.mem
	if m.shared() {
		return 0, errors.New("a host uses the memory of the tensor, expected one of its own: clone it")
	}
	if m.array == nil {
		m.array = exec.NewArray(int64(m.size), true)
	}
	b, err := m.room()
	if err != nil {
		return 0, err
	}
	buffer, ok, err := m.array.Lend(e, b)
	if !ok {
		m.leaveDevice()
		return 0, errNoExchange
	}
	return buffer, err
}

// AdoptBuffer makes a variable on a buffer of a program (see LendBuffer), on a device: its elements begin at an offset, from which on there are so many
// bytes. Writes of one are seen by the other.
func (c *Context) AdoptBuffer(dt *uop.DType, s uop.Shape, device string, buffer uintptr, offset, room int64) (*Variable, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	size := int64(sizeOf(n, dt))
	if whole := (size + 3) &^ 3; whole > room {
		return nil, fmt.Errorf("buffer: has %d bytes from the offset on, expected %d", room, whole)
	}
	e, err := c.executor(device)
	if err != nil {
		return nil, fmt.Errorf("buffer: %w", err)
	}
	a, ok, err := e.Adopt(buffer, offset, size, room)
	if !ok {
		err = errNoExchange
	}
	if err != nil {
		return nil, err
	}
	inUse.Add(size)
	v, err := c.fromMemory(dt, s, &memory{size: uintptr(size), array: a})
	if err == nil {
		v.cell.value.device = device
	}
	return v, err
}

// own gives a value memory that its device can keep.
func (c *Context) own(x *value) error {
	m := x.mem
	own, err := c.keepable(m, x.device)
	if err != nil || own == m {
		return err
	}
	x.mem = own
	c.bind(x)
	m.free()
	return nil
}

// keepable is memory of a host, or a copy of it for a device with memory of its own: else each run would copy it there, as the host may have
// written it.
func (c *Context) keepable(m *memory, device string) (*memory, error) {
	if m == nil || m.owner == nil || !c.ownMemory(device) {
		return m, nil
	}
	return m.copied()
}

// copyTo computes a lazy value that is a copy: its cells get a leaf with a copy of memory, on the device of the value.
func (c *Context) copyTo(v *value, from *memory) error {
	m, err := c.allocate(from.size, v.device)
	if err != nil {
		return err
	}
	if m.array != nil && !from.onDevice() {
		var b []byte
		var e *exec.Executor
		if b, err = from.bytes(); err == nil {
			if e, err = c.executor(v.device); err == nil {
				err = m.array.Upload(e, b)
			}
		}
	} else {
		err = m.copyFrom(from)
	}
	if err != nil {
		m.free()
		return err
	}
	leaf, err := c.newLeaf(v.node.DType, v.node.Shape(), m)
	if err != nil {
		m.free()
		return err
	}
	leaf.retain()
	defer leaf.release()
	v.computedAs(leaf)
	for len(v.cells) > 0 {
		v.cells[0].set(leaf)
	}
	return nil
}

// computedAs gives the leaf of a computed value what readers, gradients and programs need to know of the value.
func (v *value) computedAs(leaf *value) {
	leaf.flow, leaf.device = v.flow, v.device
	if v.flow == flowAlways && v.node.DType.IsDifferentiable() {
		leaf.origin = v
		v.retainHistory()
	}
}

// A work is a STORE or an ASSIGN, and the device that performs it.
type work struct {
	node   *uop.UOp
	device string
}

// devicesOf are the devices of works, each once, in order.
func (c *Context) devicesOf(works []work) []string {
	var out []string
	for _, w := range works {
		out = c.appendDevice(out, w.device)
	}
	return out
}

// appendDevice adds a device to those of a list if it is none of them.
func (c *Context) appendDevice(devices []string, device string) []string {
	for _, d := range devices {
		if c.sameDevice(d, device) {
			return devices
		}
	}
	return append(devices, device)
}

// oneDevice is the device of a program of values: the one that some of them were put on, "" for none.
func (c *Context) oneDevice(values ...*value) (string, error) {
	device := ""
	for _, v := range values {
		switch {
		case v == nil || v.device == "":
		case device == "":
			device = v.device
		case !c.sameDevice(device, v.device):
			return "", fmt.Errorf("tensors are on the devices %s and %s, expected one: move some of them, see to()", device, v.device)
		}
	}
	return device, nil
}

// target is the device on which a new value of a variable is computed: its own, or that of the value if the variable was put on none.
func (v *Variable) target(to *value) (string, error) {
	switch own := v.cell.value.device; {
	case own == "":
		return to.device, nil
	case to.device == "" || v.ctx.sameDevice(to.device, own):
		return own, nil
	default:
		return "", fmt.Errorf("x: is on the device %s, expected %s as the tensor: move it, see to()", to.device, own)
	}
}
