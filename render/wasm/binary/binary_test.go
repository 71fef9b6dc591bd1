package binary

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"
)

// compile makes wazero read and validate a module.
func compile(t *testing.T, m *Module) wazero.CompiledModule {
	t.Helper()
	rt := wazero.NewRuntime(context.Background())
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	c, err := rt.CompileModule(context.Background(), m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run calls the exported function f.
func run(t *testing.T, m *Module, args ...uint64) []uint64 {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = rt.Close(ctx) })
	mod, err := rt.Instantiate(ctx, m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	out, err := mod.ExportedFunction("f").Call(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBytesOfSmallModule(t *testing.T) {
	m := &Module{}
	m.Memory("m", 1, 300)
	c := NewCode(I32)
	l := c.Local(V128)
	c.Get(0)
	c.Mem(V128Load, 128)
	c.Set(l)
	c.Get(0)
	m.Func("f", c, I32)
	want := []byte{
		0, 'a', 's', 'm', 1, 0, 0, 0,
		1, 6, 1, 0x60, 1, 0x7F, 1, 0x7F,
		3, 2, 1, 0,
		5, 5, 1, 1, 1, 0xAC, 2,
		7, 9, 2, 1, 'm', 2, 0, 1, 'f', 0, 0,
		10, 17, 1, 15, 1, 1, 0x7B, 0x20, 0, 0xFD, 0, 0, 0x80, 1, 0x21, 1, 0x20, 0, 0x0B,
	}
	if got := m.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("module\n% x, expected\n% x", got, want)
	}
	compile(t, m)
}

// TestLongNumbers: the number of an instruction of relaxed SIMD has two bytes.
func TestLongNumbers(t *testing.T) {
	c := NewCode()
	c.Op(F32x4RelaxedMadd)
	c.Op(F64x2RelaxedNmadd)
	if want := []byte{0xFD, 0x85, 2, 0xFD, 0x88, 2}; !bytes.Equal(c.buf, want) {
		t.Errorf("% x, expected % x", c.buf, want)
	}
}

func TestTypesAreShared(t *testing.T) {
	m := &Module{}
	for range 3 {
		c := NewCode(F32, F32)
		c.Get(1)
		m.Func("", c, F32)
	}
	if len(m.types) != 1 || len(m.funcs) != 3 {
		t.Errorf("%d types for %d functions, expected 1 for 3", len(m.types), len(m.funcs))
	}
	compile(t, m)
}

func TestSignedConstants(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		m := &Module{}
		c := NewCode()
		c.I64(v)
		m.Func("f", c, I64)
		if got := int64(run(t, m)[0]); got != v {
			t.Errorf("constant %d reads back as %d", v, got)
		}
		if v != int64(int32(v)) {
			continue
		}
		m, c = &Module{}, NewCode()
		c.I32(int32(v))
		m.Func("f", c, I32)
		if got := int32(run(t, m)[0]); int64(got) != v {
			t.Errorf("constant %d reads back as %d", v, got)
		}
	}
}

func TestControlFlow(t *testing.T) {
	// The sum of 1..n, with an early end for n = 0, by way of a call.
	m := &Module{}
	add := NewCode(I32, I32)
	add.Get(0)
	add.Get(1)
	add.Op(I32Add)
	fn := m.Func("", add, I32)
	c := NewCode(I32)
	sum := c.Local(I32)
	c.Block(Empty)
	c.Get(0)
	c.Op(I32Eqz)
	c.BrIf(0)
	c.Loop(Empty)
	c.Get(sum)
	c.Get(0)
	c.Call(fn)
	c.Set(sum)
	c.Get(0)
	c.I32(-1)
	c.Op(I32Add)
	c.Tee(0)
	c.BrIf(0)
	c.End()
	c.End()
	c.Get(sum)
	c.If(I32)
	c.Get(sum)
	c.Else()
	c.I32(-5)
	c.End()
	m.Func("f", c, I32)
	for n, want := range map[uint64]int32{0: -5, 1: 1, 10: 55, 1000: 500500} {
		if got := int32(run(t, m, n)[0]); got != want {
			t.Errorf("sum to %d is %d, expected %d", n, got, want)
		}
	}
}

func TestOpenBlockPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a body with an open block was encoded")
		}
	}()
	c := NewCode()
	c.Block(Empty)
	(&Module{}).Func("f", c)
}

// signature says what the instructions of a range take and give.
type signature struct {
	first, last Op
	args        []ValType
	result      ValType
	lane        bool
}

