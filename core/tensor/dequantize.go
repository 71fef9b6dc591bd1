package tensor

import (
	"maps"
	"slices"

	"polygrad/core/uop"
)

// packing is one of ggml's quantised types, by number: blocks of elements in bytes. unpack turns bytes, (blocks, bytes) of
// uint8, into the numbers in order.
type packing struct {
	elements, bytes int64
	unpack          func(b *uop.UOp) *uop.UOp
}

func plain(dt *uop.DType) packing {
	return packing{1, int64(dt.Itemsize()), func(b *uop.UOp) *uop.UOp { return bitcast(b, dt) }}
}

// packings are ggml's (ggml-common.h, ggml-quants.c). All steps but one rounding are exact, so the results equal ggml's to the
// last bit.
var packings = map[int]packing{
	0: plain(uop.Float32), 1: plain(uop.Float16), 24: plain(uop.Int8), 25: plain(uop.Int16), 26: plain(uop.Int32),
	27: plain(uop.Int64), 28: plain(uop.Float64), 30: plain(uop.BFloat16),
	2: {32, 18, unpackQ40}, 3: {32, 20, unpackQ41}, 6: {32, 22, unpackQ50}, 7: {32, 24, unpackQ51}, 8: {32, 34, unpackQ80},
	10: {256, 84, unpackQ2K}, 11: {256, 110, unpackQ3K}, 12: {256, 144, unpackQ4K}, 13: {256, 176, unpackQ5K}, 14: {256, 210, unpackQ6K},
	39: {32, 17, unpackMXFP4},
}

// Dequantize decodes n packed numbers, shape (n): x holds blocks of bytes, and kind is ggml's number of their type. Unpacked
// types are allowed, too.
func Dequantize(x *uop.UOp, kind int, n int64) (r *uop.UOp, err error) {
	defer guard("Dequantize", &err)
	need("x", x)
	if x.DType != uop.Uint8 {
		fail("x", "is %s, expected %s", x.DType, uop.Uint8)
	}
	p, ok := packings[kind]
	if !ok {
		fail("type", "%d, expected one of %v", kind, slices.Sorted(maps.Keys(packings)))
	}
	size := int64(1)
	for axis := range x.Shape() {
		size *= intSize("x", x.Shape(), axis)
	}
	if n < 0 || n%p.elements != 0 || n/p.elements > size/p.bytes {
		fail("n", "%d elements, expected a multiple of %d, of which %d bytes hold %d", n, p.elements, size, size/p.bytes*p.elements)
	}
	blocks := n / p.elements
	b := shrinkAxis(reshape(x, uop.ShapeOf(size)), 0, uop.N(0), uop.N(blocks*p.bytes))
	return reshape(p.unpack(reshape(b, uop.ShapeOf(blocks, p.bytes))), uop.ShapeOf(n)), nil
}

// field is bytes lo to hi of each block, as int32.
func field(b *uop.UOp, lo, hi int64) *uop.UOp { return cast(bytesAt(b, lo, hi), uop.Int32) }

// bytesAt is bytes lo to hi of each block.
func bytesAt(b *uop.UOp, lo, hi int64) *uop.UOp { return shrinkAxis(b, 1, uop.N(lo), uop.N(hi)) }

// halfAt is the float16 at a byte of each block, (blocks, 1).
func halfAt(b *uop.UOp, at int64) *uop.UOp {
	return cast(bitcast(bytesAt(b, at, at+2), uop.Float16), uop.Float32)
}

// planes takes width bits of each of x, (blocks, groups * size), at each of n places, lowest bits first: (blocks, groups * n *
// size), within a group by place.
func planes(x *uop.UOp, size, n int64, width int) *uop.UOp {
	s := x.Shape()
	blocks, count := intSize("x", s, 0), intSize("x", s, 1)
	x = reshape(x, uop.ShapeOf(blocks, count/size, 1, size))
	places := reshape(mul(ramp(x, n), width), uop.ShapeOf(n, 1))
	return reshape(bitAnd(shiftRight(x, places), 1<<width-1), uop.ShapeOf(blocks, count*n))
}

// ramp is 0 to n-1.
func ramp(x *uop.UOp, n int64) *uop.UOp {
	return arange(x.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32)
}

func number(q *uop.UOp) *uop.UOp { return cast(q, uop.Float32) }

// grouped splits each block into n groups, (blocks, n, …).
func grouped(x *uop.UOp, n int64) *uop.UOp {
	s := x.Shape()
	return reshape(x, uop.ShapeOf(intSize("x", s, 0), n, intSize("x", s, 1)/n))
}

func unpackQ40(b *uop.UOp) *uop.UOp {
	return mul(halfAt(b, 0), number(sub(planes(field(b, 2, 18), 16, 2, 4), 8)))
}

func unpackQ41(b *uop.UOp) *uop.UOp {
	return add(mul(halfAt(b, 0), number(planes(field(b, 4, 20), 16, 2, 4))), halfAt(b, 2))
}

