package main

import (
	"slices"
	"strings"

	"polygrad/core/tensor"
)

// The packages below name their parameters for users of tensors, the header often as the original interface did. Errors in C name
// the argument as in the header.

// headerNames are the header's possible names of a parameter of the core.
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

// inHeaderTerms prefixes an error with the header's name of the argument of fn. An error inside a composed operation concerns its
// arguments together.
func inHeaderTerms(fn, text string) string {
	text = tensor.WithoutOrigins(text)
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

// parameters returns the names of the parameters of a function of the header, separated by blanks.
func parameters(fn string) string {
	_, rest, _ := strings.Cut(parameterNames, "\n"+fn+" ")
	names, _, _ := strings.Cut(rest, "\n")
	return names
}
