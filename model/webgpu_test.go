package model

import (
	"testing"

	"polygrad/exec"
)

// A token is one submit on a GPU: weights and the cache of keys and values stay there, the token goes in, the logits come out.
func TestWebGPUTokenIsOneSubmit(t *testing.T) {
	e, err := exec.Open("webgpu")
	if err != nil {
		t.Skip(err)
	}
	for name, config := range tinyModels {
		t.Run(name, func(t *testing.T) {
			m, _ := tinyModel(t, e, config, "", 1)
			g, err := m.NewGenerator(1)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Free()
			var text []int32
			last, _ := e.Counts()
			for i := range 6 {
				token := int32(i*5%31 + 1)
				text = append(text, token)
				if err := g.Feed([][]int32{{token}}); err != nil {
					t.Fatal(err)
				}
				logits, err := g.Logits()
				if err != nil {
					t.Fatal(err)
				}
				now, _ := e.Counts()
				n := now.Minus(last)
				if vocabulary := int64(31 * 4); i >= 2 && (n.Submits != 1 || n.Waits != 1 || n.Out != vocabulary || n.In > 4<<10 || n.Pipelines+n.Buffers != 0) {
					t.Errorf("token %d: %+v, expected one submit and one wait", i, n)
				}
				sameLogits(t, "webgpu", logits, lastLogits(t, m, text), 1e-4)
				last, _ = e.Counts()
			}
		})
	}
}
