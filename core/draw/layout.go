package draw

import (
	"cmp"
	"math"
	"slices"
)

// A place is a node in a picture, or a bend of a line that passes a layer.
type place struct {
	node  int // -1 for a bend
	width float64
	x     float64 // of its left side
	up    []*place
	down  []*place
	rank  float64
}

// Distances in a picture.
const (
	lineHeight = 13.0
	charWidth  = 6.2
	boxHeight  = 2*lineHeight + 6
	layerGap   = 30.0
	boxGap     = 14.0
	bendWidth  = 4.0
	sweeps     = 12
)

// bends is how many bends the lines of layers have.
func (g *Graph) bends(depth []int) (n int) {
	for i, node := range g.Nodes {
		for _, s := range node.Sources {
			n += depth[i] - depth[s] - 1
		}
	}
	return n
}

// depths are the rows of the nodes, each under all that it depends on, and the number of the last row.
func (g *Graph) depths() (depth []int, last int) {
	depth = make([]int, len(g.Nodes))
	for i, n := range g.Nodes {
		for _, s := range n.Sources {
			depth[i] = max(depth[i], depth[s]+1)
		}
		last = max(last, depth[i])
	}
	g.sink(depth)
	return depth, last
}

// layers puts the nodes into their rows, in an order with few crossing lines, and gives them places: the method of Sugiyama, Tagawa and Toda (1981), by the mean place of neighbours.
func (g *Graph) layers(depth []int, last int) [][]*place {
	rows := make([][]*place, last+1)
	at := make([]*place, len(g.Nodes))
	add := func(row int, p *place) *place {
		rows[row] = append(rows[row], p)
		return p
	}
	for i, n := range g.Nodes {
		text := max(len([]rune(n.Name)), len([]rune(n.Detail)))
		at[i] = add(depth[i], &place{node: i, width: charWidth*float64(text) + 14})
	}
	for i, n := range g.Nodes {
		for _, s := range n.Sources {
			from := at[s]
			for row := depth[s] + 1; row < depth[i]; row++ {
				from = link(from, add(row, &place{node: -1, width: bendWidth}))
			}
			link(from, at[i])
		}
	}
	for sweep := range sweeps {
		if sweep%2 == 0 {
			for _, row := range rows[1:] {
				arrange(row, func(p *place) []*place { return p.up })
			}
		} else {
			for _, row := range slices.Backward(rows[:last]) {
				arrange(row, func(p *place) []*place { return p.down })
			}
		}
	}
	spread(rows)
	return rows
}

// sink moves nodes without sources down to those that use them: a constant stands beside its user.
func (g *Graph) sink(depth []int) {
	lowest := make([]int, len(depth))
	for i := range lowest {
		lowest[i] = -1
	}
	for i, n := range g.Nodes {
		for _, s := range n.Sources {
			if lowest[s] < 0 || depth[i] < lowest[s] {
				lowest[s] = depth[i]
			}
		}
	}
	for i, n := range g.Nodes {
		if len(n.Sources) == 0 && lowest[i] > 0 {
			depth[i] = lowest[i] - 1
		}
	}
}

func link(a, b *place) *place {
	a.down = append(a.down, b)
	b.up = append(b.up, a)
	return b
}

// arrange sorts a row by the mean place of the neighbours in another one; who has none stays where it is.
func arrange(row []*place, neighbours func(*place) []*place) {
	for i, p := range row {
		p.rank = float64(i)
		if list := neighbours(p); len(list) > 0 {
			sum := 0.0
			for _, q := range list {
				sum += q.x
			}
			p.rank = sum / float64(len(list))
		}
	}
	slices.SortStableFunc(row, func(a, b *place) int { return cmp.Compare(a.rank, b.rank) })
	for i, p := range row {
		p.x = float64(i)
	}
}

// spread gives all places their final x: under the middle of their neighbours as far as those beside them allow.
func spread(rows [][]*place) {
	for _, row := range rows {
		x := 0.0
		for _, p := range row {
			p.x = x
			x += p.width + boxGap
		}
	}
	for sweep := range sweeps {
		down := sweep%2 == 0
		for k := range rows {
			row, list := rows[k], func(p *place) []*place { return p.up }
			if !down {
				row, list = rows[len(rows)-1-k], func(p *place) []*place { return p.down }
			}
			settle(row, list)
		}
	}
	left := math.Inf(1)
	for _, row := range rows {
		if len(row) > 0 {
			left = min(left, row[0].x)
		}
	}
	for _, row := range rows {
		for _, p := range row {
			p.x -= left
		}
	}
}

// settle moves the places of a row to where they would like to be. Those that would overlap form a block, which stands
// where it is best for all of them together.
func settle(row []*place, neighbours func(*place) []*place) {
	type block struct {
		from, to int
		sum      float64 // of the wished left sides, each less the offset in the block
		width    float64
	}
	var blocks []block
	for i, p := range row {
		wish := p.x
		if list := neighbours(p); len(list) > 0 {
			sum := 0.0
			for _, q := range list {
				sum += q.x + q.width/2
			}
			wish = sum/float64(len(list)) - p.width/2
		}
		b := block{i, i + 1, wish, p.width + boxGap}
		for len(blocks) > 0 {
			a := blocks[len(blocks)-1]
			if a.sum/float64(a.to-a.from)+a.width <= b.sum/float64(b.to-b.from) {
				break
			}
			b = block{a.from, b.to, a.sum + b.sum - a.width*float64(b.to-b.from), a.width + b.width}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		x := b.sum / float64(b.to-b.from)
		for _, p := range row[b.from:b.to] {
			p.x = x
			x += p.width + boxGap
		}
	}
}
