// Package files reads and writes the files in which models are kept: safetensors (one file or a folder of shards), GGUF,
// PyTorch's .pth, and JSON.
//
//	f, err := files.Open("model.safetensors") // or .gguf, .pth, a folder with model.safetensors.index.json
//	defer f.Close()
//	for _, t := range f.Tensors {
//		out := make([]float32, t.Numel())
//		err = t.Floats(out) // from any type, quantised ones too
//	}
//
// Files are mapped into memory, so opening one costs little whatever its size: the bytes of a tensor are read when they
// are used. The mapping is private: what is written into it stays in this process. A file must not be made shorter
// while it is open.
//
// Nothing in a file is believed before it is checked against the file's own size; what is wrong is refused with an error
// that names the file, the tensor and the numbers. No reader allocates more than a small multiple of the bytes that it
// reads, and nothing that a file says is run.
package files
