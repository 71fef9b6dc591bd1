package model

import (
	"fmt"

	"polygrad/core/uop"
)

// Role is the purpose of a named buffer.
type Role uint8

// The roles, as files and the C interface number them.
const (
	Param Role = iota
	Input
	Target
	Output
	Aux
)

var roleNames = [...]string{"parameter", "input", "target", "output", "auxiliary"}

// String is the name of the role.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// Names with a meaning: the entry points of the families, and the buffer of the loss.
const (
	EntryForward = "forward"
	EntryLoss    = "loss"
	// EntryCrossEntropy is the loss of language models against the target tokens y.
	EntryCrossEntropy = "cross_entropy"
)

// Variable is a named buffer of a definition.
type Variable struct {
	Name  string
	Role  Role
	Shape []int64
	// Node is the BUFFER, nil if no entry point uses it.
	Node *uop.UOp
	// Stored is the data type of an array that the instance keeps beside its float32 buffers (see storages), nil for a buffer.
	// With int8, PerColumn selects scale factors of columns instead of rows.
	Stored    *uop.DType
	PerColumn bool
}

// Entry is a program of a definition: a SINK of STOREs and ASSIGNs.
type Entry struct {
	Name string
	Sink *uop.UOp
}

// Definition is a model without memory. All its nodes belong to one graph of its own.
type Definition struct {
	Graph     *uop.Graph
	Variables []Variable
	Entries   []Entry
}

// maxDims is the number of dimensions that files and the C interface allow for a named buffer.
const maxDims = 8

// maxElements keeps sizes in bytes far from overflow.
const maxElements = 1 << 40

// elements is the product of the sizes of a shape.
func elements(shape []int64) (int64, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("%d dimensions, expected at most %d", len(shape), maxDims)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		}
		if d > 0 && n > maxElements/d {
			return 0, fmt.Errorf("shape %v has too many elements", shape)
		}
		n *= d
	}
	return n, nil
}
