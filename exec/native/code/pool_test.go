//go:build linux && amd64 && cgo

package code

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestEveryItemOnce counts how often each item was done, while several goroutines use the pool and some runs begin
// with workers that sleep.
func TestEveryItemOnce(t *testing.T) {
	const items = 97
	k := load(t, "spin", spinCode, items, true)
	// On a busy machine the users may run one after the other: then they try again.
	for deadline := time.Now().Add(time.Minute); ; {
		var users sync.WaitGroup
		for user := range 6 {
			users.Go(func() {
				buf := make([]int64, items)
				bufs, vars := []unsafe.Pointer{unsafe.Pointer(&buf[0])}, []int64{int64(1 + 50*user)}
				for turn := range int64(300) {
					if err := k.Run(bufs, vars); err != nil {
						t.Error(err)
						return
					}
					for i, n := range buf {
						if n != turn+1 {
							t.Errorf("user %d: after %d runs item %d was done %d times", user, turn+1, i, n)
							return
						}
					}
					if turn%50 == 49 {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		users.Wait()
		c := countPool()
		if c.woken > 0 && c.alone > 0 || t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no worker was woken, or nobody found the pool busy: %+v; the test looks at nothing", c)
		}
	}
}

// TestThreadsKeepApart wakes workers on the processor of the caller: they are let go where it is not.
func TestThreadsKeepApart(t *testing.T) {
	if threads < 2 || runtime.NumCPU() < 2 {
		t.Skip("one processor")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k, buf := load(t, "spin", spinCode, int64(threads), true), make([]int64, threads)
	run(t, k, buf, 1000)
	// The caller may change places meanwhile: then both try again.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var here unix.CPUSet
		var processor uint32
		if _, _, errno := unix.Syscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&processor)), 0, 0); errno != 0 {
			t.Skipf("the system does not tell the processor of a thread: %v", errno)
		}
		at := int(processor)
		here.Set(at)
		ids := workers(t)
		for _, id := range ids {
			if err := unix.SchedSetaffinity(id, &here); err != nil {
				t.Skipf("threads may not be bound to processors here: %v", err)
			}
		}
		for range 1000 {
			run(t, k, buf, 1000)
		}
		for _, id := range ids {
			var now unix.CPUSet
			if err := unix.SchedGetaffinity(id, &now); err != nil {
				t.Fatal(err)
			}
			if !now.IsSet(at) && now.Count() > 0 {
				return
			}
		}
	}
	t.Error("all workers stay with the caller")
}

// workers are the threads of the pool.
func workers(t *testing.T) (ids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if comm, err := os.ReadFile(name); err == nil && string(comm) == "polygrad\n" {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// TestDifferentKernelsInTurn lets workers be late: a piece of one run must not be done with the code of another.
func TestDifferentKernelsInTurn(t *testing.T) {
	kernels := []*Kernel{load(t, "fill", fillCode, 8, true), load(t, "spin", spinCode, 5, true), load(t, "fill", fillCode, 3, true)}
	for _, k := range kernels {
		k.cost.ns.Store(int64(2 * pieceTime))
	}
	kernels[0].cost.ns.Store(int64(time.Second)) // many pieces
	filled, counted, third := make([]int64, 8), make([]int64, 5), make([]int64, 3)
	for turn := range int64(20000) {
		run(t, kernels[0], filled, turn)
		run(t, kernels[1], counted, 1)
		run(t, kernels[2], third, -turn)
		if filled[0] != turn || filled[7] != turn+7 || counted[0] != turn+1 || counted[4] != turn+1 || third[2] != 2-turn {
			t.Fatalf("turn %d: %v %v %v", turn, filled, counted, third)
		}
	}
}

// TestCollectorDoesNotWait collects garbage while long kernels run.
func TestCollectorDoesNotWait(t *testing.T) {
	k := load(t, "spin", spinCode, 2, true)
	buf := make([]int64, 2)
	var running atomic.Bool
	var user sync.WaitGroup
	user.Go(func() {
		running.Store(true)
		run(t, k, buf, 1_500_000_000)
		running.Store(false)
	})
	for !running.Load() {
		runtime.Gosched()
	}
	time.Sleep(5 * time.Millisecond)
	collected := 0
	for range 5 {
		runtime.GC()
		if running.Load() {
			collected++
		}
	}
	user.Wait()
	if collected == 0 {
		t.Error("the collector waited for a kernel")
	}
}

// TestNobodyWaitsForOthers has one user keep the pool busy for long: another one gets its work done meanwhile.
func TestNobodyWaitsForOthers(t *testing.T) {
	long, short := load(t, "spin", spinCode, 4, true), load(t, "fill", fillCode, 64, true)
	var running atomic.Bool
	var user sync.WaitGroup
	user.Go(func() {
		running.Store(true)
		run(t, long, make([]int64, 4), 1_000_000_000)
		running.Store(false)
	})
	for !running.Load() {
		runtime.Gosched()
	}
	time.Sleep(5 * time.Millisecond)
	buf, done := make([]int64, 64), 0
	for range 20 {
		run(t, short, buf, 1)
		if running.Load() {
			done++
		}
	}
	user.Wait()
	if done == 0 {
		t.Error("a short kernel waited for a long one of somebody else")
	}
}

// TestCostIsMeasured loads a kernel whose estimate is wrong in either direction.
func TestCostIsMeasured(t *testing.T) {
	buf := make([]int64, 4)
	long := loadOne(t, Spec{Name: "spin", Text: spinCode, Buffers: 1, Vars: 1, Items: 4, Flops: flopsPerNs * float64(shareFrom) / 4})
	short := loadOne(t, Spec{Name: "spin", Text: spinCode, Buffers: 1, Vars: 1, Items: 4, Flops: flopsPerNs * float64(shareFrom) * 2})
	for range trials {
		if how := long.cost.how(); how != measured {
			t.Fatalf("a run happens in way %d, expected it to be timed", how)
		}
		run(t, long, buf, 100_000)
		run(t, short, buf, 1)
	}
	if long.cost.how() != pooled {
		t.Errorf("a kernel of %d ns is not shared", long.cost.ns.Load())
	}
	// A short kernel may be interrupted in all trials, but hardly here.
	if short.cost.how() != here {
		t.Errorf("a kernel of %d ns is shared", short.cost.ns.Load())
	}
}

func BenchmarkRun(b *testing.B) {
	buf := make([]int64, 4096)
	bufs := []unsafe.Pointer{unsafe.Pointer(&buf[0])}
	old := threads
	defer func() { threads = old }()
	for _, c := range []struct {
		name      string
		threads   int
		items     int64
		frame     int64
		each      int64 // turns of an empty loop for each item
		much      bool
		betweenUs int
	}{
		{name: "goroutine", threads: 1, items: 1, each: 1},
		{name: "goroutine with memory", threads: 1, items: 1, each: 1, frame: 256},
		{name: "cgo", threads: 1, items: 1, each: 1, much: true},
		{name: "two, awake", threads: 2, items: 2, each: 1, much: true},
		{name: "two, asleep", threads: 2, items: 2, each: 1, much: true, betweenUs: 300},
		{name: "20us here", threads: 1, items: 2, each: 25000},
		{name: "20us by two, awake", threads: 2, items: 2, each: 25000, much: true},
		{name: "20us by two, asleep", threads: 2, items: 2, each: 25000, much: true, betweenUs: 300},
		{name: "200us here", threads: 1, items: 2, each: 250000},
		{name: "200us by two, awake", threads: 2, items: 2, each: 250000, much: true},
		{name: "200us by two, asleep", threads: 2, items: 2, each: 250000, much: true, betweenUs: 300},
	} {
		threads = c.threads
		k := loadOne(b, Spec{Name: "spin", Text: spinCode, Buffers: 1, Vars: 1, Items: c.items, Frame: c.frame})
		if c.much {
			k.cost.ns.Store(int64(shareFrom))
		}
		vars := []int64{c.each}
		b.Run(c.name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for range b.N {
				if c.betweenUs > 0 {
					settle()
				}
				start := time.Now()
				if err := k.Run(bufs, vars); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "ns/median")
			b.ReportMetric(float64(took[len(took)/20]), "ns/5%")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	code := make([]byte, 512)
	copy(code, fillCode)
	for name, m := range map[string]*memory{"shared": {}, "separate": {single: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				at, err := m.load([]text{{"fill", code}})
				if err != nil {
					b.Fatal(err)
				}
				m.free(at[0])
			}
		})
	}
}

// BenchmarkCollector collects garbage while kernels of 20 ms run on a goroutine, or in C.
func BenchmarkCollector(b *testing.B) {
	buf := make([]int64, 1)
	old := threads
	threads = 1
	defer func() { threads = old }()
	for _, pooledToo := range []bool{false, true} {
		k := loadOne(b, Spec{Name: "spin", Text: spinCode, Buffers: 1, Vars: 1, Items: 1})
		if pooledToo {
			k.cost.ns.Store(int64(20 * time.Millisecond))
		}
		b.Run(map[bool]string{false: "goroutine", true: "cgo"}[pooledToo], func(b *testing.B) {
			var stop atomic.Bool
			var user sync.WaitGroup
			user.Go(func() {
				for !stop.Load() {
					run(b, k, buf, 48_000_000)
				}
			})
			time.Sleep(time.Millisecond)
			for b.Loop() {
				runtime.GC()
			}
			stop.Store(true)
			user.Wait()
		})
	}
}
