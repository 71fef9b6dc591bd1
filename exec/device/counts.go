package device

// Counter is a Device that counts what it does.
type Counter interface{ Counts() Counts }

// Counts are the launches, copies and allocations of a device with its own memory and queue since it was opened.
type Counts struct {
	// Submits is the number of lists of work that it was given; Launches and Copies (between its buffers) are in them.
	Submits, Launches, Copies int64
	// Groups are the sets of arguments that were made for launches, with Bindings buffers in all; other launches reused a set.
	Groups, Bindings int64
	// Pipelines are compiled kernels, Buffers pieces of memory that the driver was asked for.
	Pipelines, Buffers int64
	// Waits is how often the host waited.
	Waits int64
	// In and Out are the bytes copied from and to the host.
	In, Out int64
}

// Minus is the counts since other ones.
func (c Counts) Minus(o Counts) Counts {
	return Counts{
		c.Submits - o.Submits, c.Launches - o.Launches, c.Copies - o.Copies, c.Groups - o.Groups, c.Bindings - o.Bindings,
		c.Pipelines - o.Pipelines, c.Buffers - o.Buffers, c.Waits - o.Waits, c.In - o.In, c.Out - o.Out,
	}
}
