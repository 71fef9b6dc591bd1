package schedule

import (
	"fmt"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Request is a normalised SINK of STOREs and ASSIGNs, separated into values and targets.
type Request struct {
	// Sink has the values of the STOREs, and the ASSIGNs.
	Sink *uop.UOp
	// targets is, for each source of Sink, the input that a STORE writes to; -1 for an ASSIGN.
	targets []int
	// copies are the STOREs of a whole input to another one.
	copies []Copy
}

// Copy is a copy of a whole input to another one.
type Copy struct{ From, To int }

// OfRequest schedules a normalised SINK of STOREs and ASSIGNs.
func OfRequest(root *uop.UOp, opts ...Option) (*Schedule, error) {
	r, err := NewRequest(root, opts...)
	if err != nil {
		return nil, err
	}
	s, err := New(r.Sink, opts...)
	if err != nil {
		return nil, err
	}
	return s, r.Place(s)
}

// NewRequest turns each STORE(buffer, value) into the contiguous value in the type of the buffer, and makes the results of ASSIGNs
// visible to later ones.
func NewRequest(root *uop.UOp, opts ...Option) (*Request, error) {
	g := root.Graph()
	var how run
	for _, o := range opts {
		o(&how)
	}
	r := &Request{}
	var src []*uop.UOp
	assigned := rewrite.Map{}
	last := lastAssigns(root)
	replaced := rewrite.Map{}
	for i, s := range root.Src {
		if slices.Contains(root.Src[:i], s) {
			continue // a duplicate
		}
		if len(replaced) > 0 {
			s = rewrite.Substitute(s, replaced)
		}
		switch s.Op {
		case uop.Store:
			target, v := s.Src[0].Base(), s.Src[1]
			if target.Op != uop.Param {
				return nil, fmt.Errorf("schedule.NewRequest: source %d: STORE to %s, expected a BUFFER", i, target)
			}
			v, err := convertTo(v, target)
			if err != nil {
				return nil, fmt.Errorf("schedule.NewRequest: source %d: %w", i, err)
			}
			slot := int(target.Arg.(uop.Num))
			if target.Shape().Numel().IsNum(0) {
				continue
			}
			if in := wholeParam(v); in >= 0 {
				r.copies = append(r.copies, Copy{in, slot})
				continue
			}
			if how.shapes {
				v = unshaped(v)
			}
			if v.Op != uop.Contiguous {
				v = v.F(uop.Contiguous, nil, nil)
			}
			src = append(src, v)
			r.targets = append(r.targets, slot)
		case uop.Assign:
			target := s.Src[0].Base()
			if target.Op != uop.Param {
				return nil, fmt.Errorf("schedule.NewRequest: source %d: ASSIGN to %s, expected a BUFFER or a view of one", i, target)
			}
			v := substituteAssigned(s.Src[1], assigned)
			if last[target] > i {
				// A later ASSIGN overwrites the whole buffer: until then the value is in a temporary.
				v = v.F(uop.Contiguous, nil, nil)
				assigned[target] = whole(target, s.Src[0], v)
				replaced[root.Src[i]] = v
				continue
			}
			a := s.Src[0].AssignTo(v)
			assigned[target] = whole(target, s.Src[0], a)
			src = append(src, a)
			r.targets = append(r.targets, -1)
		default:
			return nil, fmt.Errorf("schedule.NewRequest: source %d: got %s, expected STORE or ASSIGN", i, s.Op)
		}
	}
	r.Sink = g.Sink(nil, src...)
	return r, nil
}

// Place records in the schedule of Sink the targets of its outputs. A value that turned out to be a whole input is copied.
func (r *Request) Place(s *Schedule) error {
	s.Copies = slices.Clone(r.copies)
	for i := range s.Outputs {
		o := &s.Outputs[i]
		if o.Target = r.targets[i]; o.Target < 0 {
			continue
		}
		if in := wholeParam(o.Value); in >= 0 {
			s.Copies = append(s.Copies, Copy{in, o.Target})
			o.Target = -1
		} else if o.Slot < 0 || !isWholeBuffer(o.Value) {
			return fmt.Errorf("schedule.Request.Place: source %d: no kernel computes %s", i, o.Value)
		}
	}
	return nil
}

// unshaped strips reshapes from a value.
func unshaped(v *uop.UOp) *uop.UOp {
	for v.Op == uop.Reshape {
		v = v.Src[0]
	}
	return v
}

// isWholeBuffer reports whether a value is a buffer, perhaps reshaped.
func isWholeBuffer(v *uop.UOp) bool {
	return unshaped(v).Op == uop.Buffer
}

// lastAssigns are the positions of the last ASSIGN to each buffer if all its ASSIGNs write the whole buffer.
func lastAssigns(root *uop.UOp) map[*uop.UOp]int {
	last, parts := map[*uop.UOp]int{}, map[*uop.UOp]bool{}
	for i, s := range root.Src {
		if s.Op == uop.Assign && !slices.Contains(root.Src[:i], s) {
			target := s.Src[0].Base()
			last[target] = i
			parts[target] = parts[target] || whole(target, s.Src[0], s) == target
		}
	}
	for target, part := range parts {
		if part {
			delete(last, target)
		}
	}
	return last
}

// wholeParam is the slot of the PARAM that v equals element by element, in order; -1 if there is none.
func wholeParam(v *uop.UOp) int {
	for v.Op == uop.Reshape || v.Op == uop.Contiguous || v.Op == uop.Detach {
		v = v.Src[0]
	}
	if v.Op != uop.Param {
		return -1
	}
	return int(v.Arg.(uop.Num))
}

// convertTo converts a value to the type and the size of its target buffer.
func convertTo(v, target *uop.UOp) (*uop.UOp, error) {
	shape := target.Shape()
	if v.Shape() == nil {
		if v.Op != uop.ConstOp {
			return nil, fmt.Errorf("the value %s has no shape", v)
		}
		v = v.Graph().DeviceConst(v.DType, v.ConstVal(), target.Device(), uop.Shape{})
	}
	v = v.Cast(target.DType)
	n, want := v.Shape().Numel(), shape.Numel()
	switch {
	case n == want:
	case n.IsNum(1):
		one := make(uop.Shape, len(shape))
		for i := range one {
			one[i] = uop.N(1)
		}
		return v.Reshape(one).Expand(shape), nil
	default:
		return nil, fmt.Errorf("a value of shape %s (%s elements) does not fit a buffer of %s elements", v.Shape(), n, want)
	}
	return v.Reshape(shape), nil
}

// whole is the buffer after an ASSIGN to it, or to a reshaped view of it; target itself for other views.
func whole(target, view, assign *uop.UOp) *uop.UOp {
	for view.Op == uop.Reshape {
		view = view.Src[0]
	}
	if view != target {
		return target
	}
	return assign.Reshape(target.Shape())
}

var throughReduce = &rewrite.Table{Name: "assigned values", Rules: []*rewrite.Rule{{Name: "see what was assigned", Ops: uop.GroupAll,
	Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		if u.Op == uop.ReduceAxis || inOrder.Has(u.Op) || u.Op == uop.Assign || u.Op == uop.Contiguous {
			return rewrite.Gate
		}
		return ctx.(rewrite.Map)[u]
	}}}}

// substituteAssigned replaces assigned buffers by their new contents, but not below a reduction.
func substituteAssigned(v *uop.UOp, assigned rewrite.Map) *uop.UOp {
	if len(assigned) == 0 {
		return v
	}
	return rewrite.GraphTopDown(v, throughReduce, assigned)
}
