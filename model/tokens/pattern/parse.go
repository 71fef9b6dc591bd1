package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"polygrad/model/tokens/ucd"
)

const (
	mostNodes   = 20_000
	mostRepeats = 1000
	mostNesting = 200
	mostFolded  = 1000 // characters of a range whose other cases are added
)

// tree is an expression. A list of alternatives is a list of lists of items.
type tree struct {
	kind     kind
	set      *ucd.Set
	sub      [][]*tree
	min, max int // the repetitions of sub; max is -1 for no limit
	mode     mode
	negative bool
}

type parser struct {
	text       string
	at         int
	fold, dots bool // (?i) and (?s), which is Oniguruma's (?m)
	oniguruma  bool // Ruby's syntax where it differs from Perl's
	depth      int
}

type syntaxError string

func (p *parser) fail(format string, a ...any) {
	panic(syntaxError(fmt.Sprintf("the expression %q, byte %d: ", p.text, p.at) + fmt.Sprintf(format, a...)))
}

func (p *parser) more() bool { return p.at < len(p.text) }

func (p *parser) next() rune {
	if !p.more() {
		p.fail("ends too early")
	}
	c, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return c
}

func (p *parser) accept(text string) bool {
	if !strings.HasPrefix(p.text[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("expected %q", text)
	}
}

// alternatives reads up to a closing parenthesis or the end.
func (p *parser) alternatives() [][]*tree {
	if p.depth++; p.depth > mostNesting {
		p.fail("more than %d groups in groups", mostNesting)
	}
	fold, dots := p.fold, p.dots
	all := [][]*tree{nil}
	for p.more() && p.text[p.at] != ')' {
		if p.accept("|") {
			all = append(all, nil)
			continue
		}
		item := p.atom()
		if item == nil {
			continue // flags
		}
		last := len(all) - 1
		all[last] = append(all[last], p.repeated(item))
	}
	p.depth--
	p.fold, p.dots = fold, dots
	return all
}

// repeated reads the quantifiers behind an item.
func (p *parser) repeated(item *tree) *tree {
	for times := 0; p.more(); times++ {
		if times > mostNesting {
			p.fail("more than %d repetitions of repetitions", mostNesting)
		}
		low, high, counted, exact := 0, -1, false, false
		switch start := p.at; {
		case p.accept("*"):
		case p.accept("+"):
			low = 1
		case p.accept("?"):
			high = 1
		case p.accept("{"):
			end := strings.IndexByte(p.text[p.at:], '}')
			a, b, both := strings.Cut(p.text[p.at:p.at+max(end, 0)], ",")
			low, high = p.count(a, 0), p.count(b, -1)
			if counted, exact = true, !both; exact {
				high = low
			}
			if end < 0 || a == "" && b == "" || low < 0 {
				p.at = start
				return item // a literal brace
			}
			p.at += end + 1
			if high >= 0 && high < low {
				p.fail("repeats %d to %d times", low, high)
			}
		default:
			return item
		}
		item = &tree{kind: loop, sub: [][]*tree{{item}}, min: low, max: high}
		// In Ruby a{2}? is (?:a{2})?, and a{1,2}+ is (?:a{1,2})+.
		if !(p.oniguruma && exact) && p.accept("?") {
			item.mode = lazy
		} else if !(p.oniguruma && counted) && p.accept("+") {
			item.mode = possessive
		}
	}
	return item
}

func (p *parser) count(text string, none int) int {
	if text == "" {
		return none
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return -1
	}
	if n > mostRepeats {
		p.fail("repeats %d times, expected at most %d", n, mostRepeats)
	}
	return n
}

func (p *parser) atom() *tree {
	switch c := p.next(); c {
	case '(':
		return p.group()
	case '[':
		return &tree{kind: char, set: p.class()}
	case '.':
		if p.dots {
			return &tree{kind: char, set: ucd.Named("Any")}
		}
		return &tree{kind: char, set: ucd.Of('\n', '\n').Not()}
	case '^':
		return &tree{kind: lineBegin}
	case '$':
		return &tree{kind: lineEnd}
	case '*', '+', '?':
		p.fail("nothing to repeat")
	case '\\':
		if p.more() {
			for text, kind := range map[string]kind{"A": textBegin, "z": textEnd, "Z": lastLine, "b": boundary, "B": boundary} {
				if p.accept(text) {
					return &tree{kind: kind, negative: text == "B", set: p.word()}
				}
			}
			if p.accept("R") {
				set := &tree{kind: char, set: classes()['R']()}
				return &tree{kind: atomic, sub: [][]*tree{{one('\r'), one('\n')}, {set}}}
			}
		}
		if p.accept("w") {
			return &tree{kind: char, set: p.word()}
		} else if p.accept("W") {
			return &tree{kind: char, set: p.word().Not()}
		}
		return &tree{kind: char, set: p.escape()}
	default:
		return &tree{kind: char, set: p.folded(ucd.Of(c, c))}
	}
	return nil
}

func one(c rune) *tree { return &tree{kind: char, set: ucd.Of(c, c)} }

func (p *parser) group() *tree {
	t := &tree{kind: group}
	fold, dots := p.fold, p.dots
	switch {
	case p.accept("?="), p.accept("?!"):
		t.kind, t.negative = ahead, p.text[p.at-1] == '!'
	case p.accept("?<="), p.accept("?<!"):
		t.kind, t.negative = behind, p.text[p.at-1] == '!'
	case p.accept("?>"):
		t.kind = atomic
	case p.accept("?<"), p.accept("?P<"):
		end := strings.IndexByte(p.text[p.at:], '>')
		if end < 0 {
			p.fail("the name of a group does not end")
		}
		p.at += end + 1
	case p.accept("?"):
		on := true
		for !p.accept(":") {
			switch c := p.next(); c {
			case 'i':
				p.fold = on
			case 'm', 's':
				p.dots = on
			case 'u':
			case '-':
				on = false
			case ')':
				return nil // these flags hold up to the end of the enclosing group
			default:
				p.fail("the flag %q is not known, expected i, m, s or u", c)
			}
		}
	}
	t.sub = p.alternatives()
	p.expect(")")
	p.fold, p.dots = fold, dots
	return t
}

// folded adds the other cases of the characters of a set under (?i).
func (p *parser) folded(s *ucd.Set) *ucd.Set {
	if !p.fold {
		return s
	}
	out := s
	s.Ranges(func(first, last rune) {
		for c := first; c <= min(last, first+mostFolded); c++ {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				if !out.Has(f) {
					out = out.Or(ucd.Of(f, f))
				}
			}
		}
	})
	return out
}

