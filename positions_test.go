package polygrad_test

import (
	"strings"
	"testing"

	"polygrad"
)

// Positions and classes that do not exist would give 0, be written nowhere, or count as predicted perfectly. Those in memory are told,
// of every integer type, also as views.
func TestPositionsOutOfRangeAreTold(t *testing.T) {
	x := polygrad.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	pick := func(at ...int) *polygrad.Tensor { // of the second column of a matrix, backwards
		data := make([]int32, 2*len(at))
		for i, n := range at {
			data[2*(len(at)-1-i)+1] = int32(n)
		}
		return polygrad.From(data, len(at), 2).Flip(0).Index(polygrad.All(), polygrad.At(1))
	}
	operations := []struct {
		name        string
		f           func(at *polygrad.Tensor) *polygrad.Tensor
		least, most int
		want        string
	}{
		{"Index", func(at *polygrad.Tensor) *polygrad.Tensor { return x.Index(polygrad.All(), polygrad.Take(at)) }, -3, 2, "out of bounds for axis 1 of size 3"},
		{"Set", func(at *polygrad.Tensor) *polygrad.Tensor { return x.Clone().Set(1, polygrad.Take(at)) }, -2, 1, "out of bounds for axis 0 of size 2"},
		{"IndexSelect", func(at *polygrad.Tensor) *polygrad.Tensor { return x.IndexSelect(1, at) }, -3, 2, "out of bounds for axis 1 of size 3"},
		{"Gather", func(at *polygrad.Tensor) *polygrad.Tensor { return x.Gather(1, at.Reshape(2, 1)) }, 0, 2, "out of bounds for axis 1 of size 3"},
		{"Scatter", func(at *polygrad.Tensor) *polygrad.Tensor { return x.Scatter(-1, at.Reshape(2, 1), 7) }, 0, 2, "out of bounds for axis -1 of size 3"},
		{"ScatterReduce", func(at *polygrad.Tensor) *polygrad.Tensor { return x.ScatterReduce(1, at.Reshape(1, 2), 7, "sum") }, 0, 2, "out of bounds for axis 1 of size 3"},
		{"Embedding", func(at *polygrad.Tensor) *polygrad.Tensor { return x.Embedding(at) }, 0, 1, "out of bounds for axis 0 of size 2"},
		{"OneHot", func(at *polygrad.Tensor) *polygrad.Tensor { return at.OneHot(polygrad.WithNumClasses(5)) }, 0, 4, "expected 0 to 4"},
		{"CrossEntropy", func(at *polygrad.Tensor) *polygrad.Tensor { return x.CrossEntropy(at) }, 0, 2, "expected 0 to 2"},
		{"NLLLoss", func(at *polygrad.Tensor) *polygrad.Tensor { return x.NLLLoss(at) }, 0, 2, "expected 0 to 2"},
		{"SparseCategoricalCrossEntropy", func(at *polygrad.Tensor) *polygrad.Tensor { return x.SparseCategoricalCrossEntropy(at) }, -1, 2, "expected 0 to 2"},
	}
	for _, dtype := range []polygrad.DType{polygrad.Int8, polygrad.Uint8, polygrad.Int16, polygrad.Uint16, polygrad.Int32, polygrad.Uint32, polygrad.Int64, polygrad.Uint64} {
		unsigned := strings.HasPrefix(string(dtype), "uint")
		for _, o := range operations {
			for _, n := range []int{o.least - 1, o.least, o.most, o.most + 1} {
				if unsigned && n < 0 {
					continue
				}
				at := pick(0, n).Cast(dtype)
				if err := at.Realize(); err != nil {
					t.Fatal(err)
				}
				err := o.f(at).Err()
				switch good := o.least <= n && n <= o.most; {
				case good && err != nil:
					t.Errorf("%s of %d as %s: %v", o.name, n, dtype, err)
				case !good && (err == nil || !strings.Contains(err.Error(), o.want)):
					t.Errorf("%s of %d as %s: %v, expected %s", o.name, n, dtype, err, o.want)
				}
			}
		}
	}
	// A view is looked at where it lies, a computation is not.
	if err := x.Gather(1, pick(0, 3).Reshape(2, 1)).Err(); err == nil {
		t.Error("a view of positions: no error")
	}
	lazy := x.Gather(1, pick(0, 3).Add(1).Reshape(2, 1))
	if got, err := polygrad.Values[float32](lazy); err != nil || got[1] != 0 {
		t.Errorf("lazy positions: %v %v, expected 0", got, err)
	}
}
