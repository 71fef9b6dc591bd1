package nest

import "slices"

// Where all rows of a product are fewer than fill the registers, rows of another axis that shares the columns stand
// beside them in the tile: lines of small images, or several images.

// besideFor is an axis whose iterations may stand beside the rows of a tile, as many as there is room for; nil if there
// is none. If it can it takes one that they divide.
func (im *importer) besideFor(p *plan, vec, rows *axis, room int64, acc []access) (found *axis, count int64) {
	byLane := im.slopes(vec.r.rng)
	shared := func(a *axis) bool {
		s := im.slopes(a.r.rng)
		return !slices.ContainsFunc(acc, func(x access) bool {
			return x.times > 1 && byLane.of(x.u.Src[0]).matters && s.of(x.u.Src[0]).matters
		})
	}
	for _, a := range p.axes {
		if a == vec || a == rows || a.n < 2 || !shared(a) {
			continue
		}
		n := min(room/rows.n, a.n)
		for d := n; d > 1 && d > n/2; d-- {
			if a.n%d == 0 {
				n = d
				break
			}
		}
		if n > 1 && (found == nil || found.n%count != 0 && a.n%n == 0) {
			found, count = a, n
		}
	}
	return found, count
}
