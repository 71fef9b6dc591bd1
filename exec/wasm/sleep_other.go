//go:build !linux && !wasip1

package wasm

import (
	"sync"
	"sync/atomic"
)

var asleep sync.Mutex
var changed = sync.NewCond(&asleep)

// sleepWhile sleeps while the word is value.
func sleepWhile(word *atomic.Uint32, value uint32) {
	asleep.Lock()
	for word.Load() == value {
		changed.Wait()
	}
	asleep.Unlock()
}

// wake wakes all that sleep.
func wake(*atomic.Uint32, int) {
	asleep.Lock()
	changed.Broadcast()
	asleep.Unlock()
}
