package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/levels"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A step of a program, and how many numbers it takes: a matrix of rows x columns becomes one of the same shape.
var numberedSteps = []func(x *uop.UOp, number func(most int) int) *uop.UOp{
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a factor
		return must(tensor.Mul(x, scalar(x, float64(number(4000)-2000)/800)))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a summand
		return must(tensor.Add(x, scalar(x, float64(number(1000)))))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a threshold
		limit := scalar(x, float64(number(9000))/1000)
		return must(tensor.Where(must(tensor.Lt(x, limit)), limit, x))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // rows from a start, between padding
		rows := x.Shape()[0].N
		start := int64(number(int(rows)/2 + 1))
		x = must(tensor.Shrink(x, []uop.Pair{pair(start, start+rows/2), pair(0, x.Shape()[1].N)}))
		before := int64(number(int(rows-rows/2) + 1))
		return must(tensor.Pad(x, []uop.Pair{pair(before, rows-rows/2-before), pair(0, 0)}, uop.Int(0)))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // the positions below a number
		n := x.Shape()[1].N
		at := must(tensor.Arange(x.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32))
		below := must(tensor.Lt(at, scalar(at, float64(number(int(n))))))
		return must(tensor.Where(below, x, scalar(x, float64(number(5000))/1000)))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a row of sums of powers
		y := must(tensor.Sum(must(tensor.Mul(x, scalar(x, float64(number(3000))/64000))), []int{0}, true))
		return must(tensor.Add(x, must(tensor.Mul(y, y))))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // whole numbers
		i := must(tensor.Cast(must(tensor.Mul(x, scalar(x, 0.125))), uop.Int32))
		i = must(tensor.Mul(i, scalar(i, float64(number(700)-300))))
		return must(tensor.Cast(i, uop.Float32))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // half precision
		h := must(tensor.Cast(must(tensor.Softmax(x, 1)), uop.Float16))
		return must(tensor.Cast(must(tensor.Mul(h, scalar(h, float64(number(1600))/800))), uop.Float32))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a divisor, and a number of numbers
		k := scalar(x, float64(1+number(900))/700)
		return must(tensor.Sub(must(tensor.Div(x, k)), must(tensor.Mul(k, scalar(x, float64(number(90))/7)))))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // sums of the elements between two positions
		n := x.Shape()[1].N
		at := must(tensor.Arange(x.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32))
		below := must(tensor.Lt(at, scalar(at, float64(number(int(n))))))
		above := must(tensor.Lt(scalar(at, float64(number(int(n)))), at))
		masked := must(tensor.Where(must(tensor.BitOr(below, above)), x, scalar(x, 0)))
		return must(tensor.Add(x, must(tensor.Mul(must(tensor.Sum(masked, []int{1}, true)), scalar(x, 0.01)))))
	},
	func(x *uop.UOp, number func(int) int) *uop.UOp { // a power, and a factor inside of a function
		y := must(tensor.Pow(must(tensor.Abs(x)), scalar(x, float64(number(40))/16)))
		return must(tensor.Mul(must(tensor.Tanh(must(tensor.Mul(x, scalar(x, float64(number(50))/90))))), y))
	},
}

// roundedSteps may round otherwise with constants: they add elements, whose order the plan of a kernel decides, have numbers that say
// which elements count, or raise to a power, which for exponents such as 1.5 is a product with a root.
var roundedSteps = []int{3, 4, 5, 7, 9, 10}

// rareSteps have numbers that stay constant or are often equal, which makes another family.
var rareSteps = []int{9, 10}

func scalar(x *uop.UOp, v float64) *uop.UOp { return must(tensor.Scalar(x, uop.Float(v))) }

func pair(lo, hi int64) uop.Pair { return uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)} }

// numbered is a program of steps on a matrix of random elements, with random numbers.
type numbered struct {
	steps      []int
	rows, cols int
	data       []float32
}

func (p *numbered) run(e *Executor, r *rand.Rand, compile func(sink *uop.UOp) (*Step, error)) ([]float32, error) {
	g := symbolic.NewGraph()
	n := p.rows * p.cols
	from, to := g.NewBuffer("CPU", int64(n), uop.Float32), g.NewBuffer("CPU", int64(n), uop.Float32)
	x := from.Reshape(uop.ShapeOf(int64(p.rows), int64(p.cols)))
	for _, s := range p.steps {
		x = numberedSteps[s](x, r.IntN)
	}
	out := make([]float32, n)
	s, err := compile(g.Sink(nil, to.Store(x.Reshape(uop.ShapeOf(int64(n))))))
	if err == nil {
		size := int64(4 * n)
		err = s.Run([]Binding{{from, unsafe.Pointer(&p.data[0]), size, nil}, {to, unsafe.Pointer(&out[0]), size, nil}}, nil)
	}
	return out, err
}

