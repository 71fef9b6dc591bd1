package emit

// assoc is a map that searches small numbers of pairs linearly: there are very many environments, most with a handful of values.
type assoc[K comparable, V any] struct {
	few  []pair[K, V]
	many map[K]V
}

type pair[K comparable, V any] struct {
	k K
	v V
}

// linearSearchLimit is up to how many pairs are searched one by one.
const linearSearchLimit = 12

func (a *assoc[K, V]) get(k K) (v V, ok bool) {
	if a.many != nil {
		v, ok = a.many[k]
		return v, ok
	}
	for i := range a.few {
		if a.few[i].k == k {
			return a.few[i].v, true
		}
	}
	return v, false
}

func (a *assoc[K, V]) set(k K, v V) {
	if a.many != nil {
		a.many[k] = v
		return
	}
	for i := range a.few {
		if a.few[i].k == k {
			a.few[i].v = v
			return
		}
	}
	if a.few == nil {
		a.few = make([]pair[K, V], 0, linearSearchLimit/3)
	}
	if len(a.few) < linearSearchLimit {
		a.few = append(a.few, pair[K, V]{k, v})
		return
	}
	a.many = make(map[K]V, 4*linearSearchLimit)
	for _, p := range a.few {
		a.many[p.k] = p.v
	}
	a.many[k] = v
	a.few = nil
}
