package webgpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// queue records launches and copies in one list, which it submits at the end of a program, when it is waited for, or when a copy from the host has to
// come behind them. Copies to the host go through buffers for reading.
type queue struct {
	d    *Device
	list object
	// variables are those of the launches of the list, one launch after the other.
	variables []byte
	// reads are copies to the host, which wait for the list.
	reads   []read
	filled  int64 // bytes of the buffer for reading
	failure error
	// timed: the next list is timed. lists counts the lists submitted since Start; measured says that the last one was timed.
	timed    bool
	lists    int
	measured bool
	*own
	parts []part
}

// own are the buffers of a queue on an adapter, which outlive it until its cleanup has run.
type own struct {
	a           *adapter
	variablesOf *block // the buffer of variables
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
	// ahead is how many lists may be submitted before the host waits for them: what they need is in memory meanwhile.
	ahead = 256
)

// NewQueue makes a queue.
func (d *Device) NewQueue() device.Queue { return &queue{d: d, own: &own{}} }

// use gets the adapter, another one if the last was lost: then what was not waited for fails.
func (q *queue) use() (*adapter, error) {
	if q.a != nil && (q.list != 0 || len(q.reads) > 0 || !q.a.lost()) {
		return q.a, nil
	}
	a, err := q.d.adapter()
	if err != nil {
		return nil, err
	}
	q.own = &own{a: a}
	runtime.AddCleanup(q, func(o *own) {
		if o.variablesOf != nil {
			o.a.free(o.variablesOf.object)
		}
		if o.back != 0 {
			o.a.free(o.back)
		}
	}, q.own)
	return a, nil
}

// recording is the list, for an adapter that is in use.
func (q *queue) recording() object {
	if q.list == 0 {
		q.list = q.a.begin(q.timed)
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
	a, err := q.use()
	if err != nil {
		return err
	}
	p, err := c.on(a)
	if err != nil {
		return err
	}
	q.parts = q.parts[:0]
	for i, b := range bufs {
		m := memoryOf(b)
		size, left := c.Params[i].Bytes(), m.bytes-m.offset
		if size < 0 {
			size = left
		}
		size = words(max(size, 1))
		if size > left {
			return fmt.Errorf("webgpu: kernel %s: buffer %d has %d bytes, expected %d", c.Name, i, left, size)
		}
		if size > a.limits.bindable {
			return fmt.Errorf("webgpu: kernel %s: buffer %d has %d bytes, expected at most %d, the limit of adapter %s", c.Name, i, size, a.limits.bindable, a.limits.name)
		}
		of, err := m.on(a)
		if err != nil {
			return err
		}
		q.parts = append(q.parts, part{of, m.offset, size})
	}
	if c.Uniforms() > 0 {
		b, err := q.pass(c, vars)
		if err != nil {
			return err
		}
		q.parts = append(q.parts, b)
	}
	x, y := a.folded(p.kernel.Launch(vars))
	p.launch(q.recording(), q.parts, x, y)
	return nil
}

// pass puts the variables of a launch behind those of the launches before it.
func (q *queue) pass(c *kernel, vars []int64) (part, error) {
	size := int64(c.Uniforms()) * 16
	at := (int64(len(q.variables)) + alignment - 1) &^ (alignment - 1)
	if at+size > variableBytes {
		q.flush()
		at = 0
	}
	if q.variablesOf == nil {
		b, err := q.a.allocate(variableBytes, uniform)
		if err != nil {
			return part{}, fmt.Errorf("webgpu: memory for variables: %w", err)
		}
		q.variablesOf = &block{object: b, bytes: variableBytes}
	}
	q.variables = append(q.variables, make([]byte, at+size-int64(len(q.variables)))...)
	for i, v := range vars {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return part{}, fmt.Errorf("webgpu: kernel %s: variable %s is %d, expected one of 32 bits", c.Name, c.Vars[i].Name, v)
		}
		binary.LittleEndian.PutUint32(q.variables[at+int64(i)*4:], uint32(int32(v)))
	}
	return part{q.variablesOf, at, size}, nil
}

// flush submits what was recorded.
func (q *queue) flush() {
	if q.list == 0 {
		return
	}
	if len(q.variables) > 0 {
		q.a.counts.in.Add(int64(len(q.variables)))
		q.a.write(q.variablesOf.object, 0, q.variables)
		q.variables = q.variables[:0]
	}
	q.a.counts.submits.Add(1)
	q.a.ahead.Add(1)
	q.measured = q.a.submit(q.list)
	q.lists++
	q.list = 0
}

// words is a size in bytes as one of whole words: buffers have room for them.
func words(bytes int64) int64 { return (bytes + 3) &^ 3 }

// Copy records a copy.
func (q *queue) Copy(to, from device.Buffer, bytes int64) error {
	if bytes == 0 || q.failure != nil {
		return nil
	}
	a, err := q.use()
	if err != nil {
		return err
	}
	x, y, n := memoryOf(to), memoryOf(from), words(bytes)
	into, err := x.on(a)
	if err != nil {
		return err
	}
	source, err := y.on(a)
	if err != nil {
		return err
	}
	if into.object != source.object {
		a.counts.copies.Add(1)
		a.copy(q.recording(), into.object, into.offset+x.offset, source.object, source.offset+y.offset, n)
		return nil
	}
	p, err := a.copier()
	if err != nil {
		return err
	}
	gx, gy := a.folded((n/4 + wgsl.Workgroup - 1) / wgsl.Workgroup)
	p.launch(q.recording(), []part{{into, x.offset, n}, {source, y.offset, n}}, gx, gy)
	return nil
}

