package main

import (
	"bytes"

	"polygrad/core/tensor/ops"
)

// shortestText is the minimum length of a text to be unique in the data.
const shortestText = 32

// documentation is the texts of operations, which only the generator of the bindings reads.
func documentation() []string {
	var texts []string
	add := func(text string) {
		if len(text) >= shortestText {
			texts = append(texts, text)
		}
	}
	for _, op := range ops.All() {
		add(op.Doc)
	}
	for _, m := range ops.Modules() {
		add(m.Doc)
		for _, op := range m.Ops {
			add(op.Doc)
		}
	}
	return texts
}

// clearTexts overwrites texts by zeros.
func (mem image) clearTexts(texts []string) {
	for _, text := range texts {
		for at := bytes.Index(mem, []byte(text)); at >= 0; at = bytes.Index(mem, []byte(text)) {
			clear(mem[at : at+len(text)])
		}
	}
}
