package wgsl

import (
	"fmt"

	"polygrad/core/nest/ir"
)

// combinations are the operations on all lanes: of two values x and y.
var combinations = map[ir.Op]string{
	ir.Sum: "x + y", ir.Product: "x * y", ir.MaxLanes: "max(x, y)", ir.AndAll: "x & y", ir.OrAll: "x | y", ir.XorAll: "x ^ y",
}

// combined is the name of a function that combines the values of all lanes in a tree: lane i with lane i + n/2, until one is left.
func (w *writer) combined(op ir.Op, k ir.Kind) string {
	t := typeOf(k)
	name := fmt.Sprintf("%s_%s", op, t)
	if w.across[name] != "" {
		return name
	}
	of := combinations[op]
	if op == ir.MaxLanes && k.Float() { // NaN if either is
		of = fmt.Sprintf("select(select(x, y, x < y), x + y, %[1]s(x) || %[1]s(y))", w.function("is_nan"))
	}
	stored, from, result := t, "v", name+"_of[0]"
	if t == "bool" { // drivers lose conditions in workgroup memory
		stored, from, result = "u32", "u32(v)", result+" != 0u"
	}
	w.across[name] = fmt.Sprintf(`var<workgroup> %s_of: array<%s, %d>;
fn %s(v: %s, lane: u32) -> %s {
  workgroupBarrier();
  %s_of[lane] = %s;
  workgroupBarrier();
  for (var n = %du; n > 0u; n >>= 1u) {
    if (lane < n) {
      let x = %s_of[lane];
      let y = %s_of[lane + n];
      %s_of[lane] = %s;
    }
    workgroupBarrier();
  }
  return %s;
}
`, name, stored, w.size, name, t, t, name, from, w.size/2, name, name, name, of, result)
	return name
}
