package handle

import (
	"errors"
	"sync"
	"testing"
)

func TestLookupTellsWhatIsWrong(t *testing.T) {
	var tab Table
	e, err := tab.New(Node, "ctx", 42)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tab.Get(e.Token(), Node); err != nil || got.Value != 42 || got.Owner != "ctx" {
		t.Fatalf("Get = %v, %v", got, err)
	}
	if e.Token() < 1<<40 || e.Token()>>47 != 0 || e.Token()&15 != 0 {
		t.Errorf("token %#x does not look like an address", e.Token())
	}
	if got, err := tab.Get(e.Token(), Any); err != nil || got != e {
		t.Errorf("of any kind: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		tok  Token
		kind Kind
		want error
	}{
		"null":         {0, Node, ErrNull},
		"small number": {17, Node, ErrForeign},
		"other memory": {0x7f12_3456_7890, Node, ErrForeign},
		"misaligned":   {e.Token() + 8, Node, ErrForeign},
		"never issued": {e.Token() + 5000<<slotShift, Node, ErrForeign},
		"other kind":   {e.Token(), Step, errNotKinds[Step]},
	} {
		if got, err := tab.Get(c.tok, c.kind); got != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: Get = %v, %v, want %v", name, got, err, c.want)
		}
	}
	if !tab.Drop(e) {
		t.Error("Drop of a live entry is false")
	}
	if _, err := tab.Get(e.Token(), Node); !errors.Is(err, ErrStale) {
		t.Errorf("after Drop: %v, want stale", err)
	}
	if tab.Drop(e) {
		t.Error("Drop is true twice: two threads would free the same memory")
	}
	if n := tab.live; n != 0 {
		t.Errorf("%d tokens are live after dropping everything", n)
	}
}

func TestTokensAreNeverReused(t *testing.T) {
	var tab Table
	seen := map[Token]bool{}
	for range 3 * maxGen {
		e, err := tab.New(Node, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.Token()] {
			t.Fatalf("token %#x issued twice", e.Token())
		}
		seen[e.Token()] = true
		tab.Drop(e)
	}
	for tok := range seen {
		if _, err := tab.Get(tok, Node); !errors.Is(err, ErrStale) {
			t.Fatalf("token %#x: %v, want stale", tok, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var tab Table
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var mine []*Entry
			for i := range 2 * chunkSize {
				e, err := tab.New(Node, nil, w*1_000_000+i)
				if err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, e)
				if i%3 == 0 {
					tab.Drop(mine[0])
					mine = mine[1:]
				}
			}
			for _, e := range mine {
				got, err := tab.Get(e.Token(), Node)
				if err != nil || got != e {
					t.Errorf("lost %#x: %v", e.Token(), err)
					return
				}
			}
		})
	}
	wg.Wait()
}
