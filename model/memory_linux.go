package model

import "syscall"

// wantHugePages asks for large pages, which translate addresses faster, before memory is first touched. It is advice only.
func wantHugePages(mem []byte) {
	const least = 4 << 20
	if len(mem) >= least {
		_ = syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	}
}
