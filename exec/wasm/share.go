package wasm

import "time"

const (
	// shareFrom is the time from which on a run is shared by threads, and pieceTime how long a piece should be.
	shareFrom = 12 * time.Microsecond
	pieceTime = 100 * time.Microsecond
	maxPieces = 16 // for each thread
	// maxSetup is the share of a run that the setup of all its pieces may take.
	maxSetup = 1. / 32
	// A core does about so many operations and moves so many bytes in a nanosecond.
	flopsPerNs, bytesPerNs = 10, 10
)

// share is the number of threads that share a run, and the number of pieces in which each does its part of the work items, which the setup of each
// piece limits.
func share(items int64, threads int, flops, bytes, setup float64) (n, pieces int) {
	took := time.Duration(max(flops/flopsPerNs, bytes/bytesPerNs)) * time.Nanosecond
	n = int(min(int64(threads), items))
	if n <= 1 || took < shareFrom {
		return 1, 1
	}
	most := float64(maxPieces)
	if setup > 0 {
		most = min(most, maxSetup/setup/float64(n))
	}
	return n, max(int(min(float64(took/time.Duration(n)/pieceTime), most)), 1)
}
