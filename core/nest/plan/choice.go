package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// knob is one decision about the layout of a band. Knobs are in the order in which a search tries other values: first
// those that are seldom many times slower.
type knob uint8

const (
	// knobPackColumns and knobRowPacks say whether operands of the columns, and of the rows, are packed.
	knobPackColumns knob = iota
	knobPackRows
	// knobLanes is the number of invocations of a workgroup of a GPU, knobLaneRows how many of them are along the rows of a product, or along
	// the steps of a sum. knobSubgroups says whether they exchange values without memory.
	knobLanes
	knobLaneRows
	knobSubgroups
	// knobSplitK is about how many steps of a product's sum make a part of it.
	knobSplitK
	// knobMultiPass says whether a sum over rows is made in passes.
	knobMultiPass
	// knobTranspose says whether vectors are turned in registers.
	knobTranspose
	// knobTileVectors and knobTall are the vectors and the rows of a tile.
	knobTileVectors
	knobTileRows
	// knobRowsInnermost says whether the tiles of the rows are the innermost loop, and not those of the columns.
	knobRowsInnermost
	// knobColumnBlock and knobDown are the tiles of columns and of rows in a block.
	knobColumnBlock
	knobRowBlock
	// knobPartialSums is how many partial sums a loop that collects has for each of its sums.
	knobPartialSums
	// knobWorkItems is the level of the nest whose iterations the threads share.
	knobWorkItems
	// knobRowAxis is the other axis of a register tile.
	knobRowAxis
	// knobVectorAxis is the axis whose iterations are the lanes of vectors, none for those of the loops that collect.
	knobVectorAxis
	numKnobs
)

// What knobs are set to beside numbers from 1 on. Axes and levels are counted from 1.
const (
	open = 0 // left to the heuristics
	none = -1
	off  = -1
	on   = 1
)

// Choice is the layout chosen for a kernel: the knobs of its bands, in the order in which they are laid out, separated
// by /. The knobs of a band are letters with numbers, such as v2w4h7. Knobs that it leaves out are set by the heuristics; the
// empty Choice leaves all to them. Knobs that do not suit a band have no effect.
type Choice string

// Knobs is the knobs of a band.
type Knobs [numKnobs]int64

// known lists the letter and the valid values of each knob.
var known = [numKnobs]struct {
	letter    byte
	low, high int64
}{
	knobLanes:         {'l', usualLanes, 1024},
	knobLaneRows:      {'a', 1, 1024},
	knobSubgroups:     {'s', off, on},
	knobVectorAxis:    {'v', none, 64},
	knobRowAxis:       {'r', none, 64},
	knobTranspose:     {'t', off, on},
	knobMultiPass:     {'p', off, on},
	knobPackColumns:   {'c', off, on},
	knobPackRows:      {'d', off, on},
	knobSplitK:        {'k', none, 1 << 30},
	knobTileVectors:   {'w', open, 64},
	knobTileRows:      {'h', open, 64},
	knobRowsInnermost: {'i', off, on},
	knobColumnBlock:   {'x', none, 1 << 30},
	knobRowBlock:      {'y', none, 1 << 30},
	knobPartialSums:   {'u', open, 64},
	knobWorkItems:     {'n', open, 64},
}

// ParseChoice checks the text of a choice.
func ParseChoice(text string) (Choice, error) {
	bands, err := Choice(text).Knobs()
	if err != nil {
		return "", fmt.Errorf("nest.ParseChoice: %w", err)
	}
	return choiceOf(bands), nil
}

// Knobs takes a choice apart.
func (c Choice) Knobs() ([]Knobs, error) {
	if c == "" {
		return nil, nil
	}
	var out []Knobs
	for _, text := range strings.Split(string(c), "/") {
		b := Knobs{}
		for len(text) > 0 {
			k, n := knobOf(text[0]), 1
			for n < len(text) && (text[n] == '-' || '0' <= text[n] && text[n] <= '9') {
				n++
			}
			v, err := strconv.ParseInt(text[1:n], 10, 64)
			if err != nil || k == numKnobs || v == open || v < known[k].low || v > known[k].high || b[k] != open {
				return nil, fmt.Errorf("got %q in choice %q, expected one of the letters %s, each once, with a number", text[:n], c, letters())
			}
			b[k], text = v, text[n:]
		}
		out = append(out, b)
	}
	return out, nil
}

func knobOf(letter byte) knob {
	for k := range numKnobs {
		if known[k].letter == letter {
			return k
		}
	}
	return numKnobs
}

func letters() string {
	s := ""
	for k := range numKnobs {
		s += string(known[k].letter)
	}
	return s
}

// choiceOf is the text of knobs.
func choiceOf(bands []Knobs) Choice {
	texts := make([]string, len(bands))
	last := 0
	for i, b := range bands {
		for k, v := range b {
			if v != open {
				texts[i] += string(known[k].letter) + strconv.FormatInt(v, 10)
				last = i + 1
			}
		}
	}
	return Choice(strings.Join(texts[:last], "/"))
}

// or is the value of a knob, or else the given one of the heuristics, clamped to 1 … most.
func (b *Knobs) or(k knob, heuristic, most int64) int64 {
	if b[k] > 0 {
		heuristic = b[k]
	}
	return max(min(heuristic, most), 1)
}

// allows reports whether an axis may be what a knob chooses.
func (b *Knobs) allows(k knob, a *Axis) bool { return b[k] == open || b[k] == a.Number }
