package polygrad_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"polygrad"
)

// A statement of a program of tests/programs.json; see tests/programs/README.md.
type statement struct {
	Let       any             `json:"let"`
	Data      []float64       `json:"data"`
	Shape     []int           `json:"shape"`
	DType     polygrad.DType  `json:"dtype"`
	Grad      bool            `json:"grad"`
	Op        string          `json:"op"`
	Of        []string        `json:"of"`
	With      json.RawMessage `json:"with"`
	Args      map[string]any  `json:"args"`
	Assign    string          `json:"assign"`
	Set       string          `json:"set"`
	Items     []any           `json:"items"`
	Value     any             `json:"value"`
	Realize   []string        `json:"realize"`
	Drop      string          `json:"drop"`
	Backward  string          `json:"backward"`
	Gradient  string          `json:"gradient"`
	ZeroGrad  string          `json:"zero_grad"`
	Optimizer string          `json:"optimizer"`
	Kind      string          `json:"kind"`
	Params    []string        `json:"params"`
	LR        float64         `json:"lr"`
	Step      string          `json:"step"`
	Function  string          `json:"function"`
	Do        json.RawMessage `json:"do"`
	Returns   []string        `json:"returns"`
	As        []transform     `json:"as"`
	Control   string          `json:"control"`
	Functions []string        `json:"functions"`
	Carry     []string        `json:"carry"`
	Over      []string        `json:"over"`
	Reverse   bool            `json:"reverse"`
	Between   [2]int          `json:"between"`
	On        string          `json:"on"`
	Along     string          `json:"along"`
	Axis      string          `json:"axis"`
	Run       string          `json:"run"`
	Expect    string          `json:"expect"`
	Values    []float64       `json:"values"`
	Tolerance float64         `json:"tolerance"`
	ExpectGra string          `json:"expect_grad"`
	Gradients string          `json:"gradients"`
	Size      string          `json:"size"`
	Min       int             `json:"min"`
	Max       int             `json:"max"`
	First     string          `json:"first"`
	Is        any             `json:"is"`
	Seed      *uint64         `json:"seed"`
	Same      []string        `json:"same"`
	Read      string          `json:"read"`
	Error     string          `json:"error"`
}

// A transform makes a function of another.
type transform struct {
	Grad       []int    `json:"grad"`
	JacFwd     []int    `json:"jacfwd"`
	JacRev     []int    `json:"jacrev"`
	Hessian    []int    `json:"hessian"`
	VMap       []*int   `json:"vmap"`
	Out        []int    `json:"out"`
	Name       string   `json:"name"`
	JVP        int      `json:"jvp"` // the number of arguments
	VJP        int      `json:"vjp"`
	Checkpoint string   `json:"checkpoint"`
	CustomJVP  string   `json:"custom_jvp"`
	CustomVJP  []string `json:"custom_vjp"`
}

// A machine runs a program.
type machine struct {
	tensors    map[string]*polygrad.Tensor
	optimizers map[string]*polygrad.Optimizer
	functions  map[string]polygrad.Function
	sizes      map[string]*polygrad.Size
}

