package device

import (
	"polygrad/core/lower"
	"polygrad/core/uop"
)

// Lister is a Device that shows the code of its kernels.
type Lister interface {
	// List is the code of a linear list, and its language.
	List(p *lower.Program) (language, code string, err error)
}

// Listing is the code of a kernel: the device's, or else its linear list.
func Listing(d Device, p *lower.Program) (language, code string, err error) {
	if l, ok := d.(Lister); ok {
		return l.List(p)
	}
	return "linear list", uop.DumpList(p.Linear), nil
}