// word is \w outside of classes. In Oniguruma it contains superscripts and fractions of Latin-1.
func (p *parser) word() *ucd.Set {
	if p.oniguruma {
		return ucd.Word().Or(ucd.Of(0xb2, 0xb3, 0xb9, 0xb9, 0xbc, 0xbe))
	}
	return ucd.Word()
}

// Maps are made on first use, since pages load this package later.

var classes = sync.OnceValue(func() map[rune]func() *ucd.Set {
	return map[rune]func() *ucd.Set{
		's': ucd.Space,
		'd': func() *ucd.Set { return ucd.Named("Nd") },
		'w': func() *ucd.Set { return ucd.Word() },
		'h': func() *ucd.Set { return ucd.Of('0', '9', 'A', 'F', 'a', 'f') },
		'R': func() *ucd.Set { return ucd.Of('\n', '\r', 0x85, 0x85, 0x2028, 0x2029) },
	}
})

var controls = sync.OnceValue(func() map[rune]rune {
	return map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1b, '0': 0}
})

// escape reads what follows a backslash.
func (p *parser) escape() *ucd.Set {
	c := p.next()
	if control, ok := controls()[c]; ok {
		for n := 0; c == '0' && n < 2 && p.more() && p.text[p.at] >= '0' && p.text[p.at] <= '7'; n++ { // octal
			control = control*8 + p.next() - '0'
		}
		return ucd.Of(control, control)
	}
	if class := classes()[c]; class != nil {
		return class()
	}
	if class := classes()[unicode.ToLower(c)]; class != nil {
		return class().Not()
	}
	switch c {
	case 'p', 'P':
		return p.property(c == 'P')
	case 'x', 'u':
		digits := map[rune]int{'x': 2, 'u': 4}[c]
		end := p.at + digits
		if p.accept("{") {
			end = p.at + max(0, strings.IndexByte(p.text[p.at:], '}'))
		}
		code, err := strconv.ParseUint(p.text[p.at:min(end, len(p.text))], 16, 32)
		if err != nil || code > unicode.MaxRune {
			p.fail("expected the hexadecimal digits of a character")
		}
		p.at = end
		p.accept("}")
		return p.folded(ucd.Of(rune(code), rune(code)))
	}
	if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
		p.fail("\\%c is not known", c)
	}
	return ucd.Of(c, c)
}

