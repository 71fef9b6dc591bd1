package main

/*
#include <stdint.h>
*/
import "C"

// build runs a request that makes a node: it enters the context, returns a handle of the result, and reports errors.
func build(fn string, ctx C.uintptr_t, f func(c *context) (value, error)) C.uintptr_t {
	h, err := buildIn(uintptr(ctx), f)
	if err != nil {
		fail(fn, err)
		return 0
	}
	return C.uintptr_t(h)
}

func buildIn(ctx uintptr, f func(c *context) (value, error)) (h uintptr, err error) {
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

// ask runs a request with another kind of result. If it fails, the error is reported and failed called.
func ask(fn string, ctx C.uintptr_t, f func(c *context) error, failed func()) {
	if err := askIn(uintptr(ctx), f); err != nil {
		fail(fn, err)
		failed()
	}
}

func askIn(ctx uintptr, f func(c *context) error) (err error) {
	c, err := enter(ctx)
	if err != nil {
		return err
	}
	defer c.mu.Unlock()
	defer rescue(&err)
	return f(c)
}

// status runs a request that gives 0 or -1.
func status(fn string, ctx C.uintptr_t, f func(c *context) error) (rc C.int) {
	ask(fn, ctx, f, func() { rc = -1 })
	return rc
}
