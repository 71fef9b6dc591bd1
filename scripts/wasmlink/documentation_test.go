package main

import "testing"

func TestDocumentationIsCleared(t *testing.T) {
	texts := documentation()
	if len(texts) < 400 {
		t.Errorf("%d texts, expected one of most operations", len(texts))
	}
	mem := image("before" + texts[0] + texts[1] + "between" + texts[0] + "behind")
	size := len(mem)
	mem.clearTexts(texts[:2])
	var left []byte
	for _, b := range mem {
		if b != 0 {
			left = append(left, b)
		}
	}
	if string(left) != "beforebetweenbehind" || len(mem) != size {
		t.Errorf("%q of %d bytes is left, expected what is no documentation", left, len(mem))
	}
}
