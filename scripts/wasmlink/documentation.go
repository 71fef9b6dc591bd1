package main

import (
	"bytes"

	"polygrad/core/tensor/ops"
)

// shortestText is the length from which a text stands nowhere else in the data.
const shortestText = 32

// documentation are the texts about operations, which only the program that writes the bindings reads.
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

// clearTexts makes texts zeros.
func (mem image) clearTexts(texts []string) {
	for _, text := range texts {
		for at := bytes.Index(mem, []byte(text)); at >= 0; at = bytes.Index(mem, []byte(text)) {
			clear(mem[at : at+len(text)])
		}
	}
}
