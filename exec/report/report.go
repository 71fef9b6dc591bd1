// Package report tells what a computation is made of: its kernels with their buffers, their work, their code and how
// long they take. exec.Inspect makes reports.
package report

import (
	"encoding/json"
	"fmt"

	"polygrad/core/draw"
)

// Code is the format of In that writes the code of all kernels; the others are those of draw.
const Code draw.Format = 4

// A Report is a computation on a device.
type Report struct {
	Device string `json:"device"`
	// Kernels are in the order in which they run.
	Kernels []Kernel `json:"kernels"`
	Buffers []Buffer `json:"buffers"`
	Copies  []Copy   `json:"copies"`
	// Temporary is the size in bytes of the memory in which all temporaries lie.
	Temporary int64 `json:"temporary_bytes"`
	// Compile is how many seconds compiling took, all kernels anew.
	Compile float64 `json:"compile_seconds"`
	// Runs is how often all kernels were run and timed.
	Runs int `json:"runs"`
}

// A Buffer is memory that kernels work on.
type Buffer struct {
	// Role is input, output, updated (read and written) or temporary.
	Role  string  `json:"role"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"`
}

// A Copy is memory that is copied as it is, before or after the kernels.
type Copy struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`
}

// A Kernel is one thing to run.
type Kernel struct {
	Name string `json:"name"`
	// Reads and Writes are numbers of buffers.
	Reads  []int `json:"reads"`
	Writes []int `json:"writes"`
	// Ops is the number of arithmetic operations of a run, Bytes how much memory it touches: estimates.
	Ops   int64 `json:"flops"`
	Bytes int64 `json:"bytes"`
	// Fastest and Mean are seconds of a run, 0 without runs.
	Fastest float64 `json:"seconds"`
	Mean    float64 `json:"mean_seconds"`
	// Graph is what it computes, as a tree. Language and Code are how it does: the text of what runs.
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
		b, err := json.Marshal(struct {
			*Report
			Text string `json:"text"`
		}{r, r.text()})
		return string(b) + "\n", err
	case draw.DOT, draw.SVG:
		return r.Graph().In(f)
	case Code:
		return r.code(), nil
	}
	return "", fmt.Errorf("report: format %d, expected 0 (text), 1 (JSON), 2 (DOT), 3 (SVG) or 4 (code)", f)
}

// Graph is how kernels and buffers depend on each other. A buffer that is written again is a node of its own.
func (r *Report) Graph() *draw.Graph {
	g := &draw.Graph{}
	now := map[int]int{}
	add := func(n draw.Node) int {
		g.Nodes = append(g.Nodes, n)
		return len(g.Nodes) - 1
	}
	buffer := func(b int, sources ...int) int {
		at := add(draw.Node{
			Name: fmt.Sprintf("b%d %s", b, r.Buffers[b].Role), Detail: r.Buffers[b].what(), Kind: draw.Memory,
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
