package files

import (
	"iter"
	"math/big"
)

// Value is the contents of a file besides the elements of tensors: nil, bool, int64, *big.Int, float64, string, []byte, *List,
// *Dict or *Tensor.
type Value any

// maxValues bounds the values of a file: one takes up to a hundred bytes of memory, but as little as one byte in a file.
// Vocabularies of a million tokens and checkpoints of a million tensors stay far below.
const maxValues = 1 << 23

// List is a list or a tuple; Python distinguishes them.
type List struct {
	Items []Value
	Tuple bool
}

// Dict is a map with ordered keys: nil, bool, int64, float64 or string.
type Dict struct {
	keys   []Value
	values []Value
	place  map[Value]int
}

// NewDict is an empty map.
func NewDict() *Dict { return &Dict{} }

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Get finds the value of a key.
func (d *Dict) Get(key Value) (v Value, ok bool) {
	i, ok := d.place[key]
	if ok {
		v = d.values[i]
	}
	return v, ok
}

// Set gives a key a value; a new key comes last.
func (d *Dict) Set(key, v Value) {
	if i, ok := d.place[key]; ok {
		d.values[i] = v
		return
	}
	if d.place == nil {
		d.place = map[Value]int{}
	}
	d.place[key] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, v)
}

// All are the keys with their values, in order.
func (d *Dict) All() iter.Seq2[Value, Value] {
	return func(yield func(k, v Value) bool) {
		for i, k := range d.keys {
			if !yield(k, d.values[i]) {
				return
			}
		}
	}
}

// Text is the string at a key; ok is false if there is none.
func (d *Dict) Text(key string) (text string, ok bool) {
	v, _ := d.Get(key)
	text, ok = v.(string)
	return text, ok
}

// Int is the integer at a key; ok is false if there is none, or none of 64 bits.
func (d *Dict) Int(key string) (n int64, ok bool) {
	v, _ := d.Get(key)
	n, ok = v.(int64)
	return n, ok
}

// Float is the number at a key; ok is false if there is none.
func (d *Dict) Float(key string) (x float64, ok bool) {
	v, _ := d.Get(key)
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case *big.Int:
		x, _ = new(big.Float).SetInt(v).Float64()
		return x, true
	}
	return 0, false
}

// kindOf is the kind of a value, for messages.
func kindOf(v Value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an integer"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	case *List:
		if v.Tuple {
			return "a tuple"
		}
		return "a list"
	case *Dict:
		return "a map"
	case *Tensor:
		return "a tensor"
	}
	return "an object"
}
