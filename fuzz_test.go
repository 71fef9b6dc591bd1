package polygrad_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"polygrad"
)

// A shadow is a tensor beside a plain model of it: the elements of cells, and for each tensor the cell and the positions it shows.
type shadow struct {
	t     *polygrad.Tensor
	cell  *[]float32
	at    []int // positions in the cell, in row-major order
	shape []int
}

func (s *shadow) values() []float32 {
	out := make([]float32, len(s.at))
	for i, k := range s.at {
		out[i] = (*s.cell)[k]
	}
	return out
}

// fresh is the shadow of a new tensor.
func fresh(t *polygrad.Tensor, values []float32, shape []int) *shadow {
	cell := slices.Clone(values)
	at := make([]int, len(values))
	for i := range at {
		at[i] = i
	}
	return &shadow{t, &cell, at, shape}
}

// view is a shadow that shows the positions of another one's positions.
func (s *shadow) view(t *polygrad.Tensor, shape []int, from func(i int) int) *shadow {
	n := 1
	for _, d := range shape {
		n *= d
	}
	at := make([]int, n)
	for i := range at {
		at[i] = s.at[from(i)]
	}
	return &shadow{t, s.cell, at, shape}
}

// A program is a random sequence of views, writes, lazy reads and realizes, in any order.
type program struct {
	rng  *rand.Rand
	all  []*shadow
	text []string
}

func (p *program) pick() *shadow { return p.all[p.rng.IntN(len(p.all))] }

func (p *program) say(format string, a ...any) { p.text = append(p.text, fmt.Sprintf(format, a...)) }

func (p *program) number() float32 { return float32(p.rng.IntN(19) - 9) }

// step does something random.
func (p *program) step() error {
	x := p.pick()
	rows, cols := x.shape[0], x.shape[1]
	switch p.rng.IntN(13) {
	case 0:
		p.say("reshape %v", x.shape)
		p.all = append(p.all, x.view(x.t.Reshape(cols, rows), []int{cols, rows}, func(i int) int { return i }))
	case 1:
		p.say("transpose")
		p.all = append(p.all, x.view(x.t.T(), []int{cols, rows}, func(i int) int { return i%rows*cols + i/rows }))
	case 2:
		p.say("flip")
		p.all = append(p.all, x.view(x.t.Flip(0), x.shape, func(i int) int { return (rows-1-i/cols)*cols + i%cols }))
	case 3:
		lo, hi := p.rng.IntN(rows), rows
		p.say("rows %d on", lo)
		p.all = append(p.all, x.view(x.t.Index(polygrad.Slice(lo, hi)), []int{hi - lo, cols}, func(i int) int { return lo*cols + i }))
	case 4:
		p.say("every other column")
		n := (cols + 1) / 2
		p.all = append(p.all, x.view(x.t.Index(polygrad.All(), polygrad.SliceBy(0, cols, 2)), []int{rows, n}, func(i int) int { return i/n*cols + i%n*2 }))
	case 5, 6:
		c := p.number()
		p.say("a function of %v", x.shape)
		v := x.values()
		for i := range v {
			v[i] = max(v[i], c) - 1
		}
		p.all = append(p.all, fresh(x.t.Maximum(c).Sub(1), v, x.shape))
	case 7:
		p.say("clone")
		p.all = append(p.all, fresh(x.t.Clone(), x.values(), x.shape))
	case 8:
		c := p.number()
		p.say("assign %v to %v", c, x.shape)
		for _, k := range x.at {
			(*x.cell)[k] = c
		}
		return x.t.Assign(c).Err()
	case 9:
		r := p.rng.IntN(rows)
		c := p.number()
		p.say("set row %d to %v", r, c)
		for _, k := range x.at[r*cols : (r+1)*cols] {
			(*x.cell)[k] = c
		}
		return x.t.Set(c, polygrad.At(r)).Err()
	case 10:
		y := p.pick()
		if !slices.Equal(y.shape, x.shape) {
			return nil
		}
		p.say("assign a tensor plus 1")
		v := y.values()
		for i, k := range x.at {
			(*x.cell)[k] = v[i] + 1
		}
		return x.t.Assign(y.t.Add(1)).Err()
	case 11:
		y := p.pick()
		if !slices.Equal(y.shape, x.shape) {
			return nil
		}
		p.say("assign a tensor")
		v := y.values()
		for i, k := range x.at {
			(*x.cell)[k] = v[i]
		}
		return x.t.Assign(y.t).Err()
	case 12:
		p.say("realize")
		return x.t.Realize()
	}
	return nil
}

// check compares a tensor with its shadow.
func (p *program) check(s *shadow) error {
	got, err := polygrad.Values[float32](s.t)
	if err != nil {
		return err
	}
	if want := s.values(); !slices.Equal(got, want) {
		return fmt.Errorf("a tensor of shape %v is %v, expected %v", s.shape, got, want)
	}
	return nil
}

func (p *program) run() error {
	values := make([]float32, 6)
	for i := range values {
		values[i] = p.number()
	}
	p.all = []*shadow{fresh(polygrad.From(values, 2, 3), values, []int{2, 3})}
	for range 4 + p.rng.IntN(12) {
		if err := p.step(); err != nil {
			return err
		}
		if p.rng.IntN(6) == 0 {
			if err := p.check(p.pick()); err != nil {
				return err
			}
		}
		if len(p.all) > 6 { // tensors that are dropped
			i := p.rng.IntN(len(p.all))
			p.all = slices.Delete(p.all, i, i+1)
		}
	}
	for _, s := range p.all {
		if err := p.check(s); err != nil {
			return err
		}
	}
	return nil
}

// Random programs of views, writes, lazy reads and realizes do what a plain model of memory does. POLY_FUZZ_PROGRAMS says how many.
func TestRandomWrites(t *testing.T) {
	n, seed := 2000, rand.Uint64()
	if testing.Short() {
		n = 200
	}
	if s := os.Getenv("POLY_FUZZ_PROGRAMS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("POLY_FUZZ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
		n = 1
	}
	for i := range uint64(n) {
		p := &program{rng: rand.New(rand.NewPCG(seed+i, 0))}
		if err := p.run(); err != nil {
			t.Fatalf("%v; POLY_FUZZ_SEED=%d repeats it\n%v", err, seed+i, p.text)
		}
	}
	if n := polygrad.Default().Values(); n > 10 {
		t.Errorf("%d values are left behind", n)
	}
}
