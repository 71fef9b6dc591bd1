package ir

import "fmt"

// Unsupported is the reason why a kernel cannot be compiled or run: Fail panics with it, Recover returns it.
type Unsupported struct{ error }

// Fail panics with an Unsupported error.
func Fail(format string, args ...any) { panic(Unsupported{fmt.Errorf(format, args...)}) }

// Recover, deferred, turns the panic of Fail into a returned error. Other panics go on.
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case Unsupported:
		*err = r.error
	default:
		panic(r)
	}
}
