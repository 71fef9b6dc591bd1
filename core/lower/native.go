package lower

// Native is the target of kernels that go on to core/nest: lists of scalars with every loop as the scheduler
// made it, since tiles, vectors and threads are chosen there.
func Native() *Target {
	t := Wasm()
	t.Name = "native"
	t.Widths = nil
	t.FlatMemory = false
	t.Devectorize = 1
	t.Plain = true
	return t
}
