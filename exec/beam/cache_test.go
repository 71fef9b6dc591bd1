package beam

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"polygrad/core/nest/plan"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func keyOf(i int) string { return digest(fmt.Sprint(i)) }

func TestCacheIsSharedByProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "polygrad")
	a, b := OpenCache(dir, "m"), OpenCache(dir, "m")
	for i, c := range []plan.Choice{"w4v2", "", "h3/x2"} {
		a.Put(keyOf(i), c, time.Millisecond)
		if got, ok := b.Get(keyOf(i)); !ok || got != c {
			t.Errorf("another cache has %q, %v, expected %q", got, ok, c)
		}
	}
	if _, ok := b.Get(keyOf(99)); ok {
		t.Error("found what nobody has put there")
	}
	a.Put(keyOf(0), "w7", time.Microsecond)
	if got, _ := OpenCache(dir, "m").Get(keyOf(0)); got != "w7" {
		t.Errorf("got %q, expected the choice that was put last", got)
	}
	if _, ok := OpenCache(dir, "other").Get(keyOf(0)); ok {
		t.Error("another machine has the same choices")
	}
	if s, err := os.Stat(dir); err != nil || s.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v, expected mode 0700", s.Mode(), err)
	}
}

func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			c := OpenCache(dir, "m")
			for i := range 50 {
				c.Put(keyOf(50*w+i), "w2h3v1", time.Duration(i))
			}
		})
	}
	wg.Wait()
	c := OpenCache(dir, "m")
	for i := range 400 {
		if got, ok := c.Get(keyOf(i)); !ok || got != "w2h3v1" {
			t.Fatalf("key %d: got %q, %v", i, got, ok)
		}
	}
}

func TestCorruptLines(t *testing.T) {
	dir := t.TempDir()
	good := keyOf(1) + " w2 100\n"
	lines := []string{
		"\n", "nothing\n", keyOf(2) + " w2\n", keyOf(3) + " z9 100\n", keyOf(4) + " w2 soon\n", keyOf(5) + " w2 100 more\n", "short w2 100\n",
		"\x00\xff\x80\n", good, keyOf(6) + " w2 10", // cut off
	}
	if err := os.WriteFile(filepath.Join(dir, "beam-m.txt"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := OpenCache(dir, "m")
	if got, ok := c.Get(keyOf(1)); !ok || got != "w2" {
		t.Errorf("got %q, %v, expected the line that is whole", got, ok)
	}
	for i := 2; i <= 6; i++ {
		if got, ok := c.Get(keyOf(i)); ok {
			t.Errorf("key %d: got %q from a corrupt line", i, got)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := filepath.Join(t.TempDir(), "readonly")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "below"), filepath.Join(readOnly, "below"), "/proc/none"} {
		c := OpenCache(dir, "m")
		c.Put(keyOf(1), "w2", 1)
		if got, ok := c.Get(keyOf(1)); !ok || got != "w2" {
			t.Errorf("%q: got %q, %v, expected the choice of this process", dir, got, ok)
		}
	}
}

func TestUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POLY_CACHE_DIR", file)
	notices, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = notices
	for range 2 {
		OpenCache(Dir(), "m").Put(keyOf(0), "w2", time.Millisecond)
	}
	os.Stderr = before
	text, _ := os.ReadFile(notices.Name())
	if !strings.HasPrefix(string(text), "polygrad: POLY_CACHE_DIR: ") || strings.Count(string(text), "\n") != 1 {
		t.Errorf("printed %q, expected one notice", text)
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beam-m.txt")
	var b strings.Builder
	n := 0
	for ; b.Len() <= mostBytes; n++ {
		fmt.Fprintf(&b, "%s w2 100\n", keyOf(n))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := OpenCache(dir, "m")
	if s, err := os.Stat(path); err != nil || s.Size() > mostBytes/2+100 {
		t.Errorf("the file has %d bytes, %v, expected half of %d", s.Size(), err, mostBytes)
	}
	if _, ok := c.Get(keyOf(n - 1)); !ok {
		t.Error("the newest line is lost")
	}
	if _, ok := c.Get(keyOf(0)); ok {
		t.Error("the oldest line is still there")
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); rest != nil {
		t.Errorf("%v was left behind", rest)
	}
}

func TestDir(t *testing.T) {
	t.Setenv("POLY_CACHE_DIR", "/a/b")
	if d := Dir(); d != "/a/b" {
		t.Errorf("POLY_CACHE_DIR=/a/b: got %q", d)
	}
	t.Setenv("POLY_CACHE_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "/c")
	if d := Dir(); d != "/c/polygrad" {
		t.Errorf("XDG_CACHE_HOME=/c: got %q, expected /c/polygrad", d)
	}
}

// Keys depend on what a kernel does, not on the graph that it stands in.
func TestKey(t *testing.T) {
	list := func(n int64, dt *uop.DType) []*uop.UOp {
		g := symbolic.NewGraph()
		b := g.NewBuffer("CPU", n, dt)
		return []*uop.UOp{b, b.Add(b)}
	}
	base := Key(list(10, uop.Float32))
	if again := Key(list(10, uop.Float32)); len(base) != keyLength || again != base {
		t.Errorf("keys %q and %q of equal kernels", base, again)
	}
	for _, other := range [][]*uop.UOp{list(11, uop.Float32), list(10, uop.Float64), list(10, uop.Float32)[:1]} {
		if Key(other) == base {
			t.Error("different kernels have the same key")
		}
	}
	if MachineKey("a", 1) == MachineKey("a", 2) {
		t.Error("different machines have the same key")
	}
}
