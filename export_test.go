package polygrad

// Values is how many values a context has after the collector has run, for tests outside of the package.
func (c *Context) Values() int { return c.count() }
