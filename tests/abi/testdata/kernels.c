/* Kernels of many shapes on memory of exactly their size, which tools that look at memory watch, and then a product again
 * and again for as many seconds as the argument says, for a profiler. */
#include <time.h>

#include "check.h"

static float *numbers(int64_t n) {
  float *p = malloc((size_t)n * sizeof *p);
  for (int64_t i = 0; i < n; i++) p[i] = (float)(i % 7) - 3;
  return p;
}

/* Each element decides something: of what was never written that would be told. */
static int bounded(const float *p, int64_t n) {
  int all = 1;
  for (int64_t i = 0; i < n; i++)
    if (!(fabsf(p[i]) < 1e6f)) all = 0;
  return all;
}

static void compute(PolyCtx *ctx, PolyUOp *node, int64_t n) {
  float *out = malloc((size_t)n * sizeof *out);
  CHECK(into(ctx, node, out) == 0 && bounded(out, n));
  free(out);
}

static void shapes(int64_t n, int64_t m) {
  PolyCtx *ctx = poly_ctx_new();
  float *x = numbers(n * m), *w = numbers(m * n), *bias = numbers(n), *out = malloc((size_t)(n * n) * sizeof *out);
  int64_t row[1] = {n}, two[2] = {n, m}, swap[2] = {1, 0}, last[1] = {1}, first[1] = {0}, pads[2][2] = {{1, 2}, {0, 3}};
  PolyUOp *a = host(ctx, x, n, m), *b = host(ctx, w, m, n), *c = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, row, 1, bias, (size_t)n * 4);
  PolyUOp *product = poly_alu2(ctx, POLY_OP_ADD, poly_matmul(ctx, a, b), c);
  CHECK(into(ctx, product, out) == 0);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = bias[j];
      for (int64_t k = 0; k < m; k++) sum += x[i * m + k] * w[k * n + j];
      CHECK(out[i * n + j] == sum);
    }
  compute(ctx, poly_softmax(ctx, a, two, 2, 1), n * m);
  compute(ctx, poly_softmax(ctx, a, two, 2, 0), n * m);
  compute(ctx, poly_reduce(ctx, POLY_REDUCE_SUM, a, first, 1, 0, 0), m);
  compute(ctx, poly_reduce(ctx, POLY_REDUCE_MAX, poly_exp(ctx, a), last, 1, 0, 0), n);
  compute(ctx, poly_alu2(ctx, POLY_OP_ADD, poly_permute(ctx, a, swap, 2), b), n * m);
  compute(ctx, poly_gelu(ctx, poly_pad(ctx, a, pads, 2)), (n + 3) * (m + 3));
  compute(ctx, poly_cast_by_id(ctx, poly_cast_by_id(ctx, a, POLY_DTYPE_FLOAT16), POLY_DTYPE_FLOAT32), n * m);
  compute(ctx, poly_cast_by_id(ctx, poly_cast_by_id(ctx, a, POLY_DTYPE_INT8), POLY_DTYPE_FLOAT32), n * m);
  free(x), free(w), free(bias), free(out);
  poly_ctx_destroy(ctx);
}

static void images(int64_t in, int64_t out, int64_t size) {
  PolyCtx *ctx = poly_ctx_new();
  int64_t image[4] = {2, in, size, size}, window[4] = {out, in, 3, 3}, padding[4] = {1, 1, 1, 1};
  float *x = numbers(2 * in * size * size), *w = numbers(out * in * 9);
  PolyUOp *a = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, image, 4, x, (size_t)(2 * in * size * size) * 4);
  PolyUOp *b = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, window, 4, w, (size_t)(out * in * 9) * 4);
  compute(ctx, poly_conv(ctx, a, b, NULL, 1, NULL, NULL, padding, 2), 2 * out * size * size);
  free(x), free(w);
  poly_ctx_destroy(ctx);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void again(double seconds) {
  enum { N = 160 };
  PolyCtx *ctx = poly_ctx_new();
  float *x = numbers(N * N), *out = malloc(N * N * sizeof *out);
  PolyUOp *a = host(ctx, x, N, N), *y = poly_matmul(ctx, a, a);
  void *data[1] = {out};
  PolyStep *step = poly_compile_update(ctx, &y, data, 1, NULL, NULL, 0);
  CHECK(step != NULL);
  for (double end = now() + seconds; step && now() < end;) CHECK(poly_step_run(step, NULL, 0) == 0);
  poly_step_destroy(step);
  free(x), free(out);
  poly_ctx_destroy(ctx);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {1, 5, 16, 33};
  enum { N = sizeof sizes / sizeof sizes[0] };
  for (int i = 0; i < N; i++) shapes(sizes[i], sizes[(i + 1) % N] + 2);
  images(3, 5, 7);
  images(8, 16, 10);
  if (argc > 1) again(atof(argv[1]));
  return report();
}
