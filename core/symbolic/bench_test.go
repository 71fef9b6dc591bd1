//go:build linux

package symbolic

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// BenchmarkRewrite simplifies all kernels of the reference data, as they come from the scheduler.
// It counts the time of its own thread: what one core does in a second.
func BenchmarkRewrite(b *testing.B) {
	var kernels [][]dump.Node
	root := "../../tests/parity/testdata/passes/opt"
	names, err := dump.Names(root)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		stages, err := dump.ReadPasses(filepath.Join(root, name+".json.gz"))
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range stages {
			for i, p := range s.Passes {
				if p.Name == "initial symbolic" && i > 0 && s.Passes[i-1].Nodes != nil {
					kernels = append(kernels, s.Passes[i-1].Nodes)
				}
			}
		}
	}
	runtime.LockOSThread()
	var spent time.Duration
	roots := make([]*uop.UOp, len(kernels))
	visits := int64(0)
	for b.Loop() {
		b.StopTimer()
		for i, k := range kernels {
			if roots[i], err = dump.Root(NewGraph(), k); err != nil {
				b.Fatal(err)
			}
		}
		before, start := rewrite.Visits(), threadTime(b)
		b.StartTimer()
		for _, r := range roots {
			rewrite.Graph(r, Sym, nil)
		}
		visits += rewrite.Visits() - before
		spent += threadTime(b) - start
	}
	b.ReportMetric(float64(visits)/spent.Seconds(), "visits/s")
	b.ReportMetric(float64(visits)/float64(b.N), "visits/op")
	b.ReportMetric(0, "ns/op")
}

func threadTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(1, &r); err != nil { // RUSAGE_THREAD
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
