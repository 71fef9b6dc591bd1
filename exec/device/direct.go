package device

// Direct is a Kernel that C can call without Go, because its runs are short.
type Direct interface {
	// Call is where its code is and what it needs; ok is false if a run takes too long, or it is not known yet.
	Call() (c Call, ok bool)
}

// Call is a function of machine code that takes the addresses of 64-bit words and of memory for itself (aligned to
// 64 bytes), and keeps no registers but the stack pointer. The words are those of the buffers and Own.
type Call struct {
	Entry uintptr
	// Memory is how many bytes of memory it needs for itself.
	Memory uintptr
	// Own are the words behind the buffers; number Inside of them is an offset into its own memory, to which the address of that is added.
	Own    []uint64
	Inside int
}
