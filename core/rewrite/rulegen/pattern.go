package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// pattern matches one node.
type pattern struct {
	name    string
	ops     opMatch
	types   string     // name of a type or class of types, "" for any
	literal string     // Go expression of the constant, "" for none
	invalid bool       // the literal is Invalid
	param   string     // Go name of the operation that is the arg
	src     []*pattern // nil: sources do not matter
	hasSrc  bool
	more    bool // sources may follow
	each    bool // src[0] matches every source
	wrapper string
}

// opMatch says which operations a pattern accepts.
type opMatch struct {
	any   bool
	root  bool // the operation of the whole pattern
	set   uop.OpSet
	text  string // Go expression of the set, or of the operation if there is only one
	order order
}

// order says whether the operands may also match the other way round.
type order uint8

const (
	fixed   order = iota
	either        // always tried both ways
	byOp          // if the operation at hand is commutative
	flipped       // fixed, but known to be a single written order (both sources match the same)
)

var groups = map[string]uop.OpSet{
	"Unary": uop.GroupUnary, "Binary": uop.GroupBinary, "Ternary": uop.GroupTernary, "ALU": uop.GroupALU,
	"Elementwise": uop.GroupElementwise, "Defines": uop.GroupDefines, "Irreducible": uop.GroupIrreducible,
	"Movement": uop.GroupMovement, "Commutative": uop.GroupCommutative, "Associative": uop.GroupAssociative,
	"Idempotent": uop.GroupIdempotent, "Comparison": uop.GroupComparison, "All": uop.GroupAll,
}

// goOpNames are the operations whose Go name is not their name in capitalised parts.
var goOpNames = map[string]string{
	"CONST": "ConstOp", "VCONST": "VConstOp", "CMPLT": "CmpLt", "CMPNE": "CmpNe", "CMPEQ": "CmpEq", "MULACC": "MulAcc",
	"ENDIF": "EndIf", "CUSTOMI": "CustomI", "LUNIQUE": "LUnique", "MSELECT": "MSelect", "MSTACK": "MStack", "ENCDEC": "EncDec",
	"ALLREDUCE": "AllReduce", "PTRCAT": "PtrCat",
}

func goOp(name string) string {
	if s, ok := goOpNames[name]; ok {
		return "uop." + s
	}
	var b strings.Builder
	b.WriteString("uop.")
	for _, part := range strings.Split(name, "_") {
		b.WriteString(part[:1] + strings.ToLower(part[1:]))
	}
	return b.String()
}

// opsNamed is the set of the operations and groups in a list; members with a leading - are left out.
func opsNamed(names []string) (set uop.OpSet, err error) {
	var minus uop.OpSet
	for _, n := range names {
		bare := strings.TrimPrefix(n, "-")
		s, ok := groups[bare]
		if !ok {
			o, known := uop.OpByName(bare)
			if !known {
				return set, fmt.Errorf("unknown operation %q", bare)
			}
			s = uop.Ops(o)
		}
		if bare != n {
			minus = minus.Union(s)
		} else {
			set = set.Union(s)
		}
	}
	return set.Minus(minus.List()...), nil
}

func matchOps(names []string) (opMatch, error) {
	set, err := opsNamed(names)
	if err != nil {
		return opMatch{}, err
	}
	m := opMatch{set: set}
	list := set.List()
	switch {
	case len(list) == 0:
		return m, fmt.Errorf("no operation in %v", names)
	case len(list) == 1:
		m.text = goOp(list[0].String())
	case len(names) == 1:
		m.text = "uop.Group" + names[0]
	default:
		parts := make([]string, len(list))
		for i, o := range list {
			parts[i] = goOp(o.String())
		}
		m.text = "uop.Ops(" + strings.Join(parts, ", ") + ")"
	}
	return m, nil
}

var (
	constName  = regexp.MustCompile(`^c[0-9]*$`)
	scalarName = regexp.MustCompile(`^k[0-9]*$`)
)

var patternOps = map[string]string{"+": "ADD", "*": "MUL", "//": "IDIV", "%": "MOD", "&": "AND", "|": "OR", "^": "XOR",
	"<<": "SHL", ">>": "SHR", "<": "CMPLT", "!=": "CMPNE", "==": "CMPEQ"}

