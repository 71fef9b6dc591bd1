/* What calls cost in C. Prints {"c": {"node", "realize", "rerun", "call"}} in us: the
 * median of an addition in a chain of new nodes, of one with its result, of running a
 * compiled one again, and of a call that only asks a question. */
#define _POSIX_C_SOURCE 200809L
#include <polygrad.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES = 100, ROUNDS = 2000, UNTIMED = 100, SIZE = 10 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times) {
  qsort(times, ROUNDS, sizeof *times, compare);
  return times[ROUNDS / 2];
}

static void need(int good) {
  if (good) return;
  fprintf(stderr, "calls.c: %s\n", poly_last_error());
  exit(1);
}

static PolyUOp *leaf(PolyCtx *ctx, float *data) {
  int64_t shape[1] = {SIZE};
  PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, data, SIZE * sizeof *data);
  need(x != NULL);
  return x;
}

int main(void) {
  static double times[ROUNDS];
  float a[SIZE], b[SIZE], out[SIZE];
  for (int i = 0; i < SIZE; i++) a[i] = b[i] = (float)i;
  PolyCtx *ctx = poly_ctx_new();
  need(ctx != NULL);
  PolyUOp *y = leaf(ctx, b);

  for (int round = -UNTIMED; round < ROUNDS; round++) {
    PolyUOp *made[NODES + 1] = {leaf(ctx, a)}; /* a new one: so the sums are new too */
    double start = now_us();
    for (int i = 0; i < NODES; i++) made[i + 1] = poly_binary(ctx, POLY_ADD, made[i], y);
    if (round >= 0) times[round] = (now_us() - start) / NODES;
    need(made[NODES] != NULL);
    poly_uop_release_n(ctx, made, NODES + 1);
  }
  double node = median(times);

  PolyUOp *x = leaf(ctx, a);
  for (int round = -UNTIMED; round < ROUNDS; round++) {
    double start = now_us();
    PolyUOp *sum = poly_binary(ctx, POLY_ADD, x, y);
    void *data = out;
    need(poly_realize_into(ctx, &sum, &data, 1, NULL) == 0);
    poly_uop_release(ctx, sum);
    if (round >= 0) times[round] = now_us() - start;
  }
  need(out[SIZE - 1] == 2 * a[SIZE - 1]);
  double realize = median(times);

  PolyUOp *sum = poly_binary(ctx, POLY_ADD, x, y);
  void *data = out;
  PolyStep *step = poly_compile_update(ctx, &sum, &data, 1, NULL, NULL, 0);
  need(step != NULL);
  for (int round = -UNTIMED; round < ROUNDS; round++) {
    double start = now_us();
    for (int i = 0; i < NODES; i++) need(poly_step_run(step, NULL, 0) == 0);
    if (round >= 0) times[round] = (now_us() - start) / NODES;
  }
  double rerun = median(times);

  for (int round = -UNTIMED; round < ROUNDS; round++) {
    double start = now_us();
    for (int i = 0; i < NODES; i++) need(poly_device_count() > 0);
    if (round >= 0) times[round] = (now_us() - start) / NODES;
  }
  printf("{\"c\": {\"node\": %.4f, \"realize\": %.4f, \"rerun\": %.4f, \"call\": %.4f}}\n", node,
         realize, rerun, median(times));
  poly_step_destroy(step);
  poly_ctx_destroy(ctx);
  return 0;
}
