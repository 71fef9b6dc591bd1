package polygrad_test

import (
	"fmt"
	"log"

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
