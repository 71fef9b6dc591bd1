package device

import (
	"sync"
	"time"
)

// Clock is a Queue whose device measures what it does.
type Clock interface {
	// Start begins to measure, with an empty queue. Took is how long the device has worked for it since, once it is empty again; ok is false
	// if that is not known.
	Start()
	Took() (t time.Duration, ok bool)
}

// clocks serializes measurements: queues of one device share its clock.
var clocks sync.Mutex

// Time is how long operations take that a function puts into a queue: by the device's clock, or else until the host has waited for them.
func Time(q Queue, operations func() error) (time.Duration, error) {
	if err := q.Wait(); err != nil {
		return 0, err
	}
	clock, measures := q.(Clock)
	if measures {
		clocks.Lock()
		defer clocks.Unlock()
		clock.Start()
	}
	start := time.Now()
	err := operations()
	if waited := q.Wait(); err == nil {
		err = waited
	}
	took := time.Since(start)
	if measures {
		if t, ok := clock.Took(); ok && err == nil {
			took = t
		}
	}
	return took, err
}
