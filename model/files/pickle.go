package files

import (
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
	// persistent resolves the name of data beside the pickle.
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

// load reads one pickle and advances pos behind it.
func (p *pickle) load() (Value, error) {
	p.stack, p.marks, p.memo = nil, nil, map[uint64]Value{}
	p.work = 1024 + 2*min(len(p.data), maxPickle)
	start := p.pos
	for steps := 0; ; steps++ {
		at := p.pos
		if at-start > maxPickle || steps > maxValues {
			return nil, fmt.Errorf("the pickle has more than %d bytes or %d operations", maxPickle, maxValues)
		}
		op, err := p.byte()
		if err == nil {
			if op == '.' {
				return p.pop()
			}
			err = p.step(op)
		}
		if err != nil {
			return nil, fmt.Errorf("byte %d of the pickle: %w", at, err)
		}
	}
}

func (p *pickle) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(p.data)-p.pos) {
		return nil, fmt.Errorf("%d bytes are needed, but %d follow", n, len(p.data)-p.pos)
	}
	b := p.data[p.pos : p.pos+int(n)]
	p.pos += int(n)
	return b, nil
}

func (p *pickle) byte() (byte, error) {
	b, err := p.bytes(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// uint reads an unsigned number of n bytes.
func (p *pickle) uint(n int) (uint64, error) {
	b, err := p.bytes(uint64(n))
	if err != nil {
		return 0, err
	}
	var room [8]byte
	copy(room[:], b)
	return le.Uint64(room[:]), nil
}

// sized reads a length of n bytes, then so many bytes.
func (p *pickle) sized(n int) ([]byte, error) {
	size, err := p.uint(n)
	if err != nil {
		return nil, err
	}
	return p.bytes(size)
}

// line reads a text up to the end of the line.
func (p *pickle) line() (string, error) {
	rest := p.data[p.pos:]
	n := slices.Index(rest[:min(len(rest), maxPickleLine)], '\n')
	if n < 0 {
		return "", fmt.Errorf("a line without an end, or of more than %d bytes", maxPickleLine)
	}
	p.pos += n + 1
	return string(rest[:n]), nil
}

func (p *pickle) push(v Value) { p.stack = append(p.stack, v) }

var errEmpty = errors.New("the stack is empty")

func (p *pickle) bottom() int {
	if n := len(p.marks); n > 0 {
		return p.marks[n-1]
	}
	return 0
}

func (p *pickle) pop() (Value, error) {
	n := len(p.stack) - 1
	if n < p.bottom() {
		return nil, errEmpty
	}
	v := p.stack[n]
	p.stack = p.stack[:n]
	return v, nil
}

func (p *pickle) top() (Value, error) {
	if len(p.stack) <= p.bottom() {
		return nil, errEmpty
	}
	return p.stack[len(p.stack)-1], nil
}

// popMark takes everything above the last mark.
func (p *pickle) popMark() ([]Value, error) {
	n := len(p.marks) - 1
	if n < 0 {
		return nil, errors.New("there is no mark")
	}
	items := slices.Clone(p.stack[p.marks[n]:])
	p.stack = p.stack[:p.marks[n]]
	p.marks = p.marks[:n]
	return items, nil
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

// put pushes the value of a read.
func (p *pickle) put(v Value, err error) error {
	if err == nil {
		p.push(v)
	}
	return err
}

// putBytes reads bytes and pushes the value that make gives for them.
func (p *pickle) putBytes(make func(b []byte) Value) func(b []byte, err error) error {
	return func(b []byte, err error) error {
		if err != nil {
			return err
		}
		return p.put(make(b), nil)
	}
}

func (p *pickle) putInt(make func(n uint64) Value) func(n uint64, err error) error {
	return func(n uint64, err error) error {
		if err != nil {
			return err
		}
		return p.put(make(n), nil)
	}
}

func octets(b []byte) Value { return slices.Clone(b) }

// tuple replaces the top n values by a tuple.
func (p *pickle) tuple(n int) error {
	if len(p.stack)-n < p.bottom() {
		return errEmpty
	}
	items := slices.Clone(p.stack[len(p.stack)-n:])
	p.stack = p.stack[:len(p.stack)-n]
	return p.put(&List{items, true}, nil)
}

// step runs one instruction: Python's protocols 0 to 5 (pickletools.py) without those that never occur in model files.
func (p *pickle) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := p.byte()
		return err
	case 0x95: // FRAME
		_, err := p.uint(8)
		return err
	case '(':
		p.marks = append(p.marks, len(p.stack))
		return nil
	case '0': // POP, also of a mark
		if n := len(p.marks); n > 0 && p.marks[n-1] == len(p.stack) {
			p.marks = p.marks[:n-1]
			return nil
		}
		_, err := p.pop()
		return err
	case '1':
		_, err := p.popMark()
		return err
	case '2':
		return p.put(p.top())
	case 'N':
		return p.put(nil, nil)
	case 0x88, 0x89:
		return p.put(op == 0x88, nil)
	case 'K':
		return p.putInt(func(n uint64) Value { return int64(n) })(p.uint(1))
	case 'M':
		return p.putInt(func(n uint64) Value { return int64(n) })(p.uint(2))
	case 'J':
		return p.putInt(func(n uint64) Value { return int64(int32(n)) })(p.uint(4))
	case 'G':
		return p.putBytes(func(b []byte) Value {
			slices.Reverse(b[:8:8])
			return math.Float64frombits(le.Uint64(b))
		})(p.copied(8))
	case 0x8a, 0x8b:
		return p.long(map[byte]int{0x8a: 1, 0x8b: 4}[op])
	case 'I', 'L', 'F':
		return p.number(op)
	case 'X':
		return p.putBytes(text)(p.sized(4))
	case 0x8c, 'U':
		return p.putBytes(text)(p.sized(1))
	case 0x8d:
		return p.putBytes(text)(p.sized(8))
	case 'T':
		return p.putBytes(text)(p.sized(4))
	case 'C':
		return p.putBytes(octets)(p.sized(1))
	case 'B':
		return p.putBytes(octets)(p.sized(4))
	case 0x8e, 0x96:
		return p.putBytes(octets)(p.sized(8))
	case 'S', 'V':
		return p.quoted(op)
	case ']':
		return p.put(&List{}, nil)
	case ')':
		return p.put(&List{Tuple: true}, nil)
	case '}':
		return p.put(NewDict(), nil)
	case 0x8f: // EMPTY_SET
		return p.put(&List{}, nil)
	case 0x85, 0x86, 0x87:
		return p.tuple(int(op) - 0x84)
	case 't', 'l', 0x91: // TUPLE, LIST, FROZENSET
		items, err := p.popMark()
		return p.put(&List{items, op == 't'}, err)
	case 'd':
		return p.dict()
	case 'a', 'e', 0x90: // APPEND, APPENDS, ADDITEMS
		return p.append(op == 'a')
	case 's', 'u':
		return p.setItems(op == 's')
	case 'q', 'r', 0x94, 'p':
		return p.memoize(op)
	case 'h', 'j', 'g':
		return p.recall(op)
	case 'c', 0x93:
		return p.named(op == 0x93)
	case 'R', 0x81:
		return p.reduce()
	case 'b':
		return p.build()
	case 'Q':
		id, err := p.pop()
		if err != nil {
			return err
		}
		return p.put(p.persistent(id))
	case 'P':
		id, err := p.line()
		if err != nil {
			return err
		}
		return p.put(p.persistent(id))
	}
	return fmt.Errorf("operation %q, which files of tensors do not need, is refused", op)
}

func (p *pickle) copied(n uint64) ([]byte, error) {
	b, err := p.bytes(n)
	return slices.Clone(b), err
}

// long reads an integer of any size in two's complement.
func (p *pickle) long(n int) error {
	b, err := p.sized(n)
	if err != nil {
		return err
	}
	if len(b) > maxPickleInt {
		return fmt.Errorf("an integer of %d bytes, expected at most %d", len(b), maxPickleInt)
	}
	be := slices.Clone(b)
	slices.Reverse(be)
	v := new(big.Int).SetBytes(be)
	if len(be) > 0 && be[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return p.put(integer(v), nil)
}

func integer(v *big.Int) Value {
	if v.IsInt64() {
		return v.Int64()
	}
	return v
}

// number reads a number in text form.
func (p *pickle) number(op byte) error {
	s, err := p.line()
	if err != nil {
		return err
	}
	if op == 'F' {
		x, err := strconv.ParseFloat(s, 64)
		return p.put(x, err)
	}
	if op == 'I' && (s == "00" || s == "01") {
		return p.put(s == "01", nil)
	}
	s = strings.TrimSuffix(s, "L")
	v, ok := new(big.Int).SetString(s, 10)
	if !ok || len(s) > maxPickleInt {
		return fmt.Errorf("%s is no integer", quote(s))
	}
	return p.put(integer(v), nil)
}

// quoted reads a string of protocol 0.
func (p *pickle) quoted(op byte) error {
	s, err := p.line()
	if err != nil {
		return err
	}
	if op == 'S' {
		if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
			return fmt.Errorf("%s is no text in quotes", quote(s))
		}
		s = s[1 : len(s)-1]
	}
	if strings.Contains(s, `\`) {
		return fmt.Errorf("%s: escapes are not read", quote(s))
	}
	return p.put(text([]byte(s)), nil)
}

func (p *pickle) dict() error {
	items, err := p.popMark()
	if err != nil {
		return err
	}
	d := NewDict()
	p.push(d)
	return fill(d, items)
}

// fill sets keys and values of a map, in turn.
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

func (p *pickle) append(one bool) error {
	items, err := p.taken(one, 1)
	if err != nil {
		return err
	}
	v, err := p.top()
	if err != nil {
		return err
	}
	l, ok := v.(*List)
	if !ok || l.Tuple {
		return fmt.Errorf("elements are appended to %s", kindOf(v))
	}
	l.Items = append(l.Items, items...)
	return nil
}

// taken pops the top n values, or everything above the mark.
func (p *pickle) taken(some bool, n int) ([]Value, error) {
	if !some {
		return p.popMark()
	}
	items := make([]Value, n)
	for i := n - 1; i >= 0; i-- {
		v, err := p.pop()
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

func (p *pickle) setItems(one bool) error {
	items, err := p.taken(one, 2)
	if err != nil {
		return err
	}
	v, err := p.top()
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return fmt.Errorf("keys are set in %s", kindOf(v))
	}
	return fill(d, items)
}

// place reads the index of a memo.
func (p *pickle) place(op byte) (uint64, error) {
	switch op {
	case 'q', 'h':
		return p.uint(1)
	case 'r', 'j':
		return p.uint(4)
	case 0x94:
		return uint64(len(p.memo)), nil
	}
	s, err := p.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(s, 10, 32)
}

func (p *pickle) memoize(op byte) error {
	n, err := p.place(op)
	if err != nil {
		return err
	}
	v, err := p.top()
	if err == nil {
		p.memo[n] = v
	}
	return err
}

func (p *pickle) recall(op byte) error {
	n, err := p.place(op)
	if err != nil {
		return err
	}
	v, ok := p.memo[n]
	if !ok {
		return fmt.Errorf("nothing was remembered as %d", n)
	}
	return p.put(v, nil)
}

// named resolves a global.
func (p *pickle) named(onStack bool) error {
	var names [2]string
	for i := range names {
		if onStack {
			v, err := p.pop()
			if err != nil {
				return err
			}
			s, ok := v.(string)
			if !ok {
				return fmt.Errorf("the name of a global is %s", kindOf(v))
			}
			names[1-i] = s
			continue
		}
		s, err := p.line()
		if err != nil {
			return err
		}
		names[i] = s
	}
	g := p.global(names[0], names[1])
	switch {
	case g == nil:
		return fmt.Errorf("the global %s is refused: it is none of those that tensors need", quote(names[0]+"."+names[1]))
	case g.call == nil:
		return p.put(g.value, nil)
	}
	return p.put(g, nil)
}

// reduce calls a global.
func (p *pickle) reduce() error {
	args, err := p.pop()
	if err != nil {
		return err
	}
	f, err := p.pop()
	if err != nil {
		return err
	}
	g, ok := f.(*global)
	list, isList := args.(*List)
	if !ok || !isList {
		return fmt.Errorf("%s is called with %s, expected a global that may be called, and a tuple", kindOf(f), kindOf(args))
	}
	v, err := g.call(p, list.Items)
	if err != nil {
		return fmt.Errorf("%s: %w", g.name, err)
	}
	return p.put(v, nil)
}

// build sets the state of an object. Attributes of maps, as in PyTorch's state dicts, are ignored.
func (p *pickle) build() error {
	state, err := p.pop()
	if err != nil {
		return err
	}
	v, err := p.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *Dict, *Tensor:
		return nil
	case *pending:
		return v.set(v, state)
	}
	return fmt.Errorf("a state is given to %s", kindOf(v))
}
