package pages

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// mapped returns what /proc/self/smaps says about the mapping that begins at an address: its first line, and its flags.
func mapped(t *testing.T, at uintptr) (line, flags string) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), fmt.Sprintf("%x-", at)) {
			line = s.Text()
		}
		if rest, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && line != "" {
			return line, rest
		}
	}
	return "", ""
}

func TestHugePages(t *testing.T) {
	for _, n := range []uintptr{HugeFrom, HugeFrom + 1, 9<<20 + 4096} {
		p, err := Reserve(0, n)
		if err != nil {
			t.Fatal(err)
		}
		if p%hugePage != 0 {
			t.Errorf("%d bytes begin at %#x, expected a multiple of 2 MiB", n, p)
		}
		mem := unsafe.Slice((*byte)(Pointer(p)), n)
		mem[0], mem[n-1] = 1, 1
		line, flags := mapped(t, p)
		if !strings.Contains(flags, "hg") {
			if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err == nil {
				t.Errorf("%d bytes have the flags %q, expected hg", n, flags)
			}
		}
		// What was mapped to find the place is gone: the mapping ends where the memory does.
		_, end, _ := strings.Cut(strings.Fields(line)[0], "-")
		if last, _ := strconv.ParseUint(end, 16, 64); uintptr(last) != (p+n+4095)&^4095 {
			t.Errorf("%d bytes from %#x: the mapping ends at %s", n, p, end)
		}
		if err := Release(p, n); err != nil {
			t.Error(err)
		}
	}
}

func TestSmallMemoryHasSmallPages(t *testing.T) {
	p, err := Reserve(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Release(p, 1<<20) }()
	if line, flags := mapped(t, p); strings.Contains(flags, "hg") {
		t.Errorf("%s has the flags %s", line, flags)
	}
}

// BenchmarkAdd adds arrays of ten million numbers into memory that is fresh or was used before.
func BenchmarkAdd(b *testing.B) {
	const n = 10_000_000
	const bytes = 4 * n
	floats := func(p uintptr) []float32 { return unsafe.Slice((*float32)(Pointer(p)), n) }
	reserve := func() uintptr {
		p, err := Reserve(0, bytes)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	x, y, z := floats(reserve()), floats(reserve()), reserve()
	for i := range x {
		x[i], y[i] = float32(i), 1
	}
	add := func(z []float32) {
		for i := range z {
			z[i] = x[i] + y[i]
		}
	}
	b.Run("used", func(b *testing.B) {
		for b.Loop() {
			add(floats(z))
		}
	})
	b.Run("fresh, huge", func(b *testing.B) {
		for b.Loop() {
			p := reserve()
			add(floats(p))
			_ = Release(p, bytes)
		}
	})
	b.Run("fresh, small", func(b *testing.B) {
		for b.Loop() {
			p, _ := mmap(0, bytes, 3, 0)
			add(floats(p))
			_ = Release(p, bytes)
		}
	})
}
