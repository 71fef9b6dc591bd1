package abi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// build compiles a program of testdata that uses the table of all functions.
func build(t *testing.T, source string, more ...string) string {
	t.Helper()
	return compile(t, source, append([]string{"-O0", "-I" + writeTable(t), "-Itestdata"}, more...)...)
}

// sweep runs everything.c from the first function on, and again behind the function that ends it.
func sweep(t *testing.T, program string, environment ...string) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "progress")
	last := -1
	for first := 0; ; first = last + 1 {
		cmd := exec.Command(program, strconv.Itoa(first), state)
		cmd.Env = append(os.Environ(), environment...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			t.Log(lines[len(lines)-1])
			return
		}
		if cmd.ProcessState.ExitCode() == 1 {
			t.Errorf("%s\nA function that fails with good arguments wants others in calls_good_test.go.", out)
			return
		}
		number, text := progress(t, state)
		t.Errorf("%v in %s\n%s", err, text, firstLines(out, 60))
		if number <= last || t.Context().Err() != nil {
			return
		}
		last = number
	}
}

// progress reads what a program was about to do when it died.
func progress(t *testing.T, path string) (int, string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 8 {
		t.Fatalf("no progress in %s: %v", path, err)
	}
	text, _, _ := bytes.Cut(data[4:], []byte{0})
	return int(binary.LittleEndian.Uint32(data)), string(text)
}

func firstLines(out []byte, n int) string {
	lines := strings.SplitAfterN(string(out), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// addressSanitizer are its settings beside Go, which handles SIGSEGV itself and whose heap it does not know. Where there
// is no memory, malloc says so.
const addressSanitizer = "ASAN_OPTIONS=handle_segv=0:use_sigaltstack=0:allocator_may_return_null=1"

// Every function of the header is called with good arguments and with each argument in turn bad in many ways, with the
// sanitizer unless the tests shall be short.
func TestEveryFunction(t *testing.T) {
	flags := sanitizer
	if testing.Short() {
		flags = nil
	}
	sweep(t, build(t, "everything.c", flags...), addressSanitizer+":detect_leaks=0") // it frees nothing
}

// Random sequences of calls: POLY_FUZZ_SECONDS long (10; 5 with -short), from POLY_FUZZ_SEED on (as it comes).
func TestRandomCalls(t *testing.T) {
	seconds, seed := "10", fmt.Sprint(rand.Uint32())
	if testing.Short() {
		seconds = "5"
	}
	if s := os.Getenv("POLY_FUZZ_SECONDS"); s != "" {
		seconds = s
	}
	if s := os.Getenv("POLY_FUZZ_SEED"); s != "" {
		seed = s
	}
	program, state := build(t, "fuzz.c"), filepath.Join(t.TempDir(), "progress")
	cmd := exec.Command(program, seconds, seed, state)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Duration(3*limit*float64(time.Second))+time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	if err := cmd.Wait(); err != nil {
		data, readErr := os.ReadFile(state)
		if readErr != nil || len(data) < 16 {
			t.Fatalf("%v, %v\n%s", err, readErr, out.String())
		}
		name, _, _ := bytes.Cut(data[12:], []byte{0})
		died, call := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:])
		t.Fatalf("%v at seed %d, call %d, %s; POLY_FUZZ_SECONDS=0 POLY_FUZZ_SEED=%d repeats it\n%s", err, died, call, name,
			died, firstLines(out.Bytes(), 80))
	}
	t.Logf("from seed %s: %s", seed, strings.TrimSpace(out.String()))
}
