package wasm

// table finds what was made for a key before. It is several times faster than a map, whose hash of such long keys
// costs more than all else in making a value.
type table[K hashed, V any] struct {
	index []int32 // 1 + position in keys and made; open addressing, size a power of two
	keys  []K
	made  []*V
	slab  []V
}

type hashed interface {
	comparable
	hash() uint64
}

// newTable makes a table for about n values.
func newTable[K hashed, V any](n int) table[K, V] {
	size := 64
	for size < 2*n {
		size *= 2
	}
	return table[K, V]{index: make([]int32, size), keys: make([]K, 0, n), made: make([]*V, 0, n)}
}

// find returns the value of a key, nil if there is none.
func (t *table[K, V]) find(k *K) *V {
	if i := t.index[t.place(k)]; i != 0 {
		return t.made[i-1]
	}
	return nil
}

func (t *table[K, V]) place(k *K) int {
	mask := len(t.index) - 1
	i := int((*k).hash()>>32) & mask
	for t.index[i] != 0 && t.keys[t.index[i]-1] != *k {
		i = (i + 1) & mask
	}
	return i
}

// put adds the value of a key that has none.
func (t *table[K, V]) put(k *K, v *V) {
	t.keys, t.made = append(t.keys, *k), append(t.made, v)
	if 2*len(t.keys) > len(t.index) {
		t.index = make([]int32, 2*len(t.index))
		for at := range t.keys {
			t.index[t.place(&t.keys[at])] = int32(at + 1)
		}
		return
	}
	t.index[t.place(k)] = int32(len(t.keys))
}

const slabSize = 64

// keep copies a value to where it stays.
func (t *table[K, V]) keep(v V) *V {
	if len(t.slab) == 0 {
		t.slab = make([]V, slabSize)
	}
	p := &t.slab[0]
	t.slab = t.slab[1:]
	*p = v
	return p
}

// mix adds a word to a hash.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
