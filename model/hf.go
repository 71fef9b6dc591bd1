package model

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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
	// Partial: files that cannot be read and tensors that do not fit are left out, parameters that are missing stay zeros, and
	// Notes lists them. Otherwise they are errors.
	Partial bool
}

// LoadHF makes a model from a Hugging Face config.json and its safetensors files. Numbers of any type become float32. The files must have every
// parameter in its shape, and no other tensors than those that hfNames knows to be unneeded. The model types are the keys of hfFamilies.
func LoadHF(e *exec.Executor, config []byte, weights [][]byte, o HFOptions) (*Instance, error) {
	var opened []weightFile
	var notes []string
	for i, b := range weights {
		f, err := files.Read(b, files.Safetensors, false)
		if err != nil {
			err = fmt.Errorf("weights[%d]: %w", i, errors.Unwrap(err))
			if !o.Partial {
				return nil, fmt.Errorf("model.LoadHF: %w", err)
			}
			notes = append(notes, err.Error())
			continue
		}
		defer f.Close()
		opened = append(opened, weightFile{f, fmt.Sprintf("weights[%d]", i)})
	}
	m, err := loadHF(e, "config", "weights", config, opened, o)
	if err != nil {
		return nil, fmt.Errorf("model.LoadHF: %w", err)
	}
	m.notes = append(notes, m.notes...)
	return m, nil
}

// roomError is the error of a number of tokens that is more than the model's room.
type roomError struct{ seq, room int64 }

func (e *roomError) Error() string {
	return fmt.Sprintf("max_seq_len: %d, expected 0 to the model's %d", e.seq, e.room)
}

// weightFile is a file of weights, or a folder of them, with its name in errors.
type weightFile struct {
	*files.File
	name string
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
	// positions is the parameter of which the file may have more rows: a model for shorter texts reads the first ones.
	positions string
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
	for _, h := range hfHeads {
		if strings.HasPrefix(name, h) {
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

// fit reports whether a tensor of a file has the shape of the parameter of a name.
func (n *hfNames) fit(name string, shape, want []int64) bool {
	if name == n.positions && len(shape) > 0 {
		return shape[0] >= want[0] && slices.Equal(shape[1:], want[1:])
	}
	return slices.Equal(shape, want)
}

// hfHeads are the prefixes of task heads (classification, answers, rewards), which any family may have on top and which are not read.
var hfHeads = []string{"classifier.", "score.", "qa_outputs.", "multiple_choice_head.", "v_head."}

var (
	gpt2Names = hfNames{
		prefixes: []string{"transformer.", "model."}, silent: []string{".attn.bias", ".attn.masked_bias", "lm_head.weight"},
		positions: "wpe.weight",
	}
	llamaNames = hfNames{prefixes: []string{"model."}, silent: []string{"rotary_emb.inv_freq"}}
	bertNames  = hfNames{
		prefixes:  []string{"bert."},
		positions: "embeddings.position_embeddings.weight",
		silent:    []string{"embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias"},
		old:       map[string]string{"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
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

// maxBatch is the most rows that a model of a file can have.
const maxBatch = 1 << 30

// loadHF makes a model; name and where are the configuration and the weights in errors.
func loadHF(e *exec.Executor, name, where string, config []byte, opened []weightFile, o HFOptions) (*Instance, error) {
	dt, err := storage(o.Weights)
	if err != nil {
		return nil, err
	}
	// A downloaded file is checked more strictly than a hand-written configuration: no duplicate key, no deep nesting.
	object, err := files.ParseObject(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	ends, err := endsOf(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	j, err := ParseConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	kind := j.Text("model_type", "")
	read := hfFamilies[kind]
	if read == nil {
		return nil, fmt.Errorf("%s: model_type: %q, expected one of %q", name, kind, slices.Sorted(maps.Keys(hfFamilies)))
	}
	if o.Batch < 1 || o.Batch > maxBatch {
		return nil, fmt.Errorf("max_batch: %d, expected 1 to %d", o.Batch, int64(maxBatch))
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
	if room := (*roomError)(nil); errors.As(err, &room) {
		return nil, err // an argument of the caller
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m, err := buildStored(e, dt, func(b *builder) error { c.define(b); return nil })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m.text, m.ends = c.text, ends
	if err := m.loadFiles(where, opened, &c.names, o.Partial); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// maxNotes is the number of tensors that an error names.
const maxNotes = 3

// loadFiles reads the parameters from files; where names them in errors. A parameter that is missing or does not fit is an error, with partial a
// note.
func (m *Instance) loadFiles(where string, opened []weightFile, names *hfNames, partial bool) error {
	note := func(format string, a ...any) { m.notes = append(m.notes, fmt.Sprintf(format, a...)) }
	seen := map[string]bool{}
	for _, f := range opened {
		for _, t := range f.Tensors {
			name, ok := names.of(t.Name)
			if !ok {
				continue
			}
			tensor := fmt.Sprintf("%s: tensor %q", filepath.Join(f.name, t.Shard), t.Name)
			want, load := m.loaderOf(name)
			if load == nil {
				note("%s: the model has no such parameter", tensor)
				continue
			}
			seen[name] = true
			fits := names.fit(name, t.Shape, want)
			if !fits && !partial {
				note("%s: shape %v, expected %v", tensor, t.Shape, want)
			} else if err := load(t); err != nil {
				note("%s: %v", tensor, err)
			} else if !fits {
				note("%s: shape %v was read as %v", tensor, t.Shape, want)
			}
		}
	}
	missing := func(name string, shape []int64) {
		if !seen[name] {
			note("%s: parameter %q is missing, expected one of shape %v", where, name, shape)
		}
	}
	for _, p := range m.params {
		missing(p.Name, p.Shape)
	}
	for _, s := range m.stored {
		if !strings.HasSuffix(s.name, scaleOf("")) { // scale factors are made with their matrices
			missing(s.name, s.shape)
		}
	}
	if partial || len(m.notes) == 0 {
		return nil
	}
	text := strings.Join(m.notes[:min(len(m.notes), maxNotes)], "; ")
	if more := len(m.notes) - maxNotes; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return errors.New(text)
}

// loaderOf returns the shape of the parameter of a name, and a function that copies a tensor to it, or nil if there is no such
// parameter. If the tensor is larger, its first elements are copied.
func (m *Instance) loaderOf(name string) ([]int64, func(t *files.Tensor) error) {
	if s := m.storedArray(name); s != nil {
		return s.shape, func(t *files.Tensor) error { return s.load(t, m.storedArray(scaleOf(name))) }
	}
	b := m.named[name]
	if b == nil || b.Role != Param {
		return nil, nil
	}
	return b.Shape, func(t *files.Tensor) error {
		if err := t.Floats(b.Data); err != nil {
			return fmt.Errorf("shape %v, expected %v", t.Shape, b.Shape)
		}
		b.data.written()
		return nil
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
		return c, &roomError{seq, c.MaxSeq}
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
