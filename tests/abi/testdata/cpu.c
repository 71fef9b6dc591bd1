/* POLY_CPU names no kind of processor: the first function that computes says so, and others still work. */
#include "check.h"

int main(void) {
  float in[2] = {1, 2}, out[2] = {0, 0};
  PolyCtx *ctx = poly_ctx_new();
  CHECK(ctx != NULL);
  PolyUOp *x = host(ctx, in, 0, 2), *y = poly_alu2(ctx, POLY_OP_ADD, x, x);
  CHECK(y != NULL);
  void *data[1] = {out};
  PolyStep *step = poly_compile_update(ctx, &y, data, 1, NULL, NULL, 0);
  CHECK(step == NULL);
  CHECK(strstr(poly_last_error(), "POLY_CPU: got \"mmx\", expected one of avx512, avx2, sse4, wasm") != NULL);
  CHECK(out[0] == 0);
  poly_ctx_destroy(ctx);
  return failures > 0;
}
