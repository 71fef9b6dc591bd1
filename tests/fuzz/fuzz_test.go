package fuzz

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/element"
	"polygrad/tests/levels"
	"polygrad/tests/part"
)

var (
	first = flag.Uint64("first", 0, "first random program")
	seeds = flag.Uint64("seeds", 100, "number of random programs; native code alone is tried with five times as many")
	most  = flag.Int("failures", 20, "number of failures after which a test ends")
	names = flag.String("devices", "", "devices that are compared with the interpreter; native/avx2 is native code for that kind of processor")
)

// days is on how many days all programs are tried, a part on each.
var days = 3

// TestMain leaves three of four programs out with -short. A number of programs that is asked for has no parts.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "first" || f.Name == "seeds" {
			days = 1
		}
	})
	if testing.Short() {
		*seeds /= 4
		days = 1
	}
	os.Exit(m.Run())
}

// ofToday gives the seeds of the day's part of so many programs, in batches.
func ofToday(t *testing.T, programs, batch uint64) iter.Seq2[uint64, uint64] {
	var parts []uint64
	for k := range uint64(days) {
		parts = append(parts, k)
	}
	parts = part.Of(t, parts, days, 0)
	return func(yield func(from, to uint64) bool) {
		for _, k := range parts {
			from, end := *first+programs*k/uint64(days), *first+programs*(k+1)/uint64(days)
			for ; from < end; from += batch {
				if !yield(from, min(from+batch, end)) {
					return
				}
			}
		}
	}
}

// devices opens the interpreter, which is the reference, and the other devices of this machine.
func devices(t testing.TB, list string) []*run.Executor {
	out := []*run.Executor{run.New(interp.New())}
	if *names != "" {
		list = *names
	}
	for _, name := range strings.Split(list, ",") {
		name, level, leveled := strings.Cut(name, "/")
		if _, err := exec.LookPath("clang"); name == "clang" && err != nil {
			continue
		}
		if leveled {
			t.Setenv("POLY_CPU", level)
		}
		e, err := run.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if e.Device().Name() == name {
			out = append(out, e)
		}
	}
	return out
}

// maker makes the program of a seed.
type maker func(g *uop.Graph, seed uint64) (*Program, error)

// check compares the devices on the programs of some seeds, which are one request, and says of each seed alone what is
// wrong with it if that shows then.
func check(devs []*run.Executor, program maker, from, to uint64) (errs []error) {
	err := compare(devs, program, from, to)
	if err == nil || to == from+1 {
		return slices.DeleteFunc([]error{err}, func(e error) bool { return e == nil })
	}
	for seed := from; seed < to; seed++ {
		if err := compare(devs, program, seed, seed+1); err != nil {
			errs = append(errs, err)
		}
	}
	if errs == nil {
		errs = []error{fmt.Errorf("only together: %w", err)}
	}
	return errs
}

// compare runs the programs of some seeds as one request on every device and compares each with the first.
func compare(devs []*run.Executor, program maker, from, to uint64) error {
	var want []*Program
	defer func() { free(want) }()
	for _, e := range devs {
		got, err := runOn(e, program, from, to)
		if err != nil {
			free(got)
			return fmt.Errorf("seeds %d to %d on %s: %w", from, to-1, e.Device().Name(), err)
		}
		if want == nil {
			want = got
			continue
		}
		err = differences(want, got)
		free(got)
		if err != nil {
			return fmt.Errorf("%s, %w", e.Device().Name(), err)
		}
	}
	return nil
}

// runOn runs the programs of some seeds on a device.
func runOn(e *run.Executor, program maker, from, to uint64) (programs []*Program, err error) {
	g := symbolic.NewGraph()
	var stores []*uop.UOp
	var binds []run.Binding
	for seed := from; seed < to; seed++ {
		p, err := program(g, seed)
		if err != nil {
			return programs, err
		}
		programs, stores = append(programs, p), append(stores, p.Stores...)
		for _, list := range [][]Memory{p.Inputs, p.Outputs} {
			for j := range list {
				binds = append(binds, list[j].Bind())
			}
		}
	}
	if err := e.Realize(g.Sink(nil, stores...), binds, nil); err != nil {
		return programs, err
	}
	for _, p := range programs {
		if err := p.Check(); err != nil {
			return programs, fmt.Errorf("seed %d: %w", p.Seed, err)
		}
	}
	return programs, nil
}

