package plan

import "polygrad/core/nest/analysis"

// Axis is a parallel loop with its tiling: a tile is a number of unrolled units, each one iteration or one vector of
// iterations.
type Axis struct {
	Region *analysis.Region
	// Count is the trip count; for a dynamic axis (known at run time) its upper bound, or -1.
	Count   int64
	Dynamic bool
	// Inner is the inner loop of a pair, nil for others, and Split its trip count; Count is then the product of both.
	Inner *analysis.Region
	Split int64
	// Number is the index among the axes of the band, from 1.
	Number int64
	Vector bool // vectorized: lanes are iterations
	Rows   bool // the rows of a register tile, which count as tiled even with one iteration per tile
	// ordered: iterations may store to the same element and run sequentially.
	ordered bool
	// Overlaps: the last vector ends with the axis and computes some iterations of the one before again, since it cannot be masked.
	Overlaps bool
	// Descending: the first iteration is in the last lane of a vector.
	Descending bool
	Units      int64 // units in a tile
	Unit       int64 // iterations in a unit
	// Unroll is the number of iterations of a loop in order that each iteration of the emitted loop does, 0 for one.
	Unroll int64
	// Broadcast: packed rows have each element in all lanes of a vector.
	Broadcast bool
	// Group is the number of tiles in a cache block, 0 for no blocks.
	Group int64
	// Spread distributes the iterations of a tile over the lanes of a workgroup. Nil for units that are one iteration, or one vector.
	Spread *Spread
}

// Spread distributes the iterations of a tile over a rectangle of lanes: lane / Stride % Lanes is the position of a lane along the axis,
// and lanes take runs of Adjacent iterations in turn.
type Spread struct{ Lanes, Stride, Adjacent int64 }

// First is the offset of unit i of a lane from its first unit.
func (s *Spread) First(i int64) int64 { return i/s.Adjacent*s.Lanes*s.Adjacent + i%s.Adjacent }

func (a *Axis) Tile() int64 { return a.Units * a.Unit }
func (a *Axis) Full() int64 { return a.Count / a.Tile() }
func (a *Axis) Rest() int64 { return a.Count % a.Tile() }

// Plain reports whether the axis is neither tiled nor vectorised.
func (a *Axis) Plain() bool { return a.Tile() == 1 && !a.Vector && !a.Rows }

// level is one loop of the nest of a band.
type level struct {
	Axis *Axis
	Kind levelKind
}

type levelKind uint8

const (
	Walk   levelKind = iota // all iterations, one by one
	Blocks                  // blocks of tiles
	Tiles                   // the tiles of the window
)
