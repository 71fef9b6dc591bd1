package dump

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"polygrad/core/uop"
)

var opByName = func() map[string]uop.Op {
	m := map[string]uop.Op{}
	for o := uop.Op(1); o < uop.NumOps; o++ {
		m[o.String()] = o
	}
	return m
}()

// Load builds the nodes of a list in g, which is tinygrad's from now on, and returns them in order; the last one is the root.
func Load(g *uop.Graph, list []Node) ([]*uop.UOp, error) {
	g.AsTinygrad()
	out := make([]*uop.UOp, len(list))
	for i, n := range list {
		u, err := build(g, n, out[:i])
		if err != nil {
			return nil, fmt.Errorf("dump.Load: node %d (%s): %w", i, n, err)
		}
		out[i] = u
	}
	return out, nil
}

// Root builds the graph of a list in g and returns its root, the last node.
func Root(g *uop.Graph, list []Node) (*uop.UOp, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("dump.Root: the list is empty")
	}
	us, err := Load(g, list)
	if err != nil {
		return nil, err
	}
	return us[len(us)-1], nil
}

func build(g *uop.Graph, n Node, before []*uop.UOp) (*uop.UOp, error) {
	op, ok := opByName[n.Op]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", n.Op)
	}
	dt, err := uop.ParseDType(n.DType)
	if err != nil {
		return nil, err
	}
	src := make([]*uop.UOp, len(n.Src))
	for i, s := range n.Src {
		if s < 0 || s >= len(before) {
			return nil, fmt.Errorf("source %d stands not before its user", s)
		}
		src[i] = before[s]
	}
	var arg, tag uop.Arg
	if n.Arg != nil {
		if arg, err = ParseArg(g, op, dt, *n.Arg); err != nil {
			return nil, err
		}
	}
	if n.Tag != nil {
		if tag, err = parseTag(*n.Tag); err != nil {
			return nil, err
		}
	}
	return g.New(op, dt, src, arg, tag), nil
}

func parseTag(s string) (uop.Arg, error) {
	if strings.HasPrefix(s, "(") {
		v, err := ints(s)
		return uop.Nums(v), err
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return uop.Num(n), nil
	}
	return uop.Str(s), nil
}

// ParseArg reads the text of an arg; what it means depends on the operation and, for constants, on the dtype.
func ParseArg(g *uop.Graph, op uop.Op, dt *uop.DType, s string) (uop.Arg, error) {
	switch op {
	case uop.ConstOp:
		return parseConst(dt, s)
	case uop.VConstOp:
		return parseConsts(dt, s)
	case uop.Unique, uop.LUnique:
		return number(strings.TrimLeft(s, "ul"))
	case uop.Param, uop.Buffer, uop.DefineReg, uop.DefineLocal, uop.MSelect:
		return number(s)
	case uop.Gep, uop.Permute:
		v, err := ints(s)
		return uop.Nums(v), err
	case uop.Flip:
		return parseFlags(s)
	case uop.Range:
		return parseRange(s)
	case uop.Reduce:
		o, ok := opByName[s]
		if !ok {
			return nil, fmt.Errorf("unknown operation %q", s)
		}
		return uop.OpArg(o), nil
	case uop.ReduceAxis:
		name, rest, _ := strings.Cut(s, "(")
		o, ok := opByName[name]
		axes, err := ints("(" + rest)
		if !ok || err != nil {
			return nil, fmt.Errorf("malformed reduction %q", s)
		}
		return uop.AxisReduce{Op: o, Axes: axes}, nil
	case uop.DefineVar:
		return parseVar(dt, s)
	case uop.Unroll, uop.Contract:
		return parseAxisSizes(s)
	case uop.Bufferize:
		return parseBufferize(s)
	case uop.BufferView:
		v, err := ints(s)
		if err != nil || len(v) != 2 {
			return nil, fmt.Errorf("malformed view %q", s)
		}
		return uop.ViewArg{Size: int64(v[0]), Offset: int64(v[1])}, nil
	case uop.Sink:
		return parseKernelInfo(s)
	case uop.Assign:
		return parseChain(g, s)
	}
	return uop.Str(s), nil
}

func number(s string) (uop.Arg, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	return uop.Num(n), err
}

// fields splits "(a,b,(c,d))" at the commas of its outermost level.
func fields(s string) ([]string, error) {
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return nil, fmt.Errorf("malformed tuple %q", s)
	}
	s = s[1 : len(s)-1]
	if s == "" {
		return nil, nil
	}
	var out []string
	depth, start := 0, 0
	for i := range s {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:]), nil
}

