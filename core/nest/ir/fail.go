package ir

import "fmt"

// Unsupported is why a kernel cannot be compiled or run. It is raised by Fail and recovered where compiling or running begins.
type Unsupported struct{ error }

// Fail raises an Unsupported error.
func Fail(format string, args ...any) { panic(Unsupported{fmt.Errorf(format, args...)}) }

// Recover turns a raised Unsupported error into a returned one; other panics go on. It is to be deferred.
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case Unsupported:
		*err = r.error
	default:
		panic(r)
	}
}
