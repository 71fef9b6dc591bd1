package files

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// jsonSamples are texts by what they become when they are written again.
var jsonSamples = map[string]string{
	`{"a":[1,-2.5,true,false,null,"x"],"b":{}}`:    " {\"a\" : [1, -25e-1,true,false,null,\"x\"]\n, \"b\":{} } ",
	`{"$int":"123456789012345678901234567890"}`:    `123456789012345678901234567890`,
	`{"$int":"9223372036854775807"}`:               `9223372036854775807`,
	`"é\u0000😀\"\\/\u0008"`:                        `"\u00e9\u0000\ud83d\ude00\"\\\/\b"`,
	`{"$dict":[["$tensor",1]]}`:                    `{"$tensor": 1}`,
	`{"vocab_size":50257,"eps":1e-05,"big":1e+20}`: `{"vocab_size":50257,"eps":1e-5,"big":1e20}`,
}

func TestJSON(t *testing.T) {
	for want, text := range jsonSamples {
		v, err := ParseJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := EncodeJSON(v, nil, 1<<20); err != nil || string(got) != want {
			t.Errorf("%s becomes %s (%v), expected %s", text, got, err, want)
		}
	}
}

func TestBadJSON(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for text, want := range map[string]string{
		"":                           "the end, expected a JSON value",
		"{":                          "the end, expected a string",
		`{"a"}`:                      "expected a colon",
		`{"a":1,}`:                   "expected a string",
		`[1,]`:                       "expected a JSON value",
		`[1 2]`:                      "expected a comma or ]",
		`01`:                         "expected a JSON value",
		`1.`:                         "expected a JSON value",
		`-`:                          "expected a JSON value",
		`+1`:                         "expected a JSON value",
		`NaN`:                        "expected a JSON value",
		`nulll`:                      "more text",
		`1e999`:                      "too large",
		strings.Repeat("9", 200):     "too large",
		`"a`:                         "without an end",
		"\"\n\"":                     "control character",
		`"\x"`:                       "escape",
		`"\ud800"`:                   "surrogate",
		`"\u12"`:                     "escape",
		"\"\xff\"":                   "no UTF-8",
		"\"\\n\xff\"":                "no UTF-8",
		`{"a":1,"b":2,"a":3}`:        `the key "a" occurs twice`,
		`{"a":1,"\u0061":3}`:         `the key "a" occurs twice`,
		`{} {}`:                      "byte 3: more text",
		deep:                         "more than 64 deep",
		strings.Repeat(`{"a":`, 1e6): "more than 64 deep",
	} {
		if v, err := ParseJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, expected %q", quote(text), v, err, want)
		}
	}
	if _, err := ParseObject([]byte("[]")); err == nil || !strings.Contains(err.Error(), "a list") {
		t.Errorf("a list is an object: %v", err)
	}
}

func TestValues(t *testing.T) {
	d := NewDict()
	d.Set("n", int64(3))
	d.Set("x", 2.5)
	d.Set("t", "text")
	d.Set("u", new(big.Int).SetUint64(math.MaxUint64))
	d.Set("n", int64(4))
	n, okN := d.Int("n")
	x, okX := d.Float("n")
	s, okS := d.Text("t")
	u, okU := d.Float("u")
	if n != 4 || x != 4 || s != "text" || u != 1<<64 || !okN || !okX || !okS || !okU || d.Len() != 4 {
		t.Errorf("%v %v %q %v of %d", n, x, s, u, d.Len())
	}
	if _, ok := d.Int("x"); ok {
		t.Error("2.5 is an integer")
	}
	if _, ok := d.Text("none"); ok {
		t.Error("a key that is not there has a text")
	}
	loop := &List{}
	loop.Items = []Value{loop}
	if _, err := EncodeJSON(loop, nil, 1<<20); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a list in itself: %v", err)
	}
	double := Value(&List{Items: []Value{"x"}})
	for range 40 {
		double = &List{Items: []Value{double, double}}
	}
	if _, err := EncodeJSON(double, nil, 1<<20); err == nil || !strings.Contains(err.Error(), "refer to each other") {
		t.Errorf("a list that is 2^40 long: %v", err)
	}
}
