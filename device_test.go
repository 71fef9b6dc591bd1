package polygrad

import (
	"slices"
	"strings"
	"testing"

	"polygrad/exec"
)

// values are the elements of a tensor.
func values(t *testing.T, x *Tensor) []float32 {
	t.Helper()
	v, err := Values[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Another device than that of the context, which each machine has.
const otherDevice = "interp"

func TestTensorsStayOnTheirDevice(t *testing.T) {
	c, err := NewContext("wasm")
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2, 3}, 3)
	y := x.To(otherDevice)
	if x.Device() != "wasm" || y.Device() != otherDevice || y.To(otherDevice).Device() != otherDevice {
		t.Fatalf("devices: %s, %s", x.Device(), y.Device())
	}
	z := y.Mul(2).Add(x).Reshape(3, 1) // x goes along
	if z.Device() != otherDevice {
		t.Errorf("a result is on %s", z.Device())
	}
	if got := values(t, z); !slices.Equal(got, []float32{3, 6, 9}) {
		t.Errorf("got %v", got)
	}
	if z.Device() != otherDevice || x.Device() != "wasm" {
		t.Errorf("after a computation: %s, %s", z.Device(), x.Device())
	}
	w := z.To("wasm")
	if _, err := Values[float32](w.Add(z)); err == nil || !strings.Contains(err.Error(), "operands are on the devices wasm and interp, expected one") {
		t.Errorf("tensors of two devices: %v", err)
	}
	if got := values(t, w.Add(z.To("wasm"))); !slices.Equal(got, []float32{6, 12, 18}) {
		t.Errorf("got %v", got)
	}
	if err := w.To("quantum").Err(); err == nil || !strings.Contains(err.Error(), "unknown device") {
		t.Errorf("an unknown device: %v", err)
	}
	y.Assign(x.Mul(10)) // a write stays on its device, and does not change what it was copied from
	if got := values(t, y); !slices.Equal(got, []float32{10, 20, 30}) || y.Device() != otherDevice {
		t.Errorf("after a write: %v on %s", got, y.Device())
	}
	if got := values(t, x); !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("the original: %v", got)
	}
	if err := y.Assign(w.Reshape(3)).Err(); err == nil || !strings.Contains(err.Error(), "is on the device wasm, expected interp as the tensor") {
		t.Errorf("a write from another device: %v", err)
	}
}

func TestGradientsCrossDevices(t *testing.T) {
	c, err := NewContext("wasm")
	if err != nil {
		t.Fatal(err)
	}
	for name, realize := range map[string]bool{"lazy": false, "computed": true} {
		t.Run(name, func(t *testing.T) {
			w := FromIn(c, []float32{1, 2}, 2).Move("wasm").SetRequiresGrad(true)
			h := w.Mul(3)
			if realize {
				realized(t, h)
			}
			v := FromIn(c, []float32{5, 7}, 2).To(otherDevice).SetRequiresGrad(true)
			loss := h.To(otherDevice).Mul(v).Sum()
			for i := range 2 {
				if err := loss.Backward().Err(); err != nil {
					t.Fatal(err)
				}
				n := float32(i + 1)
				if got := values(t, w.Grad()); !slices.Equal(got, []float32{15 * n, 21 * n}) || w.Grad().Device() != "wasm" {
					t.Errorf("gradient %v on %s", got, w.Grad().Device())
				}
				if got := values(t, v.Grad()); !slices.Equal(got, []float32{3 * n, 6 * n}) || v.Grad().Device() != otherDevice {
					t.Errorf("gradient %v on %s", got, v.Grad().Device())
				}
			}
			o, err := NewSGD([]*Tensor{w, v}, 1, SGDOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Step(); err != nil {
				t.Fatal(err)
			}
			if got := append(values(t, w), values(t, v)...); !slices.Equal(got, []float32{-29, -40, -1, -5}) {
				t.Errorf("after a step on two devices: %v", got)
			}
			if w.Device() != "wasm" || v.Device() != otherDevice {
				t.Errorf("after a step: %s, %s", w.Device(), v.Device())
			}
		})
	}
}

func TestCompiledFunctionsRunOnTheDeviceOfTheirArguments(t *testing.T) {
	c, err := NewContext("wasm")
	if err != nil {
		t.Fatal(err)
	}
	w := FromIn(c, []float32{1, 1}, 2)
	step, err := Compile(func(args ...*Tensor) ([]*Tensor, error) {
		w.Assign(w.Add(args[0]))
		return []*Tensor{w.Sum()}, nil
	}, FromIn(c, []float32{1, 2}, 2).To(otherDevice))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		out, err := step.Run(FromIn(c, []float32{1, 2}, 2))
		if err != nil {
			t.Fatal(err)
		}
		if got := values(t, out[0]); got[0] != float32(5+3*i) || out[0].Device() != otherDevice || w.Device() != otherDevice {
			t.Errorf("run %d: %v on %s, the weight on %s", i, got, out[0].Device(), w.Device())
		}
	}
	if _, err := step.Run(FromIn(c, []float32{1, 2}, 2).Move("wasm")); err == nil || !strings.Contains(err.Error(), "argument 0 is on the device wasm, expected interp") {
		t.Errorf("an argument on another device: %v", err)
	}
	_, err = Compile(func(args ...*Tensor) ([]*Tensor, error) { return []*Tensor{args[0].Add(w)}, nil }, FromIn(c, []float32{1, 2}, 2).Move("wasm"))
	if err == nil || !strings.Contains(err.Error(), "operands are on the devices wasm and interp") {
		t.Errorf("a function of two devices: %v", err)
	}
}

