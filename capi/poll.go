package main

import (
	"unsafe"

	"polygrad/exec"
)

func poly_set_poll(poll, data unsafe.Pointer) {
	if poll == nil {
		exec.SetPoll(nil)
		return
	}
	exec.SetPoll(func() bool { return askPoll(poll, data) })
}
