package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// knob is one decision about the layout of a band. A search varies the knobs in this order: first those whose other values are rarely many times
// slower.
type knob uint8

const (
	// knobPackColumns and knobPackRows say whether operands of the columns, and of the rows, are packed.
	knobPackColumns knob = iota
	knobPackRows
	// knobLanes is the number of invocations of a workgroup of a GPU, knobLaneRows the number of them along the rows of a product or the
	// steps of a sum. knobSubgroups: they exchange values through registers.
	knobLanes
	knobLaneRows
	knobSubgroups
	// knobSplitK is the approximate number of steps in a part of a split-K sum.
	knobSplitK
	// knobMultiPass says whether a sum over rows is multi-pass.
	knobMultiPass
	// knobTranspose says whether vectors are transposed in registers.
	knobTranspose
	// knobTileVectors and knobTileRows are the numbers of vectors and of rows of a tile.
	knobTileVectors
	knobTileRows
	// knobRowsInnermost says whether the tiles of the rows are the innermost loop, and not those of the columns.
	knobRowsInnermost
	// knobColumnBlock and knobRowBlock are the numbers of tiles of columns and of rows in a block.
	knobColumnBlock
	knobRowBlock
	// knobPartialSums is the number of accumulators for each sum of a reduction loop.
	knobPartialSums
	// knobWorkItems is the level of the nest whose iterations the threads share.
	knobWorkItems
	// knobRowAxis is the axis of the rows of a register tile.
	knobRowAxis
	// knobVectorAxis is the vectorized axis, none if reduction loops are vectorized.
	knobVectorAxis
	numKnobs
)

// Values of knobs other than numbers from 1 on. Axes and levels are numbered from 1.
const (
	auto = 0 // left to the heuristics
	none = -1
	off  = -1
	on   = 1
)

// Choice is the chosen layout of a kernel: the knobs of its bands in planning order, separated by /. The knobs of a band are letters
// with numbers, such as v2w4h7. Missing knobs are set by heuristics (all of them in the empty Choice); knobs that a band does not have
// are ignored.
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
	knobTileVectors:   {'w', auto, 64},
	knobTileRows:      {'h', auto, 64},
	knobRowsInnermost: {'i', off, on},
	knobColumnBlock:   {'x', none, 1 << 30},
	knobRowBlock:      {'y', none, 1 << 30},
	knobPartialSums:   {'u', auto, 64},
	knobWorkItems:     {'n', auto, 64},
}

// ParseChoice checks the text of a choice.
func ParseChoice(text string) (Choice, error) {
	bands, err := Choice(text).Knobs()
	if err != nil {
		return "", fmt.Errorf("nest.ParseChoice: %w", err)
	}
	return choiceOf(bands), nil
}

// Knobs parses a choice.
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
			if err != nil || k == numKnobs || v == auto || v < known[k].low || v > known[k].high || b[k] != auto {
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
			if v != auto {
				texts[i] += string(known[k].letter) + strconv.FormatInt(v, 10)
				last = i + 1
			}
		}
	}
	return Choice(strings.Join(texts[:last], "/"))
}

// or is the value of a knob, or the default if it is auto, clamped to 1 … most.
func (b *Knobs) or(k knob, heuristic, most int64) int64 {
	if b[k] > 0 {
		heuristic = b[k]
	}
	return max(min(heuristic, most), 1)
}

// allows reports whether a knob permits an axis.
func (b *Knobs) allows(k knob, a *Axis) bool { return b[k] == auto || b[k] == a.Number }
