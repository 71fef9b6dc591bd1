package device

// Direct is a Kernel that C can call without Go because its runs are short.
type Direct interface {
	// Call is its code and memory; ok is false if a run takes too long, or its time is not known yet.
	Call() (c Call, ok bool)
}

// Call is a function of machine code with the addresses of an array of 64-bit words and of private memory (aligned to 64 bytes)
// as arguments. It preserves no registers but the stack pointer. The words are the addresses of the buffers, then Own.
type Call struct {
	Entry uintptr
	// Memory is the size of its private memory in bytes.
	Memory uintptr
	// Own are the words behind the buffers; number Inside of them is an offset in the private memory, to which its address is added.
	Own    []uint64
	Inside int
}
