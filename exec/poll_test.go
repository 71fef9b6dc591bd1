package exec

import (
	"errors"
	"testing"
	"time"

	"polygrad/exec/interp"
)

func TestPollStopsARun(t *testing.T) {
	asked := 0
	SetPoll(func() bool { asked++; return true })
	defer SetPoll(nil)
	polled.Store(int64(time.Since(start) - 2*pollEvery)) // the last question was long ago
	p := &plan{pool: newPool(interp.New(), 0), launches: make([]launch, 1)}
	if err := p.run(p.take(), nil, nil, poll.Load(), nil); !errors.Is(err, ErrInterrupted) || asked != 1 {
		t.Fatalf("run: %v after %d questions, expected ErrInterrupted after one", err, asked)
	}
}
