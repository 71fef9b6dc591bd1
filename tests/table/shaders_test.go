package table

import (
	"strings"
	"testing"

	"polygrad/exec"
	"polygrad/tests/devices/shaders"
	"polygrad/tests/part"
)

// TestGoShaders checks the shaders of the cases of the table but those that need float64, which GPUs lack.
func TestGoShaders(t *testing.T) {
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	d := shaders.New()
	e := exec.New(d)
	for _, c := range part.Of(t, cases, part.Week, 0) {
		t.Run(c.Name, func(t *testing.T) {
			if err := runOn(t, c, e); err != nil && !strings.Contains(err.Error(), "device shaders has no float64") {
				t.Error(err)
			}
		})
	}
	d.Validate(t)
}
