// Command parity compares what this compiler makes of the reference cases with what tinygrad made of them.
package main

import (
	"flag"
	"fmt"
	"os"

	"polygrad/tests/parity"
)

func main() {
	var o parity.Options
	var stage string
	flag.StringVar(&o.Data, "data", "tests/parity/testdata", "folder of the reference data")
	flag.StringVar(&o.Sets, "set", "golden,cases,opt", "sets to run")
	flag.StringVar(&o.Match, "case", "*", "names of cases to run, with wildcards")
	flag.StringVar(&stage, "stage", string(parity.Whole), "lower: start from the reference's kernels; sched: stop before lowering; graph: stop before running; vals: run everything")
	flag.BoolVar(&o.Force, "force", false, "run each pass of the lowering alone, on the reference graph before it")
	flag.BoolVar(&o.Verbose, "v", false, "print the graphs around the first pass that differs")
	flag.Parse()
	o.Stage = parity.Stage(stage)
	if o.Stage.Levels() == nil {
		fmt.Fprintf(os.Stderr, "parity: unknown stage %q, expected lower, sched, graph or vals\n", stage)
		os.Exit(2)
	}
	equal, err := parity.Run(os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(2)
	}
	if !equal {
		os.Exit(1)
	}
}
