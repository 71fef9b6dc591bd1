//go:build linux && amd64 && cgo

package code

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// faults are kernels that do not end well: of one buffer and one variable, which segv reads at.
var faults = map[string]struct {
	code   []byte
	at     string // the offset of the instruction
	signal syscall.Signal
}{
	"segv": {[]byte{0x48, 0x8b, 0x47, 0x08, 0x8b, 0x00, 0xc3}, "+0x4, which accesses address 0x10;", syscall.SIGSEGV},
	"high": {[]byte{0x48, 0x8b, 0x47, 0x08, 0x8b, 0x00, 0xc3}, "+0x4, which accesses address 0x123456789000;", syscall.SIGSEGV},
	"ill":  {[]byte{0x90, 0x0f, 0x0b}, "+0x1; code: 0f 0b", syscall.SIGILL},
	"fpe":  {[]byte{0x31, 0xc9, 0xb8, 0x01, 0x00, 0x00, 0x00, 0x99, 0xf7, 0xf9, 0xc3}, "+0x8; code: f7 f9 c3", syscall.SIGFPE},
}

// fault is the child process: it runs a kernel in a way. The first word of CHILD is the kernel, the second where it
// runs, and the third what else.
func fault(what string) {
	var name, where, more string
	_, _ = fmt.Sscan(what, &name, &where, &more)
	if err := Open(); err != nil {
		panic(err)
	}
	threads = 2
	f := faults[name]
	s := Spec{Name: name + "_kernel", Text: f.code, Buffers: 1, Vars: 1, Items: 1}
	if where != "goroutine" {
		s.Flops = 1e9
	}
	if where == "pool" {
		s.Items = 2
	}
	ks, err := Load([]Spec{s})
	if err != nil {
		panic(err)
	}
	v := int64(0x10)
	if name == "high" {
		v = 0x123456789000
	}
	var x int64
	if more == "recovered" {
		defer func() { println("recovered:", fmt.Sprint(recover())) }()
	}
	_ = ks[0].Run([]unsafe.Pointer{unsafe.Pointer(&x)}, []int64{v})
	println("the kernel came back")
}

// TestFaultsNameTheKernel runs kernels that fault in child processes, in all the places where kernels run.
func TestFaultsNameTheKernel(t *testing.T) {
	for name, f := range faults {
		for _, where := range []string{"goroutine", "cgo", "pool"} {
			t.Run(name+" "+where, func(t *testing.T) {
				out, ended := child(t, name+" "+where+" plain")
				want := fmt.Sprintf("polygrad: %s in kernel %s_kernel at its instruction %s", signalName(f.signal), name, f.at)
				if !strings.Contains(out, want) {
					t.Errorf("expected %q in the output of the child:\n%s", want, out)
				}
				if ended || strings.Contains(out, "came back") {
					t.Errorf("the child survived:\n%s", out)
				}
			})
		}
	}
}

// TestGoGoesOn shows that the handler before ours, Go's, does what it does with faults in Go: those at low addresses
// become panics on the goroutine.
func TestGoGoesOn(t *testing.T) {
	out, ended := child(t, "segv goroutine recovered")
	if !ended || !strings.Contains(out, "in kernel segv_kernel") || !strings.Contains(out, "recovered: runtime error: invalid memory address") {
		t.Errorf("the child did not recover (ended %v):\n%s", ended, out)
	}
}

// TestOtherFaultsAreNotOurs has Go fault by itself, and be sent a signal.
func TestOtherFaultsAreNotOurs(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer was dereferenced")
		}
	}()
	sent := make(chan os.Signal, 1)
	signal.Notify(sent, syscall.SIGFPE)
	if err := syscall.Kill(os.Getpid(), syscall.SIGFPE); err != nil {
		t.Fatal(err)
	}
	<-sent
	signal.Stop(sent)
	var nobody *Kernel
	t.Log(nobody.Name)
}

func signalName(s syscall.Signal) string {
	return map[syscall.Signal]string{syscall.SIGSEGV: "SIGSEGV", syscall.SIGILL: "SIGILL", syscall.SIGFPE: "SIGFPE"}[s]
}

// child runs this test again with CHILD set: what it wrote, and whether it ended by itself.
func child(t *testing.T, what string) (out string, ended bool) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "CHILD="+what)
	b, err := c.CombinedOutput()
	return string(b), err == nil
}
