package asm

import (
	"testing"
)

func TestEncodings(t *testing.T) {
	compare(t, newMaker(1, false).all(8), false)
}

func TestEncodingsWithoutVEX(t *testing.T) {
	compare(t, newMaker(3, true).all(8), true)
}
