package lower

import (
	"polygrad/core/lower/opt"
	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Pass is one step of lowering, a function from kernel to equivalent kernel.
type Pass struct {
	// Name is tinygrad's name of the pass.
	Name string
	// Required passes run for every kernel, others only for targets with Optimize.
	Required bool
	// Needed selects the targets of the pass, nil for all.
	Needed func(t *Target) bool
	// Run returns the kernel after the pass.
	Run func(sink *uop.UOp, t *Target) *uop.UOp
	// Check is the invariant after the pass, nil for none.
	Check func(sink *uop.UOp, t *Target) error
}

// table is the Run of a pass that applies rewrite tables, children first.
func table(name string, tables ...*rewrite.Table) func(*uop.UOp, *Target) *uop.UOp {
	t := tables[0]
	if len(tables) > 1 {
		t = rewrite.Concat(name, tables...)
	}
	return func(sink *uop.UOp, target *Target) *uop.UOp { return rewrite.Graph(sink, t, target) }
}

// Passes are the steps of lowering in order, from a SINK of stores under ranges to a graph that can be linearized and rendered.
var Passes = []Pass{
	{Name: "early movement ops", Required: true, Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		return rewrite.GraphTopDown(s, movement, nil)
	}, Check: checkMovement},
	{Name: "functions", Required: true, Needed: (*Target).hasFunctions, Run: table("functions", functions)},
	{Name: "load collapse", Run: table("load collapse", ranges.LoadCollapse)},
	{Name: "split ranges", Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		return rewrite.Graph(s, splitRanges, ranges.Splits{})
	}},
	{Name: "split quotients", Needed: func(t *Target) bool { return t.Plain }, Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		return rewrite.Graph(s, splitQuotients, ranges.Splits{})
	}},
	{Name: "rejoin quotients", Needed: func(t *Target) bool { return t.Plain }, Run: table("rejoin quotients", symbolic.RejoinQuotients)},
	{Name: "initial symbolic", Run: table("initial symbolic", symbolic.Sym, ranges.FlattenRange)},
	{Name: "simplify ranges", Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		return ranges.SeparateReduces(rewrite.Graph(s, simplifyRanges, nil))
	}},
	{Name: "apply_opts", Run: func(s *uop.UOp, t *Target) *uop.UOp {
		r, err := opt.Apply(s, opt.Machine{Threads: t.Threads, Groups: t.Groups, Plain: t.Plain})
		if err != nil {
			fail("%v", err)
		}
		return r
	}},
	{Name: "postopt symbolic", Required: true, Run: table("postopt symbolic", symbolic.Sym, symbolic.MoveWhereOnLoad)},
	{Name: "expander", Required: true, Run: table("expander", symbolic.Sym, preExpander, groupForReduce, expander), Check: checkExpanded},
	{Name: "add local buffers", Required: true, Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		return rewrite.Graph(s, addLocalBuffers, &ranges.Counter{})
	}, Check: checkBuffers},
	{Name: "remove_reduce", Required: true, Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		s = accessInOrder(ranges.SeparateReduces(s))
		return rewrite.Graph(s, removeReduce, newReduceState(s))
	}, Check: checkReduced},
	{Name: "add gpudims", Required: true, Run: table("add gpudims", addLaunch), Check: checkLaunch},
	{Name: "** add loads (code)", Required: true, Run: table("add loads", addLoads), Check: checkLoads},
	{Name: "devectorize", Required: true, Run: func(s *uop.UOp, t *Target) *uop.UOp {
		return rewrite.Graph(s, t.table().devectorize, t)
	}},
	{Name: "lower all index dtypes", Required: true,
		Run: table("lower all index dtypes", symbolic.LowerIndexDType, boolAsIndex, loadStoreIndexing, symbolic.GepPushing)},
	{Name: "post index symbolic", Required: true, Run: table("post index symbolic", symbolic.Symbolic), Check: checkIndexTypes},
	{Name: "decompositions", Required: true, Run: func(s *uop.UOp, t *Target) *uop.UOp {
		return rewrite.Graph(s, t.table().decompose, t)
	}},
	{Name: "decomp floats", Required: true, Needed: (*Target).lacksFloats, Run: emulateFloats},
	{Name: "transcendental", Required: true, Needed: (*Target).lacksFunctions, Run: func(s *uop.UOp, t *Target) *uop.UOp {
		return rewrite.Graph(s, t.table().transcendental, t)
	}},
	{Name: "decomp long -> int", Required: true, Needed: (*Target).lacksLongs,
		Run: func(s *uop.UOp, _ *Target) *uop.UOp { return splitLongs(s) }, Check: checkTypes},
	{Name: "gates of loads in indices", Run: table("gates", gateAddresses)},
	{Name: "final rewrite", Required: true, Run: func(s *uop.UOp, t *Target) *uop.UOp {
		return rewrite.Graph(s, t.table().final, t)
	}, Check: checkFinal},
	{Name: "add control flow", Required: true, Run: func(s *uop.UOp, _ *Target) *uop.UOp {
		s = accessInOrder(s)
		return rewrite.GraphTopDown(s, addControlFlow, newControlFlow(s))
	}, Check: checkFinal},
}

var (
	movement        = &rewrite.Table{Name: "early movement ops", Parts: []*rewrite.Table{ranges.MovementOps, ranges.SyntacticSugar}}
	simplifyRanges  = &rewrite.Table{Name: "simplify ranges", Parts: []*rewrite.Table{ranges.SimplifyRanges}}
	splitRanges     = &rewrite.Table{Name: "split ranges", Parts: []*rewrite.Table{ranges.SplitRanges, ranges.FlattenRange}}
	addLocalBuffers = &rewrite.Table{Name: "add local buffers", Parts: []*rewrite.Table{ranges.AddBuffersLocal, ranges.KernelCleanup}}
	splitQuotients  = &rewrite.Table{Name: "split quotients", Parts: []*rewrite.Table{ranges.SplitQuotients, ranges.FlattenRange}}
	removeReduce    = &rewrite.Table{Name: "remove_reduce", Parts: []*rewrite.Table{reduceRules, symbolic.GepPushing}}
)

// PassNames are the names of all passes.
func PassNames() []string {
	names := make([]string, len(Passes))
	for i, p := range Passes {
		names[i] = p.Name
	}
	return names
}