func free(programs []*Program) {
	for _, p := range programs {
		p.Free()
	}
}

// differences tells the first output that is not as wanted.
func differences(want, got []*Program) error {
	for i, p := range got {
		for j, o := range p.Outputs {
			if err := same(want[i].Outputs[j], o, p.Loose[j]); err != nil {
				return fmt.Errorf("seed %d: output %d (%s %s): %w", p.Seed, j, o.Buffer.DType, p.Stores[j].Src[1].Shape(), err)
			}
		}
	}
	return nil
}

// precision is how far apart rounded numbers of a narrow type may be.
var precision = map[*uop.DType]float64{uop.Float16: 1.0 / 512, uop.BFloat16: 1.0 / 64}

func same(want, got Memory, loose bool) error {
	dt, tol := got.Buffer.DType, 0.0
	if loose {
		tol = max(1e-4, precision[dt])
	}
	for i := range int64(got.Buffer.Arg.(uop.Num)) {
		a, b := element.Get(want.Data(), i, dt), element.Get(got.Data(), i, dt)
		if !a.Same(b) && !(dt.IsFloat() && element.Close(a.F(), b.F(), tol)) {
			return fmt.Errorf("element %d is %s, expected %s", i, b, a)
		}
	}
	return nil
}

// batch is the number of programs that are compiled together.
const batch = 25

// checkAll compares the devices on all programs that are asked for. In three of four batches the invariants between passes are checked; in
// the fourth kernels whose plan fails are emitted without vectors, as users have them.
func checkAll(t *testing.T, devs []*run.Executor, program maker, programs uint64) {
	t.Helper()
	given := settings.Check.IsSet()
	failed := 0
	for from, to := range ofToday(t, programs, batch) {
		if !given {
			t.Setenv(settings.Check.Name, []string{"1", "1", "0", "1"}[from/batch%4])
		}
		for _, err := range check(devs, program, from, to) {
			t.Error(err)
			failed++
		}
		if failed >= *most {
			t.Fatal("too many failures")
		}
	}
}

// bounded is a device whose kernels compare every address with the bounds of its buffer.
type bounded struct{ *wasm.Device }

func (bounded) Name() string { return "wasm with bounds checks" }

func newBounded(t *testing.T) bounded {
	defer t.Setenv(settings.Check.Name, os.Getenv(settings.Check.Name))
	t.Setenv(settings.Check.Name, "1")
	return bounded{wasm.New()}
}

const everyDevice = "wasm,native,clang"

// TestFuzzDevicesAgree compares the devices other than native with the interpreter.
func TestFuzzDevicesAgree(t *testing.T) {
	list := "wasm,clang"
	if testing.Short() {
		list = "wasm" // clang takes long to compile
	}
	devs := devices(t, list)
	if *names == "" {
		devs = append(devs, run.New(newBounded(t)))
	}
	checkAll(t, devs, Generate, *seeds)
}

// TestFuzzNative compares native code for each kind of processor with the interpreter on many more programs.
func TestFuzzNative(t *testing.T) {
	devs := []*run.Executor{run.New(interp.New())}
	for _, d := range levels.Native(t) {
		devs = append(devs, run.New(d))
	}
	if len(devs) == 1 {
		t.Skip("no native code here")
	}
	checkAll(t, devs, Generate, 5**seeds)
}

func FuzzDevicesAgree(f *testing.F) {
	devs := devices(f, everyDevice)
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, err := range check(devs, Generate, seed, seed+1) {
			t.Error(err)
		}
	})
}
