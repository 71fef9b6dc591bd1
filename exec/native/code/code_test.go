//go:build linux && amd64 && cgo

package code

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// Code for tests, from exec/native/code/testdata/kernels.s.
var (
	// fillCode: buf[i] = var + i for the items i.
	fillCode = []byte{
		0x4c, 0x8b, 0x07, // mov r8, [rdi]
		0x4c, 0x8b, 0x4f, 0x08, // mov r9, [rdi+8]
		0x4c, 0x8b, 0x57, 0x10, // mov r10, [rdi+16]
		0x4c, 0x8b, 0x5f, 0x18, // mov r11, [rdi+24]
		0x4d, 0x85, 0xdb, 0x7e, 0x12, // if r11 <= 0 return
		0x4c, 0x89, 0xc8, 0x4c, 0x01, 0xd0, // rax = r9 + r10
		0x4b, 0x89, 0x04, 0xd0, // mov [r8+r10*8], rax
		0x49, 0xff, 0xc2, 0x49, 0xff, 0xcb, 0x75, 0xee, // inc r10, dec r11, jnz
		0xc3,
	}
	// spinCode: each item i takes var turns of an empty loop, then adds 1 to buf[i].
	spinCode = []byte{
		0x4c, 0x8b, 0x07, // mov r8, [rdi]
		0x4c, 0x8b, 0x57, 0x10, // mov r10, [rdi+16]
		0x4c, 0x8b, 0x5f, 0x18, // mov r11, [rdi+24]
		0x48, 0x8b, 0x4f, 0x08, // mov rcx, [rdi+8]
		0x48, 0xff, 0xc9, 0x75, 0xfb, // dec rcx, jnz
		0xf0, 0x4b, 0xff, 0x04, 0xd0, // lock inc [r8+r10*8]
		0x49, 0xff, 0xc2, 0x49, 0xff, 0xcb, 0x75, 0xea, // inc r10, dec r11, jnz
		0xc3,
	}
	// ownCode: each item i is kept in the frame (at 56) and in scratch memory (at 4088) for var turns; then buf[i] = their sum.
	ownCode = []byte{
		0x4c, 0x8b, 0x07, // mov r8, [rdi]
		0x4c, 0x8b, 0x4f, 0x20, // mov r9, [rdi+32]
		0x4c, 0x8b, 0x57, 0x10, // mov r10, [rdi+16]
		0x4c, 0x8b, 0x5f, 0x18, // mov r11, [rdi+24]
		0x4c, 0x89, 0x56, 0x38, // mov [rsi+56], r10
		0x4d, 0x89, 0x91, 0xf8, 0x0f, 0x00, 0x00, // mov [r9+4088], r10
		0x48, 0x8b, 0x4f, 0x08, // mov rcx, [rdi+8]
		0x48, 0xff, 0xc9, 0x75, 0xfb, // dec rcx, jnz
		0x48, 0x8b, 0x46, 0x38, // mov rax, [rsi+56]
		0x49, 0x03, 0x81, 0xf8, 0x0f, 0x00, 0x00, // add rax, [r9+4088]
		0x4b, 0x89, 0x04, 0xd0, // mov [r8+r10*8], rax
		0x49, 0xff, 0xc2, 0x49, 0xff, 0xcb, 0x75, 0xd5, // inc r10, dec r11, jnz
		0xc3,
	}
)

func TestMain(m *testing.M) {
	if what := os.Getenv("CHILD"); what != "" {
		if rest, ok := strings.CutPrefix(what, "denied "); ok {
			denied(rest == "all")
		} else {
			fault(what)
		}
		return
	}
	if err := Open(); err != nil {
		println("no native code here:", err.Error())
		return
	}
	threads = 4 // also where there are fewer processors
	os.Exit(m.Run())
}

// load loads one kernel of one buffer and one variable. Much work is shared by threads.
func load(t testing.TB, name string, code []byte, items int64, much bool) *Kernel {
	t.Helper()
	s := Spec{Name: name, Text: code, Buffers: 1, Vars: 1, Items: items}
	if much {
		s.Flops = 1e9
	}
	return loadOne(t, s)
}

func loadOne(t testing.TB, s Spec) *Kernel {
	t.Helper()
	ks, err := Load([]Spec{s})
	if err != nil {
		t.Fatal(err)
	}
	return ks[0]
}

// run runs a kernel of one buffer and one variable.
func run(t testing.TB, k *Kernel, buf []int64, v int64) {
	t.Helper()
	if err := k.Run([]unsafe.Pointer{unsafe.Pointer(&buf[0])}, []int64{v}); err != nil {
		t.Fatal(err)
	}
}

