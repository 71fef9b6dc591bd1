package exec

import (
	"fmt"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// schedule cuts a request into kernels for the device.
func (e *Executor) schedule(root *uop.UOp) (*schedule.Schedule, error) { return cut(root, e.fusion) }

// cut cuts a request into kernels, which are merged if fusion is not nil.
func cut(root *uop.UOp, fusion *fuse.Options) (*schedule.Schedule, error) {
	if fusion == nil {
		return schedule.OfRequest(root)
	}
	return fuse.New(root, *fusion)
}

// fusionOf is how a device wants kernels merged, nil for not at all: that is also what POLY_FUSE=0 asks for.
func fusionOf(d device.Device) *fuse.Options {
	f, ok := d.(device.Fuser)
	if !ok || !settings.Fuse.On() {
		return nil
	}
	o := f.Fusion()
	return &o
}

// Schedule cuts a request (see Realize) into kernels, without compiling them: their SINKs in the order in which
// they run, in a graph of their own. A request that only copies buffers has none.
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

// portable cuts a request into kernels without a device. buffers are those that it works on.
func portable(fn string, sink *uop.UOp, fusion *fuse.Options) (sched *schedule.Schedule, buffers []*uop.UOp, err error) {
	if sink == nil || sink.Op != uop.Sink {
		return nil, nil, fmt.Errorf("exec.%s: sink: got %v, expected a SINK of STOREs and ASSIGNs", fn, sink)
	}
	root, buffers, _, err := schedule.Normalize(symbolic.NewScratch(), sink)
	if err != nil {
		return nil, nil, err
	}
	sched, err = cut(root, fusion)
	return sched, buffers, err
}
