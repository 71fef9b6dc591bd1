package polygrad

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"polygrad/exec"
	"polygrad/tests/devices/shaders"
	"polygrad/variable"
)

// longLoops computes, of n integers from 0 to 6, what loops over all of them in one invocation compute.
func longLoops(t *testing.T, c *Context, n int) {
	t.Helper()
	x, sums, above := make([]int32, n), make([]int32, 7), []int32(nil)
	for i := range x {
		x[i] = rand.Int32N(7)
		sums[x[i]] += x[i]
		if x[i] > 5 {
			above = append(above, x[i])
		}
	}
	all := FromIn(c, x, n)
	length := c.Variable("length", 1, n).Bind(n - 1)
	rows := FromIn(c, x, 1, n).Expand(3, n).Contiguous().Index(SliceSizes(nil, c.Variable("rows", 1, 3).Bind(2)), SliceSizes(nil, length))
	total := -2 * x[n-1]
	for _, s := range sums {
		total += 2 * s
	}
	for name, of := range map[string]struct {
		got  *Tensor
		want []int32
	}{
		"scattered": {FromIn(c, make([]int32, 7), 7).ScatterReduce(0, all, all, "sum"), sums},
		"chosen":    {all.MaskedSelect(all.Gt(5)), above},
		"rows":      {rows.Sum(WithAxis(1)).Sum(), []int32{total}},
	} {
		if got, err := Values[int32](of.got); err != nil || !slices.Equal(got, of.want) {
			t.Errorf("%s: %d elements %v (%v), expected %d: %v", name, len(got), got[:min(len(got), 8)], err, len(of.want), of.want[:min(len(of.want), 8)])
		}
	}
}

// llvmpipe ends loops after 65,535 iterations of an invocation.
func TestWebGPULongLoops(t *testing.T) {
	c, _ := onGPU(t)
	longLoops(t, c, 100_000)
}

func TestLongLoopShaders(t *testing.T) {
	d := shaders.New()
	e := exec.New(d)
	longLoops(t, &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}, 10_000)
	several := 0
	for _, s := range d.Shaders() {
		several += strings.Count(s.Source, "break;")
	}
	if several == 0 {
		t.Error("no shader does several iterations in one")
	}
	d.Validate(t)
}

// variableSizes compares computations of variable sizes up to n with those of sizes that are numbers, on the host.
func variableSizes(t *testing.T, c *Context, n int) {
	t.Helper()
	host, err := NewContext("native")
	if err != nil {
		t.Fatal(err)
	}
	forms := func(c *Context) map[string]func(rows, columns Index) *Tensor {
		numbers := func(rows, columns, by int) *Tensor {
			out := make([]float32, rows*columns)
			for i := range out {
				out[i] = float32(i*by%13-6) / 4 // sums of products are exact
			}
			return realized(t, FromIn(c, out, rows, columns))
		}
		const k = 48
		x, y, z := numbers(n, k, 5), numbers(n, n, 7), numbers(k, 70, 11)
		return map[string]func(rows, columns Index) *Tensor{
			"sums of rows":     func(r, s Index) *Tensor { return y.Index(r, s).Sum(WithAxis(1)) },
			"sums of columns":  func(r, s Index) *Tensor { return y.Index(r, s).Sum(WithAxis(0)) },
			"greatest":         func(r, s Index) *Tensor { v := y.Index(r, s); return v.Sub(v.Max(WithAxis(1), WithKeepDim(true))) },
			"product of rows":  func(r, s Index) *Tensor { return x.Index(r).MatMul(z) },
			"scores":           func(r, s Index) *Tensor { return x.Index(r).MatMul(x.Index(s).Permute(1, 0)) },
			"values of scores": func(r, s Index) *Tensor { return y.Index(r, s).MatMul(x.Index(s)) },
		}
	}
	rows, columns, expected := c.Variable("rows", 1, n), c.Variable("columns", 1, n), forms(host)
	for name, f := range forms(c) {
		for _, size := range [][2]int{{1, 1}, {3, n}, {16, 64}, {n, 33}, {65, 17}, {n - 1, n - 1}} {
			got, err := Values[float32](f(SliceSizes(nil, rows.Bind(size[0])), SliceSizes(nil, columns.Bind(size[1]))).Sum())
			if err != nil {
				t.Fatal(name, size, err)
			}
			want, err := Values[float32](expected[name](Slice(0, size[0]), Slice(0, size[1])).Sum())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %v: %v, expected %v (%v)", name, size, got, want, err)
			}
		}
	}
}

func TestWebGPUVariableSizes(t *testing.T) {
	c, _ := onGPU(t)
	variableSizes(t, c, 130)
	c, _ = onDiscreteGPU(t)
	variableSizes(t, c, 130)
}

func TestVariableSizeShaders(t *testing.T) {
	d := shaders.New()
	e := exec.New(d)
	variableSizes(t, &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}, 70)
	staged := 0
	for _, s := range d.Shaders() {
		if len(s.Vars) > 0 && strings.Contains(s.Source, "var<workgroup> scratch") {
			staged++
		}
	}
	if staged == 0 {
		t.Error("no shader of variable sizes has operands in workgroup memory")
	}
	d.Validate(t)
}