// toPattern turns the left side of a rule into a pattern.
func toPattern(e *expr) (*pattern, error) {
	p := &pattern{name: e.name, types: e.typ, ops: opMatch{any: true}}
	var err error
	switch e.kind {
	case exprName:
		p.name = e.text
		if p.name == "_" {
			p.name = ""
		}
		switch {
		case constName.MatchString(e.text):
			p.ops, err = matchOps([]string{"CONST", "VCONST"})
		case scalarName.MatchString(e.text):
			p.ops, err = matchOps([]string{"CONST"})
		}
	case exprNumber:
		if p.ops, err = matchOps([]string{"CONST"}); err == nil {
			p.invalid = e.text == "Invalid"
			p.literal, err = goConst(e.text)
		}
	case exprUnary:
		if e.text != "!" {
			return nil, fmt.Errorf("unary %s cannot be matched", e.text)
		}
		return withOp(p, "CMPNE", e.args[0], &expr{kind: exprNumber, text: "true"})
	case exprBinary:
		if e.text == "/" {
			return withOp(p, "MUL", e.args[0], &expr{kind: exprCall, text: "RECIPROCAL", paren: true, args: []*expr{e.args[1]}})
		}
		if e.text == "-" {
			return nil, fmt.Errorf("x - y cannot be matched: it is x + y * -1")
		}
		return withOp(p, patternOps[e.text], e.args...)
	case exprCall:
		return callPattern(p, e)
	default:
		return nil, fmt.Errorf("not a pattern")
	}
	return p, err
}

func withOp(p *pattern, op string, args ...*expr) (*pattern, error) {
	var err error
	if p.ops, err = matchOps([]string{op}); err != nil {
		return nil, err
	}
	p.hasSrc = true
	if err := p.addSources(args); err != nil {
		return nil, err
	}
	p.setOrder(p.ops.set.SubsetOf(uop.GroupCommutative))
	return p, nil
}

func (p *pattern) addSources(args []*expr) error {
	for _, a := range args {
		s, err := toPattern(a)
		if err != nil {
			return err
		}
		p.src = append(p.src, s)
	}
	return nil
}

func callPattern(p *pattern, e *expr) (*pattern, error) {
	names := e.set
	if names == nil {
		names = []string{e.text}
	}
	var err error
	if e.text == "OP" {
		p.ops = opMatch{root: true}
	} else if p.ops, err = matchOps(names); err != nil {
		return nil, err
	}
	if e.param != nil {
		p.param = goOp(e.param.text)
	}
	p.hasSrc, p.more, p.each = e.paren, e.more, e.each
	if err := p.addSources(e.args); err != nil {
		return nil, err
	}
	if e.opt {
		p.wrapper, p.src[0].name = p.ops.text, p.name
		return p, nil
	}
	p.setOrder(e.both || e.text == "MAX" && e.paren)
	return p, nil
}

// setOrder decides whether both orders of the operands are tried.
func (p *pattern) setOrder(both bool) {
	if !both || len(p.src) != 2 {
		return
	}
	a, b := p.src[0], p.src[1]
	switch {
	case !a.hasSrc && !b.hasSrc && a.name != "" && a.name == b.name && a.literal == "" && b.literal == "":
		p.ops.order = flipped
	case p.ops.root, !p.ops.set.SubsetOf(uop.GroupCommutative):
		p.ops.order = byOp
	default:
		p.ops.order = either
	}
}

// need is the set of operations that must occur among the sources of a match.
func (p *pattern) need() uop.OpSet {
	var s uop.OpSet
	for _, c := range p.src {
		if list := c.ops.set.List(); c.wrapper == "" && len(list) == 1 {
			s = s.Union(uop.Ops(list[0]))
		}
	}
	return s
}

// names lists the named nodes of a pattern.
func (p *pattern) names() []string {
	var out []string
	if p.name != "" && p.wrapper == "" {
		out = append(out, p.name)
	}
	for _, s := range p.src {
		out = append(out, s.names()...)
	}
	return out
}

// isConst reports whether the node called name can only be a CONST.
func (p *pattern) isConst(name string) bool {
	if p.name == name && slices.Equal(p.ops.set.List(), []uop.Op{uop.ConstOp}) {
		return true
	}
	return slices.ContainsFunc(p.src, func(s *pattern) bool { return s.isConst(name) })
}

// goConst is the Go expression of a literal.
func goConst(text string) (string, error) {
	switch text {
	case "true", "false":
		return "uop.BoolConst(" + text + ")", nil
	case "Invalid":
		return "uop.Invalid", nil
	case "nan":
		return "uop.Float(math.NaN())", nil
	}
	if !regexp.MustCompile(`^-?(0x[0-9a-fA-F]+|[0-9]+)$`).MatchString(text) {
		return "", fmt.Errorf("bad number %q", text)
	}
	return "uop.Int(" + text + ")", nil
}