// CopyIn copies from the host at once, behind what was recorded.
func (q *queue) CopyIn(to device.Buffer, from []byte) error {
	if len(from) == 0 || q.failure != nil {
		return nil
	}
	a, err := q.use()
	if err != nil {
		return err
	}
	m := memoryOf(to)
	b, err := m.on(a)
	if err != nil {
		return err
	}
	q.flush()
	a.counts.in.Add(int64(len(from)))
	whole, at := len(from)&^3, b.offset+m.offset
	if whole > 0 {
		a.write(b.object, at, from[:whole])
	}
	if whole < len(from) {
		var word [4]byte
		copy(word[:], from[whole:])
		a.write(b.object, at+int64(whole), word[:])
	}
	return nil
}

// CopyOut records a copy to the buffer for reading.
func (q *queue) CopyOut(to []byte, from device.Buffer) error {
	if len(to) == 0 || q.failure != nil {
		return nil
	}
	a, err := q.use()
	if err != nil {
		return err
	}
	m, n := memoryOf(from), words(int64(len(to)))
	b, err := m.on(a)
	if err != nil {
		return err
	}
	if q.filled+n > q.backBytes {
		if len(q.reads) > 0 {
			if err := q.Wait(); err != nil {
				q.failure = err
				return nil
			}
		}
		if n > q.backBytes {
			if err := q.grow(n); err != nil {
				return err
			}
		}
	}
	a.counts.copies.Add(1)
	a.counts.out.Add(int64(len(to)))
	a.copy(q.recording(), q.back, q.filled, b.object, b.offset+m.offset, n)
	q.reads = append(q.reads, read{to, q.filled})
	q.filled += n
	return nil
}

// Fetch submits what was recorded, and a copy to a buffer of its own for reading.
func (q *queue) Fetch(to []byte, from device.Buffer) (int32, error) {
	if len(to) == 0 {
		return 0, nil
	}
	a, err := q.use()
	if err != nil {
		return 0, err
	}
	f, ok := a.driver.(fetcher)
	if !ok {
		return 0, nil
	}
	m, n := memoryOf(from), words(int64(len(to)))
	b, err := m.on(a)
	if err != nil {
		return 0, err
	}
	back, err := a.allocate(n, readback)
	if err != nil {
		return 0, fmt.Errorf("webgpu: %d bytes for reading: %w", n, err)
	}
	a.counts.copies.Add(1)
	a.counts.out.Add(int64(len(to)))
	a.copy(q.recording(), back, 0, b.object, b.offset+m.offset, n)
	q.flush()
	q.a.ahead.Store(0)
	number := f.fetch(back, to)
	a.free(back)
	return number, nil
}

// fetcher is a driver that can copy to the host while the host goes on.
type fetcher interface {
	// fetch lets the host copy from the beginning of a buffer, which may be freed at once. The number is the one that it is told when that is done.
	fetch(buffer object, to []byte) (number int32)
}

// grow makes a larger buffer for reading.
func (q *queue) grow(n int64) error {
	n = max(n, min(2*q.backBytes, q.a.limits.allocation), leastBack)
	b, err := q.a.allocate(n, readback)
	if err != nil {
		return fmt.Errorf("webgpu: %d bytes for reading: %w", n, err)
	}
	if q.back != 0 {
		q.a.free(q.back)
	}
	q.back, q.backBytes = b, n
	return nil
}

// Submit starts what was recorded. The host waits only if it is far ahead.
func (q *queue) Submit() error {
	if q.failure != nil || len(q.reads) > 0 {
		return q.Wait()
	}
	if q.flush(); q.a != nil && q.a.ahead.Load() > ahead {
		return q.Wait()
	}
	return nil
}

// Wait submits what was recorded and waits for it.
func (q *queue) Wait() error {
	if err := q.failure; err != nil {
		q.failure = nil
		return err
	}
	if q.a == nil {
		return nil
	}
	q.flush()
	q.a.counts.waits.Add(1)
	q.a.ahead.Store(0)
	var err error
	if len(q.reads) == 0 {
		err = q.a.wait()
	} else {
		parts, offsets := make([][]byte, len(q.reads)), make([]int64, len(q.reads))
		for i, r := range q.reads {
			parts[i], offsets[i] = r.to, r.offset
		}
		err = q.a.read(q.back, parts, offsets)
		clear(q.reads)
		q.reads, q.filled = q.reads[:0], 0
	}
	if err == nil && q.a.lost() {
		err = errLost
	}
	if err != nil {
		return fmt.Errorf("webgpu: %w", err)
	}
	return nil
}

// Start has the next list timed.
func (q *queue) Start() { q.timed, q.lists, q.measured = true, 0, false }

// Took is the duration of the launches, if all of them were in one list, without copies between them.
func (q *queue) Took() (time.Duration, bool) {
	q.timed = false
	if !q.measured || q.lists != 1 {
		return 0, false
	}
	return q.a.took()
}

var errLost = errors.New("the device was lost")

var (
	_ device.Submitter = (*queue)(nil)
	_ device.Fetcher   = (*queue)(nil)
	_ device.Clock     = (*queue)(nil)
)
