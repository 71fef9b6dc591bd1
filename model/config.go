package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Config is a JSON object with keys that ignore case; of equal keys the first counts.
type Config struct {
	values map[string]json.RawMessage
	// wrong is the first requested value of another type; its fallback was used instead.
	wrong error
	// asked are the names that were asked for, if that is of interest.
	asked map[string]bool
}

// ParseConfig reads a JSON object.
func ParseConfig(text []byte) (*Config, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("is no JSON object")
	}
	c := NewConfig()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("is no JSON: %w", err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("is no JSON: %w", err)
		}
		if name := strings.ToLower(key.(string)); c.values[name] == nil {
			c.values[name] = v
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("is no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("has more text after the JSON object")
	}
	return c, nil
}

// NewConfig makes an object without keys.
func NewConfig() *Config { return &Config{values: map[string]json.RawMessage{}} }

// value is the value of a key, nil if it is not there.
func (c *Config) value(name string) json.RawMessage {
	if c.asked != nil {
		c.asked[name] = true
	}
	return c.values[strings.ToLower(name)]
}

// unknown is an error if there is a key that was never read.
func (c *Config) unknown() error {
	known := slices.Sorted(maps.Keys(c.asked))
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			return fmt.Errorf("%s: unknown, expected %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Set gives a key a number or a text.
func (c *Config) Set(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.values[strings.ToLower(name)] = raw
	return nil
}

// Has reports whether there is a value of this name.
func (c *Config) Has(name string) bool { return c.value(name) != nil }

// Clone is a copy.
func (c *Config) Clone() *Config { return &Config{values: maps.Clone(c.values)} }

// Wrong is an error if a requested value has an unexpected type other than null.
func (c *Config) Wrong() error { return c.wrong }

// decode reads a value; false if there is none of this name and type.
func decode[T any](c *Config, name, want string) (v T, ok bool) {
	raw := c.value(name)
	if raw == nil || string(raw) == "null" {
		return v, false
	}
	if json.Unmarshal(raw, &v) != nil {
		c.refuse(name, want)
		return v, false
	}
	return v, true
}

// refuse records a value of an unexpected type.
func (c *Config) refuse(name, want string) {
	if c.wrong == nil {
		const most = 80
		raw := c.values[strings.ToLower(name)]
		c.wrong = fmt.Errorf("%s: %s, expected %s", name, raw[:min(len(raw), most)], want)
	}
}

// Number is a number, or fallback if there is none of this name. Fractions are allowed.
func (c *Config) Number(name string, fallback float64) float64 {
	if v, ok := decode[float64](c, name, "a number"); ok {
		return v
	}
	return fallback
}

// Int is the integer part of a number.
func (c *Config) Int(name string, fallback int64) int64 {
	v := c.Number(name, float64(fallback))
	if v != math.Trunc(v) {
		c.refuse(name, "an integer")
	}
	return int64(min(max(v, -maxElements), maxElements))
}

// StringOf is a string; ok is false if there is none of this name.
func (c *Config) StringOf(name string) (text string, ok bool) {
	return decode[string](c, name, "a string")
}

// Text is a string, or fallback if there is none of this name.
func (c *Config) Text(name, fallback string) string {
	if v, ok := c.StringOf(name); ok {
		return v
	}
	return fallback
}

// Object is an object, nil if there is none of this name or it is null.
func (c *Config) Object(name string) (*Config, error) {
	raw := c.value(name)
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	o, err := ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// True reports whether the value is the JSON word true; fallback if there is none of this name.
func (c *Config) True(name string, fallback bool) bool {
	if !c.Has(name) {
		return fallback
	}
	v, _ := decode[bool](c, name, "true or false")
	return v
}

// seed is a seed; JSON gives it as a float64.
func (c *Config) seed() uint64 {
	v := c.Number("seed", 42)
	switch {
	case v >= math.MaxUint64:
		return math.MaxUint64
	case v >= 0:
		return uint64(v)
	}
	return uint64(int64(max(v, math.MinInt64)))
}

// widths is a list of sizes; ok is false if there is none of this name.
func (c *Config) widths(name string) (list []int64, ok bool, err error) {
	raw := c.value(name)
	if raw == nil {
		return nil, false, nil
	}
	var numbers []float64
	if err := json.Unmarshal(raw, &numbers); err != nil {
		return nil, true, fmt.Errorf("%s: %s, expected a list of numbers", name, raw)
	}
	for _, v := range numbers {
		if !(v >= 1 && v <= math.MaxInt32) {
			return nil, true, fmt.Errorf("%s: %s, expected sizes of at least 1", name, raw)
		}
		list = append(list, int64(v))
	}
	return list, true, nil
}
