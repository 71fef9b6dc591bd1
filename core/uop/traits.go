package uop

// traits are computed when a node is made. A clear bit says that the node certainly lacks a property, so the index arithmetic of a kernel, which is
// most of what rewriting makes, need not be searched for it.
type traits uint8

const (
	mayHaveDevice traits = 1 << iota
	mayHaveShape
)

var (
	deviceSources = Ops(Device, Bufferize)
	shapeSources  = Ops(Buffer, BufferView, EncDec, Bufferize, DefineLocal, DefineReg, Param, ReduceAxis, Result).Union(GroupMovement)
	// shapeIfDevice have the shape of a scalar, but only if they have a device.
	shapeIfDevice = Ops(ConstOp, DefineVar, Bind)
)

// ownTraits are the traits that an operation adds to those of its sources.
func ownTraits(op Op) (t traits) {
	if deviceSources.Has(op) {
		t |= mayHaveDevice
	}
	if shapeSources.Has(op) {
		t |= mayHaveShape
	}
	return t
}

// of are the traits of a node whose operation and sources together have t.
func (t traits) of(op Op, dt *DType) traits {
	switch {
	case noShape.Has(op), op == Index && !dt.IsPtr():
		return t &^ mayHaveShape
	case shapeIfDevice.Has(op):
		t &^= mayHaveShape
		if t&mayHaveDevice != 0 {
			t |= mayHaveShape
		}
	}
	return t
}
