// Package model holds models as data: a graph with named buffers and entry
// points, the memory of its parameters, and the optimizer that trains them.
//
// A Definition is a model without memory. The families (MLP, TabM, NAM, GPT2)
// make one from a configuration, ReadIR makes one from a file. New gives it
// memory: an Instance computes, learns, and is saved as bytes again (IR,
// safetensors, bundle).
package model
