package x64

// Features are the features of a processor beyond SSE4.2, the minimum for native code.
type Features struct {
	// AVX512 means AVX-512 F, BW, DQ and VL (and all of AVX2), AVX2 means AVX2, FMA, F16C, BMI1 and BMI2.
	AVX512, AVX2 bool
	// FP16, BF16 and VNNI are the AVX-512 extensions for these types; AMX is tiles of bf16 and int8.
	FP16, BF16, VNNI, AMX bool
}

// Level is the name of the features' level.
func (f Features) Level() string {
	switch {
	case f.AVX512:
		return "avx512"
	case f.AVX2:
		return "avx2"
	}
	return "sse4"
}

// Bytes is the size of a vector register.
func (f Features) Bytes() int {
	switch {
	case f.AVX512:
		return 64
	case f.AVX2:
		return 32
	}
	return 16
}

// Lanes is the number of lanes of a kernel's vectors; wide: some have elements of 8 bytes.
func (f Features) Lanes(wide bool) int {
	if wide {
		return f.Bytes() / 8
	}
	return f.Bytes() / 4
}
