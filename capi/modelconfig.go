package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/model"
)

// A modelConfig is the object of a PolyModelConfig.
type modelConfig struct {
	entry *handle.Entry
	mu    sync.Mutex
	*model.Config
	// texts are the strings given to C; they stay until it is freed.
	texts map[string]*C.char
}

func newConfig(fn string, f func() (*model.Config, error)) C.uintptr_t {
	return withoutContext(fn, 0, func() (C.uintptr_t, error) {
		m := &modelConfig{Config: must(f()), texts: map[string]*C.char{}}
		m.entry = must(handles.New(handle.ModelConfig, nil, m))
		return C.uintptr_t(m.entry.Token()), nil
	})
}

// withConfig runs a request on a key of a configuration; missing if it fails.
func withConfig[T any](fn string, h C.uintptr_t, key *C.char, missing T, f func(c *modelConfig, key string) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) {
		c := must(objectOf[*modelConfig]("config", h, handle.ModelConfig))
		if key == nil {
			return missing, badArg("key", "is NULL")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return f(c, goString(key))
	})
}

//export go_poly_model_config_new
func go_poly_model_config_new() C.uintptr_t {
	return newConfig("poly_model_config_new", func() (*model.Config, error) { return model.NewConfig(), nil })
}

//export go_poly_model_config_from_json
func go_poly_model_config_from_json(json *C.char, n C.int) C.uintptr_t {
	return newConfig("poly_model_config_from_json", func() (*model.Config, error) {
		c, err := model.ParseConfig(must(bytesFrom("json", unsafe.Pointer(json), C.int64_t(n))))
		if err != nil {
			return nil, &argError{"json", err}
		}
		return c, nil
	})
}

//export go_poly_model_config_free
func go_poly_model_config_free(h C.uintptr_t) {
	e, err := handles.Get(handle.Token(h), handle.ModelConfig)
	if err != nil {
		return
	}
	c := e.Value.(*modelConfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	handles.Drop(e)
	for _, t := range c.texts {
		C.free(unsafe.Pointer(t))
	}
	c.texts = nil
}

func setConfig(fn string, h C.uintptr_t, key *C.char, v any) {
	withConfig(fn, h, key, 0, func(c *modelConfig, key string) (int, error) {
		if err := c.Set(key, v); err != nil {
			return 0, &argError{"value", err}
		}
		return 0, nil
	})
}

//export go_poly_model_config_set_int
func go_poly_model_config_set_int(h C.uintptr_t, key *C.char, v C.int) {
	setConfig("poly_model_config_set_int", h, key, int64(v))
}

//export go_poly_model_config_set_float
func go_poly_model_config_set_float(h C.uintptr_t, key *C.char, v C.float) {
	setConfig("poly_model_config_set_float", h, key, float32(v))
}

//export go_poly_model_config_set_string
func go_poly_model_config_set_string(h C.uintptr_t, key, v *C.char) {
	if v == nil {
		fail("poly_model_config_set_string", badArg("value", "is NULL"))
		return
	}
	setConfig("poly_model_config_set_string", h, key, goString(v))
}

//export go_poly_model_config_set_ints
func go_poly_model_config_set_ints(h C.uintptr_t, key *C.char, values *C.int64_t, n C.int) {
	list, err := ints("values", values, n)
	if err != nil {
		fail("poly_model_config_set_ints", err)
		return
	}
	setConfig("poly_model_config_set_ints", h, key, append([]int64{}, list...))
}

//export go_poly_model_config_get_int
func go_poly_model_config_get_int(h C.uintptr_t, key *C.char, missing C.int) C.int {
	return withConfig("poly_model_config_get_int", h, key, missing, func(c *modelConfig, key string) (C.int, error) {
		return C.int(min(max(c.Int(key, int64(missing)), -1<<31), 1<<31-1)), nil
	})
}

//export go_poly_model_config_get_float
func go_poly_model_config_get_float(h C.uintptr_t, key *C.char, missing C.float) C.float {
	return withConfig("poly_model_config_get_float", h, key, missing, func(c *modelConfig, key string) (C.float, error) {
		return C.float(c.Number(key, float64(missing))), nil
	})
}

//export go_poly_model_config_get_string
func go_poly_model_config_get_string(h C.uintptr_t, key, missing *C.char) *C.char {
	return withConfig("poly_model_config_get_string", h, key, missing, func(c *modelConfig, key string) (*C.char, error) {
		text, ok := c.StringOf(key)
		if !ok {
			return missing, nil
		}
		if c.texts == nil {
			return nil, &argError{"config", handle.ErrStale}
		}
		if c.texts[text] == nil {
			c.texts[text] = C.CString(text)
		}
		return c.texts[text], nil
	})
}
