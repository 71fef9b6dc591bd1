package main

import "polygrad/capi/handle"

type step struct{ entry *handle.Entry }
type begun struct{}
