package tensor

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// An Error is a bad argument of an exported function. Compositions call each other without error returns, so they read as formulas:
// a bad argument unwinds as a panic of this type, and every exported function returns it with its own name (guard).
type Error struct{ Func, Arg, Text string }

func (e *Error) Error() string { return "tensor." + e.Func + ": " + e.Arg + ": " + e.Text }

// WithoutOrigins removes the names of Go functions, as tensor.Reshape, that parts of an error's text begin with: users know
// the function that they have called.
func WithoutOrigins(text string) string {
	parts := strings.Split(text, ": ")
	last := len(parts) - 1
	return strings.Join(append(slices.DeleteFunc(parts[:last:last], isOrigin), parts[last]), ": ")
}

// isOrigin tells whether a word is the name of a Go function in its package.
func isOrigin(word string) bool {
	pkg, name, _ := strings.Cut(word, ".")
	return strings.Trim(pkg, "abcdefghijklmnopqrstuvwxyz") == "" && name != "" && 'A' <= name[0] && name[0] <= 'Z' && !strings.Contains(name, " ")
}

// fail reports a bad argument of the current exported function. Data types have the names that users know.
func fail(arg, format string, a ...any) {
	for i, v := range a {
		if dt, ok := v.(*uop.DType); ok && dt != nil {
			a[i] = dt.NumpyName()
		}
	}
	panic(&Error{Arg: arg, Text: fmt.Sprintf(format, a...)})
}

// numbered is the name of an element of an argument.
func numbered(arg string, i int) string { return fmt.Sprintf("%s[%d]", arg, i) }

// guard turns a bad argument into the error of the exported function fn. Other panics pass through.
func guard(fn string, err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = &Error{fn, r.Arg, r.Text}
	case *uop.ComplexError:
		e := refused(r)
		*err = &Error{fn, e.Arg, e.Text}
	default:
		panic(r)
	}
}

// need checks that u is a tensor: a node with a shape and a numeric type.
func need(arg string, u *uop.UOp) {
	switch {
	case u == nil:
		fail(arg, "is nil, expected a tensor")
	case u.DType == uop.Void || u.DType.Count != 1 || u.DType.IsPtr():
		fail(arg, "is a %s node of type %s, expected a tensor", u.Op, u.DType)
	case u.Shape() == nil:
		fail(arg, "is a %s node without a shape, expected a tensor", u.Op)
	}
}

// needSame checks that all tensors belong to the graph of the first one.
func needSame(args string, us ...*uop.UOp) {
	for _, u := range us {
		need(args, u)
		if u.Graph() != us[0].Graph() {
			fail(args, "belong to different contexts, expected one context")
		}
	}
}

func needFloat(arg string, u *uop.UOp) {
	if !u.DType.IsFloat() {
		fail(arg, "is %s, expected a floating point type", u.DType)
	}
}

func needInt(arg string, u *uop.UOp) {
	if !u.DType.IsInt() || u.DType.IsIndex() {
		fail(arg, "is %s, expected an integer type", u.DType)
	}
}

// needBits checks an operand of a bitwise operation.
func needBits(arg string, u *uop.UOp) {
	if !u.DType.IsInt() && !u.DType.IsBool() {
		fail(arg, "is %s, expected an integer or bool type", u.DType)
	}
}

// needNumber checks an operand of a division.
func needNumber(arg string, u *uop.UOp) {
	if !u.DType.IsInt() && !u.DType.IsFloat() {
		fail(arg, "are %s, expected an integer or floating type", u.DType)
	}
}

// axisOf resolves a negative axis of a tensor with n dimensions; a scalar has axis 0 and -1.
func axisOf(arg string, axis, n int) int {
	m := max(n, 1)
	if axis < -m || axis >= m {
		fail(arg, "%d is out of range for %d dimensions, expected %d..%d", axis, n, -m, m-1)
	}
	if axis < 0 {
		axis += n
	}
	return axis
}

// axesOf resolves negative axes of a tensor with n dimensions and refuses duplicates; a scalar has none.
func axesOf(arg string, axes []int, n int) []int {
	out := make([]int, 0, len(axes))
	seen := make([]bool, max(n, 1))
	for _, a := range axes {
		a = axisOf(arg, a, n)
		if n == 0 {
			continue
		}
		if seen[a] {
			fail(arg, "axis %d is given twice, expected it once", a)
		}
		seen[a] = true
		out = append(out, a)
	}
	return out
}

// run1 calls a composition of one tensor as the exported function fn.
func run1(fn string, f func(*uop.UOp) *uop.UOp, x *uop.UOp) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	need("x", x)
	if x.DType.IsComplex() {
		return onComplex(fn, f, x), nil
	}
	return f(x), nil
}

// run2 calls a composition of two tensors as the exported function fn.
func run2(fn string, f func(a, b operand) *uop.UOp, a, b *uop.UOp) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	needSame("operands", a, b)
	if !complexOperators[fn] && (a.DType.IsComplex() || b.DType.IsComplex()) {
		failComplex(fn, uop.LeastUpper(a.DType, b.DType))
	}
	return f(a, b), nil
}
