package pages

import (
	"testing"
	"unsafe"
)

func take(t *testing.T, c *Cache, n uintptr) uintptr {
	t.Helper()
	p, err := c.Take(n)
	if err != nil {
		t.Fatal(err)
	}
	b := unsafe.Slice((*byte)(Pointer(p)), n)
	b[0], b[n-1] = 1, 1
	return p
}

func TestCacheReturnsWhatWasGivenBack(t *testing.T) {
	c := &Cache{limit: func() uintptr { return 64 << 20 }}
	a, b := take(t, c, 5<<20), take(t, c, 9<<20)
	c.Give(a, 5<<20)
	c.Give(b, 9<<20)
	// Sizes that come to as many pages are one.
	if got := take(t, c, 5<<20+1); got != a {
		t.Errorf("got memory at %#x, expected that at %#x", got, a)
	}
	if got := take(t, c, 5<<20); got == a {
		t.Errorf("the memory at %#x was taken twice", a)
	}
	if got := take(t, c, 9<<20); got != b {
		t.Errorf("got memory at %#x, expected that at %#x", got, b)
	}
}

func TestCacheOfSmallBlocks(t *testing.T) {
	c := &Cache{limit: func() uintptr { return 64 << 20 }}
	const n = 2363900
	a := take(t, c, n)
	c.Give(a, n)
	if c.bytes < n || c.bytes > n+n/8+smallPage {
		t.Errorf("a block of %d bytes keeps %d, expected an eighth more at most", n, c.bytes)
	}
	if got := take(t, c, n+1); got != a {
		t.Errorf("got memory at %#x, expected that at %#x", got, a)
	}
	for _, n := range []uintptr{1, smallPage, smallPage + 1, HugeFrom - 1, HugeFrom, HugeFrom + 1} {
		if w := whole(n); w < n || w%smallPage != 0 || whole(w) != w {
			t.Errorf("%d bytes are rounded up to %d, and those to %d", n, w, whole(w))
		}
	}
}

func TestCacheHasALimit(t *testing.T) {
	const cacheLimit = 256 << 20
	const n = cacheLimit / 4
	c := &Cache{limit: func() uintptr { return cacheLimit }}
	var all []uintptr
	for range 6 {
		p, err := c.Take(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		c.Give(p, n)
	}
	if len(c.idle) != 4 || c.bytes != cacheLimit || c.idle[0].at != all[2] {
		t.Errorf("%d blocks of %d bytes are kept, the oldest at %#x; expected 4 with %d, the oldest at %#x", len(c.idle), c.bytes, c.idle[0].at, cacheLimit, all[2])
	}
	c.Give(take(t, c, 3*cacheLimit), 3*cacheLimit)
	if len(c.idle) != 0 || c.bytes != 0 {
		t.Errorf("%d blocks of %d bytes are kept, expected none beside what is more than the limit", len(c.idle), c.bytes)
	}
}

func TestMoreThanTheMachineHas(t *testing.T) {
	if _, err := Freed.Take(1 << 50); err == nil {
		t.Error("a petabyte was taken")
	}
}
