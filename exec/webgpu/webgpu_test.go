package webgpu

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestWebGPUShadersThatFailBesideOthers: several threads make pipelines, and each error is that of its shader.
func TestWebGPUShadersThatFailBesideOthers(t *testing.T) {
	d, err := New()
	if err != nil {
		t.Skip(err)
	}
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
