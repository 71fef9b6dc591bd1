package main

import (
	"regexp"
	"slices"
	"strings"
)

// The packages behind this one call their parameters as tensors' users do, the header often as the original
// interface did. Errors that reach C name the argument as the header names it.

// headerNames are the names that the header may have for a parameter of the core.
var headerNames = map[string][]string{
	"axis":        {"axes"},
	"bounds":      {"pairs"},
	"data":        {"ir"},
	"dim":         {"axis", "axes"},
	"dim0":        {"axis0"},
	"dim1":        {"axis1"},
	"dims":        {"axes", "shape"},
	"end_dim":     {"last"},
	"file":        {"data"},
	"index":       {"args", "idx"},
	"kernel_size": {"kernel"},
	"io":          {"inputs"},
	"loss":        {"y"},
	"order":       {"perm"},
	"padding":     {"pairs"},
	"repeats":     {"counts", "classes", "steps", "stop", "count"},
	"shape":       {"dims", "sizes", "size", "counts", "pairs", "inner", "classes", "T", "steps", "count", "value"},
	"start_dim":   {"first"},
	"stop":        {"classes", "steps"},
	"stores":      {"store"},
	"tensors":     {"xs", "ops", "entries"},
	"weight":      {"table"},
	"x":           {"src", "a", "logits"},
	// The sizes of an identity matrix.
	"poly_eye shape": {"n"}, "poly_eye repeats": {"n"}, "poly_eye stop": {"n"},
	"poly_eye_by_id shape": {"n"}, "poly_eye_by_id repeats": {"n"}, "poly_eye_by_id stop": {"n"},
}

// origins are names of Go functions before what they complain about.
var origins = regexp.MustCompile(`\b[a-z]+\.[A-Z]\w*: `)

// inWordsOf puts the name that the header has for an argument of fn in front of what is wrong with it. What is found
// inside of a composed operation is a matter of its arguments together.
func inWordsOf(fn, text string) string {
	text = origins.ReplaceAllString(text, "")
	i := strings.IndexAny(text, ":[ ")
	if i < 0 || text[i] == ' ' {
		return text
	}
	word := text[:i]
	names := strings.Fields(parameters(fn))
	if word == "operands" || slices.Contains(names, word) {
		return text
	}
	for _, n := range slices.Concat(headerNames[fn+" "+word], headerNames[word]) {
		if slices.Contains(names, n) {
			return n + text[i:]
		}
	}
	if len(names) == 0 {
		return text
	}
	return "arguments: " + text
}
