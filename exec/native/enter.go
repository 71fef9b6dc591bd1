//go:build linux && amd64 && cgo

package native

import "polygrad/exec/native/code"

// Enter is the address of a C function for the calls of exec.Direct: void enter(uintptr_t entry, uint64_t *args, uintptr_t
// memory).
func Enter() uintptr { return code.Enter() }
