package model

import "syscall"

// wantHugePages asks for large pages, whose addresses are translated faster, for memory that is not yet touched. It is
// advice only.
func wantHugePages(mem []byte) {
	const least = 4 << 20
	if len(mem) >= least {
		_ = syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	}
}
