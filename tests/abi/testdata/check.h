/* Checks for the programs of this folder. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polygrad.h"

static int failures;

#define CHECK(cond)                                                                        \
  do {                                                                                     \
    if (!(cond)) {                                                                         \
      failures++;                                                                          \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #cond, poly_last_error()); \
    }                                                                                      \
  } while (0)

/* The expression fails, and the last error has both words: function and argument. */
#define FAILS(expr, function, word)                                                        \
  do {                                                                                     \
    poly_clear_error();                                                                    \
    int failed = !(expr);                                                                  \
    const char *text = poly_last_error();                                                  \
    if (!failed || strncmp(text, function ":", sizeof function) != 0 || !strstr(text, word)) { \
      failures++;                                                                          \
      fprintf(stderr, "%s:%d: %s: %s, error \"%s\", expected one of " function " with \"%s\"\n", __FILE__, \
              __LINE__, #expr, failed ? "failed" : "did not fail", text, word);            \
    }                                                                                      \
  } while (0)

static inline int near(double a, double b) { return fabs(a - b) <= 1e-5 * (1 + fabs(b)); }

/* A float32 tensor on memory of the caller. */
static inline PolyUOp *host(PolyCtx *ctx, float *data, int64_t rows, int64_t cols) {
  int64_t shape[2] = {rows, cols};
  if (rows == 0) return poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape + 1, 1, data, (size_t)cols * 4);
  return poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 2, data, (size_t)(rows * cols) * 4);
}

/* Computes one node into memory: 0 or -1. */
static inline int into(PolyCtx *ctx, PolyUOp *node, void *data) {
  return poly_realize_into(ctx, &node, &data, 1, NULL);
}

static inline int report(void) {
  if (failures) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}

#endif
