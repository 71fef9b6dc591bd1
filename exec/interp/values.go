package interp

import (
	"math"
	"unsafe"

	"polygrad/core/uop"
)

// wrap brings an integer into the range of its type.
func wrap(d *uop.DType, i int64) int64 {
	switch d {
	case uop.Bool:
		if i != 0 {
			return 1
		}
		return 0
	case uop.Int8:
		return int64(int8(i))
	case uop.Uint8:
		return int64(uint8(i))
	case uop.Int16:
		return int64(int16(i))
	case uop.Uint16:
		return int64(uint16(i))
	case uop.Int32:
		return int64(int32(i))
	case uop.Uint32:
		return int64(uint32(i))
	}
	return i
}

// fix converts a computed value to its type: integers wrap, floats are rounded.
func fix(d *uop.DType) func(value) value {
	switch {
	case d == uop.Float64:
		return func(v value) value { return v }
	case d.IsFloat():
		return func(v value) value { return value{f: uop.RoundTo(d, v.f)} }
	}
	return func(v value) value { return value{i: wrap(d, v.i)} }
}

func fromConst(c uop.Const, d *uop.DType) value {
	if c.IsInvalid() {
		return value{}
	}
	c = c.Truncate(d)
	switch {
	case d.IsFloat():
		return value{f: c.F()}
	case d == uop.Uint64:
		return value{i: int64(c.Big().Uint64())}
	}
	return value{i: c.I()}
}

func floatToInt(f float64, d *uop.DType) int64 {
	switch {
	case f != f:
		return 0
	case d == uop.Uint64 && f >= 1<<63:
		if f >= 1<<64 {
			return -1
		}
		return int64(uint64(f))
	case f >= 1<<63:
		return wrap(d, math.MaxInt64)
	case f < -1<<63:
		return wrap(d, math.MinInt64)
	}
	return wrap(d, int64(f))
}

func castFn(from, to *uop.DType) func(value) value {
	switch {
	case to == uop.Bool && from.IsFloat():
		return func(v value) value {
			if v.f != 0 {
				return value{i: 1}
			}
			return value{}
		}
	case from.IsFloat() && to.IsFloat():
		return fix(to)
	case from.IsFloat():
		return func(v value) value { return value{i: floatToInt(v.f, to)} }
	case to.IsFloat() && from == uop.Uint64:
		return func(v value) value {
			return value{f: roundInt(to, float64(uint64(v.i)), float64(float32(uint64(v.i))))}
		}
	case to.IsFloat():
		return func(v value) value { return value{f: roundInt(to, float64(v.i), float64(float32(v.i)))} }
	}
	return fix(to)
}

// roundInt rounds an integer once: directly to float32, not through float64.
func roundInt(to *uop.DType, wide, single float64) float64 {
	if to == uop.Float32 {
		return single
	}
	return uop.RoundTo(to, wide)
}

func bitcastFn(from, to *uop.DType) func(value) value {
	wr, rd := writer(from), reader(to)
	return func(v value) value {
		var cell uint64
		wr(unsafe.Pointer(&cell), 0, v)
		return rd(unsafe.Pointer(&cell), 0)
	}
}

func at[T any](p unsafe.Pointer, off int64) *T { return (*T)(unsafe.Add(p, off)) }

// reader reads one element at a byte offset.
func reader(d *uop.DType) func(p unsafe.Pointer, off int64) value {
	switch d {
	case uop.Bool:
		return func(p unsafe.Pointer, off int64) value {
			if *at[uint8](p, off) != 0 {
				return value{i: 1}
			}
			return value{}
		}
	case uop.Uint8:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[uint8](p, off))} }
	case uop.Int8:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[int8](p, off))} }
	case uop.Int16:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[int16](p, off))} }
	case uop.Uint16:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[uint16](p, off))} }
	case uop.Int32:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[int32](p, off))} }
	case uop.Uint32:
		return func(p unsafe.Pointer, off int64) value { return value{i: int64(*at[uint32](p, off))} }
	case uop.Float16:
		return func(p unsafe.Pointer, off int64) value {
			return value{f: float64(uop.HalfToFloat(*at[uint16](p, off)))}
		}
	case uop.BFloat16:
		return func(p unsafe.Pointer, off int64) value {
			return value{f: float64(uop.BF16ToFloat(*at[uint16](p, off)))}
		}
	case uop.FP8E4M3, uop.FP8E5M2:
		return func(p unsafe.Pointer, off int64) value { return value{f: uop.FP8ToFloat(d, *at[uint8](p, off))} }
	case uop.Float32:
		return func(p unsafe.Pointer, off int64) value { return value{f: float64(*at[float32](p, off))} }
	case uop.Float64:
		return func(p unsafe.Pointer, off int64) value { return value{f: *at[float64](p, off)} }
	}
	return func(p unsafe.Pointer, off int64) value { return value{i: *at[int64](p, off)} }
}

// writer writes one element at a byte offset.
func writer(d *uop.DType) func(p unsafe.Pointer, off int64, v value) {
	switch d {
	case uop.Float16:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint16](p, off) = uop.FloatToHalf(v.f) }
	case uop.BFloat16:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint16](p, off) = uop.FloatToBF16(v.f) }
	case uop.FP8E4M3, uop.FP8E5M2:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint8](p, off) = uop.FloatToFP8(d, v.f) }
	case uop.Float32:
		return func(p unsafe.Pointer, off int64, v value) { *at[float32](p, off) = float32(v.f) }
	case uop.Float64:
		return func(p unsafe.Pointer, off int64, v value) { *at[float64](p, off) = v.f }
	}
	switch d.Itemsize() {
	case 1:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint8](p, off) = uint8(v.i) }
	case 2:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint16](p, off) = uint16(v.i) }
	case 4:
		return func(p unsafe.Pointer, off int64, v value) { *at[uint32](p, off) = uint32(v.i) }
	}
	return func(p unsafe.Pointer, off int64, v value) { *at[int64](p, off) = v.i }
}
