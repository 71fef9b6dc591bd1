package main

import (
	"runtime"
	"testing"
	"unsafe"

	"polygrad/core/uop"
)

func TestAllocate(t *testing.T) {
	if p, err := allocate(0); p != nil || err != nil {
		t.Errorf("memory of 0 bytes: got %p, %v", p, err)
	}
	for n := uintptr(1); n < 20_000_000; n += 1 + n/2 {
		p, err := allocate(n)
		if err != nil {
			t.Fatal(err)
		}
		if uintptr(p)%alignment != 0 {
			t.Fatalf("%d bytes lie at %p, expected a multiple of %d", n, p, alignment)
		}
		mem := unsafe.Slice((*byte)(p), n)
		mem[0], mem[n-1] = 1, 1
		free(p, n)
	}
}

// Pointers are written over whatever lies in a caller's memory: the address, too, of what Go's collector has freed, while it marks.
func TestPointersForCallers(t *testing.T) {
	const slots = 8 // words that a function may write
	room := cCalloc(slots, 8)
	defer cFree(room)
	ctx := poly_ctx_new()
	defer poly_ctx_destroy(ctx)
	shape, elements := []int64{4}, make([]float32, 4)
	array := poly_array_new(ctx, dtypeID(uop.Float32), &shape[0], 1, unsafe.Pointer(&elements[0]), 16)
	defer poly_array_release(array)
	float := cCalloc(1, unsafe.Sizeof(dtypeRecord{}))
	defer cFree(float)
	writeType(uop.Float32, float)
	calls := map[string]func(){
		"poly_array_pin": func() { poly_array_unpin(poly_array_pin(array, (*unsafe.Pointer)(room), nil, 0, nil)) },
		"poly_dtype_vec": func() { poly_dtype_vec(float, 2, room) },
		"poly_ir_import": func() { poly_ir_import(nil, 0, room) },
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // the collector marks nearly always
		defer close(done)
		list := make([]*[]byte, 1<<16)
		for i := range list {
			b := make([]byte, 16)
			list[i] = &b
		}
		for {
			select {
			case <-stop:
				runtime.KeepAlive(list)
				return
			default:
				runtime.GC()
			}
		}
	}()
	for name, call := range calls {
		t.Log(name) // the process ends where it goes wrong
		gone := uintptr(unsafe.Pointer(unsafe.SliceData(make([]byte, 1<<20))))
		runtime.GC()
		runtime.GC()
		for range 60_000 {
			for i := range slots {
				unsafe.Slice((*uintptr)(room), slots)[i] = gone
			}
			call()
		}
	}
	close(stop)
	<-done
}
