//go:build linux && amd64 && cgo

package native

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"polygrad/core/tensor"
	runs "polygrad/exec"
)

// digest computes what work is shared out for, and returns the numbers and a digest of their bits.
func digest(t *testing.T, e *runs.Executor) (numbers []float32, sum string) {
	b := newBed(t, e, 1)
	x, _ := b.floats(301, 517)
	w, _ := b.floats(517, 259)
	long, _ := b.floats(3_000_001)
	image, _ := b.floats(2, 13, 37, 41)
	window, _ := b.floats(19, 13, 3, 3)
	var outs [][]float32
	outs = append(outs, b.want(tensor.MatMul(x, w)), b.want(tensor.Softmax(x, -1)), b.want(tensor.LayerNorm(x, []int{-1}, 1e-5)))
	outs = append(outs, b.want(tensor.Sum(x, []int{0}, false)), b.want(tensor.Sum(long, []int{0}, true)))
	outs = append(outs, b.want(tensor.Conv(image, window, nil, 1, tensor.Window{})))
	hash := sha256.New()
	for range 3 {
		b.run()
		numbers = slices.Concat(outs...)
		for _, out := range outs {
			words := make([]byte, 0, 4*len(out))
			for _, v := range out {
				words = binary.LittleEndian.AppendUint32(words, math.Float32bits(v))
			}
			fmt.Fprintf(hash, "%x", sha256.Sum256(words))
			clear(out)
		}
	}
	return numbers, fmt.Sprintf("%x", hash.Sum(nil))
}

const childOfBits = "POLYGRAD_TEST_BITS"

// TestBitsAlone is what a child of TestSameBits does: it computes alone, then in several goroutines at once, and keeps
// the numbers in files of the folder that the environment names.
func TestBitsAlone(t *testing.T) {
	folder := os.Getenv(childOfBits)
	if folder == "" {
		return
	}
	eachLevel(t, func(t *testing.T, e *runs.Executor) {
		numbers, want := digest(t, e)
		var file bytes.Buffer
		if err := binary.Write(&file, binary.LittleEndian, numbers); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(e.Device().Name())), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, got := digest(t, e); got != want {
					t.Errorf("several at once compute %s, one alone %s", got, want)
				}
			})
		}
		all.Wait()
		fmt.Println("bits", want)
	})
}

// TestSameBits computes with 1 and 2 and 3 threads, in two processes each: with as many threads the bits are the same, with
// others the numbers are but for rounding.
func TestSameBits(t *testing.T) {
	var alone map[string][]float32
	for _, threads := range []string{"1", "2", "3"} {
		var first string
		folder := t.TempDir()
		for process := range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBitsAlone$", "-test.v")
			cmd.Env = append(os.Environ(), childOfBits+"="+folder, "POLY_THREADS="+threads)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s threads: %v\n%s", threads, err, out)
			}
			var bits []string
			for _, line := range strings.Split(string(out), "\n") {
				if strings.HasPrefix(line, "bits ") {
					bits = append(bits, line)
				}
			}
			if bits == nil && !strings.Contains(string(out), "--- SKIP") {
				t.Errorf("%s threads: nothing was computed\n%s", threads, out)
			}
			got := strings.Join(bits, "\n")
			if process == 0 {
				first = got
			} else if got != first {
				t.Errorf("%s threads: one process computes\n%s\nanother one\n%s", threads, first, got)
			}
		}
		numbers := readNumbers(t, folder)
		if alone == nil {
			alone = numbers
		}
		for level, want := range alone {
			compareThreads(t, threads+" threads, "+level, numbers[level], want)
		}
	}
}

// readNumbers reads what a child has computed, for each kind of processor.
func readNumbers(t *testing.T, folder string) map[string][]float32 {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		numbers := make([]float32, len(data)/4)
		if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, numbers); err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = numbers
	}
	return out
}

// compareThreads compares numbers with those of one thread.
func compareThreads(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, %d by one thread", what, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - float64(w)); !(d <= 1e-5*max(1, math.Abs(float64(w)))) {
			t.Fatalf("%s: number %d is %v, by one thread %v", what, i, got[i], w)
		}
	}
}
