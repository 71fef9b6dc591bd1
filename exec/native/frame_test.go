//go:build linux && amd64 && cgo

package native_test

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"polygrad/core/nest/ir"
	"polygrad/exec/native/call"
	"polygrad/exec/native/code"
	"polygrad/exec/pages"
	"polygrad/render/x64"
)

// A masked load without active lanes takes hundreds of cycles on a page that is not in memory, and does not bring it there; the kernel touches it
// first.
func TestFrameIsInMemory(t *testing.T) {
	for _, f := range levels() {
		lanes := f.Lanes(false)
		b := ir.NewBuilder("shut", lanes)
		in, out := param(b, ir.F32, 8*int64(lanes), false), param(b, ir.F32, 8*int64(lanes), true)
		b.Loop("i", b.Int(ir.I64, 8), func(l *ir.Loop) {
			place := func(buf *ir.Buffer) *ir.Place {
				return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(lanes)}}, Stride: 1}
			}
			from := place(in)
			from.Gate = b.Do(ir.Less, ir.Bool, b.Int(ir.I64, 100), l.Iter)
			b.Store(place(out), b.Load(from, lanes, b.Splat(b.Int(ir.F32, 1))))
		})
		c, err := x64.Render(b.Kernel, f)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := code.Load([]code.Spec{{Name: c.Name, Text: c.Text, Buffers: c.Buffers, Items: c.Items, Frame: c.Frame}})
		if err != nil {
			t.Fatal(err)
		}
		defer loaded[0].Close()
		direct, ok := loaded[0].Call()
		if !ok {
			t.Fatal("the kernel is not called directly")
		}
		size := uintptr(os.Getpagesize())
		frame, err := pages.Reserve(0, size)
		if err != nil {
			t.Fatal(err)
		}
		x, y := newMemory(t, 32*lanes).data, newMemory(t, 32*lanes).data
		args := append([]uint64{uint64(uintptr(unsafe.Pointer(&x[0]))), uint64(uintptr(unsafe.Pointer(&y[0])))}, direct.Own...)
		call.Call(direct.Entry, uintptr(unsafe.Pointer(&args[0])), frame)
		runtime.KeepAlive(args)
		resident := byte(2)
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, frame, size, uintptr(unsafe.Pointer(&resident))); e != 0 {
			t.Fatal(e)
		}
		if resident&1 == 0 {
			t.Errorf("%s: the page of the frame is not in memory", f.Level())
		}
		if err := pages.Release(frame, size); err != nil {
			t.Fatal(err)
		}
	}
}
