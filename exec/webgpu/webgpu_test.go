package webgpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"polygrad/exec/device"
)

// opened is the device; a test is skipped where no library of WebGPU is installed, but not if one is named.
func opened(t *testing.T) device.Device {
	d, err := New()
	if err != nil && os.Getenv("POLY_WEBGPU") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return d
}

// TestWebGPUShadersThatFailBesideOthers: several threads make pipelines, and each error is that of its shader.
func TestWebGPUShadersThatFailBesideOthers(t *testing.T) {
	d := opened(t)
	a, err := d.(*Device).adapter()
	if err != nil {
		t.Fatal(err)
	}
	const n = 24
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		value := fmt.Sprintf("%d.0", i)
		if i%5 == 0 {
			value = fmt.Sprintf("wrong%d", i)
		}
		source := fmt.Sprintf("@group(0) @binding(0) var<storage, read_write> b0: array<f32>;\n@compute @workgroup_size(1)\nfn main() { b0[0] = %s; }\n", value)
		all.Go(func() { _, errs[i] = a.pipeline(shader{source: source, buffers: 1}) })
	}
	all.Wait()
	for i, err := range errs {
		if name := fmt.Sprintf("wrong%d", i); i%5 == 0 && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("shader %d: %v, expected an error that names %s", i, err, name)
		} else if i%5 != 0 && err != nil {
			t.Errorf("shader %d: %v", i, err)
		}
	}
}

// TestWebGPUListsOfSeveralQueues: lists that wait for one another run in the order of their submission, whatever queue they are of.
func TestWebGPUListsOfSeveralQueues(t *testing.T) {
	d := opened(t)
	const n, copies = 64, 300
	a, err := d.Allocate(4 * n * copies)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4*n)
	for i := range first {
		first[i] = byte(i * 7)
	}
	queues := []device.Queue{d.NewQueue(), d.NewQueue(), d.NewQueue()}
	if err := queues[0].CopyIn(a, first); err != nil {
		t.Fatal(err)
	}
	part := func(i int64) device.Buffer { return d.Part(a, 4*n*i) }
	for i := int64(1); i < copies; i++ {
		q := queues[i%3]
		if err := errors.Join(q.Copy(part(i), part(i-1), 4*n), q.(device.Submitter).Submit()); err != nil {
			t.Fatal(err)
		}
	}
	last := make([]byte, 4*n)
	if err := errors.Join(queues[1].CopyOut(last, part(copies-1)), queues[1].Wait()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(last, first) {
		t.Errorf("the last of %d copies is %v, expected %v", copies, last[:8], first[:8])
	}
}
