package abi

import "testing"

// After fork every function of the header says in the child what is wrong, and the parent goes on.
func TestEveryFunctionAfterFork(t *testing.T) { within(t, nil, build(t, "forked.c")) }

// What is made and ended leaves nothing behind, neither on the heap of C nor on that of Go.
func TestNothingLeaks(t *testing.T) { within(t, []string{"GOGC=50"}, build(t, "leaks.c")) }
