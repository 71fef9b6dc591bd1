package files

import "syscall"

// noReserve: a private mapping does not count against the system's memory; few of its pages are ever written.
const noReserve = syscall.MAP_NORESERVE
