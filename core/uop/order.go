package uop

import "strings"

// TupleLess is tinygrad's order of nodes: the tuples (operation, arg, type, sources…)
// are compared field by field. It is only a partial order: pointers that differ in
// what they point to are different but neither is less, and the comparison stops there.
func TupleLess(a, b *UOp) bool {
	c, _ := tupleCompare(a, b)
	return c < 0
}

// tupleCompare is -1, 0 or 1 by TupleLess; decided is false only for equal nodes. A result of 0 that is
// decided means that the nodes differ at fields without an order.
func tupleCompare(a, b *UOp) (c int, decided bool) {
	// Shared sub-graphs are one pointer, so this test keeps deep graphs from being walked again and again.
	if a == b {
		return 0, false
	}
	if a.Op != b.Op {
		return sign(int(a.Op) - int(b.Op)), true
	}
	if c, decided := ArgCompare(a.Arg, b.Arg); decided {
		return c, true
	}
	if a.DType != b.DType {
		switch {
		case a.DType.Less(b.DType):
			return -1, true
		case b.DType.Less(a.DType):
			return 1, true
		}
		return 0, true
	}
	for i := 0; i < len(a.Src) && i < len(b.Src); i++ {
		if c, decided := tupleCompare(a.Src[i], b.Src[i]); decided {
			return c, true
		}
	}
	if len(a.Src) != len(b.Src) {
		return sign(len(a.Src) - len(b.Src)), true
	}
	return 0, false
}

func sign(d int) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// ArgCompare orders two args of nodes with the same operation; decided is false if they are equal.
func ArgCompare(a, b Arg) (c int, decided bool) {
	if ArgEqual(a, b) {
		return 0, false
	}
	switch x := a.(type) {
	case Const:
		if y, ok := b.(Const); ok {
			return constCompare(x, y)
		}
	case Consts:
		if y, ok := b.(Consts); ok {
			for i := 0; i < len(x) && i < len(y); i++ {
				if c, d := constCompare(x[i], y[i]); d {
					return c, true
				}
			}
			return sign(len(x) - len(y)), true
		}
	case Num:
		if y, ok := b.(Num); ok {
			return sign(int(x - y)), true
		}
	case Str:
		if y, ok := b.(Str); ok {
			return strings.Compare(string(x), string(y)), true
		}
	case OpArg:
		if y, ok := b.(OpArg); ok {
			return sign(int(x) - int(y)), true
		}
	case Nums:
		if y, ok := b.(Nums); ok {
			return intsCompare(x, y), true
		}
	case RangeArg:
		if y, ok := b.(RangeArg); ok {
			if c := intsCompare(x.ID, y.ID); c != 0 {
				return c, true
			}
			return sign(int(x.Type) - int(y.Type)), true
		}
	case VarArg:
		if y, ok := b.(VarArg); ok {
			if x.Name != y.Name {
				return strings.Compare(x.Name, y.Name), true
			}
			if c, d := constCompare(x.Min, y.Min); d {
				return c, true
			}
			return constCompare(x.Max, y.Max)
		}
	}
	// Nodes of one operation carry one kind of arg, so this order only has to be some order.
	return strings.Compare(argString(a), argString(b)), true
}

func argString(a Arg) string {
	if a == nil {
		return ""
	}
	return a.String()
}

func constCompare(x, y Const) (int, bool) {
	switch {
	case x.Eq(y):
		return 0, false
	case x.Less(y):
		return -1, true
	case y.Less(x):
		return 1, true
	}
	return 0, true
}

func intsCompare(x, y []int) int {
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return sign(x[i] - y[i])
		}
	}
	return sign(len(x) - len(y))
}
