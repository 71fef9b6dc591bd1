//go:build amd64 && linux

package call

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// code makes machine code runnable.
func code(t testing.TB, bytes ...byte) uintptr {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	copy(mem, bytes)
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Skip("no executable memory: ", err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return uintptr(unsafe.Pointer(&mem[0]))
}

func TestArguments(t *testing.T) {
	f := code(t,
		0x48, 0x8b, 0x07, // mov rax, [rdi]
		0x48, 0x03, 0x06, // add rax, [rsi]
		0x48, 0x89, 0x07, // mov [rdi], rax
		0xc3)
	a, b := uint64(40), uint64(2)
	Call(f, uintptr(unsafe.Pointer(&a)), uintptr(unsafe.Pointer(&b)))
	if a != 42 {
		t.Errorf("the code left %d, expected 42", a)
	}
}

// spoiler is code that changes all registers but the stack pointer, [rdi] times.
func spoiler(t testing.TB) uintptr {
	return code(t,
		0x48, 0x8b, 0x0f, // mov rcx, [rdi]
		0x48, 0x31, 0xc0, // xor rax, rax
		0x48, 0xf7, 0xd0, // not rax
		// again:
		0x48, 0x89, 0xc2, 0x48, 0x89, 0xc3, 0x48, 0x89, 0xc5, 0x48, 0x89, 0xc6, 0x48, 0x89, 0xc7, // rdx rbx rbp rsi rdi
		0x49, 0x89, 0xc0, 0x49, 0x89, 0xc1, 0x49, 0x89, 0xc2, 0x49, 0x89, 0xc3, // r8 … r11
		0x49, 0x89, 0xc4, 0x49, 0x89, 0xc5, 0x49, 0x89, 0xc6, 0x49, 0x89, 0xc7, // r12 … r15
		0x66, 0x4c, 0x0f, 0x6e, 0xf8, // movq xmm15, rax
		0x48, 0xff, 0xc9, // dec rcx
		0x75, 0xcf, // jnz again
		0xc3)
}

// TestRegistersAreGos runs code that spoils every register while the collector and timers interrupt it.
func TestRegistersAreGos(t *testing.T) {
	f := spoiler(t)
	var stop atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for !stop.Load() {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	})
	var sink []byte
	end := time.Now().Add(200 * time.Millisecond)
	for i := 0; time.Now().Before(end); i++ {
		n, zero := uint64(20000), 0.0
		Call(f, uintptr(unsafe.Pointer(&n)), 0)
		sink = make([]byte, 1+i%5000)
		for _, b := range sink {
			zero += float64(b)
		}
		if zero != 0 {
			t.Fatalf("fresh memory adds up to %g", zero)
		}
	}
	stop.Store(true)
	others.Wait()
}

// TestFloatsAreAsEverywhere runs code on a thread whose host rounds upwards.
func TestFloatsAreAsEverywhere(t *testing.T) {
	set, get := code(t, 0x0f, 0xae, 0x17, 0xc3), code(t, 0x0f, 0xae, 0x1f, 0xc3) // ldmxcsr [rdi]; stmxcsr [rdi]
	const usual, upwards, flags = 0x1f80, 0x5f80, 0x3f
	var others sync.WaitGroup
	others.Go(func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		word, one := uint32(upwards), 1.0
		Call(set, uintptr(unsafe.Pointer(&word)), 0)
		Call(get, uintptr(unsafe.Pointer(&word)), 0)
		if word&^flags != usual {
			t.Errorf("the code found %#x, expected %#x", word, usual)
		}
		if little := 1e-30 * float64(word); one+little == one {
			t.Error("the host's rounding was not set, or is gone")
		}
	})
	others.Wait()
}

func BenchmarkCall(b *testing.B) {
	f := code(b, 0xc3)
	for b.Loop() {
		Call(f, 0, 0)
	}
}
