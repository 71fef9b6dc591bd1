package abi

import "testing"

func TestEdges(t *testing.T) { run(t, compile(t, "edges.c")) }
