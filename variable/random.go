package variable

import (
	"polygrad/core/uop"
)

// A seed is the position of a random tensor in the stream, as a leaf of three uint32, so that programs that differ in it only are
// compiled once.
type seed struct {
	leaf  *value
	words uint64
}

// newSeed takes words of the stream.
func (c *Context) newSeed(words uint64) (*value, error) {
	m, err := allocate(12)
	if err != nil {
		return nil, err
	}
	if c.trace == nil { // else each run fills it
		if err := c.fillSeed(m, words); err != nil {
			return nil, err
		}
	}
	v, err := c.newLeaf(uop.Uint32, uop.ShapeOf(3), m)
	if err != nil {
		m.free()
		return nil, err
	}
	if c.trace != nil {
		c.trace.seeds = append(c.trace.seeds, seed{v, words})
	}
	return v, nil
}

func (c *Context) fillSeed(m *memory, words uint64) error {
	_, err := m.change()
	if err == nil {
		*(*[3]uint32)(m.data) = c.Stream.Take(words)
	}
	return err
}
