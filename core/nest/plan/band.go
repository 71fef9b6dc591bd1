package plan

import "polygrad/core/nest/analysis"

// Axis is a parallel loop with its tiling: a tile is a number of unrolled units, each one iteration or one vector of
// iterations.
type Axis struct {
	Region *analysis.Region
	// Count is the number of iterations, of a dynamic axis, whose count is known when the kernel runs, the greatest one, or -1
	// if that is not known.
	Count   int64
	Dynamic bool
	// Inner is the inner loop of a pair, nil for others, and Split its iterations; then Count is of both.
	Inner *analysis.Region
	Split int64
	// Number is its number among the axes of the band, from 1 on.
	Number int64
	Vector bool // the lanes of vectors are iterations of it
	Rows   bool // it has tiles, if only of one iteration each
	// ordered axes are those whose iterations may store to the same place, and have to be done one after the other.
	ordered bool
	// Descending axes have their first iteration in the last lane of a vector.
	Descending bool
	Units      int64 // units in a tile
	Unit       int64 // iterations in a unit
	// Broadcast says that packed rows have each element in all lanes of a vector.
	Broadcast bool
	// Group is the number of tiles in a block of the cache, 0 for no blocks.
	Group int64
	// Spread: a unit is an iteration of each of some lanes. Nil for units that are one iteration, or one vector.
	Spread *Spread
}

// Spread says which iterations of a tile are those of a lane, where the lanes of a workgroup are a rectangle: lane / Stride % Lanes is the
// position of a lane along the axis. Each lane has runs of Adjacent iterations, one run behind those of the other lanes.
type Spread struct{ Lanes, Stride, Adjacent int64 }

// First is the distance of unit i of a lane from its first one.
func (s *Spread) First(i int64) int64 { return i/s.Adjacent*s.Lanes*s.Adjacent + i%s.Adjacent }

func (a *Axis) Tile() int64 { return a.Units * a.Unit }
func (a *Axis) Full() int64 { return a.Count / a.Tile() }
func (a *Axis) Rest() int64 { return a.Count % a.Tile() }

// Plain reports whether the axis is neither tiled nor vectorised.
func (a *Axis) Plain() bool { return a.Tile() == 1 && !a.Vector && !a.Rows }

// level is one loop of the nest that a band becomes.
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
