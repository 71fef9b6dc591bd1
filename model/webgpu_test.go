package model

import (
	"errors"
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

// Parameters, gradients and moments of an instance stay on a GPU: a step of training is one submit, of which only the loss comes back.
func TestWebGPUInstanceStays(t *testing.T) {
	e, err := exec.Open("webgpu")
	if err != nil {
		t.Skip(err)
	}
	for _, kind := range []OptimizerKind{SGD, Adam, AdamW} {
		var both [2]*Instance // on the GPU, on the host
		for i, e := range []*exec.Executor{e, device(t)} {
			m, err := NewMLP(e, []byte(`{"layers":[12,70,5],"activation":"gelu","loss":"mse","batch_size":4,"seed":3}`))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			if err := m.SetOptimizer(Optimizer{kind, 0.02, 0.8, 0.95, 1e-6, 0.1}); err != nil {
				t.Fatal(err)
			}
			both[i] = m
		}
		gpu, host := both[0], both[1]
		step := func(seed uint64) {
			t.Helper()
			in := feeds(host, seed, false)
			x, err := gpu.TrainStep(in)
			if err != nil {
				t.Fatal(err)
			}
			if y, err := host.TrainStep(in); err != nil || !close32(x, y) {
				t.Errorf("kind %d: the loss is %v, expected %v, %v", kind, x, y, err)
			}
		}
		same := func() {
			t.Helper()
			for i, p := range gpu.Params() {
				if err := gpu.Read(p); err != nil {
					t.Fatal(err)
				}
				q := host.Params()[i]
				for j, v := range p.Data {
					if !close32(v, q.Data[j]) || !close32(p.Grad[j], q.Grad[j]) {
						t.Fatalf("kind %d: %s[%d] is %v with the gradient %v, expected %v, %v", kind, p.Name, j, v, p.Grad[j], q.Data[j], q.Grad[j])
					}
				}
			}
		}
		for seed := range uint64(6) {
			last, _ := e.Counts()
			step(seed)
			now, _ := e.Counts()
			const given = 4 * (4*12 + 4*5 + numScalars) // inputs, targets and the scalars of the optimizer
			if n := now.Minus(last); seed >= 3 && (n.Submits != 1 || n.Waits != 1 || n.Out != 4 || n.In > given || n.Pipelines+n.Buffers != 0) {
				t.Errorf("kind %d, step %d: %+v, expected one submit, %d bytes in and 4 out", kind, seed, n, given)
			}
		}
		same()
		in := feeds(host, 9, false)[:1]
		for range 3 {
			last, _ := e.Counts()
			if err := errors.Join(gpu.Forward(in), host.Forward(in)); err != nil {
				t.Fatal(err)
			}
			now, _ := e.Counts()
			if n := now.Minus(last); n.Submits != 1 || n.Out != 4*4*5 || n.In > 4*4*12+1<<14 {
				t.Errorf("forward: %+v, expected one submit, and only inputs in and outputs out", n)
			}
		}
		for i, v := range gpu.Buffer("output").Data {
			if w := host.Buffer("output").Data[i]; !close32(v, w) {
				t.Errorf("output[%d] is %v, expected %v", i, v, w)
			}
		}
		// What the host writes is used, by a call and at any time after Share.
		w := gpu.Params()[0]
		if err := gpu.Write(w, []float32{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		copy(host.Params()[0].Data, []float32{1, 2, 3})
		step(20)
		if err := gpu.Share(w); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.Data[5]++
			host.Params()[0].Data[5]++
			step(21)
		}
		same()
		// A file has what is on the GPU, and other devices go on with it.
		file, err := gpu.SaveBundle()
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := FromBundle(e, file)
		if err != nil {
			t.Fatal(err)
		}
		defer loaded.Free()
		for seed := range uint64(3) {
			x, err := loaded.TrainStep(feeds(host, seed+30, false))
			if step(seed + 30); err != nil || !close32(x, host.Buffer("loss").Data[0]) {
				t.Errorf("kind %d: the loaded instance has the loss %v, expected %v, %v", kind, x, host.Buffer("loss").Data[0], err)
			}
		}
		for i, e := range []*exec.Executor{device(t), e} {
			if err := gpu.SetExecutor(e); err != nil {
				t.Fatal(err)
			}
			step(uint64(40 + i))
		}
		same()
	}
}
