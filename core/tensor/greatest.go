package tensor

import (
	"polygrad/core/uop"
)

// mostSelected is the largest k for which the k greatest elements of 32 bits are selected one after the other, by a maximum each, instead of sorting
// all. Those of 64 bits take two passes each. Kernels for a larger k take longer to compile than a sort.
const mostSelected = 16

// selectsEach reports whether the k greatest elements are selected one after the other.
func selectsEach(dt *uop.DType, k int64) bool { return k*int64((dt.Itemsize()+3)/4) <= mostSelected }

// groupSize is the size of groups, a power of two, with which it is fastest to select k of the n/size groups and then k of the k*size elements in
// these. It is 1 where selecting groups first does not pay.
func groupSize(dt *uop.DType, n, k int64) int64 {
	size, least := nearRoot(n/k), int64(8)
	if !selectsEach(dt, k) {
		least = 4
	}
	if size < least {
		return 1
	}
	return size
}

// worthSelectingFirst reports whether the k greatest elements along an axis are selected, instead of sorting all.
func worthSelectingFirst(x *uop.UOp, axis int, k int64) bool {
	if !isNumbers(x.Shape()) || x.DType.IsBool() || x.DType.Itemsize() > 8 || k == 0 {
		return false
	}
	n := x.Shape()[axis].N
	return n > shortRow && (groupSize(x.DType, n, k) > 1 || 2*k <= n && selectsEach(x.DType, k))
}

// selected gives the k greatest or least elements along an axis, the first of equal ones first.
func selected(x *uop.UOp, k int64, axis int, largest bool) placed {
	t := detach(transpose(x, axis, -1))
	s := joinShapes(t.Shape())
	s[len(s)-1] = uop.N(k)
	numbers := []int64{k, 0}
	if largest {
		numbers[1] = 1
	}
	// The first source only gives the shape and the type of the value.
	at := transpose(known(positionsOfMost, full(x.Graph(), s, uop.Int(0), uop.Int32), []*uop.UOp{t}, numbers), axis, -1)
	return placed{gather(x, axis, at), at}
}

// mostAlong are the positions, int32, of the greatest or the least elements along the last axis, the first of equal ones first.
func mostAlong(x *uop.UOp, numbers uop.Nums) *uop.UOp {
	return greatestKeys(signedKey(oneZero(x.ContiguousOp()), numbers[1] == 0), int64(numbers[0]))
}

// greatestKeys gives the positions, int32, of the k greatest keys along the last axis, the first of equal ones first. They lie in the k groups of
// neighbours with the greatest maxima, the first of equal ones, so those groups are selected first.
func greatestKeys(key *uop.UOp, k int64) *uop.UOp {
	s := key.Shape()
	last := len(s) - 1
	n := s[last].N
	size := groupSize(key.DType, n, k)
	if size == 1 {
		return firstOf(key, placesAlong(key, uop.Int32), k)
	}
	groups := (n + size - 1) / size
	within := func(groups int64) uop.Shape { return append(joinShapes(s[:last]), uop.N(groups), uop.N(size)) }
	grouped := reshape(padAxis(key, last, 0, groups*size-n, key.DType.Min()), within(groups))
	chosen := greatestKeys(maxOf(grouped, []int{-1}, false).ContiguousOp(), k)
	if !selectsEach(key.DType, k) {
		chosen = ordered(chosen, last, false).value
	}
	chosen = expand(unsqueeze(chosen.ContiguousOp(), -1), within(k))
	places := add(mul(chosen, int(size)), placesAlong(chosen, uop.Int32))
	return firstOf(flatten(gather(grouped, last, chosen), last, -1), flatten(places, last, -1), k)
}

// firstOf gives the places of the k greatest keys along the last axis; of equal ones those with the least places.
func firstOf(key, places *uop.UOp, k int64) *uop.UOp {
	last := len(key.Shape()) - 1
	if !selectsEach(key.DType, k) { // places are in order
		return gather(places, last, ordered(key, last, true).between(key, last, 0, k).at)
	}
	next := selectWide
	if key.DType.Itemsize() <= 4 {
		next = selectPacked
	}
	return cat(next(key, places, k), last)
}

// placesAlong are the positions along the last axis, broadcast to the shape of x.
func placesAlong(x *uop.UOp, dt *uop.DType) *uop.UOp {
	s := x.Shape()
	n := s[len(s)-1]
	return expand(reshape(cast(count0(x.Graph(), n.N), dt), append(onesShape(len(s)-1), n)), s)
}

// selectPacked gives the places of the k greatest keys of 32 bits. A key and the complement of its place are packed into 64 bits, so that one maximum
// finds the greatest key, at the first of its places.
func selectPacked(key, places *uop.UOp, k int64) (found []*uop.UOp) {
	const low = 1<<32 - 1
	number := bitOr(shiftLeft(cast(key, uop.Int64), int(32)), bitXor(cast(places, uop.Int64), low))
	left := number
	for range k {
		m := maxOf(left, []int{-1}, true)
		found = append(found, cast(bitXor(bitAnd(m, low), low), uop.Int32))
		left = where(lt(number, m), number, uop.Int64.Min())
	}
	return found
}

// selectWide gives the places of the k greatest keys of 64 bits: a round finds a key, then the first of its places that are left.
func selectWide(key, places *uop.UOp, k int64) (found []*uop.UOp) {
	left := full(key.Graph(), key.Shape(), uop.BoolConst(true), uop.Bool)
	for range k {
		m := maxOf(where(left, key, key.DType.Min()), []int{-1}, true)
		at := inverse(maxOf(where(bitAnd(left, eq(key, m)), inverse(places), uop.Int32.Min()), []int{-1}, true))
		found = append(found, at)
		left = bitOr(lt(key, m), bitAnd(eq(key, m), gt(places, at)))
	}
	return found
}
