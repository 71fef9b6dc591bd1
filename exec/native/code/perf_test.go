//go:build linux && amd64 && cgo

package code

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestPerfMap(t *testing.T) {
	t.Setenv("POLY_PERF", "1")
	t.Cleanup(func() { _ = os.Remove(perfMapPath()) })
	m := &memory{single: true}
	ks, err := loadInto(m, []Spec{{Name: "r_16_32", Text: fillCode}, {Name: "E_8", Text: spinCode}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(perfMapPath())
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range ks {
		want := fmt.Sprintf("%x %x %s\n", uintptr(k.c.entry), len([][]byte{fillCode, spinCode}[i]), k.Name)
		if !strings.Contains(string(got), want) {
			t.Errorf("expected %q in the map:\n%s", want, got)
		}
	}
}
