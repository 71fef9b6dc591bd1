package numpy_test

import (
	"fmt"

	"polygrad"
	"polygrad/linalg"
	"polygrad/numpy"
	"polygrad/special"
)

func Example() {
	x := polygrad.From([]float32{3, 1, 2, 3})
	fmt.Println(polygrad.Values[float32](numpy.Quantile(x, 0.5)))
	fmt.Println(polygrad.Values[float32](numpy.UniqueValues(x)))
	fmt.Println(polygrad.Values[float32](numpy.Interp(polygrad.From([]float32{1.5}), polygrad.From([]float32{1, 2}), polygrad.From([]float32{10, 20}))))
	square := polygrad.From([]float32{2, 0, 0, 4}, 2, 2)
	fmt.Println(polygrad.Values[float32](linalg.Solve(square, polygrad.From([]float32{2, 4}))))
	fmt.Println(polygrad.Values[float32](special.Gammainc(polygrad.From([]float32{1}), 0.0)))
	fmt.Println(numpy.Quantile(x, 2.0).Err())
	// Output:
	// [2.5] <nil>
	// [1 2 3] <nil>
	// [15] <nil>
	// [1 1] <nil>
	// [0] <nil>
	// polygrad: numpy.Quantile: q: 2, expected 0 to 1
}
