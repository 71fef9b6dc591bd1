package polygrad

import "polygrad/variable"

// Values is how many values a context has after the collector has run, for tests outside of the package.
func (c *Context) Values() int { return c.count() }

// AbandonWithInner traces a function of x in one of x, and abandons the outer one only.
func AbandonWithInner(x *Tensor) error {
	x.c.lock()
	defer x.c.unlock()
	outer, args, err := x.c.vars.Express("outer", []*variable.Variable{x.v}, nil)
	if err != nil {
		return err
	}
	_, more, err := x.c.vars.Express("inner", args, nil)
	if err != nil {
		return err
	}
	outer.Abandon()
	for _, v := range append(args, more...) {
		v.Drop()
	}
	return nil
}
