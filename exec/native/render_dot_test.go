//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/exec/native"
	"polygrad/render/x64"
	"polygrad/render/x64/asm"
)

// TestDot compares sums of products of packed operands with those of the interpreter, on tiles and on vectors.
func TestDot(t *testing.T) {
	f, ok, _ := native.Features()
	if !ok || !f.AVX512 {
		t.Skip("there are no such instructions")
	}
	vectors := f
	vectors.AMX = false
	kinds := [][2]ir.Kind{{ir.BF16, ir.BF16}, {ir.I8, ir.I8}, {ir.U8, ir.I8}, {ir.I8, ir.U8}, {ir.U8, ir.U8}}
	biases := []map[ir.Kind]int32{{}, {ir.U8: 128, ir.I8: -128}}
	for _, f := range []x64.Features{f, vectors} {
		if !f.AMX && !(f.BF16 && f.VNNI) {
			continue
		}
		for _, k := range kinds {
			for n, size := range [][3]int{{2, 2, 3}, {1, 2, 1}, {2, 1, 4}, {1, 1, 2}, {2, 2, 2}} {
				more, streams := n%2 == 0, n/2%2 == 0
				for _, terms := range []int{1, 3} {
					if terms == 3 && (k[0] != ir.BF16 || !f.AMX) {
						continue
					}
					bias := int32(0)
					if !f.AMX && k[0] != ir.BF16 {
						if k[0] == k[1] {
							continue
						}
						bias = biases[n%2][k[0]]
					}
					t.Run(fmt.Sprintf("tiles %v/%v/%v/%d terms", f.AMX, k, size, terms), func(t *testing.T) {
						c := dotKernel(t, f, ir.Dot{Kind: k[0], BKind: k[1], Rows: size[0], Cols: size[1], Steps: int64(size[2]), Terms: terms, Bias: bias,
							More: more, AStreams: streams, BStreams: more != streams})
						tiles := 0
						for _, i := range c.Insts {
							if i.Op == asm.TILERELEASE {
								tiles++
							}
						}
						if f.AMX && tiles != 1 {
							t.Errorf("%d instructions release the tiles, expected 1", tiles)
						}
					})
				}
			}
		}
	}
}

func dotKernel(t *testing.T, f x64.Features, d ir.Dot) *x64.Code {
	const block, words, pad = 16, 16 * 16, 32
	r := rand.New(rand.NewPCG(uint64(d.Kind), uint64(d.Steps)))
	b := ir.NewBuilder("dot", block)
	d.ABlocks, d.BBlocks = d.Rows, d.Cols
	d.AStep, d.BStep = int64(d.Terms*d.ABlocks*words+pad), int64(d.Terms*d.BBlocks*words)
	d.CRow = int64(d.Cols*block + pad)
	sums, dt := ir.I32, uop.Int32
	if d.Kind == ir.BF16 {
		sums, dt = ir.F32, uop.Float32
	}
	d.A = &ir.Place{Buf: param(b, ir.U32, d.Steps*d.AStep+pad, false), Off: pad}
	d.B = &ir.Place{Buf: param(b, ir.U32, d.Steps*d.BStep, false)}
	d.C = &ir.Place{Buf: param(b, sums, int64(d.Rows*block)*d.CRow, true)}
	if b.Params[2].DType != dt {
		t.Fatalf("the sums are %v, expected %v", b.Params[2].DType, dt)
	}
	b.Dot(&d)
	var inputs [][]byte
	for i, p := range b.Params {
		in := make([]byte, p.Bytes())
		for j := 0; j < len(in); j += 2 {
			// Small whole numbers: sums of floats are exact in any order.
			v := uint16(r.Uint32())
			switch {
			case d.Kind == ir.BF16 && i < 2:
				v = uop.FloatToBF16(float64(r.IntN(17) - 8))
			case d.Kind == ir.BF16:
				v = uint16(j % 4 / 2 * int(uop.FloatToBF16(float64(r.IntN(99)))))
			}
			binary.LittleEndian.PutUint16(in[j:], v)
		}
		inputs = append(inputs, in)
	}
	return compare(t, b.Kernel, f, nil, inputs)
}
