//go:build unix && !linux

package files

const noReserve = 0
