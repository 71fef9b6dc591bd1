package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/model/files"
)

// ExportIR is the graph as an IR file; for a loaded graph, the bytes it was loaded from.
func (m *Instance) ExportIR() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.exportIR()
	if err != nil {
		return nil, fmt.Errorf("model.Instance.ExportIR: %w", err)
	}
	return b, nil
}

func (m *Instance) exportIR() ([]byte, error) {
	if m.freed {
		return nil, ErrFreed
	}
	if err := m.needFloats("a file"); err != nil {
		return nil, err
	}
	if m.ir == nil {
		d := Definition{Graph: m.g}
		for _, b := range m.buffers {
			d.Variables = append(d.Variables, Variable{Name: b.Name, Role: b.Role, Shape: b.Shape, Node: b.node})
		}
		for _, e := range m.entries {
			d.Entries = append(d.Entries, Entry{e.name, e.sink})
		}
		b, err := writeIR(&d)
		if err != nil {
			return nil, err
		}
		m.ir = b
	}
	return slices.Clone(m.ir), nil
}

// ExportWeights is the parameters as a safetensors file; nil if there are none.
func (m *Instance) ExportWeights() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return nil, fmt.Errorf("model.Instance.ExportWeights: %w", ErrFreed)
	}
	if err := m.needFloats("a file"); err != nil {
		return nil, fmt.Errorf("model.Instance.ExportWeights: %w", err)
	}
	if len(m.params) == 0 {
		return nil, nil
	}
	return m.tensors(func(b *Buffer) bool { return b.Role == Param })
}

// tensors writes some of the buffers.
func (m *Instance) tensors(wanted func(b *Buffer) bool) ([]byte, error) {
	if err := m.readAll(false); err != nil {
		return nil, err
	}
	var list []*files.Tensor
	for _, b := range m.buffers {
		if wanted(b) {
			list = append(list, floatTensor(b.Name, b.Shape, b.Data))
		}
	}
	return files.EncodeSafetensors(list, nil)
}

// floatTensor is a tensor of floats for a file.
func floatTensor(name string, shape []int64, data []float32) *files.Tensor {
	return &files.Tensor{Name: name, DType: uop.Float32, Shape: shape, Data: floatsToBytes(data)}
}

// floatsToBytes is the little-endian form of floats.
func floatsToBytes(x []float32) []byte {
	out := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return out
}

// ImportWeights reads parameters, auxiliary buffers and inputs from a safetensors file of F32. With strict, each tensor must be
// one of the model with its number of elements, and each parameter must be present; otherwise mismatches are left out and
// noted (Notes). An error changes nothing.
func (m *Instance) ImportWeights(file []byte, strict bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return fmt.Errorf("model.Instance.ImportWeights: %w", ErrFreed)
	}
	if err := m.needFloats("ImportWeights"); err != nil {
		return fmt.Errorf("model.Instance.ImportWeights: %w", err)
	}
	f, err := files.Read(file, files.Safetensors, false)
	if err != nil {
		return fmt.Errorf("model.Instance.ImportWeights: %w", err)
	}
	defer f.Close()
	for _, t := range f.Tensors {
		if t.DType != uop.Float32 {
			return fmt.Errorf("model.Instance.ImportWeights: data: tensor %q has type %s, expected F32", t.Name, t.Type)
		}
	}
	if err := m.load(f.Tensors, strict); err != nil {
		return fmt.Errorf("model.Instance.ImportWeights: data: %w", err)
	}
	return nil
}

// loadable reports whether saved files may contain the buffer.
func (b *Buffer) loadable() bool { return b.Role == Param || b.Role == Aux || b.Role == Input }

// load copies tensors to the parameters and auxiliary buffers of their names.
func (m *Instance) load(list []*files.Tensor, strict bool) error {
	var notes []string
	seen := map[string]bool{}
	for _, t := range list {
		b := m.named[t.Name]
		switch {
		case b == nil || !b.loadable():
			notes = append(notes, fmt.Sprintf("tensor %q: the model has no such parameter", t.Name))
		case t.Numel() != int64(len(b.Data)):
			notes = append(notes, fmt.Sprintf("tensor %q: shape %v, expected %v", t.Name, t.Shape, b.Shape))
			seen[t.Name] = true
		default:
			seen[t.Name] = true
		}
	}
	for _, p := range m.params {
		if !seen[p.Name] {
			notes = append(notes, fmt.Sprintf("parameter %q is missing", p.Name))
		}
	}
	if strict && len(notes) > 0 {
		return fmt.Errorf("%s", notes[0])
	}
	for _, t := range list {
		if b := m.named[t.Name]; b != nil && b.loadable() && t.Numel() == int64(len(b.Data)) {
			if err := t.Floats(b.Data); err != nil {
				return err
			}
			b.data.written()
			b.given = true
		}
	}
	m.notes = notes
	return nil
}