func (p *parser) property(negative bool) *ucd.Set {
	name := ""
	if p.accept("{") {
		end := strings.IndexByte(p.text[p.at:], '}')
		if end < 0 {
			p.fail("the name of a property does not end")
		}
		name = p.text[p.at : p.at+end]
		p.at += end + 1
	} else {
		name = string(p.next())
	}
	if strings.HasPrefix(name, "^") {
		name, negative = name[1:], !negative
	}
	for _, prefix := range []string{"Script=", "sc=", "gc=", "General_Category="} {
		name = strings.TrimPrefix(name, prefix)
	}
	s := ucd.Named(name)
	if s == nil && (strings.EqualFold(name, "space") || strings.EqualFold(name, "White_Space")) {
		s = ucd.Space()
	}
	if s == nil {
		p.fail("the property %q is not known", name)
	}
	if negative {
		return s.Not()
	}
	return s
}

var posix = sync.OnceValue(func() map[string]func() *ucd.Set {
	return map[string]func() *ucd.Set{
		"space": classes()['s'], "digit": classes()['d'], "word": classes()['w'], "xdigit": classes()['h'],
		"alpha": func() *ucd.Set { return ucd.Named("Alphabetic") },
		"alnum": func() *ucd.Set { return ucd.Named("Alphabetic").Or(ucd.Named("Nd")) },
		"upper": func() *ucd.Set { return ucd.Named("Lu") },
		"lower": func() *ucd.Set { return ucd.Named("Ll") },
		"punct": func() *ucd.Set { return ucd.Named("P").Or(ucd.Named("S")) },
		"cntrl": func() *ucd.Set { return ucd.Named("Cc") },
	}
})

// class reads a class of characters behind its bracket.
func (p *parser) class() *ucd.Set {
	if p.depth++; p.depth > mostNesting {
		p.fail("more than %d classes in classes", mostNesting)
	}
	defer func() { p.depth-- }()
	negative := p.accept("^")
	var both, s *ucd.Set // both is the intersection of the operands before the last &&
	s = ucd.Of()
	for first := true; first || !p.accept("]"); first = false {
		switch {
		case p.accept("[:"):
			end := strings.Index(p.text[p.at:], ":]")
			name, not := strings.CutPrefix(p.text[p.at:p.at+max(end, 0)], "^")
			if posix()[name] == nil {
				p.fail("the class [:%s:] is not known", name)
			}
			p.at += end + 2
			if own := posix()[name](); not {
				s = s.Or(own.Not())
			} else {
				s = s.Or(own)
			}
		case p.accept("["):
			s = s.Or(p.class())
		case p.accept("&&"):
			if both != nil {
				s = both.And(s)
			}
			both, s = s, ucd.Of()
		default:
			s = s.Or(p.span())
		}
	}
	if both != nil {
		s = both.And(s)
	}
	s = p.folded(s)
	if negative {
		return s.Not()
	}
	return s
}

// span reads a character, a range or an escape in a class.
func (p *parser) span() *ucd.Set {
	one := func() (*ucd.Set, rune, bool) {
		c := p.next()
		if c != '\\' {
			return ucd.Of(c, c), c, true
		}
		if p.accept("b") {
			return ucd.Of('\b', '\b'), '\b', true
		}
		s := p.escape()
		count, only := 0, rune(0)
		s.Ranges(func(first, last rune) { count, only = count+int(last-first)+1, first })
		return s, only, count == 1
	}
	s, first, alone := one()
	rest := p.text[p.at:]
	if !alone || len(rest) < 2 || rest[0] != '-' || rest[1] == ']' || rest[1] == '[' {
		return s
	}
	p.at++
	_, last, alone := one()
	if !alone || last < first {
		p.fail("a range that ends before it begins")
	}
	return ucd.Of(first, last)
}
