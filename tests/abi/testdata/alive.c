/* A program that ends while contexts, steps and arrays are alive: checkers of leaks must find all memory still in use. */
#include "check.h"

enum { CONTEXTS = 4, RUNS = 20 };

int main(void) {
  for (int k = 0; k < CONTEXTS; k++) {
    PolyCtx *ctx = poly_ctx_new();
    int64_t shape[1] = {3};
    static float x[3] = {1, 2, 3}, out[3];
    void *to[1] = {out};
    PolyUOp *t = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, x, sizeof x);
    PolyUOp *gradient = poly_grad(ctx, poly_square(ctx, t), t);
    CHECK(poly_realize_into(ctx, &gradient, to, 1, NULL) == 0 && out[2] == 6);
    PolyStep *step = poly_compile_update(ctx, &gradient, to, 1, NULL, NULL, 0);
    for (int i = 0; i < RUNS; i++) CHECK(poly_step_run(step, NULL, 0) == 0);
    CHECK(poly_array_new(ctx, POLY_DTYPE_FLOAT32, shape, 1, x, sizeof x) != NULL);
    if (k % 2) poly_step_destroy(step);
    if (k > 2) poly_ctx_destroy(ctx);
  }
  return failures != 0;
}
