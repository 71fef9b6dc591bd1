// Command capi is the C interface of polygrad, built as a shared library
// (go build -buildmode=c-shared). include/polygrad.h is its manual. The
// functions here turn handles into nodes, call the library and turn results
// and errors back; they decide nothing.
//
// A call arrives in the generated C function of shim_gen.c, which turns away
// forked children, and goes on to the Go function go_poly_… of the same name.
package main

//go:generate go run ./gen

/*
// Go's exports are not for the outside: hidden is the default, and what C sees is marked in the header.
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden
#cgo LDFLAGS: -ldl -lpthread
*/
import "C"

func main() {}
