package table

import (
	"fmt"
	"math"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/element"
	"polygrad/tests/part"
)

// TestGoTransforms runs forward mode and batching of the operations of the cases: the tangent of the weighted results is compared with the
// gradients of the table, a batch of two elements with the results for each.
func TestGoTransforms(t *testing.T) {
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := exec.Open("native")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range part.Of(t, cases, part.Week, 1) {
		if c.Error != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			call, leaves, err := newGoCall(t, c, e)
			if err == nil {
				err = call.transforms(leaves)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (c *goCall) transforms(leaves []*uop.UOp) error {
	outs, err := c.results()
	if err != nil {
		return err
	}
	var results []*uop.UOp
	for i, out := range outs {
		if out != nil && (c.Outputs[i] != nil || c.Weights != nil) {
			results = append(results, out)
		}
	}
	if !c.computed {
		if err := c.batch(results, leaves); err != nil {
			return fmt.Errorf("batch: %w", err)
		}
	}
	if c.Grads == nil {
		return nil
	}
	if err := c.tangents(outs, leaves); err != nil {
		return fmt.Errorf("forward mode: %w", err)
	}
	loss, wrt, _, err := c.loss(outs, leaves)
	if err != nil {
		return err
	}
	grads, err := gradient.Of(loss, wrt, nil)
	if err == nil {
		err = c.batch(grads, leaves)
	}
	if err != nil {
		return fmt.Errorf("batch of gradients: %w", err)
	}
	if err := c.gradientsOfBatch(loss, wrt, grads); err != nil {
		return fmt.Errorf("gradients of a batch: %w", err)
	}
	return c.symmetric(grads, wrt)
}

// direction is a vector of numbers without a pattern.
func (c *goCall) direction(like *uop.UOp, n int) (*uop.UOp, []float64) {
	size := like.Shape().MaxNumel()
	u, p := c.bind(like.DType, size)
	values := make([]float64, size)
	for k := range values {
		values[k] = math.Round(64*math.Sin(float64(3*k+7*n+1))) / 64
		element.Put(p, int64(k), like.DType, uop.Float(values[k]))
	}
	return u.Reshape(like.Shape()), values
}

// tangents compares the tangent of the loss with the product of the table's gradients and a direction.
func (c *goCall) tangents(outs, leaves []*uop.UOp) error {
	loss, wrt, want, err := c.loss(outs, leaves)
	if err != nil {
		return err
	}
	expected, scale := 0.0, 1.0
	directions := make([]*uop.UOp, len(wrt))
	for i, u := range wrt {
		var values []float64
		directions[i], values = c.direction(u, i)
		for k, v := range values {
			expected += v * want[i][k]
			scale += math.Abs(v * want[i][k])
		}
	}
	found, err := transform.JVP([]*uop.UOp{loss}, wrt, directions)
	if err != nil {
		return err
	}
	got := 0.0
	if found[0] != nil {
		values, err := c.values(found[0])
		if err != nil {
			return err
		}
		got = values[0].F()
	}
	if got != expected && !(math.Abs(got-expected) <= 2*c.GradTol*scale) && !math.IsNaN(expected) {
		return fmt.Errorf("the tangent is %v, expected %v", got, expected)
	}
	return nil
}

// symmetric compares s·H·t with t·H·s for the second derivatives H.
func (c *goCall) symmetric(grads, wrt []*uop.UOp) error {
	var along [2][]*uop.UOp
	for i, u := range wrt {
		for k := range along {
			d, _ := c.direction(u, i+5*k)
			along[k] = append(along[k], d)
		}
	}
	var found [2]float64
	for k := range along {
		h, err := transform.JVP(grads, wrt, along[k])
		if err != nil {
			return fmt.Errorf("forward over reverse: %w", err)
		}
		for i, v := range h {
			if v == nil {
				continue
			}
			part, err := tensor.Mul(v, along[1-k][i])
			if err == nil {
				part, err = tensor.Sum(part, nil, false)
			}
			if err != nil {
				return err
			}
			values, err := c.values(part)
			if err != nil {
				return err
			}
			found[k] += values[0].F()
		}
	}
	if d := math.Abs(found[0] - found[1]); d > 1e-6*(1+math.Abs(found[0])+math.Abs(found[1])) {
		return fmt.Errorf("second derivatives: %v and %v, expected equal ones", found[0], found[1])
	}
	return nil
}

// gradientsOfBatch compares the gradients of a batch of two equal elements with those of one. Of several inputs the first is shared.
func (c *goCall) gradientsOfBatch(loss *uop.UOp, wrt, grads []*uop.UOp) error {
	inputs, leaves := map[*uop.UOp]transform.Batched{}, make([]*uop.UOp, len(wrt))
	for i, u := range wrt {
		if leaves[i] = u; i == 0 && len(wrt) > 1 {
			continue
		}
		size := u.Shape().MaxNumel()
		values, err := c.values(u)
		if err != nil {
			return err
		}
		both, p := c.bind(u.DType, 2*size)
		for k := range 2 * size {
			element.Put(p, k, u.DType, values[k%size])
		}
		leaves[i] = both.Reshape(append(uop.ShapeOf(2), u.Shape()...))
		inputs[u] = transform.Batched{Node: leaves[i], Mapped: true}
	}
	losses, err := transform.Batch([]*uop.UOp{loss}, inputs, uop.N(2))
	if err != nil {
		return err
	}
	total, err := tensor.Sum(losses[0].Whole(uop.N(2)), nil, false)
	if err != nil {
		return err
	}
	found, err := gradient.Of(total, leaves, nil)
	if err != nil {
		return err
	}
	for i, g := range found {
		factor := 1.0
		if leaves[i] == wrt[i] {
			factor = 2 // both elements
		}
		want, err := c.values(grads[i])
		if err != nil {
			return err
		}
		got, err := c.values(g)
		if err != nil {
			return err
		}
		for k, v := range got {
			if w := uop.Float(factor * want[k%len(want)].F()); !close(v, w, 1e-8, 1e-8) {
				return fmt.Errorf("element %d of gradient %d is %s, expected %s", k, i, v, w)
			}
		}
	}
	return nil
}

// batch compares a batch of two elements, the inputs and the same in reverse order, with the results for each.
func (c *goCall) batch(outs, leaves []*uop.UOp) error {
	inputs, second := map[*uop.UOp]transform.Batched{}, map[*uop.UOp]*uop.UOp{}
	for _, u := range leaves {
		if u == nil {
			continue
		}
		other := u
		if n := len(u.Shape()); n > 0 {
			axes := make([]int, n)
			for i := range axes {
				axes[i] = i
			}
			var err error
			if other, err = tensor.Flip(u, axes...); err != nil {
				return err
			}
		}
		both, p := c.bind(u.DType, 2*u.Shape().MaxNumel())
		for k, one := range []*uop.UOp{u, other} {
			values, err := c.values(one)
			if err != nil {
				return err
			}
			for j, v := range values {
				element.Put(p, int64(k*len(values)+j), u.DType, v)
			}
		}
		both = both.Reshape(append(uop.ShapeOf(2), u.Shape()...))
		inputs[u], second[u] = transform.Batched{Node: both, Mapped: true}, other
	}
	if len(inputs) == 0 {
		return nil
	}
	batched, err := transform.Batch(outs, inputs, uop.N(2))
	if err != nil {
		return err
	}
	others, err := transform.Substitute(outs, second)
	if err != nil {
		return err
	}
	for i, v := range batched {
		if !v.Mapped {
			continue // depends on no input
		}
		n := outs[i].Shape()
		if !v.Node.Shape().Equal(append(uop.ShapeOf(2), n...)) || v.Node.DType != outs[i].DType {
			return fmt.Errorf("result %d is %s %s, expected a batch of %s %s", i, v.Node.DType, v.Node.Shape(), outs[i].DType, n)
		}
		all, err := c.values(v.Node)
		if err != nil {
			return err
		}
		for k, one := range []*uop.UOp{outs[i], others[i]} {
			want, err := c.values(one)
			if err != nil {
				return err
			}
			for j, w := range want {
				if got := all[k*len(want)+j]; !close(got, w, c.batchTolerance(w), c.batchTolerance(w)) {
					return fmt.Errorf("element %d of element %d of the batch of result %d is %s, expected %s", j, k, i, got, w)
				}
			}
		}
	}
	return nil
}

// batchTolerance is for sums in another order.
func (c *goCall) batchTolerance(w uop.Const) float64 { return max(c.RTol, 1e-6) * 4 }
