/* Sorts of rows of numbers by vectors of 64 bytes, AVX-512. */
#ifndef POLY_NATIVE_SORT_H
#define POLY_NATIVE_SORT_H

#include <stdint.h>

/* Kinds of numbers, unsigned ones otherwise, and their order, of floats with NaN as the greatest number. */
enum { POLY_FLOATS = 1, POLY_SIGNED = 2, POLY_DESCENDING = 4 };

/* Sorts rows of n numbers from one buffer into another: args are to, from, the first row, how many rows, and memory for n numbers, as of
 * a kernel. */
void poly_native_sort32(const uint64_t *args, uint64_t n, unsigned kind);
void poly_native_sort64(const uint64_t *args, uint64_t n, unsigned kind);

/* For threads that share a row; see sort_lanes.h. */
enum { POLY_MOST_PARTS = 32 };
void poly_native_sort_shared32(const uint64_t *args, uint64_t n, unsigned kind, unsigned parts, unsigned step);
void poly_native_sort_shared64(const uint64_t *args, uint64_t n, unsigned kind, unsigned parts, unsigned step);

/* Their addresses. */
uintptr_t poly_native_sort_shared_address32(void);
uintptr_t poly_native_sort_shared_address64(void);
uintptr_t poly_native_sort_address32(void);
uintptr_t poly_native_sort_address64(void);

#endif
