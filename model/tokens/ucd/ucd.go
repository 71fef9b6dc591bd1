// Package ucd has the properties of Unicode characters that tokenizers need: general categories, sets and normalization forms. Go's package unicode
// lacks the forms, and its tables would be in the part of a WebAssembly module that pages load first: wasmlink moves the tables of this package to
// the part that has models.
package ucd

import (
	_ "embed" // the table
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

//go:generate sh -c "node make.mjs >unicode.bin"

//go:embed unicode.bin
var packed string

const (
	headSize = 20 // a signature and the size
	lastRune = 0x10ffff
)

// data is the contents of the table.
type data struct {
	sets      map[string]*Set  // general categories, groups of them and properties, by name
	scripts   []run            // of characters, ascending
	class     map[rune]uint8   // the ordinal numbers of combining classes
	canonical map[rune][]rune  // full decompositions
	compat    map[rune][]rune  // full compatibility decompositions, where they differ from the canonical ones
	composed  map[[2]rune]rune // pairs that compose
}

// run is a range of characters of one script: from first up to the next run.
type run struct {
	first  rune
	script int
}

// reader reads varints.
type reader string

func (r *reader) number() int {
	n, shift := 0, 0
	for {
		b := (*r)[0]
		*r = (*r)[1:]
		n |= int(b&127) << shift
		if b < 128 {
			return n
		}
		shift += 7
	}
}

func (r *reader) text() string {
	n := r.number()
	s := string((*r)[:n])
	*r = (*r)[n:]
	return s
}

var table = sync.OnceValue(func() *data {
	size := binary.LittleEndian.Uint32([]byte(packed[16:headSize]))
	r := reader(packed[headSize : headSize+int(size)])
	d := &data{sets: map[string]*Set{}, class: map[rune]uint8{}, canonical: map[rune][]rune{}, compat: map[rune][]rune{}, composed: map[[2]rune]rune{}}
	categories := strings.Fields("Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co") // by number
	ranges := map[string][]rune{}
	first, before := rune(0), -1
	add := func(end rune) {
		if before < 0 {
			return
		}
		name := categories[before]
		for _, n := range []string{name, name[:1]} {
			ranges[n] = append(ranges[n], first, end)
		}
		if name == "Lu" || name == "Ll" || name == "Lt" {
			ranges["LC"] = append(ranges["LC"], first, end)
		}
	}
	for range r.number() {
		at := first + rune(r.number())
		add(at)
		first, before = at, r.number()
	}
	add(lastRune + 1)
	for range r.number() {
		name, at := r.text(), rune(0)
		ends := make([]rune, r.number())
		for i := range ends {
			at += rune(r.number())
			ends[i] = at
		}
		ranges[name] = ends
	}
	names := make([]string, r.number())
	for i := range names {
		names[i] = r.text()
	}
	d.scripts = make([]run, r.number())
	at := rune(0)
	for i := range d.scripts {
		at += rune(r.number())
		d.scripts[i] = run{at, r.number()}
		if i > 0 && d.scripts[i-1].script > 0 {
			name := names[d.scripts[i-1].script-1]
			ranges[name] = append(ranges[name], d.scripts[i-1].first, at)
		}
	}
	for name, ends := range ranges {
		d.sets[name] = &Set{ends: joined(ends)}
	}
	at = 0
	for range r.number() {
		at += rune(r.number())
		d.class[at] = uint8(r.number())
	}
	for _, into := range []map[rune][]rune{d.canonical, d.compat} {
		at = 0
		for range r.number() {
			at += rune(r.number())
			parts := make([]rune, r.number())
			for i := range parts {
				parts[i] = rune(r.number())
			}
			into[at] = parts
		}
	}
	for range r.number() {
		a, b := rune(r.number()), rune(r.number())
		d.composed[[2]rune{a, b}] = rune(r.number())
	}
	d.sets["Any"] = &Set{ends: []rune{0, lastRune + 1}}
	return d
})

// Set is a set of characters: half-open ranges, ascending and disjoint. Has is fast after its first call.
type Set struct {
	ends  []rune
	once  sync.Once
	index []uint16    // the page of each block of 256 characters
	pages [][4]uint64 // bit sets of 256 characters
}

// Named is the set of a general category (Lu), a group of them (L) or a property or script of the table, nil if it is not known.
func Named(name string) *Set {
	d := table()
	if s := d.sets[name]; s != nil {
		return s
	}
	want := strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(name))
	long := longNames()
	for known, s := range d.sets {
		if strings.ReplaceAll(strings.ToLower(known), "_", "") == want || long[want] == known {
			return s
		}
	}
	return nil
}

