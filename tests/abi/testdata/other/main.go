// Command other is a Go library like any other, for a process that runs two of them.
package main

import "C"

import "runtime"

// OtherSum is 0 + 1 + ... + n-1, by goroutines and with garbage.
//
//export OtherSum
func OtherSum(n C.int) C.longlong {
	parts := make(chan C.longlong)
	for w := range 4 {
		go func() {
			list := make([]C.longlong, 0)
			for i := w; i < int(n); i += 4 {
				list = append(list, C.longlong(i))
			}
			var sum C.longlong
			for _, v := range list {
				sum += v
			}
			parts <- sum
		}()
	}
	var sum C.longlong
	for range 4 {
		sum += <-parts
	}
	if sum%7 == 0 {
		runtime.GC()
	}
	return sum
}

func main() {}
