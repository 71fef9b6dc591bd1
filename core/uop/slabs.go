package uop

// slabs allocate the nodes of a scratch graph many at a time, which is several times faster than one by one. The nodes of a slab are freed together,
// so a long-lived graph cannot use slabs: one node in use would keep its neighbours alive.
type slabs struct {
	nodes []UOp
	props []props
	src   []*UOp
	size  int
}

const (
	minSlab = 16
	maxSlab = 128
)

// next is the size of the next slab: small for small graphs.
func (s *slabs) next() int {
	s.size = min(max(2*s.size, minSlab), maxSlab)
	return s.size
}

func (g *Graph) scratch() bool { return g.limit == 0 }

// tensorNode is a node of a long-lived graph with its tensor properties and sources in one allocation: such graphs consist of tensors, which have
// shapes and few sources.
type tensorNode struct {
	UOp
	props tensorProps
	src   [2]*UOp
}

// newNode allocates a node; in a long-lived graph, with room for two sources.
func (g *Graph) newNode() (u *UOp, src []*UOp) {
	if !g.scratch() {
		n := &tensorNode{}
		n.t = &n.props
		return &n.UOp, n.src[:0]
	}
	s := &g.slabs
	if len(s.nodes) == 0 {
		s.nodes = make([]UOp, s.next())
	}
	u = &s.nodes[0]
	s.nodes = s.nodes[1:]
	return u, nil
}

func (g *Graph) newProps() *props {
	if !g.scratch() {
		return &props{}
	}
	s := &g.slabs
	if len(s.props) == 0 {
		s.props = make([]props, max(s.size/2, minSlab))
	}
	p := &s.props[0]
	s.props = s.props[1:]
	return p
}

// copySrc copies a list of sources, into room if it fits.
func (g *Graph) copySrc(src, room []*UOp) []*UOp {
	n := len(src)
	if n == 0 {
		return nil
	}
	if n <= cap(room) {
		return append(room[:0:n], src...)
	}
	s := &g.slabs
	if !g.scratch() || n > minSlab {
		return append(make([]*UOp, 0, n), src...)
	}
	if len(s.src) < n {
		s.src = make([]*UOp, max(2*s.size, minSlab))
	}
	out := s.src[:n:n]
	s.src = s.src[n:]
	copy(out, src)
	return out
}
