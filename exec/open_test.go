package exec_test

import (
	"strings"
	"testing"

	"polygrad/exec"
)

// TestWrongSettings opens devices with environment variables that cannot be: which ones there are stands in
// core/settings.
func TestWrongSettings(t *testing.T) {
	for _, c := range [][2]string{{"POLY_DEVICE", "abacus"}, {"POLY_CPU", "mmx"}, {"POLY_FUSE", "off"}, {"POLY_DUMP", "typo"}} {
		t.Run(c[0], func(t *testing.T) {
			t.Setenv(c[0], c[1])
			_, err := exec.Open("interp")
			if err == nil || !strings.HasPrefix(err.Error(), c[0]+`: got "`+c[1]+`", expected one of `) {
				t.Errorf("error %v, expected one that shows %s=%s and what it may be", err, c[0], c[1])
			}
		})
	}
	for _, what := range []string{"all", "plan", "nest", "x64", "beam", "number the uops", "expander"} {
		t.Setenv("POLY_DUMP", what)
		if _, err := exec.Open("interp"); err != nil {
			t.Errorf("POLY_DUMP=%s: %v", what, err)
		}
	}
}
