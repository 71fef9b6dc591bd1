package wgsl

import (
	"fmt"
	"strings"

	"polygrad/core/nest/ir"
)

// combinations are the operations on all lanes: of two values x and y.
var combinations = map[ir.Op]string{
	ir.Sum: "x + y", ir.Product: "x * y", ir.MaxLanes: "max(x, y)", ir.AndAll: "x & y", ir.OrAll: "x | y", ir.XorAll: "x ^ y",
}

// combined is a call of the function that reduces all lanes of v, or those that are congruent modulo left.
func (w *writer) combined(op ir.Op, k ir.Kind, left int, v string) string {
	by, args := w.combining(op, k, left), ", lane"
	if w.subgrouped[by] {
		args += ", subgroup, subgroups, subgroup_lane, subgroup_size"
	}
	return by + "(" + v + args + ")"
}

// combining is the name of that function.
func (w *writer) combining(op ir.Op, k ir.Kind, left int) string {
	t := typeOf(k)
	name := fmt.Sprintf("%s_%s", op, t)
	if left > 1 {
		name += fmt.Sprintf("_%d", left)
	}
	if w.across[name] != "" {
		return name
	}
	of := combinations[op]
	if op == ir.MaxLanes && k.Float() { // NaN if either is
		of = fmt.Sprintf("select(select(x, y, x < y), x + y, %[1]s(x) || %[1]s(y))", w.function("is_nan"))
	}
	stored, from, back := t, "v", ""
	if t == "bool" { // drivers lose conditions in workgroup memory
		stored, from, back = "u32", "u32(v)", " != 0u"
	}
	var body string
	switch {
	case w.subgroups && left <= 1:
		body, w.subgrouped[name] = bySubgroups, true
	case w.size/max(left, 1) <= mostInLine || w.m.Shared == 0:
		body = inLine
	default:
		body = inTree
	}
	mine := "0u"
	if left > 1 {
		mine = fmt.Sprintf("lane %% %du", left)
	}
	body = strings.NewReplacer("MINE", mine, "NAME", name, "TYPE", t, "STORED", stored, "FROM", from, "BACK", back, "SIZE", fmt.Sprint(w.size), "HALF", fmt.Sprint(w.size/2), "LEFT", fmt.Sprint(max(left, 1)), "COMBINED", of).Replace(body)
	w.across[name] = body
	return name
}

// mostInLine is the largest number of values that each lane combines for itself.
const mostInLine = 8

const (
	// inTree combines lane i with lane i + n/2 of n, until LEFT are left.
	inTree = `var<workgroup> NAME_of: array<STORED, SIZE>;
fn NAME(v: TYPE, lane: u32) -> TYPE {
  workgroupBarrier();
  NAME_of[lane] = FROM;
  workgroupBarrier();
  for (var n = HALFu; n >= LEFTu; n >>= 1u) {
    if (lane < n) {
      let x = NAME_of[lane];
      let y = NAME_of[lane + n];
      NAME_of[lane] = COMBINED;
    }
    workgroupBarrier();
  }
  return NAME_of[MINE]BACK;
}
`
	// inLine has each lane combine all values: for few of them, and where a barrier takes longer than that.
	inLine = `var<workgroup> NAME_of: array<STORED, SIZE>;
fn NAME(v: TYPE, lane: u32) -> TYPE {
  workgroupBarrier();
  NAME_of[lane] = FROM;
  workgroupBarrier();
  var x = NAME_of[MINE];
  for (var i = MINE + LEFTu; i < SIZEu; i += LEFTu) {
    let y = NAME_of[i];
    x = COMBINED;
  }
  return xBACK;
}
`
	// bySubgroups combines the lanes of subgroups without memory, and then their results.
	bySubgroups = `var<workgroup> NAME_of: array<STORED, SIZE>;
fn NAME(v: TYPE, lane: u32, subgroup: u32, subgroups: u32, subgroup_lane: u32, subgroup_size: u32) -> TYPE {
  var x = FROM;
  for (var n = min(subgroup_size, SIZEu) >> 1u; n > 0u; n >>= 1u) {
    let y = subgroupShuffleXor(x, n);
    x = COMBINED;
  }
  workgroupBarrier();
  if (subgroup_lane == 0u) { NAME_of[subgroup] = x; }
  workgroupBarrier();
  x = NAME_of[0];
  for (var i = 1u; i < subgroups; i++) {
    let y = NAME_of[i];
    x = COMBINED;
  }
  return xBACK;
}
`
)

// Enabled is a shader with the directive for its subgroup operations, which is in the standard, but which naga does not know.
func Enabled(source string) string {
	if !strings.Contains(source, "subgroupShuffleXor") {
		return source
	}
	return "enable subgroups;\n" + source
}
