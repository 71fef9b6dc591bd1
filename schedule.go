package polygrad

import (
	"runtime"

	"polygrad/core/tensor"
	"polygrad/variable"
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
	s         *variable.Schedule
}

// NewSchedule sets the rate of step 0. Step counts the steps.
func NewSchedule(o *Optimizer, rate Rate) (*Schedule, error) {
	c := o.LR.c
	c.lock()
	defer c.unlock()
	s, err := o.o.NewSchedule(rate.kind, rate.params)
	if err != nil {
		return nil, told("NewSchedule", err)
	}
	made := &Schedule{o, s}
	runtime.AddCleanup(made, c.lose, s.Count)
	return made, nil
}

// Step counts a step and sets the rate of the next one. In a function given to Compile it is part of the program.
func (s *Schedule) Step() error {
	c := s.optimizer.LR.c
	c.lock()
	defer c.unlock()
	return told("Schedule.Step", s.s.Step())
}
