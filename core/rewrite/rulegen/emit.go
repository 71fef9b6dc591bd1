package main

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// emitter writes the function of one rule. Patterns are matched in continuation passing style: what
// follows a node with two orders is written inside the loop over the orders, so `continue` backtracks.
type emitter struct {
	p       *pattern
	lines   []string
	tests   []string          // conditions under which to give up, not written yet
	loops   []string          // labels of the open loops
	vars    map[string]string // name in the rule -> Go variable
	used    map[string]bool   // names that results and conditions use
	next    int
	ended   bool // the last statement at the outermost level returns
	imports map[string]bool
	fn      string   // name of the function
	decls   []string // declarations before it
}

func (g *emitter) line(format string, args ...any) {
	g.flush()
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
	g.ended = false
}

// flush writes the tests that were collected.
func (g *emitter) flush() {
	if len(g.tests) == 0 {
		return
	}
	if len(g.tests) > 1 {
		for i, t := range g.tests {
			if strings.Contains(t, "&&") {
				g.tests[i] = "(" + t + ")"
			}
		}
	}
	g.lines = append(g.lines, fmt.Sprintf("if %s {\n%s\n}", strings.Join(g.tests, " || "), g.giveUp()))
	g.tests = nil
}

func (g *emitter) fresh(prefix string) string {
	g.next++
	return fmt.Sprintf("%s%d", prefix, g.next)
}

// giveUp is the statement that abandons the current alternative of a match.
func (g *emitter) giveUp() string {
	if len(g.loops) == 0 {
		return "return nil"
	}
	return "continue " + g.loops[len(g.loops)-1]
}

// unless gives up if the condition holds.
func (g *emitter) unless(cond string) { g.tests = append(g.tests, cond) }

// open begins a loop; shut ends it.
func (g *emitter) open(header string) {
	g.flush()
	label := g.fresh("way")
	g.line("%s:\nfor %s {", label, header)
	g.loops = append(g.loops, label)
}

func (g *emitter) shut() {
	g.flush()
	g.loops = g.loops[:len(g.loops)-1]
	g.line("}")
}

// typeTests are the classes of types. A pointer is not of the class of what it points to.
var typeTests = map[string]string{
	"int": "%s.IsInt() && !%s.IsIndex() && !%s.IsPtr()", "sint": "%s.IsInt() && !%s.IsUnsigned() && !%s.IsIndex() && !%s.IsPtr()",
	"anyint": "%s.IsInt() && !%s.IsPtr()", "integral": "(%s.IsInt() || %s.IsBool()) && !%s.IsPtr()",
}

func typeTest(v, t string) (string, error) {
	if f, ok := typeTests[t]; ok {
		return strings.ReplaceAll(f, "%s", v+".DType"), nil
	}
	d, err := goType(t)
	return v + ".DType.Scalar() == " + d, err
}

// otherType is the negation of typeTest.
func otherType(v, t string) (string, error) {
	test, err := typeTest(v, t)
	if strings.Contains(test, "&&") {
		return "!(" + test + ")", err
	}
	return strings.Replace(test, "==", "!=", 1), err
}

func goType(t string) (string, error) {
	switch t {
	case "index":
		return "uop.IndexT", nil
	case "int", "uint", "char", "short", "long", "half", "double":
		return "", fmt.Errorf("unknown type %q", t)
	}
	d, err := uop.ParseDType(t)
	if err != nil || d.Count != 1 {
		return "", fmt.Errorf("unknown type %q", t)
	}
	name := strings.ToUpper(t[:1]) + t[1:]
	switch t {
	case "bfloat16":
		name = "BFloat16"
	case "fp8e4m3", "fp8e5m2":
		name = strings.ToUpper(t)
	}
	return "uop." + name, nil
}

// emitRule is the Go function of a rule, and the pattern that it matches.
func emitRule(fn string, r *rule, imports map[string]bool) (string, *pattern, error) {
	p, err := toPattern(r.pattern)
	if err != nil {
		return "", nil, err
	}
	if p.ops.any || p.ops.root || p.wrapper != "" {
		return "", nil, fmt.Errorf("the pattern must be an operation")
	}
	g := &emitter{p: p, vars: map[string]string{"u": "u"}, used: map[string]bool{}, imports: imports, fn: fn}
	for _, c := range r.choices {
		useNames(c.result, g.used)
		if c.cond != nil {
			useNames(c.cond, g.used)
		}
	}
	var emitErr error
	if p.name != "" {
		g.vars[p.name] = "u"
	}
	g.attributes(p, "u")
	g.sources(p, "u", func() {
		if err := g.choices(r.choices); err != nil {
			emitErr = err
		}
	})
	if emitErr != nil {
		return "", nil, emitErr
	}
	g.flush()
	if !g.ended {
		g.line("return nil")
	}
	body := dropUnusedLabels(strings.Join(g.lines, "\n"))
	u := "u"
	if !strings.Contains(body, "u.") && !strings.Contains(body, "u)") && !strings.Contains(body, "u,") && !strings.Contains(body, "return u") && !strings.Contains(body, "(u") {
		u = "_"
	}
	decls := strings.Join(g.decls, "")
	return fmt.Sprintf("%s\n// %s\nfunc %s(_ any, %s *uop.UOp) *uop.UOp {\n%s\n}\n", decls, r.text, fn, u, body), p, nil
}

