package wgsl

import (
	"fmt"
	"slices"

	"polygrad/core/nest/ir"
)

// In a product each invocation has some columns and all rows of a tile: in each iteration all invocations need the same elements of the rows. A
// workgroup loads those of some iterations into workgroup memory together, with coalesced loads (neighbouring invocations load neighbouring
// elements), and an iteration reads them from there four at a time. Columns with strided elements are loaded in the same way: each invocation by
// itself would load from another cache line.

const (
	// tileSteps is the number of iterations whose elements are in workgroup memory at a time.
	tileSteps = 16
	// leastTile is the least number of loads of an iteration that are worth two barriers in tileSteps iterations.
	leastTile = 4
)

// columnStep is the stride in workgroup memory between the elements of two iterations: one more than the invocations, so that they write columns to
// different banks.
func (w *writer) columnStep() int64 { return int64(w.size) + 1 }

// tile is a set of loads of a loop at equal distances, which are the same for all invocations, or one load of columns.
type tile struct {
	loads []*ir.Value // by their offsets
	base  ir.Place    // the first load without the term of the loop
	// columns: each invocation has an element of its own, at the distance row from that of its neighbour.
	columns bool
	array   string
	// row is the stride between two of the loads, step that of a load between two iterations.
	row, step int64
	quads     int64 // vectors of four elements in an iteration
	steps     int64
}

// tilesOf finds the tiles of a loop.
func (w *writer) tilesOf(l *ir.Loop) []*tile {
	if !w.lanes || w.room == 0 || len(l.Phis) == 0 || !uniform(l.Count) || l.Count.Op != ir.Const || int64(l.Count.Bits) < tileSteps {
		return nil
	}
	for b := l.Body.Parent; b != nil; b = b.Parent {
		if b.Loop != nil && !uniform(b.Loop.Count) {
			return nil // a barrier there would wait for invocations that do not come
		}
	}
	var found []*tile
	for _, v := range loadsOf(l) {
		p := v.At
		columns := v.Lanes > 1 && p.Stride > 1
		if v.Lanes != 1 && !columns || columns != (p.Stride != 0) || v.Kind != ir.F32 || v.Pos > 0 || p.Index != nil || p.Gate != nil || p.Buf.Param < 0 || w.k.Params[p.Buf.Param].Written {
			continue
		}
		base := *p
		base.Terms = nil
		step, outside := int64(0), true
		for _, t := range p.Terms {
			if t.V == l.Iter {
				step = t.Coef
				continue
			}
			outside = outside && t.V.Block.Depth < l.Body.Depth
			base.Terms = append(base.Terms, t)
		}
		if step == 0 || !outside {
			continue
		}
		if columns {
			base.Stride = 0
			if step == 1 {
				found = append(found, &tile{base: base, step: 1, row: p.Stride, columns: true, loads: []*ir.Value{v}})
			}
			continue
		}
		i := slices.IndexFunc(found, func(t *tile) bool {
			return !t.columns && t.step == step && t.base.Buf == p.Buf && slices.Equal(t.base.Terms, base.Terms)
		})
		if i < 0 {
			i = len(found)
			found = append(found, &tile{base: base, step: step})
		}
		found[i].loads = append(found[i].loads, v)
	}
	return slices.DeleteFunc(found, func(t *tile) bool { return !w.lay(t, int64(l.Count.Bits)) })
}

// lay decides whether a tile pays, and gives it memory.
func (w *writer) lay(t *tile, count int64) bool {
	if t.columns {
		size := w.columnStep() * tileSteps
		if w.room < size {
			return false
		}
		w.room -= size
		t.array, t.steps = fmt.Sprintf("tile%d", len(w.arrays)), tileSteps
		w.arrays = append(w.arrays, fmt.Sprintf("var<workgroup> %s: array<f32, %d>;\n", t.array, size))
		w.staged[t.loads[0]] = t.array + "_column"
		return true
	}
	slices.SortFunc(t.loads, func(a, b *ir.Value) int { return int(a.At.Off - b.At.Off) })
	n := int64(len(t.loads))
	if n < leastTile {
		return false
	}
	t.base.Off = t.loads[0].At.Off
	t.row = t.loads[1].At.Off - t.base.Off
	for i, v := range t.loads {
		if v.At.Off != t.base.Off+int64(i)*t.row {
			return false
		}
	}
	t.quads, t.steps = (n+3)/4, tileSteps
	if w.room < 4*t.quads*t.steps {
		return false
	}
	w.room -= 4 * t.quads * t.steps
	t.array = fmt.Sprintf("tile%d", len(w.arrays))
	w.arrays = append(w.arrays, fmt.Sprintf("var<workgroup> %s: array<vec4<f32>, %d>;\n", t.array, t.quads*t.steps))
	for i, v := range t.loads {
		w.staged[v] = fmt.Sprintf("%s_%d.%c", t.array, i/4, "xyzw"[i%4])
	}
	return true
}

// fill writes the loop in which a workgroup loads a tile, from an iteration on.
func (w *writer) fill(t *tile, from string, count int64) {
	n := int64(len(t.loads))
	if t.columns {
		n = int64(w.size)
	}
	w.line("for (var e = i32(lane); e < %di; e += %di) {", n*t.steps, w.size)
	w.indent++
	row, step := fmt.Sprintf("e / %di", t.steps), fmt.Sprintf("e %% %di", t.steps)
	if t.row == 1 { // neighbours are elements of one iteration
		row, step = fmt.Sprintf("e %% %di", n), fmt.Sprintf("e / %di", n)
	}
	w.line("let row = %s;", row)
	w.line("let step = %s;", step)
	at := fmt.Sprintf("%s + (%s + step) * %s + row * %s", w.index(&t.base), from, literal(t.step), literal(t.row))
	a, _ := w.array(t.base.Buf)
	put := fmt.Sprintf("%s[step * %di + row / 4i][row %% 4i] = %s[%s];", t.array, t.quads, a, at)
	if t.columns {
		put = fmt.Sprintf("%s[step * %di + row] = %s[%s];", t.array, w.columnStep(), a, at)
	}
	if count%t.steps != 0 {
		put = fmt.Sprintf("if (%s + step < %di) { %s }", from, count, put)
	}
	w.line("%s", put)
	w.indent--
	w.line("}")
}

// read writes the values of a tile in an iteration.
func (w *writer) read(t *tile, step string) {
	if t.columns {
		w.line("let %s_column = %s[%s * %di + i32(lane)];", t.array, t.array, step, w.columnStep())
	}
	for q := range t.quads {
		w.line("let %s_%d = %s[%s * %di + %di];", t.array, q, t.array, step, t.quads, q)
	}
}

// loadsOf are the loads in the body of a loop.
func loadsOf(l *ir.Loop) (loads []*ir.Value) {
	l.Body.Visit(ir.Visitor{
		Enter: func(v *ir.Value) bool { return v.Block.Depth >= l.Body.Depth },
		Loop:  func(*ir.Loop) bool { return false },
		Value: func(v *ir.Value) {
			if v.Op == ir.Load && v.Block == l.Body {
				loads = append(loads, v)
			}
		},
	})
	return loads
}

// uniform reports whether compilers know that all invocations of a workgroup have the same value.
func uniform(v *ir.Value) bool {
	switch v.Op {
	case ir.Const, ir.First, ir.Items, ir.Var:
		return true
	case ir.Iter:
		return uniform(v.Loop.Count)
	case ir.Load, ir.Phi, ir.Lane, ir.Final:
		return false
	}
	return v.Lanes == 1 && v.At == nil && len(v.Args) > 0 && !slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return !uniform(a) })
}
