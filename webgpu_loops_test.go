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
