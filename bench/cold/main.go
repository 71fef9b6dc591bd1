//go:build linux

// Command cold times the compiler from Go, without any binding: a request that was
// never seen before, and the same one again. It prints microseconds, medians of the
// given number of repetitions; cpu is the time of all processors that a cold request takes, and least the
// shortest of those, which tell more than the time on the clock where the machine has other work. The heap
// grows as in the library (GOGC=400), unless GOGC says otherwise.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"polygrad/bench"
	"polygrad/core/rewrite"
	"polygrad/exec"
)

func main() {
	reps := flag.Int("reps", 15, "repetitions")
	dev := flag.String("device", "", "device; that of POLY_DEVICE or the default if empty")
	only := flag.String("only", "", "run one workload")
	runs := flag.Bool("runs", true, "run what was compiled; a profile of the compiler alone is made without")
	profile := flag.String("cpuprofile", "", "write a CPU profile")
	rules := flag.Int("rules", 0, "count what rules do and list so many of them, the most expensive first; slows the rest down")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
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
			measure(e, w, *reps, *runs)
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

func measure(e *exec.Executor, w bench.Workload, reps int, runs bool) {
	var cold, cpu, again, run []float64
	kernels := 0
	since := func(t time.Time) float64 { return float64(time.Since(t).Nanoseconds()) / 1000 }
	visits := rewrite.Visits()
	for range reps {
		e.Flush()
		g := bench.NewGraph()
		t, c := time.Now(), processorTime()
		sink := g.Sink(w.Build(g))
		step, err := e.Compile(sink)
		must(err)
		cold = append(cold, since(t))
		cpu = append(cpu, float64((processorTime()-c).Nanoseconds())/1000)
		kernels = step.Kernels()
		var memory []exec.Binding
		if runs {
			memory = g.Memory()
			must(step.Run(memory, nil))
		}
		t = time.Now()
		step, err = e.Compile(sink)
		must(err)
		again = append(again, since(t))
		t = time.Now()
		if runs {
			must(step.Run(memory, nil))
		}
		run = append(run, since(t))
	}
	visits = (rewrite.Visits() - visits) / int64(reps)
	fmt.Printf("%-8s %3d kernels  cold %9.1f us  cpu %9.1f us  least %9.1f us  again %7.1f us  run %9.1f us  %d visits, %.2f M/s\n", w.Name, kernels,
		median(cold), median(cpu), slices.Min(cpu), median(again), median(run), visits, float64(visits)/median(cold))
}

// processorTime is what this process has used on all processors.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
