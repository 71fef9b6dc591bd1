//go:build linux && amd64 && cgo

// Package levels opens native code for each kind of processor that this one can be.
package levels

import (
	"errors"
	"testing"

	"polygrad/core/settings"
	"polygrad/exec/device"
	"polygrad/exec/native"
)

// level is native code for one kind of processor; its name says which.
type level struct {
	*native.Device
	name string
}

func (l level) Name() string { return "native/" + l.name }

// Native are the devices of native code, the most capable first: one for each level that the processor has, or for that
// which POLY_CPU names; with -short the first one alone. There are none where there is no native code.
func Native(t testing.TB) (out []device.Device) {
	wanted := settings.CPU.Get()
	for _, name := range settings.CPU.Values.(settings.OneOf) {
		if name == "wasm" || wanted != "" && wanted != name {
			continue
		}
		t.Setenv(settings.CPU.Name, name)
		if f, ok, _ := native.Features(); !ok || f.Level() != name {
			continue
		}
		d, err := native.New()
		if errors.Is(err, native.ErrUnavailable) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, level{d.(*native.Device), name}); testing.Short() {
			break
		}
	}
	t.Setenv(settings.CPU.Name, wanted)
	return out
}
