package plan

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Choices are read as they were written.
func TestChoiceText(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		bands := make([]Knobs, 1+r.IntN(3))
		for i := range bands {
			for k := range numKnobs {
				if r.IntN(3) == 0 {
					bands[i][k] = known[k].low + r.Int64N(min(known[k].high, 1000)-known[k].low+1)
				}
			}
		}
		text := choiceOf(bands)
		back, err := text.Knobs()
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bands {
			if i < len(back) && back[i] != b || i >= len(back) && b != (Knobs{}) {
				t.Fatalf("band %d of %q is read as %v, expected %v", i, text, back, b)
			}
		}
		if again, err := ParseChoice(string(text)); err != nil || again != text {
			t.Fatalf("%q is read as %q, %v", text, again, err)
		}
	}
}

func TestBadChoices(t *testing.T) {
	for _, text := range []string{"z3", "v", "3", "v2v3", "t2", "w65", "w-1", "v0", "v1 w2", "w99999999999999999999"} {
		_, err := ParseChoice(text)
		if err == nil || !strings.Contains(err.Error(), letters()) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %v, expected one that shows the choice and the letters", text, err)
		}
	}
}
