package ir

// InternTable holds one value for each key (hash-consing). It is several times faster than a Go map, whose hashing of such long keys
// would dominate the construction of values.
type InternTable[K Hashed, V any] struct {
	index []internEntry // open addressing, size a power of two
	slabs []*[internSlab]internNode[K, V]
	count int // nodes in slabs
	found int // nodes in the index
}

// Hashed is the interface of keys: the hash is computed once for each search.
type Hashed interface {
	comparable
	Hash() uint64
}

// internEntry is an entry of the index. It has no pointers, so the garbage collector does not scan it.
type internEntry struct {
	hash uint32
	node uint32 // 1 + number of the node, 0 for none
}

// internNode is a value with its key.
type internNode[K, V any] struct {
	value V
	key   K
}

const internSlab = 64

// NewInternTable makes a table for about n values.
func NewInternTable[K Hashed, V any](n int) InternTable[K, V] {
	size := internSlab
	for size < 2*n {
		size *= 2
	}
	return InternTable[K, V]{index: make([]internEntry, size)}
}

// Find returns the value of a key, or a new one that is a copy of v.
func (t *InternTable[K, V]) Find(k K, v V) (value *V, found bool) {
	h := uint32(k.Hash())
	mask := uint32(len(t.index) - 1)
	i := h & mask
	for ; t.index[i].node != 0; i = (i + 1) & mask {
		if e := t.index[i]; e.hash == h {
			if n := t.at(e.node - 1); n.key == k {
				return &n.value, true
			}
		}
	}
	n := t.add()
	n.value, n.key = v, k
	t.index[i] = internEntry{h, uint32(t.count)}
	if t.found++; 2*t.found > len(t.index) {
		t.grow()
	}
	return &n.value, false
}

func (t *InternTable[K, V]) grow() {
	old := t.index
	t.index = make([]internEntry, 2*len(old))
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

// Unique makes a value without a key.
func (t *InternTable[K, V]) Unique(v V) *V {
	n := t.add()
	n.value = v
	return &n.value
}

// at is the node of a number.
func (t *InternTable[K, V]) at(n uint32) *internNode[K, V] {
	return &t.slabs[n/internSlab][n%internSlab]
}

// add makes a node.
func (t *InternTable[K, V]) add() *internNode[K, V] {
	if t.count%internSlab == 0 {
		t.slabs = append(t.slabs, new([internSlab]internNode[K, V]))
	}
	t.count++
	return t.at(uint32(t.count - 1))
}

// MixHash adds a word to a hash.
func MixHash(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
