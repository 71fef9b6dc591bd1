package main

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
	texts map[string]*byte
}

func newConfig(fn string, f func() (*model.Config, error)) uintptr {
	return withoutContext(fn, 0, func() (uintptr, error) {
		m := &modelConfig{Config: must(f()), texts: map[string]*byte{}}
		m.entry = must(handles.New(handle.ModelConfig, nil, m))
		return uintptr(m.entry.Token()), nil
	})
}

// withConfig runs a request on a key of a configuration; missing if it fails.
func withConfig[T any](fn string, h uintptr, key *byte, missing T, f func(c *modelConfig, key string) (T, error)) T {
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

func poly_model_config_new() uintptr {
	return newConfig("poly_model_config_new", func() (*model.Config, error) { return model.NewConfig(), nil })
}

func poly_model_config_from_json(json *byte, n int32) uintptr {
	return newConfig("poly_model_config_from_json", func() (*model.Config, error) {
		c, err := model.ParseConfig(must(bytesFrom("json", unsafe.Pointer(json), int64(n))))
		if err != nil {
			return nil, &argError{"json", err}
		}
		return c, nil
	})
}

func poly_model_config_free(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.ModelConfig)
	if err != nil {
		return
	}
	c := e.Value.(*modelConfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	handles.Drop(e)
	for _, t := range c.texts {
		cFree(unsafe.Pointer(t))
	}
	c.texts = nil
}

func setConfig(fn string, h uintptr, key *byte, v any) {
	withConfig(fn, h, key, 0, func(c *modelConfig, key string) (int, error) {
		if err := c.Set(key, v); err != nil {
			return 0, &argError{"value", err}
		}
		return 0, nil
	})
}

func poly_model_config_set_int(h uintptr, key *byte, v int32) {
	setConfig("poly_model_config_set_int", h, key, int64(v))
}

func poly_model_config_set_float(h uintptr, key *byte, v float32) {
	setConfig("poly_model_config_set_float", h, key, float32(v))
}

func poly_model_config_set_string(h uintptr, key, v *byte) {
	if v == nil {
		fail("poly_model_config_set_string", badArg("value", "is NULL"))
		return
	}
	setConfig("poly_model_config_set_string", h, key, goString(v))
}

func poly_model_config_set_ints(h uintptr, key *byte, values *int64, n int32) {
	list, err := ints("values", values, n)
	if err != nil {
		fail("poly_model_config_set_ints", err)
		return
	}
	setConfig("poly_model_config_set_ints", h, key, append([]int64{}, list...))
}

func poly_model_config_get_int(h uintptr, key *byte, missing int32) int32 {
	return withConfig("poly_model_config_get_int", h, key, missing, func(c *modelConfig, key string) (int32, error) {
		return int32(min(max(c.Int(key, int64(missing)), -1<<31), 1<<31-1)), nil
	})
}

func poly_model_config_get_float(h uintptr, key *byte, missing float32) float32 {
	return withConfig("poly_model_config_get_float", h, key, missing, func(c *modelConfig, key string) (float32, error) {
		return float32(c.Number(key, float64(missing))), nil
	})
}

func poly_model_config_get_string(h uintptr, key, missing *byte) *byte {
	return withConfig("poly_model_config_get_string", h, key, missing, func(c *modelConfig, key string) (*byte, error) {
		text, ok := c.StringOf(key)
		if !ok {
			return missing, nil
		}
		if c.texts == nil {
			return nil, &argError{"config", handle.ErrStale}
		}
		if c.texts[text] == nil {
			c.texts[text] = cString(text)
		}
		return c.texts[text], nil
	})
}
