//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// convolution is a case: sizes of the image and the window, and how that moves.
type convolution struct {
	batch, in, out, groups    int64
	height, width, high, wide int64
	stride, dilation          int64
	before, after             int64
}

func (c convolution) outputs(size, window int64) int64 {
	return (size+c.before+c.after-c.dilation*(window-1)-1)/c.stride + 1
}

// convolutions have every feature in odd sizes, and each size as a width.
func convolutions() []convolution {
	out := []convolution{
		{1, 1, 1, 1, 5, 5, 3, 3, 1, 1, 0, 0},
		{2, 3, 5, 1, 7, 9, 3, 3, 1, 1, 1, 1},
		{1, 4, 6, 2, 11, 13, 3, 5, 2, 1, 1, 2},
		{3, 6, 6, 6, 9, 17, 3, 3, 1, 1, 1, 1},
		{1, 5, 7, 1, 15, 15, 3, 3, 1, 2, 2, 2},
		{1, 3, 17, 1, 31, 29, 7, 7, 2, 1, 3, 3},
		{2, 33, 19, 1, 7, 7, 1, 1, 1, 1, 0, 0},
		{1, 16, 16, 1, 14, 14, 3, 3, 3, 1, 0, 1},
		{2, 9, 12, 3, 10, 8, 2, 4, 2, 2, 3, 0},
		{1, 32, 64, 1, 8, 8, 3, 3, 1, 1, 1, 1},
		{1, 40, 19, 1, 5, 6, 3, 3, 1, 1, 1, 1},
		{3, 40, 70, 1, 5, 5, 3, 3, 1, 1, 1, 1},
	}
	for i, s := range sizes() {
		out = append(out, convolution{1, 1 + s%5, 3 + s%7, 1, 3 + s%4, s + 2, 3, 3, 1 + s%2, 1, int64(i % 2), int64(i % 3)})
	}
	return out
}

// TestConvolutions also computes the gradients.
func TestConvolutions(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, c := range convolutions() {
			t.Run(fmt.Sprint(c), func(t *testing.T) { convolve(t, e, c) })
		}
	})
}

func convolve(t *testing.T, e *exec.Executor, c convolution) {
	b := newBed(t, e, c.in, c.out, c.height, c.width)
	oh, ow, each := c.outputs(c.height, c.high), c.outputs(c.width, c.wide), c.in/c.groups
	x, xs := b.floats(c.batch, c.in, c.height, c.width)
	w, ws := b.floats(c.out, each, c.high, c.wide)
	bias, biases := b.floats(c.out)
	seed, seeds := b.floats(c.batch, c.out, oh, ow)
	window := tensor.Window{Stride: []int64{c.stride}, Dilation: []int64{c.dilation}, Padding: [][2]int64{{c.before, c.after}}}
	y := b.ok(tensor.Conv(x, w, bias, c.groups, window))
	grads, err := gradient.Of(y, []*uop.UOp{x.Base(), w.Base()}, seed)
	if err != nil {
		t.Fatal(err)
	}
	gotY, gotX, gotW := b.want(y, nil), b.want(grads[0], nil), b.want(grads[1], nil)
	b.run()
	wantY, wantX, wantW := make([]float64, len(gotY)), make([]float64, len(xs)), make([]float64, len(ws))
	perGroup := c.out / c.groups
	for n := range c.batch {
		for o := range c.out {
			for i := range oh {
				for j := range ow {
					at := ((n*c.out+o)*oh+i)*ow + j
					wantY[at] += float64(biases[o])
					for ch := range each {
						for k := range c.high {
							for l := range c.wide {
								row, column := i*c.stride+k*c.dilation-c.before, j*c.stride+l*c.dilation-c.before
								if row < 0 || row >= c.height || column < 0 || column >= c.width {
									continue
								}
								from := ((n*c.in+o/perGroup*each+ch)*c.height+row)*c.width + column
								by := ((o*each+ch)*c.high+k)*c.wide + l
								wantY[at] += float64(xs[from]) * float64(ws[by])
								wantX[from] += float64(seeds[at]) * float64(ws[by])
								wantW[by] += float64(seeds[at]) * float64(xs[from])
							}
						}
					}
				}
			}
		}
	}
	near(b, "result", gotY, wantY, 2e-5)
	near(b, "gradient of the image", gotX, wantX, 2e-5)
	near(b, "gradient of the weights", gotW, wantW, 2e-5)
}
