package webgpu

import "testing"

// counted is a driver that has nothing but buffers.
type counted struct {
	driver
	buffers int
}

func (c *counted) allocate(int64, use) (object, error)      { c.buffers++; return object(c.buffers), nil }
func (c *counted) free(object)                              { c.buffers-- }
func (c *counted) adopt(b uintptr, _ int64) (object, error) { return object(b), nil }
func (c *counted) usable(object) error                      { return nil }
func (c *counted) isGiven(uintptr) bool                     { return false }
func (c *counted) forget(object)                            { c.buffers-- }
func (c *counted) lend(o object) uintptr                    { return uintptr(o) }
func (c *counted) lost() bool                               { return false }

// TestIdleMemoryIsBounded: idle memory is what was used at once lately, or the part of the caches.
func TestIdleMemoryIsBounded(t *testing.T) {
	const size, many = 1 << 20, 64
	c := &counted{}
	a := &adapter{driver: c, limits: limits{allocation: 1 << 30}, counts: &counts{}, pool: newPool()}
	p := &a.pool
	p.limit = 4 * size
	take := func() *block {
		t.Helper()
		b, err := a.take(size)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	burst := func() {
		var bs []*block
		for range many {
			bs = append(bs, take())
		}
		for _, b := range bs {
			a.give(b)
		}
	}
	burst()
	if p.bytes != many*size || p.used != 0 {
		t.Errorf("after many blocks: %d bytes idle, %d used, expected %d and 0", p.bytes, p.used, many*size)
	}
	burst()
	if c.buffers != many {
		t.Errorf("%d buffers were made, expected %d", c.buffers, many)
	}
	for range 2 * period {
		a.give(take())
	}
	if p.bytes > p.limit || c.buffers > 4 {
		t.Errorf("long after: %d bytes idle in %d buffers, expected at most %d", p.bytes, c.buffers, p.limit)
	}
}

// TestLentMemoryIsNotCounted: blocks that a program has are neither used nor idle.
func TestLentMemoryIsNotCounted(t *testing.T) {
	c := &counted{}
	d := &Device{}
	d.opened = &adapter{driver: c, limits: limits{allocation: 1 << 30, bindable: 1 << 30}, counts: &d.counts, pool: newPool()}
	p := &d.opened.pool
	b, err := d.Allocate(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Lend(b); err != nil || p.used != 0 {
			t.Errorf("%d bytes used while lent, %v, expected 0", p.used, err)
		}
	}
	adopted, err := d.Adopt(1, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c.buffers++ // the program's
	if err := d.Free(adopted, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := d.Free(b, 1<<20); err != nil || p.used != 0 || p.bytes != 0 || c.buffers != 0 {
		t.Errorf("%v: %d bytes used, %d idle, %d buffers, expected none", err, p.used, p.bytes, c.buffers)
	}
}
