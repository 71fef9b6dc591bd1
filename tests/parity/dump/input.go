package dump

import (
	"encoding/json"
	"fmt"
)

// Gen is the generator of an input's values.
type Gen struct {
	Kind        string
	A, B, M     int64
	C, S        float64
	Value       float64
	Start, Step float64
	Values      []json.Number
}

// Numbers computes the values of an input from its generator.
func (in *Input) Numbers() ([]float64, error) {
	n := int64(1)
	for _, d := range in.Shape {
		n *= d
	}
	g := in.Gen
	at := map[string]func(i int64) float64{
		"lin":  func(i int64) float64 { return (float64((g.A*i+g.B)%g.M) - g.C) * g.S },
		"seq":  func(i int64) float64 { return g.Start + g.Step*float64(i) },
		"full": func(int64) float64 { return g.Value },
		"alt": func(i int64) float64 {
			if (5*i+2)%7 < 3 {
				return 1
			}
			return 0
		},
	}[g.Kind]
	if g.Kind == "vals" {
		if int64(len(g.Values)) != n {
			return nil, fmt.Errorf("dump.Input.Numbers: %s has %d values for %d elements", in.Name, len(g.Values), n)
		}
		at = func(i int64) float64 { f, _ := g.Values[i].Float64(); return f }
	}
	if at == nil {
		return nil, fmt.Errorf("dump.Input.Numbers: %s has the unknown generator %q", in.Name, g.Kind)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = at(int64(i))
	}
	return out, nil
}
