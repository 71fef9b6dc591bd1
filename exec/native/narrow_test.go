//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/lower/nest"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/native"
	"polygrad/exec/nested"
	"polygrad/render/x64"
)

// narrowDevices are the interpreter of nests and this processor, with and without what there is for narrow numbers.
func narrowDevices(t *testing.T) map[string]device.Device {
	m := nest.AVX512
	m.DotBF16, m.DotI8, m.SplitF32, m.Threads = true, true, true, 2
	small := m
	small.L2, small.L3 = 16<<10, 64<<10
	out := map[string]device.Device{"nested": nested.New(m), "small caches": nested.New(small)}
	f, ok, _, err := native.Features()
	if err != nil {
		t.Fatal(err)
	}
	if !ok || !f.AVX512 {
		return out
	}
	out["none"] = native.For(x64.Features{AVX512: true, AVX2: true}, false)
	if f.BF16 && f.VNNI {
		out["vectors"] = native.For(x64.Features{AVX512: true, AVX2: true, BF16: true, VNNI: true}, false)
	}
	if f.AMX {
		out["tiles"] = native.For(f, true)
	}
	return out
}

// operand is a matrix of narrow numbers in memory, with their values.
type operand struct {
	dt     *uop.DType
	bytes  []byte
	values []float64
}

func newOperand(r *rand.Rand, dt *uop.DType, n int64) operand {
	o := operand{dt: dt}
	for range n {
		v := r.Float64() - 0.5
		switch dt {
		case uop.BFloat16:
			b := uop.FloatToBF16(v)
			o.bytes = append(o.bytes, byte(b), byte(b>>8))
			v = float64(uop.BF16ToFloat(b))
		case uop.Float16:
			b := uop.FloatToHalf(v)
			o.bytes = append(o.bytes, byte(b), byte(b>>8))
			v = float64(uop.HalfToFloat(b))
		case uop.Float32:
			f := float32(v)
			o.bytes = binary.LittleEndian.AppendUint32(o.bytes, math.Float32bits(f))
			v = float64(f)
		case uop.Int8:
			b := int8(r.Uint32())
			o.bytes = append(o.bytes, byte(b))
			v = float64(b)
		case uop.Uint8:
			b := uint8(r.Uint32())
			o.bytes = append(o.bytes, b)
			v = float64(b)
		}
		o.values = append(o.values, v)
	}
	return o
}

// TestNarrowProducts multiplies matrices of narrow numbers of many shapes, as they are and transposed, with and without
// something behind the product, and compares with sums in float64.
func TestNarrowProducts(t *testing.T) {
	shapes := [][3]int64{{64, 64, 64}, {32, 32, 32}, {16, 64, 16}, {33, 65, 47}, {8, 31, 65}, {100, 131, 70}, {9, 48, 40}, {65, 200, 17}, {7, 64, 64}}
	kinds := [][2]*uop.DType{{uop.BFloat16, uop.BFloat16}, {uop.Float32, uop.Float32}, {uop.Float16, uop.Float16}, {uop.Int8, uop.Int8}, {uop.Uint8, uop.Int8}, {uop.Int8, uop.Uint8}, {uop.Uint8, uop.Uint8}}
	for name, d := range narrowDevices(t) {
		e := exec.New(d)
		for i, s := range shapes {
			for j, k := range kinds {
				c := narrowCase{s, k, (i+j)%2 > 0, (i+j)/2%2 > 0, (i+j)/4%2 > 0}
				if d.Name() != "native" && s[0]*s[1]*s[2] > 300_000 {
					continue // the interpreter takes long
				}
				t.Run(fmt.Sprintf("%s/%v", name, c), func(t *testing.T) { c.check(t, e) })
			}
		}
	}
}

// narrowCase is a product of a matrix of shape s[0], s[1] with one of s[1], s[2].
type narrowCase struct {
	s                     [3]int64
	kinds                 [2]*uop.DType
	acrossA, acrossB, end bool
}

