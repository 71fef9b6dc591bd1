// Package settings has the environment variables of the library in one table: what they may be, and what they are.
package settings

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Variable is an environment variable.
type Variable struct {
	Name   string
	Values Values
	// Default is what it is when it is unset, empty or has none of the values.
	Default string
	Meaning string
}

// Values are what a variable may be; String says so in errors.
type Values interface {
	Has(text string) bool
	String() string
}

// OneOf are a few words.
type OneOf []string

// Has reports whether text is one of the words.
func (o OneOf) Has(text string) bool { return slices.Contains(o, text) }

func (o OneOf) String() string { return "one of " + strings.Join(o, ", ") }

// Between are the whole numbers from Min to Max.
type Between struct{ Min, Max int }

// Has reports whether text is one of the numbers.
func (b Between) Has(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && b.Min <= n && n <= b.Max
}

func (b Between) String() string { return fmt.Sprintf("%d to %d", b.Min, b.Max) }

// Text is any text; its value says what it stands for.
type Text string

// Has reports true: who uses the text finds out whether it is good.
func (Text) Has(string) bool { return true }

func (t Text) String() string { return string(t) }

// Percent is a whole number, or "off".
type Percent struct{}

// Has reports whether text is a percentage or off.
func (Percent) Has(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return text == "off" || err == nil && n >= 0
}

func (Percent) String() string { return "a percentage or off" }

var toggle = OneOf{"0", "1"}

// The variables.
var (
	Device  = Variable{"POLY_DEVICE", devices, devices[0], "what runs kernels"}
	CPU     = Variable{"POLY_CPU", OneOf{"avx512", "avx2", "sse4", "wasm"}, "", "the most of the processor that is used"}
	Threads = Variable{"POLY_THREADS", Between{1, 256}, "", "how many threads share a kernel"}
	F32     = Variable{"POLY_F32", OneOf{"exact", "bf16x3"}, "exact", "how matrices of float32 are multiplied"}
	Fuse    = Variable{"POLY_FUSE", toggle, "1", "kernels are merged"}
	Beam    = Variable{"POLY_BEAM", Between{0, 64}, "0", "how many choices a search for the fastest kernel goes on from"}
	CacheMB = Variable{"POLY_CACHE_MB", Between{1, 1 << 20}, "1024", "how many MiB caches keep"}
	Cache   = Variable{"POLY_CACHE_DIR", Text("a directory"), "", "where such searches keep what they found"}
	Check   = Variable{"POLY_CHECK", toggle, "0", "invariants are checked between passes"}
	WebGPU  = Variable{"POLY_WEBGPU", Text("a path"), "", "the library through which the device webgpu reaches the GPU"}
	Dump    = Variable{"POLY_DUMP", Text("what to print"), "", "the pass or code that is printed"}
	Perf    = Variable{"POLY_PERF", toggle, "0", "the profiler perf is told the names of kernels"}
	GOGC    = Variable{"GOGC", Percent{}, "400", "how far Go's heap grows between collections"}
)

// Table has all variables.
var Table = []*Variable{&Device, &CPU, &Threads, &F32, &Fuse, &Beam, &CacheMB, &Cache, &Check, &WebGPU, &Dump, &Perf, &GOGC}

// Copy gives each variable the value that lookup has for its name, "" where it is not set.
func Copy(lookup func(name string) string) {
	for _, v := range Table {
		if value := lookup(v.Name); value != os.Getenv(v.Name) {
			_ = os.Setenv(v.Name, value) // fails for names and values that C strings cannot be
		}
	}
}

// IsSet reports whether the variable has a value.
func (v *Variable) IsSet() bool { return os.Getenv(v.Name) != "" }

// Get returns the value or the default.
func (v *Variable) Get() string {
	if s := os.Getenv(v.Name); s != "" && v.Values.Has(s) {
		return s
	}
	return v.Default
}

// On reports whether a variable that is 0 or 1 is 1.
func (v *Variable) On() bool { return v.Get() == "1" }

// Number returns the value of a variable that is a number, 0 if it has neither a value nor a default.
func (v *Variable) Number() int {
	n, _ := strconv.Atoi(v.Get())
	return n
}

// CacheBytes is a part of the bytes that caches keep: compiled programs have a quarter, idle memory of temporaries a half, freed memory
// of tensors a quarter, and on a GPU all its idle memory a quarter.
func CacheBytes(quarters int) int64 { return int64(CacheMB.Number()) << 20 / 4 * int64(quarters) }

// Dumps reports whether POLY_DUMP asks for the graph around a pass: by its name, or by "all".
func Dumps(pass string) bool {
	d := Dump.Get()
	return d == "all" || d != "" && d == pass
}

// Validate returns an error that names the first variable with a value that it cannot have. POLY_DUMP may be one of
// dumps, which the packages that print know.
func Validate(dumps ...string) error {
	for _, v := range Table {
		values := v.Values
		if v == &Dump {
			values = OneOf(dumps)
		}
		if s := os.Getenv(v.Name); s != "" && !values.Has(s) {
			return fmt.Errorf("%s: got %q, expected %s", v.Name, s, values)
		}
	}
	return nil
}
