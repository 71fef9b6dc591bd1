package main

import (
	"encoding/json"
	"errors"
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/model/tokens"
)

// textStream is the object of a PolyTextStream.
type textStream struct {
	mu sync.Mutex
	*tokens.Stream
}

// withTokenizer runs a request on a tokenizer; missing if it fails.
func withTokenizer[T any](fn string, h uintptr, missing T, f func(t *tokens.Tokenizer) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) {
		return f(must(objectOf[*tokens.Tokenizer]("tok", h, handle.Tokenizer)))
	})
}

// issued is a handle of a new object without a context.
func issued(kind handle.Kind, object any) (uintptr, error) {
	e, err := handles.New(kind, nil, object)
	if err != nil {
		return 0, err
	}
	return uintptr(e.Token()), nil
}

func dropHandle(h uintptr, kind handle.Kind) {
	if e, err := handles.Get(handle.Token(h), kind); err == nil {
		handles.Drop(e)
	}
}

// newTokenizer is the handle of a tokenizer; errors are of an argument, unless they are of the name.
func newTokenizer(arg string) func(t *tokens.Tokenizer, err error) (uintptr, error) {
	return func(t *tokens.Tokenizer, err error) (uintptr, error) {
		var own *tokens.ArgError
		if errors.As(err, &own) && own.Arg == "name" {
			return 0, &argError{"name", own.Err}
		} else if err != nil {
			return 0, &argError{arg, err}
		}
		return issued(handle.Tokenizer, t)
	}
}

// argOf is the error of an argument by its name.
func argOf(err error) error {
	var own *tokens.ArgError
	if errors.As(err, &own) {
		return &argError{own.Arg, own.Err}
	}
	return err
}

func poly_tokenizer_new(file unsafe.Pointer, n int64, name *byte) uintptr {
	return withoutContext("poly_tokenizer_new", 0, func() (uintptr, error) {
		b := must(bytesFrom("file", file, n))
		return newTokenizer("file")(tokens.New(b, goString(name)))
	})
}

func poly_tokenizer_open(path, name *byte) uintptr {
	return withoutContext("poly_tokenizer_open", 0, func() (uintptr, error) {
		if path == nil {
			return 0, badArg("path", "is NULL")
		}
		return newTokenizer("path")(tokens.Open(goString(path), goString(name)))
	})
}

func poly_tokenizer_source(name *byte, length *int64) *byte {
	return withoutContext("poly_tokenizer_source", nil, func() (*byte, error) {
		if name == nil {
			return nil, badArg("name", "is NULL")
		}
		url, err := tokens.Source(goString(name))
		if err != nil {
			return nil, &argError{"name", err}
		}
		return textToC(url, length)
	})
}

func poly_tokenizer_free(h uintptr) { dropHandle(h, handle.Tokenizer) }

const encodeSpecial, encodePairs = 1, 2

func poly_tokenizer_encode(h uintptr, texts unsafe.Pointer, lengths *int64, n int32, flags int32, allowed *byte, counts *int64) *int32 {
	return withTokenizer("poly_tokenizer_encode", h, nil, func(t *tokens.Tokenizer) (*int32, error) {
		each := int32(1)
		if flags&encodePairs != 0 {
			each = 2
		}
		switch {
		case flags&^(encodeSpecial|encodePairs) != 0:
			return nil, badArg("flags", "%d, expected 0 to 3", flags)
		case n < 0 || n%each != 0:
			return nil, badArg("n", "%d texts, expected 0 or more, and with POLY_ENCODE_PAIRS two for each pair", n)
		case n > 0 && lengths == nil:
			return nil, badArg("lengths", "is NULL, expected %d numbers", n)
		case n > 0 && counts == nil:
			return nil, badArg("counts", "is NULL, expected room for %d numbers", n/each)
		}
		o, err := t.Options(goString(allowed))
		if err != nil {
			return nil, argOf(err)
		}
		o.Wrap = flags&encodeSpecial != 0
		total := int64(0)
		for i, size := range unsafe.Slice(lengths, n) {
			if total += size; size < 0 || size > mostBytes || total > mostBytes {
				return nil, badArg(indexed("lengths", i), "%d bytes, expected 0 to %d, together", size, mostBytes)
			}
		}
		all := must(bytesFrom("texts", texts, total))
		list := make([]string, n)
		rows := make([][]string, n/each)
		for i, size := range unsafe.Slice(lengths, n) {
			list[i] = string(all[:size])
			all = all[size:]
		}
		for i := range rows {
			rows[i] = list[int32(i)*each : int32(i+1)*each]
		}
		ids, err := t.EncodeBatch(o, rows)
		if err != nil {
			return nil, &argError{"text", err}
		}
		sum := 0
		for i, own := range ids {
			unsafe.Slice(counts, len(rows))[i] = int64(len(own))
			sum += len(own)
		}
		p, out := newArray[int32](sum)
		if p == nil {
			return nil, badArg("texts", "have %d tokens, for which there is no memory", sum)
		}
		for _, own := range ids {
			out = out[copy(out, own):]
		}
		return p, nil
	})
}

