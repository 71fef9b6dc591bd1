package model

import (
	"fmt"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// cached runs a decoder over new tokens only, with a key-value cache of the earlier tokens. There is one program for each chunk length; the position
// is a variable, so a program serves any position.
type cached struct {
	m *Instance
	// g is a graph of its own: its buffers are bound to the memory of the model and of the generator.
	g     *uop.Graph
	binds []exec.Binding
	nodes map[string]*uop.UOp // of the model's arrays
	// weights are the model's arrays on the device.
	weights []*exec.Array
	rows    int64
	size    decoderSize
	// slots is the capacity of the cache in tokens: the last chunk may be longer than the rest of the text.
	slots  int64
	length int64
	pad    []int64
	memory *block
	// keys and values are the caches of the layers, (rows, heads, slots, width).
	keys, values []place
	logits       place
	programs     map[int64]*program
}

// place is a BUFFER with its host memory; on a device with memory of its own, the elements stay in array between runs.
type place struct {
	node  *uop.UOp
	data  []float32
	array *exec.Array
}

// numbers are the elements as int32.
func (p place) numbers() []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(p.data))), len(p.data))
}

// program is the step for a chunk of tokens.
type program struct {
	exec *exec.Executor
	run  *exec.Bound
	vars map[string]int64
	// tokens and positions are (rows, n), at, the positions in the cache, (n), pad (rows).
	tokens, positions, at, pad place
	memory                     *block
}

// chunks are the chunk lengths with a program.
var chunks = [...]int64{128, 64, 32, 16, 1}

// rereading is the fixed cost of a run, as the number of tokens that cost as much: every run reads and packs all weights, whatever the
// chunk length.
const rereading = 32

func newCached(m *Instance, rows int64) (*cached, error) {
	c := &cached{
		m: m, g: exec.NewGraph(), nodes: map[string]*uop.UOp{},
		rows: rows, size: m.text.size(), pad: make([]int64, rows), programs: map[int64]*program{},
	}
	c.slots = c.size.room
	for _, n := range chunks {
		if n > 1 && n/2 < c.size.room {
			c.slots = c.size.room + n - 1
			break
		}
	}
	one, err := elements([]int64{rows, c.size.heads, c.slots, c.size.width})
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, 2*c.size.layers+1)
	for range 2 * c.size.layers {
		sizes = append(sizes, one)
	}
	if c.memory, err = newBlock(append(sizes, rows*c.size.vocab)...); err != nil {
		return nil, err
	}
	at := 0
	next := func() place {
		at++
		return c.place(c.memory.arrays[at-1], uop.Float32)
	}
	for range c.size.layers {
		c.keys, c.values = append(c.keys, next()), append(c.values, next())
	}
	// The host reads the logits after each run, so they have no array that would keep them on the device.
	c.logits = place{node: c.g.NewBuffer(tensor.DeviceName, rows*c.size.vocab, uop.Float32), data: c.memory.arrays[at]}
	c.binds = append(c.binds, binding(c.logits.node, c.logits.data))
	return c, nil
}

// place makes a buffer bound to memory.
func (c *cached) place(data []float32, dt *uop.DType) place {
	p := place{c.g.NewBuffer(tensor.DeviceName, int64(len(data)), dt), data, exec.NewArray(4*int64(len(data)), true)}
	bound := binding(p.node, data)
	bound.Array = p.array
	c.binds = append(c.binds, bound)
	return p
}

func (c *cached) fits(n int) bool { return c.length+int64(n) <= c.size.room }

func (c *cached) reset() { c.length = 0 }

func (c *cached) free() {
	for _, p := range c.programs {
		p.memory.free()
	}
	for _, b := range c.binds {
		if b.Array != nil {
			b.Array.Free()
		}
	}
	c.memory.free()
	c.programs, c.keys, c.values = nil, nil, nil
}

