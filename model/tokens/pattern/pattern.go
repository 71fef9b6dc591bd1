// Package pattern matches the regular expressions by which tokenizers split texts. The syntax is the part of Oniguruma's that it shares with Perl,
// with lookahead, lookbehind, lazy and possessive quantifiers and Unicode classes, but without backreferences. Alternatives are tried in order, as in
// Perl, so that the same match is found.
package pattern

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"polygrad/model/tokens/ucd"
)

type kind uint8

const (
	end kind = iota // the end of the expression, or of a lookaround or atomic part
	char
	loop // the repetition of a character; in a tree, of anything
	loopEntry
	group
	choice
	ahead
	behind
	atomic
	lineBegin
	lineEnd
	textBegin
	textEnd
	lastLine
	boundary
)

type mode uint8

const (
	greedy mode = iota
	lazy
	possessive
)

// node is a node of a compiled expression: it matches a part of the text, and next the text behind it.
type node struct {
	kind     kind
	mode     mode
	negative bool
	min, max int
	set      *ucd.Set
	ascii    [2]uint64 // set for ASCII characters
	next     *node
	sub      *node       // of a lookaround or atomic part, with an end of its own; of a repetition, ending at this node
	choices  []*node     // in order
	begins   [][4]uint64 // the first bytes of each choice
	first    [4]uint64   // the result of firsts, if known
	empty    bool
	known    bool
}

// Pattern is a compiled expression. It may be used by several goroutines.
type Pattern struct {
	start *node
	first [4]uint64 // bytes that a match may begin with
	empty bool      // whether a match may be empty
}

// Compile reads an expression of tiktoken, in which counted repetitions may be possessive, as in Perl.
func Compile(expr string) (*Pattern, error) { return compile(expr, false) }

// CompileOniguruma reads an expression of a tokenizer.json, which has Ruby's syntax.
func CompileOniguruma(expr string) (*Pattern, error) { return compile(expr, true) }

func compile(expr string, oniguruma bool) (p *Pattern, err error) {
	if !utf8.ValidString(expr) {
		return nil, fmt.Errorf("the expression %q is not UTF-8", expr)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			p, err = nil, errors.New(string(r))
		default:
			panic(r)
		}
	}()
	r := parser{text: expr, oniguruma: oniguruma}
	all := r.alternatives()
	if r.more() {
		r.fail("a parenthesis closes what none opened")
	}
	c := compiler{fail: r.fail}
	p = &Pattern{start: c.alternatives(all, &node{})}
	p.first, p.empty = p.start.firsts()
	return p, nil
}

// Literal is the expression that matches a text literally.
func Literal(text string) *Pattern {
	c := compiler{}
	var items []*tree
	for _, r := range text {
		items = append(items, one(r))
	}
	p := &Pattern{start: c.alternatives([][]*tree{items}, &node{})}
	p.first, p.empty = p.start.firsts()
	return p
}

type compiler struct {
	nodes int
	fail  func(format string, a ...any)
}

func (c *compiler) node(n node) *node {
	if c.nodes++; c.nodes > mostNodes && c.fail != nil {
		c.fail("repetitions of repetitions: it has more than %d parts", mostNodes)
	}
	if n.set != nil {
		for r := range rune(utf8.RuneSelf) {
			if n.set.Has(r) {
				n.ascii[r>>6] |= 1 << (r & 63)
			}
		}
	}
	return &n
}

func (c *compiler) alternatives(all [][]*tree, next *node) *node {
	var choices []*node
	for _, items := range all {
		at := next
		for i := len(items) - 1; i >= 0; i-- {
			at = c.item(items[i], at)
		}
		choices = append(choices, at)
	}
	if len(choices) == 1 {
		return choices[0]
	}
	return c.choice(choices)
}

func (c *compiler) choice(choices []*node) *node {
	n := c.node(node{kind: choice, choices: choices})
	for _, one := range choices {
		first, empty := one.firsts()
		n.begins, n.empty = append(n.begins, first), n.empty || empty
	}
	return n
}

func (c *compiler) item(t *tree, next *node) *node {
	switch t.kind {
	case group:
		return c.alternatives(t.sub, next)
	case ahead, behind, atomic:
		sub := c.alternatives(t.sub, c.node(node{}))
		if t.kind == behind && !isOneChar(t.sub) {
			c.fail("what is looked for behind is not one character")
		}
		return c.node(node{kind: t.kind, sub: sub, negative: t.negative, next: next})
	case loop:
		return c.loop(t, next)
	}
	return c.node(node{kind: t.kind, set: t.set, negative: t.negative, next: next})
}