func (m *machine) run(s *statement) error {
	switch {
	case s.Function != "":
		return m.function(s)
	case s.Control != "":
		out, err := m.control(s)
		return m.let(s.Let, out, err)
	case s.Data != nil:
		t := polygrad.From(s.Data, s.Shape...).Cast(s.DType)
		if err := t.Realize(); err != nil {
			return err
		}
		if s.Grad {
			if t = t.SetRequiresGrad(true); t.Err() != nil {
				return t.Err()
			}
		}
		m.tensors[s.Let.(string)] = t
	case s.Along != "":
		x := polygrad.Along(s.Along, s.Axis, m.tensors[s.Of[0]])
		m.tensors[s.Let.(string)] = x
		return x.Err()
	case s.Op != "":
		return m.call(s)
	case s.First != "":
		n := m.sizes[s.First].Bind(int(s.Is.(float64)))
		if err := n.Err(); err != nil {
			return err
		}
		x := m.tensors[s.Of[0]].Index(polygrad.SliceSizes(nil, n))
		m.tensors[s.Let.(string)] = x
		return x.Err()
	case s.Gradients != "":
		for i, g := range m.tensors[s.Gradients].Gradient(m.all(s.Of)) {
			if g.Err() != nil {
				return g.Err()
			}
			m.tensors[s.Let.([]any)[i].(string)] = g
		}
	case s.Size != "":
		m.sizes[s.Size] = polygrad.Variable(s.Size, s.Min, s.Max)
	case s.Seed != nil:
		polygrad.Default().Seed(*s.Seed)
	case s.Same != nil:
		a, err := polygrad.Values[float32](m.tensors[s.Same[0]])
		if err != nil {
			return err
		}
		b, err := polygrad.Values[float32](m.tensors[s.Same[1]])
		if err == nil && slices.Equal(a, b) != s.Is.(bool) {
			return fmt.Errorf("%v and %v, expected same %v", a, b, s.Is)
		}
		return err
	case s.Read != "":
		_, err := polygrad.Values[float32](m.tensors[s.Read])
		return err
	case s.Assign != "":
		return m.tensors[s.Assign].Assign(m.value(s.Value)).Err()
	case s.Set != "":
		return m.tensors[s.Set].Set(m.value(s.Value), m.items(s.Items)...).Err()
	case s.Realize != nil:
		return polygrad.Realize(m.all(s.Realize)...)
	case s.Drop != "":
		delete(m.tensors, s.Drop)
	case s.Backward != "":
		var opts []polygrad.Option
		if s.Gradient != "" {
			opts = append(opts, polygrad.WithGradient(m.tensors[s.Gradient]))
		}
		return m.tensors[s.Backward].Backward(opts...).Err()
	case s.ZeroGrad != "":
		m.tensors[s.ZeroGrad].ZeroGrad()
	case s.Optimizer != "":
		return m.optimizer(s)
	case s.Step != "":
		return m.optimizers[s.Step].Step()
	case s.Run != "":
		var given []string
		if err := json.Unmarshal(s.With, &given); err != nil {
			return err
		}
		out, err := m.functions[s.Run](m.all(given)...)
		return m.let(s.Let, out, err)
	case s.Expect != "":
		return m.expect(m.tensors[s.Expect], s)
	case s.ExpectGra != "":
		g := m.tensors[s.ExpectGra].Grad()
		if s.Values == nil || g == nil {
			if (s.Values == nil) != (g == nil) {
				return fmt.Errorf("the gradient is %v, expected %v", g, s.Values)
			}
			return nil
		}
		return m.expect(g, s)
	case s.Error != "":
		var inner statement
		if err := json.Unmarshal(s.Do, &inner); err != nil {
			return err
		}
		err := m.run(&inner)
		if err == nil {
			return fmt.Errorf("no error, expected one about %q", s.Error)
		}
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(s.Error)) {
			return fmt.Errorf("error %q, expected one about %q", err, s.Error)
		}
	default:
		return fmt.Errorf("unknown statement")
	}
	return nil
}

func (m *machine) all(names []string) []*polygrad.Tensor {
	out := make([]*polygrad.Tensor, len(names))
	for i, name := range names {
		out[i] = m.tensors[name]
	}
	return out
}

func (m *machine) value(v any) any {
	if name, ok := v.(map[string]any); ok {
		return m.tensors[name["var"].(string)]
	}
	if n := v.(float64); n == math.Trunc(n) {
		return int(n)
	}
	return v
}

func (m *machine) items(items []any) []polygrad.Index {
	bound := func(v any) any {
		if v == nil {
			return nil
		}
		return int(v.(float64))
	}
	var out []polygrad.Index
	for _, item := range items {
		switch v := item.(type) {
		case nil:
			out = append(out, polygrad.NewAxis())
		case string:
			out = append(out, polygrad.Ellipsis())
		case float64:
			out = append(out, polygrad.At(int(v)))
		case map[string]any:
			if name, ok := v["var"]; ok {
				out = append(out, polygrad.Take(m.tensors[name.(string)]))
				continue
			}
			b := v["slice"].([]any)
			step, ok := bound(b[2]).(int)
			if !ok {
				step = 1
			}
			out = append(out, polygrad.SliceSteps(bound(b[0]), bound(b[1]), step))
		}
	}
	return out
}