// TestEveryInstruction lets wazero validate each instruction of the lists with
// operands of the right types: a wrong code would name another instruction.
func TestEveryInstruction(t *testing.T) {
	v, i, l, f, d := V128, I32, I64, F32, F64
	for _, s := range []signature{
		{I32Eqz, I32Eqz, []ValType{i}, i, false}, {I32Eq, I32GeS, []ValType{i, i}, i, false},
		{I64Eq, I64GeS, []ValType{l, l}, i, false},
		{F32Eq, F32Le, []ValType{f, f}, i, false}, {F64Eq, F64Le, []ValType{d, d}, i, false},
		{I32Popcnt, I32Popcnt, []ValType{i}, i, false}, {I32Add, I32ShrU, []ValType{i, i}, i, false},
		{I64Add, I64ShrU, []ValType{l, l}, l, false},
		{F32Abs, F32Sqrt, []ValType{f}, f, false}, {F32Add, F32Div, []ValType{f, f}, f, false},
		{F64Abs, F64Sqrt, []ValType{d}, d, false}, {F64Add, F64Div, []ValType{d, d}, d, false},
		{I32WrapI64, I32WrapI64, []ValType{l}, i, false},
		{I64ExtendI32S, I64ExtendI32U, []ValType{i}, l, false},
		{F32ConvertI32S, F32ConvertI32U, []ValType{i}, f, false}, {F32ConvertI64S, F32ConvertI64U, []ValType{l}, f, false},
		{F32DemoteF64, F32DemoteF64, []ValType{d}, f, false}, {F64ConvertI32S, F64ConvertI32U, []ValType{i}, d, false},
		{F64ConvertI64S, F64ConvertI64U, []ValType{l}, d, false}, {F64PromoteF32, F64PromoteF32, []ValType{f}, d, false},
		{I32ReinterpretF32, I32ReinterpretF32, []ValType{f}, i, false}, {I64ReinterpretF64, I64ReinterpretF64, []ValType{d}, l, false},
		{F32ReinterpretI32, F32ReinterpretI32, []ValType{i}, f, false}, {F64ReinterpretI64, F64ReinterpretI64, []ValType{l}, d, false},
		{I32TruncSatF32S, I32TruncSatF32S, []ValType{f}, i, false}, {I32TruncSatF64S, I32TruncSatF64S, []ValType{d}, i, false},
		{I64TruncSatF32S, I64TruncSatF32S, []ValType{f}, l, false}, {I64TruncSatF64S, I64TruncSatF64S, []ValType{d}, l, false},
		{I8x16Swizzle, I8x16Swizzle, []ValType{v, v}, v, false}, {I32x4Splat, I32x4Splat, []ValType{i}, v, false},
		{I64x2Splat, I64x2Splat, []ValType{l}, v, false}, {F32x4Splat, F32x4Splat, []ValType{f}, v, false}, {F64x2Splat, F64x2Splat, []ValType{d}, v, false},
		{I8x16ExtractLaneS, I8x16ExtractLaneS, []ValType{v}, i, true},
		{I32x4ExtractLane, I32x4ExtractLane, []ValType{v}, i, true}, {I32x4ReplaceLane, I32x4ReplaceLane, []ValType{v, i}, v, true},
		{I64x2ExtractLane, I64x2ExtractLane, []ValType{v}, l, true}, {I64x2ReplaceLane, I64x2ReplaceLane, []ValType{v, l}, v, true},
		{F32x4ExtractLane, F32x4ExtractLane, []ValType{v}, f, true}, {F32x4ReplaceLane, F32x4ReplaceLane, []ValType{v, f}, v, true},
		{F64x2ExtractLane, F64x2ExtractLane, []ValType{v}, d, true}, {F64x2ReplaceLane, F64x2ReplaceLane, []ValType{v, d}, v, true},
		{I32x4Eq, F64x2Le, []ValType{v, v}, v, false}, {V128Not, V128Not, []ValType{v}, v, false}, {V128And, V128Xor, []ValType{v, v}, v, false},
		{V128Bitselect, V128Bitselect, []ValType{v, v, v}, v, false}, {V128AnyTrue, V128AnyTrue, []ValType{v}, i, false},
		{F32x4DemoteF64x2Zero, F64x2PromoteLowF32x4, []ValType{v}, v, false},
		{I8x16NarrowI16x8S, I8x16NarrowI16x8U, []ValType{v, v}, v, false}, {F32x4Floor, F32x4Nearest, []ValType{v}, v, false},
		{F64x2Floor, F64x2Floor, []ValType{v}, v, false}, {F64x2Trunc, F64x2Trunc, []ValType{v}, v, false},
		{I16x8NarrowI32x4S, I16x8NarrowI32x4U, []ValType{v, v}, v, false}, {I16x8ExtendLowS, I16x8ExtendLowU, []ValType{v}, v, false},
		{F64x2Nearest, F64x2Nearest, []ValType{v}, v, false},
		{I32x4Abs, I32x4Neg, []ValType{v}, v, false}, {I32x4Bitmask, I32x4Bitmask, []ValType{v}, i, false}, {I32x4ExtendLowS, I32x4ExtendLowU, []ValType{v}, v, false},
		{I32x4Shl, I32x4ShrU, []ValType{v, i}, v, false}, {I32x4Add, I32x4Add, []ValType{v, v}, v, false}, {I32x4Sub, I32x4Sub, []ValType{v, v}, v, false},
		{I32x4Mul, I32x4MaxU, []ValType{v, v}, v, false}, {I64x2Abs, I64x2Neg, []ValType{v}, v, false}, {I64x2Bitmask, I64x2Bitmask, []ValType{v}, i, false},
		{I64x2ExtendLowS, I64x2ExtendLowU, []ValType{v}, v, false}, {I64x2Shl, I64x2ShrU, []ValType{v, i}, v, false}, {I64x2Add, I64x2Add, []ValType{v, v}, v, false},
		{I64x2Sub, I64x2Sub, []ValType{v, v}, v, false}, {I64x2Mul, I64x2LeS, []ValType{v, v}, v, false},
		{F32x4Abs, F32x4Neg, []ValType{v}, v, false}, {F32x4Sqrt, F32x4Sqrt, []ValType{v}, v, false}, {F32x4Add, F32x4PMax, []ValType{v, v}, v, false},
		{F64x2Abs, F64x2Neg, []ValType{v}, v, false}, {F64x2Sqrt, F64x2Sqrt, []ValType{v}, v, false}, {F64x2Add, F64x2PMax, []ValType{v, v}, v, false},
		{I32x4TruncSatF32x4S, F64x2ConvertLowI32U, []ValType{v}, v, false},
	} {
		for op := s.first; op <= s.last; op++ {
			if names[op] == "" {
				continue // the renderer has no use for it
			}
			m := &Module{}
			c := NewCode(s.args...)
			for a := range s.args {
				c.Get(uint32(a))
			}
			if s.lane {
				c.Lane(op, 1)
			} else {
				c.Op(op)
			}
			m.Func("f", c, s.result)
			compile(t, m)
		}
	}
}

