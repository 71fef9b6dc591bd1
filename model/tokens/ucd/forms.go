package ucd

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Hangul syllables are composed by arithmetic on their code points.
const (
	syllables, leads, vowels, trails  = 0xac00, 0x1100, 0x1161, 0x11a7
	leadCount, vowelCount, trailCount = 19, 21, 28
	syllableCount                     = leadCount * vowelCount * trailCount
)

// Normalize returns a text in the form NFC, NFD, NFKC or NFKD.
func Normalize(form, text string) string {
	if isASCII(text) {
		return text
	}
	d := table()
	var out strings.Builder
	out.Grow(len(text))
	var run []rune // a starter and its marks, not yet written
	emit := func() {
		for at := 0; at < len(run); { // sort marks by their combining classes
			end := at
			for end < len(run) && d.class[run[end]] != 0 {
				end++
			}
			slices.SortStableFunc(run[at:end], func(a, b rune) int { return int(d.class[a]) - int(d.class[b]) })
			at = max(end, at+1)
		}
		if form == "NFC" || form == "NFKC" {
			run = d.compose(run)
		}
		for _, c := range run {
			out.WriteRune(c)
		}
		run = run[:0]
	}
	add := func(c rune) {
		// A run ends before an ASCII character; other characters may compose with those before them.
		if c < utf8.RuneSelf {
			emit()
		}
		run = append(run, c)
	}
	for _, c := range text {
		parts := d.canonical[c]
		if form[2] == 'K' && d.compat[c] != nil {
			parts = d.compat[c]
		}
		switch s := c - syllables; {
		case s >= 0 && s < syllableCount:
			add(leads + s/(vowelCount*trailCount))
			add(vowels + s%(vowelCount*trailCount)/trailCount)
			if s%trailCount != 0 {
				add(trails + s%trailCount)
			}
		case parts != nil:
			for _, p := range parts {
				add(p)
			}
		default:
			add(c)
		}
	}
	emit()
	return out.String()
}

// compose joins each starter with the characters behind it that no character of the same or a higher class blocks.
func (d *data) compose(run []rune) []rune {
	out := run[:0]
	starter, last := -1, uint8(0)
	for _, c := range run {
		class := d.class[c]
		if starter >= 0 && (starter == len(out)-1 || last < class) && (class != 0 || starter == len(out)-1) {
			if joined, ok := d.pair(out[starter], c); ok {
				out[starter] = joined
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, c)
	}
	return out
}

func (d *data) pair(a, b rune) (rune, bool) {
	if v := b - vowels; a >= leads && a < leads+leadCount && v >= 0 && v < vowelCount {
		return syllables + ((a-leads)*vowelCount+v)*trailCount, true
	}
	if s, t := a-syllables, b-trails; s >= 0 && s < syllableCount && s%trailCount == 0 && t > 0 && t < trailCount {
		return a + t, true
	}
	joined, ok := d.composed[[2]rune{a, b}]
	return joined, ok
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