func (m *machine) call(s *statement) error {
	var operands []any
	for _, name := range s.Of {
		operands = append(operands, m.tensors[name])
	}
	if s.With != nil {
		var n float64
		if err := json.Unmarshal(s.With, &n); err != nil {
			return err
		}
		operands = append(operands, m.value(n))
	}
	x := m.tensors[s.Of[0]]
	var out *polygrad.Tensor
	switch s.Op {
	case "getitem":
		out = x.Index(m.items(s.Args["items"].([]any))...)
	case "detach":
		out = x.Detach()
	case "clone":
		out = x.Clone()
	default:
		var opts []polygrad.Option
		for name, v := range s.Args {
			opts = append(opts, polygrad.Arg(name, argument(name, v)))
		}
		results, err := polygrad.Call(s.Op, operands, opts...)
		if err != nil {
			return err
		}
		out = results[0]
	}
	if out.Err() != nil {
		return out.Err()
	}
	m.tensors[s.Let.(string)] = out
	return nil
}

// argument is an argument of JSON as one of Go.
func argument(name string, v any) any {
	switch v := v.(type) {
	case float64:
		return int(v)
	case string:
		if name == "dtype" {
			return polygrad.DType(v)
		}
		return v
	case []any:
		if len(v) > 0 {
			if _, nested := v[0].([]any); nested {
				var pairs [][2]int
				for _, p := range v {
					pair := p.([]any)
					pairs = append(pairs, [2]int{int(pair[0].(float64)), int(pair[1].(float64))})
				}
				return pairs
			}
		}
		numbers := make([]int, len(v))
		for i, n := range v {
			numbers[i] = int(n.(float64))
		}
		return numbers
	}
	return v
}

func (m *machine) optimizer(s *statement) (err error) {
	number := func(name string) float64 {
		n, _ := s.Args[name].(float64)
		return n
	}
	params := m.all(s.Params)
	var o *polygrad.Optimizer
	switch s.Kind {
	case "sgd":
		nesterov, _ := s.Args["nesterov"].(bool)
		o, err = polygrad.NewSGD(params, s.LR, polygrad.SGDOptions{Momentum: number("momentum"), Nesterov: nesterov})
	default:
		settings := polygrad.DefaultAdam
		settings.WeightDecay = number("weight_decay")
		if o, err = polygrad.NewAdam(params, s.LR, settings); s.Kind == "adamw" {
			o, err = polygrad.NewAdamW(params, s.LR, settings)
		}
	}
	m.optimizers[s.Optimizer] = o
	return err
}

func (m *machine) function(s *statement) error {
	var body []*statement
	if err := json.Unmarshal(s.Do, &body); err != nil {
		return err
	}
	f := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		inner := &machine{maps.Clone(m.tensors), m.optimizers, maps.Clone(m.functions), m.sizes}
		for i, name := range s.Params {
			inner.tensors[name] = args[i]
		}
		for _, b := range body {
			if err := inner.run(b); err != nil {
				return nil, err
			}
		}
		return inner.all(s.Returns), nil
	}
	if s.As == nil {
		f = polygrad.Jit(f)
	}
	for _, how := range s.As {
		f = m.transformed(f, how)
	}
	m.functions[s.Function] = f
	return nil
}

func (m *machine) transformed(f polygrad.Function, how transform) polygrad.Function {
	switch {
	case how.Grad != nil:
		return polygrad.Grad(f, how.Grad...)
	case how.JacFwd != nil:
		return polygrad.JacFwd(f, how.JacFwd...)
	case how.JacRev != nil:
		return polygrad.JacRev(f, how.JacRev...)
	case how.Hessian != nil:
		return polygrad.Hessian(f, how.Hessian...)
	case how.VMap != nil:
		axes := make([]int, len(how.VMap))
		for i, axis := range how.VMap {
			if axes[i] = polygrad.Unmapped; axis != nil {
				axes[i] = *axis
			}
		}
		return polygrad.VMapAlong(how.Name, f, axes, how.Out)
	case how.JVP > 0:
		return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			values, changes, err := polygrad.JVP(f, args[:how.JVP], args[how.JVP:])
			return append(values, changes...), err
		}
	case how.VJP > 0:
		return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			_, pullback, err := polygrad.VJP(f, args[:how.VJP]...)
			if err != nil {
				return nil, err
			}
			return pullback(args[how.VJP:]...)
		}
	case how.CustomJVP != "":
		return polygrad.CustomJVP(f, m.functions[how.CustomJVP])
	case how.CustomVJP != nil:
		return polygrad.CustomVJP(f, m.functions[how.CustomVJP[0]], m.functions[how.CustomVJP[1]])
	}
	return polygrad.Checkpoint(f, how.Checkpoint)
}

