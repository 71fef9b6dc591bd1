package draw

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"polygrad/core/uop"
)

// sample is x + max(x), in which x has two users.
func sample() *Graph {
	return &Graph{
		Nodes: []Node{
			{Name: "x", Detail: "float32 (2,3)", Kind: Memory, Sources: []int{}},
			{Name: "EXP2", Kind: Math, Sources: []int{0}},
			{Name: "MAX", Detail: `"all"`, Kind: Reduce, Sources: []int{1}},
			{Name: "ADD <&>", Kind: Math, Sources: []int{1, 2}},
		},
		Roots: []int{3},
	}
}

func TestTree(t *testing.T) {
	want := `ADD <&>
├─ [1] EXP2
│  └─ x float32 (2,3)
└─ MAX "all"
   └─ [1] EXP2
`
	if got := sample().Tree(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A node that is used twice is written out once: n nodes are few lines, not a tree with 2^n leaves. Those of deep
// graphs do not become longer and longer.
func TestTreesAreAsLargeAsTheirGraphs(t *testing.T) {
	const n = 3000
	g := &Graph{Nodes: []Node{{Name: "x"}}, Roots: []int{n}}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("ADD%d", i), Sources: []int{i, i}})
	}
	tree := g.Tree()
	if most := 2*n + 1 + n/deepest; strings.Count(tree, "\n") > most {
		t.Errorf("%d lines, want at most %d", strings.Count(tree, "\n"), most)
	}
	for i := range n {
		// Once with what is below it, once or more as a reference.
		if k := strings.Count(tree, fmt.Sprintf(" ADD%d\n", i)); k < 2 && i < n-1 {
			t.Fatalf("ADD%d is there %d times", i, k)
		}
	}
	for _, line := range strings.Split(tree, "\n") {
		if len([]rune(line)) > 3*deepest+40 {
			t.Fatalf("a line of %d characters", len(line))
		}
	}
}

// What is written below is what was left out above.
func TestDeepTreesAreContinued(t *testing.T) {
	g := &Graph{Nodes: []Node{{Name: "x"}}, Roots: []int{2 * deepest}}
	for i := range 2 * deepest {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("NEG%d", i), Sources: []int{i}})
	}
	tree := g.Tree()
	for i := range 2 * deepest {
		if n := len(regexp.MustCompile(fmt.Sprintf(`NEG%d\b`, i)).FindAllString(tree, -1)); n != 1 && (i != deepest-1 || n != 2) {
			t.Errorf("NEG%d is there %d times in\n%s", i, n, tree)
		}
	}
	at := fmt.Sprintf("[1] NEG%d, see below\n[1] NEG%d\n└─ NEG%d\n", deepest-1, deepest-1, deepest-2)
	if !strings.Contains(tree, at) {
		t.Errorf("no %q in\n%s", at, tree)
	}
}

func TestDOT(t *testing.T) {
	dot := sample().DOT()
	for _, want := range []string{
		"digraph {", `n0 [label="x\nfloat32 (2,3)" fillcolor="#ffe0b3"]`, `n2 [label="MAX\n\"all\""`, "  n0 -> n1\n", "  n1 -> n3\n", "  n2 -> n3\n",
	} {
		if !strings.Contains(dot, want) {
			t.Errorf("no %s in\n%s", want, dot)
		}
	}
	if n := strings.Count(dot, "->"); n != 4 {
		t.Errorf("%d edges, want 4", n)
	}
}

func TestJSON(t *testing.T) {
	text, err := sample().In(JSON)
	if err != nil {
		t.Fatal(err)
	}
	var back Graph
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Nodes) != 4 || !slices.Equal(back.Nodes[3].Sources, []int{1, 2}) || !slices.Equal(back.Roots, []int{3}) {
		t.Errorf("got %s", text)
	}
}

func TestUnknownFormatsAreErrors(t *testing.T) {
	for _, f := range []Format{-1, 4} {
		if _, err := sample().In(f); err == nil || !strings.Contains(err.Error(), fmt.Sprint(int(f))) {
			t.Errorf("format %d: %v", f, err)
		}
	}
}

// wellFormed reads all of an XML text and returns the texts in it.
func wellFormed(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			found = append(found, string(c))
		}
	}
}

func TestSVG(t *testing.T) {
	text, err := sample().SVG()
	if err != nil {
		t.Fatal(err)
	}
	texts := wellFormed(t, text)
	for _, want := range []string{"x", "float32 (2,3)", "EXP2", `"all"`, "ADD <&>"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not among %q", want, texts)
		}
	}
}

