package intern

import "testing"

// key has few hashes, so that many keys share one.
type key int

func (k key) Hash() uint64 { return Mix(0, uint64(k%7)) }

func TestTable(t *testing.T) {
	table := NewTable[key, int](3)
	const n = 1000
	made := map[key]*int{}
	for k := range key(n) {
		v, found := table.Find(k, int(k)*2)
		if found || *v != int(k)*2 {
			t.Fatalf("key %d: found %v, value %d", k, found, *v)
		}
		made[k] = v
	}
	alone := table.Unique(5)
	if *alone != 5 {
		t.Errorf("the value that nothing finds is %d, expected 5", *alone)
	}
	for k, want := range made {
		if v, found := table.Find(k, -1); !found || v != want {
			t.Fatalf("key %d is not where it was made: found %v", k, found)
		}
	}
}
