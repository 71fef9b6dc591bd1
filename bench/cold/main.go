// Command cold times the compiler from Go, without any binding: a request that was
// never seen before, and the same one again. It prints microseconds, medians of the
// given number of repetitions.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"polygrad/bench"
	"polygrad/core/rewrite"
	"polygrad/exec"
)

func main() {
	reps := flag.Int("reps", 15, "repetitions")
	dev := flag.String("device", "", "device; that of POLY_DEVICE or the default if empty")
	only := flag.String("only", "", "run one workload")
	profile := flag.String("cpuprofile", "", "write a CPU profile")
	rules := flag.Int("rules", 0, "count what rules do and list so many of them, the most expensive first; slows the rest down")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	e, err := exec.Open(*dev)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	rewrite.CollectStats(*rules > 0)
	for _, w := range bench.Workloads {
		if *only == "" || *only == w.Name {
			measure(e, w, *reps)
		}
	}
	listRules(*rules)
}

// listRules prints the n rules that took the most time.
func listRules(n int) {
	stats := rewrite.Stats()
	slices.SortFunc(stats, func(a, b rewrite.RuleStats) int { return cmp.Compare(b.Time, a.Time) })
	for _, s := range stats[:min(n, len(stats))] {
		fmt.Printf("%10s %8d of %8d  %s\n", s.Time.Round(time.Microsecond), s.Hits, s.Tries, s.Rule.Name)
	}
}

func measure(e *exec.Executor, w bench.Workload, reps int) {
	var cold, again, run []float64
	kernels := 0
	since := func(t time.Time) float64 { return float64(time.Since(t).Nanoseconds()) / 1000 }
	visits := rewrite.Visits()
	for range reps {
		e.Flush()
		g := bench.NewGraph()
		t := time.Now()
		sink := g.Sink(w.Build(g))
		step, err := e.Compile(sink)
		if err != nil {
			panic(err)
		}
		cold = append(cold, since(t))
		kernels = step.Kernels()
		if err := step.Run(g.Binds, nil); err != nil {
			panic(err)
		}
		t = time.Now()
		if step, err = e.Compile(sink); err != nil {
			panic(err)
		}
		again = append(again, since(t))
		t = time.Now()
		if err := step.Run(g.Binds, nil); err != nil {
			panic(err)
		}
		run = append(run, since(t))
	}
	visits = (rewrite.Visits() - visits) / int64(reps)
	fmt.Printf("%-8s %3d kernels  cold %9.1f us  again %7.1f us  run %9.1f us  %d visits, %.2f M/s\n", w.Name, kernels,
		median(cold), median(again), median(run), visits, float64(visits)/median(cold))
}

func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
