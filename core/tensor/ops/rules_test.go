package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// ruleCall is a call of an update rule for a gradient of shape (2, 3).
type ruleCall struct {
	param, count *uop.UOp
	state        []*uop.UOp
	axes         []int64
	flags        bool
}

func (c ruleCall) results(g *uop.Graph, op *ops.Op, grad *uop.UOp) (out []*uop.UOp, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	a := op.Call(g)
	a.X = grad
	for _, p := range op.Params {
		var value any
		switch {
		case p.Name == "param" && c.param != nil:
			value = c.param
		case p.Name == "count" && c.count != nil:
			value = c.count
		case p.Name == "state":
			value = c.state
		case p.Name == "axes" && c.axes != nil:
			value = c.axes
		case p.Kind == ops.Bool:
			value = c.flags
		case p.Kind == ops.Operand && !p.Optional:
			value = 0.5
		case len(p.Choices) > 0:
			value = p.Choices[0]
		}
		if value == nil {
			continue
		}
		if err := a.Set(p.Name, value); err != nil {
			return nil, err
		}
	}
	return a.Results()
}

// Each update rule takes what its entry of the table says, and refuses all else by an error that names the argument.
func TestUpdateRulesCheckTheirTensors(t *testing.T) {
	g := symbolic.NewGraph()
	made := func(sizes ...int64) *uop.UOp {
		size := int64(1)
		for _, n := range sizes {
			size *= n
		}
		return g.NewBuffer("CPU", size, uop.Float32).Reshape(uop.ShapeOf(sizes...))
	}
	grad := made(2, 3)
	count := g.NewBuffer("CPU", 1, uop.Int32).Reshape(uop.ShapeOf())
	for _, rule := range tensor.UpdateRules {
		op, ok := ops.Find("optim." + rule.Name)
		if !ok {
			t.Fatalf("optim.%s is no operation", rule.Name)
		}
		var axes []int64
		if strings.Contains(rule.Needs.State, "row") {
			axes = []int64{0, 1}
		}
		var state []*uop.UOp
		for _, kind := range strings.Fields(rule.Needs.State) {
			switch kind {
			case "like", "like?":
				state = append(state, made(2, 3))
			case "one", "whole":
				state = append(state, made(1))
			case "axis*":
				state = append(state, made(2), made(3))
			case "row":
				state = append(state, made(2))
			case "column":
				state = append(state, made(3))
			default:
				t.Fatalf("%s: unknown shape %q", rule.Name, kind)
			}
		}
		full := func() ruleCall { return ruleCall{made(2, 3), count, state, axes, true} }
		for _, flags := range []bool{false, true} {
			c := full()
			c.flags = flags
			if !rule.Needs.Param {
				c.param = nil
			}
			if rule.Needs.Count == "" || rule.Needs.Count != "always" && !flags {
				c.count = nil
			}
			if out, err := c.results(g, op, grad); err != nil || len(out) != 1+len(state) || !out[0].Shape().Equal(grad.Shape()) {
				t.Errorf("%s with flags %v: %v %v", rule.Name, flags, out, err)
			}
		}
		refused := func(what, arg string, change func(c *ruleCall)) {
			t.Helper()
			c := full()
			change(&c)
			_, err := c.results(g, op, grad)
			if want := arg + ": "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "expected") {
				t.Errorf("%s with %s: error %v, expected one that begins with %q", rule.Name, what, err, want)
			}
		}
		for n := range len(state) {
			if rule.Name != "scale_by_rms" || n == 0 { // with one tensor it is another rule
				refused(fmt.Sprintf("%d tensors of state", n), "state", func(c *ruleCall) { c.state = state[:n] })
			}
			if kind := strings.Fields(rule.Needs.State)[min(n, len(strings.Fields(rule.Needs.State))-1)]; kind != "whole" {
				refused("another shape", fmt.Sprintf("state[%d]", n), func(c *ruleCall) {
					c.state = append([]*uop.UOp(nil), state...)
					c.state[n] = made(5)
				})
			}
			refused("integers", fmt.Sprintf("state[%d]", n), func(c *ruleCall) {
				c.state = append([]*uop.UOp(nil), state...)
				c.state[n] = count
			})
		}
		refused("too many tensors of state", "state", func(c *ruleCall) { c.state = append(state[:len(state):len(state)], grad) })
		refused("a count of two elements", "count", func(c *ruleCall) { c.count = made(2) })
		refused("a parameter of another shape", "param", func(c *ruleCall) { c.param = made(3) })
		if rule.Needs.Count != "" {
			refused("no count", "count", func(c *ruleCall) { c.count = nil })
		}
		if rule.Needs.Param {
			refused("no parameter", "param", func(c *ruleCall) { c.param = nil })
		}
		for _, bad := range [][]int64{{}, {0}, {1, 1}, {0, 2}, {-1, 0}, {0, 1, 1}} {
			if axes != nil {
				refused(fmt.Sprint("axes ", bad), "axes", func(c *ruleCall) { c.axes = bad })
			}
		}
	}
}
