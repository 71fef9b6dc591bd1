package tensor

import "polygrad/core/uop"

// keySort sorts keys along the first or the last axis of a matrix. at are the positions, int32, that the keys had before, nil if they are not asked
// for.
type keySort func(key *uop.UOp, axis int, positions bool) (sorted, at *uop.UOp)

// minAlone is the number of elements from which it pays to add a sort of values without positions to the graph, which becomes larger.
const minAlone = 1 << 9

// orderedByKeys sorts along an axis by unsigned integers that have the order of the elements, and decodes the values from the sorted keys. If the
// positions are not used, keys are sorted without them, which takes half the time: then -0 stands before 0, while with positions these are equal.
func orderedByKeys(x *uop.UOp, axis int, descending bool) placed {
	s := x.Shape()
	last := len(s) - 1
	// The matrix has the axis where it lies in memory, first or last.
	at, to := 0, 0
	if axis == last {
		at, to = 1, last
	}
	t := transpose(x, axis, to)
	shape := uop.Shape{s[axis], numel("x", t.Shape()[1:])}
	if at == 1 {
		shape = uop.Shape{numel("x", t.Shape()[:last]), s[axis]}
	}
	m := detach(reshape(t, shape))
	back := func(v *uop.UOp) *uop.UOp { return transpose(reshape(v, t.Shape()), axis, to) }
	rows, n := shape[1-at].N, s[axis].N
	dt := x.DType
	both := sortedRows(m, at, []*uop.DType{dt, uop.Int32}, func(m *uop.UOp, sort keySort) []*uop.UOp {
		key, places := sort(sortKey(m, descending), at, true)
		value := keyValue(key, dt, descending)
		if dt.IsFloat() {
			lookUp := bitOr(isNaN(value), eq(value, 0))
			value = where(lookUp, gather(m, at, where(lookUp, places, 0)), value)
		}
		return []*uop.UOp{value, places}
	})
	places := back(both[1])
	value := back(both[0])
	if rows*n < minAlone {
		return placed{value, places}
	}
	alone := sortedRows(m, at, []*uop.DType{dt}, func(m *uop.UOp, sort keySort) []*uop.UOp {
		key, _ := sort(valueKey(m, descending), at, false)
		numbers := []int64{int64(at), 0, 0}
		if descending {
			numbers[1] = 1
		}
		if suitsNetwork(rows, n, false) {
			numbers[2] = 1
		}
		return []*uop.UOp{known(sortedRowsAlone, keyValue(key, dt, descending), []*uop.UOp{m}, numbers)}
	})
	return placed{valueAlone(back(alone[0]), value, both[1]), places}
}

// sortedRows applies f to the rows of a matrix, along an axis, with a suitable keySort. The results have the shape of the matrix and the given types;
// if there are two, the second one has positions.
func sortedRows(m *uop.UOp, axis int, types []*uop.DType, f func(m *uop.UOp, sort keySort) []*uop.UOp) []*uop.UOp {
	s := m.Shape()
	rows, n := s[1-axis].N, s[axis].N
	if !suitsNetwork(rows, n, len(types) > 1) {
		return f(m, sortByDigits)
	}
	width := int64(max(m.DType.Itemsize(), 4))
	if len(types) > 1 {
		width = 8
	}
	blocks := (rows*n*width + networkBytes - 1) / networkBytes
	size := wholeVectors((rows + blocks - 1) / blocks)
	if size >= rows {
		return f(m, sortByNetwork)
	}
	// Blocks of rows that fit the cache are sorted one after the other. They have one size: they overlap a little.
	blocks = (rows + size - 1) / size
	part := func(v *uop.UOp, i uop.Sint) *uop.UOp {
		return block(v, 1-axis, i.Mul(uop.N(rows-size)).Div(uop.N(blocks-1)), size)
	}
	var states []*uop.UOp
	for _, dt := range types {
		states = append(states, zeros(m, dt, s[0].N, s[1].N))
	}
	steps := loop{variable: "sorted", count: blocks}
	return steps.run(states, []*uop.UOp{m}, func(b *loopBody, i uop.Sint, states, read []*uop.UOp) {
		writes := f(part(read[0], i), sortByNetwork)
		for k, v := range writes {
			writes[k] = part(states[k], i).AssignTo(v)
		}
		b.do(writes...)
	})
}

// sortByDigits is a keySort that sorts by digits, a radix sort.
func sortByDigits(key *uop.UOp, axis int, positions bool) (sorted, at *uop.UOp) {
	return sortBy(sortedByDigits, key, axis, positions, 8*key.DType.Itemsize())
}

// sortByNetwork is a keySort that sorts by a network.
func sortByNetwork(key *uop.UOp, axis int, positions bool) (sorted, at *uop.UOp) {
	return sortBy(sortedByNetwork, key, axis, positions, axis)
}

func sortBy(rule statedRule, key *uop.UOp, axis int, positions bool, numbers ...int) (sorted, at *uop.UOp) {
	sorted, at = radixSort(rule, transpose(key, axis, 1), int64(8*key.DType.Itemsize()), positions, numbers...)
	if positions {
		at = transpose(at, axis, 1)
	}
	return transpose(sorted, axis, 1), at
}
