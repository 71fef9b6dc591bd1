package webgpu

// tune does nothing: a page keeps no results, and its thread cannot wait.
func (a *adapter) tune(*Device) {}
