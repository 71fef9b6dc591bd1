// Command program prints what it computes in ways that depend on how Go nests blocks, calls, unwinds and resumes.
package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
)

type point struct{ x, y int }

func (p point) sum() int { return p.x + p.y }

type summed interface{ sum() int }

// loops has jumps forward and back, out of inner loops too.
func loops(n int) (out []int) {
outer:
	for i := range n {
		for j := i; ; j += 3 {
			switch {
			case j > 40:
				continue outer
			case j%7 == 5:
				break outer
			case j&1 == 0:
				goto even
			}
			out = append(out, j)
			continue
		even:
			out = append(out, -j)
		}
	}
	return out
}

// recovered returns what panics, with the deferred functions' order.
func recovered(f func()) (text string) {
	defer func() { text = fmt.Sprint(text, recover()) }()
	defer func() { text += "deferred " }()
	f()
	return "none"
}

// deep grows the stack, which moves, while pointers go into it.
func deep(n int, to *[4]int) int {
	var own [40]int
	own[n%40] = n
	to[n&3] += own[n%40]
	if n == 0 {
		return to[0] ^ to[1] ^ to[2] ^ to[3]
	}
	return deep(n-1, &[4]int{to[1], to[2], to[3], to[0]}) + own[n%40]
}

func compare(a, b float64) string {
	out := ""
	for _, is := range []bool{a == b, a != b, a < b, a <= b, a > b, a >= b, !(a < b), !(a <= b), !(a > b), !(a >= b)} {
		if is {
			out += "1"
		} else {
			out += "0"
		}
	}
	return out
}

func conversations() int {
	var wait sync.WaitGroup
	numbers, sums := make(chan int), make(chan int)
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			sum := 0
			for n := range numbers {
				if sum += n; n%10 == 0 {
					runtime.Gosched()
				}
			}
			sums <- sum
		}()
	}
	go func() {
		for n := range 1000 {
			numbers <- n
		}
		close(numbers)
	}()
	go func() { wait.Wait(); close(sums) }()
	total := 0
	for {
		select {
		case s, more := <-sums:
			if !more {
				return total
			}
			total += s
		}
	}
}

// garbage makes the collector walk stacks while lists are built.
func garbage() int {
	kept := map[int][]string{}
	for i := range 3000 {
		kept[i%50] = append(kept[i%50][max(0, len(kept[i%50])-9):], strings.Repeat("x", i%33))
		if i%500 == 0 {
			runtime.GC()
		}
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(kept)) {
		total += len(strings.Join(kept[k], "")) * (k + 1)
	}
	return total
}

func iterated(yield func(int, string) bool) {
	defer fmt.Println("iterated")
	for i, s := range []string{"a", "b", "c", "d"} {
		if !yield(i, s) {
			return
		}
	}
}

func found() string {
	for i, s := range iterated {
		if i == 2 {
			return s
		}
	}
	return ""
}

func main() {
	fmt.Println(loops(50))
	var none *point
	var zero, empty = 0, []int{}
	for _, f := range []func(){
		func() {}, func() { panic(errors.New("own")) }, func() { fmt.Println(empty[zero]) }, func() { fmt.Println(1 / zero) },
		func() { fmt.Println(none.x) }, func() { fmt.Println(summed(none).sum()) }, func() { fmt.Println(any(zero).(string)) },
		func() { fmt.Println(empty[2:zero]) }, func() { panic(recovered(func() { panic("inner") })) },
	} {
		fmt.Println(recovered(f))
	}
	fmt.Println(deep(3000, &[4]int{1, 2, 3, 4}))
	floats := []float64{math.NaN(), math.Inf(1), 0, math.Copysign(0, -1), 1.5}
	for _, a := range floats {
		for _, b := range floats {
			fmt.Print(compare(a, b), " ")
		}
	}
	fmt.Println(conversations(), garbage(), found())
	swap := reflect.MakeFunc(reflect.TypeFor[func(int, string) (string, int)](), func(in []reflect.Value) []reflect.Value {
		runtime.GC()
		return []reflect.Value{in[1], in[0]}
	}).Interface().(func(int, string) (string, int))
	fmt.Println(swap(7, "seven"))
	method := reflect.ValueOf(point{3, 4}).Method
	fmt.Println(recovered(func() { method(0) }))
	fmt.Fprintln(os.Stderr, "error")
	for _, x := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		fmt.Print(x/3, x%3, uint64(x)>>7, int32(x), x < 2, x >= 2, " ")
	}
	defer os.Exit(3)
	panic(recovered(func() { panic("last") }))
}
