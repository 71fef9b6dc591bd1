package table

import (
	"encoding/json"
	"fmt"
	"sort"
)

// The arguments of a case by name. A wrong kind of value is a mistake in the table and panics.

// Has reports whether an argument is given.
func (c *Case) Has(name string) bool { _, ok := c.Args[name]; return ok && c.Args[name] != nil }

// Int is an integer argument.
func (c *Case) Int(name string, missing int64) int64 {
	if !c.Has(name) {
		return missing
	}
	return integer(c.Args[name])
}

// Float is a number argument.
func (c *Case) Float(name string, missing float64) float64 {
	if !c.Has(name) {
		return missing
	}
	n, err := number(c.Args[name])
	if err != nil {
		panic(fmt.Sprintf("%s: %s: %v", c.Name, name, err))
	}
	return n.F()
}

// Bool is an argument that is true or false.
func (c *Case) Bool(name string, missing bool) bool {
	if !c.Has(name) {
		return missing
	}
	return c.Args[name].(bool)
}

// Text is a string argument.
func (c *Case) Text(name, missing string) string {
	if !c.Has(name) {
		return missing
	}
	return c.Args[name].(string)
}

// Ints is a list of integers, or one integer; nil if it is not given.
func (c *Case) Ints(name string) []int64 {
	if !c.Has(name) {
		return nil
	}
	list, ok := c.Args[name].([]any)
	if !ok {
		return []int64{integer(c.Args[name])}
	}
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = integer(v)
	}
	return out
}

// Floats is a list of numbers.
func (c *Case) Floats(name string) []float64 {
	var out []float64
	for _, v := range c.Args[name].([]any) {
		n, err := number(v)
		if err != nil {
			panic(fmt.Sprintf("%s: %s: %v", c.Name, name, err))
		}
		out = append(out, n.F())
	}
	return out
}

// Pairs is a list of pairs, of which missing ones come from the function of the axis.
func (c *Case) Pairs(name string, missing func(axis int) [2]int64) [][2]int64 {
	list := c.Args[name].([]any)
	out := make([][2]int64, len(list))
	for i, v := range list {
		if v == nil {
			out[i] = missing(i)
			continue
		}
		pair := v.([]any)
		out[i] = [2]int64{integer(pair[0]), integer(pair[1])}
	}
	return out
}

// Lengths are the sizes of rearrange, by name, and the names in order.
func (c *Case) Lengths() (names []string, sizes map[string]int64) {
	sizes = map[string]int64{}
	if c.Has("sizes") {
		for name, v := range c.Args["sizes"].(map[string]any) {
			names = append(names, name)
			sizes[name] = integer(v)
		}
	}
	sort.Strings(names)
	return names, sizes
}

// Input is the number of the input that an argument names, -1 if it is not given.
func (c *Case) Input(name string) int {
	if !c.Has(name) {
		return -1
	}
	return named(c.Args[name])
}

// SeedNumber is the seed of the case.
func (c *Case) SeedNumber() uint64 {
	n, err := number(c.Seed)
	if err != nil {
		panic(c.Name + ": seed: " + err.Error())
	}
	return n.Big().Uint64()
}

func integer(v any) int64 {
	n, err := v.(json.Number).Int64()
	if err != nil {
		panic(err)
	}
	return n
}

// An ItemKind says what an item of an index expression is, as PolyIndexKind numbers them.
type ItemKind int

// The kinds of items.
const (
	ItemInt ItemKind = iota
	ItemSlice
	ItemNewAxis
	ItemEllipsis
	ItemTensor
)

// An Item is one item of an index expression.
type Item struct {
	Kind  ItemKind
	At    int64     // of ItemInt
	Slice [3]*int64 // start, stop, step
	Input int       // of ItemTensor
}

// Items are the items of an index expression.
func (c *Case) Items() []Item {
	list := c.Args["items"].([]any)
	out := make([]Item, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case nil:
			out[i].Kind = ItemNewAxis
		case string:
			out[i].Kind = ItemEllipsis
		case json.Number:
			out[i].At = integer(v)
		case map[string]any:
			if n := named(v); n >= 0 {
				out[i].Kind, out[i].Input = ItemTensor, n
				continue
			}
			out[i].Kind = ItemSlice
			for k, bound := range v["slice"].([]any) {
				if bound != nil {
					n := integer(bound)
					out[i].Slice[k] = &n
				}
			}
		default:
			panic(fmt.Sprintf("%s: items: %v", c.Name, v))
		}
	}
	return out
}

// perAxis is a list of n numbers, given as such or as one for all; nil if it is not given.
func (c *Case) perAxis(name string, n int) []int64 {
	list := c.Ints(name)
	for len(list) == 1 && len(list) < n {
		for len(list) < n {
			list = append(list, list[0])
		}
	}
	return list
}

// padding is before and after each of n axes; two numbers for each axis begin with the last one.
func (c *Case) padding(n int) [][2]int64 {
	if list := c.Ints("padding"); len(list) == 2*n && n > 0 {
		out := make([][2]int64, n)
		for i := range out {
			out[n-1-i] = [2]int64{list[2*i], list[2*i+1]}
		}
		return out
	}
	var out [][2]int64
	for _, p := range c.perAxis("padding", n) {
		out = append(out, [2]int64{p, p})
	}
	return out
}