// The most bytes and tokens that one call encodes or decodes.
const (
	mostBytes = 1 << 30
	mostIDs   = 1 << 28
)

// idsFrom are n tokens that C has.
func idsFrom(arg string, p *int32, n int64) ([]int32, error) {
	if n < 0 || n > mostIDs {
		return nil, badArg(arg, "%d tokens, expected 0 to %d", n, mostIDs)
	}
	b, err := bytesFrom(arg, unsafe.Pointer(p), 4*n)
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4), err
}

// textToC copies a text to memory for C to free, with a zero behind it.
func textToC(s string, n *int64) (*byte, error) {
	if n != nil {
		*n = int64(len(s))
	}
	return cString(s), nil
}

const decodeSpecial, decodeBytes = 1, 2

func poly_tokenizer_decode(h uintptr, ids *int32, n int64, flags int32, length *int64) *byte {
	return withTokenizer("poly_tokenizer_decode", h, nil, func(t *tokens.Tokenizer) (*byte, error) {
		list := must(idsFrom("tokens", ids, n))
		if flags&^(decodeSpecial|decodeBytes) != 0 {
			return nil, badArg("flags", "%d, expected 0 to 3", flags)
		}
		if flags&decodeBytes != 0 {
			b, err := t.DecodeBytes(list, flags&decodeSpecial != 0)
			if err != nil {
				return nil, &argError{"tokens", err}
			}
			return textToC(string(b), length)
		}
		text, err := t.Decode(list, flags&decodeSpecial != 0)
		if err != nil {
			return nil, &argError{"tokens", err}
		}
		return textToC(text, length)
	})
}

func poly_tokenizer_size(h uintptr) int64 {
	return withTokenizer("poly_tokenizer_size", h, -1, func(t *tokens.Tokenizer) (int64, error) { return int64(t.Size()), nil })
}

func poly_tokenizer_id(h uintptr, text unsafe.Pointer, n int64) int64 {
	return withTokenizer("poly_tokenizer_id", h, -1, func(t *tokens.Tokenizer) (int64, error) {
		b := must(bytesFrom("text", text, min(n, mostBytes)))
		id := t.ID(string(b))
		if id < 0 {
			return 0, badArg("text", "%q is no token of the tokenizer", b[:min(len(b), 40)])
		}
		return int64(id), nil
	})
}

func poly_tokenizer_token(h uintptr, id int64, length *int64) *byte {
	return withTokenizer("poly_tokenizer_token", h, nil, func(t *tokens.Tokenizer) (*byte, error) {
		text, ok := "", id == int64(int32(id))
		if ok {
			text, ok = t.Text(int32(id))
		}
		if !ok {
			return nil, badArg("token", "%d is no token of the tokenizer", id)
		}
		return textToC(text, length)
	})
}

func poly_tokenizer_special(h uintptr, length *int64) *byte {
	return withTokenizer("poly_tokenizer_special", h, nil, func(t *tokens.Tokenizer) (*byte, error) {
		return textToC(string(must(json.Marshal(t.Special()))), length)
	})
}

func poly_text_stream_new(h uintptr, before *int32, n int64, flags int32) uintptr {
	return withTokenizer("poly_text_stream_new", h, 0, func(t *tokens.Tokenizer) (uintptr, error) {
		list := must(idsFrom("before", before, n))
		if flags&^decodeSpecial != 0 {
			return 0, badArg("flags", "%d, expected 0 or 1", flags)
		}
		s, err := t.NewStream(list, flags != 0)
		if err != nil {
			return 0, &argError{"before", err}
		}
		return issued(handle.TextStream, &textStream{Stream: s})
	})
}

func poly_text_stream_push(h uintptr, ids *int32, n int64, length *int64) *byte {
	return withoutContext("poly_text_stream_push", nil, func() (*byte, error) {
		s := must(objectOf[*textStream]("stream", h, handle.TextStream))
		list := must(idsFrom("tokens", ids, n))
		s.mu.Lock()
		defer s.mu.Unlock()
		text, err := s.Push(list...)
		if err != nil {
			return nil, &argError{"tokens", err}
		}
		return textToC(text, length)
	})
}

func poly_text_stream_free(h uintptr) { dropHandle(h, handle.TextStream) }
