package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"polygrad/exec"
	"polygrad/model/files"
)

// HFOptions are the choices of LoadHF.
type HFOptions struct {
	// Batch is the number of rows of the entry points, Seq the number of tokens in each. Seq 0 is the most that the model
	// allows, with rotary positions at most 4096.
	Batch, Seq int64
	// Weights is the type of the stored matrices: float32, float16, bfloat16 or int8; "" is float32. Only models
	// of float32 can be trained and saved.
	Weights string
}

// LoadHF makes a model from a Hugging Face config.json and its safetensors files. Numbers of any type become float32. Files
// that cannot be read and tensors that do not fit are left out and noted (Notes). The model types are those of hfFamilies.
func LoadHF(e *exec.Executor, config []byte, weights [][]byte, o HFOptions) (*Instance, error) {
	var opened []*files.File
	var notes []string
	for i, b := range weights {
		f, err := files.Read(b, files.Safetensors, false)
		if err != nil {
			notes = append(notes, fmt.Sprintf("files[%d]: %v", i, errors.Unwrap(err)))
			continue
		}
		defer f.Close()
		opened = append(opened, f)
	}
	m, err := loadHF(e, config, opened, o)
	if err != nil {
		return nil, fmt.Errorf("model.LoadHF: %w", err)
	}
	m.notes = append(notes, m.notes...)
	return m, nil
}

// hfModel is the model of a configuration.
type hfModel struct {
	define func(b *builder)
	// text is set for causal language models.
	text decoder
	// names maps the names in files to parameters.
	names hfNames
}

// hfNames maps the names of tensors in files to parameters.
type hfNames struct {
	// prefixes are removed from names: the first one that matches.
	prefixes []string
	// silent are suffixes of tensors that the model does not need.
	silent []string
	// old maps suffixes in old files to the current ones.
	old map[string]string
}

// of is the name of the parameter; ok is false if the tensor is not needed.
func (n *hfNames) of(name string) (param string, ok bool) {
	for _, p := range n.prefixes {
		if rest, found := strings.CutPrefix(name, p); found {
			name = rest
			break
		}
	}
	for _, s := range n.silent {
		if strings.HasSuffix(name, s) {
			return "", false
		}
	}
	for from, to := range n.old {
		if rest, found := strings.CutSuffix(name, from); found {
			name = rest + to
		}
	}
	return name, true
}

