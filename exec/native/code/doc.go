// Package code keeps machine code in executable memory and runs it: on the caller's goroutine or on a pool of threads. It knows
// nothing of what the code computes.
//
// The calling convention: RDI points to 64-bit words: the addresses of the buffers, the values of the variables, the number of
// the first work item, the number of items, and the address of scratch memory (aligned to 64 bytes). RSI points to the frame,
// memory for spilled values (aligned to 64 bytes). The code may change every register but RSP and uses the stack only for
// return addresses; it ends with RET, after VZEROUPPER where it used wide vectors.
package code