func TestItems(t *testing.T) {
	for _, items := range []int64{1, 2, 3, 4, 5, 7, 63, 64, 65, 1000, 4099} {
		for _, much := range []bool{false, true} {
			k := load(t, "fill", fillCode, items, much)
			buf := make([]int64, items+1)
			buf[items] = -1
			run(t, k, buf, 100)
			for i, v := range buf[:items] {
				if v != int64(i)+100 {
					t.Fatalf("%d items, much %v: item %d is %d", items, much, i, v)
				}
			}
			if buf[items] != -1 {
				t.Errorf("%d items, much %v: one more was done", items, much)
			}
			k.Close()
		}
	}
}

func TestNoItems(t *testing.T) {
	for _, much := range []bool{false, true} {
		k := load(t, "fill", fillCode, 0, much)
		buf := []int64{-1}
		run(t, k, buf, 5)
		if buf[0] != -1 {
			t.Errorf("much %v: an item was done of none", much)
		}
	}
}

// TestOwnMemory has threads keep values in frames and scratch memory, of several sizes in turn.
func TestOwnMemory(t *testing.T) {
	const items = 64
	for _, scratch := range []int64{4096, 300 << 10, 5 << 20, 4096} {
		for _, much := range []bool{false, true} {
			s := Spec{Name: "own", Text: ownCode, Buffers: 1, Vars: 1, Items: items, Frame: 100, Scratch: scratch}
			if much {
				s.Flops = 1e9
			}
			k := loadOne(t, s)
			buf := make([]int64, items)
			run(t, k, buf, 10000)
			for i, v := range buf {
				if v != 2*int64(i) {
					t.Fatalf("scratch %d, much %v: item %d found %d in its memory, expected %d", scratch, much, i, v, 2*i)
				}
			}
		}
	}
}

