package beam

import (
	"fmt"
	"strconv"
)

// maxWidth is the widest beam.
const maxWidth = 64

// Width reads POLY_BEAM: how many choices a search goes on from, 0 for no search.
func Width(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxWidth {
		return 0, fmt.Errorf("POLY_BEAM: got %q, expected 0 (no search) to %d", text, maxWidth)
	}
	return n, nil
}
