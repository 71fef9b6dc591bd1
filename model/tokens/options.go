package tokens

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Options say how texts are encoded.
type Options struct {
	Wrap       bool // add the special tokens that the model expects around a text
	Special    Special
	Truncation *Truncation // nil: none
	Padding    *Padding    // nil: none
}

// Truncation says how a text that is too long is cut, with the names of a tokenizer.json. The tokens that are cut off are dropped.
type Truncation struct {
	Most      *int   `json:"max_length"` // including the tokens around a text
	Strategy  string `json:"strategy"`   // for pairs: LongestFirst, OnlyFirst or OnlySecond
	Direction string `json:"direction"`  // Right or Left: the end that is cut
	Stride    int    `json:"stride"`     // the overlap of overflowing parts, which are dropped
}

// Padding says how the texts of a batch are padded to the longest one or to a fixed length, with the names of a tokenizer.json.
type Padding struct {
	Strategy  json.RawMessage `json:"strategy"` // "BatchLongest" or {"Fixed": length}
	Direction string          `json:"direction"`
	Multiple  *int            `json:"pad_to_multiple_of"`
	ID        int32           `json:"pad_id"`
	Type      int             `json:"pad_type_id"`
	Token     string          `json:"pad_token"`

	length int
}

// Options reads "all", "none", "refuse" or a JSON list of the texts of the special tokens that are allowed; or a JSON object {"allowed": one of
// these, "truncation": …, "padding": …}, where true stands for the setting of the tokenizer's file.
func (t *Tokenizer) Options(s string) (o Options, err error) {
	if !strings.HasPrefix(s, "{") {
		if o.Special, err = parseSpecial(s); err != nil {
			err = &ArgError{"allowed", err}
		}
		return o, err
	}
	var all struct {
		Allowed             json.RawMessage
		Truncation, Padding json.RawMessage
	}
	if err := strictly([]byte(s), &all); err != nil {
		return o, &ArgError{"options", fmt.Errorf("%w, expected truncation or padding", err)}
	}
	allowed := string(all.Allowed)
	if text := ""; json.Unmarshal(all.Allowed, &text) == nil {
		allowed = text
	}
	if o.Special, err = parseSpecial(allowed); err != nil {
		return o, &ArgError{"allowed", err}
	}
	if o.Truncation, err = setting("truncation", all.Truncation, t.truncation, strictly); err == nil {
		o.Padding, err = setting("padding", all.Padding, t.padding, strictly)
	}
	return o, err
}

// strictly reads a JSON object and refuses names that are no fields.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		if other.Field == "" {
			return fmt.Errorf("%s, expected true or an object", short(string(b)))
		}
		return fmt.Errorf("%s: a %s, expected %s", other.Field, other.Value, other.Type)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// setting is an object that is read and checked; nil for none, and for true the setting of the file.
func setting[T any, P interface {
	*T
	check() error
}](name string, raw json.RawMessage, own *T, read func([]byte, any) error) (*T, error) {
	switch string(raw) {
	case "", "null", "false":
		return nil, nil
	case "true":
		if own == nil {
			return nil, &ArgError{name, errors.New("the file says nothing of it, expected an object")}
		}
		return own, nil
	}
	v := new(T)
	err := read(raw, v)
	if err == nil {
		err = P(v).check()
	}
	if err != nil {
		return nil, &ArgError{name, err}
	}
	return v, nil
}

func oneOf(name string, value *string, known ...string) error {
	if *value == "" {
		*value = known[0]
	}
	if !slices.Contains(known, *value) {
		return fmt.Errorf("%s: %q, expected one of %s", name, short(*value), strings.Join(known, ", "))
	}
	return nil
}

const mostLength = 1 << 26

func (c *Truncation) check() error {
	if c.Most == nil || *c.Most < 0 || *c.Most > mostLength {
		return fmt.Errorf("max_length: expected 0 to %d", mostLength)
	}
	return errors.Join(oneOf("strategy", &c.Strategy, "LongestFirst", "OnlyFirst", "OnlySecond"), oneOf("direction", &c.Direction, "Right", "Left"))
}

func (p *Padding) check() error {
	var fixed struct{ Fixed *int }
	switch name := ""; {
	case len(p.Strategy) == 0 || json.Unmarshal(p.Strategy, &name) == nil && name == "BatchLongest":
	case strictly(p.Strategy, &fixed) == nil && fixed.Fixed != nil && *fixed.Fixed >= 0 && *fixed.Fixed <= mostLength:
		p.length = *fixed.Fixed
	default:
		return fmt.Errorf(`strategy: %s, expected "BatchLongest" or {"Fixed": 0 to %d}`, short(string(p.Strategy)), mostLength)
	}
	if m := or(p.Multiple, 0); m < 0 || m > mostLength {
		return fmt.Errorf("pad_to_multiple_of: %d, expected 0 to %d", m, mostLength)
	}
	if p.ID < 0 || p.ID >= mostTokens {
		return fmt.Errorf("pad_id: %d, expected 0 to %d", p.ID, mostTokens-1)
	}
	return oneOf("direction", &p.Direction, "Right", "Left")
}

// cut truncates the tokens of a text, or of two; more is the number of tokens that will be put around them.
func (c *Truncation) cut(parts [][]int32, more int) error {
	most := *c.Most - more
	if most < 0 {
		return fmt.Errorf("truncation: max_length: %d, expected %d or more, the number of tokens around the text", *c.Most, more)
	}
	lengths, total := make([]int, len(parts)), 0
	for i, ids := range parts {
		lengths[i] = len(ids)
		total += len(ids)
	}
	if total <= most {
		return nil
	}
	which := 0
	switch {
	case c.Strategy == "OnlySecond" && len(parts) < 2 && most > 0:
		return errors.New("truncation: the strategy OnlySecond, expected a pair of texts")
	case most == 0:
		clear(lengths)
	case c.Strategy == "LongestFirst" && len(parts) == 2: // first the longer one is cut, down to the length of the other, then both
		short, swapped := min(lengths[0], lengths[1]), lengths[0] > lengths[1]
		long := short
		if short <= most {
			long = max(short, most-short)
		}
		if short+long > most {
			short = most / 2
			long = short + most%2
		}
		if lengths[0], lengths[1] = short, long; swapped {
			lengths[0], lengths[1] = long, short
		}
	default:
		if c.Strategy == "OnlySecond" {
			which = 1
		}
		if lengths[which] -= total - most; lengths[which] <= 0 && len(parts) == 2 {
			return fmt.Errorf("truncation: the strategy %s, but the other text has %d tokens, and max_length leaves room for %d", c.Strategy, len(parts[1-which]), most)
		}
	}
	for i, ids := range parts {
		if parts[i] = ids[:lengths[i]]; c.Direction == "Left" {
			parts[i] = ids[len(ids)-lengths[i]:]
		}
	}
	return nil
}

// fill pads rows to the same length.
func (p *Padding) fill(rows [][]int32) {
	length := p.length
	if length == 0 {
		for _, ids := range rows {
			length = max(length, len(ids))
		}
	}
	if m := or(p.Multiple, 0); m > 0 {
		length = (length + m - 1) / m * m
	}
	for i, ids := range rows {
		more := slices.Repeat([]int32{p.ID}, max(length-len(ids), 0))
		if p.Direction == "Left" {
			rows[i] = append(more, ids...)
		} else {
			rows[i] = append(ids, more...)
		}
	}
}
