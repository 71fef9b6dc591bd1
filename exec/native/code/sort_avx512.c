/* Quicksort by vectors of 64 bytes (see sort_lanes.h), for numbers of 32 and of 64 bits. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2,prfchw")
#pragma GCC optimize("O3")
#include "sort_vectors.h"

#define V __m512i
#define LOAD(from) _mm512_loadu_si512(from)
#define STORE(to, v) _mm512_storeu_si512(to, v)
#define AND _mm512_and_si512
#define XOR _mm512_xor_si512

/* The operations on vectors of a type: the first n lanes are a mask, lanes across are those whose numbers differ in some bits. */
#define OPERATIONS(MASK, KNOT, EPI, NUMBERS)                                                                                         \
  typedef MASK NAME(mask);                                                                                                           \
  ALWAYS MASK NAME(first)(uint64_t n) { return (MASK)_bzhi_u32(0xffff, (unsigned)n); }                                               \
  ALWAYS V NAME(load_first)(const NUMBER *from, uint64_t n) { return _mm512_maskz_loadu_##EPI(NAME(first)(n), from); }               \
  ALWAYS void NAME(store_first)(NUMBER *to, V v, uint64_t n) { _mm512_mask_storeu_##EPI(to, NAME(first)(n), v); }                    \
  ALWAYS V NAME(where_first)(uint64_t n, V a, V b) { return _mm512_mask_mov_##EPI(b, NAME(first)(n), a); }                           \
  ALWAYS V NAME(where_greater)(V x, V y, V a, V b) { return _mm512_mask_mov_##EPI(b, _mm512_cmpgt_##EPI##_mask(x, y), a); }          \
  ALWAYS MASK NAME(below)(V x, V y) { return _mm512_cmplt_##EPI##_mask(x, y); }                                                      \
  ALWAYS MASK NAME(at_most)(V x, V y) { return _mm512_cmple_##EPI##_mask(x, y); }                                                    \
  ALWAYS V NAME(lesser)(V a, V b) { return _mm512_min_##EPI(a, b); }                                                                 \
  ALWAYS V NAME(greater)(V a, V b) { return _mm512_max_##EPI(a, b); }                                                                \
  ALWAYS V NAME(signs)(V v) { return _mm512_srai_##EPI(v, 8 * sizeof(NUMBER) - 1); }                                                 \
  ALWAYS MASK NAME(others)(MASK m) { return KNOT(m); }                                                                               \
  ALWAYS V NAME(compress)(V v, unsigned m) { return _mm512_maskz_compress_##EPI((MASK)m, v); }                                       \
  ALWAYS V NAME(across)(V v, int bits) { return _mm512_permutexvar_##EPI(XOR(NUMBERS, SET1(bits)), v); }                             \
  ALWAYS V NAME(pick)(V a, V b, int bit) {                                                                                           \
    return _mm512_mask_mov_##EPI(a, (MASK)(bit == 1 ? 0xaaaa : bit == 2 ? 0xcccc : bit == 4 ? 0xf0f0 : 0xff00), b);                  \
  }

#define LANES 16
#define NUMBER int32_t
#define NAME(f) f##_avx512_32
#define SET1(x) _mm512_set1_epi32((int)(x))
#define INFINITE 0x7f800000
#define NAN_BITS 0x7fc00000
OPERATIONS(__mmask16, _knot_mask16, epi32, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

ALWAYS void NAME(interleave)(V a, V b, V *low, V *high) {
  V at = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *low = _mm512_permutex2var_epi32(a, at, b);
  *high = _mm512_permutex2var_epi32(a, _mm512_add_epi32(at, SET1(8)), b);
}
#include "sort_lanes.h"

#define LANES 8
#define NUMBER int64_t
#define NAME(f) f##_avx512_64
#define SET1(x) _mm512_set1_epi64((long long)(x))
#define INFINITE 0x7ff0000000000000
#define NAN_BITS 0x7ff8000000000001
OPERATIONS(__mmask8, _knot_mask8, epi64, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

ALWAYS void NAME(interleave)(V a, V b, V *low, V *high) {
  V at = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  *low = _mm512_permutex2var_epi64(a, at, b);
  *high = _mm512_permutex2var_epi64(a, _mm512_add_epi64(at, SET1(4)), b);
}
#include "sort_lanes.h"
#endif
