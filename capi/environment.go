package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/settings"
)

// The variables have their values before any init function reads one.
var _ = copyEnvironment()

// copyEnvironment copies the library's variables from the C library: Go saw the environment that the process began with, and a host
// may have set a variable since (os.environ in Python, Sys.setenv in R) before it loaded the library.
func copyEnvironment() bool {
	settings.Copy(func(name string) string {
		s := C.CString(name)
		defer C.free(unsafe.Pointer(s))
		return C.GoString(C.getenv(s))
	})
	return true
}
