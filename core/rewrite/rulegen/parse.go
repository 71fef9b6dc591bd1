package main

import (
	"fmt"
	"slices"
	"strings"
)

type exprKind uint8

const (
	exprName   exprKind = iota // text
	exprNumber                 // text: number, true, false, nan, Invalid
	exprUnary                  // text args[0]
	exprBinary                 // args[0] text args[1]
	exprCall                   // text(args): an operation (upper case or OP), a group, a set of them, or a Go function
	exprValue                  // [args[0]]
)

// expr is a node of the syntax tree of a pattern, a result or a condition.
type expr struct {
	kind  exprKind
	text  string
	args  []*expr
	name  string   // name@…
	typ   string   // …:type
	param *expr    // OP[param]
	set   []string // members of { … }, those to leave out with a leading -
	paren bool     // a list of arguments was written, even if empty
	more  bool     // the list ends in "..."
	each  bool     // args[0]... : every source
	both  bool     // ~
	opt   bool     // ?
}

// choice is `result if cond`; cond is nil for the last one.
type choice struct {
	result, cond *expr
}

type rule struct {
	line    int
	text    string
	pattern *expr
	choices []choice
}

type table struct {
	name  string
	doc   []string
	rules []*rule
}

// parseFile splits a file into tables of rules.
func parseFile(name, text string) ([]*table, error) {
	var tables []*table
	var doc []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, first := lines[i], i+1
		for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" && strings.HasPrefix(lines[i+1], " ") {
			i++
			line += " " + strings.TrimSpace(lines[i])
		}
		body, comment, hasComment := strings.Cut(line, "#")
		body = strings.Join(strings.Fields(body), " ")
		switch {
		case body == "" && hasComment:
			doc = append(doc, strings.TrimSpace(comment))
		case body == "":
			doc = nil
		case strings.HasPrefix(body, "table "):
			tables = append(tables, &table{name: strings.TrimSpace(body[len("table "):]), doc: doc})
		default:
			if len(tables) == 0 {
				return nil, fmt.Errorf("%s:%d: rule before the first table", name, first)
			}
			r, err := parseRule(body)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, first, err)
			}
			r.line, r.text = first, body
			t := tables[len(tables)-1]
			t.rules = append(t.rules, r)
		}
	}
	return tables, nil
}

type parser struct {
	toks []token
	pos  int
}

// parseError is what the parser and the emitter panic with.
type parseError struct{ error }

// catch turns a parseError into an error of the function that defers it.
func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case parseError:
		*err = e.error
	default:
		panic(e)
	}
}

func (p *parser) fail(format string, args ...any) {
	panic(parseError{fmt.Errorf(format, args...)})
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.kind != tokEnd && t.kind != tokNumber && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(text string) {
	if !p.accept(text) {
		p.fail("expected %q, found %q", text, p.peek().text)
	}
}

func parseRule(text string) (r *rule, err error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	p := &parser{toks: toks}
	r = &rule{pattern: p.expr(0)}
	p.want("=>")
	for {
		c := choice{result: p.expr(0)}
		if p.accept("if") {
			c.cond = p.expr(0)
		}
		r.choices = append(r.choices, c)
		if c.cond == nil || !p.accept("else") {
			break
		}
	}
	if p.peek().kind != tokEnd {
		p.fail("unexpected %q", p.peek().text)
	}
	return r, nil
}

// levels are the binary operators, loosest first. They bind as in Python, where comparisons are looser than | and &.
var levels = [][]string{{"||"}, {"&&"}, {"<", ">", "<=", ">=", "==", "!="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *parser) expr(level int) *expr {
	if level == len(levels) {
		return p.unary()
	}
	l := p.expr(level + 1)
	for t := p.peek(); t.kind == tokPunct && slices.Contains(levels[level], t.text); t = p.peek() {
		p.pos++
		l = &expr{kind: exprBinary, text: t.text, args: []*expr{l, p.expr(level + 1)}}
	}
	return l
}

func (p *parser) unary() *expr {
	for _, op := range []string{"-", "!"} {
		if !p.accept(op) {
			continue
		}
		e := p.unary()
		if op == "-" && e.kind == exprNumber {
			e.text = "-" + e.text
			return e
		}
		return &expr{kind: exprUnary, text: op, args: []*expr{e}}
	}
	return p.primary()
}

func (p *parser) primary() *expr {
	t := p.peek()
	p.pos++
	var e *expr
	switch {
	case t.kind == tokNumber || t.kind == tokName && slices.Contains([]string{"true", "false", "nan", "Invalid"}, t.text):
		e = &expr{kind: exprNumber, text: t.text}
	case t.kind == tokName && p.accept("@"):
		e = p.primary()
		e.name = t.text
		return e
	case t.kind == tokName:
		e = &expr{kind: exprName, text: t.text}
	case t.text == "{":
		e = &expr{kind: exprCall, set: p.set()}
	case t.text == "(":
		e = p.expr(0)
		p.want(")")
		return e
	case t.text == "[":
		e = &expr{kind: exprValue, args: []*expr{p.expr(0)}}
		p.want("]")
		return e
	default:
		p.fail("unexpected %q", t.text)
	}
	p.suffixes(e)
	return e
}

func (p *parser) set() []string {
	names := []string{}
	for !p.accept("}") {
		minus := ""
		if p.accept("-") {
			minus = "-"
		}
		names = append(names, minus+p.peek().text)
		p.pos++
	}
	return names
}

// suffixes reads :type ~ ? [param] (args) after a name or a set.
func (p *parser) suffixes(e *expr) {
	if p.accept(":") {
		e.typ = p.peek().text
		p.pos++
	}
	if e.kind == exprNumber {
		return
	}
	upper := e.kind == exprCall || isUpper(e.text)
	e.both = upper && p.accept("~")
	e.opt = upper && p.accept("?")
	if upper && p.accept("[") {
		e.param = p.expr(0)
		p.want("]")
	}
	if upper {
		e.kind = exprCall
	}
	if !p.accept("(") {
		return
	}
	e.kind, e.paren = exprCall, true
	for !p.accept(")") {
		if p.accept("...") {
			e.more = true
			continue
		}
		e.args = append(e.args, p.expr(0))
		if p.accept("...") {
			e.each = true
		}
		if !p.is(")") {
			p.want(",")
		}
	}
}

// isUpper tells operations and groups from names of nodes and Go functions.
func isUpper(s string) bool {
	_, group := groups[s]
	return group || s[0] >= 'A' && s[0] <= 'Z' && s == strings.ToUpper(s)
}
