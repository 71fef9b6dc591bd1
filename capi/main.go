// Command capi is the C interface of polygrad, built as a shared library (go build -buildmode=c-shared). include/polygrad.h is its
// manual. The functions here turn handles into nodes, call the library and turn results and errors back; they decide nothing.
//
// A call enters the generated C function of shim_gen.c, which rejects forked children, and then the Go function go_poly_… of the
// same name.
package main

//go:generate go run ./gen

/*
// Go's exports are private: hidden is the default visibility, and the header marks the public functions.
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden
#cgo LDFLAGS: -ldl -lpthread
*/
import "C"

func main() {}
