//go:build !cgo && !wasip1

package webgpu

import (
	"errors"

	"polygrad/exec/device"
)

// New fails: without cgo there is no way to call a library.
func New() (device.Device, error) {
	return nil, errors.New("webgpu.New: this program was built without cgo, choose another device with POLY_DEVICE")
}
