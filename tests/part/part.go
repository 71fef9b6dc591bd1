// Package part chooses which cases of a long table a run of the tests looks at. Each day has the next part of them.
package part

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// setting names the part, by a number, or all; scripts/run_tests.py sets it for all languages.
const setting = "POLY_TESTS"

// Week is how many parts the cases have that each week is to have all of.
const Week = 7

// Of is one of so many parts of the cases; tests with different offsets have different ones on the same day.
func Of[T any](t testing.TB, cases []T, parts, offset int) []T {
	text := os.Getenv(setting)
	if text == "all" {
		return cases
	}
	if text == "" {
		text = fmt.Sprint(time.Now().Unix() / (24 * 60 * 60))
	}
	turn, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		t.Fatalf("%s=%s: expected a number or all", setting, text)
	}
	t.Logf("one case in %d: %s=%s repeats it", parts, setting, text)
	var out []T
	for i := (int(turn) + offset) % parts; i < len(cases); i += parts {
		out = append(out, cases[i])
	}
	return out
}

// Day skips a test on all days but one in so many; tests with different offsets have different days.
func Day(t testing.TB, parts, offset int) {
	if len(Of(t, []int{0}, parts, offset)) == 0 {
		t.Skip("another day has it")
	}
}
