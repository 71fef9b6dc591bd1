package model

import (
	"math"
	"testing"
)

// The cross entropy of language models is that of their logits where the target is not negative; its gradients are its
// slopes, and steps that are given targets learn by it.
func TestTokenLoss(t *testing.T) {
	for name, config := range map[string]string{"gpt2": tinyConfig, "llama": tinyModels["llama"]} {
		t.Run(name, func(t *testing.T) {
			m, err := LoadHF(device(t), []byte(config), nil, HFOptions{Batch: 2, Seq: 4, Partial: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			for name, w := range randomWeights(m) {
				for i, v := range w {
					m.Buffer(name).Data[i] = 0.3 * v
				}
			}
			x, y := []float32{1, 2, 3, 4, 12, 0, 7, 7}, []float32{2, 3, 4, -1, 0, 7, 7, -100}
			got, err := m.ValueAndGrad(EntryCrossEntropy, []Feed{{"x", x}, {"y", y}})
			if err != nil {
				t.Fatal(err)
			}
			if want := tokenLoss(t, m, x, y); math.Abs(float64(got)-want) > 1e-5*want {
				t.Errorf("cross entropy %v, expected %v", got, want)
			}
			checkGradientsOf(t, m, EntryCrossEntropy)

			if err := m.SetOptimizer(Optimizer{Adam, 0.02, 0.9, 0.999, 1e-8, 0}); err != nil {
				t.Fatal(err)
			}
			last := got
			for range 20 {
				if last, err = m.TrainStep([]Feed{{"x", x}, {"y", y}}); err != nil {
					t.Fatal(err)
				}
			}
			if want := tokenLoss(t, m, x, y); !(last < 0.8*got) || math.Abs(want-float64(last)) > 0.3 {
				t.Errorf("the cross entropy goes from %v to %v, that of the logits is %v", got, last, want)
			}

			for _, c := range []struct {
				y    float32
				want func(v float64) bool
			}{{-1, func(v float64) bool { return v == 0 }}, {1000, math.IsNaN}} {
				none := []float32{-1, -1, -1, -1, -1, -1, -1, c.y}
				got, err := m.ValueAndGrad(EntryCrossEntropy, []Feed{{"x", x}, {"y", none}})
				if err != nil || !c.want(float64(got)) {
					t.Errorf("the target %v gives %v, %v", c.y, got, err)
				}
			}
		})
	}
}

// tokenLoss is the mean cross entropy of the logits of a model.
func tokenLoss(t *testing.T, m *Instance, x, y []float32) float64 {
	t.Helper()
	if err := m.Call(EntryForward, []Feed{{"x", x}}); err != nil {
		t.Fatal(err)
	}
	logits := m.Buffer("output").Data
	vocab := len(logits) / len(y)
	sum, n := 0.0, 0.0
	for i, c := range y {
		if c < 0 {
			continue
		}
		row, total := logits[i*vocab:(i+1)*vocab], 0.0
		for _, v := range row {
			total += math.Exp(float64(v))
		}
		sum += math.Log(total) - float64(row[int(c)])
		n++
	}
	return sum / n
}
