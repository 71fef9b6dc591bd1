package main

// #cgo CFLAGS: -O3 -msse4.2 -ffast-math
// #cgo LDFLAGS: -lm
// #include "loops.h"
import "C"

import "unsafe"

// rowLength is the length of a row in the loop row_sum.
const rowLength = C.LOOP_ROW

// loops are the loops in C by name. They take the output, two inputs and the number of elements.
var loops = map[string]func(out, a, b unsafe.Pointer, n int64){
	"add":        func(o, a, b unsafe.Pointer, n int64) { C.loop_add(f(o), f(a), f(b), C.long(n)) },
	"chain5":     func(o, a, b unsafe.Pointer, n int64) { C.loop_chain5(f(o), f(a), f(b), C.long(n)) },
	"relu_scale": func(o, a, b unsafe.Pointer, n int64) { C.loop_relu_scale(f(o), f(a), f(b), C.long(n)) },
	"exp":        func(o, a, b unsafe.Pointer, n int64) { C.loop_exp(f(o), f(a), f(b), C.long(n)) },
	"sum":        func(o, a, b unsafe.Pointer, n int64) { C.loop_sum(f(o), f(a), f(b), C.long(n)) },
	"max":        func(o, a, b unsafe.Pointer, n int64) { C.loop_max(f(o), f(a), f(b), C.long(n)) },
	"dot":        func(o, a, b unsafe.Pointer, n int64) { C.loop_dot(f(o), f(a), f(b), C.long(n)) },
	"row_sum":    func(o, a, b unsafe.Pointer, n int64) { C.loop_row_sum(f(o), f(a), f(b), C.long(n)) },
}

func f(p unsafe.Pointer) *C.float { return (*C.float)(p) }
