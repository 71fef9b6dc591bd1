// Package intern finds what was made for a key before.
package intern

// Table finds what was made for a key before. It is several times faster than a map, whose hash of such long keys
// costs more than all else in making a value.
type Table[K Hashed, V any] struct {
	index []entry // open addressing, size a power of two
	slabs []*[slabSize]node[K, V]
	count int // of the nodes in slabs
	found int // of those that the index has
}

// Hashed is what a key has to be: its hash is asked for once.
type Hashed interface {
	comparable
	Hash() uint64
}

// entry is a place in the index. It has no pointers: the collector need not look at it.
type entry struct {
	hash uint32
	node uint32 // 1 + number of the node, 0 for none
}

// node is what was made, with its key.
type node[K, V any] struct {
	made V
	key  K
}

const slabSize = 64

// NewTable makes a table for about n values.
func NewTable[K Hashed, V any](n int) Table[K, V] {
	size := slabSize
	for size < 2*n {
		size *= 2
	}
	return Table[K, V]{index: make([]entry, size)}
}

// Find returns what was made for a key, or new room for it, which holds v.
func (t *Table[K, V]) Find(k K, v V) (made *V, found bool) {
	h := uint32(k.Hash())
	mask := uint32(len(t.index) - 1)
	i := h & mask
	for ; t.index[i].node != 0; i = (i + 1) & mask {
		if e := t.index[i]; e.hash == h {
			if n := t.at(e.node - 1); n.key == k {
				return &n.made, true
			}
		}
	}
	n := t.room()
	n.made, n.key = v, k
	t.index[i] = entry{h, uint32(t.count)}
	if t.found++; 2*t.found > len(t.index) {
		t.grow()
	}
	return &n.made, false
}

func (t *Table[K, V]) grow() {
	old := t.index
	t.index = make([]entry, 2*len(old))
	mask := uint32(len(t.index) - 1)
	for _, e := range old {
		if e.node == 0 {
			continue
		}
		i := e.hash & mask
		for t.index[i].node != 0 {
			i = (i + 1) & mask
		}
		t.index[i] = e
	}
}

// Unique makes a value that nothing finds.
func (t *Table[K, V]) Unique(v V) *V {
	n := t.room()
	n.made = v
	return &n.made
}

// at is a node by its number.
func (t *Table[K, V]) at(n uint32) *node[K, V] { return &t.slabs[n/slabSize][n%slabSize] }

// room is a new node.
func (t *Table[K, V]) room() *node[K, V] {
	if t.count%slabSize == 0 {
		t.slabs = append(t.slabs, new([slabSize]node[K, V]))
	}
	t.count++
	return t.at(uint32(t.count - 1))
}

// Mix adds a word to a hash.
func Mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
