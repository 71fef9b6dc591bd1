package emit

// assoc is a small map: most environments know a handful of values, and there are very many of them.
type assoc[K comparable, V any] struct {
	few  []pair[K, V]
	many map[K]V
}

type pair[K comparable, V any] struct {
	k K
	v V
}

// fewPairs is up to how many pairs are searched one by one.
const fewPairs = 12

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
		a.few = make([]pair[K, V], 0, fewPairs/3)
	}
	if len(a.few) < fewPairs {
		a.few = append(a.few, pair[K, V]{k, v})
		return
	}
	a.many = make(map[K]V, 4*fewPairs)
	for _, p := range a.few {
		a.many[p.k] = p.v
	}
	a.many[k] = v
	a.few = nil
}
