package rewrite

import "polygrad/core/uop"

// Ways is the number of orders in which the two operands of u can be matched: 2 if they commute.
func Ways(u *uop.UOp) int {
	if uop.GroupCommutative.Has(u.Op) {
		return 2
	}
	return 1
}
