package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// ThreadVar is the name of the variable that tells a thread of a kernel which part of the work is its own.
const ThreadVar = "core_id"

// addThreads replaces the range that is spread over threads by the variable core_id. Each thread runs the whole
// kernel with another value of it.
var addThreads = rewrite.New("threads", &rewrite.Rule{
	Name: "THREAD range to core_id", Ops: uop.Ops(uop.Sink),
	Fn: func(_ any, s *uop.UOp) *uop.UOp {
		if s.Arg == nil {
			return nil
		}
		var threads []*uop.UOp
		for _, x := range s.Toposort() {
			if x.Op != uop.Range {
				continue
			}
			switch x.RangeID().Type {
			case uop.AxisGlobal, uop.AxisThread:
				threads = append(threads, x)
			case uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce:
				fail("%s: the target has threads, but no groups of threads", x)
			}
		}
		if len(threads) == 0 {
			return nil
		}
		if slices.ContainsFunc(threads, func(r *uop.UOp) bool { return !slices.Equal(r.RangeID().ID, threads[0].RangeID().ID) }) {
			fail("%d ranges are to be spread over threads, expected one", len(threads))
		}
		size := symbolic.Simplify(threads[0].Src[0])
		n, ok := intConst(size)
		if !ok {
			fail("the number of threads is %s, expected a constant", size.Render())
		}
		core := s.Graph().Variable(ThreadVar, uop.Int(0), uop.Int(n-1), uop.Int32).Cast(uop.IndexT)
		subs := rewrite.Map{}
		for _, r := range threads {
			subs[r] = core
		}
		return rewrite.Substitute(s, subs)
	},
})
