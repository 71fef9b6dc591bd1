package draw

import (
	"fmt"
	"strings"
)

// colours are those of the boxes, by kind.
var colours = map[Kind]string{
	Memory: "#ffe0b3", Constant: "#eeeeee", Movement: "#d9ead3", Math: "#cfe2f3", Reduce: "#f4cccc", Control: "#e6dcf2",
}

// DOT is the graph in the language of Graphviz: dot -Tsvg draws it.
func (g *Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph {\n  rankdir=TB\n")
	b.WriteString("  node [shape=box style=\"rounded,filled\" fontname=\"monospace\" fontsize=10]\n")
	for i, n := range g.Nodes {
		text := quoted(n.Name)
		if n.Detail != "" {
			text += `\n` + quoted(n.Detail)
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\" fillcolor=\"%s\"]\n", i, text, colours[n.Kind])
	}
	for i, n := range g.Nodes {
		for _, s := range n.Sources {
			fmt.Fprintf(&b, "  n%d -> n%d\n", s, i)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace
