package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text is the report as tables.
func (r *Report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s", counted(len(r.Kernels), "kernel"), r.Device)
	if len(r.Copies) > 0 {
		fmt.Fprintf(&b, ", %s", counted(len(r.Copies), "copy"))
	}
	fmt.Fprintf(&b, ", %s of temporaries, compiled in %s\n", bytes(r.Temporary), seconds(r.Compile))
	if len(r.Kernels) > 0 {
		b.WriteByte('\n')
		r.kernels(&b)
	}
	if len(r.Buffers) > 0 {
		b.WriteByte('\n')
		rows := [][]string{{"buffer", "role", "what", "size"}}
		for i, x := range r.Buffers {
			rows = append(rows, []string{"b" + strconv.Itoa(i), x.Role, x.typeAndShape(), bytes(x.Bytes)})
		}
		table(&b, rows, "<<<>")
	}
	if len(r.Copies) > 0 {
		b.WriteByte('\n')
		rows := [][]string{{"copy", "to", "size"}}
		for _, c := range r.Copies {
			rows = append(rows, []string{"b" + strconv.Itoa(c.From), "b" + strconv.Itoa(c.To), bytes(c.Bytes)})
		}
		table(&b, rows, "<<>")
	}
	return b.String()
}

func (r *Report) kernels(b *strings.Builder) {
	rows := [][]string{{"#", "kernel", "reads", "writes", "work", "memory"}}
	align := "><<<>>"
	if r.Runs > 0 {
		rows[0] = append(rows[0], "calls", "time", "mean", "share", "GFLOP/s", "GB/s")
		align += ">>>>>>"
	}
	total := Kernel{}
	for _, k := range r.Kernels {
		total.Ops += k.Ops
		total.Bytes += k.Bytes
		total.Fastest += k.Fastest
		total.Mean += k.Mean
	}
	line := func(first []string, k Kernel) {
		row := append(first, flops(k.Ops), bytes(k.Bytes))
		if r.Runs > 0 {
			share := 0.0
			if total.Fastest > 0 {
				share = 100 * k.Fastest / total.Fastest
			}
			row = append(row, strconv.Itoa(r.Runs), seconds(k.Fastest), seconds(k.Mean), fmt.Sprintf("%.0f %%", share),
				rate(float64(k.Ops), k.Fastest), rate(float64(k.Bytes), k.Fastest))
		}
		rows = append(rows, row)
	}
	for i, k := range r.Kernels {
		line([]string{strconv.Itoa(i), k.Name, named(k.Reads), named(k.Writes)}, k)
	}
	if len(r.Kernels) > 1 {
		line([]string{"", "all", "", ""}, total)
	}
	table(b, rows, align)
}

// code is the code of all kernels, each under its computation.
func (r *Report) code() string {
	var b strings.Builder
	for i, k := range r.Kernels {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "--- kernel %d: %s\n%s--- %s\n%s", i, k.Name, k.Graph, k.Language, k.Code)
	}
	return b.String()
}

// mostNamed is the limit of buffers named in a line of a table.
const mostNamed = 8

func named(list []int) string {
	var s []string
	for i, b := range list {
		if i == mostNamed {
			s = append(s, fmt.Sprintf("+%d", len(list)-mostNamed))
			break
		}
		s = append(s, "b"+strconv.Itoa(b))
	}
	return strings.Join(s, " ")
}

// typeAndShape is the type and the shape of a buffer.
func (x *Buffer) typeAndShape() string {
	s := make([]string, len(x.Shape))
	for i, n := range x.Shape {
		s[i] = strconv.FormatInt(n, 10)
	}
	return x.DType + " (" + strings.Join(s, ",") + ")"
}

func counted(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(what, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// table writes rows in columns; align has < or > for each.
func table(b *strings.Builder, rows [][]string, align string) {
	width := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			gap := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if align[i] == '<' {
				line += cell + gap + "  "
			} else {
				line += gap + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// scaled is a number with three digits and a unit; consecutive units differ by the factor step.
func scaled(x, step float64, units ...string) string {
	i := 0
	for x >= step && i < len(units)-1 {
		x /= step
		i++
	}
	return strings.TrimRight(digits(x)+" "+units[i], " ")
}

func digits(x float64) string {
	switch {
	case x == float64(int64(x)) && x < 1e4:
		return strconv.Itoa(int(x))
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func bytes(n int64) string {
	return scaled(float64(n), 1024, "B", "KiB", "MiB", "GiB", "TiB")
}

func flops(n int64) string {
	return scaled(float64(n), 1000, "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP")
}

func seconds(s float64) string { return scaled(s*1e9, 1000, "ns", "µs", "ms", "s") }

// rate is amount per second in billions.
func rate(amount, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return digits(amount / seconds / 1e9)
}