// fifth is the fifth bit of each of 32 numbers, packed in 4 bytes.
func fifth(b *uop.UOp, at int64) *uop.UOp { return shiftLeft(planes(field(b, at, at+4), 1, 8, 1), 4) }

func unpackQ50(b *uop.UOp) *uop.UOp {
	q := bitOr(planes(field(b, 6, 22), 16, 2, 4), fifth(b, 2))
	return mul(halfAt(b, 0), number(sub(q, 16)))
}

func unpackQ51(b *uop.UOp) *uop.UOp {
	q := bitOr(planes(field(b, 8, 24), 16, 2, 4), fifth(b, 4))
	return add(mul(halfAt(b, 0), number(q)), halfAt(b, 2))
}

func unpackQ80(b *uop.UOp) *uop.UOp {
	return mul(halfAt(b, 0), number(bitcast(bytesAt(b, 2, 34), uop.Int8)))
}

func unpackQ2K(b *uop.UOp) *uop.UOp {
	s := field(b, 0, 16)
	q := planes(field(b, 16, 80), 32, 4, 2)
	scale, least := mul(halfAt(b, 80), number(bitAnd(s, 15))), mul(halfAt(b, 82), number(shiftRight(s, 4)))
	return sub(mul(grouped(scale, 16), number(grouped(q, 16))), grouped(least, 16))
}

func unpackQ3K(b *uop.UOp) *uop.UOp {
	q := add(planes(field(b, 32, 96), 32, 4, 2), shiftLeft(planes(field(b, 0, 32), 32, 8, 1), 2))
	s := bitOr(planes(field(b, 96, 104), 8, 2, 4), shiftLeft(planes(field(b, 104, 108), 4, 4, 2), 4))
	scale := mul(halfAt(b, 108), number(sub(s, 32)))
	return mul(grouped(scale, 16), number(sub(grouped(q, 16), 4)))
}

// scales6 are the 8 scales and 8 minima of 6 bits that Q4_K and Q5_K store in bytes 4 to 16.
func scales6(b *uop.UOp) (scale, least *uop.UOp) {
	s := [3]*uop.UOp{field(b, 4, 8), field(b, 8, 12), field(b, 12, 16)}
	join := func(low, rest *uop.UOp) *uop.UOp { // the first 4 have 6 bits in one byte, the others are split
		low, rest = unsqueeze(low, 1), unsqueeze(rest, 1)
		first := lt(reshape(ramp(b, 2), uop.ShapeOf(2, 1)), 1)
		return flatten(where(first, bitAnd(low, 63), bitOr(rest, shiftLeft(shiftRight(low, 6), 4))), 1, 2)
	}
	return join(s[0], bitAnd(s[2], 15)), join(s[1], shiftRight(s[2], 4))
}

// scaled6 is d * scale * q - dmin * least for 8 groups of 32 numbers.
func scaled6(b, q *uop.UOp) *uop.UOp {
	s, m := scales6(b)
	scale, least := mul(halfAt(b, 0), number(s)), mul(halfAt(b, 2), number(m))
	return sub(mul(grouped(scale, 8), number(grouped(q, 8))), grouped(least, 8))
}

func unpackQ4K(b *uop.UOp) *uop.UOp { return scaled6(b, planes(field(b, 16, 144), 32, 2, 4)) }

func unpackQ5K(b *uop.UOp) *uop.UOp {
	high := shiftLeft(planes(field(b, 16, 48), 32, 8, 1), 4)
	return scaled6(b, bitOr(planes(field(b, 48, 176), 32, 2, 4), high))
}

func unpackQ6K(b *uop.UOp) *uop.UOp {
	q := bitOr(planes(field(b, 0, 128), 64, 2, 4), shiftLeft(planes(field(b, 128, 192), 32, 4, 2), 4))
	scale := mul(halfAt(b, 208), number(bitcast(bytesAt(b, 192, 208), uop.Int8)))
	return mul(grouped(scale, 16), number(sub(grouped(q, 16), 32)))
}

// unpackMXFP4 decodes 4 bits as twice their number: a sign, 2 bits of exponent, 1 of fraction; and scales by half the power of
// 2, which float32 can hold.
func unpackMXFP4(b *uop.UOp) *uop.UOp {
	e := cast(bytesAt(b, 0, 1), uop.Uint32)
	small := lt(e, 2)
	d := bitcast(where(small, shiftLeft(likeConst(e, 1<<21), where(small, e, 0)), shiftLeft(sub(where(small, 1, e), 1), 23)), uop.Float32)
	q := planes(field(b, 1, 17), 16, 2, 4)
	exponent := bitAnd(shiftRight(q, 1), 3)
	tiny := lt(exponent, 1)
	size := shiftLeft(add(bitAnd(q, 1), where(tiny, likeConst(q, 0), 2)), sub(where(tiny, likeConst(q, 1), exponent), 1))
	return mul(d, number(where(lt(q, 8), size, neg(size))))
}
