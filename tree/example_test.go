package tree_test

import (
	"fmt"
	"log"

	"polygrad"
	"polygrad/tree"
)

type Params struct{ Slope, Offset *polygrad.Tensor }
type Points struct{ X, Y *polygrad.Tensor }

func Example() {
	loss := func(p Params, d Points) (*polygrad.Tensor, error) {
		return p.Slope.Mul(d.X).Add(p.Offset).Sub(d.Y).Square().Mean(), nil
	}
	step := tree.Jit(func(p Params, d Points) (Params, error) {
		grads, err := tree.Grad(loss)(p, d)
		if err != nil {
			return p, err
		}
		return tree.Map(func(xs ...*polygrad.Tensor) *polygrad.Tensor { return xs[0].Sub(xs[1].Mul(0.1)) }, p, grads)
	})
	line := Params{polygrad.Scalar(float32(0)), polygrad.Scalar(float32(0))}
	points := Points{polygrad.From([]float32{0, 1, 2}), polygrad.From([]float32{1, 3, 5})}
	for range 200 {
		var err error
		if line, err = step.Call(line, points); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(line.Slope.Round().Item())
	fmt.Println(line.Offset.Round().Item())
	fmt.Println(step.CacheInfo())
	// Output:
	// 2 <nil>
	// 1 <nil>
	// {199 1 1}
}

func ExampleVMap() {
	loss := func(p Params, d Points) (*polygrad.Tensor, error) {
		return p.Slope.Mul(d.X).Add(p.Offset).Sub(d.Y).Square(), nil
	}
	line := Params{polygrad.Scalar(1.0), polygrad.Scalar(0.0)}
	points := Points{polygrad.From([]float64{0, 1, 2}), polygrad.From([]float64{1, 3, 5})}
	each, err := tree.VMap(tree.Grad(loss), tree.Axes{Params: polygrad.Unmapped})(line, points)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float64](each.Slope))
	// Output: [-0 -4 -12] <nil>
}

func ExampleScan() {
	type body struct{ Position, Velocity *polygrad.Tensor }
	fall := func(b body, dt *polygrad.Tensor) (body, *polygrad.Tensor, error) {
		b.Velocity = b.Velocity.Sub(dt.Mul(10))
		b.Position = b.Position.Add(b.Velocity.Mul(dt))
		return b, b.Position, nil
	}
	start := body{polygrad.Scalar(20.0), polygrad.Scalar(0.0)}
	last, path, err := tree.Scan(fall, start, polygrad.Full([]int{4}, 0.5, polygrad.WithDType(polygrad.Float64)), -1, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(polygrad.Values[float64](path))
	fmt.Println(last.Velocity.Item())
	// Output:
	// [17.5 12.5 5 -5] <nil>
	// -20 <nil>
}

func ExampleJit() {
	power := tree.Jit(func(x *polygrad.Tensor, n int) (*polygrad.Tensor, error) {
		y := x
		for range n - 1 { // n is a constant of the program
			y = y.Mul(x)
		}
		return y, nil
	})
	x := polygrad.From([]float32{1, 2, 3})
	for _, n := range []int{2, 3, 2} {
		y, err := power.Call(x, n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(polygrad.Values[float32](y))
	}
	fmt.Println(power.CacheInfo())
	// Output:
	// [1 4 9] <nil>
	// [1 8 27] <nil>
	// [1 4 9] <nil>
	// {1 2 2}
}
