package webgpu

import (
	"encoding/binary"
	"math"
	"sync"

	"polygrad/core/lower"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/render/wgsl"
)

// Elements of arrays of f16 need no atomic operations, unlike halves that are parts of words. What is stored to them is rounded before, but the
// standard lets conversions flush subnormal numbers to 0 and make anything of infinities, so all 2^16 numbers are tested on an adapter before its
// arrays are used.

// halvesKnown records whether an adapter converts all numbers of f16 exactly.
type halvesKnown struct {
	once  sync.Once
	right bool
}

// machineFor is the machine that a kernel is laid out for.
func (a *adapter) machineFor(p *lower.Program) ir.Machine {
	m := a.machine
	if !m.F16C {
		for _, u := range p.Linear {
			if u.Op == uop.Param && u.DType.Base() == uop.Float16 {
				m.F16C = a.convertsHalves()
				break
			}
		}
	}
	return m
}

// convertsHalves reports whether the adapter has arrays of f16 whose conversions are exact.
func (a *adapter) convertsHalves() bool {
	if !a.limits.f16 {
		return false
	}
	a.halves.once.Do(func() { a.halves.right = a.testHalves() })
	return a.halves.right
}

// testHalves has the adapter convert all numbers to f32 and back.
func (a *adapter) testHalves() bool {
	const n = 1 << 16
	p, err := a.pipeline(shader{source: wgsl.TestHalves, buffers: 3})
	if err != nil {
		return false
	}
	var blocks [3]*block // numbers, as f32, and back
	for i, bytes := range []int64{2 * n, 4 * n, 2 * n} {
		b, err := a.take(bytes)
		if err != nil {
			return false
		}
		defer a.give(b)
		blocks[i] = b
	}
	back, err := a.allocate(6*n, readback)
	if err != nil {
		return false
	}
	defer a.free(back)
	numbers, wide, narrow := make([]byte, 2*n), make([]byte, 4*n), make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(numbers[2*i:], uint16(i))
	}
	a.write(blocks[0].object, blocks[0].offset, numbers)
	list := a.begin(false)
	p.launch(list, []part{{blocks[0], 0, 2 * n}, {blocks[1], 0, 4 * n}, {blocks[2], 0, 2 * n}}, n/wgsl.Workgroup, 1)
	a.copy(list, back, 0, blocks[1].object, blocks[1].offset, 4*n)
	a.copy(list, back, 4*n, blocks[2].object, blocks[2].offset, 2*n)
	a.submit(list)
	if a.read(back, [][]byte{wide, narrow}, []int64{0, 4 * n}) != nil {
		return false
	}
	for i := range n {
		want := math.Float32frombits(uint32(ir.Decode(ir.F16, uint64(i))))
		got, code := binary.LittleEndian.Uint32(wide[4*i:]), binary.LittleEndian.Uint16(narrow[2*i:])
		isNaN := func(code uint16) bool { return code&0x7fff > 0x7c00 }
		if want != want && !(got&0x7fffffff > 0x7f800000 && isNaN(code)) || want == want && (got != math.Float32bits(want) || int(code) != i) {
			return false
		}
	}
	return true
}
