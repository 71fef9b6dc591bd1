package main

/*
#include <stdint.h>
*/
import "C"

import (
	"math"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/model"
)

// A generator is the object of a PolyGenerator. Its logits stay at one address.
type generator struct {
	*model.Generator
	entry *handle.Entry
}

// withGenerator runs a request on a generator; missing if it fails.
func withGenerator[T any](fn string, h C.uintptr_t, missing T, f func(g *generator) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(objectOf[*generator]("gen", h, handle.Generator))) })
}

// generatorStatus runs a request that gives 0 or -1.
func generatorStatus(fn string, h C.uintptr_t, f func(g *generator) error) C.int {
	return withGenerator(fn, h, -1, func(g *generator) (C.int, error) { return 0, f(g) })
}

//export go_poly_generator_new
func go_poly_generator_new(inst C.uintptr_t, rows C.int) C.uintptr_t {
	return withInstance("poly_generator_new", inst, 0, func(i *instance) (C.uintptr_t, error) {
		m, err := i.NewGenerator(int64(rows))
		check(err)
		g := &generator{Generator: m}
		if g.entry, err = handles.New(handle.Generator, nil, g); err != nil {
			m.Free()
			return 0, err
		}
		return C.uintptr_t(g.entry.Token()), nil
	})
}

//export go_poly_generator_free
func go_poly_generator_free(h C.uintptr_t) {
	e, err := handles.Get(handle.Token(h), handle.Generator)
	if err != nil {
		return
	}
	handles.Drop(e)
	e.Value.(*generator).Free()
}

func sizeOfGenerator(fn string, h C.uintptr_t, f func(g *model.Generator) int64) C.int64_t {
	return withGenerator(fn, h, -1, func(g *generator) (C.int64_t, error) { return C.int64_t(f(g.Generator)), nil })
}

//export go_poly_generator_rows
func go_poly_generator_rows(h C.uintptr_t) C.int64_t {
	return sizeOfGenerator("poly_generator_rows", h, (*model.Generator).Rows)
}

//export go_poly_generator_vocab
func go_poly_generator_vocab(h C.uintptr_t) C.int64_t {
	return sizeOfGenerator("poly_generator_vocab", h, (*model.Generator).Vocab)
}

//export go_poly_generator_room
func go_poly_generator_room(h C.uintptr_t) C.int64_t {
	return sizeOfGenerator("poly_generator_room", h, (*model.Generator).Room)
}

//export go_poly_generator_sampling
func go_poly_generator_sampling(h C.uintptr_t, temperature C.double, topK C.int, topP C.double, seed C.uint64_t) C.int {
	return generatorStatus("poly_generator_sampling", h, func(g *generator) error {
		return g.SetSampling(model.Sampling{Temperature: float64(temperature), TopK: int(topK), TopP: float64(topP), Seed: uint64(seed)})
	})
}

//export go_poly_generator_ends
func go_poly_generator_ends(h C.uintptr_t, tokens *C.int32_t, n C.int) C.int {
	return generatorStatus("poly_generator_ends", h, func(g *generator) error {
		switch {
		case n < 0 || int64(n) > g.Vocab():
			return badArg("n", "%d tokens, expected 0 to %d", n, g.Vocab())
		case n > 0 && tokens == nil:
			return badArg("tokens", "is NULL, expected %d tokens", n)
		}
		return g.SetEnds(unsafe.Slice((*int32)(unsafe.Pointer(tokens)), n))
	})
}

//export go_poly_generator_feed
func go_poly_generator_feed(h C.uintptr_t, tokens, lengths *C.int32_t, rows C.int) C.int {
	return generatorStatus("poly_generator_feed", h, func(g *generator) error {
		if int64(rows) != g.Rows() {
			return badArg("rows", "%d, expected the %d of the generator", rows, g.Rows())
		}
		if lengths == nil {
			return badArg("lengths", "is NULL, expected %d numbers", rows)
		}
		total := int64(0)
		for i, n := range unsafe.Slice(lengths, rows) {
			if n < 1 {
				return badArg(indexed("lengths", i), "%d, expected at least 1", n)
			}
			total += int64(n)
		}
		if tokens == nil || total > math.MaxInt32 {
			return badArg("tokens", "is NULL or too long, expected %d tokens", total)
		}
		list, all := make([][]int32, rows), unsafe.Slice((*int32)(unsafe.Pointer(tokens)), total)
		for i, n := range unsafe.Slice(lengths, rows) {
			list[i] = append([]int32(nil), all[:n]...)
			all = all[n:]
		}
		return g.Feed(list)
	})
}

//export go_poly_generator_next
func go_poly_generator_next(h C.uintptr_t, tokens *C.int32_t, rows C.int) C.int {
	return withGenerator("poly_generator_next", h, -1, func(g *generator) (C.int, error) {
		if int64(rows) != g.Rows() {
			return 0, badArg("rows", "%d, expected the %d of the generator", rows, g.Rows())
		}
		if tokens == nil {
			return 0, badArg("tokens", "is NULL, expected room for %d tokens", rows)
		}
		out := make([]int32, rows)
		check(g.Next(out))
		copy(unsafe.Slice((*int32)(unsafe.Pointer(tokens)), rows), out)
		if g.Ended() {
			return 1, nil
		}
		return 0, nil
	})
}

//export go_poly_generator_logits
func go_poly_generator_logits(h C.uintptr_t, n *C.int64_t) *C.float {
	if n != nil {
		*n = 0
	}
	return withGenerator("poly_generator_logits", h, nil, func(g *generator) (*C.float, error) {
		logits := must(g.Logits())
		if n != nil {
			*n = C.int64_t(len(logits))
		}
		return (*C.float)(unsafe.Pointer(unsafe.SliceData(logits))), nil
	})
}

//export go_poly_generator_reset
func go_poly_generator_reset(h C.uintptr_t) C.int {
	return generatorStatus("poly_generator_reset", h, func(g *generator) error { return g.Reset() })
}
