//go:build linux && amd64 && cgo

package code

import "C"

// poly_native_cached is exported so that the go command takes the C code of this package, whose sorts take ten seconds to compile, out of
// its cache: for a shared library it asks each package for the header of its exports (needCgoHdr in cmd/go), which is in the cache only
// if there is one, and compiles the package anew otherwise. Nothing calls it, and the library does not show it.
//
//export poly_native_cached
func poly_native_cached() {}
