package rewrite

import "polygrad/core/uop"

// slot is what a rewrite knows about a node.
type slot struct {
	node, final *uop.UOp // final: what the node becomes, nil while that is open
	down        *uop.UOp // what the parents-first table made of it, if it was asked
	firstWaiter int32    // 1 + index of the first step that waits for final
	lastWaiter  int32
	pos         int32 // in index
	placed      bool  // on the work list, or done
	asked       bool
}

// slots finds the slot of a node: a hash table on the numbers of the nodes, which are dense, so they need no mixing.
type slots struct {
	index []int32 // 1 + position in list
	list  []slot
}

const minSlots = 1 << 7

func (s *slots) reset() {
	if s.index == nil {
		s.index = make([]int32, minSlots)
	}
}

// clear forgets all nodes, in time proportional to their number.
func (s *slots) clear() {
	if len(s.list)*8 > len(s.index) {
		clear(s.index)
	} else {
		for i := range s.list {
			s.index[s.list[i].pos] = 0
		}
	}
	clear(s.list)
	s.list = s.list[:0]
}

// slot is the position of the slot of u, a new one if u was not seen before.
func (s *slots) slot(u *uop.UOp) int32 {
	mask := len(s.index) - 1
	i := u.ID() & mask
	for ; s.index[i] != 0; i = (i + 1) & mask {
		if at := s.index[i] - 1; s.list[at].node == u {
			return at
		}
	}
	s.list = append(s.list, slot{node: u, pos: int32(i)})
	s.index[i] = int32(len(s.list))
	if len(s.list)*2 > len(s.index) {
		s.grow()
	}
	return int32(len(s.list) - 1)
}

func (s *slots) grow() {
	s.index = make([]int32, len(s.index)*4)
	mask := len(s.index) - 1
	for at := range s.list {
		i := s.list[at].node.ID() & mask
		for s.index[i] != 0 {
			i = (i + 1) & mask
		}
		s.index[i], s.list[at].pos = int32(at+1), int32(i)
	}
}
