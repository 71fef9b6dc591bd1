package polygrad_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"polygrad"
)

func Example() {
	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
	y := x.MatMul(x.T()).Add(3).Sqrt().Sum(polygrad.WithAxis(1))
	values, err := polygrad.Values[float32](y)
	fmt.Printf("%.3f %v\n", values, err)
	// Output: [6.570 9.033] <nil>
}

func ExampleFrom() {
	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
	y := x.MatMul(x.T()).Add(1).Sum(polygrad.WithAxis(1))
	fmt.Println(polygrad.Values[float32](y))
	// Output: [18 38] <nil>
}

func ExampleTensor_Err() {
	bad := polygrad.From([]float32{1, 2, 3}).Sum(polygrad.WithAxis(2)).Exp().Mul(2)
	fmt.Println(bad.Err())
	// Output: polygrad: Sum: axis: 2 is out of range for 1 dimensions, expected -1..0
}

func ExampleTensor_Set() {
	x := polygrad.From([]float32{1, 2, 3, 4})
	rows, sum := x.Reshape(2, 2), x.Add(10)
	rows.Set(0, polygrad.At(1))
	fmt.Println(polygrad.Values[float32](x))
	fmt.Println(polygrad.Values[float32](sum))
	// Output:
	// [1 2 0 0] <nil>
	// [11 12 13 14] <nil>
}

func ExampleVMap() {
	loss := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		w, x := args[0], args[1]
		return []*polygrad.Tensor{w.Mul(x).Sum().Square()}, nil
	}
	w, xs := polygrad.From([]float32{1, 2}), polygrad.From([]float32{1, 0, 0, 1}, 2, 2)
	each, err := polygrad.VMap(polygrad.Grad(loss), []int{polygrad.Unmapped, 0}, nil)(w, xs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float32](each[0]))
	// Output: [2 0 0 4] <nil>
}

func ExampleTensor_Backward() {
	w := polygrad.From([]float32{1, 2, 3}).SetRequiresGrad(true)
	w.Pow(3).Sum().Backward()
	fmt.Println(polygrad.Values[float32](w.Grad()))
	// Output: [3 12 27] <nil>
}

func ExampleCompile() {
	w := polygrad.Zeros([]int{2}).SetRequiresGrad(true)
	optimizer, err := polygrad.NewSGD([]*polygrad.Tensor{w}, 0.25, polygrad.SGDOptions{})
	if err != nil {
		log.Fatal(err)
	}
	target := polygrad.From([]float32{3, 4})
	step, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		optimizer.ZeroGrad()
		loss := w.Sub(args[0]).Square().Sum().Backward()
		return []*polygrad.Tensor{loss}, optimizer.Step()
	}, target)
	if err != nil {
		log.Fatal(err)
	}
	for range 20 {
		if _, err := step.Run(target); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(polygrad.Values[float32](w.Round()))
	// Output: [3 4] <nil>
}

func ExampleVariable() {
	n := polygrad.Variable("n", 1, 4)
	x := polygrad.From([]float32{1, 2, 3, 4})
	for k := 1; k <= 3; k++ {
		sum, err := x.Index(polygrad.SliceSizes(nil, n.Bind(k))).Sum().Item()
		fmt.Println(sum, err)
	}
	// Output:
	// 1 <nil>
	// 3 <nil>
	// 6 <nil>
}

func ExampleContext_NoGrad() {
	w := polygrad.From([]float32{1, 2}).SetRequiresGrad(true)
	err := polygrad.Default().NoGrad(func() error {
		fmt.Println(w.Mul(2).RequiresGrad())
		return nil
	})
	fmt.Println(w.Mul(2).RequiresGrad(), err)
	// Output:
	// false
	// true <nil>
}

func ExampleTensor_Assign() {
	x := polygrad.From([]float32{1, 2, 3})
	if err := x.Assign(x.Flip(0).Mul(10)).Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float32](x))
	fmt.Println(x.Assign(polygrad.From([]float32{1, 2})).Err())
	// Output:
	// [30 20 10] <nil>
	// polygrad: Assign: x: of shape (2), expected one that broadcasts to (3)
}

func ExampleNewAdam() {
	w := polygrad.From([]float32{1})
	optimizer, err := polygrad.NewAdam([]*polygrad.Tensor{w}, 0.5, polygrad.DefaultAdam)
	if err != nil {
		log.Fatal(err)
	}
	w.Square().Sum().Backward()
	if err := optimizer.Step(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float32](w))
	// Output: [0.5] <nil>
}

func ExampleState() {
	type layer struct{ Weight, Bias *polygrad.Tensor }
	net := struct{ Layers []layer }{[]layer{{polygrad.Ones([]int{2, 3}), polygrad.Zeros([]int{2})}}}
	optimizer, err := polygrad.NewAdamW(polygrad.Parameters(net), 0.01, polygrad.DefaultAdam)
	if err != nil {
		log.Fatal(err)
	}
	state := polygrad.State(map[string]any{"net": net, "optimizer": optimizer})
	for _, name := range []string{"net.layers.0.weight", "optimizer.m.0", "optimizer.b1_t"} {
		fmt.Println(name, state[name].Shape())
	}
	// Output:
	// net.layers.0.weight [2 3]
	// optimizer.m.0 [2 3]
	// optimizer.b1_t [1]
}

