package model

import (
	"fmt"
	"slices"
	"sync"
)

// Generator continues texts with a language model. It keeps the state of earlier tokens (the key-value cache), so each further
// token costs one pass over the weights. Its methods may be called from any goroutine; calls are serialized.
type Generator struct {
	mu      sync.Mutex
	m       *Instance
	freed   bool
	engine  engine
	rows    int64
	vocab   int64
	room    int64
	texts   [][]int32 // the tokens of each row
	logits  []float32 // (rows, vocab) after the last tokens
	memory  *block    // of the logits, which C may read
	pending []int32   // drawn last by Next, not yet fed to the model
	ends    []int32   // the tokens that end a text
	last    []int32   // drawn last by Next
	ended   []bool    // the texts that have ended
	sampling
}

// engine computes logits for a Generator.
type engine interface {
	// feed appends n tokens to each row; after a reset, row r begins with pad[r] padding tokens.
	feed(tokens [][]int32, pad []int64, logits []float32) error
	// fits reports whether n more tokens have room.
	fits(n int) bool
	reset()
	free()
}

// NewGenerator makes a generator of rows texts, 0 for as many as the instance has. Any instance works that has an input x
// (rows, tokens) and an entry point forward with an output (rows, tokens, vocabulary); without a language model of this
// package, each token costs a run over all of them.
func (m *Instance) NewGenerator(rows int64) (*Generator, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.newGenerator(rows)
	if err != nil {
		return nil, fmt.Errorf("model.Instance.NewGenerator: %w", err)
	}
	return g, nil
}

func (m *Instance) newGenerator(rows int64) (*Generator, error) {
	if m.freed {
		return nil, ErrFreed
	}
	if rows == 0 {
		if x := m.named["x"]; x != nil && len(x.Shape) == 2 {
			rows = x.Shape[0]
		}
	}
	if rows < 1 || rows > 1<<20 {
		return nil, fmt.Errorf("rows: %d, expected at least 1", rows)
	}
	g := &Generator{m: m, rows: rows, sampling: greedy}
	var err error
	if m.text != nil {
		size := m.text.size()
		g.vocab, g.room = size.vocab, size.room
		g.engine, err = newCached(m, rows)
	} else {
		g.vocab, g.room, g.engine, err = newRepeated(m, rows)
	}
	if err != nil {
		return nil, err
	}
	g.texts, g.ended = make([][]int32, rows), make([]bool, rows)
	if g.memory, err = newBlock(rows * g.vocab); err != nil {
		g.engine.free()
		return nil, err
	}
	g.logits = g.memory.arrays[0]
	return g, nil
}

// Rows, Vocab and Room are the number of texts, the size of the vocabulary, and the capacity of a text in tokens.
func (g *Generator) Rows() int64  { return g.rows }
func (g *Generator) Vocab() int64 { return g.vocab }
func (g *Generator) Room() int64  { return g.room }

// Free releases the memory.
func (g *Generator) Free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.freed {
		g.freed = true
		g.engine.free()
		g.memory.free()
		g.logits, g.texts = nil, nil
	}
}

// Reset drops all tokens and restarts the sampling from its seed.
func (g *Generator) Reset() error {
	return g.do("Reset", func() error {
		g.engine.reset()
		for i := range g.texts {
			g.texts[i] = nil
		}
		g.pending = nil
		clear(g.ended)
		g.restart(g.rows)
		return nil
	})
}

// do runs a method with the instance locked.
func (g *Generator) do(name string, f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	err := ErrFreed
	if !g.freed && !g.m.freed {
		err = f()
	}
	if err != nil {
		return fmt.Errorf("model.Generator.%s: %w", name, err)
	}
	return nil
}

// Feed appends tokens to each row. Rows of different lengths are only possible at the beginning. A model with room for T
// tokens sees the last T of each row; beyond T, each call costs a run over all of them.
func (g *Generator) Feed(tokens [][]int32) error {
	return g.do("Feed", func() error {
		if err := g.check(tokens); err != nil {
			return err
		}
		if g.pending != nil { // drawn tokens, then other ones are fed
			last := g.pending
			g.pending = nil
			tokens = slices.Clone(tokens)
			for r := range min(len(tokens), len(last)) {
				tokens[r] = append([]int32{last[r]}, tokens[r]...)
			}
		}
		return g.feed(tokens)
	})
}

