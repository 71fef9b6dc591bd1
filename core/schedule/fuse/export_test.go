package fuse

import "polygrad/core/uop"

// For tests of the steps before there are kernels, and of single decisions.
var (
	StorePads = storePads
	SinkTurns = sinkPermutes
	Ordered   = rowMajorBase
)

const (
	MaxEpilogueStores = maxEpilogueStores
	MinScatterRows    = minScatterRows
	PadReuse          = padReuse
	MinContiguousRun  = minContiguousRun
	FewElements       = fewElements
	LongestShortRow   = longestShortRow
)

func (o Options) Judge(c Costs) Reason { return o.judge(&c) }
func (o Options) BlockRows(rows, rowBytes, innermost int64) (int64, Reason) {
	return o.blockRows(rows, rowBytes, innermost)
}

// Changes runs all passes on a request and says which of them changed something.
func Changes(root *uop.UOp, o Options) (map[string]bool, error) {
	changes := map[string]bool{}
	f := &fuser{root: root, o: o}
	for i := range Passes {
		changed, err := Passes[i].Do(f)
		if err != nil {
			return nil, err
		}
		changes[Passes[i].Name] = changed
	}
	return changes, nil
}

// State is what passes work on.
type State = *fuser
