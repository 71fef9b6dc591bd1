/* Floating-point modes of the host: the library does not meet them, and leaves them as they were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>

#include "check.h"

/* MXCSR without its flags. (fegetround and fegetexcept tell of the x87 unit, which the library leaves alone.) */
static unsigned modes(void) { return __builtin_ia32_stmxcsr() & 0xffc0; }

enum { N = 4096 };
static float in[N], out[N];

/* The host rounds upwards and lets all exceptions trap. */
static void unusual(void) {
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(FE_UPWARD);
  feenableexcept(FE_ALL_EXCEPT);
}

enum { UPWARD = 0x4000, MASKS = 0x1f80, DENORMAL_MASKED = 0x0100 };
static int is_unusual(void) { return modes() == (UPWARD | DENORMAL_MASKED); }
static int is_usual(void) { return modes() == MASKS; }

static void usual(void) {
  fedisableexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
}

static PolyCtx *ctx;

static int compute(PolyUOp *x, int k) {
  PolyUOp *y = poly_binary_float(ctx, POLY_MUL, poly_exp(ctx, poly_binary_float(ctx, POLY_ADD, x, k % 8, 0)), 0.7, 0);
  return into(ctx, y, out);
}

/* Garbage for some cycles of the collector, whose threads and whose work in calls compute with floats, and enough compilations. */
static void work(void) {
  int64_t shape[1] = {N};
  for (int k = 0; k < 30000; k++) {
    PolyArray *x = poly_array_share(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, sizeof in, 0);
    if (x == NULL || !is_unusual()) {
      CHECK(x != NULL && is_unusual());
      return;
    }
    poly_array_release(x);
  }
  for (int k = 0; k < 200; k++) {
    PolyUOp *x = host(ctx, in, 0, N - k);
    CHECK(compute(x, k) == 0);
    poly_uop_release(ctx, x);
  }
  CHECK(is_unusual());
}

static int called, met_theirs;

/* A function of the host finds its modes, also after it has called the library, and may change them. */
static bool gate(PolyUOp *x) {
  called++;
  met_theirs += is_unusual();
  poly_uop_op(ctx, x);
  met_theirs += is_unusual();
  fesetround(FE_DOWNWARD);
  fedisableexcept(FE_INEXACT);
  poly_uop_op(ctx, x);
  return true;
}

/* Here it has the usual ones when it calls the library, which calls it again. */
static int inner;
static bool inner_gate(PolyUOp *x) {
  inner += x != NULL && is_usual();
  return true;
}

static bool outer_gate(PolyUOp *x) {
  int n;
  usual();
  CHECK(poly_toposort_ex(ctx, x, &n, inner_gate, true) != NULL);
  return false;
}

static void callbacks(PolyUOp *x) {
  int n = 0;
  PolyUOp *y = poly_exp(ctx, x);
  unusual();
  CHECK(poly_toposort_ex(ctx, y, &n, gate, true) != NULL && n >= 2);
  CHECK(is_unusual() && called >= 2 && met_theirs == 2 * called);
  CHECK(poly_toposort_ex(ctx, y, &n, outer_gate, true) != NULL && is_unusual() && inner >= 2);
  usual();
  inner = 0;
  CHECK(poly_toposort_ex(ctx, y, &n, inner_gate, true) != NULL && is_usual() && inner == n);
}

int main(void) {
  static float expected[N];
  for (int i = 0; i < N; i++) in[i] = (float)i / 1024;
  unusual(); /* its threads do not inherit them, either */
  void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
  CHECK(library != NULL && is_unusual());
  usual();
  if (library == NULL) return report();
  ctx = poly_ctx_new();
  PolyUOp *x = host(ctx, in, 0, N);
  CHECK(compute(x, 1) == 0);
  memcpy(expected, out, sizeof out);
  unusual();
  work();
  CHECK(compute(x, 1) == 0 && memcmp(expected, out, sizeof out) == 0);
  usual();
  callbacks(x);
  poly_ctx_destroy(ctx);
  return report();
}
