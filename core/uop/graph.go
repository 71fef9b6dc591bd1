package uop

// Graph is a set of interned nodes: two nodes with equal operation, type,
// sources, arg and tag are the same pointer. A Graph is not safe for concurrent
// use; its owner (a context, one compilation) locks.
//
// The table holds its nodes. Whoever owns a long-lived graph knows which of them
// are in use and sweeps the others when there are too many (Crowded, Sweep), so a
// loop that builds and forgets graphs runs in flat memory.
type Graph struct {
	table    []*UOp // open addressing, linear probing, size a power of two
	count    int
	limit    int // crowded from this count on; 0 never
	nextID   uint32
	simplify func(*UOp) *UOp
	// unique is the number of the next UNIQUE.
	unique int64
	slabs  slabs
	recent recent
	// made has subgraphs by name (Made), copies the nodes of another graph that equal nodes of this one (SetCopy).
	made   map[string]*UOp
	copies map[*UOp]*UOp
	// tinygrads: operations are composed and simplified as tinygrad does.
	tinygrads bool
}

// Made is the graph that was made under a name; make is called for the first one, and again after a sweep.
func (g *Graph) Made(name string, make func() *UOp) *UOp {
	u := g.made[name]
	if u == nil {
		u = make()
		if g.made == nil {
			g.made = map[string]*UOp{}
		}
		g.made[name] = u
	}
	return u
}

// CopyIn is the node of g that SetCopy recorded for u, nil if there is none or g has dropped it.
func (u *UOp) CopyIn(g *Graph) *UOp {
	if v := u.g.copies[u]; v != nil && v.g == g {
		return v
	}
	return nil
}

// SetCopy records that v, a node of another graph, equals u.
func (u *UOp) SetCopy(v *UOp) {
	if u.g.copies == nil {
		u.g.copies = map[*UOp]*UOp{}
	}
	u.g.copies[u] = v
}

const (
	minTable   = 1 << 6
	minCrowded = 1 << 12
)

// NewGraph makes a long-lived graph. Sizes that depend on variables are kept as simplify returns them; nil leaves them as
// they are. symbolic.NewGraph gives the graph its simplifier.
func NewGraph(simplify func(*UOp) *UOp) *Graph {
	return &Graph{table: make([]*UOp, minTable), limit: minCrowded, simplify: simplify}
}

// Scratch makes a graph for one compilation of nodes of g, composed and simplified as g is. It is never swept: all its nodes become garbage together.
func (g *Graph) Scratch() *Graph {
	return &Graph{table: make([]*UOp, 1<<8), simplify: g.simplify, tinygrads: g.tinygrads}
}

// AsTinygrad makes the graph compose and simplify operations as tinygrad does, even where that is less exact: see core/tensor, and core/symbolic for
// NaN, infinities and rounding. It is called before anything is built, and returns the graph.
func (g *Graph) AsTinygrad() *Graph {
	g.tinygrads = true
	return g
}

// IsAsTinygrad reports whether operations are composed and simplified as tinygrad does.
func (g *Graph) IsAsTinygrad() bool { return g.tinygrads }

// simplest is a size in its simplest form.
func (g *Graph) simplest(u *UOp) *UOp {
	if g.simplify == nil {
		return u
	}
	return g.simplify(u)
}

// Len is the number of nodes in the table.
func (g *Graph) Len() int { return g.count }

func nodeHash(op Op, dt *DType, src []*UOp, arg Arg, tag Arg) uint64 {
	h := uint64(op)<<32 ^ uint64(uint32(dt.Priority+2))<<16 ^ uint64(dt.Count)<<8 ^ uint64(dt.VCnt)<<24
	if dt.base != nil {
		h ^= uint64(dt.Size+1)*0xD6E8FEB86659FD93 + uint64(dt.Space)
	}
	h = mix(h, uint64(len(src)))
	for _, s := range src {
		h = mix(h, s.hash)
	}
	if arg != nil {
		h = mix(h, arg.Hash())
	}
	if tag != nil {
		h = mix(h, tag.Hash()+0x51ED)
	}
	return h
}

// New returns the node with these parts, making it if it does not exist. The
// slice src is kept: the caller must not change it afterwards.
func (g *Graph) New(op Op, dt *DType, src []*UOp, arg Arg, tag Arg) *UOp {
	h := nodeHash(op, dt, src, arg, tag)
	i, u := g.find(h, op, dt, src, arg, tag)
	if u == nil {
		u, _ = g.newNode()
		u.Op, u.DType, u.Src, u.Arg, u.Tag, u.hash = op, dt, src, arg, tag, h
		g.insert(i, u)
	}
	return u
}

