package main

import (
	"errors"
	"fmt"
	"strings"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// An argError is an error about one argument.
type argError struct {
	arg string
	err error
}

func (e *argError) Error() string {
	return e.arg + ": " + strings.TrimPrefix(tensor.WithoutOrigins(e.err.Error()), e.arg+": ")
}

func (e *argError) Unwrap() error { return e.err }

// badArg makes an argError from the given value and the expected ones.
func badArg(arg, format string, a ...any) error {
	return &argError{arg, fmt.Errorf(format, a...)}
}

// fail sets the last error of the calling thread. A NULL operand keeps the error that made it NULL.
func fail(fn string, err error) {
	text := fn + ": " + inHeaderTerms(fn, err.Error())
	setError(text, errors.Is(err, handle.ErrNull))
}

// rescue turns a panic into an error. Every entry point defers it.
func rescue(err *error) {
	switch r := recover().(type) {
	case nil:
	case abort:
		*err = r.error
	case *uop.ComplexError:
		*err = fmt.Errorf("%s is not defined for %s: take the parts by the operations real and imag", r.Op, r.DType.NumpyName())
	default:
		*err = fmt.Errorf("internal error: %v", r)
	}
}

// abort is the panic value of check and must.
type abort struct{ error }

// check aborts a request with an error, by a panic that the entry point rescues. Only functions passed to buildNode, withContext and
// the like may use it; functions whose errors callers handle (see lift) return them.
func check(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// must returns v after check(err).
func must[T any](v T, err error) T {
	check(err)
	return v
}

// atElement attributes an error to element i of an array argument.
func atElement(i int, err error) error {
	var a *argError
	if errors.As(err, &a) {
		return &argError{indexed(a.arg, i), a.err}
	}
	return err
}

// insideElement adds the index of an element to an error in it; both are about the argument arg.
func insideElement(arg string, i int, err error) error {
	var a *argError
	if errors.As(err, &a) && strings.HasPrefix(a.arg, arg) {
		return &argError{indexed(arg, i) + a.arg[len(arg):], a.err}
	}
	return err
}

// indexed is the name of an element of an array argument.
func indexed(arg string, i int) string { return fmt.Sprintf("%s[%d]", arg, i) }
