// Package report describes a computation: its kernels with their buffers, work, code and times. exec.Inspect makes reports.
package report

import (
	"encoding/json"
	"fmt"

	"polygrad/core/draw"
)

// Code is the format of In for the code of all kernels; the other formats are draw's.
const Code draw.Format = 4

// A Report is a computation on a device.
type Report struct {
	Device string `json:"device"`
	// Kernels are in execution order.
	Kernels []Kernel `json:"kernels"`
	Buffers []Buffer `json:"buffers"`
	Copies  []Copy   `json:"copies"`
	// Temporary is the size in bytes of the memory for temporaries.
	Temporary int64 `json:"temporary_bytes"`
	// Compile is the time of compilation in seconds, all kernels anew.
	Compile float64 `json:"compile_seconds"`
	// Runs is the number of timed runs.
	Runs int `json:"runs"`
}

// A Buffer is a buffer of the kernels.
type Buffer struct {
	// Role is input, output, updated (read and written) or temporary.
	Role  string  `json:"role"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"`
}

// A Copy is a copy of memory before or after the kernels.
type Copy struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`
}

// A Kernel is one launch.
type Kernel struct {
	Name string `json:"name"`
	// Reads and Writes are numbers of buffers.
	Reads  []int `json:"reads"`
	Writes []int `json:"writes"`
	// Ops is the estimated number of arithmetic operations of a run, Bytes of bytes touched.
	Ops   int64 `json:"flops"`
	Bytes int64 `json:"bytes"`
	// Fastest and Mean are seconds of a run, 0 without runs.
	Fastest float64 `json:"seconds"`
	Mean    float64 `json:"mean_seconds"`
	// Graph is its computation, as a tree. Language and Code are the generated code.
	Graph    string `json:"graph"`
	Language string `json:"language"`
	Code     string `json:"code"`
}

// In writes the report in a format.
func (r *Report) In(f draw.Format) (string, error) {
	switch f {
	case draw.Text:
		return r.text(), nil
	case draw.JSON:
		all := *r
		all.Kernels, all.Buffers, all.Copies = list(r.Kernels), list(r.Buffers), list(r.Copies)
		b, err := json.Marshal(struct {
			*Report
			Text string `json:"text"`
		}{&all, r.text()})
		return string(b) + "\n", err
	case draw.DOT, draw.SVG:
		return r.Graph().In(f)
	case Code:
		return r.code(), nil
	}
	return "", fmt.Errorf("report: format %d, expected 0 (text), 1 (JSON), 2 (DOT), 3 (SVG) or 4 (code)", f)
}

// list is a list that is [] in JSON if it is empty, not null.
func list[E any](s []E) []E { return append([]E{}, s...) }

// Graph is the dependences of kernels and buffers. A buffer that is written again becomes another node.
func (r *Report) Graph() *draw.Graph {
	g := &draw.Graph{}
	now := map[int]int{}
	add := func(n draw.Node) int {
		g.Nodes = append(g.Nodes, n)
		return len(g.Nodes) - 1
	}
	buffer := func(b int, sources ...int) int {
		at := add(draw.Node{
			Name: fmt.Sprintf("b%d %s", b, r.Buffers[b].Role), Detail: r.Buffers[b].typeAndShape(), Kind: draw.Memory,
			Sources: append([]int{}, sources...),
		})
		now[b] = at
		return at
	}
	read := func(b int) int {
		if at, ok := now[b]; ok {
			return at
		}
		return buffer(b)
	}
	for i, k := range r.Kernels {
		var sources []int
		for _, b := range k.Reads {
			sources = append(sources, read(b))
		}
		detail := flops(k.Ops)
		if k.Fastest > 0 {
			detail += ", " + seconds(k.Fastest)
		}
		at := add(draw.Node{Name: fmt.Sprintf("%d: %s", i, k.Name), Detail: detail, Kind: draw.Math, Sources: append([]int{}, sources...)})
		for _, b := range k.Writes {
			buffer(b, at)
		}
	}
	for _, c := range r.Copies {
		at := add(draw.Node{Name: "copy", Detail: bytes(c.Bytes), Kind: draw.Movement, Sources: []int{read(c.From)}})
		buffer(c.To, at)
	}
	for i := range g.Nodes {
		g.Roots = append(g.Roots, i)
	}
	return g
}
