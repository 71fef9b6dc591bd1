package abi

import (
	"fmt"
	"testing"
)

// After fork every function of the header says in the child what is wrong, and the parent goes on.
func TestEveryFunctionAfterFork(t *testing.T) { within(t, nil, build(t, "forked.c")) }

// TestNothingLeaks makes and frees every object in rounds: neither the C heap nor Go's grows.
func TestNothingLeaks(t *testing.T) {
	warm, rounds := 15, 30
	if testing.Short() {
		warm, rounds = 10, 20
	}
	within(t, []string{"GOGC=50"}, build(t, "leaks.c"), fmt.Sprint(warm), fmt.Sprint(rounds))
}
