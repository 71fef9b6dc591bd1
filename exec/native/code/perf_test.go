//go:build linux && amd64 && cgo

package code

import (
	"fmt"
	"os"
	"path/filepath"
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

// A link that somebody else has put where the map goes must not lead elsewhere.
func TestPerfMapFollowsNoLink(t *testing.T) {
	t.Setenv("POLY_PERF", "1")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	open := perfMap.file
	perfMap.file = nil
	_ = os.Remove(perfMapPath())
	if err := os.Symlink(elsewhere, perfMapPath()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Remove(perfMapPath())
		perfMap.file = open
	})
	if _, err := loadInto(&memory{single: true}, []Spec{{Name: "r", Text: fillCode}}); err == nil || !strings.Contains(err.Error(), "POLY_PERF") {
		t.Errorf("error %v, expected one about POLY_PERF", err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("the map was written behind the link")
	}
}
