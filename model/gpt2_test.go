package model

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/model/files"
)

const tinyConfig = `{"model_type":"gpt2","vocab_size":13,"n_embd":8,"n_head":2,"n_layer":2,"n_positions":9}`

// randomWeights are the tensors of a tiny GPT-2 by name.
func randomWeights(m *Instance) map[string][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := map[string][]float32{}
	for _, p := range m.Params() {
		w := make([]float32, len(p.Data))
		for i := range w {
			// Numbers that even bfloat16 holds.
			w[i] = uop.BF16ToFloat(uop.FloatToBF16(0.4 * r.NormFloat64()))
		}
		out[p.Name] = w
	}
	return out
}

// matmul is a (n,k) @ b (k,m).
func matmul(a, b []float64, n, k, m int) []float64 {
	out := make([]float64, n*m)
	for i := range n {
		for j := range m {
			for x := range k {
				out[i*m+j] += a[i*k+x] * b[x*m+j]
			}
		}
	}
	return out
}

// gpt2ByHand gives the logits of one row of tokens in float64.
func gpt2ByHand(w map[string][]float32, tokens []int, embd, heads, layers, vocab int, act func(float64) float64) []float64 {
	get := func(name string) []float64 {
		out := make([]float64, len(w[name]))
		for i, v := range w[name] {
			out[i] = float64(v)
		}
		return out
	}
	n := len(tokens)
	wte, wpe := get("wte.weight"), get("wpe.weight")
	h := make([]float64, n*embd)
	for i, t := range tokens {
		for j := range embd {
			h[i*embd+j] = wte[t*embd+j] + wpe[i*embd+j]
		}
	}
	norm := func(h []float64, name string) []float64 {
		scale, shift := get(name+".weight"), get(name+".bias")
		out := slices.Clone(h)
		for row := range slices.Chunk(out, embd) {
			mean, square := 0.0, 0.0
			for _, v := range row {
				mean += v / float64(embd)
			}
			for _, v := range row {
				square += (v - mean) * (v - mean) / float64(embd)
			}
			for j := range row {
				row[j] = (row[j]-mean)/math.Sqrt(square+1e-5)*scale[j] + shift[j]
			}
		}
		return out
	}
	linear := func(h []float64, name string, in, out int) []float64 {
		r, bias := matmul(h, get(name+".weight"), n, in, out), get(name+".bias")
		for i := range r {
			r[i] += bias[i%out]
		}
		return r
	}
	add := func(h, more []float64) {
		for i := range h {
			h[i] += more[i]
		}
	}
	width := embd / heads
	for l := range layers {
		at := "h." + string(rune('0'+l)) + "."
		qkv := linear(norm(h, at+"ln_1"), at+"attn.c_attn", embd, 3*embd)
		mixed := make([]float64, n*embd)
		for head := range heads {
			for i := range n {
				weights, total := make([]float64, i+1), 0.0
				for j := range weights {
					dot := 0.0
					for d := range width {
						dot += qkv[i*3*embd+head*width+d] * qkv[j*3*embd+embd+head*width+d]
					}
					weights[j] = math.Exp(dot / math.Sqrt(float64(width)))
					total += weights[j]
				}
				for j, v := range weights {
					for d := range width {
						mixed[i*embd+head*width+d] += v / total * qkv[j*3*embd+2*embd+head*width+d]
					}
				}
			}
		}
		add(h, linear(mixed, at+"attn.c_proj", embd, embd))
		inner := linear(norm(h, at+"ln_2"), at+"mlp.c_fc", embd, 4*embd)
		for i := range inner {
			inner[i] = act(inner[i])
		}
		add(h, linear(inner, at+"mlp.c_proj", 4*embd, embd))
	}
	h = norm(h, "ln_f")
	logits := make([]float64, n*vocab)
	for i := range n {
		for v := range vocab {
			for j := range embd {
				logits[i*vocab+v] += h[i*embd+j] * wte[v*embd+j]
			}
		}
	}
	return logits
}

