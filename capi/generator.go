package main

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
func withGenerator[T any](fn string, h uintptr, missing T, f func(g *generator) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(objectOf[*generator]("gen", h, handle.Generator))) })
}

// generatorStatus runs a request that gives 0 or -1.
func generatorStatus(fn string, h uintptr, f func(g *generator) error) int32 {
	return withGenerator(fn, h, -1, func(g *generator) (int32, error) { return 0, f(g) })
}

func poly_generator_new(inst uintptr, rows int32) uintptr {
	return withInstance("poly_generator_new", inst, 0, func(i *instance) (uintptr, error) {
		m, err := i.NewGenerator(int64(rows))
		check(err)
		g := &generator{Generator: m}
		if g.entry, err = handles.New(handle.Generator, nil, g); err != nil {
			m.Free()
			return 0, err
		}
		return uintptr(g.entry.Token()), nil
	})
}

func poly_generator_free(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Generator)
	if err != nil {
		return
	}
	handles.Drop(e)
	e.Value.(*generator).Free()
}

func sizeOfGenerator(fn string, h uintptr, f func(g *model.Generator) int64) int64 {
	return withGenerator(fn, h, -1, func(g *generator) (int64, error) { return f(g.Generator), nil })
}

func poly_generator_rows(h uintptr) int64 {
	return sizeOfGenerator("poly_generator_rows", h, (*model.Generator).Rows)
}

func poly_generator_vocab(h uintptr) int64 {
	return sizeOfGenerator("poly_generator_vocab", h, (*model.Generator).Vocab)
}

func poly_generator_room(h uintptr) int64 {
	return sizeOfGenerator("poly_generator_room", h, (*model.Generator).Room)
}

func poly_generator_sampling(h uintptr, temperature float64, topK int32, topP float64, seed uint64) int32 {
	return generatorStatus("poly_generator_sampling", h, func(g *generator) error {
		return g.SetSampling(model.Sampling{Temperature: float64(temperature), TopK: int(topK), TopP: float64(topP), Seed: seed})
	})
}

func poly_generator_ends(h uintptr, tokens *int32, n int32) int32 {
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

func poly_generator_feed(h uintptr, tokens, lengths *int32, rows int32) int32 {
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

func poly_generator_next(h uintptr, tokens *int32, rows int32) int32 {
	return withGenerator("poly_generator_next", h, -1, func(g *generator) (int32, error) {
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

func poly_generator_logits(h uintptr, n *int64) *float32 {
	if n != nil {
		*n = 0
	}
	return withGenerator("poly_generator_logits", h, nil, func(g *generator) (*float32, error) {
		logits := must(g.Logits())
		if n != nil {
			*n = int64(len(logits))
		}
		return (*float32)(unsafe.Pointer(unsafe.SliceData(logits))), nil
	})
}

func poly_generator_reset(h uintptr) int32 {
	return generatorStatus("poly_generator_reset", h, func(g *generator) error { return g.Reset() })
}
