//go:build unix

package guard

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve maps pages for some bytes between two that nothing can touch.
func reserve(size int) (mapped, room []byte, err error) {
	page := os.Getpagesize()
	n := max((size+page-1)/page, 1) * page
	if mapped, err = unix.Mmap(-1, 0, n+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		return nil, nil, err
	}
	room = mapped[page : page+n : page+n]
	if err := unix.Mprotect(room, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		_ = unix.Munmap(mapped)
		return nil, nil, err
	}
	return mapped, room, nil
}

// Free unmaps the memory.
func (b *Block) Free() { _ = unix.Munmap(b.mapped) }