func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// Files of every type and with every prefix give the logits of the formula.
func TestGPT2FromFiles(t *testing.T) {
	empty, err := LoadHF(device(t), []byte(tinyConfig), nil, HFOptions{Batch: 1, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Free()
	if n := len(empty.Notes()); n != len(empty.Params()) || n != 28 {
		t.Errorf("%d notes about %d missing parameters, expected 28", n, len(empty.Params()))
	}
	weights := randomWeights(empty)
	for _, c := range []struct {
		dtype  *uop.DType
		prefix string
		seq    int64
		batch  int64
		act    string
		f      func(float64) float64
	}{
		{uop.Float32, "", 0, 1, "", geluTanh},
		{uop.Float16, "transformer.", 5, 2, "gelu_new", geluTanh},
		{uop.BFloat16, "model.", 7, 3, "gelu", func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }},
		{uop.Float64, "transformer.", 9, 2, "relu", func(x float64) float64 { return max(x, 0) }},
	} {
		var lists [2][]*files.Tensor // two files
		for i, p := range empty.Params() {
			lists[i%2] = append(lists[i%2], &files.Tensor{Name: c.prefix + p.Name, DType: c.dtype, Shape: p.Shape, Data: encodeAs(c.dtype, weights[p.Name])})
		}
		lists[0] = append(lists[0], &files.Tensor{Name: c.prefix + "h.0.attn.bias", DType: uop.Bool, Shape: []int64{1}, Data: []byte{1}},
			&files.Tensor{Name: "lm_head.weight", DType: uop.Uint8, Shape: []int64{1}, Data: []byte{1}})
		var parts [][]byte
		for _, l := range lists {
			f, err := files.EncodeSafetensors(l, map[string]string{"format": "pt"})
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, f)
		}
		config := tinyConfig[:len(tinyConfig)-1] + `,"activation_function":"` + c.act + `"}`
		m, err := LoadHF(device(t), []byte(config), parts, HFOptions{Batch: c.batch, Seq: c.seq})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		if n := m.Notes(); len(n) > 0 {
			t.Errorf("%s: notes %q", c.dtype, n)
		}
		checkLogits(t, m, weights, c.f)
		folder := t.TempDir()
		texts := map[string][]byte{"config.json": []byte(config), "generation_config.json": []byte(`{"eos_token_id": [3, 5]}`), "a.safetensors": parts[0], "b.safetensors": parts[1]}
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		opened, err := OpenHF(device(t), folder, HFOptions{Batch: c.batch, Seq: c.seq})
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Free()
		if ends := opened.Ends(); !slices.Equal(ends, []int32{3, 5}) {
			t.Errorf("texts end with %v, expected 3 and 5", ends)
		}
		checkLogits(t, opened, weights, c.f)
		bundle, err := m.SaveBundle()
		if err != nil {
			t.Fatal(err)
		}
		again, err := FromBundle(device(t), bundle)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Free()
		if got := again.Buffer("vocab_arange").Data; got[12] != 12 {
			t.Errorf("vocab_arange is %v after loading", got)
		}
		checkLogits(t, again, weights, c.f)
	}
}

func checkLogits(t *testing.T, m *Instance, weights map[string][]float32, act func(float64) float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 8))
	x := m.Buffer("x")
	batch, seq := int(x.Shape[0]), int(x.Shape[1])
	tokens := make([]float32, batch*seq)
	for i := range tokens {
		tokens[i] = float32(r.IntN(13))
	}
	if err := m.Forward([]Feed{{"x", tokens}}); err != nil {
		t.Fatal(err)
	}
	out := m.Buffer("output").Data
	sum := 0.0
	for b := range batch {
		row := make([]int, seq)
		for i := range row {
			row[i] = int(tokens[b*seq+i])
		}
		for i, want := range gpt2ByHand(weights, row, 8, 2, 2, 13, act) {
			if got := float64(out[b*seq*13+i]); math.Abs(got-want) > 2e-5*math.Max(1, math.Abs(want)) {
				t.Fatalf("row %d, logit %d is %v, expected %v", b, i, got, want)
			}
			sum += want * want
		}
	}
	if err := m.Call(EntryLoss, nil); err != nil {
		t.Fatal(err)
	}
	if got := float64(m.Buffer("loss").Data[0]); math.Abs(got-sum) > 1e-5*sum {
		t.Errorf("loss %v, expected %v", got, sum)
	}
}

// encodeAs writes floats in a type of files.
func encodeAs(d *uop.DType, x []float32) []byte {
	var out []byte
	for _, v := range x {
		var bits uint64
		switch d {
		case uop.Float32:
			bits = uint64(math.Float32bits(v))
		case uop.Float16:
			bits = uint64(uop.FloatToHalf(float64(v)))
		case uop.BFloat16:
			bits = uint64(uop.FloatToBF16(float64(v)))
		case uop.Float64:
			bits = math.Float64bits(float64(v))
		}
		for i := range d.Itemsize() {
			out = append(out, byte(bits>>(8*i)))
		}
	}
	return out
}

