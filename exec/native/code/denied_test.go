//go:build linux && amd64 && cgo

package code

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied is the child process: it forbids itself files in memory, then (if all is set) executable memory too, and
// loads a kernel.
func denied(all bool) {
	const load, equal, bits, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	const refuse, allow = 0x50000 | uint32(unix.EPERM), 0x7fff0000
	const number, third = 0, 32 // where struct seccomp_data has the number of the call, and its third argument
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equal, K: unix.SYS_MEMFD_CREATE, Jf: 1},
		{Code: answer, K: refuse},
		{Code: equal, K: unix.SYS_MPROTECT, Jf: 3},
		{Code: load, K: third},
		{Code: bits, K: unix.PROT_EXEC, Jf: 1},
		{Code: answer, K: refuse},
		{Code: answer, K: allow},
	}
	if !all {
		filter = append(filter[:3], filter[7])
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		println("no seccomp here")
		return
	}
	const setFilter, allThreads = 1, 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); errno != 0 {
		println("no seccomp here")
		return
	}
	if err := Open(); err != nil {
		println(errors.Is(err, ErrNoMemory), err.Error())
		return
	}
	ks, err := Load([]Spec{{Name: "fill", Text: fillCode, Buffers: 1, Vars: 1, Items: 3}})
	if err != nil {
		println(err.Error())
		return
	}
	buf := make([]int64, 3)
	err = ks[0].Run([]unsafe.Pointer{unsafe.Pointer(&buf[0])}, []int64{5})
	println("ran:", err == nil && buf[2] == 7, "separate:", state.memory.single)
}

// TestMemoryIsDenied is what happens where the system does not let memory be executed.
func TestMemoryIsDenied(t *testing.T) {
	for what, want := range map[string]string{"denied files": "ran: true separate: true", "denied all": "true no executable memory: mprotect: operation not permitted"} {
		out, ended := child(t, what)
		if strings.Contains(out, "no seccomp here") {
			t.Skip("no seccomp here")
		}
		if !ended || !strings.Contains(out, want) {
			t.Errorf("%s: expected %q, the child says (ended %v):\n%s", what, want, ended, out)
		}
	}
}
