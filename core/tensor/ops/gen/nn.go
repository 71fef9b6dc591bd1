package main

import (
	"slices"
	"strings"

	"polygrad/core/tensor/ops"
)

// isOwn reports whether an operation is only there for a class, and no method of tensors.
func isOwn(c *ops.Class, op *ops.Op) bool { return op != nil && strings.HasPrefix(op.Name, c.Name) }

// classConstant is the name of the number of an operation of a class.
func classConstant(op *ops.Op) string { return strings.ToUpper(strings.ReplaceAll(op.Name, ".", "_")) }

// A forwardParam is a parameter of what a layer computes, and whether the layer itself has it: as a weight or a setting.
type forwardParam struct {
	*ops.Param
	own bool
}

func forwardParams(c *ops.Class) []forwardParam {
	list := make([]forwardParam, len(c.Forward.Params))
	for i := range list {
		p := &c.Forward.Params[i]
		list[i] = forwardParam{p, slices.ContainsFunc(c.Weights, func(w ops.Weight) bool { return w.Name == p.Name }) ||
			slices.ContainsFunc(c.Params, func(q ops.Param) bool { return q.Name == p.Name })}
	}
	return list
}