var (
	gpt2Names  = hfNames{prefixes: []string{"transformer.", "model."}, silent: []string{".attn.bias", ".attn.masked_bias", "lm_head.weight"}}
	llamaNames = hfNames{prefixes: []string{"model."}, silent: []string{"rotary_emb.inv_freq"}}
	bertNames  = hfNames{
		prefixes: []string{"bert."},
		silent:   []string{"embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias"},
		old:      map[string]string{"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
	}
)

// hfFamilies read the configurations of each model type. has reports whether the files hold a tensor.
var hfFamilies = map[string]func(kind string, j *Config, o HFOptions, has func(name string) bool) (*hfModel, error){
	"gpt2": readGPT2, "llama": readLlama, "mistral": readLlama, "qwen2": readLlama, "qwen3": readLlama, "bert": readBert,
}

func readGPT2(_ string, j *Config, o HFOptions, _ func(string) bool) (*hfModel, error) {
	c, err := gpt2Config(j, o.Seq)
	if err != nil {
		return nil, err
	}
	act, err := c.check(o.Batch)
	if err != nil {
		return nil, err
	}
	g := gpt2{c, act}
	return &hfModel{define: func(b *builder) { g.define(b, o.Batch) }, text: g, names: gpt2Names}, nil
}

func readLlama(kind string, j *Config, o HFOptions, _ func(string) bool) (*hfModel, error) {
	c, err := llamaConfig(kind, j, o.Seq)
	if err != nil {
		return nil, err
	}
	names := llamaNames
	if c.tied {
		names.silent = append(slices.Clone(names.silent), "lm_head.weight")
	}
	return &hfModel{define: func(b *builder) { c.define(b, o.Batch) }, text: c, names: names}, nil
}

func readBert(_ string, j *Config, o HFOptions, has func(string) bool) (*hfModel, error) {
	c, err := bertConfig(j, o.Seq, has)
	if err != nil {
		return nil, err
	}
	return &hfModel{define: func(b *builder) { c.define(b, o.Batch) }, names: bertNames}, nil
}

func loadHF(e *exec.Executor, config []byte, opened []*files.File, o HFOptions) (*Instance, error) {
	dt, err := storage(o.Weights)
	if err != nil {
		return nil, err
	}
	// A downloaded file is checked more strictly than a hand-written configuration: no duplicate key, no deep nesting.
	object, err := files.ParseObject(config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", errors.Unwrap(err))
	}
	ends, err := endsOf(object)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	j, err := ParseConfig(config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	kind := j.Text("model_type", "")
	read := hfFamilies[kind]
	if read == nil {
		return nil, fmt.Errorf("config: model_type: %q, expected one of %q", kind, slices.Sorted(maps.Keys(hfFamilies)))
	}
	if o.Batch < 1 || o.Batch > 1<<30 {
		return nil, fmt.Errorf("batch: %d, expected at least 1", o.Batch)
	}
	there := map[string]bool{}
	for _, f := range opened {
		for _, t := range f.Tensors {
			there[t.Name] = true
		}
	}
	c, err := read(kind, j, o, func(name string) bool { return there[name] || there["bert."+name] })
	if wrong := j.Wrong(); wrong != nil {
		err = wrong // report it first: later errors may follow from its fallback
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	m, err := buildStored(e, dt, func(b *builder) error { c.define(b); return nil })
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	m.text, m.ends = c.text, ends
	m.loadFiles(opened, &c.names)
	return m, nil
}

// loadFiles reads the parameters.
func (m *Instance) loadFiles(opened []*files.File, names *hfNames) {
	note := func(format string, a ...any) { m.notes = append(m.notes, fmt.Sprintf(format, a...)) }
	seen := map[string]bool{}
	for _, f := range opened {
		if f == nil {
			continue
		}
		for _, t := range f.Tensors {
			name, ok := names.of(t.Name)
			if !ok {
				continue
			}
			seen[name] = true
			if s := m.storedArray(name); s != nil {
				if err := s.load(t, m.storedArray(scaleOf(name))); err != nil {
					note("tensor %q: %v", t.Name, err)
				}
			} else {
				m.loadTensor(name, t, note)
			}
		}
	}
	for _, p := range m.params {
		if !seen[p.Name] {
			note("parameter %q is missing", p.Name)
		}
	}
	for _, s := range m.stored {
		if !seen[s.name] && !seen[strings.TrimSuffix(s.name, scaleOf(""))] {
			note("parameter %q is missing", s.name)
		}
	}
}

// loadTensor copies a tensor to the parameter of a name. Of a larger tensor the first elements count: position tables may have
// more rows than the model.
func (m *Instance) loadTensor(name string, t *files.Tensor, note func(format string, a ...any)) {
	b := m.named[name]
	if b == nil || b.Role != Param {
		note("tensor %q: the model has no such parameter", t.Name)
		return
	}
	rows := len(t.Shape) == len(b.Shape) && slices.Equal(t.Shape[1:], b.Shape[1:]) && t.Shape[0] >= b.Shape[0]
	if err := t.Floats(b.Data); err != nil {
		note("tensor %q: shape %v, expected %v", t.Name, t.Shape, b.Shape)
	} else if !rows {
		note("tensor %q: shape %v was read as %v", t.Name, t.Shape, b.Shape)
	}
}

// gpt2Positions is GPT-2's number of positions if its configuration has none.
const gpt2Positions = 1024

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
	return c, onlyOptions(j, option{"scale_attn_weights", true}, option{"scale_attn_by_inverse_layer_idx", false},
		option{"tie_word_embeddings", true}, option{"add_cross_attention", false})
}

// option is a configuration switch with the one value that the model implements.
type option struct {
	name string
	want bool
}

// onlyOptions is an error if a switch has another value.
func onlyOptions(j *Config, options ...option) error {
	for _, o := range options {
		if j.True(o.name, o.want) != o.want {
			return fmt.Errorf("%s: %t, expected %t", o.name, !o.want, o.want)
		}
	}
	return nil
}
