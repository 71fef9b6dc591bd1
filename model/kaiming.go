package model

import "math"

// InitKaiming fills data with uniform numbers in ±sqrt(6/fanIn). They depend on seed, name and position only, so a model has
// the same initial bits everywhere.
func InitKaiming(seed uint64, name string, data []float32, fanIn int64) {
	stream := uint64(0xcbf29ce484222325)
	for i := 0; i < len(name); i++ {
		stream = (stream ^ uint64(name[i])) * 0x100000001b3
	}
	base := seed ^ splitMix(stream)
	bound := float32(math.Sqrt(float64(6 / float32(fanIn))))
	for i := range data {
		u := float32(splitMix(base^splitMix(uint64(i)))>>40) * (1.0 / (1 << 24))
		data[i] = (2*u - 1) * bound
	}
}

// splitMix is the mixing function of the generator SplitMix64.
func splitMix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
