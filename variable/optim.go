package variable

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// An Optimizer changes parameters by their gradients.
type Optimizer struct {
	ctx *Context
	// LR is the learning rate, of one element. A write to it changes the rate of later steps, also in compiled functions.
	LR     *Variable
	Params []*Variable
	// State are the variables of each parameter: momentum, or two moments. Shared are common to all: the powers of the betas.
	State  [][]*Variable
	Shared []*Variable
	// baseLR is a copy of the initial rate, made for the first schedule.
	baseLR *Variable
	lars   tensor.LARSOptions
	lamb   *tensor.LAMBOptions
}

// NewLARS makes an optimizer of the family of gradient descent: see tensor.LARS.
func NewLARS(params []*Variable, lr float64, o tensor.LARSOptions) (*Optimizer, error) {
	if err := checkNonNegative(setting{"lr", lr}, setting{"momentum", o.Momentum}, setting{"weight_decay", o.WeightDecay}, setting{"trust", o.Trust}); err != nil {
		return nil, err
	}
	for i, p := range params {
		if len(o.Coefficients) > 0 && len(p.Node().Shape()) == 0 {
			return nil, fmt.Errorf("params[%d]: a scalar, expected 1 dimension or more", i)
		}
	}
	states := 0
	if o.Momentum != 0 {
		states = 1
	}
	return newOptimizer(params, lr, states, &Optimizer{lars: o})
}

// NewLAMB makes an optimizer of the family of Adam: see tensor.LAMB.
func NewLAMB(params []*Variable, lr float64, o tensor.LAMBOptions) (*Optimizer, error) {
	if err := checkNonNegative(setting{"lr", lr}, setting{"eps", o.Eps}, setting{"weight_decay", o.WeightDecay}); err != nil {
		return nil, err
	}
	for _, b := range []setting{{"beta1", o.Beta1}, {"beta2", o.Beta2}} {
		if !(b.value >= 0 && b.value < 1) {
			return nil, fmt.Errorf("%s: %v, expected 0 or more and less than 1", b.name, b.value)
		}
	}
	return newOptimizer(params, lr, 2, &Optimizer{lamb: &o})
}

// NewOptimizer makes an optimizer by its description; the tensors among its arguments are the parameters.
func NewOptimizer(class *ops.Class, a *ops.Args, params []*Variable) (*Optimizer, error) {
	lr, rule, err := class.Rule(a)
	if err != nil {
		return nil, err
	}
	if o, is := rule.(tensor.LAMBOptions); is {
		return NewLAMB(params, lr, o)
	}
	return NewLARS(params, lr, rule.(tensor.LARSOptions))
}

type setting struct {
	name  string
	value float64
}

func checkNonNegative(all ...setting) error {
	for _, s := range all {
		if !(s.value >= 0) || math.IsInf(s.value, 0) {
			return fmt.Errorf("%s: %v, expected 0 or more", s.name, s.value)
		}
	}
	return nil
}

// newOptimizer makes parameters, each of which counts once, require gradients, and their state of zeros.
func newOptimizer(params []*Variable, lr float64, states int, o *Optimizer) (_ *Optimizer, err error) {
	if len(params) == 0 {
		return nil, errors.New("params: none, expected tensors of floating types")
	}
	c := params[0].ctx
	if c.trace != nil {
		return nil, fmt.Errorf("an optimizer is made inside of %s", c.trace.caller)
	}
	o.ctx = c
	defer func() {
		if err != nil {
			o.Drop()
		}
	}()
	for i, p := range params {
		if slices.Contains(o.Params, p) {
			continue
		}
		switch {
		case p.ctx != c:
			return nil, fmt.Errorf("params[%d]: %w", i, ErrOtherContext)
		case p.IsView():
			return nil, fmt.Errorf("params[%d]: is a view, expected a tensor with memory of its own", i)
		}
		if err := p.SetRequiresGrad(true); err != nil {
			return nil, fmt.Errorf("params[%d]: %w", i, err)
		}
		kind := stateType(p)
		o.Params, o.State = append(o.Params, p.Retain()), append(o.State, nil)
		for range states {
			s, err := c.filled(kind, p.Node().Shape(), 0)
			if err != nil {
				return nil, err
			}
			o.State[len(o.State)-1] = append(o.State[len(o.State)-1], s)
		}
	}
	if o.lamb != nil {
		// The powers of the betas are float64: they come close to 1 and are subtracted from it.
		for range 2 {
			power, err := c.filled(uop.Float64, uop.ShapeOf(1), 1)
			if err != nil {
				return nil, err
			}
			o.Shared = append(o.Shared, power)
		}
	}
	o.LR, err = c.filled(stateType(o.Params[0]), uop.ShapeOf(1), lr)
	return o, err
}

// stateType is the type of the state of a parameter: at least float32.
func stateType(p *Variable) *uop.DType {
	if p.Node().DType == uop.Float64 {
		return uop.Float64
	}
	return uop.Float32
}

// filled makes a variable whose elements are a number.
func (c *Context) filled(dt *uop.DType, s uop.Shape, x float64) (*Variable, error) {
	return c.Fill(dt, s, func(b []byte) error { fillWith(b, dt, x); return nil })
}

// fillWith fills memory with a number.
func fillWith(b []byte, dt *uop.DType, x float64) {
	bits := uop.Float(x).Bits(dt)
	n := dt.Itemsize()
	for i := range b {
		b[i] = byte(bits >> (8 * (i % n)))
	}
}

// Retained are the variables of the optimizer; to drop them is to drop the optimizer.
func (o *Optimizer) Retained() []*Variable {
	all := slices.Concat(slices.Concat(o.State, [][]*Variable{o.Params, o.Shared, {o.LR, o.baseLR}})...)
	return slices.DeleteFunc(all, func(v *Variable) bool { return v == nil })
}