// control runs a loop or a branch.
func (m *machine) control(s *statement) ([]*polygrad.Tensor, error) {
	fs := make([]polygrad.Function, len(s.Functions))
	for i, name := range s.Functions {
		fs[i] = m.functions[name]
	}
	carry, over := m.all(s.Carry), m.all(s.Over)
	join := func(a, b []*polygrad.Tensor) []*polygrad.Tensor { return slices.Concat(a, b) }
	switch s.Control {
	case "scan":
		last, kept, err := polygrad.Scan(func(c, x []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
			out, err := fs[0](join(c, x)...)
			if err != nil {
				return nil, nil, err
			}
			return out[:len(c)], out[len(c):], nil
		}, carry, over, -1, s.Reverse)
		return join(last, kept), err
	case "while_loop":
		return polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) {
			out, err := fs[0](c...)
			if err != nil {
				return nil, err
			}
			return out[0], nil
		}, func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return fs[1](c...) }, carry...)
	case "fori_loop":
		return polygrad.ForLoop(s.Between[0], s.Between[1], func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return fs[0](join([]*polygrad.Tensor{i}, c)...)
		}, carry...)
	case "map":
		return polygrad.Map(fs[0], over...)
	case "associative_scan":
		return polygrad.AssociativeScan(func(a, b []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return fs[0](join(a, b)...) }, over, s.Reverse)
	}
	var given []string
	if err := json.Unmarshal(s.With, &given); err != nil {
		return nil, err
	}
	if s.Control == "cond" {
		return polygrad.Cond(m.tensors[s.On], fs[0], fs[1], m.all(given)...)
	}
	return polygrad.Switch(m.tensors[s.On], fs, m.all(given)...)
}

// let names the results of a function.
func (m *machine) let(names any, out []*polygrad.Tensor, err error) error {
	if err != nil {
		return err
	}
	for i, name := range names.([]any) {
		m.tensors[name.(string)] = out[i]
	}
	return nil
}

// expect compares a tensor with what a statement says.
func (m *machine) expect(t *polygrad.Tensor, s *statement) error {
	if s.Shape != nil && !slices.Equal(t.Shape(), s.Shape) || s.DType != "" && t.DType() != s.DType {
		return fmt.Errorf("%s is %s, expected %s of shape %v", s.Expect, t, s.DType, s.Shape)
	}
	got, err := polygrad.Values[float64](t.Cast(polygrad.Float64))
	if err != nil {
		return err
	}
	tolerance := max(s.Tolerance, 1e-6)
	if len(got) != len(s.Values) {
		return fmt.Errorf("%s is %v, expected %v", s.Expect, got, s.Values)
	}
	for i, v := range got {
		if math.Abs(v-s.Values[i]) > tolerance*max(1, math.Abs(s.Values[i])) {
			return fmt.Errorf("%s is %v, expected %v", s.Expect, got, s.Values)
		}
	}
	return nil
}

// Programs of views, writes, readers, gradients, optimizers, compiled functions and mistakes mean the same in every language.
func TestPrograms(t *testing.T) {
	text, err := os.ReadFile("tests/programs.json")
	if err != nil {
		t.Fatal(err)
	}
	var programs []struct {
		Topic, Name string
		Do          []*statement
	}
	if err := json.Unmarshal(text, &programs); err != nil {
		t.Fatal(err)
	}
	if len(programs) < 300 {
		t.Errorf("%d programs", len(programs))
	}
	for _, p := range programs {
		t.Run(p.Topic+"/"+p.Name, func(t *testing.T) {
			m := &machine{map[string]*polygrad.Tensor{}, map[string]*polygrad.Optimizer{}, map[string]polygrad.Function{}, map[string]*polygrad.Size{}}
			for i, s := range p.Do {
				if err := m.run(s); err != nil {
					text, _ := json.Marshal(s)
					t.Fatalf("statement %d: %v\n%s", i, err, text)
				}
			}
		})
	}
	if n := polygrad.Default().Values(); n > 10 {
		t.Errorf("%d values are left behind", n)
	}
}
