package draw

import (
	"fmt"
	"html"
	"strings"
)

// maxDrawn bounds the nodes of a picture, and maxBends the places where lines pass rows: larger pictures cannot be read. A node
// that all others of a long chain use has a line past every row to each of them.
const (
	maxDrawn = 3000
	maxBends = 10 * maxDrawn
)

// SVG is the graph as a picture that needs nothing but a browser. Graphs with more than 3000 nodes, or with lines that pass
// more than 30000 rows together, are an error.
func (g *Graph) SVG() (string, error) {
	if len(g.Nodes) > maxDrawn {
		return "", fmt.Errorf("draw: %d nodes, a picture has at most %d: take DOT", len(g.Nodes), maxDrawn)
	}
	depth, last := g.depths()
	if n := g.bends(depth); n > maxBends {
		return "", fmt.Errorf("draw: the lines pass %d rows, in a picture at most %d: take DOT", n, maxBends)
	}
	rows := g.layers(depth, last)
	width := 0.0
	for _, row := range rows {
		if n := len(row); n > 0 {
			width = max(width, row[n-1].x+row[n-1].width)
		}
	}
	const margin = 10.0
	height := float64(len(rows))*(boxHeight+layerGap) - layerGap
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="monospace" font-size="10">`,
		width+2*margin, max(height, 0)+2*margin)
	fmt.Fprintf(&b, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<g transform=\"translate(%.0f %.0f)\">\n", margin, margin)
	for r, row := range rows {
		y := float64(r) * (boxHeight + layerGap)
		for _, p := range row {
			if p.node < 0 {
				fmt.Fprintf(&b, `<path d="M%.1f %.1fv%.1f" stroke="#888" fill="none"/>`+"\n", p.middle(), y, boxHeight)
			}
			for _, q := range p.down {
				from, to := y+boxHeight, y+boxHeight+layerGap
				half := (from + to) / 2
				fmt.Fprintf(&b, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f" stroke="#888" fill="none"/>`+"\n",
					p.middle(), from, p.middle(), half, q.middle(), half, q.middle(), to)
			}
		}
	}
	for r, row := range rows {
		y := float64(r) * (boxHeight + layerGap)
		for _, p := range row {
			if p.node >= 0 {
				g.box(&b, p, y)
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String(), nil
}

func (p *place) middle() float64 { return p.x + p.width/2 }

// box draws a node.
func (g *Graph) box(b *strings.Builder, p *place, y float64) {
	n := &g.Nodes[p.node]
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="%s" stroke="#444"/>`+"\n",
		p.x, y, p.width, boxHeight, colours[n.Kind])
	lines := []string{n.Name}
	if n.Detail != "" {
		lines = append(lines, n.Detail)
	}
	top := y + boxHeight/2 - lineHeight*float64(len(lines))/2 + lineHeight - 3
	for i, text := range lines {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			p.middle(), top+lineHeight*float64(i), html.EscapeString(text))
	}
}
