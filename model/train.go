package model

import (
	"fmt"
	"math"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// OptimizerKind is an optimizer algorithm.
type OptimizerKind uint8

// The optimizers, as the C interface numbers them.
const (
	NoOptimizer OptimizerKind = iota
	SGD
	Adam
	AdamW
)

// Optimizer is an algorithm with its settings. SGD uses only LR, Adam all but WeightDecay.
type Optimizer struct {
	Kind                               OptimizerKind
	LR, Beta1, Beta2, Eps, WeightDecay float32
}

// training is the state of training, made on first use.
type training struct {
	opt    Optimizer
	t      int64 // steps so far
	step   *exec.Step
	nodes  map[*uop.UOp]*resident // the buffers of step
	grads  *block                 // one array, laid out as the parameters are
	gradOf map[*uop.UOp]*resident // the buffers that gradient programs write
	memory *block                 // m and v, laid out as the parameters are, and the scalars
	// moments are m and v of each parameter, none before they are used.
	moments [2][]*resident
}

func (t *training) free() {
	t.grads.free()
	t.freeMoments()
	t.step, t.nodes, t.gradOf = nil, nil, nil
}

func (t *training) freeMoments() {
	for _, r := range slices.Concat(t.moments[0], t.moments[1]) {
		r.free()
	}
	t.memory.free()
	t.memory, t.moments = nil, [2][]*resident{}
}

// SetOptimizer sets the optimizer of TrainStep and resets its step count and moments.
func (m *Instance) SetOptimizer(o Optimizer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return fmt.Errorf("model.Instance.SetOptimizer: %w", ErrFreed)
	}
	if o.Kind > AdamW {
		return fmt.Errorf("model.Instance.SetOptimizer: kind: %d, expected 0 (none), 1 (SGD), 2 (Adam) or 3 (AdamW)", o.Kind)
	}
	m.setOptimizer(o)
	return nil
}

func (m *Instance) setOptimizer(o Optimizer) {
	t := &m.training
	if o.Kind != t.opt.Kind {
		t.freeMoments()
		t.step, t.nodes = nil, nil
		for _, e := range m.entries {
			e.train = nil
		}
	} else if t.memory != nil {
		for _, r := range slices.Concat(t.moments[0], t.moments[1]) {
			clear(r.data)
			r.written()
		}
	}
	t.opt, t.t = o, 0
}

// Optimizer is the current optimizer and its step count.
func (m *Instance) Optimizer() (o Optimizer, steps int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.training.opt, m.training.t
}

// ValueAndGrad runs an entry point with one number as its output, the loss, and stores the gradients in the Grad of the
// parameters. Apart from the entry point's own output nothing else is changed.
func (m *Instance) ValueAndGrad(name string, feeds []Feed) (loss float32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if loss, err = m.valueAndGrad(name, feeds); err != nil {
		return 0, fmt.Errorf("model.Instance.ValueAndGrad: %w", err)
	}
	return loss, nil
}

// TrainStep computes the loss and its gradients and runs the optimizer. It returns the loss before the update. A language model
// with a target y trains on the cross entropy.
func (m *Instance) TrainStep(feeds []Feed) (loss float32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if loss, err = m.trainStep(feeds); err != nil {
		return 0, fmt.Errorf("model.Instance.TrainStep: %w", err)
	}
	return loss, nil
}

func (m *Instance) trainStep(feeds []Feed) (float32, error) {
	t := &m.training
	if !m.freed && t.opt.Kind == NoOptimizer {
		return 0, fmt.Errorf("no optimizer is set")
	}
	if !m.freed && m.exec.OwnMemory() && len(m.flat) > 0 {
		return m.trainOnDevice(feeds)
	}
	if !m.freed && t.step == nil && len(m.flat) > 0 {
		if err := m.compileUpdate(); err != nil {
			return 0, err
		}
	}
	loss, err := m.valueAndGrad(m.lossFor(feeds), feeds)
	if err != nil || len(m.flat) == 0 {
		return loss, err
	}
	t.t++
	t.scalars()
	binds := make([]exec.Binding, 0, len(t.nodes))
	for node, r := range t.nodes {
		binds = append(binds, r.bind(node))
	}
	return loss, t.step.Run(binds, nil)
}

// trainOnDevice runs the loss, its gradients and the optimizer as one program, on a device with memory of its own: parameters, moments and gradients
// stay there.
func (m *Instance) trainOnDevice(feeds []Feed) (float32, error) {
	e, err := m.trainable(m.lossFor(feeds))
	if err == nil && e.train == nil {
		err = m.compileTrain(e)
	}
	if err == nil {
		err = m.feed(feeds)
	}
	if err != nil {
		return 0, err
	}
	t := &m.training
	t.t++
	t.scalars()
	m.clearUnused(e)
	if err := e.train.Run(m.bind(e.train, t.gradOf, e.updated), nil); err != nil {
		t.t--
		return 0, err
	}
	return e.loss.Data[0], nil
}

