package device

import "polygrad/core/nest/ir"

// Caches changes nothing: a WebAssembly module does not learn what its processor is.
func Caches(*ir.Machine) {}
