// Package wgsl writes kernels of core/nest as compute shaders of WebGPU.
//
// A work item is an invocation. Where WGSL leaves results open, shaders are written so that they are those of other devices: constants that are not
// finite, and comparisons with NaN, are computed on bits. Elements narrower than 32 bits are parts of words, which are written atomically, since
// other invocations write their neighbours.
package wgsl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"polygrad/core/nest/ir"
)

// Workgroup is the usual number of invocations of a workgroup.
const Workgroup = 64

// Kernel is a shader, and what its launch needs.
type Kernel struct {
	Name   string
	Params []ir.Param
	Vars   []ir.VarParam
	// Items is the number of work items: of invocations, or of workgroups if the kernel has vectors.
	Items int64
	// Groups is the number of workgroups, or the greatest one.
	Groups int64
	launch *ir.Value
	// Source is the shader. Its buffers are the bindings 0, 1, … of group 0, all read_write; the variables, if there are any, are a uniform of
	// Uniforms() vectors of four I32, which is the next binding.
	Source string
}

// Uniforms is the number of vectors that hold the variables of the kernel.
func (k *Kernel) Uniforms() int { return (len(k.Vars) + 3) / 4 }

// Launch is the number of workgroups for values of the variables.
func (k *Kernel) Launch(vars []int64) int64 {
	if k.launch == nil {
		return k.Groups
	}
	return int64(k.launch.Evaluate(vars))
}

// Portable reports whether all adapters run the shader: it uses no features, and no memory of workgroups.
func (k *Kernel) Portable() bool {
	return !strings.Contains(k.Source, EnableHalves) && !strings.Contains(k.Source, "var<workgroup>")
}

// Render writes the shader of a kernel for a machine.
func Render(nk *ir.Kernel, m ir.Machine) (k *Kernel, err error) {
	defer ir.Recover(&err)
	k = &Kernel{Name: nk.Name, Params: nk.Params, Vars: nk.Vars, Items: max(nk.Items, 1)}
	w := &writer{k: k, m: m, size: max(nk.Group, 1), subgroups: nk.Subgroups, room: (m.Shared - nk.Shared) / 4, words: map[int]ir.Kind{}, scratch: map[int32]string{}, placed: map[*ir.Block][]*ir.Value{}, seen: map[*ir.Value]bool{}, singleTrip: map[*ir.Value]bool{}, across: map[string]string{}, uses: map[string]bool{}, subgrouped: map[string]bool{}, staged: map[*ir.Value]string{}, loads: map[*ir.Value]*quad{}, stores: map[*ir.Store]*quad{}}
	w.bind(nk.Root)
	k.Groups = (k.Items + int64(w.size) - 1) / int64(w.size)
	if nk.Lanes > 1 {
		k.Groups, k.launch, w.lanes, w.size = k.Items, nk.Launch, true, nk.Lanes
	}
	if !w.lanes {
		w.findQuads(nk.Root)
	}
	w.repetitions = repetitions(nk.Root, nk.Vars, m.Iterations)
	w.indent++
	w.block(nk.Root)
	k.Source = w.header(nk) + w.entry() + w.out.String() + "}\n"
	return k, nil
}

// entry is the beginning of the entry point.
func (w *writer) entry() string {
	var s strings.Builder
	fmt.Fprintf(&s, "@compute @workgroup_size(%d)\nfn main(@builtin(num_workgroups) groups: vec3<u32>, ", w.size)
	if len(w.subgrouped) > 0 {
		s.WriteString("@builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32, ")
		s.WriteString("@builtin(subgroup_invocation_id) subgroup_lane: u32, @builtin(subgroup_size) subgroup_size: u32, ")
	}
	if w.lanes {
		s.WriteString("@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let first = i32(id.y * groups.x + id.x);\n")
	} else {
		fmt.Fprintf(&s, "@builtin(global_invocation_id) id: vec3<u32>) {\n  let first = i32(id.y * groups.x * %du + id.x);\n", w.size)
	}
	fmt.Fprintf(&s, "  if (first >= %d) { return; }\n", w.k.Items)
	if w.uses["keep"] {
		s.WriteString("  unknown = groups.z - 1u;\n")
	}
	return s.String()
}

// writer writes one shader.
type writer struct {
	k      *Kernel
	out    strings.Builder
	indent int
	// words are the kinds of the buffers in memory; those of elements narrower than 32 bits are U32.
	words map[int]ir.Kind
	// scratch are the arrays of scratch memory, by the number of the buffer.
	scratch map[int32]string
	arrays  []string
	uses    map[string]bool // names of functions
	lanes   bool            // the lanes of vectors are the invocations of a workgroup
	size    int             // of a workgroup
	m       ir.Machine
	// repetitions is how often the bodies of innermost loops are written in an iteration.
	repetitions int64
	// subgroups: sums of lanes begin with operations of subgroups.
	subgroups bool
	// subgrouped are the functions with parameters for the subgroups.
	subgrouped map[string]bool
	// across are the functions that combine what the invocations of a workgroup have, by their names.
	across map[string]string
	// staged are the loads whose elements are in workgroup memory, with the names that they have in an iteration.
	staged map[*ir.Value]string
	room   int64 // elements of workgroup memory that remain for staged loads
	// quads are the parameters that are arrays of vectors of four elements, loads and stores their accesses.
	quads  map[int]bool
	loads  map[*ir.Value]*quad
	stores map[*ir.Store]*quad
	seen   map[*ir.Value]bool
	// singleTrip are the iterators of loops of one iteration, which are 0.
	singleTrip map[*ir.Value]bool
	placed     map[*ir.Block][]*ir.Value
}