func TestPicturesAreBounded(t *testing.T) {
	g := &Graph{Nodes: make([]Node, maxDrawn+1)}
	if _, err := g.SVG(); err == nil || !strings.Contains(err.Error(), "3001 nodes") {
		t.Errorf("got %v", err)
	}
	// The first node has a line to each of a long chain.
	chain := &Graph{Nodes: []Node{{Name: "x"}, {Name: "ADD", Sources: []int{0}}}}
	for i := range 500 {
		chain.Nodes = append(chain.Nodes, Node{Name: "ADD", Sources: []int{0, i + 1}})
	}
	if _, err := chain.SVG(); err == nil || !strings.Contains(err.Error(), "the lines pass 125250 rows") {
		t.Errorf("got %v", err)
	}
	empty, err := (&Graph{}).SVG()
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, empty)
}

// Boxes do not overlap, the leftmost stands at the margin, and all stand below what they depend on.
func TestLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := &Graph{}
		for i := range 1 + r.IntN(60) {
			n := Node{Name: strings.Repeat("x", 1+r.IntN(20))}
			for range r.IntN(3) {
				if i > 0 {
					n.Sources = append(n.Sources, r.IntN(i))
				}
			}
			g.Nodes = append(g.Nodes, n)
		}
		at := make([]int, len(g.Nodes))
		rows := g.layers(g.depths())
		left := rows[0][0].x
		for k, row := range rows {
			for i, p := range row {
				left = min(left, p.x)
				if i > 0 && row[i-1].x+row[i-1].width > p.x+1e-6 {
					t.Fatalf("boxes overlap: one ends at %g, the next begins at %g", row[i-1].x+row[i-1].width, p.x)
				}
				if p.node >= 0 {
					at[p.node] = k
				}
				for _, q := range p.down {
					if !slices.Contains(rows[k+1], q) {
						t.Fatal("a line skips a row")
					}
				}
			}
		}
		if left != 0 {
			t.Fatalf("the picture begins at %g", left)
		}
		for i, n := range g.Nodes {
			for _, s := range n.Sources {
				if at[s] >= at[i] {
					t.Fatalf("node %d in row %d depends on %d in row %d", i, at[i], s, at[s])
				}
			}
		}
	}
}

// What only serves the library is left out, and a number that is broadcast is one node.
func TestNodes(t *testing.T) {
	g := uop.NewGraph(nil)
	x := g.NewBuffer("CPU", 6, uop.Float32).Reshape(uop.ShapeOf(2, 3))
	one := g.DeviceConst(uop.Float32, uop.Float(1), "CPU", uop.ShapeOf(2, 3))
	y := x.Add(one).Pad([]uop.Pair{{Lo: uop.N(1), Hi: uop.N(0)}, {Lo: uop.N(0), Hi: uop.N(2)}})
	z := y.Shrink([]uop.Pair{{Lo: uop.N(0), Hi: uop.N(2)}, {Lo: uop.N(1), Hi: uop.N(3)}})
	want := `SHRINK [0:2,1:3] float32 (2,2)
└─ PAD [1+0,0+2] float32 (3,5)
   └─ ADD float32 (2,3)
      ├─ RESHAPE float32 (2,3)
      │  └─ BUFFER float32 (6)
      └─ 1.0 float32 (2,3)
`
	if got := Nodes(z).Tree(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	both := Nodes(y, z)
	if len(both.Roots) != 2 || both.Roots[0] == both.Roots[1] {
		t.Errorf("roots %v", both.Roots)
	}
	if n := strings.Count(List(y, z), "\n"); n <= len(both.Nodes) {
		t.Errorf("the list has %d lines, the graph %d nodes", n, len(both.Nodes))
	}
}

// Whatever was asked for is drawn, even what is left out elsewhere.
func TestAnyNodeMayBeARoot(t *testing.T) {
	g := uop.NewGraph(nil)
	for _, u := range g.NewBuffer("CPU", 6, uop.Float32).Toposort() {
		if tree := Nodes(u).Tree(); !strings.HasPrefix(tree, u.Op.String()) {
			t.Errorf("%s is drawn as %q", u, tree)
		}
	}
}

func TestFormulasAreShort(t *testing.T) {
	g := uop.NewGraph(nil)
	r := g.Variable("n", uop.Int(0), uop.Int(9), uop.IndexT)
	f := r
	for range 100 {
		f = f.Mul(f)
	}
	if short(f) || !short(r.Mul(r)) {
		t.Error("formulas are counted wrongly")
	}
}
