package polygrad

import (
	"fmt"

	"polygrad/core/tensor"
)

// A Rate is how a learning rate depends on the number of steps t; lr is the optimizer's first rate. See the functions that make one.
type Rate struct {
	kind   tensor.RateSchedule
	params []float64
}

// StepRate is lr * gamma^floor(t / size).
func StepRate(size, gamma float64) Rate { return Rate{tensor.RateStep, []float64{size, gamma}} }

// MultiStepRate is lr times gamma for each milestone that t has reached.
func MultiStepRate(gamma float64, milestones ...float64) Rate {
	return Rate{tensor.RateMultiStep, append([]float64{gamma}, milestones...)}
}

// ExponentialRate is lr * gamma^t.
func ExponentialRate(gamma float64) Rate { return Rate{tensor.RateExponential, []float64{gamma}} }

// LinearRate is lr * (start + (end - start) * t / total) before total steps, then lr * end.
func LinearRate(start, end, total float64) Rate {
	return Rate{tensor.RateLinear, []float64{start, end, total}}
}

// PolynomialRate is lr * (1 - t / total)^power before total steps, then 0.
func PolynomialRate(total, power float64) Rate {
	return Rate{tensor.RatePolynomial, []float64{total, power}}
}

// CosineRate falls from lr to least in total steps, and rises again (Loshchilov and Hutter, arXiv:1608.03983).
func CosineRate(total, least float64) Rate { return Rate{tensor.RateCosine, []float64{total, least}} }

// CosineRestartsRate falls from lr to least in first steps and begins again, each time with factor times as many steps
// (Loshchilov and Hutter, arXiv:1608.03983).
func CosineRestartsRate(first, factor, least float64) Rate {
	return Rate{tensor.RateCosineRestarts, []float64{first, factor, least}}
}

// WarmupCosineRate rises from 0 to lr in warmup steps and falls to least in decay steps.
func WarmupCosineRate(warmup, decay, least float64) Rate {
	return Rate{tensor.RateWarmupCosine, []float64{warmup, decay, least}}
}

// A Schedule sets the learning rate of an optimizer.
type Schedule struct {
	optimizer *Optimizer
	rate      Rate
	first     *Tensor // the rate that the optimizer began with
	steps     *Tensor // how many there were, one int32
}

// NewSchedule sets the rate of step 0. Step counts the steps.
func NewSchedule(o *Optimizer, rate Rate) (*Schedule, error) {
	if o.first == nil {
		o.first = o.LR.Clone()
	}
	c := o.LR.v.ctx
	s := &Schedule{o, rate, o.first, FromIn(c, []int32{0})}
	return s, told("NewSchedule", s.set(0))
}

// Step counts a step and sets the rate of the next one. In a function given to Compile it is part of the program.
func (s *Schedule) Step() error { return told("Schedule.Step", s.set(1)) }

// set writes the rate after some further steps.
func (s *Schedule) set(further int) error {
	now := s.steps.Add(further)
	for _, t := range []*Tensor{now, s.first, s.optimizer.LR} {
		if err := t.Err(); err != nil {
			return err
		}
	}
	c := now.v.ctx
	c.lock()
	defer c.unlock()
	rate, err := tensor.LearningRate(s.first.v.node(), now.v.node(), s.rate.kind, s.rate.params)
	if err != nil {
		return err
	}
	count := c.newValue(now.v.node(), now.v.source())
	lr := c.newValue(rate, now.v.source(), s.first.v.source())
	for _, v := range []*value{count, lr} {
		v.retain()
		defer v.release()
	}
	fitted, err := s.optimizer.LR.v.fit(lr)
	if err != nil {
		return fmt.Errorf("lr: %w", err)
	}
	return c.assign([]*variable{s.steps.v, s.optimizer.LR.v}, []*value{count, fitted})
}
