package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// dot emits a dot product of packed operands.
func (g *gen) dot(d *ir.Dot) {
	for _, at := range []*ir.Place{d.A, d.B, d.C} {
		g.readyPlace(at)
	}
	switch {
	case g.f.AMX:
		g.dotTiles(d)
	case d.Terms == 1 && (g.f.BF16 && d.Kind == ir.BF16 || g.f.VNNI && d.Kind.Size() == 1):
		g.dotVectors(d)
	default:
		fail("a sum of products of %v and %v, which the processor has no instruction for", d.Kind, d.BKind)
	}
}

// pointer is a new register with an address.
func (g *gen) pointer(at *ir.Place) asm.Reg { return g.lea(g.address(at, 0)).Base }

// repeat emits a loop of n iterations, each followed by steps of the pointers.
func (g *gen) repeat(n int64, body func(), moves ...pointerMove) {
	if n == 1 {
		body()
		for _, m := range moves {
			if m.by != 0 {
				g.add(m.reg, m.by)
			}
		}
		return
	}
	left := g.gp()
	g.number(left, uint64(n))
	top := g.label()
	g.closed++
	number := g.closed
	g.imm(asm.LOOP, 0, 0, number)
	g.ins(asm.LABEL, 0, 0).To = top
	body()
	for _, m := range moves {
		if m.by != 0 {
			g.add(m.reg, m.by)
		}
	}
	g.add(left, -1)
	g.jump(asm.NE, top)
	g.imm(asm.ENDLOOP, 0, 0, number)
}

type pointerMove struct {
	reg asm.Reg
	by  int64
}

// The tile registers: four sums, then two blocks of each operand.
var (
	tileSums = [2][2]asm.Reg{{asm.Phys(asm.Tile, 0), asm.Phys(asm.Tile, 1)}, {asm.Phys(asm.Tile, 2), asm.Phys(asm.Tile, 3)}}
	tilesOfA = [2]asm.Reg{asm.Phys(asm.Tile, 4), asm.Phys(asm.Tile, 5)}
	tilesOfB = [2]asm.Reg{asm.Phys(asm.Tile, 6), asm.Phys(asm.Tile, 7)}
)

const (
	tileRow   = 64 // bytes
	tileRows  = 16
	tileBytes = tileRow * tileRows
	wordBytes = 4
)

// tileOps multiply tiles, by the signedness of the operands.
var tileOps = map[[2]ir.Kind]asm.Op{
	{ir.BF16, ir.BF16}: asm.TDPBF16PS, {ir.I8, ir.I8}: asm.TDPBSSD, {ir.I8, ir.U8}: asm.TDPBSUD,
	{ir.U8, ir.I8}: asm.TDPBUSD, {ir.U8, ir.U8}: asm.TDPBUUD,
}

// dotTiles multiplies with tile registers.
func (g *gen) dotTiles(d *ir.Dot) {
	g.useTiles()
	op, ok := tileOps[[2]ir.Kind{d.Kind, d.BKind}]
	if !ok || d.Bias != 0 {
		fail("a sum of products of %v, which have %d too much, and %v", d.Kind, d.Bias, d.BKind)
	}
	a, b, c := g.pointer(d.A), g.pointer(d.B), g.pointer(d.C)
	row := g.gp()
	g.number(row, tileRow)
	across := g.gp()
	g.number(across, uint64(d.CRow*wordBytes))
	eachSum := func(f func(sum asm.Reg, at asm.Mem)) {
		for i := range d.Rows {
			for j := range d.Cols {
				f(tileSums[i][j], asm.Mem{Base: c, Index: across, Scale: 1, Disp: int32(int64(i)*tileRows*d.CRow*wordBytes) + int32(j*tileRow)})
			}
		}
	}
	eachSum(func(sum asm.Reg, at asm.Mem) {
		if d.More {
			g.from(asm.TILELOADD, 0, sum, at)
		} else {
			g.ins(asm.TILEZERO, 0, sum)
		}
	})
	load := func(streams bool, t, from asm.Reg, block int) {
		op := asm.TILELOADD
		if streams {
			op = asm.TILELOADDT1
		}
		g.from(op, 0, t, asm.Mem{Base: from, Index: row, Scale: 1, Disp: int32(block * tileBytes)})
	}
	g.repeat(d.Steps, func() {
		for x := range d.Terms {
			for i := range d.Rows {
				load(d.AStreams, tilesOfA[i], a, x*d.ABlocks+i)
			}
			for y := range d.Terms - x {
				for j := range d.Cols {
					load(d.BStreams, tilesOfB[j], b, y*d.BBlocks+j)
				}
				for i := range d.Rows {
					for j := range d.Cols {
						g.ins(op, 0, tileSums[i][j], tilesOfA[i], tilesOfB[j])
					}
				}
			}
		}
	}, pointerMove{a, d.AStep * wordBytes}, pointerMove{b, d.BStep * wordBytes})
	eachSum(func(sum asm.Reg, at asm.Mem) { g.to(asm.TILESTORED, 0, at, sum) })
}

// useTiles marks the function as using tile registers.
func (g *gen) useTiles() { g.tiles = true }

// tileConfig is the memory operand of LDTILECFG: all tiles have 16 rows of 64 bytes.
func tileConfig() []byte {
	const colsAt, rowsAt = 16, 48
	c := make([]byte, 64)
	c[0] = 1 // the palette
	for t := range 8 {
		c[colsAt+2*t] = tileRow
		c[rowsAt+t] = tileRows
	}
	return c
}