func (c narrowCase) check(t *testing.T, e *exec.Executor) {
	m, k, n := c.s[0], c.s[1], c.s[2]
	r := rand.New(rand.NewPCG(uint64(m*n), uint64(k)))
	g := uop.NewGraph()
	a, b := newOperand(r, c.kinds[0], m*k), newOperand(r, c.kinds[1], k*n)
	acc := uop.Float32
	if !a.dt.IsFloat() {
		acc = uop.Int32
	}
	bufA, bufB, bufO := g.NewBuffer("CPU", m*k, a.dt), g.NewBuffer("CPU", k*n, b.dt), g.NewBuffer("CPU", m*n, acc)
	x, y := bufA.Reshape(uop.ShapeOf(m, k)), bufB.Reshape(uop.ShapeOf(k, n))
	atA := func(i, j int64) int64 { return i*k + j }
	atB := func(i, j int64) int64 { return i*n + j }
	if c.acrossA {
		x = bufA.Reshape(uop.ShapeOf(k, m)).Permute([]int{1, 0})
		atA = func(i, j int64) int64 { return j*m + i }
	}
	if c.acrossB {
		y = bufB.Reshape(uop.ShapeOf(n, k)).Permute([]int{1, 0})
		atB = func(i, j int64) int64 { return j*k + i }
	}
	if acc == uop.Int32 {
		x, y = x.Cast(acc), y.Cast(acc)
	}
	v, err := tensor.MatMulAs(x, y, acc)
	if err != nil {
		t.Fatal(err)
	}
	if c.end {
		if v, err = tensor.Relu(v); err != nil {
			t.Fatal(err)
		}
	}
	out := make([]uint32, m*n)
	binds := []exec.Binding{{Buffer: bufA, Ptr: unsafe.Pointer(&a.bytes[0])}, {Buffer: bufB, Ptr: unsafe.Pointer(&b.bytes[0])}, {Buffer: bufO, Ptr: unsafe.Pointer(&out[0])}}
	if err := e.Realize(g.Sink(nil, bufO.Store(v.Reshape(uop.ShapeOf(m*n)))), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j := range n {
			want := 0.0
			for l := range k {
				want += a.values[atA(i, l)] * b.values[atB(l, j)]
			}
			if c.end {
				want = max(want, 0)
			}
			got, most := float64(int32(out[i*n+j])), 0.0
			if acc == uop.Float32 {
				// Products are exact; sums round as those of F32 do.
				got, most = float64(math.Float32frombits(out[i*n+j])), 2e-6*math.Sqrt(float64(k))
			}
			if d := math.Abs(got - want); !(d <= most) {
				t.Fatalf("element %d, %d is %g, expected %g", i, j, got, want)
			}
		}
	}
}

// TestSplitRange multiplies matrices of F32 with numbers that cannot be split into BF16: results are those of F32.
func TestSplitRange(t *testing.T) {
	const m, k, n = 96, 64, 80
	odd := map[string]float32{"infinite": float32(math.Inf(1)), "NaN": float32(math.NaN()), "subnormal": 0x1p-140, "huge": 0x1.fffffep127}
	for name, d := range narrowDevices(t) {
		e := exec.New(d)
		for what, v := range odd {
			for side := range 2 {
				t.Run(fmt.Sprintf("%s/%s/%d", name, what, side), func(t *testing.T) {
					a, b, out := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
					for i := range a {
						a[i] = float32(i%7 + 1)
					}
					for i := range b {
						b[i] = float32(i%5 + 1)
					}
					// Row 70 of a, or column 70 of b, has the number in place 3 and nothing else.
					for l := range k {
						if side == 0 {
							a[70*k+l] = 0
						} else {
							b[l*n+70] = 0
						}
					}
					if side == 0 {
						a[70*k+3] = v
					} else {
						b[3*n+70] = v
					}
					g := uop.NewGraph()
					bufA, bufB, bufO := g.NewBuffer("CPU", m*k, uop.Float32), g.NewBuffer("CPU", k*n, uop.Float32), g.NewBuffer("CPU", m*n, uop.Float32)
					p, err := tensor.MatMul(bufA.Reshape(uop.ShapeOf(m, k)), bufB.Reshape(uop.ShapeOf(k, n)))
					if err != nil {
						t.Fatal(err)
					}
					binds := []exec.Binding{{Buffer: bufA, Ptr: unsafe.Pointer(&a[0])}, {Buffer: bufB, Ptr: unsafe.Pointer(&b[0])}, {Buffer: bufO, Ptr: unsafe.Pointer(&out[0])}}
					if err := e.Realize(g.Sink(nil, bufO.Store(p.Reshape(uop.ShapeOf(m*n)))), binds, nil); err != nil {
						t.Fatal(err)
					}
					for i := range m {
						for j := range n {
							want := float32(0)
							for l := range k {
								want += a[i*k+l] * b[l*n+j]
							}
							if got := out[i*n+j]; got != want && (got == got || want == want) {
								t.Fatalf("element %d, %d is %g, expected %g", i, j, got, want)
							}
						}
					}
				})
			}
		}
	}
}