func ExampleSave() {
	path := filepath.Join(os.TempDir(), "polygrad-example.safetensors")
	defer os.Remove(path)
	net := struct{ Weight *polygrad.Tensor }{polygrad.From([]float32{1, 2, 3})}
	if err := polygrad.Save(path, polygrad.State(net), map[string]string{"epoch": "7"}); err != nil {
		log.Fatal(err)
	}
	net.Weight.Assign(0)
	state, err := polygrad.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := polygrad.LoadState(net, state); err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float32](net.Weight))
	// Output: [1 2 3] <nil>
}

func ExampleJit() {
	scaled := polygrad.Jit(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		x := args[0]
		return []*polygrad.Tensor{x.Sub(x.Mean()).Div(x.Std())}, nil
	})
	for _, data := range [][]float32{{1, 3}, {10, 30}, {-5, 5}} { // the second call compiles, the third runs the program
		out, err := scaled(polygrad.From(data))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f\n", must(polygrad.Values[float32](out[0])))
	}
	// Output:
	// [-0.707 0.707]
	// [-0.707 0.707]
	// [-0.707 0.707]
}

func ExampleTensor_Gradient() {
	x := polygrad.From([]float32{1, 2})
	slope := x.Pow(3).Sum().Gradient([]*polygrad.Tensor{x})[0]
	curvature := slope.Sum().Gradient([]*polygrad.Tensor{x})[0]
	fmt.Println(must(polygrad.Values[float32](slope)), must(polygrad.Values[float32](curvature)))
	// Output: [3 12] [6 12]
}

func ExampleTensor_Index() {
	x := polygrad.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(must(polygrad.Values[float32](x.Index(polygrad.At(-1)))))
	fmt.Println(must(polygrad.Values[float32](x.Index(polygrad.All(), polygrad.Slice(1, 3)))))
	fmt.Println(must(polygrad.Values[float32](x.Index(polygrad.Ellipsis(), polygrad.Take(polygrad.From([]int32{2, 0}))))))
	fmt.Println(must(polygrad.Values[float32](x.Index(polygrad.Take(x.Gt(4))))))
	// Output:
	// [4 5 6]
	// [2 3 5 6]
	// [3 1 6 4]
	// [5 6]
}

func ExampleShare() {
	data := []float32{1, 2, 3}
	x := polygrad.Share(data)
	data[0] = 10 // the tensor is on the memory of the slice
	fmt.Println(must(polygrad.Values[float32](x.Mul(2))))
	// Output: [20 4 6]
}

func ExampleRealize() {
	x := polygrad.From([]float32{3, 1, 2})
	sorted, order := x.Sort()
	if err := polygrad.Realize(sorted, order); err != nil { // both in one program
		log.Fatal(err)
	}
	fmt.Println(must(polygrad.Values[float32](sorted)), must(polygrad.Values[int32](order)))
	// Output: [1 2 3] [1 2 0]
}

func ExampleContext_Seed() {
	polygrad.Default().Seed(7)
	a := must(polygrad.Values[float32](polygrad.Rand([]int{2})))
	polygrad.Default().Seed(7)
	b := must(polygrad.Values[float32](polygrad.Rand([]int{2})))
	fmt.Println(slices.Equal(a, b))
	// Output: true
}

func ExampleContext_SetTraining() {
	x := polygrad.Ones([]int{1000})
	defer polygrad.Default().SetTraining(polygrad.Default().SetTraining(true))
	dropped := must(polygrad.Values[float32](x.Dropout(polygrad.WithP(0.5))))
	fmt.Println(slices.Min(dropped), slices.Max(dropped))
	// Output: 0 2
}

func ExampleNewSchedule() {
	w := polygrad.From([]float32{1})
	optimizer, err := polygrad.NewSGD([]*polygrad.Tensor{w}, 1, polygrad.SGDOptions{})
	if err != nil {
		log.Fatal(err)
	}
	schedule, err := polygrad.NewSchedule(optimizer, polygrad.StepRate(2, 0.1))
	if err != nil {
		log.Fatal(err)
	}
	for range 4 {
		fmt.Printf("%.2f ", must(optimizer.LR.Item()))
		if err := schedule.Step(); err != nil {
			log.Fatal(err)
		}
	}
	// Output: 1.00 1.00 0.10 0.10
}

func must[T any](x T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return x
}

func ExampleScan() {
	step := func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
		x := carry[0].Add(elements[0].Mul(0.1))
		return []*polygrad.Tensor{x}, []*polygrad.Tensor{x}, nil
	}
	force := polygrad.Ones([]int{100})
	last, path, err := polygrad.Scan(step, []*polygrad.Tensor{polygrad.Scalar(float32(0))}, []*polygrad.Tensor{force}, -1, false)
	fmt.Println(last[0].Shape(), path[0].Shape(), err)
	// Output: [] [100] <nil>
}

func ExampleCond() {
	root := func(x *polygrad.Tensor) ([]*polygrad.Tensor, error) {
		ifPositive := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return []*polygrad.Tensor{args[0].Sqrt()}, nil
		}
		otherwise := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return []*polygrad.Tensor{args[0].ReLU()}, nil
		}
		return polygrad.Cond(x.Gt(0), ifPositive, otherwise, x)
	}
	for _, v := range []float64{4, -4} {
		y, err := root(polygrad.Scalar(v))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(y[0].Item())
	}
	// Output:
	// 2 <nil>
	// 0 <nil>
}

func ExampleWhileLoop() {
	// The first power of 3 above 1,000.
	below := func(carry []*polygrad.Tensor) (*polygrad.Tensor, error) { return carry[0].Lt(1000), nil }
	triple := func(carry []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{carry[0].Mul(3)}, nil
	}
	power, err := polygrad.WhileLoop(below, triple, polygrad.Scalar(int32(1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(power[0].Item())
	// Output: 2187 <nil>
}
