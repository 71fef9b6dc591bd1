package parity

import (
	"fmt"
	"strconv"
	"strings"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// Target is the target of the reference data for the settings of a case.
func Target(s dump.Settings) *lower.Target {
	t := lower.Clang()
	t.Optimize, t.Devectorize, t.Threads = s.Optimize, s.Devectorize, max(1, s.CPUCount)
	return t
}

// names gives kernels of one case that have the same name a suffix, as tinygrad does.
type names map[string]int

func (n names) next(name string) string {
	n[name]++
	if k := n[name]; k > 1 && name != "test" {
		return name + "n" + strconv.Itoa(k-1)
	}
	return name
}

// rename puts another name into the KernelInfo of a list.
func rename(list []dump.Node, from, to string) {
	if from == to {
		return
	}
	for i := range list {
		if n := &list[i]; n.Op == "SINK" && n.Arg != nil {
			if rest, ok := strings.CutPrefix(*n.Arg, "KernelInfo(name="+from); ok && strings.IndexAny(rest, ";)") == 0 {
				s := "KernelInfo(name=" + to + rest
				n.Arg = &s
			}
		}
	}
}

// lowered lowers kernel i of a case and writes the result, and the graph after each pass, in the form of the reference data.
func lowered(i int, ast *uop.UOp, t *lower.Target, used names) (*lower.Program, dump.Kernel, Trace, error) {
	trace := Trace{Stage: "kernel" + strconv.Itoa(i)}
	k := dump.Kernel{AST: dump.Graph(ast)}
	p, err := lower.Lower(ast, t, trace.Record)
	if err != nil {
		return nil, k, trace, fmt.Errorf("kernel %d: %w", i, err)
	}
	k.Rewritten, k.Linear = dump.Graph(p.Rewritten), dump.List(p.Linear)
	k.Name = used.next(p.Name)
	rename(k.Rewritten, p.Name, k.Name)
	rename(k.Linear, p.Name, k.Name)
	for _, ps := range trace.Passes {
		rename(ps.Nodes, p.Name, k.Name)
	}
	for _, o := range p.Info.AppliedOpts {
		k.AppliedOpts = append(k.AppliedOpts, o.String())
	}
	for _, n := range k.Linear {
		k.Ops = append(k.Ops, n.Op)
	}
	k.Structure = Structure(k.Ops)
	return p, k, trace, nil
}

// The pass apply_opts is no rewrite in tinygrad: the data has the graph inside of it, before the kernel gets its name.
const (
	applyOpts    = "apply_opts"
	flattenRange = "flatten range"
)

// notHere are the passes of the reference that are no passes here.
var notHere = map[string]bool{flattenRange: true}

// ForcePasses runs every pass of the lowering alone, on the reference graph before it, and lists those that give
// another graph than tinygrad's. A wrong pass so does not hide those behind it.
func ForcePasses(ref dump.Stage, t *lower.Target) ([]*Difference, error) {
	var out []*Difference
	for i := 1; i < len(ref.Passes); i++ {
		p, before := ref.Passes[i], ref.Passes[i-1]
		want := p.Nodes
		name := p.Name
		if name == flattenRange {
			name, want = applyOpts, named(p.Nodes, ref.Passes[i+1].Nodes)
		} else if before.Name == flattenRange {
			before.Nodes = named(before.Nodes, p.Nodes)
		}
		got, err := forcePass(name, before.Nodes, t, ref.Passes[len(ref.Passes)-1].Nodes)
		if err != nil {
			return out, fmt.Errorf("%s: %w", ref.Stage, err)
		}
		if dump.Diff(want, got, true) >= 0 {
			out = append(out, &Difference{Stage: ref.Stage, Pass: name, Before: before.Nodes, Want: want, Got: got})
		}
	}
	return out, nil
}

// named is a list with the SINK of another one, which carries the name and the choices of the optimiser.
func named(list, from []dump.Node) []dump.Node {
	out := append([]dump.Node(nil), list...)
	last, other := &out[len(out)-1], from[len(from)-1]
	last.Arg, last.Tag = other.Arg, other.Tag
	return out
}

func forcePass(name string, before []dump.Node, t *lower.Target, last []dump.Node) (list []dump.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pass %q: %v", name, r)
		}
	}()
	root, err := dump.Root(symbolic.NewGraph(), before)
	if err != nil {
		return nil, err
	}
	for _, p := range lower.Passes {
		if p.Name != name {
			continue
		}
		list = dump.Graph(p.Run(root, t))
		if info, err := dump.ParseArg(nil, uop.Sink, nil, *last[len(last)-1].Arg); err == nil && name == applyOpts {
			full := info.(uop.KernelInfo).Name
			rename(list, withoutSuffix(full), full)
		}
		return list, nil
	}
	return nil, fmt.Errorf("no pass %q", name)
}

// withoutSuffix is a kernel's name without the number of its repetition.
func withoutSuffix(name string) string {
	if i := strings.LastIndexByte(name, 'n'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}
