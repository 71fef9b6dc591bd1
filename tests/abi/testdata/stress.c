/* Eight threads on contexts of their own and on one that they share, which is
 * destroyed and made anew beneath them; steps, instances and the rest after the
 * end of their context; handles of threads that are no more; threads by the
 * thousand. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 400, TEXT = sizeof "{\"layers\": [3, 4, 2], \"batch_size\": 2, \"loss\": \"mse\"}" - 1 };
static const char mlp[] = "{\"layers\": [3, 4, 2], \"batch_size\": 2, \"loss\": \"mse\"}";

static _Atomic(PolyCtx *) shared; /* lives as long as the program */
static _Atomic(PolyCtx *) fleeting;
static PolyInstance *model;
static PolyStep *_Atomic step_of_fleeting;

/* The right numbers, from a context that nobody takes away. */
static void compute(PolyCtx *ctx, int k) {
  float in[16], out[16], loss[1] = {0};
  for (int i = 0; i < 16; i++) in[i] = (float)(k + i);
  PolyUOp *x = host(ctx, in, 4, 4), *y = poly_binary_float(ctx, POLY_MUL, x, 3, 0), *sum = poly_reduce(ctx, POLY_REDUCE_SUM, y, NULL, -1, 0, 0);
  PolyUOp *values[2] = {y, sum};
  void *data[2] = {out, loss};
  CHECK(poly_realize_into(ctx, values, data, 2, NULL) == 0);
  CHECK(out[0] == 3 * in[0] && out[15] == 3 * in[15] && near(loss[0], 3 * (16 * k + 120)));
  CHECK(poly_exp(ctx, NULL) == NULL && strstr(poly_last_error(), "poly_exp: x: is NULL")); /* this thread's error */
  for (int i = 0; i < 2; i++) poly_uop_release(ctx, values[i]);
  poly_uop_release(ctx, x);
}

/* A step on memory of its own. */
static void loop(PolyCtx *ctx, int k) {
  static _Thread_local float in[4], out[4];
  PolyUOp *x = poly_buffer_f32(ctx, 4), *y = poly_buffer_f32(ctx, 4);
  PolyUOp *store = poly_store_val(ctx, y, poly_square(ctx, x)), *sink = poly_sink1(ctx, store);
  PolyStep *step = poly_compile_step(ctx, sink);
  PolyBufferBinding binds[2] = {{x, {in, 16, 0, false}}, {y, {out, 16, 0, false}}};
  for (int i = 0; i < 5; i++) {
    in[3] = (float)(k + i);
    CHECK(poly_step_run(step, binds, 2) == 0 && out[3] == in[3] * in[3]);
  }
  poly_step_destroy(step);
}

/* Whatever happens to the context meanwhile: an error or a result. */
static void gamble(PolyCtx *ctx) {
  float in[4] = {1, 2, 3, 4}, *out = malloc(16);
  PolyUOp *x = host(ctx, in, 0, 4), *y = poly_exp(ctx, x);
  void *data[1] = {out};
  int ok = poly_realize_into(ctx, &y, data, 1, NULL) == 0;
  if (ok) CHECK(near(out[1], 7.3890561));
  else CHECK(poly_last_error()[0] != 0);
  PolyStep *step = poly_compile_step(ctx, poly_sink1(ctx, poly_store_val(ctx, x, x)));
  poly_step_run(step, NULL, 0);
  poly_step_n_kernels(step);
  PolyStep *old = atomic_exchange(&step_of_fleeting, step);
  poly_step_destroy(old);
  poly_uop_release(ctx, y);
  poly_uop_release(ctx, x);
  free(out);
}

static void train(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[4] = {1, 0, 0, 1}, loss = -1;
  PolyIOBinding io[2] = {{"x", x}, {"y", y}};
  CHECK(poly_instance_train_step(model, io, 2, &loss) == 0 && loss >= 0);
  CHECK(poly_instance_forward(model, io, 1) == 0);
  int len = 0;
  uint8_t *bundle = poly_instance_save_bundle(model, &len);
  PolyInstance *copy = poly_instance_from_bundle(bundle, len);
  CHECK(copy != NULL);
  poly_instance_free(copy);
  free(bundle);
}

static void *work(void *arg) {
  int k = (int)(long)arg;
  PolyCtx *own = poly_ctx_new();
  for (int i = 0; i < ROUNDS; i++) {
    compute(own, k + i % 3), compute(shared, k);
    loop(own, k), loop(shared, k);
    gamble(fleeting);
    if (i % 5 == 0) train();
    if (i % 7 == k) {
      PolyCtx *old = atomic_exchange(&fleeting, poly_ctx_new());
      poly_ctx_destroy(old);
    }
    if (i % 20 == k) poly_cpu_cache_flush();
  }
  poly_ctx_destroy(own);
  return NULL;
}

static void threads(void) {
  pthread_t t[THREADS];
  shared = poly_ctx_new();
  fleeting = poly_ctx_new();
  model = poly_mlp_instance(mlp, TEXT);
  CHECK(poly_instance_set_optimizer(model, POLY_OPTIMIZER_ADAM, 0.01f, 0.9f, 0.999f, 1e-8f, 0) == 0);
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  poly_step_destroy(step_of_fleeting);
  poly_instance_free(model);
  poly_ctx_destroy(shared), poly_ctx_destroy(fleeting);
}

