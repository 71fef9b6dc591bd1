package main

import "polygrad/core/settings"

// The variables have their values before any init function reads one.
var _ = copyEnvironment()

func copyEnvironment() bool {
	settings.Copy(environment)
	return true
}
