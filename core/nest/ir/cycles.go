package ir

// Costs in cycles of operations, as measured where vectors have 16 lanes; two operations on vectors begin in a cycle.
const (
	cyclesVector = 0.5
	cyclesScalar = 0.25
	cyclesDivide = 5
	cyclesStore  = 1
	// cyclesLane is the cost of each lane that is loaded, stored, extracted or inserted by itself, cyclesLine that of a line of a buffer beyond L2.
	cyclesLane = 1.1
	cyclesLine = 4
	// cyclesAcross is the cost of exchanging lanes, cyclesReduced that of reducing all lanes to a scalar.
	cyclesAcross  = 3
	cyclesReduced = 6
	// cyclesLoop is the cost of an iteration, cyclesStart that of beginning a loop.
	cyclesLoop  = 0.5
	cyclesStart = 3
	// cyclesWait is the least time of an iteration of a loop with loop-carried variables.
	cyclesWait = 3
)

// Cycles estimates how long a run takes one thread whose sequential accesses hit the nearest cache, and the part of that for lanes that are
// loaded, stored or moved one by one. ok is false if the trip count of a loop is not known.
func (k *Kernel) Cycles(m *Machine) (all, lanes float64, ok bool) {
	own := map[*Block]*[2]float64{} // of an iteration, without loops in it
	add := func(b *Block, cycles, lanes float64) {
		if own[b] == nil {
			own[b] = &[2]float64{}
		}
		own[b][0] += cycles + lanes
		own[b][1] += lanes
	}
	k.Root.Visit(Visitor{Value: func(v *Value) {
		cycles, lanes := v.cycles(m)
		add(v.Block, cycles, lanes)
	}})
	ok = true
	var run func(b *Block) (all, lanes float64)
	run = func(b *Block) (all, lanes float64) {
		for _, it := range b.Items {
			switch {
			case it.Store != nil:
				cycles, lanes := it.Store.cycles(m)
				add(b, cycles, lanes)
			case it.Dot != nil:
				ok = false
			case it.Loop != nil:
				n, known := k.iterations(it.Loop.Count)
				ok = ok && known
				inner, innerLanes := run(it.Loop.Body)
				if inner += cyclesLoop; len(it.Loop.Phis) > 0 {
					inner = max(inner, cyclesWait)
				}
				all += cyclesStart + n*inner
				lanes += n * innerLanes
			}
		}
		if o := own[b]; o != nil {
			all, lanes = all+o[0], lanes+o[1]
		}
		return all, lanes
	}
	all, lanes = run(k.Root)
	return all, lanes, ok
}

// iterations is the value of a trip count in a run of all items, when the enclosing loops are half way through; known is false if it depends on
// memory or on the arguments of the kernel.
func (k *Kernel) iterations(count *Value) (n float64, known bool) {
	bits, known := k.midway(count)
	return max(float64(int64(bits)), 0), known
}

// midway is the value of an integer half way through the loops that it depends on.
func (k *Kernel) midway(v *Value) (bits uint64, ok bool) {
	switch v.Op {
	case Const:
		return v.Bits, true
	case Items:
		return uint64(k.Items), true
	case First, AnyLane: // a branch for lanes is seldom taken
		return 0, true
	case Iter:
		bits, ok = k.midway(v.Loop.Count)
		return (max(bits, 1) - 1) / 2, ok
	case Where:
		if bits, ok = k.midway(v.Args[0]); !ok {
			return 0, false
		}
		if bits != 0 {
			return k.midway(v.Args[1])
		}
		return k.midway(v.Args[2])
	}
	if v.Lanes > 1 || v.Kind.Float() || len(v.Args) == 0 || !laneFoldable[v.Op] {
		return 0, false
	}
	var args [3]uint64
	for i, a := range v.Args {
		if args[i], ok = k.midway(a); !ok {
			return 0, false
		}
	}
	return LaneOp(v.Op, v.Args[0].Kind, v.Kind)(args[0], args[1], args[2]), true
}

// cycles are the cycles of the operation, and of lanes that it handles one by one.
func (v *Value) cycles(m *Machine) (whole, lanes float64) {
	switch v.Op {
	case Const, Var, Iter, First, Items, Lane, Phi, Final, Bitcast:
		return 0, 0
	case Load:
		switch {
		case v.Lanes > 1 && v.At.Index == nil && (v.At.Stride == 2 || v.At.Stride == -2) && v.At.Gate == nil && v.At.Buf.Kind != Bool: // two vectors
			return 2*cyclesVector + cyclesAcross, 0
		case v.Lanes > 1 && (v.At.Index != nil || v.At.Stride > 1 || v.At.Stride < -1):
			return 0, float64(v.Lanes) * v.At.laneCost(m)
		case v.At.Gate != nil:
			return 2 * cyclesVector, 0
		}
		return cyclesVector, 0
	case Extract, Insert, Lookup:
		return 0, cyclesLane
	case Sum, Product, MaxLanes, AndAll, OrAll, XorAll, AnyLane:
		return cyclesReduced, 0
	case Interleave:
		return cyclesAcross * float64(len(v.Args)-1), 0
	case Transpose, Spread, ShiftLanes:
		return cyclesAcross, 0
	case Div, Mod, Sqrt:
		return cyclesDivide, 0
	case Splat:
		return cyclesVector, 0
	}
	switch {
	case v.Lanes == 1:
		return cyclesScalar, 0
	case v.Kind.Width() == 8:
		return 2 * cyclesVector, 0
	}
	return cyclesVector, 0
}

func (s *Store) cycles(m *Machine) (whole, lanes float64) {
	if n := s.Val.Lanes; n > 1 && (s.At.Index != nil || s.At.Stride != 1) {
		return 0, float64(n) * s.At.laneCost(m)
	}
	return cyclesStore, 0
}

// laneCost is the cost of one element of a strided or gathered access.
func (p *Place) laneCost(m *Machine) float64 {
	if p.Buf.Size*p.Buf.Kind.Size() > m.L2 {
		return cyclesLine
	}
	return cyclesLane
}
