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

// slots finds the slot of a node: a hash table on the numbers of the nodes.
type slots struct {
	index []int32 // 1 + position in list
	list  []slot
	shift uint // index has 1<<(32-shift) places
}

const minSlotBits = 7

// place is where the search for a node begins. The factor scatters neighbouring numbers evenly.
func (s *slots) place(u *uop.UOp) int { return int(uint32(u.ID()) * 0x9E3779B1 >> s.shift) }

func (s *slots) reset() {
	if s.index == nil {
		s.index, s.shift = make([]int32, 1<<minSlotBits), 32-minSlotBits
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
	i := s.place(u)
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
	s.shift -= 2
	mask := len(s.index) - 1
	for at := range s.list {
		i := s.place(s.list[at].node)
		for s.index[i] != 0 {
			i = (i + 1) & mask
		}
		s.index[i], s.list[at].pos = int32(at+1), int32(i)
	}
}
