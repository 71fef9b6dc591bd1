package main

/*
int poly_ask(void *poll, void *data);
*/
import "C"

import (
	"unsafe"

	"polygrad/exec"
)

//export go_poly_set_poll
func go_poly_set_poll(poll, data unsafe.Pointer) {
	if poll == nil {
		exec.SetPoll(nil)
		return
	}
	exec.SetPoll(func() bool { return C.poly_ask(poll, data) != 0 })
}