// Script is the number of the script of a character, 0 if it has none.
func Script(c rune) int {
	runs := table().scripts
	i, found := slices.BinarySearchFunc(runs, c, func(r run, c rune) int { return int(r.first - c) })
	if !found {
		i--
	}
	return runs[i].script
}

// longNames are other names of sets.
var longNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"letter": "L", "mark": "M", "number": "N", "punctuation": "P", "punct": "P", "symbol": "S", "separator": "Z", "other": "C",
		"uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo",
		"decimalnumber": "Nd", "digit": "Nd", "control": "Cc", "cntrl": "Cc", "alpha": "Alphabetic", "isalphabetic": "Alphabetic",
	}
})

// Space are the characters of the property White_Space, Word those of \w.
var (
	Space = sync.OnceValue(func() *Set {
		return Of('\t', '\r', ' ', ' ', 0x85, 0x85, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000)
	})
	Word = sync.OnceValue(func() *Set {
		s := Named("Alphabetic")
		for _, name := range []string{"M", "Nd", "Pc", "Join_Control"} {
			s = s.Or(Named(name))
		}
		return s
	})
)

// Of is the set of ranges, each given by its first and its last character.
func Of(bounds ...rune) *Set {
	s := &Set{}
	for i := 0; i+1 < len(bounds); i += 2 {
		if bounds[i] <= bounds[i+1] {
			s = s.Or(&Set{ends: []rune{bounds[i], bounds[i+1] + 1}})
		}
	}
	return s
}

// joined joins ranges that touch.
func joined(ends []rune) []rune {
	out := ends[:0]
	for i := 0; i < len(ends); i += 2 {
		if n := len(out); n > 0 && ends[i] <= out[n-1] {
			out[n-1] = max(out[n-1], ends[i+1])
		} else {
			out = append(out, ends[i], ends[i+1])
		}
	}
	return out
}

// Or is the union.
func (s *Set) Or(t *Set) *Set {
	var all [][2]rune
	for _, ends := range [][]rune{s.ends, t.ends} {
		for i := 0; i < len(ends); i += 2 {
			all = append(all, [2]rune{ends[i], ends[i+1]})
		}
	}
	slices.SortFunc(all, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var ends []rune
	for _, r := range all {
		ends = append(ends, r[0], r[1])
	}
	return &Set{ends: joined(ends)}
}

// Not is the complement.
func (s *Set) Not() *Set {
	ends := slices.Clone(s.ends)
	if len(ends) > 0 && ends[0] == 0 {
		ends = ends[1:]
	} else {
		ends = append([]rune{0}, ends...)
	}
	if n := len(ends); n > 0 && ends[n-1] == lastRune+1 {
		ends = ends[:n-1]
	} else {
		ends = append(ends, lastRune+1)
	}
	return &Set{ends: ends}
}

// And is the intersection.
func (s *Set) And(t *Set) *Set { return s.Not().Or(t.Not()).Not() }

// Ranges calls f with the first and the last character of each range.
func (s *Set) Ranges(f func(first, last rune)) {
	for i := 0; i < len(s.ends); i += 2 {
		f(s.ends[i], s.ends[i+1]-1)
	}
}

// Has reports whether a character is in the set.
func (s *Set) Has(c rune) bool {
	s.once.Do(s.build)
	return uint32(c) <= lastRune && s.pages[s.index[c>>8]][c>>6&3]>>(c&63)&1 == 1
}

func (s *Set) build() {
	s.index = make([]uint16, lastRune>>8+1)
	s.pages = make([][4]uint64, 2, 64) // the pages of empty and of full blocks
	s.pages[1] = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	s.Ranges(func(first, last rune) {
		for c := first; c <= last; {
			page := c >> 8
			if c&255 == 0 && last >= c+255 {
				s.index[page] = 1
				c += 256
				continue
			}
			if s.index[page] == 0 {
				s.index[page] = uint16(len(s.pages))
				s.pages = append(s.pages, [4]uint64{})
			}
			for ; c <= last && c>>8 == page; c++ {
				s.pages[s.index[page]][c>>6&3] |= 1 << (c & 63)
			}
		}
	})
}
