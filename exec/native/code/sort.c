/* Quicksort by vectors (see sort_lanes.h), for numbers of 32 and of 64 bits. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2")
#pragma GCC optimize("O3")
#include "sort.h"

#include <immintrin.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

/* A pseudo-random number below n, which has at most 40 bits. */
ALWAYS uint64_t below(uint64_t n, uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (*seed >> 40) * n >> 24;
}

#define LANES 16
#define NUMBER uint32_t
#define MASK __mmask16
#define NAME(f) f##32
#define OF(f) f##_epi32
#define OF_UNSIGNED(f) f##_epu32
#define COMPARE(f) f##_epu32_mask
#define SET1(x) _mm512_set1_epi32((int)(x))
#define INFINITE 0x7f800000u
#define NAN_BITS 0x7fc00000u
#include "sort_lanes.h"
#undef LANES
#undef NUMBER
#undef MASK
#undef NAME
#undef OF
#undef OF_UNSIGNED
#undef COMPARE
#undef SET1
#undef INFINITE
#undef NAN_BITS

#define LANES 8
#define NUMBER uint64_t
#define MASK __mmask8
#define NAME(f) f##64
#define OF(f) f##_epi64
#define OF_UNSIGNED(f) f##_epu64
#define COMPARE(f) f##_epu64_mask
#define SET1(x) _mm512_set1_epi64((long long)(x))
#define INFINITE 0x7ff0000000000000u
#define NAN_BITS 0x7ff8000000000001u
#include "sort_lanes.h"
#endif
