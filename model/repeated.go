package model

import (
	"fmt"
	"slices"
)

// repeated runs the entry point forward of any model over all tokens again for each new one.
type repeated struct {
	m         *Instance
	x, output *Buffer
	texts     [][]int32
	length    int64
}

func newRepeated(m *Instance, rows int64) (vocab, room int64, e engine, err error) {
	fail := func(format string, a ...any) (int64, int64, engine, error) {
		return 0, 0, nil, fmt.Errorf("the instance is no language model: "+format, a...)
	}
	x, output := m.named["x"], m.named["output"]
	switch {
	case m.named["attention_mask"] != nil:
		return fail("it is an encoder, whose tokens see those after them (input \"attention_mask\")")
	case x == nil || x.Role != Input || len(x.Shape) != 2:
		return fail("it has no input \"x\" (rows, tokens)")
	case output == nil || output.Role != Output || len(output.Shape) != 3 || !slices.Equal(output.Shape[:2], x.Shape):
		return fail("it has no output \"output\" (rows, tokens, vocabulary)")
	}
	if rows > x.Shape[0] {
		return 0, 0, nil, fmt.Errorf("rows: %d, expected at most the %d of the instance", rows, x.Shape[0])
	}
	if _, err := m.entry(EntryForward); err != nil {
		return fail("%w", err)
	}
	return output.Shape[2], x.Shape[1], &repeated{m: m, x: x, output: output, texts: make([][]int32, rows)}, nil
}

func (e *repeated) fits(n int) bool { return e.length+int64(n) <= e.x.Shape[1] }

func (e *repeated) reset() {
	clear(e.texts)
	e.length = 0
}

func (e *repeated) free() {}

func (e *repeated) feed(tokens [][]int32, pad []int64, logits []float32) error {
	for r, row := range tokens {
		e.texts[r] = append(e.texts[r], row[pad[r]:]...)
		e.length = max(e.length, int64(len(e.texts[r])))
	}
	for _, name := range []string{"positions", "arange"} {
		if b := e.m.named[name]; b != nil && b.Role == Input {
			room := b.Shape[len(b.Shape)-1]
			for i := range b.Data {
				b.Data[i] = float32(int64(i) % room)
			}
			b.data.written()
		}
	}
	n, vocab := e.x.Shape[1], e.output.Shape[2]
	clear(e.x.Data)
	for r, text := range e.texts {
		for i, t := range text {
			e.x.Data[int64(r)*n+int64(i)] = float32(t)
		}
	}
	e.x.data.written()
	if err := e.m.call(EntryForward, nil); err != nil {
		return err
	}
	for r, text := range e.texts {
		at := (int64(r)*n + int64(len(text)) - 1) * vocab
		copy(logits[int64(r)*vocab:][:vocab], e.output.Data[at:at+vocab])
	}
	return nil
}
