package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"polygrad/core/files"
	"polygrad/exec"
)

// LoadHF makes a model of a Hugging Face config.json and the safetensors files beside it, for batch rows of seq
// tokens (0: as many as the model allows). Numbers of any type become float32. Files that cannot be read and tensors
// that do not fit are left out and noted (Notes).
func LoadHF(e *exec.Executor, config []byte, weights [][]byte, batch, seq int64) (*Instance, error) {
	c, err := hfConfig(config, seq)
	if err != nil {
		return nil, fmt.Errorf("model.LoadHF: %w", err)
	}
	m, err := NewGPT2(e, c, batch)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for i, b := range weights {
		f, err := files.Read(b, files.Safetensors, false)
		if err != nil {
			m.notes = append(m.notes, fmt.Sprintf("files[%d]: %v", i, errors.Unwrap(err)))
			continue
		}
		for _, t := range f.Tensors {
			m.loadHF(t, seen)
		}
		f.Close()
	}
	for _, p := range m.params {
		if !seen[p.Name] {
			m.notes = append(m.notes, fmt.Sprintf("parameter %q is missing", p.Name))
		}
	}
	return m, nil
}

// gpt2Positions is the number of tokens that GPT-2 takes if its configuration does not say.
const gpt2Positions = 1024

func hfConfig(text []byte, seq int64) (GPT2Config, error) {
	j, err := ParseConfig(text)
	if err != nil {
		return GPT2Config{}, fmt.Errorf("config: %w", err)
	}
	if kind := j.Text("model_type", ""); kind != "gpt2" {
		return GPT2Config{}, fmt.Errorf("config: model_type: %q, expected \"gpt2\"", kind)
	}
	return gpt2Config(j, seq)
}

// gpt2Config reads the keys of a config.json.
func gpt2Config(j *Config, seq int64) (GPT2Config, error) {
	c := GPT2Config{
		Vocab: j.Int("vocab_size", 50257), Embd: j.Int("n_embd", 768), Head: j.Int("n_head", 12), Layer: j.Int("n_layer", 12),
		MaxSeq: j.Int("n_positions", gpt2Positions), NormEps: j.Number("layer_norm_epsilon", 1e-5),
		Inner: j.Int("n_inner", 0), Activation: j.Text("activation_function", ""),
	}
	if seq < 0 || seq > c.MaxSeq {
		return c, fmt.Errorf("seq: %d, expected 0 to the model's %d", seq, c.MaxSeq)
	}
	if seq > 0 {
		c.MaxSeq = seq
	}
	for _, option := range []struct {
		name string
		want bool
	}{{"scale_attn_weights", true}, {"scale_attn_by_inverse_layer_idx", false}, {"tie_word_embeddings", true}, {"add_cross_attention", false}} {
		if j.True(option.name, option.want) != option.want {
			return c, fmt.Errorf("config: %s: %t, expected %t", option.name, !option.want, option.want)
		}
	}
	return c, nil
}

// loadHF copies a tensor to the parameter of its name. Of a larger one the first elements count: position tables
// hold more rows than the model was made for.
func (m *Instance) loadHF(t *files.Tensor, seen map[string]bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(t.Name, "transformer."), "model.")
	if strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias") || name == "lm_head.weight" {
		return
	}
	b := m.named[name]
	if b == nil || b.Role != Param {
		m.notes = append(m.notes, fmt.Sprintf("tensor %q: the model has no such parameter", t.Name))
		return
	}
	rows := len(t.Shape) == len(b.Shape) && slices.Equal(t.Shape[1:], b.Shape[1:]) && t.Shape[0] >= b.Shape[0]
	if err := t.Floats(b.Data); err != nil {
		m.notes = append(m.notes, fmt.Sprintf("tensor %q: shape %v, expected %v", t.Name, t.Shape, b.Shape))
	} else if !rows {
		m.notes = append(m.notes, fmt.Sprintf("tensor %q: shape %v was read as %v", t.Name, t.Shape, b.Shape))
	}
	seen[name] = true
}