// check is an error if tokens cannot be appended.
func (g *Generator) check(tokens [][]int32) error {
	if int64(len(tokens)) != g.rows {
		return fmt.Errorf("tokens: %d rows, expected %d", len(tokens), g.rows)
	}
	for r, row := range tokens {
		if len(row) == 0 {
			return fmt.Errorf("tokens: row %d is empty, expected at least 1 token", r)
		}
		if len(row) != len(tokens[0]) && g.texts[0] != nil {
			return fmt.Errorf("tokens: row %d has %d tokens and row 0 has %d: later tokens must be as many for each row", r, len(row), len(tokens[0]))
		}
		for _, t := range row {
			if t < 0 || int64(t) >= g.vocab {
				return fmt.Errorf("tokens: row %d has the token %d, expected 0 to %d", r, t, g.vocab-1)
			}
		}
	}
	return nil
}

func (g *Generator) feed(tokens [][]int32) error {
	first := g.texts[0] == nil
	for r, row := range tokens {
		g.texts[r] = append(g.texts[r], row...)
	}
	if first || !g.engine.fits(len(tokens[0])) {
		g.engine.reset()
		tokens = make([][]int32, g.rows)
		for r, text := range g.texts {
			tokens[r] = text[max(0, len(text)-int(g.room)):]
		}
	}
	tokens, pad := padded(tokens)
	err := g.engine.feed(tokens, pad, g.logits)
	if err != nil {
		g.engine.reset()
		clear(g.texts)
	}
	return err
}

// padded pads all rows in front with zeros to the longest length.
func padded(tokens [][]int32) ([][]int32, []int64) {
	n := 0
	for _, row := range tokens {
		n = max(n, len(row))
	}
	pad := make([]int64, len(tokens))
	for r, row := range tokens {
		if pad[r] = int64(n - len(row)); pad[r] > 0 {
			tokens[r] = append(make([]int32, pad[r], n), row...)
		}
	}
	return tokens, pad
}

// Logits are the logits of the next token, (rows, vocab). They stay at one address until Free and change with each Feed and
// Next.
func (g *Generator) Logits() ([]float32, error) {
	var out []float32
	err := g.do("Logits", func() error {
		out = g.logits
		return g.settle()
	})
	return out, err
}

// settle feeds the tokens drawn last to the model.
func (g *Generator) settle() error {
	if g.texts[0] == nil {
		return fmt.Errorf("there are no tokens yet, expected a call of Feed")
	}
	if g.pending == nil {
		return nil
	}
	tokens := make([][]int32, g.rows)
	for r, t := range g.pending {
		tokens[r] = []int32{t}
	}
	g.pending = nil
	return g.feed(tokens)
}

// SetEnds sets the tokens that end a text. A text that has ended is continued with the token that ended it.
func (g *Generator) SetEnds(tokens []int32) error {
	return g.do("SetEnds", func() error {
		g.ends = slices.Clone(tokens)
		clear(g.ended)
		return nil
	})
}

// Ended reports whether all texts have ended.
func (g *Generator) Ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.Contains(g.ended, false)
}

// Next draws the next token of each row and appends it. out has room for one token a row.
func (g *Generator) Next(out []int32) error {
	return g.do("Next", func() error {
		if int64(len(out)) != g.rows {
			return fmt.Errorf("out: room for %d tokens, expected %d", len(out), g.rows)
		}
		if err := g.settle(); err != nil {
			return err
		}
		for r := range g.rows {
			if g.ended[r] {
				out[r] = g.last[r]
				continue
			}
			t, err := g.draw(int(r), g.logits[r*g.vocab:(r+1)*g.vocab])
			if err != nil {
				return fmt.Errorf("row %d: %w", r, err)
			}
			out[r] = t
		}
		for r, t := range out { // only when all are drawn: after an error they are drawn again
			g.ended[r] = g.ended[r] || slices.Contains(g.ends, t)
		}
		g.last = slices.Clone(out)
		g.pending = g.last
		return nil
	})
}
