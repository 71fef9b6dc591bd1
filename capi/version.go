package main

/*
#include "../include/polygrad.h"
*/
import "C"

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// buildInfo describes the build of the library.
var buildInfo = sync.OnceValue(func() string {
	parts := []string{"version=" + C.POLY_VERSION, "go=" + runtime.Version(), "os=" + runtime.GOOS, "arch=" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				parts = append(parts, "revision="+s.Value)
			case "vcs.modified":
				parts = append(parts, "modified="+s.Value)
			}
		}
	}
	return strings.Join(parts, " ")
})

//export go_poly_version
func go_poly_version() *C.char { return static(C.POLY_VERSION) }

//export go_poly_build_info
func go_poly_build_info() *C.char { return static(buildInfo()) }
