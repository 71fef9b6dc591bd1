package ucd

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
	"unicode"
)

// TestForms compares with what ICU makes of 300 random texts.
func TestForms(t *testing.T) {
	file, err := os.Open("testdata/forms.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases [][5]string
	if err := json.NewDecoder(unzipped).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for i, form := range []string{"NFC", "NFD", "NFKC", "NFKD"} {
			if got := Normalize(form, c[0]); got != c[i+1] {
				t.Errorf("%s of %+q: %+q, expected %+q", form, c[0], got, c[i+1])
			}
		}
	}
}

// TestSets compares with the tables of Go, which are of an earlier version of Unicode: what is assigned there has the same category.
func TestSets(t *testing.T) {
	assigned := Named("Cn").Not()
	for name, table := range unicode.Categories {
		s := Named(name)
		if s == nil || name[0] == 'C' || name == "LC" {
			continue
		}
		changed := 0 // categories that were corrected since
		for c := rune(0); c <= lastRune; c++ {
			known := unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
			if known && unicode.Is(table, c) != s.Has(c) {
				changed++
			}
		}
		if changed > 1 {
			t.Errorf("%s: %d characters differ", name, changed)
		}
		if both := s.And(s.Not()); len(both.ends) != 0 || len(s.And(assigned).ends) == 0 {
			t.Errorf("%s: %v", name, both.ends)
		}
	}
	for c := rune(0); c <= lastRune; c++ {
		if unicode.Is(unicode.White_Space, c) != Space().Has(c) {
			t.Errorf("space: %#x", c)
		}
	}
	if Named("Nonsense") != nil || Named("script") != nil || Named("letter") != Named("L") || !Named("Han").Has('東') {
		t.Error("names of sets")
	}
}
