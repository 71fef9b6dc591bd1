// Package files reads and writes model files: safetensors (one file or a folder of shards), GGUF, PyTorch's .pth, and JSON.
//
//	f, err := files.Open("model.safetensors") // or .gguf, .pth, a folder with model.safetensors.index.json
//	defer f.Close()
//	for _, t := range f.Tensors {
//		out := make([]float32, t.Numel())
//		err = t.Floats(out) // from any type, quantised ones too
//	}
//
// Files are mapped into memory, so opening one costs little whatever its size: the bytes of a tensor are read on first use. The
// mapping is private: writes to it stay in this process. A file must not be truncated while it is open.
//
// Every size and offset in a file is checked against the file's own size; errors name the file, the tensor and the numbers. No
// reader allocates more than a small multiple of the bytes that it reads, and no code in a file is run.
package files