func isOneChar(all [][]*tree) bool {
	for _, items := range all {
		if len(items) != 1 || items[0].kind != char && (items[0].kind != group || !isOneChar(items[0].sub)) {
			return false
		}
	}
	return true
}

func (c *compiler) loop(t *tree, next *node) *node {
	most := t.max
	if most < 0 {
		most = math.MaxInt
	}
	if item := t.sub[0][0]; item.kind == char {
		return c.node(node{kind: loop, mode: t.mode, set: item.set, min: t.min, max: most, next: next})
	}
	if t.mode == possessive {
		whole := *t
		whole.mode = greedy
		return c.node(node{kind: atomic, sub: c.loop(&whole, c.node(node{})), next: next})
	}
	or := func(taken, not *node) *node {
		if t.mode == lazy {
			return c.choice([]*node{not, taken})
		}
		return c.choice([]*node{taken, not})
	}
	at := next
	if t.max < 0 {
		entry := c.node(node{kind: loopEntry})
		entry.sub = c.alternatives(t.sub, entry)
		if _, empty := entry.sub.firsts(); empty {
			c.fail("a repetition of what may be empty")
		}
		entry.next = or(entry.sub, next)
		at = entry
	}
	for range max(t.max, t.min) - t.min {
		at = or(c.alternatives(t.sub, at), next)
	}
	for range t.min {
		at = c.alternatives(t.sub, at)
	}
	return at
}

var anyByte = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// firsts are the bytes with which a match from this node on may begin, and whether the match may be empty.
func (n *node) firsts() (bytes [4]uint64, empty bool) {
	if !n.known {
		n.first, n.empty = n.findFirsts()
		n.known = n.kind != loopEntry // a loopEntry changes while it is built
	}
	return n.first, n.empty
}

func (n *node) findFirsts() (bytes [4]uint64, empty bool) {
	switch n.kind {
	case char, loop:
		bytes[0], bytes[1] = n.ascii[0], n.ascii[1]
		n.set.Ranges(func(_, last rune) {
			if last >= utf8.RuneSelf {
				bytes[2], bytes[3] = ^uint64(0), ^uint64(0)
			}
		})
		if n.kind == char || n.min > 0 {
			return bytes, false
		}
		more, empty := n.next.firsts()
		return either(bytes, more), empty
	case choice:
		for _, first := range n.begins {
			bytes = either(bytes, first)
		}
		return bytes, n.empty
	case atomic:
		bytes, empty = n.sub.firsts()
		if !empty {
			return bytes, false
		}
	case loopEntry:
		if n.next == nil {
			return anyByte, true // while it is built: the repeated part was empty
		}
		return n.next.firsts()
	case ahead, behind, lineBegin, lineEnd, textBegin, textEnd, lastLine, boundary:
		_, empty = n.next.firsts()
		return anyByte, empty
	}
	return anyByte, true
}

func either(a, b [4]uint64) [4]uint64 {
	for i := range a {
		a[i] |= b[i]
	}
	return a
}

// ErrSlow is the error of a match that takes too many steps.
var ErrSlow = errors.New("an expression needs too many steps for the text")

// matcher is the state of the search for one match.
type matcher struct {
	text  string
	steps int
}

const (
	fails     = -1
	mostDepth = 1 << 16 // a stack that is too large ends a Go process
)

// Steps is the limit of steps for all matches in a text together. It is linear in the length of the text, so no expression takes superlinear time.
func Steps(text string) int { return 1<<16 + 1<<8*len(text) }

// Next finds the leftmost match that begins at position at or behind it; start is -1 if there is none. It subtracts the steps that it takes from
// *steps.
func (p *Pattern) Next(text string, at int, steps *int) (start, stop int, err error) {
	m := matcher{text, *steps}
	defer func() { *steps = m.steps }()
	for ; at <= len(text); at++ {
		if at < len(text) {
			b := text[at]
			if p.first[b>>6]>>(b&63)&1 == 0 && !p.empty || b&0xc0 == 0x80 {
				continue
			}
		} else if !p.empty {
			break
		}
		if stop := m.run(p.start, at, 0); stop >= 0 {
			return at, stop, nil
		}
		if m.steps <= 0 {
			return fails, fails, ErrSlow
		}
	}
	return fails, fails, nil
}

