package plan

import (
	"fmt"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Check returns an error for a plan that contradicts itself. It runs before anything is emitted.
func (k *Kernel) Check() error {
	for i, p := range k.bands {
		if err := p.check(k); err != nil {
			return fmt.Errorf("plan.Check: band %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *Band) check(k *Kernel) error {
	registers, results := int64(1), int64(1)
	for _, a := range p.Axes {
		if err := p.checkLevels(a); err != nil {
			return err
		}
		if a.Vector && a.Unit > int64(k.Lanes) {
			return fmt.Errorf("axis %d has vectors of %d iterations, expected at most %d", a.Number, a.Unit, k.Lanes)
		}
		registers *= a.Units
	}
	for _, r := range p.Leaf.Loops() {
		results = max(results, int64(len(r.Innermost().Updates)))
	}
	asked := p.want[knobTileVectors] != auto || p.want[knobTileRows] != auto
	if most := max(int64(k.Machine.Vectors), results); p.Rows != nil && !asked && registers*results > most {
		return fmt.Errorf("a tile has %d results of %d units, expected at most %d vectors", results, registers, most)
	}
	if p.Items >= len(p.Levels) || p.Items >= 0 && p.Levels[p.Items].Axis.ordered {
		return fmt.Errorf("level %d is shared, expected one of %d whose iterations may be done in any order", p.Items+1, len(p.Levels))
	}
	written := p.Leaf.Written(nil)
	for _, q := range p.Packs {
		if readsLeaf(written, q.U, map[*uop.UOp]bool{}) {
			return fmt.Errorf("a pack of columns reads a sum of its leaf")
		}
		if err := k.checkScratch("a pack of columns", q.Buf, q.At, p, q.Elements()); err != nil {
			return err
		}
	}
	for _, q := range p.RowPacks {
		if readsLeaf(written, q.U, map[*uop.UOp]bool{}) {
			return fmt.Errorf("a pack of rows reads a sum of its leaf")
		}
		if err := k.checkScratch("a pack of rows", q.Buf, p.RowPackAt, p, p.Rows.Group*q.Sum.Steps*p.Rows.Width(k.Lanes)); err != nil {
			return err
		}
	}
	if q := p.MultiPass; q != nil {
		for _, b := range q.Sums {
			if err := k.checkScratch("the sums of passes", b, q.At, p, p.Vec.Tile()); err != nil {
				return err
			}
		}
	}
	if q := p.Product; q != nil {
		for _, o := range []*DotOperand{q.Rows, q.Columns} {
			if err := k.checkScratch("an operand", o.Buf, o.PackAt, p, o.Axis.Group*o.Panel(q)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLevels checks that the levels cover each iteration of an axis once: one level of iterations, or one of tiles, with
// or without a level of blocks around it.
func (p *Band) checkLevels(a *Axis) error {
	if a.Units < 1 || a.Unit < 1 {
		return fmt.Errorf("axis %d has tiles of %d times %d iterations, expected one at least", a.Number, a.Units, a.Unit)
	}
	var count [Tiles + 1]int
	for _, l := range p.Levels {
		if l.Axis != a {
			continue
		}
		if l.Kind == Blocks && (a.Group < 1 || count[Tiles] > 0) {
			return fmt.Errorf("axis %d has blocks of %d tiles, expected one at least, around the tiles", a.Number, a.Group)
		}
		count[l.Kind]++
	}
	if slices.Contains(p.Joined, a) {
		count[Walk]++
	}
	if count[Walk]+count[Tiles] != 1 || count[Blocks] > count[Tiles] {
		return fmt.Errorf("axis %d is walked %d times, and its tiles %d times in %d blocks, expected once", a.Number, count[Walk], count[Tiles], count[Blocks])
	}
	if count[Walk] > 0 && !a.Plain() {
		return fmt.Errorf("axis %d is walked, but has tiles of %d iterations", a.Number, a.Tile())
	}
	return nil
}

// checkScratch checks that a pack has its size in elements and lies within the scratch memory.
func (k *Kernel) checkScratch(what string, b *ir.Buffer, at int, p *Band, need int64) error {
	switch {
	case at < 0 || at > len(p.Levels):
		return fmt.Errorf("%s before level %d, expected at most %d", what, at+1, len(p.Levels)+1)
	case b == nil || b.Size < need:
		return fmt.Errorf("%s does not hold %d elements", what, need)
	case b.Offset+b.Size*b.Kind.Size() > k.Memory.Bytes:
		return fmt.Errorf("%s ends behind the %d bytes of scratch memory", what, k.Memory.Bytes)
	}
	return nil
}
