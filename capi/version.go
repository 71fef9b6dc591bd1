package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// buildInfo describes the build of the library.
var buildInfo = sync.OnceValue(func() string {
	parts := []string{"version=" + headerVersion, "go=" + runtime.Version(), "os=" + runtime.GOOS, "arch=" + runtime.GOARCH}
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

func poly_version() *byte { return static(headerVersion) }

func poly_build_info() *byte { return static(buildInfo()) }
