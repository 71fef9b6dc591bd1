package main

import (
	"time"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/exec"
)

// A job is what a PolyJob stands for: a program that runs beside its caller. Jobs of a context run one after the other,
// without its lock, so that graphs can be built meanwhile; whatever else runs programs waits for them.
type job struct {
	entry *handle.Entry
	ctx   *context
	done  chan struct{}
	err   error // to be read when done is closed
}

// waitJobs waits until no job of the context runs.
func (c *context) waitJobs() {
	if c.pending != nil {
		<-c.pending
		c.pending = nil
		c.mu.c.jobs = 0
	}
}

// execute runs a program after the jobs that were started before.
func (c *context) execute(s *exec.Step, binds []exec.Binding, vars map[string]int64) error {
	c.waitJobs()
	return s.Run(c.withHost(s, binds), vars)
}

// executeBound runs a step on nothing but host buffers. Their memory is looked up again only if some buffer has lost its own.
func (c *context) executeBound(s *step, vars map[string]int64) error {
	c.waitJobs()
	if now := uint64(c.mu.c.unbound); s.bound == nil || s.boundAt != now {
		s.disableDirect()
		b, err := s.exec.Bind(c.withHost(s.exec, nil))
		if err != nil {
			return err
		}
		s.bound, s.boundAt = b, now
	}
	if err := s.bound.Run(vars); err != nil {
		return err
	}
	s.enableDirect(c, s.entry, s.bound)
	return nil
}

// start runs a program as a job. With a nil s the job only waits for the jobs before it.
func (c *context) start(s *exec.Step, binds []exec.Binding, vars map[string]int64) (*job, error) {
	j := &job{ctx: c, done: make(chan struct{})}
	var err error
	if j.entry, err = handles.New(handle.Job, c, j); err != nil {
		return nil, err
	}
	c.jobs[j] = struct{}{}
	if s != nil {
		binds = append([]exec.Binding(nil), c.withHost(s, binds)...)
	}
	before := c.pending
	c.pending = j.done
	c.mu.c.jobs = 1
	go func() {
		defer close(j.done)
		defer rescue(&j.err)
		if before != nil {
			<-before
		}
		if s != nil {
			j.err = s.RunDetached(binds, vars)
		}
	}()
	return j, nil
}

// wait waits for a job, at most for some milliseconds, or without a limit if these are below 0.
func (j *job) wait(milliseconds int64) bool {
	select {
	case <-j.done:
		return true
	default:
	}
	switch {
	case milliseconds == 0:
		return false
	case milliseconds < 0 || milliseconds > int64(maxWait/time.Millisecond):
		<-j.done
		return true
	}
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-j.done:
		return true
	case <-timer.C:
		return false
	}
}

// maxWait is the longest timed wait: a longer one has no limit.
const maxWait = 365 * 24 * time.Hour

// startUpdate is runUpdate as a job.
func startUpdate(fn string, ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, leaves, targets, updates *uintptr, nUpdates int32) (h uintptr) {
	withContext(fn, ctx, func(c *context) error {
		up := must(c.update(values, data, n, targets, updates, nUpdates))
		j, err := c.startSink(up)
		if err == nil && leaves != nil {
			if err = c.outAll(up.leaves, unsafe.Slice(leaves, n)); err != nil {
				c.dropJob(j)
			}
		}
		if err != nil || leaves == nil {
			c.forget(up.leaves)
		}
		if err == nil {
			h = uintptr(j.entry.Token())
		}
		return err
	}, func() { h = 0 })
	return h
}

// startSink compiles the program of an update and starts it.
func (c *context) startSink(up update) (*job, error) {
	if len(up.sink.Src) == 0 {
		return c.start(nil, nil, nil)
	}
	e, err := c.executor()
	if err != nil {
		return nil, err
	}
	s, err := e.Compile(up.sink)
	if err != nil {
		return nil, err
	}
	return c.start(s, nil, nil)
}

// dropJob ends the handle of a job; the work goes on.
func (c *context) dropJob(j *job) {
	handles.Drop(j.entry)
	delete(c.jobs, j)
}

func poly_realize_async(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, leaves *uintptr) uintptr {
	return startUpdate("poly_realize_async", ctx, values, data, n, leaves, nil, nil, 0)
}

func poly_update_async(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, leaves, targets, updates *uintptr, nUpdates int32) uintptr {
	return startUpdate("poly_update_async", ctx, values, data, n, leaves, targets, updates, nUpdates)
}

func poly_step_run_async(h uintptr, binds unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) (token uintptr) {
	withStep("poly_step_run_async", h, func(s *step) error {
		list := must(s.ctx.bindings(binds, n))
		v := must(s.ctx.variables(vars, nVars))
		j, err := s.ctx.start(s.exec, list, v)
		if err == nil {
			token = uintptr(j.entry.Token())
		}
		return err
	}, func() { token = 0 })
	return token
}

func poly_job_wait(h uintptr, milliseconds int64) int32 {
	const fn = "poly_job_wait"
	e, err := handles.Get(handle.Token(h), handle.Job)
	if err != nil {
		fail(fn, &argError{"job", err})
		return -1
	}
	j := e.Value.(*job)
	if !j.wait(milliseconds) {
		return 1
	}
	if j.err != nil {
		fail(fn, j.err)
		return -1
	}
	return 0
}

func poly_job_release(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Job)
	if err != nil {
		return
	}
	j := e.Value.(*job)
	j.ctx.mu.Lock()
	defer j.ctx.mu.Unlock()
	j.ctx.dropJob(j)
}
