package beam

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// subject is a kernel with memory to run it on.
type subject struct {
	t      *Tuner
	p      *lower.Program
	queue  device.Queue
	params []ir.Param
	bufs   []device.Buffer
	vars   []int64
	want   [][]byte               // of the written buffers: the results of the first run
	codes  map[string]plan.Choice // the choice of each distinct code
	until  time.Time
}

func newSubject(t *Tuner, p *lower.Program, k *ir.Kernel) (*subject, error) {
	s := &subject{t: t, p: p, queue: t.NewQueue(), params: k.Params, codes: map[string]plan.Choice{}, until: time.Now().Add(t.Patience)}
	for _, v := range k.Vars {
		s.vars = append(s.vars, v.Max)
	}
	for i, q := range k.Params {
		b, err := t.Allocate(q.Bytes())
		if err == nil {
			s.bufs = append(s.bufs, b)
			err = s.fill(i)
		}
		if err == nil {
			err = s.queue.Wait()
		}
		if err != nil {
			s.release()
			return nil, err
		}
	}
	return s, nil
}

func (s *subject) release() {
	for i, b := range s.bufs {
		_ = s.t.Free(b, s.params[i].Bytes())
	}
	s.bufs = nil
}

// pattern is the number of random elements in a buffer; the others repeat them.
const pattern = 4099

// fill sets a buffer to reproducible numbers: floats from -1 to 1, others from 0 to 3.
func (s *subject) fill(i int) error {
	r := rand.New(rand.NewPCG(uint64(i), 41))
	q := s.params[i]
	data := make([]byte, q.Bytes())
	n := 0
	for ; n < len(data) && n < pattern*q.DType.Itemsize(); n += q.DType.Itemsize() {
		putFloat(q.DType, data[n:], 2*r.Float64()-1, byte(r.IntN(4)))
	}
	for n < len(data) {
		n += copy(data[n:], data[:n])
	}
	return s.queue.CopyIn(s.bufs[i], data)
}

// putFloat writes a float, or for other types a small number.
func putFloat(dt *uop.DType, to []byte, f float64, small byte) {
	at := unsafe.Pointer(&to[0])
	switch dt {
	case uop.Float32:
		*(*float32)(at) = float32(f)
	case uop.Float64:
		*(*float64)(at) = f
	case uop.Float16:
		*(*uint16)(at) = uop.FloatToHalf(f)
	case uop.BFloat16:
		*(*uint16)(at) = uop.FloatToBF16(f)
	case uop.FP8E4M3, uop.FP8E5M2:
		to[0] = uop.FloatToFP8(dt, f)
	case uop.Bool:
		to[0] = small & 1
	default:
		clear(to[:dt.Itemsize()])
		to[0] = small
	}
}

// float reads a number of putFloat, with the allowed error relative to large results; ok is false for integer types.
func float(dt *uop.DType, from []byte) (f, tolerance float64, ok bool) {
	at := unsafe.Pointer(&from[0])
	switch dt {
	case uop.Float32:
		return float64(*(*float32)(at)), 1e-4, true
	case uop.Float64:
		return *(*float64)(at), 1e-11, true
	case uop.Float16:
		return float64(uop.HalfToFloat(*(*uint16)(at))), 1e-2, true
	case uop.BFloat16:
		return float64(uop.BF16ToFloat(*(*uint16)(at))), 5e-2, true
	case uop.FP8E4M3, uop.FP8E5M2:
		return uop.FP8ToFloat(dt, from[0]), 0.3, true
	}
	return 0, 0, false
}

// same reports whether results are equal up to rounding.
func same(dt *uop.DType, got, want []byte) bool {
	if bytes.Equal(got, want) {
		return true
	}
	if _, _, isFloat := float(dt, got); !isFloat {
		return false
	}
	size, largest := dt.Itemsize(), 0.0
	for i := 0; i < len(want); i += size {
		if v, _, _ := float(dt, want[i:]); !math.IsInf(v, 0) {
			largest = max(largest, math.Abs(v))
		}
	}
	for i := 0; i < len(want); i += size {
		x, tolerance, _ := float(dt, got[i:])
		y, _, _ := float(dt, want[i:])
		if x != y && !(math.Abs(x-y) <= tolerance*largest) && !(math.IsNaN(x) && math.IsNaN(y)) {
			return false
		}
	}
	return true
}

// Enough reports whether the search time of the kernel is over.
func (s *subject) Enough() bool { return time.Now().After(s.until) }

// Try compiles the kernel with a choice and times it.
func (s *subject) Try(c plan.Choice, limit time.Duration) (time.Duration, []plan.Choice, bool) {
	l, err := s.t.Lay(s.p, c)
	if err != nil {
		return 0, nil, false
	}
	if first, known := s.codes[l.Code]; known && first != c {
		return 0, nil, false
	}
	s.codes[l.Code] = c
	k, release, err := l.Load()
	if err != nil {
		return 0, nil, false
	}
	defer release()
	t, ok := s.run(k, c, limit)
	return t, l.Near, ok
}

const (
	// samples is the number of timed runs, limited by sampleTime, but at least two.
	samples    = 24
	sampleTime = 15 * time.Millisecond
	// settling is the number of short runs until a kernel runs on its final thread count.
	settling = 4
)

// run checks the results of a kernel and times it: the shortest of several runs.
func (s *subject) run(k device.Kernel, c plan.Choice, limit time.Duration) (time.Duration, bool) {
	for i, q := range s.params {
		if q.Written && s.fill(i) != nil {
			return 0, false
		}
	}
	best, all := time.Duration(math.MaxInt64), time.Duration(0)
	for i := 0; i < 3 || i < samples && all < sampleTime; i++ {
		t, err := device.Time(s.queue, func() error { return s.queue.Launch(k, s.bufs, s.vars) })
		if err != nil {
			return 0, false
		}
		all += t
		best = min(best, t)
		if i == 0 && !s.right() {
			if settings.Dump.Get() == "beam" {
				fmt.Fprintf(os.Stderr, "kernel %s: choice %s computes something else\n", s.p.Name, orNone(c))
			}
			return 0, false
		}
		if best > limit && (i >= settling || all > sampleTime) {
			break
		}
	}
	return best, true
}

// right compares the written buffers with those of the first run.
func (s *subject) right() bool {
	got := make([][]byte, len(s.bufs))
	for i, q := range s.params {
		if q.Written {
			got[i] = make([]byte, q.Bytes())
			if s.queue.CopyOut(got[i], s.bufs[i]) != nil {
				return false
			}
		}
	}
	if s.queue.Wait() != nil {
		return false
	}
	if s.want == nil {
		s.want = got
		return true
	}
	for i, want := range s.want {
		if want != nil && !same(s.params[i].DType, got[i], want) {
			return false
		}
	}
	return true
}
