package webgpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"

	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// queue records launches and copies in one list, which it submits when it is waited for, or when a copy from the host has to come behind
// them. What the host reads goes by way of buffers for it.
type queue struct {
	d    *Device
	list object
	// variables are those of the launches of the list, one launch after the other.
	variables []byte
	// reads are copies to the host, which wait for the list.
	reads   []read
	filled  int64 // bytes of the buffer for reading
	failure error
	*own
	bindings []binding
}

// own are the buffers of a queue, which outlive it until its cleanup has run.
type own struct {
	variablesOf object // the buffer of variables
	back        object // the buffer for reading
	backBytes   int64
}

type read struct {
	to     []byte
	offset int64
}

const (
	variableBytes = 1 << 16
	leastBack     = 1 << 16
)

// NewQueue makes a queue.
func (d *Device) NewQueue() device.Queue {
	q := &queue{d: d, own: &own{}}
	runtime.AddCleanup(q, func(o *own) {
		for _, b := range []object{o.variablesOf, o.back} {
			if b != 0 {
				d.free(b)
			}
		}
	}, q.own)
	return q
}

func (q *queue) recording() object {
	if q.list == 0 {
		q.list = q.d.begin()
	}
	return q.list
}

// Launch records a launch.
func (q *queue) Launch(k device.Kernel, bufs []device.Buffer, vars []int64) error {
	if q.failure != nil {
		return nil
	}
	c := k.(*kernel)
	if len(bufs) != len(c.Params) || len(vars) != len(c.Vars) {
		return fmt.Errorf("webgpu: kernel %s: got %d buffers and %d variables, expected %d and %d", c.Name, len(bufs), len(vars), len(c.Params), len(c.Vars))
	}
	q.bindings = q.bindings[:0]
	for i, b := range bufs {
		m := memoryOf(b)
		size := c.Params[i].Bytes()
		if size < 0 {
			size = m.left
		}
		size = (max(size, 1) + 3) &^ 3
		if size > m.left {
			return fmt.Errorf("webgpu: kernel %s: buffer %d has %d bytes, expected %d", c.Name, i, m.left, size)
		}
		if size > q.d.limits.bindable {
			return fmt.Errorf("webgpu: kernel %s: buffer %d has %d bytes, expected at most %d, the limit of adapter %s", c.Name, i, size, q.d.limits.bindable, q.d.limits.name)
		}
		q.bindings = append(q.bindings, binding{m.buffer, m.offset, size})
	}
	if c.Uniforms() > 0 {
		b, err := q.pass(c, vars)
		if err != nil {
			return err
		}
		q.bindings = append(q.bindings, b)
	}
	q.d.launch(q.recording(), c.pipeline, q.bindings, c.x, c.y)
	return nil
}

// pass puts the variables of a launch behind those of the launches before it.
func (q *queue) pass(c *kernel, vars []int64) (binding, error) {
	size := int64(c.Uniforms()) * 16
	at := (int64(len(q.variables)) + alignment - 1) &^ (alignment - 1)
	if at+size > variableBytes {
		q.flush()
		at = 0
	}
	if q.variablesOf == 0 {
		b, err := q.d.allocate(variableBytes, uniform)
		if err != nil {
			return binding{}, fmt.Errorf("webgpu: memory for variables: %w", err)
		}
		q.variablesOf = b
	}
	q.variables = append(q.variables, make([]byte, at+size-int64(len(q.variables)))...)
	for i, v := range vars {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return binding{}, fmt.Errorf("webgpu: kernel %s: variable %s is %d, expected one of 32 bits", c.Name, c.Vars[i].Name, v)
		}
		binary.LittleEndian.PutUint32(q.variables[at+int64(i)*4:], uint32(int32(v)))
	}
	return binding{q.variablesOf, at, size}, nil
}

// flush submits what was recorded.
func (q *queue) flush() {
	if q.list == 0 {
		return
	}
	if len(q.variables) > 0 {
		q.d.write(q.variablesOf, 0, q.variables)
		q.variables = q.variables[:0]
	}
	q.d.submit(q.list)
	q.list = 0
}

// words is a size in bytes as one of whole words: buffers have room for them.
func words(bytes int64) int64 { return (bytes + 3) &^ 3 }

// Copy records a copy.
func (q *queue) Copy(to, from device.Buffer, bytes int64) error {
	if bytes == 0 || q.failure != nil {
		return nil
	}
	a, b := memoryOf(to), memoryOf(from)
	if a.buffer == b.buffer {
		p, err := q.d.copier()
		if err != nil {
			return err
		}
		x, y := q.d.folded((words(bytes)/4 + wgsl.Workgroup - 1) / wgsl.Workgroup)
		q.d.launch(q.recording(), p, []binding{{a.buffer, a.offset, words(bytes)}, {b.buffer, b.offset, words(bytes)}}, x, y)
		return nil
	}
	q.d.copy(q.recording(), a.buffer, a.offset, b.buffer, b.offset, words(bytes))
	return nil
}

// CopyIn copies from the host at once, behind what was recorded.
func (q *queue) CopyIn(to device.Buffer, from []byte) error {
	if len(from) == 0 || q.failure != nil {
		return nil
	}
	q.flush()
	m := memoryOf(to)
	whole := len(from) &^ 3
	if whole > 0 {
		q.d.write(m.buffer, m.offset, from[:whole])
	}
	if whole < len(from) {
		var word [4]byte
		copy(word[:], from[whole:])
		q.d.write(m.buffer, m.offset+int64(whole), word[:])
	}
	return nil
}

// CopyOut records a copy to the buffer for reading.
func (q *queue) CopyOut(to []byte, from device.Buffer) error {
	if len(to) == 0 || q.failure != nil {
		return nil
	}
	m, n := memoryOf(from), words(int64(len(to)))
	if q.filled+n > q.backBytes {
		if err := q.Wait(); err != nil {
			q.failure = err
			return nil
		}
		if n > q.backBytes {
			if err := q.grow(n); err != nil {
				return err
			}
		}
	}
	q.d.copy(q.recording(), q.back, q.filled, m.buffer, m.offset, n)
	q.reads = append(q.reads, read{to, q.filled})
	q.filled += n
	return nil
}

// grow makes a larger buffer for reading.
func (q *queue) grow(n int64) error {
	n = max(n, min(2*q.backBytes, q.d.limits.allocation), leastBack)
	b, err := q.d.allocate(n, readback)
	if err != nil {
		return fmt.Errorf("webgpu: %d bytes for reading: %w", n, err)
	}
	if q.back != 0 {
		q.d.free(q.back)
	}
	q.back, q.backBytes = b, n
	return nil
}

// Wait submits what was recorded and waits for it.
func (q *queue) Wait() error {
	if err := q.failure; err != nil {
		q.failure = nil
		return err
	}
	q.flush()
	var err error
	if len(q.reads) == 0 {
		err = q.d.wait()
	} else {
		parts, offsets := make([][]byte, len(q.reads)), make([]int64, len(q.reads))
		for i, r := range q.reads {
			parts[i], offsets[i] = r.to, r.offset
		}
		err = q.d.read(q.back, parts, offsets)
		clear(q.reads)
		q.reads, q.filled = q.reads[:0], 0
	}
	if err != nil {
		return fmt.Errorf("webgpu: %w", err)
	}
	return nil
}
