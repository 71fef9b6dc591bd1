//go:build linux && amd64 && cgo

package code

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"polygrad/core/settings"
)

// perf shows names of code without a file if /tmp/perf-<pid>.map has them: address, size and name in each line.
var perfMap struct {
	sync.Mutex
	file *os.File
}

// perfWanted reports whether names are wanted.
func perfWanted() bool { return settings.Perf.On() }

func perfMapPath() string { return fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()) }

// writePerfMap names code that was loaded.
func writePerfMap(texts []text, at []block) error {
	if !perfWanted() {
		return nil
	}
	var lines strings.Builder
	for i, t := range texts {
		fmt.Fprintf(&lines, "%x %x %s\n", at[i].entry(), len(t.code), strings.ReplaceAll(t.name, "\n", " "))
	}
	perfMap.Lock()
	defer perfMap.Unlock()
	if perfMap.file == nil {
		f, err := os.OpenFile(perfMapPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return fmt.Errorf("POLY_PERF: %w", err)
		}
		perfMap.file = f
	}
	if _, err := perfMap.file.WriteString(lines.String()); err != nil {
		return fmt.Errorf("POLY_PERF: %w", err)
	}
	return nil
}