func (c *cached) feed(tokens [][]int32, pad []int64, logits []float32) error {
	if c.length == 0 {
		copy(c.pad, pad)
		if err := c.m.readAll(false); err != nil {
			return err
		}
		for _, w := range c.weights { // they may have been changed since the last text
			w.Written()
		}
	}
	for total, done := int64(len(tokens[0])), int64(0); done < total; {
		n := c.chunk(total - done)
		real := min(n, total-done)
		if err := c.step(n, real, func(row int64) []int32 { return tokens[row][done : done+real] }); err != nil {
			return err
		}
		c.length += real
		done += real
	}
	copy(logits, c.logits.data)
	return nil
}

// chunk is the length of the next chunk if n tokens are left. It may exceed n where several shorter chunks would take longer.
func (c *cached) chunk(n int64) int64 {
	for i, k := range chunks[:len(chunks)-1] {
		if n > max(chunks[i+1], k-rereading) && c.length+k <= c.slots {
			return k
		}
	}
	return 1
}

// step runs a program of n tokens; the first ones are real. The others are padding: their keys and values are written to the
// cache as well, but no earlier token reads them and later chunks overwrite them.
func (c *cached) step(n, real int64, tokens func(row int64) []int32) error {
	p, err := c.program(n)
	if err != nil {
		return err
	}
	ids, positions, at := p.tokens.numbers(), p.positions.numbers(), p.at.numbers()
	for i := range n {
		at[i] = int32(c.length + i)
	}
	for r := range c.rows {
		clear(ids[r*n : (r+1)*n])
		copy(ids[r*n:(r+1)*n], tokens(r))
		p.pad.numbers()[r] = int32(c.pad[r])
		for i := range n {
			positions[r*n+i] = int32(min(max(c.length+i-c.pad[r], 0), c.size.room-1))
		}
	}
	for _, in := range []place{p.tokens, p.positions, p.at, p.pad} {
		in.array.Written()
	}
	p.vars["start"], p.vars["last"] = c.length, real-1
	return p.run.Run(p.vars)
}

// program finds or makes the program for n tokens.
func (c *cached) program(n int64) (*program, error) {
	p := c.programs[n]
	if p != nil && p.exec == c.m.exec {
		return p, nil
	}
	if p != nil {
		for _, b := range c.binds { // the other device reads the elements from the host
			if b.Array == nil {
				continue
			}
			if err := b.Array.Read(unsafe.Slice((*byte)(b.Ptr), b.Bytes)); err != nil {
				return nil, err
			}
		}
		p.memory.free()
		delete(c.programs, n)
	}
	p = &program{exec: c.m.exec, vars: map[string]int64{}}
	var err error
	if p.memory, err = newBlock(c.rows*n, c.rows*n, n, c.rows); err != nil {
		return nil, err
	}
	for i, to := range []*place{&p.tokens, &p.positions, &p.at, &p.pad} {
		*to = c.place(p.memory.arrays[i], uop.Int32)
	}
	if p.run, err = c.compile(p, n); err != nil {
		p.memory.free()
		return nil, err
	}
	c.programs[n] = p
	return p, nil
}

