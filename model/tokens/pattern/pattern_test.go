package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// all lists the matches in a text, apart by |.
func all(t *testing.T, expr, text string) string {
	t.Helper()
	p, err := Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return p.all(t, text)
}

func (p *Pattern) all(t *testing.T, text string) string {
	t.Helper()
	var found []string
	steps := Steps(text)
	for at := 0; at <= len(text); {
		start, stop, err := p.Next(text, at, &steps)
		if err != nil {
			t.Fatal(err)
		}
		if start < 0 {
			break
		}
		found = append(found, text[start:stop])
		at = max(stop, start+1)
	}
	return strings.Join(found, "|")
}

func TestMatches(t *testing.T) {
	for _, c := range [][3]string{
		{`\s+(?!\S)|\s+`, "a   b  ", "  | |  "},
		{`'(?i:[sdmt]|ll|ve|re)`, "'S 'LL 'ſ 'x 'Ve", "'S|'LL|'ſ|'Ve"},
		{`\p{N}{1,3}`, "12345٣", "123|45٣"},
		{`[^\r\n\p{L}\p{N}]?+\p{L}++`, "Ça va—東京", "Ça| va|—東京"},
		{`(?<!a)b|(?<=a)c`, "ab b ac c", "b|c"},
		{`(?<=[ab]|c)x`, "ax cx dx", "x|x"},
		{`a+?b??`, "aab", "a|a"},
		{`(?>a+)a|b`, "aaab", "b"},
		{`(?:ab|a)*+b|c`, "ababc", "b|b|c"},
		{`[[:alpha:]&&[^a-c]]+`, "abcdef東1", "def東"},
		{`[\p{Han}\p{Hiragana}]+`, "a東京はb", "東京は"},
		{`\bfoo\B`, "foo foox xfoox", "foo"},
		{`^a|b$`, "a\nab\nb", "a|a|b|b"},
		{`\Aa|b\z`, "a\nab", "a|b"},
		{`x{2}y{,2}z{2,}`, "xxyzzz xxzz xyz", "xxyzzz|xxzz"},
		{`a{|b{x}`, "a{ b{x}", "a{|b{x}"},
		{`\x41\u{42}\x{43}\u0044`, "ABCD", "ABCD"},
		{`(?s:.)b.`, "\nbc\nb\n", "\nbc"},
		{`(?<name>a)(b)`, "ab", "ab"},
		{`\d\w\s\h\R\S`, "1a f\n?", "1a f\n?"},
		{`[]a]+|[-b]`, "]a-b", "]a|-|b"},
		{`a|`, "ba", "|a|"},
	} {
		if got := all(t, c[0], c[1]); got != c[2] {
			t.Errorf("%s in %q: %q, expected %q", c[0], c[1], got, c[2])
		}
	}
}

// TestOniguruma has what Oniguruma, in tokenizers of Hugging Face, finds otherwise than others do.
func TestOniguruma(t *testing.T) {
	for _, c := range [][4]string{
		{`\p{N}{1,3}+`, "12345", "12345", "123|45"},
		{`a{2}+`, "aaaaa", "aaaa", "aa|aa"},
		{`a{2}?`, "aaa", "aa||", "aa"},
		{`\w+`, "x½y", "x½y", "x|y"},
		{`\b\w`, "½ x", "½|x", "x"},
		{`[\w]+`, "x½y", "x|y", "x|y"},
		{`[[:punct:]]+`, "!+€😀a", "!+€😀", "!+€😀"},
		{`\R`, "\r\n\r\v", "\r\n|\r|\v", "\r\n|\r|\v"},
		{`\012\0`, "\n\x00", "\n\x00", "\n\x00"},
	} {
		theirs, err := CompileOniguruma(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := theirs.all(t, c[1]); got != c[2] {
			t.Errorf("%s in %q: %q, expected %q", c[0], c[1], got, c[2])
		}
		if got := all(t, c[0], c[1]); got != c[3] {
			t.Errorf("%s in %q as tiktoken's: %q, expected %q", c[0], c[1], got, c[3])
		}
	}
}

func TestReplace(t *testing.T) {
	for _, c := range [][3]string{{`x*`, "xxaxéx", "-a-é-"}, {`x*`, "", ""}, {``, "aé", "-a-é-"}, {`b|(?=c)`, "abcbb", "a-c--"}, {`b`, "aa", "aa"}} {
		p, err := CompileOniguruma(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Replace(c[1], "-"); err != nil || got != c[2] {
			t.Errorf("%s in %q: %q and %v, expected %q", c[0], c[1], got, err, c[2])
		}
	}
}

func TestRefused(t *testing.T) {
	for expr, want := range map[string]string{
		"(": "expected", ")": "parenthesis", "[a": "too early", `\p{Nonsense}`: "property", `\1`: "not known", "(?<=ab)c": "one character",
		"a{2,1}": "2 to 1", "a{9999}": "at most", "*": "repeat", "(a*)*": "may be empty", "(?x:a)": "flag", "[z-a]": "range", `\x{110000}`: "digits",
		"\xff": "UTF-8", strings.Repeat("(", 300): "groups", "((((a{99}b){99}c){99}d){99})": "parts", `\`: "too early", "[[:x:]]": "class", "a" + strings.Repeat("{1}", 3_000_000): "repetitions of repetitions",
	} {
		if _, err := Compile(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", expr, err, want)
		}
	}
	for expr, text := range map[string]string{"(?:a|ab|b|aa)*c": strings.Repeat("ab", 300), "(?:a|bc)*x": strings.Repeat("a", 20_000_000), "a(?!.*+b)": strings.Repeat("a", 100_000)} {
		p, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Replace(text, "-"); err != ErrSlow {
			t.Errorf("many steps of %s: %v", expr, err)
		}
	}
}

// TestCompilesQuickly compiles expressions whose parts look ahead over all others: that was quadratic.
func TestCompilesQuickly(t *testing.T) {
	if _, err := Compile("(?:" + strings.Repeat(`\p{L}*|`, 8000) + "x)" + strings.Repeat(`\p{L}*`, 8000)); err != nil {
		t.Error(err)
	}
}

// TestLikeRegexp compares random expressions with Go's package regexp, which finds the same matches where it knows what they say.
func TestLikeRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	atoms := []string{"a", "b", "c", "é", ".", "[ab]", "[^a]", `\pL`, "(?:ab|b)", "(?:a|é|)", "(?i:B)", "$", `\z`}
	times := []string{"", "", "", "*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}", "{2,}"}
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	compared := 0
	for range 3000 {
		expr := ""
		for range 1 + r.IntN(5) {
			expr += pick(atoms) + pick(times)
			if r.IntN(4) == 0 {
				expr += "|"
			}
		}
		theirs, err := regexp.Compile("(?m:" + expr + ")")
		p, ours := Compile(expr)
		if err != nil || ours != nil {
			continue
		}
		text := ""
		for range r.IntN(12) {
			text += pick([]string{"a", "b", "c", "é", "B", "\n", "東"})
		}
		steps := Steps(text)
		start, stop, err := p.Next(text, 0, &steps)
		if err != nil {
			t.Fatal(err)
		}
		want := theirs.FindStringIndex(text)
		compared++
		if want == nil && start >= 0 || want != nil && (want[0] != start || want[1] != stop) {
			t.Fatalf("%s in %q: %d to %d, expected %v", expr, text, start, stop, want)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d expressions were compared", compared)
	}
}
