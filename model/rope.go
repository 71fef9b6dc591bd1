package model

import (
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// rope is a rotary position embedding: the pair of values i and i + width/2 of a head is rotated by position * rate[i]. Su et
// al., RoFormer, arXiv 2104.09864; halves instead of neighbours, as in Hugging Face.
type rope []float32

// ropeOf reads the rotation rates of a head from a configuration: rope_theta, and rope_scaling (or rope_parameters) of type
// default, linear or llama3.
func ropeOf(c *Config, width int64) (rope, error) {
	s, err := c.Object("rope_scaling")
	if err == nil && s == nil {
		s, err = c.Object("rope_parameters")
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = NewConfig()
	}
	theta := s.Number("rope_theta", c.Number("rope_theta", 10000))
	switch partial := s.Number("partial_rotary_factor", c.Number("partial_rotary_factor", 1)); {
	case !(theta > 0) || math.IsInf(theta, 0):
		return nil, fmt.Errorf("rope_theta: %v, expected more than 0", theta)
	case width%2 != 0:
		return nil, fmt.Errorf("head_dim: %d, expected an even number", width)
	case partial != 1:
		return nil, fmt.Errorf("partial_rotary_factor: %v, expected 1", partial)
	}
	scale, err := ropeScaling(s, c.Number("max_position_embeddings", 2048))
	if wrong := s.Wrong(); wrong != nil {
		err = fmt.Errorf("rope_scaling: %w", wrong)
	}
	if err != nil {
		return nil, err
	}
	r := make(rope, width/2)
	for i := range r {
		r[i] = float32(scale(math.Pow(theta, -2*float64(i)/float64(width))))
	}
	return r, nil
}

// ropeScaling scales a rotation rate, by scaling type.
func ropeScaling(s *Config, positions float64) (func(rate float64) float64, error) {
	kind, factor := s.Text("rope_type", s.Text("type", "default")), s.Number("factor", 1)
	if !(factor > 0) {
		return nil, fmt.Errorf("rope_scaling: factor: %v, expected more than 0", factor)
	}
	switch kind {
	case "default":
		return func(rate float64) float64 { return rate }, nil
	case "linear":
		return func(rate float64) float64 { return rate / factor }, nil
	case "llama3":
		// Low frequencies are divided by the factor, high ones are kept, and those between are interpolated.
		low, high := s.Number("low_freq_factor", 1), s.Number("high_freq_factor", 4)
		old := s.Number("original_max_position_embeddings", positions)
		if !(high > low && low > 0 && old > 0) {
			return nil, fmt.Errorf("rope_scaling: low_freq_factor %v, high_freq_factor %v and original_max_position_embeddings %v make no sense", low, high, old)
		}
		return func(rate float64) float64 {
			turns := old * rate / (2 * math.Pi)
			fast := min(max((turns-low)/(high-low), 0), 1)
			return (1-fast)*rate/factor + fast*rate
		}, nil
	}
	return nil, fmt.Errorf("rope_scaling: type %q, expected default, linear or llama3", kind)
}

// ropeTable names the tables of cosines and sines (positions, width/2).
func (b *builder) ropeTable(r rope, positions int64) (cos, sin *uop.UOp) {
	table := func(name string, f func(float64) float64) *uop.UOp {
		shape := []int64{positions, int64(len(r))}
		node := b.buffer(name, shape)
		b.declare(Aux, name, node, shape...)
		b.first = append(b.first, initializer{name, func(data []float32) {
			for i := range data {
				data[i] = float32(f(float64(float32(i/len(r)) * r[i%len(r)])))
			}
		}})
		return shaped(node, shape)
	}
	return table("rope.cos", math.Cos), table("rope.sin", math.Sin)
}

// turn rotates heads x (batch, heads, n, width) by cosines and sines (batch or 1, 1, n, width/2).
func turn(x, cos, sin *uop.UOp) *uop.UOp {
	s, _ := x.Shape().Ints()
	half := s[3] / 2
	lo, hi := columns(x, 0, half), columns(x, half, s[3])
	mul := func(a, b *uop.UOp) *uop.UOp { return must(tensor.Mul(a, b)) }
	return must(tensor.Cat([]*uop.UOp{
		must(tensor.Sub(mul(lo, cos), mul(hi, sin))), must(tensor.Add(mul(hi, cos), mul(lo, sin))),
	}, -1))
}