// TestNumbersBecomeArguments runs random programs with many numbers: each result is that of the program with its numbers as
// constants, to the bit unless a step may round otherwise, and the numbers do not make plans without end.
func TestNumbersBecomeArguments(t *testing.T) {
	const numbers = 20
	seed := rand.Uint64()
	for _, d := range append(levels.Native(t), interp.New()) {
		t.Run(fmt.Sprintf("%s/seed %d", d.Name(), seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			e, constants := New(d), New(d)
			for range 12 {
				p := &numbered{rows: 2 + r.IntN(9), cols: 1 + r.IntN(40)}
				for range 1 + r.IntN(4) {
					p.steps = append(p.steps, r.IntN(len(numberedSteps)))
				}
				p.data = make([]float32, p.rows*p.cols)
				for i := range p.data {
					p.data[i] = float32(r.IntN(64)-32) / 8
				}
				before, _ := e.CacheSize()
				for i := range numbers {
					got, err := p.run(e, rand.New(rand.NewPCG(seed, uint64(i))), e.Prepare)
					want, wantErr := p.run(e, rand.New(rand.NewPCG(seed, uint64(i))), constants.Compile)
					if err != nil || wantErr != nil {
						t.Fatalf("program %v, numbers %d: %v, as constants %v", p.steps, i, err, wantErr)
					}
					tolerance, largest := 0., 0.
					if slices.ContainsFunc(p.steps, func(s int) bool { return slices.Contains(roundedSteps, s) }) {
						tolerance = 1e-3
					}
					for _, w := range want {
						largest = max(largest, math.Abs(float64(w)))
					}
					for k, w := range want {
						if math.Float32bits(got[k]) != math.Float32bits(w) && !(math.Abs(float64(got[k]-w)) <= tolerance*largest) {
							t.Fatalf("program %v of %dx%d, numbers %d: element %d is %g, as constants %g", p.steps, p.rows, p.cols, i, k, got[k], w)
						}
					}
				}
				// A number can be another one of the program by chance, which is another family: of few columns that is the rule.
				rare := slices.ContainsFunc(p.steps, func(s int) bool { return slices.Contains(rareSteps, s) })
				if after, _ := e.CacheSize(); p.cols > 16 && !rare && after-before >= numbers {
					t.Errorf("program %v: %d plans for %d requests", p.steps, after-before, numbers)
				}
			}
		})
	}
}

// TestOneNumberOfMany makes one plan for the constants that stay and the one that changes.
func TestOneNumberOfMany(t *testing.T) {
	e := New(interp.New())
	for i := range 100 {
		g := symbolic.NewGraph()
		x, y := []float32{3, 0, 0, 0}, make([]float32, 4)
		from, to := g.NewBuffer("CPU", 4, uop.Float32), g.NewBuffer("CPU", 4, uop.Float32)
		v := must(tensor.Add(must(tensor.Mul(from, scalar(from, 2.5))), scalar(from, float64(i))))
		if err := e.Realize(g.Sink(nil, to.Store(v)), []Binding{{from, unsafe.Pointer(&x[0]), 16, nil}, {to, unsafe.Pointer(&y[0]), 16, nil}}, nil); err != nil {
			t.Fatal(err)
		}
		if y[0] != float32(7.5+float64(i)) {
			t.Fatalf("7.5 + %d is %g", i, y[0])
		}
	}
	if plans, _ := e.CacheSize(); plans != usual().constants+1 {
		t.Errorf("%d plans for 100 numbers, expected %d with constants and one for the others", plans, usual().constants)
	}
	for _, f := range e.families {
		if fmt.Sprint(f.varies) != "[false true]" {
			t.Errorf("the numbers that vary: %v", f.varies)
		}
	}
}

// TestNumbersOfManyGoroutines runs one plan with another number in each goroutine.
func TestNumbersOfManyGoroutines(t *testing.T) {
	for _, d := range levels.Native(t) {
		e := New(d)
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for i := range 50 {
					p := &numbered{steps: []int{0, 1, 3}, rows: 4, cols: 4, data: make([]float32, 16)}
					seed := uint64(100*n + i)
					got, err := p.run(e, rand.New(rand.NewPCG(seed, 2)), e.Prepare)
					want, _ := p.run(e, rand.New(rand.NewPCG(seed, 2)), e.Compile)
					if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%v, expected %v, %v", got, want, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// A request that reads a buffer of one element where another one has a number is of another family.
func TestNumbersAndBuffersOfOneElement(t *testing.T) {
	e := New(interp.New())
	in, one, out := [2]float32{1, 2}, [1]float32{7}, [2]float32{}
	for i := range 2 * usual().constants {
		g := symbolic.NewGraph()
		x, y, z := g.NewBuffer("CPU", 2, uop.Float32), g.NewBuffer("CPU", 1, uop.Float32), g.NewBuffer("CPU", 2, uop.Float32)
		number := scalar(x, float64(i))
		binds := []Binding{{Buffer: x, Ptr: unsafe.Pointer(&in)}, {Buffer: z, Ptr: unsafe.Pointer(&out)}}
		other, want := scalar(x, 0.5), 0.5
		if i%2 == 0 {
			other, want = must(tensor.Reshape(y, uop.Shape{})), 7
			binds = append(binds, Binding{Buffer: y, Ptr: unsafe.Pointer(&one)})
		}
		sum := must(tensor.Add(must(tensor.Mul(x, must(tensor.Expand(other, x.Shape())))), number))
		if err := e.Realize(g.Sink(nil, must(tensor.Store(z, sum))), binds, nil); err != nil {
			t.Fatal(err)
		}
		if got := float64(out[1]); got != 2*want+float64(i) {
			t.Errorf("request %d: %v, expected %v", i, got, 2*want+float64(i))
		}
	}
}
