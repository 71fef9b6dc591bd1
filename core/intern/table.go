// Package intern finds what was made for a key before.
package intern

// Table finds what was made for a key before. It is several times faster than a map, whose hash of such long keys
// costs more than all else in making a value.
type Table[K Hashed, V any] struct {
	index []entry[K, V] // open addressing, size a power of two
	count int
	slab  []node[K, V] // room for what is made next
}

// Hashed is what a key has to be: its hash is asked for once.
type Hashed interface {
	comparable
	Hash() uint64
}

type entry[K, V any] struct {
	hash uint64
	node *node[K, V]
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
	return Table[K, V]{index: make([]entry[K, V], size)}
}

// Find returns what was made for a key, or new room for it, which holds v.
func (t *Table[K, V]) Find(k K, v V) (made *V, found bool) {
	h := k.Hash()
	mask := uint64(len(t.index) - 1)
	i := h & mask
	for ; t.index[i].node != nil; i = (i + 1) & mask {
		if e := &t.index[i]; e.hash == h && e.node.key == k {
			return &e.node.made, true
		}
	}
	n := t.room()
	n.made, n.key = v, k
	t.index[i] = entry[K, V]{h, n}
	if t.count++; 2*t.count > len(t.index) {
		t.grow()
	}
	return &n.made, false
}

func (t *Table[K, V]) grow() {
	old := t.index
	t.index = make([]entry[K, V], 2*len(old))
	mask := uint64(len(t.index) - 1)
	for _, e := range old {
		if e.node == nil {
			continue
		}
		i := e.hash & mask
		for t.index[i].node != nil {
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

func (t *Table[K, V]) room() *node[K, V] {
	if len(t.slab) == 0 {
		t.slab = make([]node[K, V], slabSize)
	}
	n := &t.slab[0]
	t.slab = t.slab[1:]
	return n
}

// Mix adds a word to a hash.
func Mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