// Drop releases the variables of an optimizer.
func (o *Optimizer) Drop() {
	for _, v := range o.Retained() {
		v.Drop()
	}
	o.Params, o.State, o.Shared, o.LR, o.baseLR = nil, nil, nil, nil, nil
}

// Context is the context of the parameters.
func (o *Optimizer) Context() *Context { return o.ctx }

// StepAll changes each parameter of optimizers that has a gradient. All new values are computed from the old ones, in one program.
func (c *Context) StepAll(all ...*Optimizer) error {
	var u update
	defer u.drop()
	for _, o := range all {
		if o.ctx != c {
			return ErrOtherContext
		}
		if err := o.step(&u); err != nil {
			return err
		}
	}
	return c.AssignAll(u.targets, u.news)
}

// An update are variables and their new values.
type update struct{ targets, news []*Variable }

func (u *update) drop() {
	for _, v := range u.news {
		v.Drop()
	}
}

// add adds variables, and the nodes of their new values, which are computed from others.
func (u *update) add(to []*Variable, nodes []*uop.UOp, from ...*Variable) {
	for i, n := range nodes {
		u.targets, u.news = append(u.targets, to[i]), append(u.news, to[i].ctx.FromNode(n, from...))
	}
}

func (o *Optimizer) step(u *update) error {
	var powers []*uop.UOp
	for i, p := range o.Params {
		g := p.Grad()
		if g == nil {
			continue
		}
		if t := p.ctx.trace; t != nil && t.grads[p] != nil {
			t.grads[p].used = true
		}
		if powers == nil && o.lamb != nil {
			var err error
			if powers, err = o.powers(); err != nil {
				return err
			}
			u.add(o.Shared, powers, o.Shared...)
		}
		state := o.State[i]
		nodes, err := o.next(p.Node(), g.Node(), state, powers)
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
		from := slices.Concat(state, []*Variable{p, g, o.LR}, o.Shared)
		u.add(append([]*Variable{p}, state...), nodes, from...)
	}
	return nil
}

// powers are the next powers of the betas.
func (o *Optimizer) powers() ([]*uop.UOp, error) {
	out := make([]*uop.UOp, len(o.Shared))
	for i, b := range []float64{o.lamb.Beta1, o.lamb.Beta2} {
		factor, err := tensor.Scalar(o.Shared[i].Node(), uop.Float(b))
		if err == nil {
			out[i], err = tensor.Mul(o.Shared[i].Node(), factor)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// next are the new values of a parameter and of its state.
func (o *Optimizer) next(p, g *uop.UOp, state []*Variable, powers []*uop.UOp) ([]*uop.UOp, error) {
	lr := o.LR.Node()
	if o.lamb != nil {
		next, m, v, err := tensor.LAMB(p, g, lr, state[0].Node(), state[1].Node(), powers[0], powers[1], *o.lamb)
		return []*uop.UOp{next, m, v}, err
	}
	if len(state) == 0 {
		next, _, err := tensor.LARS(p, g, lr, nil, o.lars)
		return []*uop.UOp{next}, err
	}
	next, buffer, err := tensor.LARS(p, g, lr, state[0].Node(), o.lars)
	return []*uop.UOp{next, buffer}, err
}

// A Schedule sets the learning rate of an optimizer.
type Schedule struct {
	optimizer *Optimizer
	rate      ops.Rate
	// Count is the number of steps, one int32.
	Count *Variable
}

// NewSchedule sets the rate of step 0. Step counts the steps. See tensor.LearningRate.
func (o *Optimizer) NewSchedule(rate ops.Rate) (*Schedule, error) {
	if err := o.setBaseLR(rate.Base); err != nil {
		return nil, err
	}
	count, err := o.ctx.Fill(uop.Int32, uop.ShapeOf(1), func(b []byte) error { clear(b); return nil })
	if err != nil {
		return nil, err
	}
	s := &Schedule{o, rate, count}
	if err := s.set(count); err != nil {
		s.Drop()
		return nil, err
	}
	return s, nil
}

// setBaseLR sets the initial rate of schedules to base; without base to the current rate, at the first schedule only.
func (o *Optimizer) setBaseLR(base *float64) error {
	if o.baseLR != nil && base == nil {
		return nil
	}
	var first *Variable
	var err error
	if base == nil {
		first, err = o.LR.Clone()
	} else {
		first, err = o.ctx.filled(o.LR.Node().DType, uop.ShapeOf(1), *base)
	}
	if err != nil {
		return err
	}
	if o.baseLR != nil {
		o.baseLR.Drop()
	}
	o.baseLR = first
	return nil
}

// Drop releases the variables of a schedule.
func (s *Schedule) Drop() { s.Count.Drop() }

// Step counts a step and sets the rate of the next one. In a traced function it is part of the program.
func (s *Schedule) Step() error {
	now := s.Count.Node()
	one, err := tensor.Scalar(now, uop.Int(1))
	if err == nil {
		now, err = tensor.Add(now, one)
	}
	if err != nil {
		return err
	}
	next := s.optimizer.ctx.FromNode(now, s.Count)
	defer next.Drop()
	return s.set(next)
}

// set writes the rate after a number of steps.
func (s *Schedule) set(count *Variable) error {
	o := s.optimizer
	node, err := tensor.LearningRate(o.baseLR.Node(), count.Node(), s.rate.Schedule, s.rate.Params)
	if err != nil {
		return err
	}
	rate := o.ctx.FromNode(node, count, o.baseLR)
	defer rate.Drop()
	return o.ctx.AssignAll([]*Variable{s.Count, o.LR}, []*Variable{count, rate})
}