// TestMemoryInstructions validates loads and stores in the same way.
func TestMemoryInstructions(t *testing.T) {
	check := func(op Op, val ValType, store, lane bool) {
		m := &Module{}
		m.Memory("m", 1, 1)
		c := NewCode(I32, val)
		c.Get(0)
		if store || lane {
			c.Get(1)
		}
		if lane {
			c.MemLane(op, 4, 1)
		} else {
			c.Mem(op, 4)
		}
		if store {
			m.Func("f", c)
		} else {
			m.Func("f", c, val)
		}
		compile(t, m)
	}
	types := []ValType{I32, I64, F32, F64, I32, I32, I32, I32, I64, I64, I64, I64, I64, I64, I32, I64, F32, F64, I32, I32, I64, I64, I64}
	each := func(first, last Op, f func(Op)) {
		for op := first; op <= last; op++ {
			if names[op] != "" {
				f(op)
			}
		}
	}
	each(I32Load, I64Store32, func(op Op) { check(op, types[op-I32Load], op >= I32Store, false) })
	each(V128Load, V128Load64Splat, func(op Op) { check(op, V128, false, false) })
	check(V128Store, V128, true, false)
	check(V128Load32Zero, V128, false, false)
	check(V128Load64Zero, V128, false, false)
	each(V128Load8Lane, V128Load64Lane, func(op Op) { check(op, V128, false, true) })
	each(V128Store16Lane, V128Store64Lane, func(op Op) { check(op, V128, true, true) })
}

func TestShuffleAndVectorConstants(t *testing.T) {
	m := &Module{}
	c := NewCode()
	c.V128(0x0706050403020100, 0x0F0E0D0C0B0A0908)
	c.V128(0x1716151413121110, 0x1F1E1D1C1B1A1918)
	c.Shuffle([16]byte{0, 16, 1, 17, 2, 18, 3, 31, 8, 8, 8, 8, 8, 8, 8, 8})
	c.Lane(I64x2ExtractLane, 0)
	m.Func("f", c, I64)
	if got := run(t, m)[0]; got != 0x1F03120211011000 {
		t.Errorf("shuffle gives %#x", got)
	}
}

func TestMemoryCopy(t *testing.T) {
	m := &Module{}
	m.Memory("m", 1, 1)
	c := NewCode(I32, I32, I32)
	c.Get(1)
	c.I32(42)
	c.Mem(I32Store, 0)
	for i := range uint32(3) {
		c.Get(i)
	}
	c.MemoryCopy()
	c.Get(0)
	c.Mem(I32Load, 0)
	m.Func("f", c, I32)
	if got := run(t, m, 8, 100, 4); len(got) != 1 || got[0] != 42 {
		t.Errorf("copied %v, expected 42", got)
	}
}
