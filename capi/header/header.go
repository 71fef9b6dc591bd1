// Package header parses include/polygrad.h for the generators and for tests.
package header

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Param is one parameter of a prototype.
type Param struct {
	Type string // as written, without the name; "int64_t (*)[2]" for arrays of pairs
	Name string
}

// A Proto is one function of the header.
type Proto struct {
	Ret    string
	Name   string
	Params []Param
}

// A Constant is an enum member of the header.
type Constant struct {
	Name  string
	Value int
}

var (
	enumerator   = regexp.MustCompile(`(?m)^\s+(POLY_[A-Z0-9_]+) = (\d+)`)
	blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaces       = regexp.MustCompile(`\s+`)
	apiLine      = regexp.MustCompile(`(?m)^POLY_API ([^;]+);`)
	nameBefore   = regexp.MustCompile(`^(.*?)(poly_[a-z0-9_]+)$`)
	pairParam    = regexp.MustCompile(`^int64_t \(\*(\w+)\)\[2\]$`)
	plainParam   = regexp.MustCompile(`^(.*?)(\w+)$`)
)

// Parse finds the prototypes of a header, in order.
func Parse(text string) ([]Proto, error) {
	text = blockComment.ReplaceAllString(text, "")
	var out []Proto
	for _, m := range apiLine.FindAllStringSubmatch(text, -1) {
		p, err := parseProto(strings.TrimSpace(spaces.ReplaceAllString(m[1], " ")))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Constants finds the members of the enums of a header, in order.
func Constants(text string) ([]Constant, error) {
	var out []Constant
	for _, m := range enumerator.FindAllStringSubmatch(blockComment.ReplaceAllString(text, ""), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, fmt.Errorf("enum member %s: %w", m[1], err)
		}
		out = append(out, Constant{m[1], n})
	}
	return out, nil
}

func parseProto(decl string) (Proto, error) {
	open := strings.IndexByte(decl, '(')
	if open < 0 || !strings.HasSuffix(decl, ")") {
		return Proto{}, fmt.Errorf("prototype %q: no parameter list", decl)
	}
	head := nameBefore.FindStringSubmatch(decl[:open])
	if head == nil {
		return Proto{}, fmt.Errorf("prototype %q: no poly_ name", decl)
	}
	p := Proto{Ret: strings.TrimSpace(head[1]), Name: head[2]}
	list := decl[open+1 : len(decl)-1]
	if list == "void" {
		return p, nil
	}
	for _, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if m := pairParam.FindStringSubmatch(s); m != nil {
			p.Params = append(p.Params, Param{"int64_t (*)[2]", m[1]})
		} else if m := plainParam.FindStringSubmatch(s); m != nil {
			p.Params = append(p.Params, Param{strings.TrimSpace(m[1]), m[2]})
		} else {
			return Proto{}, fmt.Errorf("prototype %s: parameter %q", p.Name, s)
		}
	}
	return p, nil
}

// IsHandle reports whether a type is a pointer that the library validates: the opaque types, tensors and layers.
func IsHandle(typ string) bool {
	switch strings.TrimPrefix(typ, "const ") {
	case "PolyCtx *", "PolyUOp *", "PolyStep *", "PolyInstance *", "PolyWasmStepPlan *", "PolySchedule *", "PolyCompiledPlan *",
		"PolyModel *", "PolyModelConfig *", "PolyJob *", "PolyGenerator *", "PolyTokenizer *", "PolyTextStream *", "PolyFile *", "PolyTensor *", "PolyLinear *",
		"PolyArray *", "PolyPin *", "PolyFunction *", "PolyExpr *", "PolyOptim *", "PolyRateScheduler *":
		return true
	}
	return false
}

// IsRecord reports whether a type is a record that is passed by value.
func IsRecord(typ string) bool {
	switch typ {
	case "PolyDType", "PolyArg", "PolyShape", "PolySGD":
		return true
	}
	return false
}