func (w *writer) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

// bind sets the kind of the elements of each parameter's array.
func (w *writer) bind(b *ir.Block) {
	for i, p := range w.k.Params {
		if w.words[i] = wordOf(ir.KindOf[p.DType]); ir.KindOf[p.DType] == ir.F16 && w.m.F16C {
			w.words[i] = ir.F16
		}
	}
}

// wordOf is the kind of the elements of an array in memory that holds values of a kind.
func wordOf(k ir.Kind) ir.Kind {
	if k.Size() < 4 {
		return ir.U32
	}
	return k
}

// header declares the buffers, the variables, and functions that are used.
func (w *writer) header(nk *ir.Kernel) string {
	var s strings.Builder
	fmt.Fprintf(&s, "// %s\n", nk.Name)
	if slices.Contains(slices.Collect(maps.Values(w.words)), ir.F16) {
		s.WriteString(EnableHalves)
	}
	for i, p := range w.k.Params {
		t := typeOf(w.words[i])
		if w.words[i] == ir.F16 {
			t = "f16"
		}
		if w.atomic(i) {
			t = "atomic<u32>"
		}
		if w.quads[i] {
			t = "vec4<" + t + ">"
		}
		fmt.Fprintf(&s, "@group(0) @binding(%d) var<storage, read_write> b%d: array<%s>; // %s", i, i, t, p.DType)
		if p.Size >= 0 {
			fmt.Fprintf(&s, ", %d", p.Size)
		}
		s.WriteByte('\n')
	}
	if n := w.k.Uniforms(); n > 0 {
		fmt.Fprintf(&s, "@group(0) @binding(%d) var<uniform> vars: array<vec4<i32>, %d>;\n", len(w.k.Params), n)
	}
	for _, a := range w.arrays {
		s.WriteString(a)
	}
	for _, name := range slices.Sorted(maps.Keys(w.across)) {
		s.WriteString(w.across[name])
	}
	for _, f := range functions {
		if w.uses[f.name] {
			s.WriteString(f.code)
		}
	}
	s.WriteByte('\n')
	return s.String()
}

// functions are those that kernels may use. Compilers of shaders may ignore NaN, infinities and the order of operations, so functions that depend on
// these work on bits.
var functions = []struct{ name, code string }{
	// A constant expression must be finite, the value of a variable need not.
	{"float_of", "fn float_of(bits: u32) -> f32 { var b = bits; return bitcast<f32>(b); }\n"},
	// Launches have two dimensions, so unknown is 0, but no compiler knows it.
	{"keep", `var<private> unknown: u32;
fn keep(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ unknown); }
`},
	// half rounds to a number of f16: conversions may round either way.
	{"half", `fn half(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let size = bits & 0x7fffffffu;
  var to = (size + 0xfffu + ((size >> 13u) & 1u)) & 0xffffe000u;
  if (size >= 0x477ff000u) {
    to = select(0x7f800000u, size, size > 0x7f800000u);
  } else if (size < 0x38800000u) {
    let steps = bitcast<u32>(bitcast<f32>(size) + 0.5f) - 0x3f000000u;
    to = bitcast<u32>(f32(steps) * 5.9604645e-08f);
  }
  return bitcast<f32>((bits ^ size) | to);
}
`},
	{"is_nan", "fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }\n"},
	{"equal", `fn equal(x: f32, y: f32) -> bool {
  let a = bitcast<u32>(x);
  let b = bitcast<u32>(y);
  return ((a | b) << 1u) == 0u || (a == b && (a & 0x7fffffffu) <= 0x7f800000u);
}
`},
	// A division may be wrong by 2.5 units in the last place; the remainder corrects it where all is finite. Its products of halves are
	// exact, because fma need not be (Dekker, A floating-point technique for extending the available precision, 1971).
	{"quotient", `fn upper(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }
fn quotient(x: f32, y: f32) -> f32 {
  let q = x / y;
  let a = upper(q);
  let b = upper(y);
  let d = (((x - a * b) - a * (y - b)) - (q - a) * b - (q - a) * (y - b)) / y;
  return select(q, q + d, (bitcast<u32>(d) << 1u) != 0u && (bitcast<u32>(q + d) & 0x7f800000u) != 0x7f800000u);
}
`},
}

// function is the name of one of functions, which is used.
func (w *writer) function(name string) string {
	w.uses[name] = true
	return name
}

// atomic reports whether invocations write parts of the words of a buffer.
func (w *writer) atomic(param int) bool {
	p := w.k.Params[param]
	return p.Written && ir.KindOf[p.DType].Size() < 4 && w.words[param] != ir.F16
}

// typeOf is the type of a register.
func typeOf(k ir.Kind) string {
	switch k.Register() {
	case ir.Bool:
		return "bool"
	case ir.I32, ir.I64:
		return "i32"
	case ir.U32, ir.U64:
		return "u32"
	case ir.F32:
		return "f32"
	}
	ir.Fail("%s is not a type of shaders", k)
	return ""
}
