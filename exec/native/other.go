//go:build !(linux && amd64 && cgo)

package native

import (
	"fmt"

	"polygrad/exec/device"
)

// New fails: there is no native code for this system.
func New() (device.Device, error) {
	return nil, fmt.Errorf("native.New: %w for this system", ErrUnavailable)
}

// Enter is 0: there are no calls to make.
func Enter() uintptr { return 0 }
