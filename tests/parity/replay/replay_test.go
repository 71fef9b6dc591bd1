package replay

import (
	"path/filepath"
	"slices"
	"testing"

	"polygrad/core/lower"
	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/parity/dump"
)

// batch is the number of cases that are compiled together, which is faster than one by one.
const batch = 48

// TestDevicesComputeTheReferenceValues runs the lists of the reference data on every device of this machine.
func TestDevicesComputeTheReferenceValues(t *testing.T) {
	type named struct {
		name string
		device.Device
	}
	devices := []named{{"interp", interp.New()}, {"wasm", wasm.New()}}
	t.Setenv("POLY_CHECK", "1")
	devices = append(devices, named{"wasm with bounds checks", wasm.New()})
	if d, err := clang.New(); err == nil {
		devices = append(devices, named{"clang", d})
	}
	count, expected := 0, 300
	sets := []string{"golden", "cases", "opt"}
	if testing.Short() {
		sets, expected = sets[:1], 20
	}
	for _, set := range sets {
		dir := filepath.Join("../testdata", set)
		names, err := dump.Names(dir)
		if err != nil || len(names) == 0 {
			t.Fatalf("no reference data in %s: %v", dir, err)
		}
		for part := range slices.Chunk(names, batch) {
			var cases []*Case
			for _, name := range part {
				c, err := Load(filepath.Join(dir, name+".json.gz"))
				if err != nil {
					t.Fatal(err)
				}
				if c.Name = set + "/" + name; c.Recorded() {
					cases = append(cases, c)
				}
			}
			for _, d := range devices {
				lists := cases
				if d.Target().Plain {
					lists = nil
					for _, c := range cases {
						l, err := c.Lowered(d.Target())
						if err != nil {
							t.Fatal(err)
						}
						lists = append(lists, l)
					}
				}
				runAll(t, d.name, d, lists)
			}
			count += len(cases)
		}
	}
	if count < expected {
		t.Errorf("only %d cases were run", count)
	}
}

// runAll compiles cases together and runs each as a test of its own.
func runAll(t *testing.T, name string, d device.Device, cases []*Case) {
	var progs []*lower.Program
	for _, c := range cases {
		progs = append(progs, c.Programs...)
	}
	kernels, err := d.Compile(progs)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, c := range cases {
		mine := kernels[:len(c.Programs)]
		kernels = kernels[len(c.Programs):]
		t.Run(name+"/"+c.Name, func(t *testing.T) {
			if err := c.Run(mine); err != nil {
				t.Error(err)
			}
		})
	}
}
