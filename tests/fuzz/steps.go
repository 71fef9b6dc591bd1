package fuzz

import (
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// step adds one value made from others.
func (gen *generator) step() error {
	kinds := []func() error{gen.binary, gen.binary, gen.compare, gen.where, gen.unary, gen.reduce, gen.movement, gen.movement, gen.cast, gen.matmul, gen.index,
		gen.foreign, gen.ends, gen.divide, gen.layer, gen.layer, gen.layer}
	return kinds[gen.r.IntN(len(kinds))]()
}

// pair picks two values that broadcast.
func (gen *generator) pair() (a, b item) {
	a = gen.pick()
	for range 8 {
		b = gen.pick()
		if broadcasts(a.u.Shape(), b.u.Shape()) && alike(a, b) {
			return a, b
		}
	}
	return a, a
}

// alike reports whether values may be combined: of a narrow type only those of the same.
func alike(a, b item) bool {
	return a.u.DType == b.u.DType || narrow[a.u.DType] == 0 && narrow[b.u.DType] == 0
}

func broadcasts(a, b uop.Shape) bool {
	n := int64(1)
	for i := 1; i <= max(len(a), len(b)); i++ {
		x, y := int64(1), int64(1)
		if i <= len(a) {
			x = a[len(a)-i].N
		}
		if i <= len(b) {
			y = b[len(b)-i].N
		}
		if x != y && x != 1 && y != 1 {
			return false
		}
		n *= max(x, y)
	}
	return n <= 4096
}

// bounded values of integer types wrap exactly on every device, so their size does not matter.
func sizeOf(u *uop.UOp, size float64) float64 {
	if u != nil && !u.DType.IsFloat() {
		return min(size, math.Ldexp(1, u.DType.Bits))
	}
	return size
}

func (gen *generator) binary() error {
	a, b := gen.pair()
	type op struct {
		f    func(a, b *uop.UOp) (*uop.UOp, error)
		size float64
	}
	ops := []op{{tensor.Add, a.size + b.size}, {tensor.Sub, a.size + b.size}, {tensor.Mul, a.size * b.size * 8}, {tensor.Maximum, max(a.size, b.size)}, {tensor.Minimum, max(a.size, b.size)}}
	o := ops[gen.r.IntN(len(ops))]
	u, err := o.f(a.u, b.u)
	if err != nil {
		return err
	}
	if u.DType.IsUnsigned() {
		o.size = math.Ldexp(1, u.DType.Bits) // what is below 0 wraps
	}
	exact := a.exact && b.exact
	if !u.DType.IsFloat() {
		exact = true
	}
	if !a.u.DType.IsFloat() && u.DType.IsFloat() && a.size > exactLimit || !b.u.DType.IsFloat() && u.DType.IsFloat() && b.size > exactLimit {
		exact = false
	}
	gen.add(u, exact, sizeOf(u, o.size))
	return nil
}

func (gen *generator) compare() error {
	a, b := gen.pair()
	if !a.exact || !b.exact {
		return nil
	}
	ops := []func(a, b *uop.UOp) (*uop.UOp, error){tensor.Lt, tensor.Gt, tensor.Le, tensor.Ge, tensor.Eq, tensor.Ne}
	u, err := ops[gen.r.IntN(len(ops))](a.u, b.u)
	gen.add(u, true, 1)
	return err
}

func (gen *generator) where() error {
	c, a, b := gen.pick(), gen.pick(), gen.pick()
	if c.u.DType != uop.Bool || !alike(a, b) || !broadcasts(c.u.Shape(), a.u.Shape()) || !broadcasts(a.u.Shape(), b.u.Shape()) || !broadcasts(c.u.Shape(), b.u.Shape()) {
		return nil
	}
	u, err := tensor.Where(c.u, a.u, b.u)
	if err != nil {
		return nil // shapes that broadcast by pairs may not broadcast together
	}
	gen.add(u, a.exact && b.exact, sizeOf(u, max(a.size, b.size)))
	return nil
}

func (gen *generator) unary() error {
	a := gen.pick()
	exact := []func(*uop.UOp) (*uop.UOp, error){tensor.Neg, tensor.Abs, tensor.Relu, tensor.Square, tensor.Trunc, tensor.Floor, tensor.Ceil, tensor.Round, tensor.Sign}
	loose := []func(*uop.UOp) (*uop.UOp, error){tensor.Sigmoid, tensor.Tanh, tensor.Sin, tensor.Cos, tensor.Gelu, tensor.Silu}
	if a.exact && (!a.u.DType.IsFloat() || gen.r.IntN(3) > 0) {
		n := gen.r.IntN(len(exact))
		if !a.u.DType.IsFloat() && n >= 4 && n <= 7 {
			n = 0
		}
		u, err := exact[n](a.u)
		size := a.size*a.size*8 + 1
		if a.u.DType.IsUnsigned() {
			size = math.Ldexp(1, a.u.DType.Bits)
		}
		gen.add(u, true, sizeOf(u, size))
		return err
	}
	if !a.u.DType.IsFloat() || a.size > 1e6 {
		return nil
	}
	u, err := loose[gen.r.IntN(len(loose))](a.u)
	gen.add(u, false, a.size+1)
	return err
}

func (gen *generator) reduce() error {
	a := gen.pick()
	shape := a.u.Shape()
	var axes []int
	for i := range shape {
		if gen.r.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	keep := gen.r.IntN(2) == 0
	n := float64(shape.Numel().N)
	switch gen.r.IntN(5) {
	case 0, 1:
		u, err := tensor.Sum(a.u, axes, keep)
		gen.add(u, a.exact, sizeOf(u, a.size*n))
		return err
	case 2:
		u, err := tensor.Max(a.u, axes, keep)
		gen.add(u, a.exact, a.size)
		return err
	case 3:
		if len(shape) == 0 || n > 512 {
			return nil
		}
		u, err := tensor.CumSum(a.u, gen.r.IntN(len(shape)))
		gen.add(u, a.exact, sizeOf(u, a.size*n))
		return err
	}
	if !a.u.DType.IsFloat() || len(shape) == 0 || a.size > 1e6 {
		return nil
	}
	u, err := tensor.Softmax(a.u, gen.r.IntN(len(shape)))
	gen.add(u, false, 1)
	return err
}

func (gen *generator) movement() error {
	a := gen.pick()
	s := a.u.Shape()
	var u *uop.UOp
	var err error
	switch gen.r.IntN(6) {
	case 0:
		u, err = tensor.Flatten(a.u, 0, -1)
	case 1:
		u, err = tensor.Permute(a.u, gen.r.Perm(len(s))...)
	case 2:
		pads := make([]uop.Pair, len(s))
		for i := range pads {
			pads[i] = uop.Pair{Lo: uop.N(int64(gen.r.IntN(3))), Hi: uop.N(int64(gen.r.IntN(3)))}
		}
		u, err = tensor.Pad(a.u, pads, uop.Int(int64(gen.r.IntN(2))))
	case 3:
		cut := make([]uop.Pair, len(s))
		for i := range cut {
			lo := gen.r.Int64N(s[i].N)
			cut[i] = uop.Pair{Lo: uop.N(lo), Hi: uop.N(lo + 1 + gen.r.Int64N(s[i].N-lo))}
		}
		u, err = tensor.Shrink(a.u, cut)
	case 4:
		if len(s) == 0 {
			return nil
		}
		u, err = tensor.Flip(a.u, gen.r.IntN(len(s)))
	case 5:
		if len(s) > 3 {
			return nil
		}
		u, err = tensor.Unsqueeze(a.u, gen.r.IntN(len(s)+1))
		if err == nil {
			reps := make([]int64, len(s)+1)
			for i := range reps {
				reps[i] = 1 + gen.r.Int64N(2)
			}
			u, err = tensor.Repeat(u, reps...)
		}
	}
	gen.add(u, a.exact, a.size+1)
	return err
}

func (gen *generator) cast() error {
	a := gen.pick()
	to := inputTypes[gen.r.IntN(len(inputTypes))]
	if !a.exact || a.u.DType.IsFloat() && to.IsUnsigned() {
		return nil // what a negative float becomes in an unsigned type is not defined
	}
	size := a.size
	if !a.u.DType.IsFloat() && to.IsFloat() && size > exactLimit {
		return nil
	}
	u, err := tensor.Cast(a.u, to)
	if err != nil {
		return err
	}
	if limit := narrow[to]; limit > 0 && size > limit {
		return nil
	}
	if to == uop.Bool {
		size = 1
	}
	if a.u.DType.IsUnsigned() || to.IsUnsigned() {
		size = math.Ldexp(1, to.Bits)
	}
	gen.add(u, true, sizeOf(u, size))
	return nil
}

func (gen *generator) matmul() error {
	a, b := gen.pick(), gen.pick()
	x, y := a.u.Shape(), b.u.Shape()
	if len(x) != 2 || len(y) != 2 || x[1] != y[0] || !alike(a, b) || a.u.DType == uop.Bool || b.u.DType == uop.Bool {
		return nil
	}
	u, err := tensor.MatMul(a.u, b.u)
	if err != nil {
		return err
	}
	gen.add(u, a.exact && b.exact || !u.DType.IsFloat(), sizeOf(u, a.size*b.size*8*float64(x[1].N)))
	return nil
}

// index takes elements by position, with a step that may be negative.
func (gen *generator) index() error {
	a := gen.pick()
	s := a.u.Shape()
	if len(s) == 0 {
		return nil
	}
	entries := make([]tensor.Index, len(s))
	for i := range entries {
		entries[i] = tensor.Whole()
		switch gen.r.IntN(4) {
		case 0:
			entries[i] = tensor.At(gen.r.Int64N(s[i].N))
		case 1:
			entries[i] = tensor.Slice(nil, nil, []int64{-1, 2, -2, 3}[gen.r.IntN(4)])
		}
	}
	u, err := tensor.GetItem(a.u, entries...)
	gen.add(u, a.exact, a.size)
	return err
}

// foreign casts a value and puts numbers beside it that its own type may not have: around it, or where a mask is false.
func (gen *generator) foreign() error {
	a := gen.pick()
	to := inputTypes[gen.r.IntN(len(inputTypes))]
	if !a.exact || a.u.DType.IsFloat() && !to.IsFloat() || !a.u.DType.IsFloat() && to.IsFloat() && a.size > exactLimit {
		return nil
	}
	if limit := narrow[to]; limit > 0 && a.size > limit {
		return nil
	}
	u, err := tensor.Cast(a.u, to)
	if err != nil {
		return err
	}
	v, size, last := gen.stranger(to)
	if gen.chance(2) {
		pads := make([]uop.Pair, len(u.Shape()))
		for i := range pads {
			pads[i] = uop.Pair{Lo: uop.N(int64(gen.r.IntN(3))), Hi: uop.N(int64(gen.r.IntN(3)))}
		}
		u, err = tensor.Pad(u, pads, v)
	} else {
		var mask *uop.UOp
		for range 8 {
			if m := gen.pick(); m.u.DType.IsBool() && broadcasts(m.u.Shape(), u.Shape()) {
				mask = m.u
			}
		}
		if mask == nil {
			return nil
		}
		var other *uop.UOp
		if other, err = tensor.FullLike(u, v); err != nil {
			return err
		}
		u, err = tensor.Where(mask, u, other)
	}
	if err != nil || u.Shape().Numel().N > 4096 {
		return err
	}
	if !to.IsFloat() {
		a.size, size = math.Ldexp(1, to.Bits), 0
	}
	if last {
		gen.finals = append(gen.finals, item{u, true, 0})
		return nil
	}
	gen.add(u, true, max(a.size, size))
	return nil
}

// stranger is a number of a type that other types do not have, with its size. With the last ones nothing is computed.
func (gen *generator) stranger(dt *uop.DType) (v uop.Const, size float64, last bool) {
	switch {
	case dt.IsBool():
		return uop.BoolConst(gen.chance(2)), 1, false
	case !dt.IsFloat():
		return gen.end(dt), 0, false
	case gen.chance(3):
		return []uop.Const{uop.Float(math.Inf(1)), uop.Float(math.Inf(-1)), uop.Float(0.1), uop.Float(1e6)}[gen.r.IntN(4)].Truncate(dt), 0, true
	}
	x := []float64{1.5, -0.125, -7, 300, 255.5, -1000}[gen.r.IntN(6)]
	if limit := narrow[dt]; limit > 0 && math.Abs(x) > limit {
		x = 1.5
	}
	return uop.Float(x), math.Abs(x), false
}

// end is a number at an end of an integer type, or a small one.
func (gen *generator) end(dt *uop.DType) uop.Const {
	one := uop.Int(1)
	return []uop.Const{dt.Min(), dt.Min().Add(one), dt.Max(), dt.Max().Sub(one), one, uop.Int(7)}[gen.r.IntN(6)]
}

// integers is an integer value, which is a new one with numbers at the ends of its type if there is none.
func (gen *generator) integers() (item, error) {
	for range 4 {
		if a := gen.pick(); a.u.DType.IsInt() {
			return a, nil
		}
	}
	dt := []*uop.DType{uop.Int8, uop.Uint8, uop.Int16, uop.Uint16, uop.Int32, uop.Uint32, uop.Int64, uop.Uint64}[gen.r.IntN(8)]
	u, err := gen.buffer(dt, []int64{gen.size()}, func() uop.Const {
		if gen.chance(3) {
			return gen.end(dt)
		}
		return number(dt, gen.r.IntN(65)-32)
	})
	a := item{u, true, math.Ldexp(1, dt.Bits)}
	if err == nil {
		gen.add(a.u, a.exact, a.size)
	}
	return a, err
}

// ends compares integers with numbers at the ends of their type, or clips them there.
func (gen *generator) ends() error {
	a, err := gen.integers()
	if err != nil {
		return err
	}
	dt := a.u.DType
	if !dt.Wraps() && a.size >= math.Ldexp(1, dt.Bits-2) {
		return nil // that int32 and int64 do not overflow is taken for granted
	}
	c, err := tensor.FullLike(a.u, gen.end(dt))
	if err != nil {
		return err
	}
	compare := []func(a, b *uop.UOp) (*uop.UOp, error){tensor.Lt, tensor.Gt, tensor.Le, tensor.Ge, tensor.Eq, tensor.Ne}
	choose := []func(a, b *uop.UOp) (*uop.UOp, error){tensor.Maximum, tensor.Minimum}
	if gen.chance(2) {
		u, err := choose[gen.r.IntN(len(choose))](a.u, c)
		gen.add(u, true, math.Ldexp(1, dt.Bits))
		return err
	}
	u, err := compare[gen.r.IntN(len(compare))](a.u, c)
	gen.add(u, true, 1)
	return err
}

// divide divides integers by a constant, shifts them or takes some of their bits.
func (gen *generator) divide() error {
	a, err := gen.integers()
	if err != nil {
		return err
	}
	dt := a.u.DType
	if !dt.Wraps() && a.size >= math.Ldexp(1, dt.Bits-2) {
		return nil
	}
	by := []int64{1, 2, 3, 7, 8, 10, 64, 100, 127}[gen.r.IntN(9)]
	if !dt.IsUnsigned() && gen.chance(3) {
		by = -by - 1
	}
	c, err := tensor.FullLike(a.u, uop.Int(by))
	if err != nil {
		return err
	}
	ops := []func(a, b *uop.UOp) (*uop.UOp, error){tensor.FloorDiv, tensor.Mod, tensor.BitAnd, tensor.BitOr, tensor.BitXor}
	u, err := ops[gen.r.IntN(len(ops))](a.u, c)
	gen.add(u, true, math.Ldexp(1, dt.Bits))
	return err
}
