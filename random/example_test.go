package random_test

import (
	"fmt"

	"polygrad"
	"polygrad/random"
)

func Example() {
	keys := random.Split(random.Key(42))
	weights, noise := keys.Index(polygrad.At(0)), keys.Index(polygrad.At(1))
	fmt.Println(random.Normal(weights, random.WithShape(2, 3)).Shape())
	fmt.Println(polygrad.Values[float32](random.Uniform(noise, random.WithShape(3))))
	fmt.Println(polygrad.Values[int32](random.Permutation(noise, 5)))
	// Output:
	// [2 3]
	// [0.72766423 0.78786755 0.18169427] <nil>
	// [2 0 4 3 1] <nil>
}
