/* Quicksort by vectors of 32 bytes (see sort_lanes.h), for numbers of 32 and of 64 bits. */
#if defined(__x86_64__)
#include <stdint.h>

/* The lanes of 32 bits, as bytes, that a mask of eight of them, or of four of 64 bits, brings to the front. */
static uint64_t compressed32[256], compressed64[16];

/* It runs when the library is loaded, on all processors, so it is compiled for all of them. */
static void __attribute__((constructor)) list_compressed(void) {
  for (unsigned m = 0; m < 256; m++) {
    unsigned k = 0;
    for (unsigned lane = 0; lane < 8; lane++)
      if (m >> lane & 1) compressed32[m] |= (uint64_t)lane << 8 * k++;
  }
  for (unsigned m = 0; m < 16; m++) compressed64[m] = compressed32[(m & 1) * 3 | (m & 2) * 6 | (m & 4) * 12 | (m & 8) * 24];
}

#pragma GCC target("avx2,popcnt,bmi,bmi2,prfchw")
#pragma GCC optimize("O3")
#include "sort_vectors.h"

#define V __m256i
#define LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define STORE(to, v) _mm256_storeu_si256((__m256i *)(to), v)
#define AND _mm256_and_si256
#define XOR _mm256_xor_si256

ALWAYS V permuted(V v, uint64_t lanes) {
  return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes)));
}

ALWAYS V first(int words) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(words), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }

/* The operations on vectors of a type: the first n lanes are a mask, lanes across are those whose numbers differ in some bits. */
#define OPERATIONS(EPI, MASK_OF, LESSER, GREATER, BITS)                                                                               \
  typedef unsigned NAME(mask);                                                                                                        \
  ALWAYS V NAME(first)(uint64_t n) { return first((int)(n * sizeof(NUMBER) / 4)); }                                                   \
  ALWAYS V NAME(load_first)(const NUMBER *from, uint64_t n) { return _mm256_maskload_epi32((const int *)from, NAME(first)(n)); }      \
  ALWAYS void NAME(store_first)(NUMBER *to, V v, uint64_t n) { _mm256_maskstore_epi32((int *)to, NAME(first)(n), v); }                \
  ALWAYS V NAME(where_first)(uint64_t n, V a, V b) { return _mm256_blendv_epi8(b, a, NAME(first)(n)); }                               \
  ALWAYS V NAME(where_greater)(V x, V y, V a, V b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_##EPI(x, y)); }                     \
  ALWAYS unsigned NAME(below)(V x, V y) { return MASK_OF(_mm256_cmpgt_##EPI(y, x)); }                                                 \
  ALWAYS unsigned NAME(others)(unsigned m) { return m ^ ((1u << LANES) - 1); }                                                        \
  ALWAYS unsigned NAME(at_most)(V x, V y) { return NAME(others)(MASK_OF(_mm256_cmpgt_##EPI(x, y))); }                                 \
  ALWAYS V NAME(signs)(V v) { return _mm256_cmpgt_##EPI(_mm256_setzero_si256(), v); }                                                 \
  ALWAYS V NAME(lesser)(V a, V b) { return LESSER; }                                                                                  \
  ALWAYS V NAME(greater)(V a, V b) { return GREATER; }                                                                                \
  ALWAYS V NAME(compress)(V v, unsigned m) { return permuted(v, compressed##BITS[m]); }

#define LANES 8
#define NUMBER int32_t
#define NAME(f) f##_avx2_32
#define SET1(x) _mm256_set1_epi32((int)(x))
#define INFINITE 0x7f800000
#define NAN_BITS 0x7fc00000
#define MASK_OF(v) (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(v))
OPERATIONS(epi32, MASK_OF, _mm256_min_epi32(a, b), _mm256_max_epi32(a, b), 32)
#undef MASK_OF

ALWAYS V NAME(across)(V v, int bits) {
  switch (bits) {
    case 1: return _mm256_shuffle_epi32(v, 0xb1);
    case 2: return _mm256_shuffle_epi32(v, 0x4e);
    case 3: return _mm256_shuffle_epi32(v, 0x1b);
    case 4: return _mm256_permute4x64_epi64(v, 0x4e);
  }
  return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

ALWAYS V NAME(pick)(V a, V b, int bit) {
  return bit == 1 ? _mm256_blend_epi32(a, b, 0xaa) : bit == 2 ? _mm256_blend_epi32(a, b, 0xcc) : _mm256_blend_epi32(a, b, 0xf0);
}

ALWAYS void NAME(interleave)(V a, V b, V *low, V *high) {
  V x = _mm256_unpacklo_epi32(a, b), y = _mm256_unpackhi_epi32(a, b);
  *low = _mm256_permute2x128_si256(x, y, 0x20);
  *high = _mm256_permute2x128_si256(x, y, 0x31);
}
#include "sort_lanes.h"

#define LANES 4
#define NUMBER int64_t
#define NAME(f) f##_avx2_64
#define SET1(x) _mm256_set1_epi64x((long long)(x))
#define INFINITE 0x7ff0000000000000
#define NAN_BITS 0x7ff8000000000001
#define MASK_OF(v) (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(v))
OPERATIONS(epi64, MASK_OF, _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)), _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)), 64)
#undef MASK_OF

ALWAYS V NAME(across)(V v, int bits) {
  switch (bits) {
    case 1: return _mm256_shuffle_epi32(v, 0x4e);
    case 2: return _mm256_permute4x64_epi64(v, 0x4e);
  }
  return _mm256_permute4x64_epi64(v, 0x1b);
}

ALWAYS V NAME(pick)(V a, V b, int bit) { return bit == 1 ? _mm256_blend_epi32(a, b, 0xcc) : _mm256_blend_epi32(a, b, 0xf0); }

ALWAYS void NAME(interleave)(V a, V b, V *low, V *high) {
  V x = _mm256_unpacklo_epi64(a, b), y = _mm256_unpackhi_epi64(a, b);
  *low = _mm256_permute2x128_si256(x, y, 0x20);
  *high = _mm256_permute2x128_si256(x, y, 0x31);
}
#include "sort_lanes.h"
#endif
