package rewrite

import "polygrad/core/uop"

// slot is what a rewrite knows about a node.
type slot struct {
	now         *uop.UOp // the node, or its replacement when no parents-first rule applies any more
	final       *uop.UOp // the result for the node, nil until it is known
	down        *uop.UOp // the answer of the parents-first table for the node, if asked
	firstWaiter int32    // 1 + index of the first step that waits for final
	lastWaiter  int32
	sources     int32 // where the slots of its sources are
	placed      bool  // on the work list, or done
	asked       bool
	entered     bool // the parents-first table has been applied to now
}

// slots finds the slot of a node by the number of the node. Entries of earlier rewrites have the numbers of
// those rewrites, so the index need not be cleared.
type slots struct {
	index  []mark // by the number of the node
	list   []slot
	number uint32 // of this rewrite
}

// mark is the slot that a rewrite gave a node.
type mark struct {
	number uint32
	at     int32
}

// begin forgets all nodes.
func (s *slots) begin() {
	if s.number++; s.number == 0 {
		clear(s.index)
		s.number = 1
	}
}

// slot is the position of the slot of u, a new one if u was not seen before.
func (s *slots) slot(u *uop.UOp) int32 {
	id := u.ID()
	if id >= len(s.index) {
		s.grow(id)
	}
	m := &s.index[id]
	if m.number != s.number {
		*m = mark{s.number, int32(len(s.list))}
		s.list = append(s.list, slot{now: u})
	}
	return m.at
}

// minIndex is the least size of an index.
const minIndex = 1 << 8

// grow makes room for the number id, and for those of nodes that will be made.
func (s *slots) grow(id int) {
	index := make([]mark, max(id+id/2, minIndex))
	copy(index, s.index)
	s.index = index
}
