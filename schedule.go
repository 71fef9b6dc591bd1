package polygrad

import (
	"errors"
	"runtime"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/variable"
)

// A Rate is a learning rate as a function of t, the number of steps so far. lr is the optimizer's rate when the schedule is created.
type Rate struct {
	kind   tensor.RateSchedule
	params []float64
}

// StepRate is lr * gamma^floor(t / size).
func StepRate(size, gamma float64) Rate { return Rate{tensor.RateStep, []float64{size, gamma}} }

// MultiStepRate is lr * gamma^k, where k is the number of milestones up to t.
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

// CosineRate is least + (lr - least) * (1 + cos(pi * t / total)) / 2 (Loshchilov and Hutter, arXiv:1608.03983).
func CosineRate(total, least float64) Rate { return Rate{tensor.RateCosine, []float64{total, least}} }

// CosineRestartsRate falls from lr to least by a half cosine in cycles of first, first * factor, first * factor^2, … steps (Loshchilov
// and Hutter, arXiv:1608.03983).
func CosineRestartsRate(first, factor, least float64) Rate {
	return Rate{tensor.RateCosineRestarts, []float64{first, factor, least}}
}

// WarmupCosineRate is lr * (t + 1) / warmup before warmup steps, then falls to least by a half cosine in decay steps.
func WarmupCosineRate(warmup, decay, least float64) Rate {
	return Rate{tensor.RateWarmupCosine, []float64{warmup, decay, least}}
}

// A Schedule sets the learning rate of an optimizer after each step.
type Schedule struct {
	optimizer *Optimizer
	s         *variable.Schedule
}

// NewSchedule returns a schedule and sets the optimizer's rate to that of t = 0. Parameters of the rate that are out of range are an error.
func NewSchedule(o *Optimizer, rate Rate) (*Schedule, error) {
	if o == nil || o.o == nil {
		return nil, errors.New("polygrad: NewSchedule: the optimizer is nil or empty: see NewSGD")
	}
	c := o.LR.c
	c.lock()
	defer c.unlock()
	s, err := o.o.NewSchedule(ops.Rate{Schedule: rate.kind, Params: rate.params})
	if err != nil {
		return nil, wrapError("NewSchedule", err)
	}
	made := &Schedule{o, s}
	runtime.AddCleanup(made, c.dropLater, dropper(s.Count))
	return made, nil
}

// Step increments t and sets the optimizer's rate. In a function given to Compile it is part of the program.
func (s *Schedule) Step() error {
	c := s.optimizer.LR.c
	c.lock()
	defer c.unlock()
	return wrapError("Schedule.Step", s.s.Step())
}
