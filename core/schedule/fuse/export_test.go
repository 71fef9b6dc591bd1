package fuse

// For tests of the steps before there are kernels.
var (
	StorePads   = storePads
	StoreShared = storeShared
)