// lossFor is the entry point of the loss for these arrays.
func (m *Instance) lossFor(feeds []Feed) string {
	given := slices.ContainsFunc(feeds, func(f Feed) bool { return f.Name == "y" })
	if _, err := m.entry(EntryCrossEntropy); given && err == nil {
		return EntryCrossEntropy
	}
	return EntryLoss
}

// trainable is an entry point of a loss, with memory for the gradients.
func (m *Instance) trainable(name string) (*entry, error) {
	if m.freed {
		return nil, ErrFreed
	}
	if err := m.needFloats("training"); err != nil {
		return nil, err
	}
	e, err := m.entry(name)
	if err != nil {
		return nil, err
	}
	return e, m.needGrads()
}

// clearUnused zeroes the gradients of the parameters that the loss does not use.
func (m *Instance) clearUnused(e *entry) {
	for _, p := range e.unused {
		clear(p.Grad)
		p.grad.written()
	}
}

func (m *Instance) valueAndGrad(name string, feeds []Feed) (float32, error) {
	e, err := m.trainable(name)
	if err != nil {
		return 0, err
	}
	if e.grad == nil {
		src, _, err := m.gradients(e)
		if err == nil {
			e.grad, err = m.exec.Compile(m.g.Sink(nil, src...))
		}
		if err != nil {
			return 0, err
		}
	}
	if err := m.feed(feeds); err != nil {
		return 0, err
	}
	m.clearUnused(e)
	if err := e.grad.Run(m.bind(e.grad, m.training.gradOf), nil); err != nil {
		return 0, err
	}
	return e.loss.Data[0], nil
}

// needGrads allocates the gradients and the buffers that programs write them to.
func (m *Instance) needGrads() error {
	t := &m.training
	if t.gradOf != nil {
		return nil
	}
	mem, err := newBlock(int64(len(m.flat)))
	if err != nil {
		return err
	}
	t.grads, t.gradOf = mem, map[*uop.UOp]*resident{}
	at := int64(0)
	for _, p := range m.params {
		n := int64(len(p.Data))
		p.Grad = mem.arrays[0][at : at+n : at+n]
		p.grad = newResident(p.Grad)
		at += paddedFloats(n)
	}
	return nil
}

// needMoments allocates the scalars and the moments; SGD has none.
func (m *Instance) needMoments() error {
	t := &m.training
	if t.memory != nil {
		return nil
	}
	size := int64(len(m.flat))
	if t.opt.Kind == SGD {
		size = 0
	}
	var err error
	if t.memory, err = newBlock(size, size, numScalars); err != nil || size == 0 {
		return err
	}
	at := int64(0)
	for _, p := range m.params {
		n := int64(len(p.Data))
		for i := range t.moments {
			t.moments[i] = append(t.moments[i], newResident(t.memory.arrays[i][at:at+n:at+n]))
		}
		at += paddedFloats(n)
	}
	return nil
}

// gradients are the STOREs of the loss of an entry point and of its gradients, and the gradients of the parameters that it uses.
func (m *Instance) gradients(e *entry) (stores []*uop.UOp, of map[*Buffer]*uop.UOp, err error) {
	loss, buffer, err := m.lossOf(e)
	if err != nil {
		return nil, nil, err
	}
	var used, unused []*Buffer
	var nodes []*uop.UOp
	for _, p := range m.params {
		if p.node != nil && loss.DependsOn(p.node) {
			used, nodes = append(used, p), append(nodes, p.node)
		} else {
			unused = append(unused, p)
		}
	}
	grads, err := gradient.Of(loss, nodes, nil)
	if err != nil {
		return nil, nil, err
	}
	stores, of = []*uop.UOp{buffer.node.Store(loss)}, map[*Buffer]*uop.UOp{}
	for i, p := range used {
		stores = append(stores, m.buffer(m.training.gradOf, p.grad).Store(grads[i]))
		of[p] = grads[i]
	}
	e.loss, e.unused = buffer, unused
	return stores, of, nil
}

