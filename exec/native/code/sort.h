/* Sorts of rows of numbers by vectors, of 64 bytes with AVX-512 or of 32 with AVX2. */
#ifndef POLY_NATIVE_SORT_H
#define POLY_NATIVE_SORT_H

#include <stdint.h>

/* Kinds of numbers, unsigned ones otherwise, and their order, of floats with NaN as the greatest number. */
enum { POLY_FLOATS = 1, POLY_SIGNED = 2, POLY_DESCENDING = 4 };

/* For threads that share a row; see sort_lanes.h. */
enum { POLY_MOST_PARTS = 32 };

/* For numbers of so many bits: the first sorts rows of n numbers from one buffer into another: args are to, from, the first row, how many
 * rows, and memory for n numbers, as of a kernel. The second is a step of threads that share a row. */
#define POLY_DECLARE_SORTS(level, bits)                                                           \
  void poly_native_sort_##level##_##bits(const uint64_t *args, uint64_t n, unsigned kind);        \
  void poly_native_sort_shared_##level##_##bits(const uint64_t *args, uint64_t n, unsigned kind, unsigned parts, unsigned step);
POLY_DECLARE_SORTS(avx512, 32)
POLY_DECLARE_SORTS(avx512, 64)
POLY_DECLARE_SORTS(avx2, 32)
POLY_DECLARE_SORTS(avx2, 64)

/* The address of one: with vectors of so many bytes, numbers of so many. */
static inline uintptr_t poly_native_sort_address(int vector, int number, int shared) {
  uintptr_t rows[2][2] = {{(uintptr_t)poly_native_sort_avx2_32, (uintptr_t)poly_native_sort_avx2_64},
                          {(uintptr_t)poly_native_sort_avx512_32, (uintptr_t)poly_native_sort_avx512_64}};
  uintptr_t steps[2][2] = {{(uintptr_t)poly_native_sort_shared_avx2_32, (uintptr_t)poly_native_sort_shared_avx2_64},
                           {(uintptr_t)poly_native_sort_shared_avx512_32, (uintptr_t)poly_native_sort_shared_avx512_64}};
  return (shared ? steps : rows)[vector == 64][number == 8];
}

#endif
