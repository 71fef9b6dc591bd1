//go:build linux

package bench

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"polygrad/core/lower"
	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// BenchmarkRewrite schedules and lowers all kernels of each workload and reports how many
// times a second a node is given to a table.
func BenchmarkRewrite(b *testing.B) {
	for _, w := range Workloads {
		b.Run(w.Name, func(b *testing.B) {
			g := NewGraph()
			sink := g.Graph.Sink(nil, w.Build(g)...)
			target := lower.Clang()
			target.Threads = 2
			before := rewrite.Visits()
			for b.Loop() {
				root, _, _, err := schedule.Normalize(sink.Graph().Scratch(), sink)
				if err != nil {
					b.Fatal(err)
				}
				s, err := schedule.New(root)
				if err != nil {
					b.Fatal(err)
				}
				kernels, done := symbolic.NewGraph(), map[*uop.UOp]bool{}
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

// BenchmarkNodes builds chains of additions and reports how many nodes are made in a second of the
// thread's processor time.
func BenchmarkNodes(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadSeconds(b)
	const length = 100_000
	for b.Loop() {
		g := symbolic.NewGraph()
		x := g.Const(uop.Float32, uop.Float(1))
		y := x
		var src [2]*uop.UOp
		for range length {
			src[0], src[1] = y, x
			y = g.NewCopy(uop.Add, uop.Float32, src[:], nil, nil)
		}
	}
	b.ReportMetric(float64(length)*float64(b.N)/(threadSeconds(b)-start), "nodes/s")
}

// threadSeconds is the processor time that the current thread has used.
func threadSeconds(b *testing.B) float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return float64(t.Sec) + float64(t.Nsec)*1e-9
}