// lossOf finds the STORE of an entry point's loss: to the buffer of that name, or the only STORE.
func (m *Instance) lossOf(e *entry) (loss *uop.UOp, buffer *Buffer, err error) {
	for _, s := range e.sink.Src {
		to := s.Src[0].Base()
		for _, b := range m.buffers {
			if s.Op == uop.Store && b.node == to && (b.Name == EntryLoss || len(e.sink.Src) == 1) {
				loss, buffer = s.Src[1], b
			}
		}
	}
	switch {
	case loss == nil:
		return nil, nil, fmt.Errorf("entry %q: stores no loss", e.name)
	case loss.Shape().MaxNumel() != 1 || len(buffer.Data) != 1:
		return nil, nil, fmt.Errorf("entry %q: the loss has shape %s, expected one element", e.name, loss.Shape())
	}
	return loss, buffer, nil
}

// The scalars that an update reads, by their index.
const (
	scalarLR = iota
	scalarBeta1
	scalarRest1 // 1 - beta1
	scalarBeta2
	scalarRest2
	scalarEps
	scalarC1 // 1 / (1 - beta1^t)
	scalarC2
	scalarDecay // 1 - lr*weight_decay
	numScalars
)

// scalars writes the settings of step t.
func (t *training) scalars() {
	o := t.opt
	correct := func(beta float32) float32 { return float32(1 / (1 - math.Pow(float64(beta), float64(t.t)))) }
	copy(t.memory.arrays[2], []float32{
		o.LR, o.Beta1, 1 - o.Beta1, o.Beta2, 1 - o.Beta2, o.Eps, correct(o.Beta1), correct(o.Beta2), 1 - o.LR*o.WeightDecay,
	})
}

// buffer makes a BUFFER and records its memory in a map.
func (m *Instance) buffer(in map[*uop.UOp]*resident, r *resident) *uop.UOp {
	b := m.g.NewBuffer(tensor.DeviceName, int64(len(r.data)), uop.Float32)
	in[b] = r
	return b
}

// onHost is host memory that programs read and write in place; a device with memory of its own copies it for each run.
func onHost(data []float32) *resident { return &resident{data: data, shared: true} }

// update are the ASSIGNs of the optimizer to parameters and their moments, with their gradients and the scalars.
func (o *Optimizer) update(p, g, scalars *uop.UOp, moment func(i int) *uop.UOp) (writes []*uop.UOp) {
	scalar := func(i int64) *uop.UOp {
		return scalars.Shrink([]uop.Pair{{Lo: uop.N(i), Hi: uop.N(i + 1)}}).Expand(p.Shape())
	}
	lr := scalar(scalarLR)
	change := lr.Mul(g)
	if o.Kind != SGD {
		m1, v := moment(0), moment(1)
		m1 = m1.AssignTo(scalar(scalarBeta1).Mul(m1).Add(scalar(scalarRest1).Mul(g)))
		v = v.AssignTo(scalar(scalarBeta2).Mul(v).Add(scalar(scalarRest2).Mul(g.Mul(g))))
		writes = append(writes, m1, v)
		root := v.Mul(scalar(scalarC2)).Sqrt().Add(scalar(scalarEps))
		change = lr.Mul(m1.Mul(scalar(scalarC1))).Mul(root.Recip())
	}
	from := p
	if o.Kind == AdamW {
		from = p.Mul(scalar(scalarDecay))
	}
	return append(writes, p.AssignTo(from.Sub(change)))
}

// compileUpdate makes the program that updates all parameters at once: they are adjacent in memory.
func (m *Instance) compileUpdate() error {
	if err := m.needGrads(); err != nil {
		return err
	}
	if err := m.needMoments(); err != nil {
		return err
	}
	t := &m.training
	t.nodes = map[*uop.UOp]*resident{}
	of := func(data []float32) *uop.UOp { return m.buffer(t.nodes, onHost(data)) }
	arrays := t.memory.arrays
	writes := t.opt.update(of(m.flat), of(t.grads.arrays[0]), of(arrays[2]), func(i int) *uop.UOp { return of(arrays[i]) })
	s, err := m.exec.Compile(m.g.Sink(nil, writes...))
	if err != nil {
		return err
	}
	t.step = s
	return nil
}

// compileTrain makes the program of trainOnDevice.
func (m *Instance) compileTrain(e *entry) error {
	if err := m.needMoments(); err != nil {
		return err
	}
	src, grads, err := m.gradients(e)
	if err != nil {
		return err
	}
	e.updated = map[*uop.UOp]*resident{}
	scalars := m.buffer(e.updated, onHost(m.training.memory.arrays[2]))
	for k, p := range m.params {
		node, g := p.node, grads[p]
		if node == nil {
			node = m.buffer(e.updated, p.data)
		}
		if g == nil {
			g = node.IntLike(0)
		}
		src = append(src, m.training.opt.update(node, g, scalars, func(i int) *uop.UOp {
			return m.buffer(e.updated, m.training.moments[i][k])
		})...)
	}
	e.train, err = m.exec.Compile(m.g.Sink(nil, src...))
	return err
}