/* Several threads end the same thing. */
static void *ending;
static void *end(void *unused) {
  poly_wasm_stepplan_destroy(ending), poly_instance_free(ending), poly_step_destroy(ending), poly_ctx_destroy(ending);
  return unused;
}

static void ends(void) {
  for (int i = 0; i < 100; i++) {
    PolyCtx *ctx = poly_ctx_new();
    PolyUOp *x = poly_buffer_f32(ctx, 4), *sink = poly_sink1(ctx, poly_store_val(ctx, x, poly_exp(ctx, x)));
    void *things[] = {poly_render_step_wasm_plan(ctx, sink), poly_mlp_instance(mlp, TEXT), poly_compile_step(ctx, sink), ctx};
    for (int k = 0; k < 4; k++) {
      pthread_t t[3];
      ending = things[k];
      CHECK(ending != NULL);
      for (int j = 0; j < 3; j++) pthread_create(&t[j], NULL, end, NULL);
      for (int j = 0; j < 3; j++) pthread_join(t[j], NULL);
    }
  }
}

/* What outlives its context is stale, or goes on where it never needed it. */
static void survivors(void) {
  PolyCtx *ctx = poly_ctx_new();
  float in[4] = {1, 2, 3, 4}, out[4] = {0};
  PolyUOp *x = host(ctx, in, 0, 4), *y = host(ctx, out, 0, 4), *sink = poly_sink1(ctx, poly_store_val(ctx, y, poly_exp(ctx, x)));
  PolyStep *step = poly_compile_step(ctx, sink);
  PolyWasmStepPlan *plan = poly_render_step_wasm_plan(ctx, sink);
  PolyInstance *inst = poly_mlp_instance(mlp, TEXT);
  CHECK(poly_step_run(step, NULL, 0) == 0 && near(out[0], 2.7182818));
  in[0] = 0;
  CHECK(poly_step_run(step, NULL, 0) == 0 && near(out[0], 1));
  poly_uop_release(ctx, x); /* and its memory is not the program's any longer */
  FAILS(poly_step_run(step, NULL, 0) == 0, "poly_step_run", "not bound to memory");
  poly_ctx_destroy(ctx);
  FAILS(poly_step_run(step, NULL, 0) == 0, "poly_step_run", "step: is stale");
  FAILS(poly_realize(ctx, sink, NULL, 0) == 0, "poly_realize", "ctx: is stale");
  FAILS(poly_step_buf_uop(step, 0), "poly_step_buf_uop", "step: is stale");
  FAILS(poly_shape(ctx, x, NULL, 0) >= 0, "poly_shape", "ctx: is stale");
  CHECK(poly_step_n_buffers(step) == 0);
  poly_step_destroy(step), poly_step_destroy(step);
  poly_uop_release(ctx, x);
  CHECK(poly_wasm_stepplan_n_kernels(plan) == 1);
  poly_wasm_stepplan_destroy(plan);
  FAILS(poly_wasm_stepplan_n_kernels(plan), "poly_wasm_stepplan_n_kernels", "plan: is stale");
  float rows[6] = {1, 2, 3, 4, 5, 6};
  PolyIOBinding io[1] = {{"x", rows}};
  CHECK(poly_instance_forward(inst, io, 1) == 0);
  poly_instance_free(inst), poly_instance_free(inst);
  FAILS(poly_instance_forward(inst, io, 1) == 0, "poly_instance_forward", "inst: is stale");
}

/* A job whose context ends while it runs. */
static void jobs(void) {
  for (int i = 0; i < 30; i++) {
    PolyCtx *ctx = poly_ctx_new();
    static float in[64 * 64], out[64 * 64];
    PolyUOp *x = host(ctx, in, 64, 64), *y = poly_matmul(ctx, x, poly_exp(ctx, x));
    void *data[1] = {out};
    PolyJob *job = poly_realize_async(ctx, &y, data, 1, NULL);
    if (i % 2) poly_ctx_destroy(ctx);
    int rc = job ? poly_job_wait(job, -1) : -1;
    CHECK(rc == 0 || poly_last_error()[0] != 0);
    poly_job_release(job), poly_job_release(job);
    poly_ctx_destroy(ctx);
  }
}

static void *make(void *unused) {
  (void)unused;
  PolyCtx *ctx = poly_ctx_new();
  CHECK(poly_exp(ctx, NULL) == NULL);
  return ctx;
}

static long resident(void) { /* KiB */
  long pages = 0, rss = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &pages, &rss) != 2) rss = 0;
  if (f) fclose(f);
  return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Contexts of threads that ended go on, and short threads leave nothing behind. */
static void mortals(void) {
  long first = 0;
  for (int i = 0; i < 3000; i++) {
    pthread_t t;
    void *ctx;
    pthread_create(&t, NULL, make, NULL);
    pthread_join(t, &ctx);
    poly_clear_error();
    CHECK(poly_last_error()[0] == 0);
    CHECK(poly_const_float(ctx, i) != NULL);
    poly_ctx_destroy(ctx);
    if (i == 1000) first = resident();
  }
#ifndef __SANITIZE_ADDRESS__ /* its quarantine keeps freed memory: TestPrograms runs this without it */
  long grown = resident() - first;
  if (grown > 16 << 10) fprintf(stderr, "2000 threads left %ld KiB\n", grown), failures++;
#else
  (void)first;
#endif
}

int main(void) {
  threads();
  ends();
  survivors();
  jobs();
  mortals();
  return report();
}
