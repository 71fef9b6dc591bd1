//go:build !linux

package files

const noReserve = 0
