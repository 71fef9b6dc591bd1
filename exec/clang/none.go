//go:build !cgo

package clang

import (
	"errors"

	"polygrad/exec/device"
)

// New fails: without cgo there is no way to load compiled code.
func New() (device.Device, error) {
	return nil, errors.New("clang.New: this program was built without cgo, choose another device with POLY_DEVICE")
}
