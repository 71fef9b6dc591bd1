package files

import (
	"math"

	"polygrad/core/uop"
)

// Quant is a quantisation of GGUF files: blocks of a few numbers with scales of their own.
type Quant struct {
	Name string
	// ID is ggml's number of the type.
	ID int
	// Block is the number of elements of a block, Bytes its size.
	Block, Bytes int64

	unpack func(b []byte, out []float32)
}

// floats unpacks the first len(out) elements. The last block may be unpacked in part.
func (q *Quant) floats(data []byte, out []float32) {
	last := make([]float32, q.Block)
	for len(out) > 0 {
		if int64(len(out)) < q.Block {
			q.unpack(data[:q.Bytes], last)
			copy(out, last)
			return
		}
		q.unpack(data[:q.Bytes], out[:q.Block])
		data, out = data[q.Bytes:], out[q.Block:]
	}
}

// Quants are the known quantisations, as ggml defines them (ggml-common.h, ggml-quants.c).
var Quants = []*Quant{
	{"Q4_0", 2, 32, 18, unpackQ40}, {"Q4_1", 3, 32, 20, unpackQ41}, {"Q5_0", 6, 32, 22, unpackQ50},
	{"Q5_1", 7, 32, 24, unpackQ51}, {"Q8_0", 8, 32, 34, unpackQ80}, {"Q2_K", 10, 256, 84, unpackQ2K},
	{"Q3_K", 11, 256, 110, unpackQ3K}, {"Q4_K", 12, 256, 144, unpackQ4K}, {"Q5_K", 13, 256, 176, unpackQ5K},
	{"Q6_K", 14, 256, 210, unpackQ6K}, {"MXFP4", 39, 32, 17, unpackMXFP4},
}

// QuantByID finds a quantisation by ggml's number, nil if there is none.
func QuantByID(id int) *Quant {
	for _, q := range Quants {
		if q.ID == id {
			return q
		}
	}
	return nil
}

func half(b []byte) float32 { return uop.HalfToFloat(le.Uint16(b)) }

// unpackQ40: scale, 16 bytes of which the low halves are the first 16 numbers. d * (q - 8).
func unpackQ40(b []byte, out []float32) {
	d := half(b)
	for i, q := range b[2:18] {
		out[i] = d * float32(int(q&15)-8)
		out[i+16] = d * float32(int(q>>4)-8)
	}
}

// unpackQ41: scale, minimum, halves of bytes. d * q + m.
func unpackQ41(b []byte, out []float32) {
	d, m := half(b), half(b[2:])
	for i, q := range b[4:20] {
		out[i] = d*float32(q&15) + m
		out[i+16] = d*float32(q>>4) + m
	}
}

// unpackQ50: scale, a fifth bit for each number, halves of bytes. d * (q - 16).
func unpackQ50(b []byte, out []float32) {
	d, high := half(b), le.Uint32(b[2:])
	for i, q := range b[6:22] {
		out[i] = d * float32(int(q&15)|int(high>>i&1)<<4-16)
		out[i+16] = d * float32(int(q>>4)|int(high>>(i+16)&1)<<4-16)
	}
}

// unpackQ51: scale, minimum, a fifth bit for each number, halves of bytes. d * q + m.
func unpackQ51(b []byte, out []float32) {
	d, m, high := half(b), half(b[2:]), le.Uint32(b[4:])
	for i, q := range b[8:24] {
		out[i] = d*float32(uint32(q&15)|high>>i&1<<4) + m
		out[i+16] = d*float32(uint32(q>>4)|high>>(i+16)&1<<4) + m
	}
}

// unpackQ80: scale, bytes. d * q.
func unpackQ80(b []byte, out []float32) {
	d := half(b)
	for i, q := range b[2:34] {
		out[i] = d * float32(int8(q))
	}
}

// unpackQ2K: 16 bytes of a scale and a minimum of 4 bits for each 16 numbers, 64 bytes of 4 numbers of 2 bits, and scales
// of both. The numbers of 32 bytes lie in 4 planes of 32.
func unpackQ2K(b []byte, out []float32) {
	scales, qs, d, dmin := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for i := range out[:256] {
		s := scales[i/16]
		q := qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3
		out[i] = d*float32(s&15)*float32(q) - dmin*float32(s>>4)
	}
}

// unpackQ3K: 32 bytes of third bits, 64 bytes of 4 numbers of 2 bits, 16 scales of 6 bits in 12 bytes, scale of these.
// The number is 4 less where its third bit is 0.
func unpackQ3K(b []byte, out []float32) {
	high, qs, packed, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for i := range out[:256] {
		j := i / 16
		s := packed[j%8]>>(j/8*4)&15 | packed[8+j%4]>>(j/4*2)&3<<4
		q := int(qs[i/128*32+i%32]>>(i%128/32*2)&3) - 4 + int(high[i%32]>>(i/32)&1)<<2
		out[i] = d * float32(int(s)-32) * float32(q)
	}
}

// scale6 is the 6-bit scale and minimum of part j of 8, packed in 12 bytes as in Q4_K and Q5_K.
func scale6(s []byte, j int) (scale, least float32) {
	if j < 4 {
		return float32(s[j] & 63), float32(s[j+4] & 63)
	}
	return float32(s[j+4]&15 | s[j-4]>>6<<4), float32(s[j+4]>>4 | s[j]>>6<<4)
}

// unpackQ4K: scales of scales and of minima, 8 of both, halves of bytes: of 32 bytes the low halves come first.
func unpackQ4K(b []byte, out []float32) {
	d, dmin, qs := half(b), half(b[2:]), b[16:144]
	for j := range 8 {
		s, m := scale6(b[4:16], j)
		for i, q := range qs[j/2*32 : j/2*32+32] {
			out[32*j+i] = d*s*float32(q>>(j%2*4)&15) - dmin*m
		}
	}
}

// unpackQ5K is unpackQ4K with 32 bytes of fifth bits.
func unpackQ5K(b []byte, out []float32) {
	d, dmin, high, qs := half(b), half(b[2:]), b[16:48], b[48:176]
	for j := range 8 {
		s, m := scale6(b[4:16], j)
		for i, q := range qs[j/2*32 : j/2*32+32] {
			out[32*j+i] = d*s*float32(q>>(j%2*4)&15|high[i]>>j&1<<4) - dmin*m
		}
	}
}

// unpackQ6K: 128 bytes of low halves, 64 bytes of upper 2 bits, 16 scales of 8 bits, scale of these. d * s * (q - 32).
func unpackQ6K(b []byte, out []float32) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for i := range out[:256] {
		part, k := i/128, i%128
		q := low[part*64+k%64]>>(k/64*4)&15 | high[part*32+k%32]>>(k/32*2)&3<<4
		out[i] = d * float32(int8(scales[i/16])) * float32(int(q)-32)
	}
}

// fp4 are the doubled values of 4-bit floats: a sign, 2 bits of exponent, 1 of fraction.
var fp4 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// unpackMXFP4: an exponent, halves of bytes.
func unpackMXFP4(b []byte, out []float32) {
	d := float32(math.Ldexp(1, int(b[0])-128))
	for i, q := range b[1:17] {
		out[i], out[i+16] = d*fp4[q&15], d*fp4[q>>4]
	}
}
