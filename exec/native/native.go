// Package native is the device that runs kernels as machine code of this processor, made by render/x64: the way from
// linear lists to kernels that run. Where it cannot work New says so, and kernels are WebAssembly.
package native

import "errors"

// ErrUnavailable says that there is no native code on this machine, or that none is wanted.
var ErrUnavailable = errors.New("no native code")