// NewCopy is New for sources in a slice that the caller goes on using.
func (g *Graph) NewCopy(op Op, dt *DType, src []*UOp, arg Arg, tag Arg) *UOp {
	h := nodeHash(op, dt, src, arg, tag)
	i, u := g.find(h, op, dt, src, arg, tag)
	if u == nil {
		var room []*UOp
		u, room = g.newNode()
		u.Op, u.DType, u.Src, u.Arg, u.Tag, u.hash = op, dt, g.copySrc(src, room), arg, tag, h
		g.insert(i, u)
	}
	return u
}

// find returns the node with these parts and its slot in the table, or nil and the slot where it belongs.
func (g *Graph) find(h uint64, op Op, dt *DType, src []*UOp, arg Arg, tag Arg) (uint64, *UOp) {
	mask := uint64(len(g.table) - 1)
	i := h & mask
	for ; g.table[i] != nil; i = (i + 1) & mask {
		u := g.table[i]
		if u.hash == h && u.Op == op && u.DType == dt && equalSlices(u.Src, src) && ArgEqual(u.Arg, arg) && ArgEqual(u.Tag, tag) {
			return i, u
		}
	}
	return i, nil
}

// insert stores a new node in slot i of the table.
func (g *Graph) insert(i uint64, u *UOp) {
	u.checkComplex()
	traits := ownTraits(u.Op)
	for _, s := range u.Src {
		if s.g != g {
			panic("uop.Graph.New: " + u.Op.String() + ": source " + s.Op.String() + " belongs to another graph")
		}
		u.srcOps[s.Op>>6] |= 1 << (s.Op & 63)
		u.allOps[0] |= s.allOps[0]
		u.allOps[1] |= s.allOps[1]
		traits |= s.traits
	}
	u.allOps[u.Op>>6] |= 1 << (u.Op & 63)
	u.g, u.id, u.traits = g, g.nextID, traits.of(u.Op, u.DType)
	g.nextID++
	g.table[i] = u
	g.count++
	if g.count*4 > len(g.table)*3 {
		g.resize(len(g.table) * 2)
	}
}

func (g *Graph) resize(n int) {
	old := g.table
	g.table = make([]*UOp, n)
	for _, u := range old {
		if u != nil {
			g.put(u)
		}
	}
}

func (g *Graph) put(u *UOp) {
	mask := uint64(len(g.table) - 1)
	i := u.hash & mask
	for g.table[i] != nil {
		i = (i + 1) & mask
	}
	g.table[i] = u
}

// Import copies the graph below root into g and returns the copy of root. Nodes
// that exist in g already are found, not duplicated. A root of g is returned as it is.
func (g *Graph) Import(root *UOp) *UOp {
	if root.g == g {
		return root
	}
	list := root.Toposort()
	copies := make(map[*UOp]*UOp, len(list))
	g.importAll(list, copies)
	return copies[root]
}

// ImportMap is Import with a map from foreign nodes to their copies, which is
// read and extended; several roots that share nodes are imported through one map.
func (g *Graph) ImportMap(root *UOp, seen map[*UOp]*UOp) *UOp {
	if root.g == g {
		return root
	}
	g.importAll(root.ToposortGated(func(u *UOp) bool { return seen[u] == nil }), seen)
	return seen[root]
}

// importAll copies nodes whose sources come before them, or are in seen.
func (g *Graph) importAll(list []*UOp, seen map[*UOp]*UOp) {
	for _, u := range list {
		src := make([]*UOp, len(u.Src))
		for i, s := range u.Src {
			src[i] = seen[s]
		}
		arg := u.Arg
		if c, ok := arg.(MovementChain); ok {
			arg = g.importChain(c, seen)
		}
		seen[u] = g.New(u.Op, u.DType, src, arg, u.Tag)
	}
}

func (g *Graph) importChain(c MovementChain, seen map[*UOp]*UOp) MovementChain {
	out := make(MovementChain, len(c))
	for i, s := range c {
		out[i] = MovementStep{Op: s.Op, Arg: s.Arg, Shape: make(Shape, len(s.Shape))}
		for _, u := range s.Src {
			out[i].Src = append(out[i].Src, g.ImportMap(u, seen))
		}
		for j, d := range s.Shape {
			if d.U != nil {
				d.U = g.ImportMap(d.U, seen)
			}
			out[i].Shape[j] = d
		}
	}
	return out
}
