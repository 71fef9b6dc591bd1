package exec

import (
	"fmt"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// Schedule cuts a request (see Realize) into kernels, without compiling them: their SINKs in the order in which
// they run, in a graph of their own. A request that only copies buffers has none.
func Schedule(sink *uop.UOp) ([]*uop.UOp, error) {
	if sink == nil || sink.Op != uop.Sink {
		return nil, fmt.Errorf("exec.Schedule: sink: got %v, expected a SINK of STOREs and ASSIGNs", sink)
	}
	root, _, _, err := schedule.Normalize(uop.NewScratch(), sink)
	if err != nil {
		return nil, err
	}
	req, err := split(root)
	if err != nil {
		return nil, err
	}
	sched, err := schedule.New(req.sink)
	if err != nil {
		return nil, err
	}
	kernels := make([]*uop.UOp, len(sched.Kernels))
	for i, k := range sched.Kernels {
		kernels[i] = k.AST
	}
	return kernels, nil
}
