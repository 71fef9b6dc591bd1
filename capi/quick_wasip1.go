package main

import (
	"sync"

	"polygrad/capi/handle"
	"polygrad/exec"
)

// contextLock is the lock of a context, with what other builds share with C (quick.go).
type contextLock struct {
	sync.Mutex
	c *contextState
}

type contextState struct {
	jobs    uint32
	unbound uint64
}

func (c *context) newLock() error {
	c.mu.c = &contextState{}
	return nil
}

// directRun is a program that C runs directly, which does not exist in a module.
type directRun struct {
	quick *struct{}
	tries int
}

func (*directRun) enableDirect(*context, *handle.Entry, *exec.Bound) {}

func (*directRun) disableDirect() {}
