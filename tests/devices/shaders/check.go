package shaders

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"polygrad/render/wgsl"
)

// Validate has the tools naga and tint check all shaders so far, each if it is installed.
func (d *Device) Validate(t *testing.T) {
	t.Helper()
	all := d.Shaders()
	dir := t.TempDir()
	paths := make([]string, len(all))
	for i, s := range all {
		paths[i] = filepath.Join(dir, fmt.Sprintf("%d.wgsl", i))
		if err := os.WriteFile(paths[i], []byte(s.Source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("naga", func(t *testing.T) {
		naga, err := exec.LookPath("naga")
		if err != nil {
			t.Skip("naga is not installed")
		}
		const atOnce = 500
		for i := 0; i < len(paths); i += atOnce {
			// A file in error names the others that are right; so it is looked for alone.
			if exec.Command(naga, append([]string{"--bulk-validate"}, paths[i:min(i+atOnce, len(paths))]...)...).Run() == nil {
				continue
			}
			for j := i; j < min(i+atOnce, len(paths)); j++ {
				if msg, err := exec.Command(naga, paths[j]).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s\n%s", err, msg, all[j].Source)
				}
			}
		}
	})
	t.Run("tint", func(t *testing.T) {
		tint, err := exec.LookPath("tint")
		if err != nil {
			t.Skip("tint is not installed")
		}
		for i, p := range paths {
			if err := os.WriteFile(p, []byte(wgsl.Enabled(all[i].Source)), 0o600); err != nil {
				t.Fatal(err)
			}
			if msg, err := exec.Command(tint, "--format", "wgsl", "-o", os.DevNull, p).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, msg, all[i].Source)
			}
		}
	})
	t.Logf("%d shaders", len(all))
}
