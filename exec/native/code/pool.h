/* The threads that share the work of a kernel, and the call of generated code from C. */
#ifndef POLY_NATIVE_POOL_H
#define POLY_NATIVE_POOL_H

#include <stddef.h>
#include <stdint.h>

/* A kernel: where its code is, how many arguments a caller gives (addresses of buffers, values of variables), its
 * work items, and the memory that each thread needs for it, multiples of 64 bytes. */
typedef struct {
  uintptr_t entry;
  int64_t args;
  int64_t items;
  uint64_t frame, scratch;
} poly_native_kernel_t;

/* Behind the arguments there is room for these: the first item, the number of items, the address of scratch memory. */
enum { POLY_OWN_WORDS = 3 };

enum { POLY_MAX_THREADS = 256, POLY_MAX_PIECES = 32 };

/* Runs a kernel on up to so many threads, the caller's among them, and waits. memory is the caller's, for its frame and
 * then its scratch memory. The part of each thread is cut into pieces (1 to POLY_MAX_PIECES). */
void poly_native_run(const poly_native_kernel_t *k, uint64_t *args, uintptr_t memory, int threads, int pieces);

/* The function that calls generated code from C: void enter(uintptr_t entry, uint64_t *args, uintptr_t memory). */
uintptr_t poly_native_enter_address(void);

/* How often workers had to be woken, how often a caller slept until they were done, how often it found them busy. */
typedef struct {
  uint64_t woken, slept, alone;
} poly_native_counts_t;
void poly_native_counts(poly_native_counts_t *counts);

/* Returns when all workers that there are sleep. */
void poly_native_settle(void);

#endif