// has reports whether the character at a position is in a node's set, and its size in bytes.
func (m *matcher) has(n *node, at int) (int, bool) {
	if at >= len(m.text) {
		return 0, false
	}
	if b := m.text[at]; b < utf8.RuneSelf {
		return 1, n.ascii[b>>6]>>(b&63)&1 == 1
	}
	c, size := utf8.DecodeRuneInString(m.text[at:])
	return size, n.set.Has(c)
}

// run is the end of the match of a node and its successors at a position, or fails, also if no steps are left. It calls itself to try alternatives.
func (m *matcher) run(n *node, at, depth int) int {
	if depth++; depth > mostDepth {
		m.steps = 0
	}
	for {
		if m.steps--; m.steps <= 0 {
			return fails
		}
		switch n.kind {
		case end:
			return at
		case char:
			size, ok := m.has(n, at)
			if !ok {
				return fails
			}
			at += size
		case loop:
			stop := m.loop(n, at, depth)
			if stop < 0 || n.mode != possessive && n.next.kind != end {
				return stop
			}
			at = stop
		case choice:
			last := len(n.choices) - 1
			for i, c := range n.choices[:last] {
				if at < len(m.text) && n.begins[i][m.text[at]>>6]>>(m.text[at]&63)&1 == 0 {
					continue
				}
				if stop := m.run(c, at, depth); stop >= 0 {
					return stop
				}
			}
			n = n.choices[last]
			continue
		case ahead, behind, atomic:
			from := at
			if n.kind == behind {
				_, size := utf8.DecodeLastRuneInString(m.text[:at])
				from -= size
			}
			stop := m.run(n.sub, from, depth)
			if n.kind == behind && from == at {
				stop = fails
			}
			if (stop >= 0) == n.negative || m.steps <= 0 {
				return fails
			}
			if n.kind == atomic {
				at = stop
			}
		case loopEntry: // a target for the end of the repeated part
		default:
			if !m.isAt(n, at) {
				return fails
			}
		}
		n = n.next
	}
}

// loop is the end of a repetition of a character; if that may give characters back, the end of the match of its successors, too.
func (m *matcher) loop(n *node, at, depth int) int {
	count := 0
	if n.mode == lazy {
		for ; ; count++ {
			if count >= n.min {
				if stop := m.run(n.next, at, depth); stop >= 0 || m.steps <= 0 {
					return stop
				}
			}
			size, ok := m.has(n, at)
			if !ok || count == n.max {
				return fails
			}
			at += size
		}
	}
	for count < n.max {
		size, ok := m.has(n, at)
		if !ok {
			break
		}
		at += size
		count++
	}
	m.steps -= count
	if count < n.min {
		return fails
	}
	if n.mode == possessive || n.next.kind == end {
		return at
	}
	for {
		if stop := m.run(n.next, at, depth); stop >= 0 || count == n.min || m.steps <= 0 {
			return stop
		}
		_, size := utf8.DecodeLastRuneInString(m.text[:at])
		at -= size
		count--
	}
}

// isAt reports whether an assertion holds at a position.
func (m *matcher) isAt(n *node, at int) bool {
	rest := m.text[at:]
	switch n.kind {
	case lineBegin:
		return at == 0 || m.text[at-1] == '\n' && rest != ""
	case lineEnd:
		return rest == "" || rest[0] == '\n'
	case textBegin:
		return at == 0
	case textEnd:
		return rest == ""
	case lastLine:
		return rest == "" || rest == "\n"
	}
	before, _ := utf8.DecodeLastRuneInString(m.text[:at])
	after, _ := utf8.DecodeRuneInString(rest)
	is := (at > 0 && n.set.Has(before)) != (rest != "" && n.set.Has(after))
	return is != n.negative
}

// Replace replaces each match in a text. An empty text has no matches.
func (p *Pattern) Replace(text, by string) (string, error) {
	var out []byte
	last, found, steps := 0, false, Steps(text)
	for at := 0; at <= len(text) && text != ""; {
		start, stop, err := p.Next(text, at, &steps)
		if err != nil {
			return "", err
		}
		if start < 0 {
			break
		}
		again := found && start == last // an empty match right behind another match does not count
		if at = stop; start == stop {
			_, size := utf8.DecodeRuneInString(text[stop:])
			at += max(size, 1)
		}
		if start < stop || !again {
			out = append(append(out, text[last:start]...), by...)
			last, found = stop, true
		}
	}
	if !found {
		return text, nil
	}
	return string(append(out, text[last:]...)), nil
}
