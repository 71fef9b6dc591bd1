package pipeline

import (
	"maps"
	"math/bits"

	"polygrad/render/x64/asm"
)

// Block is a basic block: a sequence of instructions without jumps in or out but at its ends.
type Block struct {
	From, To int // instructions From to To-1
	Depth    int // loop depth
	// Cycles is the time of one pass without waiting for operands, limited by the resource Bound.
	Cycles float64
	Bound  string
	// Chain is, for the body of an innermost loop, the growth of its longest dependence chain with each iteration: an iteration takes
	// this or Cycles, whichever is more.
	Chain float64
}

// work sums the resources of instructions.
type work struct {
	on                    [32]float64 // by set of ports
	uops                  float64
	loads, stores, divide float64
}

func (w *work) add(inst *asm.Inst) {
	if inst.Op <= asm.MOVE && inst.Op != asm.MOVE {
		return
	}
	w.uops++
	loads, stores := memory(inst)
	w.loads += loads
	w.stores += stores
	if copied, zero := copies(inst); copied || zero || moves(inst) {
		return
	}
	u := unitOf(inst)
	w.divide += u.divider
	w.on[u.ports] += u.uops
	w.uops += max(0, u.uops-1)
}

// cycles is the least time of the sum, and its bound.
func (w *work) cycles() (float64, string) {
	best, why := w.uops/6, "issue"
	raise := func(c float64, what string) {
		if c > best+0.01 {
			best, why = c, what
		}
	}
	raise(w.loads/2, "loads")
	raise(w.stores, "stores")
	raise(w.divide, "divider")
	// Instructions restricted to a set of ports take at least their number divided by the set's size.
	for set := ports(1); int(set) < len(w.on); set++ {
		sum := 0.0
		for s, n := range w.on {
			if n > 0 && ports(s)&^set == 0 {
				sum += n
			}
		}
		if sum > 0 {
			raise(sum/float64(bits.OnesCount8(uint8(set))), set.String())
		}
	}
	return best, why
}

func (p ports) String() string {
	s := "ports"
	for k, n := range [...]string{" 0", " 1", " 5", " 6", " 10"} {
		if p>>k&1 != 0 {
			s += n
		}
	}
	return s
}

// Blocks are the basic blocks of code with loops.
func Blocks(insts []asm.Inst) []Block {
	at := map[asm.Label]int{}
	depth := make([]int, len(insts)+1)
	for k := range insts {
		inst := &insts[k]
		if inst.Op == asm.LABEL {
			at[inst.To] = k
		} else if top, ok := at[inst.To]; ok && inst.Op.Branch() {
			depth[top]++
			depth[k+1]--
		}
	}
	for k := range insts {
		depth[k+1] += depth[k]
	}
	var out []Block
	from := 0
	end := func(to int) {
		if to > from {
			b := Block{From: from, To: to, Depth: depth[from]}
			var w work
			for k := from; k < to; k++ {
				w.add(&insts[k])
			}
			b.Cycles, b.Bound = w.cycles()
			last := &insts[to-1]
			if top, ok := at[last.To]; ok && last.Op.Branch() && top == from {
				b.Chain = chain(insts[from:to])
			}
			out = append(out, b)
		}
		from = to
	}
	for k := range insts {
		switch inst := &insts[k]; {
		case inst.Op == asm.LABEL:
			end(k)
		case inst.Op.Branch():
			end(k + 1)
		}
	}
	end(len(insts))
	return out
}

// chain is the growth of the longest dependence chain through registers and the frame with each iteration of a body.
func chain(body []asm.Inst) float64 {
	ready := map[asm.Reg]float64{}
	frame := map[int32]float64{}
	half := map[asm.Reg]float64{}
	flags := 0.0
	const turns = 8
	for turn := range turns {
		if turn == turns/2 {
			maps.Copy(half, ready)
		}
		for k := range body {
			inst := &body[k]
			copied, zero := copies(inst)
			start := 0.0
			wait := func(r asm.Reg) {
				if r != 0 {
					start = max(start, ready[r])
				}
			}
			if !zero {
				for _, r := range inst.Src {
					wait(r)
				}
				if inst.ReadsDst() {
					wait(inst.Dst)
				}
			}
			wait(inst.Mask)
			if inst.Op.UsesFlags() {
				start = max(start, flags)
			}
			address := max(ready[inst.Mem.Base], ready[inst.Mem.Index])
			done := start
			loads, stores := memory(inst)
			if loads > 0 {
				l := address + vectorLatency
				if inst.Dst.Class() == asm.GP {
					l = address + loadLatency
				}
				if inst.Mem.Base == asm.RBP {
					l = max(address, frame[inst.Mem.Disp]) + forwardLatency
				}
				done = max(done, l)
			}
			if !copied && !zero && !moves(inst) {
				done += unitOf(inst).latency
			}
			if stores > 0 && inst.Mem.Base == asm.RBP {
				frame[inst.Mem.Disp] = done
			}
			if inst.Dst != 0 {
				ready[inst.Dst] = done
			}
			if inst.Op.SetsFlags() {
				flags = done
			}
		}
	}
	grown := 0.0
	for r, t := range ready {
		grown = max(grown, t-half[r])
	}
	return grown / (turns / 2)
}
