// Package code keeps machine code in executable memory and runs it: on the goroutine that asks for it or on a pool of
// threads. It knows nothing of what the code computes.
//
// The convention of the code: RDI points to 64-bit words, the addresses of the buffers, the values of the
// variables, the number of the first work item, how many items to do, and the address of scratch memory (aligned to
// 64 bytes); RSI points to the frame, memory for values that have no register (aligned to 64 bytes). The code may
// change every register but RSP and uses the stack for nothing but return addresses; it ends with RET, and with
// VZEROUPPER before it where it used wide vectors.
package code
