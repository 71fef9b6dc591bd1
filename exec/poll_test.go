package exec

import (
	"errors"
	"testing"
	"time"
)

func TestPollStopsARun(t *testing.T) {
	asked := 0
	SetPoll(func() bool { asked++; return true })
	defer SetPoll(nil)
	polled.Store(int64(time.Since(start) - 2*pollEvery)) // the last question was long ago
	if err := (&plan{launches: make([]launch, 1)}).run(&run{}, nil, nil, poll.Load()); !errors.Is(err, ErrInterrupted) || asked != 1 {
		t.Fatalf("run: %v after %d questions, expected ErrInterrupted after one", err, asked)
	}
}
