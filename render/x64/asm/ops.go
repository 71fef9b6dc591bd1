package asm

// Op is an operation: a row of the table of instructions.
type Op uint16
