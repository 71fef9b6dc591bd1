package main

import (
	"strings"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/variable"
)

// optimizer makes an optimizer of arrays.
func optimizer(fn string, params *uintptr, n int32, f func(vs []*variable.Variable) (*variable.Optimizer, error)) (h uintptr) {
	withContextOf(fn, "params", firstHandle(params, n), handle.Array, func(c *context) error {
		vs, err := c.arrays("params", params, n)
		if err != nil {
			return err
		}
		o, err := f(vs)
		if err != nil {
			return err
		}
		e, err := handles.New(handle.Optimizer, c, o)
		if err != nil {
			o.Drop()
			return err
		}
		h = uintptr(e.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_optim_new(ctx uintptr, number int32, args unsafe.Pointer, n int32, states *int32) (h uintptr) {
	withContext("poly_optim_new", ctx, func(c *context) error {
		op := must(operation(number))
		class, known := ops.ClassNamed(op.Name)
		if !known || class.Rule == nil {
			return badArg("op", "%s is no optimizer", op.Name)
		}
		var params []*variable.Variable
		r := reader{c: c, rest: must(callArgs("args", args, n)), tensor: func(arg string, h uintptr) (*uop.UOp, error) {
			v, err := c.array(strings.Replace(arg, "xs", "params", 1), h)
			if err != nil {
				return nil, err
			}
			params = append(params, v)
			return v.Node(), nil
		}}
		a := op.Call(c.g)
		err := r.arguments(op, a)
		var o *variable.Optimizer
		if err == nil {
			o, err = variable.NewOptimizer(class, a, params)
		}
		if err != nil {
			return badArg("args", "%s: %w", op.Name, err)
		}
		e, err := handles.New(handle.Optimizer, c, o)
		if err != nil {
			o.Drop()
			return err
		}
		if states != nil {
			*states = int32(len(o.State[0]))
		}
		h = uintptr(e.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_optim_lars(params *uintptr, n int32, lr, momentum, weightDecay, tcoef float64, nesterov, classic, decoupled, steps int32, coefficients *float64, nCoefficients int32) uintptr {
	return optimizer("poly_optim_lars", params, n, func(vs []*variable.Variable) (*variable.Optimizer, error) {
		if nCoefficients < 0 || nCoefficients > 0 && coefficients == nil {
			return nil, badArg("ns_coefficients", "%d at %p, expected 0 or more and their address", nCoefficients, unsafe.Pointer(coefficients))
		}
		return variable.NewLARS(vs, float64(lr), tensor.LARSOptions{
			Momentum: float64(momentum), WeightDecay: float64(weightDecay), Trust: float64(tcoef), Nesterov: nesterov != 0, Classic: classic != 0,
			DecoupledDecay: decoupled != 0, Steps: int(steps), Coefficients: append([]float64{}, unsafe.Slice(coefficients, nCoefficients)...),
		})
	})
}

func poly_optim_lamb(params *uintptr, n int32, lr, beta1, beta2, eps, weightDecay float64, adam, coupled int32) uintptr {
	return optimizer("poly_optim_lamb", params, n, func(vs []*variable.Variable) (*variable.Optimizer, error) {
		return variable.NewLAMB(vs, float64(lr), tensor.LAMBOptions{
			Beta1: float64(beta1), Beta2: float64(beta2), Eps: float64(eps), WeightDecay: float64(weightDecay), Adam: adam != 0, CoupledDecay: coupled != 0,
		})
	})
}

func poly_optim_step(optimizers *uintptr, n int32) (rc int32) {
	withContextOf("poly_optim_step", "optimizers", firstHandle(optimizers, n), handle.Optimizer, func(c *context) error {
		var all []*variable.Optimizer
		for i, h := range unsafe.Slice(optimizers, n) {
			o, err := owned[*variable.Optimizer](c, indexed("optimizers", i), h, handle.Optimizer)
			if err != nil {
				return err
			}
			all = append(all, o)
		}
		return c.vars.StepAll(all...)
	}, func() { rc = -1 })
	return rc
}

func poly_optim_state(optimizer uintptr, what, i int32) (h uintptr) {
	withContextOf("poly_optim_state", "optimizer", optimizer, handle.Optimizer, func(c *context) error {
		o, err := owned[*variable.Optimizer](c, "optimizer", optimizer, handle.Optimizer)
		if err != nil {
			return err
		}
		list := []*variable.Variable{o.LR}
		switch {
		case what == 0:
		case what == 1:
			list = o.Params
		case what == 2:
			list = o.Shared
		case what >= 3 && len(o.State) > 0 && int(what)-3 < len(o.State[0]):
			list = nil
			for _, s := range o.State {
				list = append(list, s[what-3])
			}
		default:
			return badArg("what", "%d, expected 0 to %d", what, 2+len(o.State[0]))
		}
		if i < 0 || int(i) >= len(list) {
			return badArg("i", "%d, expected 0 to %d", i, len(list)-1)
		}
		h, err = c.outArray(list[i].Retain())
		return err
	}, func() { h = 0 })
	return h
}

func poly_optim_release(optimizer uintptr) {
	release[*variable.Optimizer](optimizer, handle.Optimizer)
}

// release ends an object that its handle owns.
func release[T interface{ Drop() }](h uintptr, kind handle.Kind) {
	c, err := enterContextOf("", h, kind)
	if err != nil {
		return
	}
	defer c.mu.Unlock()
	if e, err := handles.Get(handle.Token(h), kind); err == nil {
		handles.Drop(e)
		e.Value.(T).Drop()
	}
}

func poly_optim_schedule(optimizer uintptr, schedule int32, params *float64, n int32) (h uintptr) {
	withContextOf("poly_optim_schedule", "optimizer", optimizer, handle.Optimizer, func(c *context) error {
		o, err := owned[*variable.Optimizer](c, "optimizer", optimizer, handle.Optimizer)
		if err != nil {
			return err
		}
		if n < 0 || n > 0 && params == nil {
			return badArg("params", "%d at %p, expected 0 or more and their address", n, unsafe.Pointer(params))
		}
		h, err = c.rateSchedule(o, ops.Rate{Schedule: tensor.RateSchedule(schedule), Params: append([]float64{}, unsafe.Slice(params, n)...)})
		return err
	}, func() { h = 0 })
	return h
}

func poly_rate_schedule_new(optimizer uintptr, number int32, args unsafe.Pointer, n int32) (h uintptr) {
	withContextOf("poly_rate_schedule_new", "optimizer", optimizer, handle.Optimizer, func(c *context) error {
		o, err := owned[*variable.Optimizer](c, "optimizer", optimizer, handle.Optimizer)
		if err != nil {
			return err
		}
		op := must(operation(number))
		class, known := ops.ClassNamed(op.Name)
		if !known || class.Rate == nil {
			return badArg("op", "%s is no schedule of the number of steps", op.Name)
		}
		a := class.Settings.Call(c.g)
		r := reader{c: c, rest: must(callArgs("args", args, n)), tensor: func(arg string, h uintptr) (*uop.UOp, error) {
			return nil, badArg(arg, "is a tensor, expected numbers and texts")
		}}
		var rate ops.Rate
		if err = r.arguments(class.Settings, a); err == nil {
			rate, err = class.Rate(a)
		}
		if err == nil {
			h, err = c.rateSchedule(o, rate)
		}
		if err != nil {
			return badArg("args", "%s: %w", op.Name, err)
		}
		return nil
	}, func() { h = 0 })
	return h
}

// rateSchedule is the handle of a new schedule.
func (c *context) rateSchedule(o *variable.Optimizer, rate ops.Rate) (uintptr, error) {
	s, err := o.NewSchedule(rate)
	if err != nil {
		return 0, err
	}
	e, err := handles.New(handle.RateSchedule, c, s)
	if err != nil {
		s.Drop()
		return 0, err
	}
	return uintptr(e.Token()), nil
}

func poly_rate_schedule_step(schedule uintptr) (rc int32) {
	withContextOf("poly_rate_schedule_step", "schedule", schedule, handle.RateSchedule, func(c *context) error {
		s, err := owned[*variable.Schedule](c, "schedule", schedule, handle.RateSchedule)
		if err != nil {
			return err
		}
		return s.Step()
	}, func() { rc = -1 })
	return rc
}

func poly_rate_schedule_count(schedule uintptr) (h uintptr) {
	withContextOf("poly_rate_schedule_count", "schedule", schedule, handle.RateSchedule, func(c *context) error {
		s, err := owned[*variable.Schedule](c, "schedule", schedule, handle.RateSchedule)
		if err == nil {
			h, err = c.outArray(s.Count.Retain())
		}
		return err
	}, func() { h = 0 })
	return h
}

func poly_rate_schedule_release(schedule uintptr) {
	release[*variable.Schedule](schedule, handle.RateSchedule)
}
