//go:build !(linux && amd64 && cgo)

// Package levels opens native code for each kind of processor that this one can be.
package levels

import (
	"testing"

	"polygrad/exec/device"
)

// Native is none: there is no native code for this system.
func Native(testing.TB) []device.Device { return nil }
