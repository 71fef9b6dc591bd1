package report

import (
	"encoding/json"
	"strings"
	"testing"

	"polygrad/core/draw"
)

func sample() *Report {
	return &Report{
		Device: "native", Temporary: 4096, Compile: 0.0015, Runs: 3,
		Buffers: []Buffer{
			{"output", "float32", []int64{8, 8}, 256}, {"input", "float32", []int64{8}, 32}, {"temporary", "float32", []int64{64}, 256},
			{"updated", "float32", []int64{}, 4},
		},
		Copies: []Copy{{From: 1, To: 3, Bytes: 4}},
		Kernels: []Kernel{
			{Name: "r_8", Reads: []int{1}, Writes: []int{2}, Ops: 3_000_000, Bytes: 1 << 20, Fastest: 0.003, Mean: 0.004, Graph: "SINK\n", Language: "C", Code: "a\n"},
			{Name: "E_8", Reads: []int{2, 3}, Writes: []int{0, 3}, Ops: 64, Bytes: 512, Fastest: 0.001, Mean: 0.001, Graph: "SINK\n", Language: "C", Code: "b\n"},
		},
	}
}

func TestText(t *testing.T) {
	want := `2 kernels on native, 1 copy, 4 KiB of temporaries, compiled in 1.50 ms

#  kernel  reads  writes        work   memory  calls  time  mean  share   GFLOP/s   GB/s
0  r_8     b1     b2         3 MFLOP    1 MiB      3  3 ms  4 ms   75 %         1   0.35
1  E_8     b2 b3  b0 b3      64 FLOP    512 B      3  1 ms  1 ms   25 %  0.00   0.00
   all                    3.00 MFLOP  1.00 MiB     3  4 ms  5 ms  100 %      0.75   0.26

buffer  role       what             size
b0      output     float32 (8,8)   256 B
b1      input      float32 (8)      32 B
b2      temporary  float32 (64)    256 B
b3      updated    float32 ()        4 B

copy  to  size
b1    b3   4 B
`
	got, err := sample().In(draw.Text)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	plain := sample()
	plain.Runs = 0
	if text := plain.text(); strings.Contains(text, "GB/s") || !strings.Contains(text, "3 MFLOP") {
		t.Errorf("without runs:\n%s", text)
	}
}

// Columns stand under their titles: the ends of right-aligned ones are the same in all lines.
func TestTables(t *testing.T) {
	var b strings.Builder
	table(&b, [][]string{{"name", "µ"}, {"a", "100"}, {"long name", "5"}}, "<>")
	want := "name         µ\na          100\nlong name    5\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		bytes(0): "0 B", bytes(1023): "1023 B", bytes(1536): "1.50 KiB", bytes(20 << 30): "20 GiB", bytes(5 << 50): "5120 TiB",
		flops(999): "999 FLOP", flops(12_345): "12.3 kFLOP", flops(2e12): "2 TFLOP", seconds(0.25): "250 ms", seconds(90): "90 s",
		seconds(5e-9): "5 ns", rate(1, 0): "-", rate(5e9, 2): "2.50", counted(1, "copy"): "1 copy", counted(2, "copy"): "2 copies",
		named([]int{1, 2}): "b1 b2", named(make([]int, 10)): "b0 b0 b0 b0 b0 b0 b0 b0 +2",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	text, err := sample().In(draw.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	if fields["text"] != sample().text() {
		t.Errorf("the text is %v", fields["text"])
	}
	first := fields["kernels"].([]any)[0].(map[string]any)
	for _, name := range []string{"name", "reads", "writes", "flops", "bytes", "seconds", "mean_seconds", "graph", "language", "code"} {
		if _, ok := first[name]; !ok {
			t.Errorf("no %s in %s", name, text)
		}
	}
}

// A buffer that is updated is a node before and one after.
func TestGraph(t *testing.T) {
	tree := sample().Graph().Tree()
	for _, want := range []string{"b3 updated", "1: E_8 64 FLOP, 1 ms", "copy 4 B"} {
		if !strings.Contains(tree, want) {
			t.Errorf("no %q in\n%s", want, tree)
		}
	}
	count := 0
	for _, n := range sample().Graph().Nodes {
		if n.Name == "b3 updated" {
			count++
		}
	}
	if count != 3 {
		t.Errorf("b3 is %d nodes, want 3: before and after the kernel, and after the copy", count)
	}
}

func TestCode(t *testing.T) {
	got, err := sample().In(Code)
	want := "--- kernel 0: r_8\nSINK\n--- C\na\n\n--- kernel 1: E_8\nSINK\n--- C\nb\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := sample().In(5); err == nil {
		t.Error("format 5 is none")
	}
}

// The lists of a computation without kernels are empty, not null.
func TestEmptyListsInJSON(t *testing.T) {
	text, err := (&Report{Device: "native"}).In(draw.JSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"kernels":[]`, `"buffers":[]`, `"copies":[]`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s, expected %s in it", text, part)
		}
	}
}