func ints(s string) ([]int, error) {
	fs, err := fields(s)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(fs))
	for i, f := range fs {
		if out[i], err = strconv.Atoi(strings.TrimSpace(f)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseConst(dt *uop.DType, s string) (uop.Const, error) {
	switch s {
	case "Invalid":
		return uop.Invalid, nil
	case "true", "True":
		return uop.BoolConst(true), nil
	case "false", "False":
		return uop.BoolConst(false), nil
	case "nan":
		return uop.Float(math.NaN()), nil
	}
	if dt.IsFloat() {
		f, err := strconv.ParseFloat(s, 64)
		return uop.Float(f), err
	}
	b, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return uop.Const{}, fmt.Errorf("%q is no constant of type %s", s, dt)
	}
	return uop.BigInt(b), nil
}

func parseConsts(dt *uop.DType, s string) (uop.Arg, error) {
	fs, err := fields(s)
	if err != nil {
		return nil, err
	}
	out := make(uop.Consts, len(fs))
	for i, f := range fs {
		if out[i], err = parseConst(dt, f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseFlags(s string) (uop.Arg, error) {
	fs, err := fields(s)
	if err != nil {
		return nil, err
	}
	out := make(uop.Flags, len(fs))
	for i, f := range fs {
		if out[i], err = strconv.ParseBool(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var axisByName = func() map[string]uop.AxisType {
	m := map[string]uop.AxisType{}
	for a := uop.AxisGlobal; a <= uop.AxisPlaceholder; a++ {
		m[a.String()] = a
	}
	return m
}()

func parseRange(s string) (uop.Arg, error) {
	id, kind, _ := strings.Cut(s, ":")
	t, ok := axisByName[kind]
	if !ok {
		return nil, fmt.Errorf("malformed range %q", s)
	}
	a := uop.RangeArg{Type: t}
	for _, p := range strings.Split(id, "_") {
		n, err := strconv.Atoi(strings.Replace(p, "m", "-", 1))
		if err != nil {
			return nil, fmt.Errorf("malformed range %q", s)
		}
		a.ID = append(a.ID, n)
	}
	return a, nil
}

func parseVar(dt *uop.DType, s string) (uop.Arg, error) {
	name, rest, _ := strings.Cut(s, "[")
	lo, hi, ok := strings.Cut(strings.TrimSuffix(rest, "]"), ",")
	if !ok {
		return nil, fmt.Errorf("malformed variable %q", s)
	}
	a, err := parseConst(dt, lo)
	if err != nil {
		return nil, err
	}
	b, err := parseConst(dt, hi)
	return uop.VarArg{Name: name, Min: a, Max: b}, err
}

func parseAxisSizes(s string) (uop.Arg, error) {
	fs, err := fields(s)
	if err != nil {
		return nil, err
	}
	out := make(uop.AxisSizes, len(fs))
	for i, f := range fs {
		v, err := ints(f)
		if err != nil || len(v) != 2 {
			return nil, fmt.Errorf("malformed axis sizes %q", s)
		}
		out[i] = uop.AxisSize{Axis: v[0], Size: v[1]}
	}
	return out, nil
}

func parseBufferize(s string) (uop.Arg, error) {
	fs, err := fields(s)
	if err != nil || len(fs) != 3 {
		return nil, fmt.Errorf("malformed BUFFERIZE %q", s)
	}
	o := uop.BufferizeOpts{Device: fs[0], Removable: fs[2] == "removable"}
	if fs[1] == "LOCAL" {
		o.Space, o.Device = uop.Local, ""
		if o.LocalID, err = strconv.Atoi(fs[0]); err != nil {
			return nil, fmt.Errorf("malformed BUFFERIZE %q", s)
		}
	}
	return o, nil
}

var optByName = func() map[string]uop.OptOp {
	m := map[string]uop.OptOp{}
	for o := uop.OptTC; o <= uop.OptSwap; o++ {
		m[o.String()] = o
	}
	return m
}()

func parseKernelInfo(s string) (uop.Arg, error) {
	body, ok := strings.CutPrefix(s, "KernelInfo(")
	if !ok {
		return nil, fmt.Errorf("malformed kernel info %q", s)
	}
	var k uop.KernelInfo
	for _, f := range strings.Split(strings.TrimSuffix(body, ")"), ";") {
		key, value, _ := strings.Cut(f, "=")
		var err error
		switch key {
		case "name":
			k.Name = value
		case "applied":
			k.AppliedOpts, err = ParseOpts(value)
		case "opts_to_apply":
			k.HasOpts = true
			k.OptsToApply, err = ParseOpts(value)
		default:
			err = fmt.Errorf("unknown field %q", key)
		}
		if err != nil {
			return nil, fmt.Errorf("malformed kernel info %q: %w", s, err)
		}
	}
	return k, nil
}

// ParseOpts reads a list of choices of the optimiser: (UPCAST(0,4),UNROLL(0,0)).
func ParseOpts(s string) ([]uop.Opt, error) {
	fs, err := fields(s)
	if err != nil {
		return nil, err
	}
	var out []uop.Opt
	for _, f := range fs {
		name, rest, _ := strings.Cut(f, "(")
		v, err := ints("(" + rest)
		if err != nil || len(v) != 2 || optByName[name] == 0 {
			return nil, fmt.Errorf("malformed choice %q", f)
		}
		out = append(out, uop.Opt{Op: optByName[name], Axis: v[0], Arg: v[1]})
	}
	return out, nil
}
