package lower

import (
	"fmt"

	"polygrad/core/uop"
)

// lowerSort is the program of a kernel that is a SORT of a whole buffer. There is nothing to lower: the device sorts.
func lowerSort(ast *uop.UOp) (*Program, error) {
	p := describe(ast, ast, ast.Toposort())
	s := p.Sort()
	if s == nil {
		return nil, fmt.Errorf("lower.Lower: a SORT is part of a kernel, expected one from a buffer to another:\n%s", ast.Dump())
	}
	p.Ins = []int{1}
	p.Name = fmt.Sprintf("sort_%d_%d", s.Rows, s.Length)
	return p, nil
}

// Sorting says what a kernel sorts: rows of Length numbers of a type, from buffer 1 to buffer 0.
type Sorting struct {
	DType        *uop.DType
	Rows, Length int64
	Descending   bool
}

// Sort is what a program sorts, nil if it is no SORT.
func (p *Program) Sort() *Sorting {
	store := p.AST
	for store.Op == uop.Sink && len(store.Src) == 1 || store.Op == uop.End {
		store = store.Src[0]
	}
	if store.Op != uop.Store || store.Src[1].Op != uop.Sort {
		return nil
	}
	sort := store.Src[1]
	to, from := store.Src[0], sort.Src[0]
	for slot, u := range []*uop.UOp{to, from} {
		if u.Op != uop.Index || u.Src[0].Op != uop.Param || slotOf(u.Src[0]) != slot || u.Src[0].DType.Size != to.Src[0].DType.Size || len(u.Src) != 2 || u.Src[1] != to.Src[1] {
			return nil
		}
	}
	numbers := sort.Arg.(uop.Nums)
	length := int64(numbers[0])
	size := to.Src[0].DType.Size
	if length <= 0 || size < 0 || size%length != 0 {
		return nil
	}
	return &Sorting{sort.DType, size / length, length, numbers[1] == 1}
}
