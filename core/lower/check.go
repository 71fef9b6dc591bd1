package lower

import (
	"fmt"
	"slices"

	"polygrad/core/uop"
)

// The invariants after passes: a broken rule is caught right after its pass.

// without reports the first node with one of the operations.
func without(sink *uop.UOp, ops uop.OpSet) error {
	if u := sink.Find(func(u *uop.UOp) bool { return ops.Has(u.Op) }); u != nil {
		return fmt.Errorf("%s is left", u)
	}
	return nil
}

// every reports the first node that f finds fault with.
func every(sink *uop.UOp, f func(*uop.UOp) error) error {
	for _, u := range sink.Toposort() {
		if err := f(u); err != nil {
			return err
		}
	}
	return nil
}

func checkMovement(sink *uop.UOp, _ *Target) error { return without(sink, uop.GroupMovement) }

// checkExpanded demands that every UNROLL and UPCAST range became a vector, and that the sources of arithmetic have as many elements as the result.
func checkExpanded(sink *uop.UOp, _ *Target) error {
	if err := without(sink, uop.Ops(uop.Unroll, uop.Contract)); err != nil {
		return err
	}
	return every(sink, func(u *uop.UOp) error {
		if u.Op == uop.Range && (u.RangeID().Type == uop.AxisUnroll || u.RangeID().Type == uop.AxisUpcast) && len(u.RangeID().ID) == 1 {
			return fmt.Errorf("%s was not expanded", u)
		}
		if !uop.GroupALU.Has(u.Op) {
			return nil
		}
		for _, s := range u.Src {
			if s.DType.Count != u.DType.Count {
				return fmt.Errorf("%s has a source of type %s", u, s.DType)
			}
		}
		return nil
	})
}

func checkBuffers(sink *uop.UOp, _ *Target) error { return without(sink, uop.Ops(uop.Bufferize)) }

// checkReduced demands that no REDUCE is left and that every range is closed at the end.
func checkReduced(sink *uop.UOp, _ *Target) error {
	if err := without(sink, uop.Ops(uop.Reduce, uop.Prefix)); err != nil {
		return err
	}
	return checkClosed(sink)
}

func checkClosed(sink *uop.UOp) error {
	for _, r := range sink.Ranges() {
		if !slices.Contains(sideBySide, r.RangeID().Type) {
			return fmt.Errorf("%s is open at the end", r)
		}
	}
	return nil
}

// checkLaunch demands that parallel axes are within the limits of the target.
func checkLaunch(sink *uop.UOp, t *Target) error {
	items := int64(1)
	return every(sink, func(u *uop.UOp) error {
		switch {
		case u.Op == uop.Range && slices.Contains(sideBySide, u.RangeID().Type):
			return fmt.Errorf("%s is left", u)
		case u.Op == uop.Special:
			item, dim := u.LaunchIndex()
			n, limit := u.Vmax().I()+1, t.Groups.Counts[dim]
			if item {
				limit = t.Groups.Sizes[dim]
				items *= n
			}
			if n > limit || items > t.Groups.Items {
				return fmt.Errorf("%s has size %d, the limit is %d, and %d for the work items of a group", u, n, limit, t.Groups.Items)
			}
		}
		if v, ok := u.Arg.(uop.VarArg); ok && v.Name == ThreadVar && v.Max.I() >= int64(max(1, t.Threads)) {
			return fmt.Errorf("%d threads, the target has %d", v.Max.I()+1, t.Threads)
		}
		return nil
	})
}

// sideBySide are the axis types with parallel iterations.
var sideBySide = []uop.AxisType{uop.AxisThread, uop.AxisGlobal, uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce}

// checkLoads demands that memory is only read by LOAD, through pointers.
func checkLoads(sink *uop.UOp, _ *Target) error {
	return every(sink, func(u *uop.UOp) error {
		switch {
		case u.Op == uop.Index && !u.DType.IsPtr():
			return fmt.Errorf("%s is no pointer", u)
		case (u.Op == uop.Load || u.Op == uop.Store) && !u.Src[0].DType.IsPtr():
			return fmt.Errorf("%s goes through %s, which is no pointer", u, u.Src[0])
		}
		return nil
	})
}

func checkIndexTypes(sink *uop.UOp, _ *Target) error {
	return every(sink, func(u *uop.UOp) error {
		if u.DType.IsIndex() || u.IsInvalid() {
			return fmt.Errorf("%s has no concrete type", u)
		}
		return nil
	})
}

// rendered are the operations besides arithmetic in the input of a code generator.
var rendered = uop.Ops(uop.Param, uop.DefineLocal, uop.DefineReg, uop.DefineVar, uop.Special, uop.Sink, uop.Group, uop.After, uop.Barrier,
	uop.Gep, uop.Vectorize, uop.Index, uop.Load, uop.Store, uop.Cast, uop.Bitcast, uop.ConstOp, uop.Range, uop.End, uop.Noop)

// checkTypes demands that no type is left that the target lacks.
func checkTypes(sink *uop.UOp, t *Target) error {
	return every(sink, func(u *uop.UOp) error {
		if !t.Supports(u.DType.Base().Scalar()) {
			return fmt.Errorf("%s has a type that the target %s does not have", u, t.Name)
		}
		return nil
	})
}

// checkFinal demands that only operations of the target are left.
func checkFinal(sink *uop.UOp, t *Target) error {
	if err := checkClosed(sink); err != nil {
		return err
	}
	if err := checkTypes(sink, t); err != nil {
		return err
	}
	return every(sink, func(u *uop.UOp) error {
		switch {
		case !rendered.Has(u.Op) && !t.computes(u.Op):
			return fmt.Errorf("%s is left, which the target %s does not have", u, t.Name)
		case u.Op == uop.Gep && len(u.Arg.(uop.Nums)) != 1:
			return fmt.Errorf("%s takes more than one element", u)
		case u.Op == uop.ConstOp && u.DType.VCount() > 1:
			return fmt.Errorf("%s is a vector", u)
		case u.Op == uop.End && len(u.Src) != 2:
			return fmt.Errorf("%s closes %d loops at once", u, len(u.Src)-1)
		case u.Op == uop.Load && gatedLoad(u) != nil && len(u.Src) < 2:
			return fmt.Errorf("%s is gated and has no alternative", u)
		}
		return nil
	})
}