// compile builds and compiles the program for n tokens at any position.
func (c *cached) compile(p *program, n int64) (*exec.Bound, error) {
	g := c.g
	var sink *uop.UOp
	b := &builder{d: Definition{Graph: g}, supply: c.supply}
	for _, s := range c.m.stored {
		if s.dtype != uop.Float32 {
			b.stored = s.dtype
		}
	}
	err := b.run(func(b *builder) error {
		start := uop.S(g.Variable("start", uop.Int(0), uop.Int(c.slots-n), uop.Int32))
		s := &span{batch: c.rows, n: n, tokens: shaped(p.tokens.node, []int64{c.rows, n}), positions: shaped(p.positions.node, []int64{c.rows, n})}
		seen := c.seen(p, start.Add(uop.N(n)))
		s.attend = func(l int64, q, k, v *uop.UOp) *uop.UOp {
			return attention(q, c.remember(c.keys[l], k, start, n), c.remember(c.values[l], v, start, n), seen)
		}
		h := c.m.text.stack(b, s)
		last := uop.S(g.Variable("last", uop.Int(0), uop.Int(n-1), uop.Int32))
		width := h.Shape()[2]
		h = must(tensor.Shrink(h, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(c.rows)}, {Lo: last, Hi: last.Add(uop.N(1))}, {Lo: uop.N(0), Hi: width}}))
		logits := c.m.text.logits(b, once(must(tensor.Reshape(h, uop.Shape{uop.N(c.rows), width}))))
		sink = g.Sink(nil, c.logits.node.Store(logits))
		return nil
	})
	if err != nil {
		return nil, err
	}
	step, err := c.m.exec.Compile(sink)
	if err != nil {
		return nil, err
	}
	return step.Bind(c.binds)
}

// supply gives the formulas the arrays of the model.
func (c *cached) supply(name string, _ []int64) (*uop.UOp, error) {
	if u := c.nodes[name]; u != nil {
		return u, nil
	}
	if b := c.m.named[name]; b != nil {
		p := c.place(b.Data, uop.Float32)
		c.nodes[name], c.weights = p.node, append(c.weights, p.array)
	} else if s := c.m.storedArray(name); s != nil {
		u := c.g.NewBuffer(tensor.DeviceName, int64(len(s.data)/s.dtype.Itemsize()), s.dtype)
		a := exec.NewArray(int64(len(s.data)), true)
		c.binds = append(c.binds, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(unsafe.SliceData(s.data)), Bytes: int64(len(s.data)), Array: a})
		c.nodes[name], c.weights = u, append(c.weights, a)
	} else {
		return nil, fmt.Errorf("the model has no %q", name)
	}
	return c.nodes[name], nil
}

// seen is the attention mask of a chunk over the first m tokens in the cache, (rows, 1, n, m): true for the token itself and
// for earlier ones in its window and after the padding of its row.
func (c *cached) seen(p *program, m uop.Sint) *uop.UOp {
	seen := seenKeys(p.at.node, c.slots, c.size.window)
	n := seen.Shape()[2].N
	keys := shaped(must(tensor.Arange(c.g, uop.Int(0), uop.Int(c.slots), uop.Int(1), uop.Int32)), []int64{1, 1, 1, c.slots})
	text := must(tensor.Ge(keys, shaped(p.pad.node, []int64{c.rows, 1, 1, 1})))
	text = must(tensor.BitOr(text, must(tensor.Eq(keys, shaped(p.at.node, []int64{1, 1, n, 1})))))
	seen = must(tensor.BitAnd(seen, text))
	return must(tensor.Shrink(seen, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(c.rows)}, {Lo: uop.N(0), Hi: uop.N(1)}, {Lo: uop.N(0), Hi: uop.N(n)}, {Lo: uop.N(0), Hi: m}}))
}

// remember writes x, (rows, heads, n, width), to a cache from position start on, and returns the cache up to the end of x.
func (c *cached) remember(cache place, x *uop.UOp, start uop.Sint, n int64) *uop.UOp {
	part := func(u *uop.UOp, lo, hi uop.Sint) *uop.UOp {
		u = shaped(u, []int64{c.rows, c.size.heads, c.slots, c.size.width})
		return must(tensor.Shrink(u, []uop.Pair{
			{Lo: uop.N(0), Hi: uop.N(c.rows)}, {Lo: uop.N(0), Hi: uop.N(c.size.heads)}, {Lo: lo, Hi: hi}, {Lo: uop.N(0), Hi: uop.N(c.size.width)},
		}))
	}
	end := start.Add(uop.N(n))
	written := part(cache.node, start, end).AssignTo(x)
	return part(cache.node.AfterOps(written), uop.N(0), end)
}