// Gradients of all parameters of a GPT-2, and a few steps of training.
func TestGPT2Trains(t *testing.T) {
	m, err := LoadHF(device(t), []byte(tinyConfig), nil, HFOptions{Batch: 2, Seq: 4, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	for name, w := range randomWeights(m) {
		for i, v := range w {
			m.Buffer(name).Data[i] = 0.3 * v
		}
	}
	in := []Feed{{"x", []float32{1, 2, 3, 4, 12, 0, 7, 7}}}
	first, err := m.ValueAndGrad(EntryLoss, in)
	if err != nil {
		t.Fatal(err)
	}
	checkGradients(t, m)
	if err := m.SetOptimizer(Optimizer{Adam, 0.01, 0.9, 0.999, 1e-8, 0}); err != nil {
		t.Fatal(err)
	}
	last := first
	for range 10 {
		if last, err = m.TrainStep(in); err != nil {
			t.Fatal(err)
		}
	}
	if !(last < 0.9*first) {
		t.Errorf("the loss goes from %v to %v only", first, last)
	}
}

// A value of another kind is no reason to take the usual one.
func TestBadConfigValues(t *testing.T) {
	const bert, llama = `{"model_type":"bert","num_hidden_layers":1,"hidden_size":8,"num_attention_heads":2,`, `{"model_type":"llama","num_hidden_layers":1,"hidden_size":8,"num_attention_heads":2,`
	for config, want := range map[string]string{
		`{"model_type":"gpt2","n_embd":"8"}`:            `n_embd: "8", expected a number`,
		`{"model_type":"gpt2","n_layer":1.5}`:           `n_layer: 1.5, expected an integer`,
		`{"model_type":"gpt2","activation_function":1}`: `activation_function: 1, expected a string`,
		`{"model_type":"gpt2","tie_word_embeddings":1}`: `tie_word_embeddings: 1, expected true or false`,
		bert + `"is_decoder":true}`:                     "is_decoder: true, expected false",
		llama + `"rope_scaling":{"rope_type":1}}`:       "rope_scaling: rope_type: 1, expected a string",
		llama + `"hidden_act":[]}`:                      "hidden_act: [], expected a string",
	} {
		m, err := LoadHF(device(t), []byte(config), nil, HFOptions{Batch: 1, Seq: 4, Partial: true})
		if err == nil {
			m.Free()
		}
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", config, err, want)
		}
	}
}

func TestBadModels(t *testing.T) {
	for _, config := range []string{"", "{}", `{"model_type":"t5"}`, tinyConfig[:20],
		`{"model_type":"gpt2","n_embd":7}`, `{"model_type":"gpt2","n_layer":0}`, `{"model_type":"gpt2","n_embd":12,"n_layer":1000000}`, `{"model_type":"gpt2","activation_function":"x"}`,
		`{"model_type":"gpt2","tie_word_embeddings":false}`, `{"model_type":"gpt2","vocab_size":-1}`,
		`{"model_type":"gpt2","n_layer":1,"n_layer":2}`, `{"model_type":"gpt2","n_layer":1e999}`, `{"model_type":"gpt2","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`} {
		if m, err := LoadHF(device(t), []byte(config), nil, HFOptions{Batch: 1, Seq: 4, Partial: true}); err == nil {
			m.Free()
			t.Errorf("the configuration %s is accepted", config)
		}
	}
	for _, bad := range [][2]int64{{0, 4}, {-1, 4}, {1, -1}, {1, 10}} {
		if m, err := LoadHF(device(t), []byte(tinyConfig), nil, HFOptions{Batch: bad[0], Seq: bad[1], Partial: true}); err == nil {
			m.Free()
			t.Errorf("batch %d and seq %d are accepted", bad[0], bad[1])
		}
	}
	small, err := files.EncodeSafetensors([]*files.Tensor{{Name: "wte.weight", DType: uop.Float32, Shape: []int64{1}, Data: make([]byte, 4)}, {Name: "odd", DType: uop.Int8, Data: []byte{1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadHF(device(t), []byte(tinyConfig), [][]byte{small, []byte("rubbish")}, HFOptions{Batch: 1, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	if n := len(m.Notes()); n != 3+27 {
		t.Errorf("%d notes, expected 30: %q", n, m.Notes())
	}
}
