/* Records: where their fields lie, and both generations of bindings, each in
 * memory that ends where the array ends. */
#include <stddef.h>

#include "calls.h"
#include "check.h"

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == offset, #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(type) == size, #type)

SIZE(PolyBufferBinding, 32);
AT(PolyBufferBinding, buffer, 0);
AT(PolyBufferBinding, handle, 8);
SIZE(PolyBufferHandle, 24);
AT(PolyBufferHandle, ptr, 0);
AT(PolyBufferHandle, nbytes, 8);
AT(PolyBufferHandle, domain, 16);
AT(PolyBufferHandle, owned, 20);
SIZE(PolyVarBinding, 16);
AT(PolyVarBinding, var, 0);
AT(PolyVarBinding, value, 8);
SIZE(PolyIOBinding, 16);
AT(PolyIOBinding, name, 0);
AT(PolyIOBinding, data, 8);
SIZE(PolyDType, 40);
AT(PolyDType, priority, 0);
AT(PolyDType, bitsize, 2);
AT(PolyDType, name, 8);
AT(PolyDType, fmt, 16);
AT(PolyDType, count, 18);
AT(PolyDType, is_ptr, 20);
AT(PolyDType, addrspace, 24);
AT(PolyDType, vcount, 28);
AT(PolyDType, ptr_size, 32);
SIZE(PolyStepBufferInfo, 72);
AT(PolyStepBufferInfo, version, 0);
AT(PolyStepBufferInfo, index, 4);
AT(PolyStepBufferInfo, role, 8);
AT(PolyStepBufferInfo, dtype, 16);
AT(PolyStepBufferInfo, numel, 56);
AT(PolyStepBufferInfo, nbytes, 64);
SIZE(PolyArg, 40);
AT(PolyArg, kind, 0);
AT(PolyArg, u, 8);
SIZE(PolyShape, 16);
AT(PolyShape, dims, 0);
AT(PolyShape, ndim, 8);
SIZE(GPT2Config, 24);
AT(GPT2Config, vocab_size, 0);
AT(GPT2Config, n_embd, 4);
AT(GPT2Config, n_head, 8);
AT(GPT2Config, n_layer, 12);
AT(GPT2Config, max_seq_len, 16);
AT(GPT2Config, norm_eps, 20);
SIZE(PolyBundleSections, 56);
AT(PolyBundleSections, ir, 0);
AT(PolyBundleSections, ir_len, 8);
AT(PolyBundleSections, weights, 16);
AT(PolyBundleSections, weights_len, 24);
AT(PolyBundleSections, meta, 32);
AT(PolyBundleSections, meta_len, 40);
AT(PolyBundleSections, version, 44);
AT(PolyBundleSections, flags, 48);
SIZE(PolySafetensorEntry, 32);
AT(PolySafetensorEntry, name, 0);
AT(PolySafetensorEntry, data, 8);
AT(PolySafetensorEntry, shape, 16);
AT(PolySafetensorEntry, ndim, 24);
SIZE(PolySafetensorView, 96);
AT(PolySafetensorView, shape, 16);
AT(PolySafetensorView, ndim, 80);
AT(PolySafetensorView, numel, 88);
SIZE(PolySafetensorViewEx, 104);
AT(PolySafetensorViewEx, dtype, 96);
SIZE(PolyTensor, 152);
SIZE(PolyLinear, 24);
SIZE(PolySGD, 16);

/* The older binding. */
typedef struct {
  PolyUOp *buffer;
  void *data;
} OldBinding;

/* The sum of n buffers by way of every function that takes bindings, in one layout. */
static void sums(int n, int old) {
  PolyCtx *ctx = poly_ctx_new();
  float in[8][4], out[4];
  PolyUOp *x[8], *y = poly_buffer_f32(ctx, 4), *sum = NULL, *var = poly_define_var(ctx, "unused", 0, 9);
  for (int i = 0; i < n; i++) {
    x[i] = poly_buffer_f32(ctx, 4);
    sum = sum ? poly_alu2(ctx, POLY_OP_ADD, sum, x[i]) : x[i];
    for (int k = 0; k < 4; k++) in[i][k] = (float)(10 * i + k);
  }
  if (n == 0) sum = poly_const_float(ctx, 4);
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, y, sum));
  size_t each = old ? sizeof(OldBinding) : sizeof(PolyBufferBinding);
  char *records = last(region(4096), (size_t)(n + 1) * each);
  for (int i = 0; i <= n; i++) {
    PolyUOp *buffer = i < n ? x[i] : y;
    void *data = i < n ? (void *)in[i] : out;
    if (old) ((OldBinding *)(void *)records)[i] = (OldBinding){buffer, data};
    else ((PolyBufferBinding *)(void *)records)[i] = (PolyBufferBinding){buffer, {data, i % 2 ? 16 : 0, -1, true}};
  }
  PolyBufferBinding *binds = (void *)records;
  PolyVarBinding *vars = last(region(4096), sizeof *vars);
  *vars = (PolyVarBinding){var, 3};
  PolyStep *step = poly_compile_step(ctx, sink);
  for (int way = 0; way < 4; way++) {
    memset(out, 0, sizeof out);
    int rc = way == 0   ? poly_realize(ctx, sink, binds, n + 1)
             : way == 1 ? poly_realize_ex(ctx, sink, binds, n + 1, vars, 1)
             : way == 2 ? poly_step_run(step, binds, n + 1)
                        : poly_step_run_ex(step, binds, n + 1, vars, 1);
    CHECK(rc == 0);
    for (int k = 0; k < 4; k++) CHECK(out[k] == (n ? (float)(5 * n * (n - 1) + n * k) : 4));
  }
  /* What tells about the step fits its record exactly. */
  PolyStepBufferInfo *info = last(region(4096), sizeof *info);
  CHECK(poly_step_buffer_info(step, 0, info) == 0 && info->version == 1 && info->numel == 4 && info->nbytes == 16 && strcmp(info->dtype.name, "float") == 0);
  poly_ctx_destroy(ctx);
}

/* Out-arrays that are exactly as long as they have to be. */
static void outs(void) {
  PolyCtx *ctx = poly_ctx_new();
  static float data[24];
  int64_t shape[8] = {2, 1, 3, 1, 2, 1, 2, 1}, *dims = last(region(4096), 8 * sizeof *dims);
  int *ndim = last(region(4096), sizeof *ndim);
  PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 8, data, sizeof data);
  CHECK(poly_sum_reduce(ctx, x, NULL, 0, 2, 1, dims, ndim) && *ndim == 8 && dims[2] == 1 && dims[6] == 2);
  for (int cap = 0; cap <= 8; cap++) {
    int64_t *few = last(region(4096), (size_t)cap * sizeof *few);
    if (cap) few[0] = -1;
    CHECK(poly_shape(ctx, x, cap ? few : NULL, cap) == 8 && (!cap || few[0] == 2));
  }
  int64_t sizes[2] = {1, 2};
  PolyUOp **parts = last(region(4096), 2 * sizeof *parts);
  CHECK(poly_split(ctx, x, sizes, 2, 2, parts) == 0 && parts[1] != NULL);
  /* Nine dimensions: eight are told. */
  int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  PolyUOp *z = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, nine, 9, data, 4);
  memset(dims, 0, 64);
  CHECK(poly_sum_reduce(ctx, z, NULL, 0, 0, 1, dims, ndim) && *ndim == 9 && dims[7] == 1);
  poly_ctx_destroy(ctx);
}

int main(void) {
  for (int n = 0; n <= 6; n++) sums(n, 0), sums(n, 1);
  outs();
  return report();
}
