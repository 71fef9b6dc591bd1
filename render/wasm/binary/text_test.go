package binary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// Every instruction of op.go has a name of its own, in the form that the text format has.
func TestNamesOfInstructions(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "op.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				declared += len(s.(*ast.ValueSpec).Names)
			}
		}
	}
	if declared < 200 || len(names) != declared {
		t.Errorf("%d names for %d instructions", len(names), declared)
	}
	form := regexp.MustCompile(`^(([if](8|16|32|64)(x\d+)?|v128|local|memory)\.)?[a-z][a-z0-9_]*$`)
	seen := map[string]Op{}
	for op, name := range names {
		if !form.MatchString(name) {
			t.Errorf("%#x: %q", uint32(op), name)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%#x and %#x are both %q", uint32(op), uint32(other), name)
		}
		seen[name] = op
	}
}

func TestText(t *testing.T) {
	m := &Module{}
	m.Memory("memory", 1, 2)
	c := NewCode(I32, F32)
	x := c.Local(V128)
	c.Local(I32)
	c.Block(Empty)
	c.Loop(I32)
	c.Get(0)
	c.Mem(V128Load, 16)
	c.Tee(x)
	c.MemLane(V128Load32Lane, 4, 3)
	c.Lane(F32x4ExtractLane, 2)
	c.V128(1, 1<<63)
	c.Shuffle([16]byte{15, 1})
	c.Op(F32x4Add)
	c.Op(F32x4RelaxedMadd)
	c.I32(-5)
	c.I64(-1 << 63)
	c.I64(1 << 40)
	c.F32(1.5)
	c.F64(-0.25)
	c.MemoryCopy()
	c.If(F64)
	c.Br(2)
	c.Else()
	c.BrIf(0)
	c.End()
	c.Call(0)
	c.Mem(I32Store8, 0)
	c.End()
	c.End()
	m.Func("k0", c)
	m.Func("", NewCode(), F64)
	want := `(module
  (memory (export "memory") 1 2)
  (func $0 (export "k0") (param i32 f32)
    (local v128)
    (local i32)
    block
      loop (result i32)
        local.get 0
        v128.load offset=16
        local.tee 2
        v128.load32_lane offset=4 3
        f32x4.extract_lane 2
        v128.const i64x2 0x1 0x8000000000000000
        i8x16.shuffle 15 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0
        f32x4.add
        f32x4.relaxed_madd
        i32.const -5
        i64.const -9223372036854775808
        i64.const 1099511627776
        f32.const 1.5
        f64.const -0.25
        memory.copy
        if (result f64)
          br 2
        else
          br_if 0
        end
        call 0
        i32.store8
      end
    end
  )
  (func $1 (result f64)
  )
)
`
	got, err := Text(m.Bytes())
	if err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

// A module that is cut off, or has bytes that this package does not write, is an error.
func TestTextOfDamagedModules(t *testing.T) {
	m := &Module{}
	m.Memory("memory", 1, 1)
	c := NewCode(I32)
	c.I64(12345678)
	m.Func("k0", c)
	whole := m.Bytes()
	for n := range len(whole) {
		if n == 8 {
			continue // a module without sections
		}
		if text, err := Text(whole[:n]); err == nil && strings.Contains(text, "i64.const") {
			t.Errorf("%d of %d bytes are read as\n%s", n, len(whole), text)
		}
	}
	bad := strings.Replace(string(whole), "\x42", "\x06", 1)
	if _, err := Text([]byte(bad)); err == nil || !strings.Contains(err.Error(), "0x6") {
		t.Errorf("an unknown instruction: %v", err)
	}
}
