package exec

import (
	"fmt"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// schedule cuts a request into kernels for the device.
func (e *Executor) schedule(root *uop.UOp) (*schedule.Schedule, error) {
	keeper, ok := e.dev.(shapeKeeper)
	s, err := cut(root, e.dev.Target(), e.fusion, e.pool.limits.Buffers, ok && keeper.KeepsShapes())
	if err != nil {
		return nil, err
	}
	return s, e.check(s)
}

// shapeKeeper is a device whose kernels store values in their shapes, not as one axis.
type shapeKeeper interface{ KeepsShapes() bool }

// cut cuts a request into kernels of at most so many buffers (0 for any number), fused if fusion is not nil, which store values in their shapes if
// shapes is set. Kernels of devices without fusion, and of GPUs, may have several work items: a loop does not become one kernel there, as an
// iteration could not wait for all work items of the one before it.
func cut(root *uop.UOp, target *lower.Target, fusion *fuse.Options, buffers int, shapes bool) (*schedule.Schedule, error) {
	return schedule.Repeated(schedule.Expand(root, fusion.Target()), func(root *uop.UOp) (*schedule.Schedule, error) {
		root = storeMissingTypes(root, target)
		if fusion == nil {
			opts := []schedule.Option{schedule.WithMaxBuffers(buffers)}
			if shapes {
				opts = append(opts, schedule.WithShapes())
			}
			return schedule.OfRequest(root, opts...)
		}
		return fuse.New(root, *fusion)
	}, fusion != nil && !fusion.Invocations)
}

// check is an error if the device cannot run the kernels of a schedule.
func (e *Executor) check(s *schedule.Schedule) error {
	target, most := e.dev.Target(), e.pool.limits.Buffers
	for i, k := range s.Kernels {
		if most > 0 && len(k.Bufs) > most {
			return fmt.Errorf("exec.Compile: kernel %d of %d takes %d buffers, expected at most %d on device %s", i+1, len(s.Kernels), len(k.Bufs), most, e.dev.Name())
		}
		if dt, u := missingType(target, k.AST); dt != nil && !e.pool.limits.HostFallback {
			return fmt.Errorf("exec.Compile: device %s has no %s, which kernel %d of %d needs for %s", e.dev.Name(), dt.NumpyName(), i+1, len(s.Kernels), u.Op)
		}
	}
	return nil
}

// fusionOf are the device's limits of fusion, nil for none: also with POLY_FUSE=0.
func fusionOf(d device.Device) *fuse.Options {
	f, ok := d.(device.Fuser)
	if !ok || !settings.Fuse.On() {
		return nil
	}
	o := f.Fusion()
	if most := d.Limits().Buffers; most > 0 {
		o.MaxBuffers, o.KernelBuffers = min(o.MaxBuffers, most), most
	}
	if t := d.Target(); len(t.Missing) > 0 {
		o.HostTypes = func(dt *uop.DType) bool { return !t.Emulates(dt) }
	}
	return &o
}

// Schedule cuts a request (see Realize) into kernels without compiling them: their SINKs in execution order, in a graph of their
// own. A request of copies has none.
func Schedule(sink *uop.UOp) ([]*uop.UOp, error) {
	sched, _, err := portable("Schedule", sink, nil)
	if err != nil {
		return nil, err
	}
	kernels := make([]*uop.UOp, len(sched.Kernels))
	for i, k := range sched.Kernels {
		kernels[i] = k.AST
	}
	return kernels, nil
}

// portable cuts a request into kernels without a device. buffers are the request's buffers.
func portable(fn string, sink *uop.UOp, fusion *fuse.Options) (sched *schedule.Schedule, buffers []*uop.UOp, err error) {
	if sink == nil || sink.Op != uop.Sink {
		return nil, nil, fmt.Errorf("exec.%s: sink: got %v, expected a SINK of STOREs and ASSIGNs", fn, sink)
	}
	root, buffers, _, err := schedule.NormalizeFor(sink.Graph().Scratch(), sink, fusion.Target())
	if err != nil {
		return nil, nil, err
	}
	sched, err = cut(root, nil, fusion, 0, false)
	return sched, buffers, err
}
