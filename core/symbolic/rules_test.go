package symbolic

import (
	"encoding/json"
	"testing"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// ruleCase is a line of testdata/rules.json.gz: a graph that a rule of tinygrad's looks at, and its answer.
type ruleCase struct {
	Table  string
	Rule   int // in the table; -1: the whole table at the root, -2: on the whole graph
	Nodes  []dump.Node
	Result []dump.Node
}

func (r *ruleCase) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.Table, &r.Rule, &r.Nodes, &r.Result})
}

func TestEveryRuleAnswersAsTinygrads(t *testing.T) {
	own := map[string]*rewrite.Table{
		"PropagateInvalid": PropagateInvalid, "simpleRules": simpleRules, "Commutative": Commutative,
		"symbolicRules": symbolicRules, "divmodRules": divmodRules, "GepPushing": GepPushing, "SimplifyValid": SimplifyValid,
		"DropAndClauses": DropAndClauses, "MoveWhereOnLoad": MoveWhereOnLoad, "symRules": symRules, "LowerIndexDType": LowerIndexDType,
	}
	whole := map[string]*rewrite.Table{
		"MoveWhereOnLoad": rewrite.Concat("", Sym, MoveWhereOnLoad), "LowerIndexDType": LowerIndexDType,
	}
	cases, err := dump.ReadLines[ruleCase]("testdata/rules.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	apart := 0
	hits := map[*rewrite.Rule]int{}
	for i, c := range cases {
		root, err := dump.Root(NewGraph(), c.Nodes)
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		tab := whole[c.Table]
		if tab == nil {
			tab = Sym
		}
		what := "whole table"
		var r *uop.UOp
		switch c.Rule {
		case -2:
			what = "whole graph"
			r = rewrite.Graph(root, tab, nil)
		case -1:
			r = tab.Rewrite(nil, root)
		default:
			rule := own[c.Table].Rules[c.Rule]
			what = rule.Name
			if r = rewrite.New("", rule).Rewrite(nil, root); r != nil {
				hits[rule]++
			}
		}
		var got []dump.Node
		if r != nil {
			got = dump.Graph(r)
		}
		if (got == nil) != (c.Result == nil) || dump.Diff(got, c.Result, false) >= 0 {
			if outsideOfItsType(root) {
				apart++
				continue
			}
			t.Errorf("case %d, %s %s: %s becomes\n %s, not\n %s", i, c.Table, what, rendered(c.Nodes), rendered(got), rendered(c.Result))
		}
	}
	if apart > 16 {
		t.Errorf("%d answers are not tinygrad's, expected at most 16", apart)
	}
	for name, tab := range own {
		for r := range tab.All {
			if hits[r] == 0 {
				t.Errorf("%s: no case for %s", name, r.Name)
			}
		}
	}
}

// outsideOfItsType reports whether a graph has a constant that is out of range for its wrapping type. tinygrad compares
// and divides the constant itself, polygrad its value in the type.
func outsideOfItsType(root *uop.UOp) bool {
	return root.Find(func(u *uop.UOp) bool {
		if u.Op != uop.ConstOp && u.Op != uop.VConstOp || !u.DType.Wraps() {
			return false
		}
		for i := range u.DType.Count {
			if c := element(u, i); c.IsInt() && !holds(u, c) {
				return true
			}
		}
		return false
	}) != nil
}
