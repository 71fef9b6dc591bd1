package ir

import "testing"

// collidingKey has few hashes, so that many keys share one.
type collidingKey int

func (k collidingKey) Hash() uint64 { return MixHash(0, uint64(k%7)) }

func TestInternTable(t *testing.T) {
	table := NewInternTable[collidingKey, int](3)
	const n = 1000
	made := map[collidingKey]*int{}
	for k := range collidingKey(n) {
		v, found := table.Find(k, int(k)*2)
		if found || *v != int(k)*2 {
			t.Fatalf("key %d: found %v, value %d", k, found, *v)
		}
		made[k] = v
	}
	alone := table.Unique(5)
	if *alone != 5 {
		t.Errorf("the value without a key is %d, expected 5", *alone)
	}
	for k, want := range made {
		if v, found := table.Find(k, -1); !found || v != want {
			t.Fatalf("key %d is not where it was made: found %v", k, found)
		}
	}
}
