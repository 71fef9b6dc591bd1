//go:build cgo

package webgpu

import (
	"strings"
	"testing"

	"polygrad/core/settings"
)

// TestMissingLibrary: the error names all libraries on one line.
func TestMissingLibrary(t *testing.T) {
	if settings.WebGPU.Get() != "" {
		t.Skip("a library is set")
	}
	defer func(old []string) { names = old }(names)
	names = []string{"libmissing-one.so", "libmissing-two.so"}
	_, _, err := openNative()
	if err == nil || !strings.Contains(err.Error(), names[0]) || !strings.Contains(err.Error(), names[1]) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, expected one line with %v", err, names)
	}
}
