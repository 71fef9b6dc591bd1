package files

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// openRegular opens a regular file for reading, and says how many bytes it has.
func openRegular(path string) (*os.File, int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|doNotWait, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is no regular file (%s)", info.Mode().Type())}
	case info.Size() > math.MaxInt:
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.EFBIG}
	default:
		return f, int(info.Size()), nil
	}
	_ = f.Close()
	return nil, 0, err
}
