//go:build !cgo

package clang

import (
	"errors"

	"polygrad/exec/device"
)

// New says that there is no way to load what clang would make.
func New() (device.Device, error) {
	return nil, errors.New("clang.New: this program was built without cgo, choose another device with POLY_DEVICE")
}