// FromIR makes an instance from an IR file and a safetensors file; if that is empty, all parameters are zero.
func FromIR(e *exec.Executor, ir, weights []byte) (*Instance, error) {
	d, err := ReadIR(ir)
	if err != nil {
		return nil, err
	}
	m, err := New(d, e)
	if err != nil {
		return nil, err
	}
	m.ir = slices.Clone(ir)
	if len(weights) > 0 {
		if err := m.ImportWeights(weights, false); err != nil {
			m.Free()
			return nil, err
		}
	}
	return m, nil
}

// SaveBundle is the whole instance as bytes: graph, parameters, auxiliary data, inputs with initial contents, and the settings
// and moments of the optimizer, so training continues from there.
func (m *Instance) SaveBundle() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.saveBundle()
	if err != nil {
		return nil, fmt.Errorf("model.Instance.SaveBundle: %w", err)
	}
	return b, nil
}

func (m *Instance) saveBundle() ([]byte, error) {
	ir, err := m.exportIR()
	if err != nil {
		return nil, err
	}
	weights, err := m.tensors((*Buffer).saved)
	if err != nil {
		return nil, err
	}
	sections := []Section{{SectionIR, ir}, {SectionWeights, weights}}
	if m.training.opt.Kind != NoOptimizer {
		state, err := m.saveTraining()
		if err != nil {
			return nil, err
		}
		sections = append(sections, Section{SectionTraining, state})
	}
	return EncodeBundle(append(sections, m.sections...))
}

// FromBundle makes an instance from the bytes of SaveBundle. Unknown sections are kept.
func FromBundle(e *exec.Executor, data []byte) (*Instance, error) {
	sections, _, err := DecodeBundle(data)
	if err != nil {
		return nil, err
	}
	m, err := FromIR(e, section(sections, SectionIR), section(sections, SectionWeights))
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		if s.Type != SectionIR && s.Type != SectionWeights && s.Type != SectionTraining {
			m.sections = append(m.sections, Section{s.Type, slices.Clone(s.Data)})
		}
	}
	if state := section(sections, SectionTraining); state != nil {
		if err := m.loadTraining(state); err != nil {
			m.Free()
			return nil, fmt.Errorf("model.FromBundle: data: training: %w", err)
		}
	}
	return m, nil
}

// Prefixes of the names of saved moments.
const (
	prefixM = "m."
	prefixV = "v."
)

var optimizerNames = [...]string{"none", "sgd", "adam", "adamw"}

// settings are the numbers of an optimizer by name.
func (o *Optimizer) settings() map[string]*float32 {
	return map[string]*float32{"lr": &o.LR, "beta1": &o.Beta1, "beta2": &o.Beta2, "eps": &o.Eps, "weight_decay": &o.WeightDecay}
}

func (m *Instance) saveTraining() ([]byte, error) {
	t := &m.training
	meta := map[string]string{"optimizer": optimizerNames[t.opt.Kind], "steps": strconv.FormatInt(t.t, 10)}
	for name, v := range t.opt.settings() {
		meta[name] = strconv.FormatFloat(float64(*v), 'g', -1, 32)
	}
	var list []*files.Tensor
	if err := m.readAll(false); err != nil {
		return nil, err
	}
	for i, prefix := range []string{prefixM, prefixV} {
		for k, r := range t.moments[i] {
			p := m.params[k]
			list = append(list, floatTensor(prefix+p.Name, p.Shape, r.data))
		}
	}
	return files.EncodeSafetensors(list, meta)
}

func (m *Instance) loadTraining(state []byte) error {
	f, err := files.Read(state, files.Safetensors, false)
	if err != nil {
		return err
	}
	defer f.Close()
	meta := f.Texts()
	kind := slices.Index(optimizerNames[:], meta["optimizer"])
	steps, err := strconv.ParseInt(meta["steps"], 10, 64)
	if kind < 1 || err != nil || steps < 0 {
		return fmt.Errorf("optimizer %q, steps %q", meta["optimizer"], meta["steps"])
	}
	o := Optimizer{Kind: OptimizerKind(kind)}
	for name, v := range o.settings() {
		f, err := strconv.ParseFloat(meta[name], 32)
		if err != nil {
			return fmt.Errorf("%s: %q is no number", name, meta[name])
		}
		*v = float32(f)
	}
	m.setOptimizer(o)
	m.training.t = steps
	if len(f.Tensors) == 0 {
		return nil
	}
	if err := m.needMoments(); err != nil {
		return err
	}
	for i, prefix := range []string{prefixM, prefixV} {
		for k, p := range m.params {
			s := f.Find(prefix + p.Name)
			if s == nil || s.Numel() != int64(len(p.Data)) || o.Kind == SGD {
				return fmt.Errorf("no moments that fit parameter %q", p.Name)
			}
			r := m.training.moments[i][k]
			if err := s.Floats(r.data); err != nil {
				return err
			}
			r.written()
		}
	}
	return nil
}
