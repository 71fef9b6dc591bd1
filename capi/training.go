package main

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// reals are n numbers of an array of C, which may be NULL if n is 0.
func reals(arg string, p *float64, n int32) ([]float64, error) {
	if n < 0 || n > 0 && p == nil {
		return nil, badArg(arg, "%d numbers at %v, expected 0 or more numbers", n, p)
	}
	list := make([]float64, 0, min(int(n), 64))
	for _, v := range unsafe.Slice(p, n) {
		list = append(list, float64(v))
	}
	return list, nil
}

func poly_lars(ctx, param, grad, lr, buffer uintptr, momentum, decay, trust float64, nesterov, classic, decoupled, steps int32, coefficients *float64, n int32, out *uintptr) int32 {
	return composeAll("poly_lars", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		list := must(reals("ns_coefficients", coefficients, n))
		p, b, err := tensor.LARS(us[0], us[1], us[2], us[3], tensor.LARSOptions{
			Momentum: float64(momentum), WeightDecay: float64(decay), Trust: float64(trust), Nesterov: nesterov != 0,
			Classic: classic != 0, DecoupledDecay: decoupled != 0, Steps: int(steps), Coefficients: list,
		})
		if err != nil || b == nil {
			return []*uop.UOp{p}, err
		}
		return []*uop.UOp{p, b}, nil
	}, operandOf("param", param), operandOf("grad", grad), operandOf("lr", lr), optional("buffer", buffer))
}

func poly_lamb(ctx, param, grad, lr, m, v, power1, power2 uintptr, b1, b2, eps, decay float64, adam, coupled int32, out *uintptr) int32 {
	return composeAll("poly_lamb", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		p, m, v, err := tensor.LAMB(us[0], us[1], us[2], us[3], us[4], us[5], us[6], tensor.LAMBOptions{
			Beta1: float64(b1), Beta2: float64(b2), Eps: float64(eps), WeightDecay: float64(decay), Adam: adam != 0,
			CoupledDecay: coupled != 0,
		})
		return []*uop.UOp{p, m, v}, err
	}, operandOf("param", param), operandOf("grad", grad), operandOf("lr", lr), operandOf("m", m), operandOf("v", v),
		operandOf("b1_t", power1), operandOf("b2_t", power2))
}

func poly_clip_grad_norm(ctx uintptr, grads *uintptr, n int32, most, order float64, out *uintptr) int32 {
	return status("poly_clip_grad_norm", ctx, func(c *context) error {
		vs := must(c.args("grads", grads, n))
		if out == nil {
			return badArg("out", "is NULL, expected an array for %d results", n+1)
		}
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			if err := v.tensor("grads"); err != nil {
				return atElement(i, err)
			}
			us[i] = v.Keep
		}
		norm, clipped, err := tensor.ClipNorm(us, float64(most), float64(order))
		if err != nil {
			return err
		}
		return c.outAll(singles(append([]*uop.UOp{norm}, clipped...)), unsafe.Slice(out, n+1))
	})
}

func poly_learning_rate(ctx, lr, t uintptr, schedule int32, params *float64, n int32) uintptr {
	return compose("poly_learning_rate", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(reals("params", params, n))
		if schedule < 0 || schedule > 255 {
			return nil, badArg("schedule", "is %d, expected a PolyRateSchedule", schedule)
		}
		return tensor.LearningRate(us[0], us[1], tensor.RateSchedule(schedule), list)
	}, operandOf("lr", lr), operandOf("t", t))
}

func poly_plateau(ctx, lr, metric, best, bad, cooling uintptr, maximize, relative int32, threshold, factor, least, eps float64, patience, cooldown int64, out *uintptr) int32 {
	return composeAll("poly_plateau", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return tensor.Plateau(us[0], us[1], us[2], us[3], us[4], tensor.PlateauOptions{
			Maximize: maximize != 0, Relative: relative != 0, Threshold: float64(threshold), Factor: float64(factor),
			Least: float64(least), Eps: float64(eps), Patience: patience, Cooldown: cooldown,
		})
	}, operandOf("lr", lr), operandOf("metric", metric), operandOf("best", best), operandOf("bad", bad), operandOf("cooling", cooling))
}

func lstmOperands(x, h, c, wih, whh, bih, bhh uintptr) []operand {
	return []operand{
		operandOf("x", x), operandOf("h", h), operandOf("c", c), operandOf("w_ih", wih), operandOf("w_hh", whh),
		optional("b_ih", bih), optional("b_hh", bhh),
	}
}

func lstmWeights(us []*uop.UOp) tensor.RecurrentWeights {
	return tensor.RecurrentWeights{Input: us[3], Hidden: us[4], InputBias: us[5], HiddenBias: us[6]}
}

func poly_lstm_cell(ctx, x, h, c, wih, whh, bih, bhh uintptr, out *uintptr) int32 {
	return composeAll("poly_lstm_cell", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return twoResults(tensor.LSTMCell(us[0], us[1], us[2], lstmWeights(us)))
	}, lstmOperands(x, h, c, wih, whh, bih, bhh)...)
}

func poly_lstm(ctx, x, h, c, wih, whh, bih, bhh uintptr, batchFirst, reverse int32, out *uintptr) int32 {
	return composeAll("poly_lstm", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		y, h, c, err := tensor.LSTM(us[0], us[1], us[2], lstmWeights(us), batchFirst != 0, reverse != 0)
		return []*uop.UOp{y, h, c}, err
	}, lstmOperands(x, h, c, wih, whh, bih, bhh)...)
}
