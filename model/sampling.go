package model

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Sampling are the settings for drawing tokens.
type Sampling struct {
	// Temperature divides the logits; 0 always takes the most likely token, the first of equal ones.
	Temperature float64
	// TopK > 0 draws from the k most likely tokens (and those as likely as the last of them).
	TopK int
	// TopP < 1 draws from the most likely tokens whose probabilities first sum up to p or more, after temperature and TopK.
	// Holtzman et al., The Curious Case of Neural Text Degeneration, arXiv 1904.09751.
	TopP float64
	// Seed is the seed of the draws: the same seed and logits give the same tokens. Rows draw independently.
	Seed uint64
}

// sampling is a Sampling with its random state.
type sampling struct {
	Sampling
	random []*rand.Rand
	order  []int32
	weight []float64
}

var greedy = sampling{Sampling: Sampling{TopP: 1}}

// SetSampling sets how Next draws and restarts the random numbers of the seed. By default Next takes the most likely token.
func (g *Generator) SetSampling(s Sampling) error {
	return g.do("SetSampling", func() error {
		switch {
		case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 0):
			return fmt.Errorf("temperature: %v, expected 0 or more", s.Temperature)
		case s.TopK < 0:
			return fmt.Errorf("top_k: %d, expected 0 or more", s.TopK)
		case !(s.TopP > 0 && s.TopP <= 1):
			return fmt.Errorf("top_p: %v, expected more than 0 and at most 1", s.TopP)
		}
		g.Sampling = s
		g.restart(g.rows)
		return nil
	})
}

// restart restarts the random numbers from the seed.
func (s *sampling) restart(rows int64) {
	s.random = make([]*rand.Rand, rows)
	for r := range s.random {
		s.random[r] = rand.New(rand.NewPCG(s.Seed, uint64(r)))
	}
}

var errLogits = errors.New("the logits are not finite")

// chosen is the token of kept at which the sum of the weights up to it exceeds at; the last one with a weight if the sum of all, rounded, does not.
func chosen(kept []int32, weight []float64, at float64) int32 {
	last := kept[0]
	for _, i := range kept {
		if at -= weight[i]; at < 0 {
			return i
		}
		if weight[i] > 0 {
			last = i
		}
	}
	return last
}

// draw draws a token of a row.
func (s *sampling) draw(row int, logits []float32) (int32, error) {
	best := 0
	for i, v := range logits {
		if v != v {
			return 0, errLogits
		}
		if v > logits[best] {
			best = i
		}
	}
	most := float64(logits[best])
	if math.IsInf(most, 0) {
		return 0, errLogits
	}
	if s.Temperature == 0 {
		return int32(best), nil
	}
	n := len(logits)
	s.order, s.weight = slices.Grow(s.order[:0], n)[:n], slices.Grow(s.weight[:0], n)[:n]
	for i, v := range logits {
		s.order[i] = int32(i)
		s.weight[i] = math.Exp((float64(v) - most) / s.Temperature)
	}
	kept := s.order
	if s.TopK > 0 && s.TopK < n || s.TopP < 1 {
		kept = s.likely(logits)
	}
	total := 0.0
	for _, i := range kept {
		total += s.weight[i]
	}
	return chosen(kept, s.weight, s.random[row].Float64()*total), nil
}

// likely are the tokens left by TopK and TopP, the most likely first.
func (s *sampling) likely(logits []float32) []int32 {
	kept := s.order
	slices.SortStableFunc(kept, func(a, b int32) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	if s.TopK > 0 && s.TopK < len(kept) {
		least := logits[kept[s.TopK-1]]
		n := s.TopK
		for n < len(kept) && logits[kept[n]] == least {
			n++
		}
		kept = kept[:n]
	}
	if s.TopP < 1 {
		total := 0.0
		for _, i := range kept {
			total += s.weight[i]
		}
		sum, n := 0.0, 0
		for n < len(kept) && (n == 0 || sum < s.TopP*total) {
			sum += s.weight[kept[n]]
			n++
		}
		kept = kept[:n]
	}
	return kept
}
