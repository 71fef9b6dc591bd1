package main

import "unsafe"

// Records of the header, as they lie in memory; records.c checks the layouts.

// dtypeRecord is PolyDType.
type dtypeRecord struct {
	priority  int8
	bitsize   uint16
	name      *byte
	fmt       byte
	count     uint16
	is_ptr    bool
	addrspace int32
	vcount    uint16
	ptr_size  int64
}

// gpt2Config is GPT2Config.
type gpt2Config struct {
	vocab_size, n_embd, n_head, n_layer, max_seq_len int32
	norm_eps                                         float32
}

// bundleSections is PolyBundleSections.
type bundleSections struct {
	ir          *byte
	ir_len      int32
	weights     *byte
	weights_len int32
	meta        *byte
	meta_len    int32
	version     uint32
	flags       uint32
}

// fileTensor is PolyFileTensor.
type fileTensor struct {
	name  *byte
	data  unsafe.Pointer
	shape *int64
	ndim  int32
	dtype int32
}

// safetensorEntry is PolySafetensorEntry.
type safetensorEntry struct {
	name  *byte
	data  *float32
	shape *int64
	ndim  int32
}

// safetensorView is PolySafetensorView.
type safetensorView struct {
	name  *byte
	data  *float32
	shape [maxOutDims]int64
	ndim  int32
	numel int64
}

// safetensorViewEx is PolySafetensorViewEx.
type safetensorViewEx struct {
	name  *byte
	data  unsafe.Pointer
	shape [maxOutDims]int64
	ndim  int32
	numel int64
	dtype int32
}

// backendDesc is PolyBackendDesc.
type backendDesc struct {
	device        int32
	name, runs_on *byte
}