// TestManyArguments gives a kernel more buffers than lie on the stack; it uses the last one.
func TestManyArguments(t *testing.T) {
	const n = 100
	code := []byte{
		0x48, 0x8b, 0x87, 0x18, 0x03, 0x00, 0x00, // mov rax, [rdi+8*99]
		0x48, 0x8b, 0x8f, 0x28, 0x03, 0x00, 0x00, // mov rcx, [rdi+8*101], the number of items
		0xf0, 0x48, 0x01, 0x08, // lock add [rax], rcx
		0xc3,
	}
	for _, flops := range []float64{0, 1e9} {
		k := loadOne(t, Spec{Name: "last", Text: code, Buffers: n, Items: 77, Flops: flops})
		var other, last int64
		bufs := make([]unsafe.Pointer, n)
		for i := range bufs {
			bufs[i] = unsafe.Pointer(&other)
		}
		bufs[n-1] = unsafe.Pointer(&last)
		if err := k.Run(bufs, nil); err != nil {
			t.Fatal(err)
		}
		if last != 77 || other != 0 {
			t.Errorf("the last buffer holds %d, expected 77, the others %d", last, other)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	k := load(t, "fill", fillCode, 1, false)
	var x int64
	p := unsafe.Pointer(&x)
	for _, c := range []struct {
		bufs []unsafe.Pointer
		vars []int64
		want string
	}{
		{nil, []int64{1}, "0 buffers and 1 variables, expected 1 and 1"},
		{[]unsafe.Pointer{p}, nil, "1 buffers and 0 variables, expected 1 and 1"},
		{[]unsafe.Pointer{nil}, []int64{1}, "buffer 0 is NULL"},
	} {
		err := k.Run(c.bufs, c.vars)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fill") {
			t.Errorf("error %v, expected one with fill and %q", err, c.want)
		}
	}
	for _, s := range []Spec{{Name: "a"}, {Name: "b", Text: fillCode, Items: -1}, {Name: "c", Text: fillCode, Scratch: -1}} {
		if _, err := Load([]Spec{s}); err == nil || !strings.Contains(err.Error(), s.Name+":") {
			t.Errorf("Load of a wrong kernel: error %v, expected one that names it", err)
		}
	}
}

// TestRunsAllocateNothing holds for short kernels, for those with memory of their own and for shared ones.
func TestRunsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	buf := make([]int64, 64)
	bufs, vars := []unsafe.Pointer{unsafe.Pointer(&buf[0])}, []int64{1}
	for _, s := range []Spec{
		{Name: "short", Text: fillCode, Buffers: 1, Vars: 1, Items: 8},
		{Name: "framed", Text: fillCode, Buffers: 1, Vars: 1, Items: 8, Frame: 512, Scratch: 4096},
		{Name: "shared", Text: fillCode, Buffers: 1, Vars: 1, Items: 8, Flops: 1e9},
		{Name: "both", Text: fillCode, Buffers: 1, Vars: 1, Items: 8, Scratch: 1 << 20, Flops: 1e9},
	} {
		k := loadOne(t, s)
		if n := testing.AllocsPerRun(200, func() {
			if err := k.Run(bufs, vars); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %g allocations in each run", s.Name, n)
		}
	}
}

func TestMemoryIsSharedAndFreed(t *testing.T) {
	m := &memory{}
	specs := make([]Spec, 1000)
	for i := range specs {
		specs[i] = Spec{Name: "fill", Text: fillCode, Buffers: 1, Vars: 1, Items: 3}
	}
	ks, err := loadInto(m, specs)
	if err != nil {
		t.Fatal(err)
	}
	if bytes, regions := m.used(); regions != 1 || bytes != 1000*128 {
		t.Errorf("1000 kernels of %d bytes take %d bytes in %d regions, expected 128000 in one", len(fillCode), bytes, regions)
	}
	// Every other one goes; what remains runs, and the room is used again.
	for i := 0; i < len(ks); i += 2 {
		ks[i].Close()
		ks[i].Close() // once more does nothing
	}
	big := make([]byte, 3<<20)
	copy(big, fillCode)
	more, err := loadInto(m, append(specs[:500:500], Spec{Name: "big", Text: big, Buffers: 1, Vars: 1, Items: 3}))
	if err != nil {
		t.Fatal(err)
	}
	if _, regions := m.used(); regions != 2 {
		t.Errorf("%d regions, expected one more for the large kernel", regions)
	}
	for i, k := range append(ks, more...) {
		if i < len(ks) && i%2 == 0 {
			continue
		}
		buf := make([]int64, 3)
		run(t, k, buf, 7)
		if buf[2] != 9 {
			t.Fatalf("kernel %d does not work", i)
		}
		k.Close()
	}
	if bytes, regions := m.used(); bytes != 0 || regions != 1 || len(m.regions[0].free) != 1 {
		t.Errorf("%d bytes in %d regions are left when all kernels are closed", bytes, regions)
	}
}

// TestMemoryOfEachBatch is how code lies where memory may not be mapped twice.
func TestMemoryOfEachBatch(t *testing.T) {
	m := &memory{single: true}
	for range 3 {
		ks, err := loadInto(m, []Spec{{Name: "a", Text: fillCode, Buffers: 1, Vars: 1, Items: 3}, {Name: "b", Text: fillCode, Buffers: 1, Vars: 1, Items: 3}})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range ks {
			buf := make([]int64, 3)
			run(t, k, buf, 7)
			if buf[2] != 9 {
				t.Fatal("the kernel does not work")
			}
		}
		of := ks[0].loaded.at.of
		if of.write != 0 {
			t.Error("the code can still be written")
		}
		ks[0].Close()
		ks[1].Close()
		if of.live != 0 {
			t.Errorf("%d kernels are left in a batch that is closed", of.live)
		}
	}
}

func TestGarbageIsFreed(t *testing.T) {
	m := &memory{}
	func() {
		if _, err := loadInto(m, []Spec{{Name: "lost", Text: fillCode, Buffers: 1, Vars: 1, Items: 3}}); err != nil {
			t.Fatal(err)
		}
	}()
	for range 100 {
		runtime.GC()
		if bytes, _ := m.used(); bytes == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the memory of a kernel that is garbage was not freed")
}

// TestNeitherViewIsBoth looks for memory that is writable and executable at once.
func TestNeitherViewIsBoth(t *testing.T) {
	load(t, "fill", fillCode, 1, false)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	found := 0
	for line := range strings.Lines(string(maps)) {
		access := strings.Fields(line)[1]
		if strings.Contains(line, "polygrad") && strings.Contains(access, "x") {
			found++
		}
		if strings.Contains(access, "w") && strings.Contains(access, "x") {
			t.Errorf("writable and executable: %s", line)
		}
	}
	if found == 0 && !state.memory.single {
		t.Error("no executable memory was found: the test looks at nothing")
	}
}

// used is the number of bytes in blocks and of regions.
func (m *memory) used() (bytes uintptr, regions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.regions {
		bytes += r.size
		for _, f := range r.free {
			bytes -= f.size
		}
	}
	return bytes, len(m.regions)
}
