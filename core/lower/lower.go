// Package lower turns a kernel, a SINK of stores under ranges, into a linear list of operations for code generators. The passes are
// the table Passes. For a Target without optimisation the result equals tinygrad's, node for node.
package lower

import (
	"fmt"
	"os"
	"slices"

	"polygrad/core/settings"
	"polygrad/core/uop"
)

// Program is a lowered kernel.
type Program struct {
	Name string
	// AST is the input, Rewritten the graph after all passes, Linear the list in execution order.
	AST, Rewritten *uop.UOp
	Linear         []*uop.UOp
	// Info is the name of the kernel, and the choices of the optimiser.
	Info uop.KernelInfo
	// Globals are the slots of the kernel's parameters, Outs and Ins those that it stores to and loads from; in ascending order.
	Globals, Outs, Ins []int
	// Vars are the variables of the kernel, ordered by name; core_id is among them if there are threads.
	Vars []*uop.UOp
	// Threads is the number of calls of the kernel, with core_id from 0; 1 without threads.
	Threads int
}

// Hook sees the kernel after each pass.
type Hook func(pass string, sink *uop.UOp)

// Lower runs the passes on a kernel for a target. The nodes of the result live in a graph of their own.
func Lower(ast *uop.UOp, t *Target, hooks ...Hook) (p *Program, err error) {
	name, pass := "", "start"
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, lowerError(name, pass, r)
		}
	}()
	info, ok := ast.Arg.(uop.KernelInfo)
	if ast.Op != uop.Sink || !ok {
		return nil, fmt.Errorf("lower.Lower: the kernel is %s, expected a SINK with KernelInfo", ast)
	}
	name = info.Name
	if ast.HasOp(uop.Ops(uop.Sort)) {
		return lowerSort(ast)
	}
	sink := ast.Graph().Scratch().Import(ast)
	// Looked up once: a kernel has fifty places to print at, and as many to check.
	dumped, checked := settings.Dump.Get(), settings.Check.On()
	for i := range Passes {
		ps := &Passes[i]
		if !ps.Required && !t.Optimize || ps.Needed != nil && !ps.Needed(t) {
			continue
		}
		pass = ps.Name
		dumps := dumped == pass || dumped == "all"
		if dumps {
			printPass(pass, "before", sink)
		}
		sink = ps.Run(sink, t)
		if dumps {
			printPass(pass, "after", sink)
		}
		if checked && ps.Check != nil {
			if err := ps.Check(sink, t); err != nil {
				return nil, fmt.Errorf("lower.Lower: kernel %s: after pass %q: %w", name, pass, err)
			}
		}
		for _, h := range hooks {
			h(ps.Name, sink)
		}
	}
	pass = "linearize"
	return describe(ast, sink, gateStores(linearize(sink))), nil
}

// lowerError turns a panic into an error. This package panics with texts; any other panic, such as a nil dereference, is an internal
// error.
func lowerError(kernel, pass string, r any) error {
	switch r := r.(type) {
	case failure:
		return fmt.Errorf("lower.Lower: kernel %s: pass %q: %s", kernel, pass, r.msg)
	case error:
		return fmt.Errorf("lower.Lower: kernel %s: pass %q: internal error: %w", kernel, pass, r)
	}
	return fmt.Errorf("lower.Lower: kernel %s: pass %q: %v", kernel, pass, r)
}

// describe collects the properties of a kernel that its callers need.
func describe(ast, sink *uop.UOp, list []*uop.UOp) *Program {
	p := &Program{AST: ast, Rewritten: sink, Linear: list, Threads: 1}
	p.Info, _ = sink.Arg.(uop.KernelInfo)
	p.Name = p.Info.Name
	for _, u := range list {
		switch u.Op {
		case uop.DefineVar:
			p.Vars = append(p.Vars, u)
			if v := u.Arg.(uop.VarArg); v.Name == ThreadVar {
				p.Threads = int(v.Max.I()) + 1
			}
		case uop.Param:
			p.Globals = append(p.Globals, slotOf(u))
		case uop.Store:
			if s, ok := accessed(u); ok {
				p.Outs = append(p.Outs, s)
			}
		case uop.Load:
			if s, ok := accessed(u); ok {
				p.Ins = append(p.Ins, s)
			}
		}
	}
	for _, s := range []*[]int{&p.Globals, &p.Outs, &p.Ins} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	slices.SortFunc(p.Vars, func(a, b *uop.UOp) int { c, _ := uop.ArgCompare(a.Arg, b.Arg); return c })
	return p
}

func slotOf(param *uop.UOp) int { return int(param.Arg.(uop.Num)) }

// accessed is the slot of the parameter of a LOAD or STORE; ok is false if it accesses other memory.
func accessed(u *uop.UOp) (slot int, ok bool) {
	param, ok := paramOf(u)
	if !ok {
		return 0, false
	}
	return slotOf(param), true
}

// paramOf is the parameter that a LOAD or STORE accesses; ok is false if it accesses other memory.
func paramOf(u *uop.UOp) (param *uop.UOp, ok bool) {
	idx := uncast(u.Src[0])
	if idx.Op != uop.Index {
		return nil, false
	}
	memory := withoutAfter(idx.Src[0])
	return memory, memory.Op == uop.Param
}

func withoutAfter(memory *uop.UOp) *uop.UOp {
	for memory.Op == uop.After {
		memory = memory.Src[0]
	}
	return memory
}

func printPass(pass, when string, sink *uop.UOp) {
	name := ""
	if info, ok := sink.Arg.(uop.KernelInfo); ok {
		name = info.Name
	}
	fmt.Fprintf(os.Stderr, "--- kernel %s, %s pass %q\n%s", name, when, pass, sink.Dump())
}
