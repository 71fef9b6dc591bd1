/* Short steps that run again and again, which the library learns to run quickly: nothing else may change by that. */
#include <pthread.h>

#include "check.h"

enum { N = 10, OFTEN = 40 };

static PolyStep *step_of(PolyCtx *ctx, PolyUOp *y, float *out) {
  void *data[1] = {out};
  return poly_compile_update(ctx, &y, data, 1, NULL, NULL, 0);
}

/* The values of each run are those that the memory holds then. */
static void values(void) {
  PolyCtx *ctx = poly_ctx_new();
  float in[N], w[N], out[N], sum[1];
  PolyUOp *x = host(ctx, in, 0, N), *y = host(ctx, w, 0, N);
  PolyStep *add = step_of(ctx, poly_alu2(ctx, POLY_OP_ADD, x, y), out);
  int64_t axes[1] = {0};
  /* Two kernels with a temporary between them. */
  PolyStep *mean = step_of(ctx, poly_reduce_axis(ctx, POLY_OP_ADD, poly_contiguous(ctx, poly_alu2(ctx, POLY_OP_MUL, x, y)), axes, 1), sum);
  CHECK(add != NULL && mean != NULL);
  for (int k = 0; k < OFTEN; k++) {
    for (int i = 0; i < N; i++) in[i] = (float)(k + i), w[i] = (float)k;
    CHECK(poly_step_run(add, NULL, 0) == 0 && out[0] == (float)(2 * k) && out[N - 1] == (float)(2 * k + N - 1));
    CHECK(poly_step_run(mean, NULL, 0) == 0 && sum[0] == (float)(k * (N * k + N * (N - 1) / 2)));
  }
  /* Beside a job: one after the other. */
  for (int k = 0; k < OFTEN; k++) {
    in[0] = (float)k;
    PolyJob *job = poly_step_run_async(add, NULL, 0, NULL, 0);
    CHECK(job != NULL && poly_step_run(add, NULL, 0) == 0 && out[0] == (float)k + w[0]);
    poly_job_release(job);
  }
  /* Memory that is taken away is not touched again. */
  CHECK(poly_step_run(add, NULL, 0) == 0);
  poly_uop_release(ctx, x);
  out[0] = -1;
  FAILS(poly_step_run(add, NULL, 0) == 0, "poly_step_run", "not bound to memory");
  CHECK(out[0] == -1);
  poly_step_destroy(mean);
  FAILS(poly_step_run(mean, NULL, 0) == 0, "poly_step_run", "stale");
  poly_ctx_destroy(ctx);
  FAILS(poly_step_run(add, NULL, 0) == 0, "poly_step_run", "stale");
}

/* More steps than there are places for, then others in their stead. */
static void many(void) {
  enum { STEPS = 5000 };
  static PolyStep *steps[STEPS];
  static float in[STEPS], out[STEPS];
  for (int round = 0; round < 2; round++) {
    PolyCtx *ctx = poly_ctx_new();
    for (int s = 0; s < STEPS; s++) {
      in[s] = (float)(s + round);
      PolyUOp *x = host(ctx, in + s, 0, 1);
      steps[s] = step_of(ctx, poly_alu2(ctx, POLY_OP_ADD, x, x), out + s);
    }
    for (int k = 0; k < 8; k++)
      for (int s = 0; s < STEPS; s++) {
        in[s] += 1;
        if (poly_step_run(steps[s], NULL, 0) != 0 || out[s] != 2 * in[s]) {
          CHECK(!"a step of many is wrong");
          return;
        }
      }
    for (int s = 0; s < STEPS; s += 2) poly_step_destroy(steps[s]);
    poly_ctx_destroy(ctx);
  }
}

static PolyCtx *shared;
static PolyStep *shared_step;
static float shared_in[N], shared_out[N];
static int stop;

/* Runs the step until it is gone. */
static void *runs(void *unused) {
  (void)unused;
  while (poly_step_run(shared_step, NULL, 0) == 0) {
  }
  return NULL;
}

/* Works in the same context. */
static void *builds(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    float own[N] = {1}, out[N];
    PolyUOp *x = host(shared, own, 0, N), *y = poly_alu2(shared, POLY_OP_MUL, x, x);
    void *data[1] = {out};
    CHECK(poly_realize_into(shared, &y, data, 1, NULL) == 0 && out[0] == 1);
    poly_uop_release(shared, y);
    poly_uop_release(shared, x);
  }
  return NULL;
}

/* Several threads in one context; the step ends while they run it. */
static void threads(void) {
  for (int round = 0; round < 30; round++) {
    pthread_t t[4];
    shared = poly_ctx_new();
    PolyUOp *x = host(shared, shared_in, 0, N);
    shared_step = step_of(shared, poly_alu2(shared, POLY_OP_ADD, x, x), shared_out);
    CHECK(shared_step != NULL);
    stop = 0;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, i < 3 ? runs : builds, NULL);
    for (int k = 0; k < 200; k++) CHECK(poly_step_run(shared_step, NULL, 0) == 0 && poly_ctx_live_nodes(shared) > 0);
    if (round % 2 == 0) poly_step_destroy(shared_step);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(t[3], NULL);
    poly_ctx_destroy(shared);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  }
}

int main(void) {
  values();
  many();
  threads();
  return failures != 0;
}
