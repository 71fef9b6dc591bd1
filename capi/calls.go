package main

import "polygrad/capi/handle"

// buildNode runs a request that makes a node: it enters the context, returns a handle of the result, and reports errors.
func buildNode(fn string, ctx uintptr, f func(c *context) (value, error)) uintptr {
	h, err := buildNodeIn(ctx, f)
	if err != nil {
		fail(fn, err)
		return 0
	}
	return h
}

func buildNodeIn(ctx uintptr, f func(c *context) (value, error)) (h uintptr, err error) {
	c, err := enter(ctx)
	if err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	defer rescue(&err)
	v, err := f(c)
	if err != nil {
		return 0, err
	}
	return c.out(v)
}

// withContext runs a request with any kind of result. If it fails, it reports the error and calls failed.
func withContext(fn string, ctx uintptr, f func(c *context) error, failed func()) {
	if err := withContextErr(ctx, f); err != nil {
		fail(fn, err)
		failed()
	}
}

func withContextErr(ctx uintptr, f func(c *context) error) (err error) {
	c, err := enter(ctx)
	if err != nil {
		return err
	}
	defer c.mu.Unlock()
	defer rescue(&err)
	return f(c)
}

// status runs a request that gives 0 or -1.
func status(fn string, ctx uintptr, f func(c *context) error) (rc int32) {
	withContext(fn, ctx, f, func() { rc = -1 })
	return rc
}

// withoutContext runs a request that needs no context, and returns missing if it fails.
func withoutContext[T any](fn string, missing T, f func() (T, error)) T {
	v, err := func() (v T, err error) {
		defer rescue(&err)
		return f()
	}()
	if err != nil {
		fail(fn, err)
		return missing
	}
	return v
}

// objectOf is the object of a handle of a kind.
func objectOf[T any](arg string, h uintptr, kind handle.Kind) (v T, err error) {
	e, err := handles.Get(handle.Token(h), kind)
	if err != nil {
		return v, &argError{arg, err}
	}
	return e.Value.(T), nil
}