// TestNamesOfOneDevice puts tensors on the device of the context by its names: they are used as those that were put on none.
func TestNamesOfOneDevice(t *testing.T) {
	for _, names := range [][2]string{{"", "cpu"}, {"cpu", exec.Named("")}, {exec.Named(""), ""}} {
		c, err := NewContext(names[0])
		if err != nil {
			t.Fatal(err)
		}
		own := names[1]
		if own == "" {
			own = "cpu"
		}
		x := FromIn(c, []float32{1, 2}, 2)
		if there := x.To(own); there.v.Device() != "" {
			t.Errorf("%q: To(%q) is a copy, on %s", names[0], own, there.Device())
		}
		step, err := Compile(func(args ...*Tensor) ([]*Tensor, error) {
			return []*Tensor{args[0].Add(1)}, nil
		}, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range []*Tensor{FromIn(c, []float32{3, 4}, 2), FromIn(c, []float32{3, 4}, 2).Move(own)} {
			out, err := step.Run(arg)
			if err != nil {
				t.Fatalf("context %q, argument on %q: %v", names[0], arg.Device(), err)
			}
			if got := values(t, out[0]); !slices.Equal(got, []float32{4, 5}) {
				t.Errorf("got %v", got)
			}
		}
		if _, err := step.Run(FromIn(c, []float32{1, 2}, 2).To(otherDevice)); err == nil ||
			!strings.Contains(err.Error(), "argument 0 is on the device interp, expected one on that of the context") {
			t.Errorf("an argument on another device: %v", err)
		}
	}
	c, err := NewContext(otherDevice)
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2}, 2)
	a, b := x.To("cpu"), x.Mul(2).To(exec.Named("")) // two names of one device, which is not that of the context
	if a.Device() == b.Device() {
		t.Fatalf("one name: %s", a.Device())
	}
	if got := values(t, a.Add(b)); !slices.Equal(got, []float32{3, 6}) {
		t.Errorf("got %v", got)
	}
	if got := values(t, a.Assign(b)); !slices.Equal(got, []float32{2, 4}) || a.Device() != "cpu" {
		t.Errorf("after a write: %v on %s", got, a.Device())
	}
	step, err := Compile(func(args ...*Tensor) ([]*Tensor, error) { return []*Tensor{args[0].Add(args[1])}, nil }, a, b)
	if err != nil {
		t.Fatal(err)
	}
	out, err := step.Run(b, a.Clone())
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, out[0]); !slices.Equal(got, []float32{4, 8}) {
		t.Errorf("got %v", got)
	}
}

func TestStepsLeaveArgumentsOnTheirDevice(t *testing.T) {
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	step, err := Compile(func(args ...*Tensor) ([]*Tensor, error) {
		args[0].Assign(args[0].Mul(2))
		return []*Tensor{args[0].Sum()}, nil
	}, FromIn(c, []float32{1, 2}, 2))
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2}, 2).Move("cpu")
	if _, err := step.Run(x); err != nil {
		t.Fatal(err)
	}
	if got := values(t, x); !slices.Equal(got, []float32{2, 4}) || x.v.Device() != "cpu" {
		t.Errorf("got %v on %q", got, x.v.Device())
	}
}

// TestOneComputationOnTwoDevices computes copies of one lazy tensor on two devices at once.
func TestOneComputationOnTwoDevices(t *testing.T) {
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2}, 2).SetRequiresGrad(true)
	y := x.Mul(2)
	a, b := y.To(otherDevice), y.To("wasm")
	if err := Realize(a, b); err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]*Tensor{otherDevice: a, "wasm": b} {
		if got.Device() != want || !slices.Equal(values(t, got), []float32{2, 4}) {
			t.Errorf("%v on %s, expected it on %s", values(t, got), got.Device(), want)
		}
		if sum := got.Add(FromIn(c, []float32{1, 1}, 2).To(want)); sum.Device() != want || !slices.Equal(values(t, sum), []float32{3, 5}) {
			t.Errorf("a sum on %s: %v", sum.Device(), values(t, sum))
		}
		if err := got.Sum().Backward().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := values(t, x.Grad()); !slices.Equal(got, []float32{4, 4}) {
		t.Errorf("gradient %v", got)
	}
}
