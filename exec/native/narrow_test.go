//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/native"
	"polygrad/exec/wasm"
	"polygrad/render/x64"
	"polygrad/tests/devices/nested"
	"polygrad/tests/guard"
)

// narrowDevices are the interpreter of nests and this processor, with and without what there is for narrow numbers.
func narrowDevices(t *testing.T) map[string]device.Device {
	m := ir.AVX512
	m.DotBF16, m.DotI8, m.SplitF32, m.Threads = true, true, true, 2
	small := m
	small.L1, small.L2, small.L3 = 7<<10, 16<<10, 64<<10
	mixed := small
	mixed.DotMixed = true
	out := map[string]device.Device{"nested": nested.New(m), "small caches": nested.New(small), "mixed bytes": nested.New(mixed)}
	f, ok, _ := native.Features()
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

// guarded is the matrix beside a page that nothing can touch.
func (o *operand) guarded(t *testing.T, place int) unsafe.Pointer {
	data := guard.Slice[byte](t, len(o.bytes), place%2)
	copy(data, o.bytes)
	return unsafe.Pointer(&data[0])
}

// TestNarrowProducts multiplies matrices of narrow numbers of many shapes, as they are and transposed, with and without
// something behind the product, and compares with sums in float64.
func TestNarrowProducts(t *testing.T) {
	shapes := [][3]int64{{64, 64, 64}, {32, 32, 32}, {16, 64, 16}, {33, 65, 47}, {8, 31, 65}, {100, 131, 70}, {9, 48, 40}, {65, 200, 17}, {7, 64, 64}, {130, 140, 100}, {140, 1100, 130}}
	r := rand.New(rand.NewPCG(3, 4))
	for range 14 {
		shapes = append(shapes, [3]int64{1 + r.Int64N(80), 1 + r.Int64N(150), 1 + r.Int64N(80)})
	}
	if testing.Short() {
		shapes = shapes[3:8]
	}
	kinds := [][2]*uop.DType{{uop.BFloat16, uop.BFloat16}, {uop.Float32, uop.Float32}, {uop.Float16, uop.Float16}, {uop.Int8, uop.Int8}, {uop.Uint8, uop.Int8}, {uop.Int8, uop.Uint8}, {uop.Uint8, uop.Uint8}}
	for name, d := range narrowDevices(t) {
		e := exec.New(d)
		for i, s := range shapes {
			for j, k := range kinds {
				c := narrowCase{s, k, (i+j)%2 > 0, (i+j)/2%2 > 0, (i+j)/4%2 > 0, 0}
				if n := s[0] * s[1] * s[2]; d.Name() != "native" && (n > 2e6 || n > 3e5 && name != "small caches") {
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
	// rounds is how far off by rounding a product may be, as a share of it.
	rounds float64
}

func (c narrowCase) check(t *testing.T, e *exec.Executor) {
	m, k, n := c.s[0], c.s[1], c.s[2]
	r := rand.New(rand.NewPCG(uint64(m*n), uint64(k)))
	g := symbolic.NewGraph()
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
	place := int(m + n + k)
	out := guard.Slice[uint32](t, int(m*n), place)
	binds := []exec.Binding{{Buffer: bufA, Ptr: a.guarded(t, place)}, {Buffer: bufB, Ptr: b.guarded(t, place+1)}, {Buffer: bufO, Ptr: unsafe.Pointer(&out[0])}}
	if err := e.Realize(g.Sink(nil, bufO.Store(v.Reshape(uop.ShapeOf(m*n)))), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j := range n {
			want, magnitude := 0.0, 0.0
			for l := range k {
				p := a.values[atA(i, l)] * b.values[atB(l, j)]
				want += p
				magnitude += math.Abs(p)
			}
			if c.end {
				want = max(want, 0)
			}
			got, most := float64(int32(out[i*n+j])), 0.0
			if acc == uop.Float32 {
				// Sums round as those of F32 do.
				got, most = float64(math.Float32frombits(out[i*n+j])), 2e-6*math.Sqrt(float64(k))+c.rounds*magnitude
			}
			if d := math.Abs(got - want); !(d <= most) {
				t.Fatalf("element %d, %d is %g, expected %g", i, j, got, want)
			}
		}
	}
}

// TestRoundedProducts multiplies matrices of narrow numbers on the devices that round products to them before they are
// added: results differ from those above by no more than that.
func TestRoundedProducts(t *testing.T) {
	for _, d := range []device.Device{wasm.New(), interp.New()} {
		for dt, rounds := range map[*uop.DType]float64{uop.BFloat16: 0x1p-8, uop.Float16: 0x1p-11} {
			t.Run(fmt.Sprintf("%s/%v", d.Name(), dt), func(t *testing.T) {
				narrowCase{s: [3]int64{20, 65, 17}, kinds: [2]*uop.DType{dt, dt}, rounds: rounds}.check(t, exec.New(d))
			})
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
					g := symbolic.NewGraph()
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

// dotted is a device that counts how many of its kernels have sums of products of narrow numbers.
type dotted struct {
	*nested.Device
	m    ir.Machine
	dots int
}

func (d *dotted) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		k, err := nest.Compile(p.Name, p.Linear, d.m)
		if err != nil {
			return nil, err
		}
		if hasDot(k.Root) {
			d.dots++
		}
	}
	return d.Device.Compile(progs)
}

func hasDot(b *ir.Block) bool {
	return slices.ContainsFunc(b.Items, func(i ir.Item) bool { return i.Dot != nil || i.Loop != nil && hasDot(i.Loop.Body) })
}

// TestDotUse looks for the instructions for narrow numbers in products of them, and in no others.
func TestDotUse(t *testing.T) {
	for _, c := range []struct {
		dt             *uop.DType
		bf16, i8, f32  bool
		size, expected int
	}{
		{uop.BFloat16, true, false, false, 64, 1},
		{uop.BFloat16, false, true, true, 64, 0},
		{uop.BFloat16, true, true, true, 4, 0},
		{uop.Int8, false, true, false, 64, 1},
		{uop.Int8, true, false, false, 64, 0},
		{uop.Float32, false, false, true, 64, 1},
		{uop.Float32, true, true, false, 64, 0},
		{uop.Float32, true, true, true, 32, 0},
		{uop.Float16, true, true, true, 64, 0},
	} {
		m := ir.AVX512
		m.DotBF16, m.DotI8, m.SplitF32 = c.bf16, c.i8, c.f32
		d := &dotted{Device: nested.New(m), m: m}
		n := int64(c.size)
		narrowCase{s: [3]int64{n, n, n}, kinds: [2]*uop.DType{c.dt, c.dt}}.check(t, exec.New(d))
		if d.dots != c.expected {
			t.Errorf("%v: %d kernels have sums of products, expected %d", c, d.dots, c.expected)
		}
	}
}

// TestNarrowBatches multiplies batches of matrices, of which either operand may be one for all.
func TestNarrowBatches(t *testing.T) {
	const m, k, n, batches = 40, 64, 48, 6
	for name, d := range narrowDevices(t) {
		e := exec.New(d)
		for place, which := range []string{"both", "a", "b"} {
			t.Run(name+"/"+which, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				as, bs := int64(batches), int64(batches)
				sa, sb := uop.ShapeOf(2, 3, m, k), uop.ShapeOf(2, 3, k, n)
				switch which {
				case "a":
					bs, sb = 1, uop.ShapeOf(1, 1, k, n)
				case "b":
					as, sa = 1, uop.ShapeOf(1, 1, m, k)
				}
				a, b := newOperand(r, uop.BFloat16, as*m*k), newOperand(r, uop.BFloat16, bs*k*n)
				out := guard.Slice[float32](t, batches*m*n, place)
				g := symbolic.NewGraph()
				bufA, bufB, bufO := g.NewBuffer("CPU", as*m*k, a.dt), g.NewBuffer("CPU", bs*k*n, b.dt), g.NewBuffer("CPU", batches*m*n, uop.Float32)
				v, err := tensor.MatMulAs(bufA.Reshape(sa), bufB.Reshape(sb), uop.Float32)
				if err != nil {
					t.Fatal(err)
				}
				binds := []exec.Binding{{Buffer: bufA, Ptr: a.guarded(t, place)}, {Buffer: bufB, Ptr: b.guarded(t, place/2)}, {Buffer: bufO, Ptr: unsafe.Pointer(&out[0])}}
				if err := e.Realize(g.Sink(nil, bufO.Store(v.Reshape(uop.ShapeOf(batches*m*n)))), binds, nil); err != nil {
					t.Fatal(err)
				}
				for i, got := range out {
					batch, row, col := int64(i)/(m*n), int64(i)/n%m, int64(i)%n
					want := 0.0
					for l := range int64(k) {
						want += a.values[batch%as*m*k+row*k+l] * b.values[batch%bs*k*n+l*n+col]
					}
					if d := math.Abs(float64(got) - want); !(d < 2e-5) {
						t.Fatalf("element %d is %g, expected %g", i, got, want)
					}
				}
			})
		}
	}
}

// TestNarrowConvolutions slides 3x3 windows over padded images: the sum is over three loops.
func TestNarrowConvolutions(t *testing.T) {
	const images, channels, size, out = 2, 32, 18, 24
	place := 0
	for name, d := range narrowDevices(t) {
		place++
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			x, w := newOperand(r, uop.BFloat16, images*channels*size*size), newOperand(r, uop.BFloat16, out*channels*9)
			got := guard.Slice[uint16](t, images*out*size*size, place)
			g := symbolic.NewGraph()
			bufX, bufW, bufO := g.NewBuffer("CPU", int64(len(x.values)), x.dt), g.NewBuffer("CPU", int64(len(w.values)), w.dt), g.NewBuffer("CPU", int64(len(got)), uop.BFloat16)
			v, err := tensor.Conv(bufX.Reshape(uop.ShapeOf(images, channels, size, size)), bufW.Reshape(uop.ShapeOf(out, channels, 3, 3)), nil, 1, tensor.Window{Padding: [][2]int64{{1, 1}, {1, 1}}})
			if err != nil {
				t.Fatal(err)
			}
			binds := []exec.Binding{{Buffer: bufX, Ptr: x.guarded(t, place)}, {Buffer: bufW, Ptr: w.guarded(t, place+1)}, {Buffer: bufO, Ptr: unsafe.Pointer(&got[0])}}
			if err := exec.New(d).Realize(g.Sink(nil, bufO.Store(v.Reshape(uop.ShapeOf(int64(len(got)))))), binds, nil); err != nil {
				t.Fatal(err)
			}
			for i, b := range got {
				img, o, y0, x0 := i/(out*size*size), i/(size*size)%out, i/size%size, i%size
				want, magnitude := 0.0, 0.0
				for c := range channels {
					for dy := range 3 {
						for dx := range 3 {
							if yy, xx := y0+dy-1, x0+dx-1; yy >= 0 && yy < size && xx >= 0 && xx < size {
								p := x.values[((img*channels+c)*size+yy)*size+xx] * w.values[((o*channels+c)*3+dy)*3+dx]
								want += p
								magnitude += math.Abs(p)
							}
						}
					}
				}
				// The result is rounded to BF16.
				if d := math.Abs(float64(uop.BF16ToFloat(b)) - want); !(d <= math.Abs(want)*0x1p-8+magnitude*1e-6) {
					t.Fatalf("element %d is %g, expected %g", i, uop.BF16ToFloat(b), want)
				}
			}
		})
	}
}
