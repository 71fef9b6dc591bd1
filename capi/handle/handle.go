// Package handle issues the tokens that stand for Go objects on the C side, and finds the objects again.
//
// A token looks like an address (so that a caller, or a record layout, can tell it from a small number) but points to nothing. It
// consists of a slot and the slot's generation, so a released token is detected for ever: no token is issued twice.
package handle

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
)

// Token is what C sees as a pointer. The zero Token is NULL.
type Token uintptr

// Bits of a token, lowest first: 4 zero, 14 generation, 26 slot, then prefix.
// The prefix puts tokens at 0x6…, below the end of user space and away from
// where Linux maps programs, libraries, heaps and stacks.
const (
	alignBits = 4
	genBits   = 14
	slotBits  = 26
	genShift  = alignBits
	slotShift = alignBits + genBits
	topShift  = alignBits + genBits + slotBits
	prefix    = 6

	maxGen   = 1<<genBits - 1
	maxSlots = 1 << slotBits

	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// Kind is the kind of object of a token.
type Kind uint8

// The kinds of objects with handles; Any is Get's argument for all of them.
const (
	Any Kind = iota
	Context
	Node
	Step
	Instance
	WasmPlan
	Plan
	Schedule
	ModelConfig
	Model
	Job
	Generator
	File
	Array
	Pin
	Function
	Optimizer
	RateSchedule
	Expr
	Tokenizer
	TextStream
)

var kindNames = [...]string{"object", "context", "node", "step", "instance", "wasm plan", "plan", "schedule", "model configuration", "model", "job", "generator", "file", "array", "pin", "function", "optimizer", "rate schedule", "expression", "tokenizer", "text stream"}

func (k Kind) String() string { return kindNames[k] }

// Entry is the object of a token. All fields but Refs are set once, before it has its token.
type Entry struct {
	Kind  Kind
	Owner any
	Value any
	// Refs counts the handles given out; the owner's lock guards it.
	Refs  int
	token Token
}

// Token is the token of the entry.
func (e *Entry) Token() Token { return e.token }

// The reasons for refusing a token.
var (
	ErrNull     = errors.New("is NULL")
	ErrForeign  = errors.New("is not a polygrad handle")
	ErrStale    = errors.New("is stale: it was released, or its context was destroyed")
	ErrFull     = errors.New("too many live handles")
	errNotKinds [len(kindNames)]error
)

func init() {
	for k, name := range kindNames {
		article := "a "
		if strings.ContainsRune("aeiou", rune(name[0])) {
			article = "an "
		}
		errNotKinds[k] = errors.New("is a handle of another kind, not " + article + name)
	}
}

type chunk struct {
	entry [chunkSize]atomic.Pointer[Entry]
	gen   [chunkSize]uint16 // guarded by Table.mu
}

// Table holds live entries. It is safe for concurrent use; looking up takes no lock.
type Table struct {
	chunks [maxSlots / chunkSize]atomic.Pointer[chunk]

	mu   sync.Mutex
	free []uint32
	next uint32
	live int
}

// New issues a token for a value with one reference.
func (t *Table) New(kind Kind, owner, value any) (*Entry, error) {
	e := &Entry{Kind: kind, Owner: owner, Value: value, Refs: 1}
	return e, t.Issue(e)
}

// Issue gives a token to a new entry, which may be part of its value.
func (t *Table) Issue(e *Entry) error {
	t.mu.Lock()
	var slot uint32
	switch n := len(t.free); {
	case n > 0:
		slot = t.free[n-1]
		t.free = t.free[:n-1]
	case t.next < maxSlots:
		slot = t.next
		t.next++
		if slot&(chunkSize-1) == 0 {
			t.chunks[slot>>chunkBits].Store(new(chunk))
		}
	default:
		t.mu.Unlock()
		return ErrFull
	}
	c := t.chunks[slot>>chunkBits].Load()
	i := slot & (chunkSize - 1)
	c.gen[i]++
	e.token = prefix<<topShift | Token(slot)<<slotShift | Token(c.gen[i])<<genShift
	c.entry[i].Store(e)
	t.live++
	t.mu.Unlock()
	return nil
}

// Looks reports whether a word has the form of a token, valid or not.
func Looks(t Token) bool { return t>>topShift == prefix && t&(1<<alignBits-1) == 0 }

// Get finds the entry of a token, which must be live and of the given kind.
func (t *Table) Get(tok Token, kind Kind) (*Entry, error) {
	if !Looks(tok) {
		if tok == 0 {
			return nil, ErrNull
		}
		return nil, ErrForeign
	}
	slot := uint32(tok>>slotShift) & (maxSlots - 1)
	c := t.chunks[slot>>chunkBits].Load()
	if c == nil {
		return nil, ErrForeign
	}
	e := c.entry[slot&(chunkSize-1)].Load()
	if e == nil || e.token != tok {
		return nil, ErrStale
	}
	if e.Kind != kind && kind != Any {
		return nil, errNotKinds[kind]
	}
	return e, nil
}

// DropAll invalidates all tokens of an owner.
func (t *Table) DropAll(owner any) {
	t.mu.Lock()
	used := t.next
	t.mu.Unlock()
	for slot := range used {
		c := t.chunks[slot>>chunkBits].Load()
		if e := c.entry[slot&(chunkSize-1)].Load(); e != nil && e.Owner == owner {
			t.Drop(e)
		}
	}
}

// Drop invalidates an entry's token and reports whether it was valid. A slot with all generations used is retired.
func (t *Table) Drop(e *Entry) bool {
	slot := uint32(e.token>>slotShift) & (maxSlots - 1)
	c := t.chunks[slot>>chunkBits].Load()
	i := slot & (chunkSize - 1)
	t.mu.Lock()
	first := c.entry[i].Load() == e
	if first {
		c.entry[i].Store(nil)
		t.live--
		if c.gen[i] < maxGen {
			t.free = append(t.free, slot)
		}
	}
	t.mu.Unlock()
	return first
}
