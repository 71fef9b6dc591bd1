package files

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of lists and maps.
const maxDepth = 64

// EncodeJSON writes a value as JSON. Integers have no fraction; other numbers have one or an exponent. Values without a JSON form
// become an object with one key: {"$float": "nan"}, "inf" or "-inf"; {"$int": "digits"} for an integer of more than 53 bits;
// {"$bytes": base64}; {"$tuple": [...]}; {"$tensor": its index in File.Tensors}; {"$dict": [[key, value], ...]} for a map with a
// key that is no string, or with one key that begins with $. limit bounds the output: a value may refer to the same part often.
func EncodeJSON(v Value, place func(*Tensor) int, limit int) ([]byte, error) {
	w := jsonWriter{place: place, limit: limit}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

type jsonWriter struct {
	out   []byte
	place func(*Tensor) int
	limit int
}

func (w *jsonWriter) text(s string) { w.out = append(w.out, s...) }

func (w *jsonWriter) value(v Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("values stand more than %d deep in each other", maxDepth)
	}
	if len(w.out) > w.limit {
		return fmt.Errorf("values refer to each other so often that they would take more than %d bytes of JSON", w.limit)
	}
	switch v := v.(type) {
	case nil:
		w.text("null")
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		if -1<<53 <= v && v <= 1<<53 {
			w.out = strconv.AppendInt(w.out, v, 10)
		} else {
			w.text(`{"$int":"` + strconv.FormatInt(v, 10) + `"}`)
		}
	case *big.Int:
		w.text(`{"$int":"` + v.String() + `"}`)
	case float64:
		w.float(v)
	case string:
		return w.string(v)
	case []byte:
		if base64.StdEncoding.EncodedLen(len(v)) > w.limit {
			return w.tooLong(len(v))
		}
		w.text(`{"$bytes":"`)
		w.out = base64.StdEncoding.AppendEncode(w.out, v)
		w.text(`"}`)
	case *Tensor:
		w.text(`{"$tensor":` + strconv.Itoa(w.place(v)) + "}")
	case *List:
		return w.list(v, depth)
	case *Dict:
		return w.dict(v, depth)
	default:
		return fmt.Errorf("a %T is no value of a file", v)
	}
	return nil
}

func (w *jsonWriter) tooLong(n int) error {
	return fmt.Errorf("a text of %d bytes, expected at most %d", n, w.limit)
}

func (w *jsonWriter) float(v float64) {
	switch {
	case math.IsNaN(v):
		w.text(`{"$float":"nan"}`)
	case math.IsInf(v, 1):
		w.text(`{"$float":"inf"}`)
	case math.IsInf(v, -1):
		w.text(`{"$float":"-inf"}`)
	default:
		n := len(w.out)
		w.out = strconv.AppendFloat(w.out, v, 'g', -1, 64)
		if !strings.ContainsAny(string(w.out[n:]), ".e") {
			w.text(".0")
		}
	}
}

// string writes a string; invalid UTF-8 as bytes.
func (w *jsonWriter) string(s string) error {
	if len(s) > w.limit {
		return w.tooLong(len(s))
	}
	if !utf8.ValidString(s) {
		return w.value([]byte(s), 0)
	}
	const hex = "0123456789abcdef"
	w.out = append(w.out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.out = append(w.out, '\\', c)
		case c < ' ' || c == 0x7f:
			w.out = append(w.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			w.out = append(w.out, c)
		}
	}
	w.out = append(w.out, '"')
	return nil
}

func (w *jsonWriter) list(l *List, depth int) error {
	if l.Tuple {
		w.text(`{"$tuple":`)
	}
	w.text("[")
	for i, v := range l.Items {
		if i > 0 {
			w.text(",")
		}
		if err := w.value(v, depth+1); err != nil {
			return err
		}
	}
	w.text("]")
	if l.Tuple {
		w.text("}")
	}
	return nil
}

// plain reports whether a map has a JSON form that cannot be mistaken for one of the special objects.
func plain(d *Dict) bool {
	for k := range d.All() {
		s, ok := k.(string)
		if !ok || !utf8.ValidString(s) || d.Len() == 1 && strings.HasPrefix(s, "$") {
			return false
		}
	}
	return true
}

func (w *jsonWriter) dict(d *Dict, depth int) error {
	begin, between, end := "{", ":", "}"
	first, last := "", ""
	if !plain(d) {
		begin, between, end = `{"$dict":[`, ",", "]}"
		first, last = "[", "]"
	}
	w.text(begin)
	comma := ""
	for k, v := range d.All() {
		w.text(comma + first)
		comma = ","
		if err := w.value(k, depth+1); err != nil {
			return err
		}
		w.text(between)
		if err := w.value(v, depth+1); err != nil {
			return err
		}
		w.text(last)
	}
	w.text(end)
	return nil
}
