//go:build !linux

package model

func wantHugePages([]byte) {}
