package variable

import (
	"fmt"
	"slices"

	"polygrad/exec"
)

// A Job computes variables in the background. Writes made meanwhile do not change its operands.
type Job struct {
	b     *batch
	ran   chan struct{} // closed when the kernels have run
	ended bool
	err   error
}

// Start begins to compute variables and returns at once. Jobs of a context run one after the other; all other computations wait for
// them. done is called when the kernels have run, without the lock of the context: it must take the lock and call End.
func (c *Context) Start(vs []*Variable, done func(*Job)) (*Job, error) {
	if c.trace != nil {
		return nil, c.trace.valueNeeded()
	}
	b, stores, err := c.prepare(vs)
	var step *exec.Step
	var binds []exec.Binding
	if err == nil && len(stores) > 0 {
		if devices := c.devicesOf(stores); len(devices) > 1 {
			err = fmt.Errorf("the tensors are on the devices %q, expected one: start a job for each", devices)
		} else {
			step, binds, err = c.program(stores, devices[0])
		}
		binds = slices.Clone(binds)
	}
	if err != nil {
		b.release()
		return nil, err
	}
	for _, v := range b.views {
		v.refs++
	}
	j := &Job{b: b, ran: make(chan struct{})}
	before := j.ran
	if n := len(c.jobs); n > 0 {
		before = c.jobs[n-1].ran
	}
	c.jobs = append(c.jobs, j)
	c.invalidate()
	go func() {
		if before != j.ran {
			<-before
		}
		if step != nil {
			j.err = step.RunDetached(binds, nil)
		}
		close(j.ran)
		done(j)
	}()
	return j, nil
}

// End gives the variables their elements, once, and returns the error of the job.
func (j *Job) End() error {
	if j.ended {
		return j.err
	}
	j.ended = true
	b := j.b
	b.c.jobs = slices.DeleteFunc(b.c.jobs, func(other *Job) bool { return other == j })
	if j.err == nil {
		b.commit()
	}
	b.release()
	for _, v := range b.views {
		v.Drop()
	}
	return j.err
}

// waitJobs waits for the jobs of the context.
func (c *Context) waitJobs() {
	for len(c.jobs) > 0 {
		j := c.jobs[0]
		<-j.ran
		_ = j.End() // the error is reported to the caller that waits for the job
	}
}
