package bench

import (
	"testing"

	"polygrad/core/lower"
	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// BenchmarkRewrite schedules and lowers all kernels of each workload and reports how many
// times a second a node is given to a table.
func BenchmarkRewrite(b *testing.B) {
	for _, w := range Workloads {
		b.Run(w.Name, func(b *testing.B) {
			g := NewGraph()
			sink := g.Graph.Sink(nil, w.Build(g)...)
			target := lower.Wasm()
			target.Threads = 2
			before := rewrite.Visits()
			for b.Loop() {
				root, _, _, err := schedule.Normalize(uop.NewScratch(), sink)
				if err != nil {
					b.Fatal(err)
				}
				s, err := schedule.New(root)
				if err != nil {
					b.Fatal(err)
				}
				kernels, done := uop.NewScratch(), map[*uop.UOp]bool{}
				for _, k := range s.Kernels {
					ast := kernels.Import(k.AST)
					if done[ast] {
						continue
					}
					done[ast] = true
					if _, err := lower.Lower(ast, target); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(done)), "kernels")
			}
			visits := float64(rewrite.Visits() - before)
			b.ReportMetric(visits/float64(b.N), "visits")
			b.ReportMetric(visits/b.Elapsed().Seconds(), "visits/s")
		})
	}
}
