package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pickle reads Python's pickles of numbers, texts, containers and the globals of a table. Like Python's it is a stack machine,
// but it cannot call anything outside of that table.
type pickle struct {
	data  []byte
	pos   int
	stack []Value
	marks []int
	memo  map[uint64]Value
	// persistent resolves the name of data outside of the pickle.
	persistent func(id Value) (Value, error)
	// global resolves a global, nil if it is not allowed.
	global func(module, name string) *global
	// work bounds copying: a pickle can name one list many times.
	work int
}

// global is a function or a class of Python that pickles may name. One without call can only be named.
type global struct {
	name string
	call func(p *pickle, args []Value) (Value, error)
	// value is the value of a global that is no function.
	value Value
}

// pending is an object whose state follows later.
type pending struct {
	value Value
	set   func(o *pending, state Value) error
}

const (
	maxPickle     = 64 << 20 // bytes; the numbers of tensors lie beside it
	maxPickleInt  = 256      // bytes of an integer
	maxPickleLine = 4096
)

// malformed is the panic value of refuse.
type malformed struct{ error }

// read runs f, which may refuse malformed data.
func (p *pickle) read(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case malformed:
			err = r.error
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// refuse panics with a malformed if there is an error.
func refuse(err error) {
	if err != nil {
		panic(malformed{err})
	}
}

// must returns v after refuse(err).
func must[T any](v T, err error) T {
	refuse(err)
	return v
}

// load reads one pickle and advances pos behind it.
func (p *pickle) load() (v Value, err error) {
	p.stack, p.marks, p.memo = nil, nil, map[uint64]Value{}
	p.work = 1024 + 2*min(len(p.data), maxPickle)
	start, at := p.pos, p.pos
	err = p.read(func() {
		for range maxValues {
			at = p.pos
			if at-start > maxPickle {
				break
			}
			op := p.byte()
			if op == '.' {
				v = p.pop()
				return
			}
			p.step(op)
		}
		refuse(fmt.Errorf("the pickle has more than %d bytes or %d operations", maxPickle, maxValues))
	})
	if err != nil {
		return nil, fmt.Errorf("byte %d of the pickle: %w", at, err)
	}
	return v, nil
}

func (p *pickle) bytes(n uint64) []byte {
	if n > uint64(len(p.data)-p.pos) {
		refuse(fmt.Errorf("%d bytes are needed, but %d follow", n, len(p.data)-p.pos))
	}
	b := p.data[p.pos : p.pos+int(n)]
	p.pos += int(n)
	return b
}

func (p *pickle) byte() byte { return p.bytes(1)[0] }

// uint reads an unsigned number of n bytes.
func (p *pickle) uint(n int) uint64 {
	var room [8]byte
	copy(room[:], p.bytes(uint64(n)))
	return le.Uint64(room[:])
}

// sized reads a length of n bytes, then so many bytes.
func (p *pickle) sized(n int) []byte { return p.bytes(p.uint(n)) }

// line reads a text up to the end of the line.
func (p *pickle) line() string {
	rest := p.data[p.pos:]
	n := slices.Index(rest[:min(len(rest), maxPickleLine)], '\n')
	if n < 0 {
		refuse(fmt.Errorf("a line without an end, or of more than %d bytes", maxPickleLine))
	}
	p.pos += n + 1
	return string(rest[:n])
}

func (p *pickle) push(v Value) { p.stack = append(p.stack, v) }

// held checks that the stack has n values above the last mark.
func (p *pickle) held(n int) {
	bottom := 0
	if m := len(p.marks); m > 0 {
		bottom = p.marks[m-1]
	}
	if len(p.stack)-n < bottom {
		refuse(errors.New("the stack is empty"))
	}
}

func (p *pickle) pop() Value {
	v := p.top()
	p.stack = p.stack[:len(p.stack)-1]
	return v
}

func (p *pickle) top() Value {
	p.held(1)
	return p.stack[len(p.stack)-1]
}

// popped takes the top n values.
func (p *pickle) popped(n int) []Value {
	p.held(n)
	return p.above(len(p.stack) - n)
}

// popMark takes everything above the last mark.
func (p *pickle) popMark() []Value {
	n := len(p.marks) - 1
	if n < 0 {
		refuse(errors.New("there is no mark"))
	}
	from := p.marks[n]
	p.marks = p.marks[:n]
	return p.above(from)
}

// above takes the values of the stack from index from on.
func (p *pickle) above(from int) []Value {
	items := slices.Clone(p.stack[from:])
	p.stack = p.stack[:from]
	return items
}

// spend counts work.
func (p *pickle) spend(n int) error {
	if p.work -= n; p.work < 0 {
		return errors.New("its parts refer to each other so often that they take more than twice its size")
	}
	return nil
}

// text is a string, or bytes if it is not UTF-8.
func text(b []byte) Value {
	if utf8.Valid(b) {
		return string(b)
	}
	return slices.Clone(b)
}

// step runs one instruction: Python's protocols 0 to 5 (pickletools.py) without those that never occur in model files.
func (p *pickle) step(op byte) {
	switch op {
	case 0x80: // PROTO
		p.byte()
	case 0x95: // FRAME
		p.uint(8)
	case '(':
		p.marks = append(p.marks, len(p.stack))
	case '0': // POP, also of a mark
		if n := len(p.marks); n > 0 && p.marks[n-1] == len(p.stack) {
			p.marks = p.marks[:n-1]
		} else {
			p.pop()
		}
	case '1':
		p.popMark()
	case '2':
		p.push(p.top())
	case 'N':
		p.push(nil)
	case 0x88, 0x89:
		p.push(op == 0x88)
	case 'K':
		p.push(int64(p.uint(1)))
	case 'M':
		p.push(int64(p.uint(2)))
	case 'J':
		p.push(int64(int32(p.uint(4))))
	case 'G':
		p.push(math.Float64frombits(binary.BigEndian.Uint64(p.bytes(8))))
	case 0x8a:
		p.push(long(p.sized(1)))
	case 0x8b:
		p.push(long(p.sized(4)))
	case 'I', 'L', 'F':
		p.push(number(op, p.line()))
	case 0x8c, 'U':
		p.push(text(p.sized(1)))
	case 'X', 'T':
		p.push(text(p.sized(4)))
	case 0x8d:
		p.push(text(p.sized(8)))
	case 'C':
		p.push(slices.Clone(p.sized(1)))
	case 'B':
		p.push(slices.Clone(p.sized(4)))
	case 0x8e, 0x96:
		p.push(slices.Clone(p.sized(8)))
	case 'S', 'V':
		p.push(quoted(op, p.line()))
	case ']':
		p.push(&List{})
	case ')':
		p.push(&List{Tuple: true})
	case '}':
		p.push(NewDict())
	case 0x8f: // EMPTY_SET
		p.push(&List{})
	case 0x85, 0x86, 0x87:
		p.push(&List{p.popped(int(op) - 0x84), true})
	case 't', 'l', 0x91: // TUPLE, LIST, FROZENSET
		p.push(&List{p.popMark(), op == 't'})
	case 'd':
		d, items := NewDict(), p.popMark()
		p.push(d)
		refuse(fill(d, items))
	case 'a':
		p.append(p.popped(1))
	case 'e', 0x90: // APPENDS, ADDITEMS
		p.append(p.popMark())
	case 's':
		p.setItems(p.popped(2))
	case 'u':
		p.setItems(p.popMark())
	case 'q', 'r', 0x94, 'p':
		n := p.place(op)
		p.memo[n] = p.top()
	case 'h', 'j', 'g':
		n := p.place(op)
		v, ok := p.memo[n]
		if !ok {
			refuse(fmt.Errorf("nothing was remembered as %d", n))
		}
		p.push(v)
	case 'c':
		module := p.line()
		p.named(module, p.line())
	case 0x93: // STACK_GLOBAL
		name := p.name()
		p.named(p.name(), name)
	case 'R', 0x81:
		p.reduce()
	case 'b':
		p.build()
	case 'Q':
		p.push(must(p.persistent(p.pop())))
	case 'P':
		p.push(must(p.persistent(p.line())))
	default:
		refuse(fmt.Errorf("operation %q, which files of tensors do not need, is refused", op))
	}
}

// long reads an integer of any size in two's complement.
func long(b []byte) Value {
	if len(b) > maxPickleInt {
		refuse(fmt.Errorf("an integer of %d bytes, expected at most %d", len(b), maxPickleInt))
	}
	b = slices.Clone(b)
	slices.Reverse(b)
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return integer(v)
}

func integer(v *big.Int) Value {
	if v.IsInt64() {
		return v.Int64()
	}
	return v
}

// number reads a number in text form.
func number(op byte, s string) Value {
	if op == 'F' {
		return must(strconv.ParseFloat(s, 64))
	}
	if op == 'I' && (s == "00" || s == "01") {
		return s == "01"
	}
	s = strings.TrimSuffix(s, "L")
	v, ok := new(big.Int).SetString(s, 10)
	if !ok || len(s) > maxPickleInt {
		refuse(fmt.Errorf("%s is no integer", quote(s)))
	}
	return integer(v)
}

// quoted reads a string of protocol 0.
func quoted(op byte, s string) Value {
	if op == 'S' {
		if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
			refuse(fmt.Errorf("%s is no text in quotes", quote(s)))
		}
		s = s[1 : len(s)-1]
	}
	if strings.Contains(s, `\`) {
		refuse(fmt.Errorf("%s: escapes are not read", quote(s)))
	}
	return text([]byte(s))
}

// fill sets keys and values of a map, which alternate in items.
func fill(d *Dict, items []Value) error {
	if len(items)%2 != 0 {
		return errors.New("a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case nil, bool, int64, float64, string:
			if items[i] != items[i] { // a NaN key would never be found
				return errors.New("the key of a map is NaN, expected a number or a string")
			}
			d.Set(items[i], items[i+1])
		default:
			return fmt.Errorf("the key of a map is %s, expected a number or a string", kindOf(items[i]))
		}
	}
	return nil
}

func (p *pickle) append(items []Value) {
	v := p.top()
	l, ok := v.(*List)
	if !ok || l.Tuple {
		refuse(fmt.Errorf("elements are appended to %s", kindOf(v)))
	}
	l.Items = append(l.Items, items...)
}

func (p *pickle) setItems(items []Value) {
	v := p.top()
	d, ok := v.(*Dict)
	if !ok {
		refuse(fmt.Errorf("keys are set in %s", kindOf(v)))
	}
	refuse(fill(d, items))
}

// place reads the index of a memo.
func (p *pickle) place(op byte) uint64 {
	switch op {
	case 'q', 'h':
		return p.uint(1)
	case 'r', 'j':
		return p.uint(4)
	case 0x94:
		return uint64(len(p.memo))
	}
	return must(strconv.ParseUint(p.line(), 10, 32))
}

// name takes a part of the name of a global.
func (p *pickle) name() string {
	v := p.pop()
	s, ok := v.(string)
	if !ok {
		refuse(fmt.Errorf("the name of a global is %s", kindOf(v)))
	}
	return s
}

// named resolves a global.
func (p *pickle) named(module, name string) {
	g := p.global(module, name)
	switch {
	case g == nil:
		refuse(fmt.Errorf("the global %s is refused: it is none of those that tensors need", quote(module+"."+name)))
	case g.call == nil:
		p.push(g.value)
	default:
		p.push(g)
	}
}

// reduce calls a global.
func (p *pickle) reduce() {
	args, f := p.pop(), p.pop()
	g, ok := f.(*global)
	list, isList := args.(*List)
	if !ok || !isList {
		refuse(fmt.Errorf("%s is called with %s, expected a global that may be called, and a tuple", kindOf(f), kindOf(args)))
	}
	v, err := g.call(p, list.Items)
	if err != nil {
		refuse(fmt.Errorf("%s: %w", g.name, err))
	}
	p.push(v)
}

// build sets the state of an object. Attributes of maps, as in PyTorch's state dicts, are ignored.
func (p *pickle) build() {
	state := p.pop()
	switch v := p.top().(type) {
	case *Dict, *Tensor:
	case *pending:
		refuse(v.set(v, state))
	default:
		refuse(fmt.Errorf("a state is given to %s", kindOf(v)))
	}
}
