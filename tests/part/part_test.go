package part

import (
	"slices"
	"testing"
)

// Successive parts are all cases, each once.
func TestOf(t *testing.T) {
	cases := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, offset := range []int{0, 5} {
		var found []int
		for _, turn := range []string{"20000", "20001", "20002"} {
			t.Setenv(setting, turn)
			found = append(found, Of(t, cases, 3, offset)...)
		}
		if slices.Sort(found); !slices.Equal(found, cases) {
			t.Errorf("three turns have %v", found)
		}
	}
	t.Setenv(setting, "all")
	if found := Of(t, cases, 3, 1); !slices.Equal(found, cases) {
		t.Errorf("all are %v", found)
	}
}

// skipping notes that a test is skipped.
type skipping struct {
	testing.TB
	skipped int
}

func (s *skipping) Skip(...any) { s.skipped++ }

// One day of three has a test, and so has POLY_TESTS=all.
func TestDay(t *testing.T) {
	s := &skipping{TB: t}
	for _, turn := range []string{"20000", "20001", "20002", "all"} {
		t.Setenv(setting, turn)
		Day(s, 3, 1)
	}
	if s.skipped != 2 {
		t.Errorf("skipped on %d days of three", s.skipped)
	}
}