// dropUnusedLabels makes continues of the innermost loop plain and removes labels that nothing jumps to.
func dropUnusedLabels(body string) string {
	var open, out []string
	depth := []int{}
	level := 0
	lines := strings.Split(body, "\n")
	far := map[string]bool{}
	for i, l := range lines {
		if i > 0 && strings.HasSuffix(lines[i-1], ":") && strings.HasPrefix(l, "for ") {
			open, depth = append(open, strings.TrimSuffix(lines[i-1], ":")), append(depth, level)
		} else if strings.HasPrefix(l, "for ") {
			open, depth = append(open, ""), append(depth, level)
		}
		level += strings.Count(l, "{") - strings.Count(l, "}")
		if label, ok := strings.CutPrefix(l, "continue "); ok {
			if open[len(open)-1] == label {
				lines[i] = "continue"
			} else {
				far[label] = true
			}
		}
		for len(depth) > 0 && depth[len(depth)-1] == level && strings.HasPrefix(l, "}") {
			open, depth = open[:len(open)-1], depth[:len(depth)-1]
		}
	}
	for _, l := range lines {
		if label, ok := strings.CutSuffix(l, ":"); ok && strings.HasPrefix(label, "way") && !far[label] {
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// attributes tests everything about a node but its sources. The operation of the root is given.
func (g *emitter) attributes(p *pattern, v string) {
	if p.wrapper != "" {
		return
	}
	switch {
	case p.literal != "": // tested below, with the operation
	case v == "u" || p.ops.any:
	case p.ops.root:
		g.unless(v + ".Op != u.Op")
	case len(p.ops.set.List()) == 1:
		g.unless(v + ".Op != " + p.ops.text)
	case strings.HasPrefix(p.ops.text, "uop.Group"):
		g.unless("!" + p.ops.text + ".Has(" + v + ".Op)")
	case len(p.ops.set.List()) > 3:
		name := fmt.Sprintf("%sOps%d", g.fn, len(g.decls)+1)
		g.decls = append(g.decls, fmt.Sprintf("var %s = %s\n", name, setLiteral(p.ops.set)))
		g.unless("!" + name + ".Has(" + v + ".Op)")
	default:
		var alt []string
		for _, o := range p.ops.set.List() {
			alt = append(alt, v+".Op != "+goOp(o.String()))
		}
		g.unless(strings.Join(alt, " && "))
	}
	switch {
	case p.invalid:
		g.unless("!" + v + ".IsInvalid()")
	case p.literal != "":
		g.unless("!" + v + ".IsConst(" + p.literal + ")")
	}
	if p.types != "" {
		t, err := otherType(v, p.types)
		if err != nil {
			panic(parseError{err})
		}
		g.unless(t)
	}
	if p.param != "" {
		g.unless(v + ".Arg != uop.Arg(uop.OpArg(" + p.param + "))")
	}
	if p.hasSrc && !p.each && !p.fixedArity() {
		cmp := "!="
		if p.more {
			cmp = "<"
		}
		g.unless(fmt.Sprintf("len(%s.Src) %s %d", v, cmp, len(p.src)))
	}
}

// fixedArity reports whether every operation of the pattern always has as many sources as are written.
func (p *pattern) fixedArity() bool {
	for n, group := range map[int]uop.OpSet{1: uop.GroupUnary.Union(uop.Ops(uop.Cast, uop.Bitcast, uop.Gep)),
		2: uop.GroupBinary, 3: uop.GroupTernary} {
		if len(p.src) == n && (p.ops.root || p.ops.set.SubsetOf(group)) {
			return true
		}
	}
	return false
}

// needed reports whether a source has to be looked at.
func (g *emitter) needed(p *pattern) bool {
	return !p.ops.any || p.types != "" || p.hasSrc || p.wrapper != "" ||
		p.name != "" && (g.used[p.name] || count(g.p.names(), p.name) > 1)
}

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

// bind gives a node its name, or compares it with the node that has the name already.
func (g *emitter) bind(p *pattern, v string) {
	if p.name == "" || p.wrapper != "" {
		return
	}
	if old, ok := g.vars[p.name]; ok {
		g.unless(v + " != " + old)
		return
	}
	g.vars[p.name] = v
}

// sources matches the sources of v and then calls then, inside whatever loops that takes.
func (g *emitter) sources(p *pattern, v string, then func()) {
	switch {
	case p.wrapper != "":
		g.optional(p, v, then)
	case p.each:
		g.everySource(p, v)
		then()
	case p.ops.order == either || p.ops.order == byOp:
		g.bothOrders(p, v, then)
	default:
		vars := make([]string, len(p.src))
		for i, s := range p.src {
			if g.needed(s) {
				vars[i] = g.varFor(s)
				g.line("%s := %s.Src[%d]", vars[i], v, i)
			}
		}
		g.children(p.src, vars, then)
	}
}

// varFor is the Go variable of a node: its name if it is free, else a new one.
func (g *emitter) varFor(p *pattern) string {
	if p.name != "" && p.wrapper == "" {
		if _, bound := g.vars[p.name]; !bound && !slices.Contains([]string{"u", "uop", "math"}, p.name) && !g.taken(p.name) {
			return p.name
		}
	}
	return g.fresh("v")
}

// taken reports whether a variable of that name was declared for another node of the pattern.
func (g *emitter) taken(name string) bool {
	return slices.ContainsFunc(g.lines, func(l string) bool {
		decl, _, ok := strings.Cut(l, " := ")
		return ok && slices.Contains(strings.Split(decl, ", "), name)
	})
}

func (g *emitter) bothOrders(p *pattern, v string, then func()) {
	i := g.fresh("i")
	if p.ops.order == either {
		g.open(i + " := range 2")
	} else {
		g.open(i + " := range rewrite.Ways(" + v + ")")
	}
	vars := make([]string, 2)
	for j, s := range p.src {
		vars[j] = "_"
		if g.needed(s) {
			vars[j] = g.varFor(s)
			if j == 1 && vars[1] == vars[0] {
				vars[1] = g.fresh("v")
			}
		}
	}
	switch {
	case vars[0] == "_":
		g.line("%s := %s.Src[1-%s]", vars[1], v, i)
	case vars[1] == "_":
		g.line("%s := %s.Src[%s]", vars[0], v, i)
	default:
		g.line("%s, %s := %s.Src[%s], %s.Src[1-%s]", vars[0], vars[1], v, i, v, i)
	}
	start := len(g.lines)
	g.children(p.src, vars, then)
	g.shut()
	g.unloop(start, i)
}

// unloop removes the loop around the lines from start on if its first iteration always returns.
func (g *emitter) unloop(start int, i string) {
	body := g.lines[start : len(g.lines)-1]
	for _, l := range body {
		if strings.Contains(l, "continue") {
			return
		}
	}
	if !strings.HasPrefix(body[len(body)-1], "return ") {
		return
	}
	for j := start - 1; j < len(g.lines); j++ {
		g.lines[j] = strings.NewReplacer("[1-"+i+"]", "[1]", "["+i+"]", "[0]").Replace(g.lines[j])
	}
	g.lines = append(g.lines[:start-2], g.lines[start-1:len(g.lines)-1]...)
	g.ended = len(g.loops) == 0
}

// children tests the attributes of all sources first and then goes below them, one after the other.
func (g *emitter) children(ps []*pattern, vars []string, then func()) {
	for i, s := range ps {
		if vars[i] != "" && vars[i] != "_" {
			g.attributes(s, vars[i])
			g.bind(s, vars[i])
		}
	}
	var below func(i int)
	below = func(i int) {
		if i == len(ps) {
			then()
			return
		}
		if vars[i] == "" || vars[i] == "_" {
			below(i + 1)
			return
		}
		g.sources(ps[i], vars[i], func() { below(i + 1) })
	}
	below(0)
}

// optional matches p.src[0] at v itself and then below a wrapper.
func (g *emitter) optional(p *pattern, v string, then func()) {
	i, w := g.fresh("i"), g.varFor(p.src[0])
	g.open(i + " := range 2")
	g.line("%s := %s", w, v)
	g.line("if %s == 1 {", i)
	g.unless(fmt.Sprintf("%s.Op != %s", v, p.wrapper))
	g.line("%s = %s.Src[0]\n}", w, v)
	g.children(p.src, []string{w}, then)
	g.shut()
}

// everySource matches p.src[0] at every source. Names below it must be the same node each time.
func (g *emitter) everySource(p *pattern, v string) {
	s, outer := p.src[0], g.giveUp()
	var first []string // names that the first source binds
	for _, n := range s.names() {
		if _, bound := g.vars[n]; !bound {
			first = append(first, n)
			g.line("var %s *uop.UOp", n)
		}
	}
	e := g.fresh("s")
	g.line("for _, %s := range %s.Src {", e, v)
	g.everyAttribute(s, e, func(cond string) { g.line("if %s {\n%s\n}", cond, outer) })
	g.line("}")
	for _, n := range first {
		g.vars[n] = n
	}
}

func (g *emitter) everyAttribute(s *pattern, e string, fail func(string)) {
	if !s.ops.any {
		fail(e + ".Op != " + s.ops.text)
	}
	if s.types != "" {
		t, err := otherType(e, s.types)
		if err != nil {
			panic(parseError{err})
		}
		fail(t)
	}
	if s.name != "" {
		v, bound := g.vars[s.name]
		if !bound {
			v = s.name
			g.line("if %s == nil {\n%s = %s\n}", v, v, e)
		}
		fail(v + " != " + e)
	}
	for i, c := range s.src {
		g.everyAttribute(c, fmt.Sprintf("%s.Src[%d]", e, i), fail)
	}
}
