package main

import (
	"slices"
	"strings"
)

// The packages behind this one call their parameters as tensors' users do, the header often as the original
// interface did. Errors that reach C name the argument as the header names it.

// headerNames are the names that the header may have for a parameter of the core.
var headerNames = map[string][]string{
	"axis":      {"axes"},
	"bounds":    {"pairs"},
	"data":      {"ir"},
	"dim":       {"axis", "axes"},
	"dim0":      {"axis0"},
	"dim1":      {"axis1"},
	"dims":      {"axes", "shape"},
	"end_dim":   {"last"},
	"file":      {"data"},
	"index":     {"args", "idx"},
	"io":        {"inputs"},
	"loss":      {"y"},
	"order":     {"perm"},
	"padding":   {"pairs"},
	"repeats":   {"counts", "n", "classes", "steps", "stop"},
	"shape":     {"dims", "sizes", "size", "counts", "pairs", "inner", "n", "classes", "T", "steps"},
	"start_dim": {"first"},
	"stop":      {"n", "classes", "steps"},
	"stores":    {"store"},
	"tensors":   {"xs", "ops", "entries"},
	"weight":    {"table"},
	"x":         {"src", "a", "logits"},
}

// inWordsOf puts the name that the header has for an argument of fn in front of what is wrong with it.
func inWordsOf(fn, text string) string {
	i := strings.IndexAny(text, ":[ ")
	if i < 0 || text[i] == ' ' {
		return text
	}
	names := strings.Fields(parameters(fn))
	if slices.Contains(names, text[:i]) {
		return text
	}
	for _, n := range headerNames[text[:i]] {
		if slices.Contains(names, n) {
			return n + text[i:]
		}
	}
	return text
}
