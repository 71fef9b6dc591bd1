package dump

import (
	"fmt"
	"strconv"
	"strings"

	"polygrad/core/uop"
)

// The movement chain of a bufferized ASSIGN is written as ((SHRINK,((0,2),(1,3))),(RESHAPE,(2,8))); a
// size that is an expression is written <uop>, so that such a chain cannot be read back.

func chainText(c uop.MovementChain) string {
	parts := make([]string, len(c))
	for i, s := range c {
		parts[i] = "(" + s.Op.String() + "," + stepText(s) + ")"
	}
	return "(" + strings.Join(parts, ",") + ")"
}

func stepText(s uop.MovementStep) string {
	switch len(s.Src) {
	case 0:
		return s.Arg.String()
	case 1:
		return sizesText(s.Src[0].ShapeVec())
	}
	lo, hi := s.Src[0].ShapeVec(), s.Src[1].ShapeVec()
	pairs := make([]string, len(lo))
	for i := range lo {
		pairs[i] = "(" + sizeText(lo[i]) + "," + sizeText(hi[i]) + ")"
	}
	return "(" + strings.Join(pairs, ",") + ")"
}

func sizesText(s uop.Shape) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = sizeText(d)
	}
	return "(" + strings.Join(parts, ",") + ")"
}

func sizeText(s uop.Sint) string {
	if s.Symbolic() {
		return "<uop>"
	}
	return strconv.FormatInt(s.N, 10)
}

func parseChain(g *uop.Graph, s string) (uop.Arg, error) {
	steps, err := fields(s)
	if err != nil {
		return nil, err
	}
	var c uop.MovementChain
	for _, t := range steps {
		fs, err := fields(t)
		if err != nil || len(fs) != 2 {
			return nil, fmt.Errorf("malformed movement %q", t)
		}
		step, err := parseStep(g, opByName[fs[0]], fs[1])
		if err != nil {
			return nil, err
		}
		c = append(c, step)
	}
	return c, nil
}

func parseStep(g *uop.Graph, op uop.Op, s string) (uop.MovementStep, error) {
	step := uop.MovementStep{Op: op}
	var err error
	switch op {
	case uop.Permute, uop.Flip:
		step.Arg, err = ParseArg(g, op, nil, s)
	case uop.Reshape, uop.Expand:
		var v []int
		v, err = ints(s)
		step.Src = []*uop.UOp{shapeVector(g, v)}
	case uop.Pad, uop.Shrink:
		var pairs []string
		if pairs, err = fields(s); err != nil {
			break
		}
		lo, hi := make([]int, len(pairs)), make([]int, len(pairs))
		for i, p := range pairs {
			var v []int
			if v, err = ints(p); err != nil || len(v) != 2 {
				return step, fmt.Errorf("movement %s%s has sizes that are not numbers", op, s)
			}
			lo[i], hi[i] = v[0], v[1]
		}
		step.Src = []*uop.UOp{shapeVector(g, lo), shapeVector(g, hi)}
	default:
		err = fmt.Errorf("%s is no movement", op)
	}
	return step, err
}

func shapeVector(g *uop.Graph, v []int) *uop.UOp {
	s := make(uop.Shape, len(v))
	for i, n := range v {
		s[i] = uop.N(int64(n))
	}
	return g.ShapeArg(s)
}
