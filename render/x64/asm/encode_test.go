package asm

import (
	"math/rand/v2"
	"testing"
)

func TestEncodings(t *testing.T) {
	compare(t, maker{Rand: rand.New(rand.NewPCG(1, 2))}.all(8), false)
}

func TestEncodingsWithoutVEX(t *testing.T) {
	compare(t, maker{Rand: rand.New(rand.NewPCG(3, 4)), sse: true}.all(8), true)
}
