package files

import "syscall"

// noReserve keeps the system from counting a private mapping, of which few pages are ever written, against its memory.
const noReserve = syscall.MAP_NORESERVE
