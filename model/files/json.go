package files

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads a JSON text by RFC 8259. Duplicate keys, invalid UTF-8, numbers out of the range of float64, and nesting deeper
// than 64 are errors, with their position.
func ParseJSON(text []byte) (Value, error) {
	s := jsonScanner{text: text}
	v, err := s.value()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, fmt.Errorf("files.ParseJSON: text: %w", err)
	}
	return v, nil
}

// jsonScanner reads a JSON text and builds only the requested values.
type jsonScanner struct {
	text   []byte
	pos    int
	depth  int
	values int // built so far
}

func (s *jsonScanner) bad(format string, a ...any) error {
	return fmt.Errorf("byte %d: "+format, append([]any{s.pos}, a...)...)
}

// peek is the next character after white space, 0 at the end.
func (s *jsonScanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *jsonScanner) found() string {
	if s.pos >= len(s.text) {
		return "the end"
	}
	return quote(s.text[s.pos : s.pos+1])
}

func (s *jsonScanner) end() error {
	if s.peek(); s.pos < len(s.text) {
		return s.bad("more text after the JSON value")
	}
	return nil
}

func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c || s.pos >= len(s.text) {
		return false
	}
	s.pos++
	return true
}

// items iterates over the comma-separated items between two brackets.
func (s *jsonScanner) items(open, end byte, what string, item func() error) error {
	if !s.take(open) {
		return s.bad("%s, expected %s", s.found(), what)
	}
	if s.depth++; s.depth > maxDepth {
		return s.bad("objects and lists stand more than %d deep in each other", maxDepth)
	}
	defer func() { s.depth-- }()
	if s.take(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.take(end) {
			return nil
		}
		if !s.take(',') {
			return s.bad("%s, expected a comma or %c", s.found(), end)
		}
	}
}

// object calls f for each key; f reads the value.
func (s *jsonScanner) object(f func(key string) error) error {
	seen := map[string]struct{}{}
	return s.items('{', '}', "an object", func() error {
		key, err := s.string()
		if err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return s.bad("the key %s occurs twice", quote(key))
		}
		seen[key] = struct{}{}
		if !s.take(':') {
			return s.bad("%s, expected a colon", s.found())
		}
		return f(key)
	})
}

// array calls f for each element, which f reads.
func (s *jsonScanner) array(f func() error) error { return s.items('[', ']', "a list", f) }

// ints is a list of integers of 64 bits.
func (s *jsonScanner) ints() (list []int64, err error) {
	list = []int64{}
	err = s.array(func() error {
		n, err := s.int()
		list = append(list, n)
		return err
	})
	return list, err
}

func (s *jsonScanner) int() (int64, error) {
	s.peek()
	at := s.pos
	v, err := s.number()
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		s.pos = at
		return 0, s.bad("%s, expected an integer of 64 bits", kindOf(v))
	}
	return n, nil
}

func (s *jsonScanner) string() (string, error) {
	if !s.take('"') {
		return "", s.bad("%s, expected a string", s.found())
	}
	start := s.pos
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			raw := s.text[start:s.pos]
			if !utf8.Valid(raw) {
				return "", s.bad("the string %s is no UTF-8", quote(raw))
			}
			s.pos++
			return string(raw), nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", s.bad("a control character in a string")
		}
	}
	return "", s.bad("a string without an end")
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads the rest of a string with escapes.
func (s *jsonScanner) escaped(start int) (string, error) {
	out := append([]byte{}, s.text[start:s.pos]...)
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", s.bad("the string %s is no UTF-8", quote(out))
			}
			return string(out), nil
		case c < ' ':
			return "", s.bad("a control character in a string")
		case c != '\\':
			out = append(out, c)
			continue
		}
		if s.pos >= len(s.text) {
			break
		}
		c = s.text[s.pos]
		s.pos++
		if plain, ok := escapes[c]; ok {
			out = append(out, plain)
			continue
		}
		r, ok := s.unit()
		if c != 'u' || !ok {
			return "", s.bad("an escape that JSON does not have")
		}
		if utf16.IsSurrogate(r) {
			second := rune(-1)
			if s.pos+1 < len(s.text) && s.text[s.pos] == '\\' && s.text[s.pos+1] == 'u' {
				s.pos += 2
				second, _ = s.unit()
			}
			if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
				return "", s.bad("half of a surrogate pair")
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return "", s.bad("a string without an end")
}

// unit reads 4 hexadecimal digits.
func (s *jsonScanner) unit() (rune, bool) {
	if s.pos+4 > len(s.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.text[s.pos:s.pos+4]), 16, 16)
	s.pos += 4
	return rune(n), err == nil
}

// maxDigits bounds integers of more than 64 bits.
const maxDigits = 100

func (s *jsonScanner) number() (Value, error) {
	s.peek()
	at := s.pos
	digits := func() int {
		n := s.pos
		for s.pos < len(s.text) && '0' <= s.text[s.pos] && s.text[s.pos] <= '9' {
			s.pos++
		}
		return s.pos - n
	}
	is := func(set string) bool {
		if s.pos < len(s.text) && strings.IndexByte(set, s.text[s.pos]) >= 0 {
			s.pos++
			return true
		}
		return false
	}
	is("-")
	first := s.pos
	whole, ok := true, true
	if n := digits(); n == 0 || n > 1 && s.text[first] == '0' {
		ok = false
	}
	if is(".") {
		whole = false
		ok = digits() > 0 && ok
	}
	if is("eE") {
		whole = false
		is("+-")
		ok = digits() > 0 && ok
	}
	text := string(s.text[at:s.pos])
	switch {
	case !ok:
		s.pos = at
		return nil, s.bad("%s, expected a JSON value", s.found())
	case whole && len(text) <= maxDigits:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		n, _ := new(big.Int).SetString(text, 10)
		return n, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || whole || math.IsInf(x, 0) {
		s.pos = at
		return nil, s.bad("the number %s is too large", quote(text))
	}
	return x, nil
}

var words = []struct {
	text  string
	value Value
}{{"true", true}, {"false", false}, {"null", nil}}

// value reads a value of any kind.
func (s *jsonScanner) value() (Value, error) {
	if s.values++; s.values > maxValues {
		return nil, s.bad("more than %d values", maxValues)
	}
	switch s.peek() {
	case '{':
		d := NewDict()
		err := s.object(func(key string) error {
			v, err := s.value()
			d.Set(key, v)
			return err
		})
		return d, err
	case '[':
		l := &List{}
		err := s.array(func() error {
			v, err := s.value()
			l.Items = append(l.Items, v)
			return err
		})
		return l, err
	case '"':
		return s.string()
	}
	for _, w := range words {
		if bytes.HasPrefix(s.text[s.pos:], []byte(w.text)) {
			s.pos += len(w.text)
			return w.value, nil
		}
	}
	return s.number()
}

var errNoObject = errors.New("is no JSON object")

// ParseObject is ParseJSON for a text that must be an object, as configurations are.
func ParseObject(text []byte) (*Dict, error) {
	v, err := ParseJSON(text)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, fmt.Errorf("files.ParseObject: text: %w but %s", errNoObject, kindOf(v))
	}
	return d, nil
}

// quote is a text from a file for an error message, shortened.
func quote[T string | []byte](s T) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%.*q… (%d bytes)", most, s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
