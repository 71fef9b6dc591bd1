//go:build linux && amd64 && cgo

package native_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// beamChild tells the test below that it is the process that it has started.
const beamChild = "BEAM_CHILD"

// TestBeam multiplies matrices with POLY_BEAM in two processes: the first one searches, the second one finds
// everything in the cache.
func TestBeam(t *testing.T) {
	if os.Getenv(beamChild) != "" {
		beamProducts(t)
		return
	}
	newGraph(t) // skips the test where there is no native code
	dir := t.TempDir()
	child := func(dir string) {
		t.Helper()
		c := exec.Command(os.Args[0], "-test.run=^TestBeam$", "-test.count=1")
		c.Env = append(os.Environ(), beamChild+"=1", "POLY_BEAM=2", "POLY_CACHE_DIR="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	read := func() []byte {
		files, err := filepath.Glob(filepath.Join(dir, "beam-*.txt"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the cache has the files %v, %v, expected one", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	child(dir)
	first := read()
	if lines := bytes.Count(first, []byte("\n")); lines != 2 {
		t.Fatalf("the cache has %d lines, expected one for each of two kernels:\n%s", lines, first)
	}
	child(dir)
	if second := read(); !bytes.Equal(first, second) {
		t.Errorf("the second process has searched again:\n%s\nwas\n%s", second, first)
	}
	child("/proc/none") // where nothing can be written
}

// beamProducts runs two kernels that are worth a search, and one that is not.
func beamProducts(t *testing.T) { products(t, 150, 203, 5) }
