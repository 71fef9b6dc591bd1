/* What frontends of the original interface send, and what they expect back. */
#include "check.h"

typedef struct {
  PolyUOp *buffer;
  void *data;
} OldBinding; /* the 16-byte layout */

static void old_and_new_records(void) {
  PolyCtx *ctx = poly_ctx_new();
  float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, out[4];
  PolyUOp *x = poly_buffer_f32(ctx, 4), *y = poly_buffer_f32(ctx, 4), *z = poly_buffer_f32(ctx, 4);
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, z, poly_alu2(ctx, POLY_OP_ADD, x, y)));
  OldBinding *old = malloc(3 * sizeof *old);
  old[0] = (OldBinding){x, a};
  old[1] = (OldBinding){y, b};
  old[2] = (OldBinding){z, out};
  memset(out, 0, sizeof out);
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)old, 3) == 0);
  CHECK(out[0] == 11 && out[3] == 44);
  free(old);
  PolyBufferBinding *new = calloc(3, sizeof *new);
  new[0].buffer = x, new[0].handle.ptr = a;
  new[1].buffer = y, new[1].handle.ptr = b;
  new[2].buffer = z, new[2].handle.ptr = out;
  memset(out, 0, sizeof out);
  CHECK(poly_realize(ctx, sink, new, 3) == 0);
  CHECK(out[0] == 11 && out[3] == 44);
  new[0].handle.nbytes = new[1].handle.nbytes = new[2].handle.nbytes = 16;
  memset(out, 0, sizeof out);
  CHECK(poly_realize(ctx, sink, new, 3) == 0 && out[3] == 44);
  free(new);
  /* One binding: only 16 bytes may be read. */
  PolyUOp *one = poly_sink1(ctx, poly_store_val(ctx, z, poly_const_float(ctx, 7)));
  old = malloc(sizeof *old);
  old[0] = (OldBinding){z, out};
  CHECK(poly_realize(ctx, one, (PolyBufferBinding *)(void *)old, 1) == 0);
  CHECK(out[0] == 7 && out[3] == 7);
  /* Of two bindings the first counts; other buffers are ignored. */
  float unused[4];
  OldBinding twice[4] = {{z, out}, {z, unused}, {x, a}, {y, b}};
  CHECK(poly_realize(ctx, one, (PolyBufferBinding *)(void *)twice, 4) == 0);
  FAILS(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)old, 1) == 0, "poly_realize", "bound");
  free(old);
  poly_realize_begin(ctx);
  poly_realize_bind(ctx, x, a);
  poly_realize_bind(ctx, y, b);
  poly_realize_bind(ctx, z, out);
  CHECK(poly_realize_exec(ctx, sink) == 0 && out[1] == 22);
  FAILS(poly_realize_exec(ctx, sink) == 0, "poly_realize_exec", "bound");
  PolyUOp *buffers[3] = {x, y, z};
  void *datas[3] = {a, b, out};
  CHECK(poly_realize_flat(ctx, sink, buffers, datas, 3) == 0);
  poly_ctx_destroy(ctx);
}

/* sum(axis) keeps the axis in the graph, and the frontend goes on without it. */
static void reduced_axes(void) {
  PolyCtx *ctx = poly_ctx_new();
  float m[12], v[3] = {100, 200, 300}, out[12];
  for (int i = 0; i < 12; i++) m[i] = (float)i;
  PolyUOp *x = poly_buffer_f32(ctx, 12), *w = poly_buffer_f32(ctx, 3);
  int64_t shape[2] = {3, 4}, axis0[1] = {0}, axis1[1] = {1};
  PolyUOp *mat = poly_reshape(ctx, x, shape, 2);
  PolyUOp *rows = poly_reduce_axis(ctx, POLY_OP_ADD, mat, axis1, 1);
  CHECK(poly_ndim(ctx, rows) == 2);
  /* x.sum(1) + v: three numbers, not nine. */
  PolyUOp *to3 = poly_buffer_f32(ctx, 3);
  PolyUOp *sum = poly_alu2(ctx, POLY_OP_ADD, rows, w);
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, to3, sum));
  OldBinding b[3] = {{x, m}, {w, v}, {to3, out}};
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)b, 3) == 0);
  CHECK(out[0] == 106 && out[1] == 222 && out[2] == 338);
  /* x.sum(0).sum(0) is a number, x.sum(0, keepdim).sum(0) four; the target tells. */
  PolyUOp *columns = poly_reduce_axis(ctx, POLY_OP_ADD, mat, axis0, 1);
  PolyUOp *again = poly_reduce_axis(ctx, POLY_OP_ADD, columns, axis0, 1);
  PolyUOp *to1 = poly_buffer_f32(ctx, 1), *to4 = poly_buffer_f32(ctx, 4);
  OldBinding one[2] = {{x, m}, {to1, out}}, four[2] = {{x, m}, {to4, out}};
  sink = poly_sink1(ctx, poly_store_val(ctx, to1, again));
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)one, 2) == 0 && out[0] == 66);
  sink = poly_sink1(ctx, poly_store_val(ctx, to4, again));
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)four, 2) == 0);
  CHECK(out[0] == 12 && out[3] == 21);
  /* x - x.sum(1, keepdim): the frontend expands, which names the shape. */
  PolyUOp *wide = poly_expand(ctx, rows, shape, 2);
  PolyUOp *to12 = poly_buffer_f32(ctx, 12);
  sink = poly_sink1(ctx, poly_store_val(ctx, to12, poly_alu2(ctx, POLY_OP_SUB, mat, wide)));
  OldBinding all[2] = {{x, m}, {to12, out}};
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)all, 2) == 0);
  CHECK(out[0] == -6 && out[5] == -17 && out[11] == -27);
  /* The gradient of (x.sum(1) * v).sum() is v in each row. */
  PolyUOp *loss = poly_reduce_axis(ctx, POLY_OP_ADD, poly_alu2(ctx, POLY_OP_MUL, rows, w), axis0, 1);
  PolyUOp *grad = poly_grad(ctx, loss, x);
  CHECK(poly_numel(ctx, grad) == 12);
  sink = poly_sink1(ctx, poly_store_val(ctx, to12, grad));
  OldBinding g[3] = {{x, m}, {w, v}, {to12, out}};
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)g, 3) == 0);
  CHECK(out[0] == 100 && out[3] == 100 && out[4] == 200 && out[11] == 300);
  poly_ctx_destroy(ctx);
}

static void shapes_of_results(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *x = poly_buffer_f32(ctx, 12), *v = poly_buffer_f32(ctx, 4);
  int64_t shape[2] = {3, 4}, one[1] = {4}, out[8];
  int ndim = -1;
  CHECK(poly_sum_reduce(ctx, x, shape, 2, 1, 0, out, &ndim) && ndim == 1 && out[0] == 3);
  CHECK(poly_mean_reduce(ctx, x, shape, 2, -1, 1, out, &ndim) && ndim == 2 && out[1] == 1);
  CHECK(poly_max_reduce(ctx, v, one, 1, 0, 0, out, &ndim) && ndim == 1 && out[0] == 1);
  CHECK(poly_var_reduce(ctx, v, one, 1, 0, 0, 1, out, &ndim) && ndim == 1 && out[0] == 1);
  CHECK(poly_logsumexp(ctx, v, one, 1, 0, 0, out, &ndim) && ndim == 0);
  CHECK(poly_dot(ctx, v, one, 1, v, one, 1, out, &ndim) && ndim == 1 && out[0] == 1);
  CHECK(poly_dot(ctx, x, shape, 2, v, one, 1, out, &ndim) && ndim == 1 && out[0] == 3);
  ndim = 7;
  FAILS(poly_dot(ctx, x, shape, 2, x, shape, 2, out, &ndim), "poly_dot", "shape");
  CHECK(ndim == 0);
  const int64_t *shapes[2] = {shape, shape};
  int ndims[2] = {2, 2};
  PolyUOp *ops[2] = {x, x};
  CHECK(poly_einsum(ctx, "ij,kj->ik", ops, shapes, ndims, 2, out, &ndim) && ndim == 2 && out[0] == 3 && out[1] == 3);
  CHECK(poly_einsum(ctx, "ij,ij->", ops, shapes, ndims, 2, out, &ndim) && ndim == 0);
  FAILS(poly_einsum(ctx, "ij,jk->ik", ops, shapes, ndims, 2, out, &ndim), "poly_einsum", "formula");
  int64_t sizes[1] = {2};
  CHECK(poly_rearrange(ctx, "a (b c) -> b a c", x, shape, 2, "b", sizes, 1, out, &ndim) && ndim == 3 && out[0] == 2);
  CHECK(poly_cross_entropy(ctx, x, shape, 2, poly_buffer_f32(ctx, 3), sizes, 0, 1, out, &ndim) == NULL && ndim == 0);
  int64_t three[1] = {3};
  CHECK(poly_cross_entropy(ctx, x, shape, 2, poly_buffer_f32(ctx, 3), three, 1, 1, out, &ndim) && ndim == 0);
  CHECK(poly_layernorm(ctx, x, shape, 2, -1, 1e-5, out, &ndim) && ndim == 2 && out[0] == 3 && out[1] == 4);
  poly_ctx_destroy(ctx);
}

static void assignments(void) {
  PolyCtx *ctx = poly_ctx_new();
  float a[2] = {1, 2}, before[2], after[2];
  PolyUOp *x = poly_buffer_f32(ctx, 2), *s = poly_buffer_f32(ctx, 2), *t = poly_buffer_f32(ctx, 2);
  PolyUOp *ten = poly_const_float(ctx, 10);
  PolyUOp *assign = poly_assign(ctx, x, poly_alu2(ctx, POLY_OP_MUL, x, ten));
  /* A STORE sees the values before; the ASSIGN as an operand is the new contents. */
  PolyUOp *parts[3] = {poly_store_val(ctx, s, x), assign, poly_store_val(ctx, t, poly_alu2(ctx, POLY_OP_ADD, assign, ten))};
  OldBinding b[3] = {{x, a}, {s, before}, {t, after}};
  CHECK(poly_realize(ctx, poly_sink_n(ctx, parts, 3), (PolyBufferBinding *)(void *)b, 3) == 0);
  CHECK(a[0] == 10 && a[1] == 20 && before[0] == 1 && before[1] == 2 && after[0] == 20 && after[1] == 30);
  /* A later ASSIGN that reads element by element sees the new value. */
  float m[2] = {1, 1}, p[2] = {0, 0};
  PolyUOp *bm = poly_buffer_f32(ctx, 2), *bp = poly_buffer_f32(ctx, 2);
  PolyUOp *both[2] = {poly_assign(ctx, bm, poly_alu2(ctx, POLY_OP_ADD, bm, ten)),
                      poly_assign(ctx, bp, poly_alu2(ctx, POLY_OP_ADD, bp, bm))};
  OldBinding c[2] = {{bm, m}, {bp, p}};
  PolyUOp *sink = poly_sink_n(ctx, both, 2);
  CHECK(poly_realize(ctx, sink, (PolyBufferBinding *)(void *)c, 2) == 0);
  CHECK(m[0] == 11 && p[0] == 11);
  PolyStep *step = poly_compile_step(ctx, sink);
  CHECK(step && poly_step_n_kernels(step) >= 1 && poly_step_n_bindable_buffers(step) == 2);
  CHECK(poly_step_run(step, (PolyBufferBinding *)(void *)c, 2) == 0 && m[0] == 21 && p[0] == 32);
  poly_ctx_destroy(ctx);
  /* Finalizers may run after the context is gone. */
  FAILS(poly_step_run(step, (PolyBufferBinding *)(void *)c, 2) == 0, "poly_step_run", "stale");
  poly_step_destroy(step);
  poly_step_destroy(NULL);
}

static void steps(void) {
  PolyCtx *ctx = poly_ctx_new();
  float w[3] = {1, 2, 3}, loss = 0, grad[3] = {0};
  PolyUOp *p = poly_buffer_f32(ctx, 3);
  int64_t axis[1] = {0};
  PolyUOp *y = poly_reduce_axis(ctx, POLY_OP_ADD, poly_square(ctx, p), axis, 1);
  int loss_at = -1, grad_at = -1;
  PolyStep *step = poly_compile_value_and_grad(ctx, y, &p, 1, &loss_at, &grad_at);
  CHECK(step && loss_at >= 0 && grad_at >= 0 && loss_at != grad_at);
  int n = poly_step_n_buffers(step);
  CHECK(n == poly_step_n_bindable_buffers(step) + poly_step_n_intermediates(step));
  void *ptrs[8] = {0};
  PolyStepBufferInfo info;
  int inputs = 0;
  for (int i = 0; i < poly_step_n_bindable_buffers(step); i++) {
    CHECK(poly_step_buffer_info(step, i, &info) == 0 && info.version == 1 && info.index == i);
    CHECK(info.dtype.bitsize == 32 && strcmp(info.dtype.name, "float") == 0 && info.nbytes == 4 * info.numel);
    CHECK(poly_step_buf_uop(step, i) != NULL);
    if (info.role == POLY_STEP_BUFFER_INPUT) {
      inputs++;
      ptrs[i] = w;
    }
  }
  CHECK(inputs == 1);
  ptrs[loss_at] = &loss;
  ptrs[grad_at] = grad;
  CHECK(poly_step_run_indexed(step, ptrs, 8) == 0);
  CHECK(loss == 14 && grad[0] == 2 && grad[2] == 6);
  w[0] = 5;
  CHECK(poly_step_run_indexed_ex(step, ptrs, 8, NULL, 0) == 0 && loss == 38 && grad[0] == 10);
  FAILS(poly_step_run_indexed(step, ptrs, 0) == 0, "poly_step_run_indexed", "n:");
  FAILS(poly_step_buffer_info(step, n, &info) == 0, "poly_step_buffer_info", "out of range");
  FAILS(poly_step_buffer_info(step, 0, NULL) == 0, "poly_step_buffer_info", "NULL");
  CHECK(poly_step_n_kernels(NULL) == 0);
  poly_step_destroy(step);
  FAILS(poly_step_run_indexed(step, ptrs, 8) == 0, "poly_step_run_indexed", "stale");
  poly_step_destroy(step);
  poly_ctx_destroy(ctx);
}

static void variables(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *n = poly_define_var(ctx, "n", 1, 10);
  CHECK(n && n == poly_define_var(ctx, "n", 1, 10));
  float data[20], out[1];
  for (int i = 0; i < 20; i++) data[i] = 1;
  PolyUOp *to = poly_buffer_f32(ctx, 1), *three = poly_bind_var(ctx, n, 3);
  FAILS(poly_bind_var(ctx, n, 11), "poly_bind_var", "value");
  FAILS(poly_bind_var(ctx, to, 1), "poly_bind_var", "variable");
  FAILS(poly_define_var(ctx, "n", 5, 1), "poly_define_var", "lo");
  FAILS(poly_define_var(ctx, NULL, 0, 1), "poly_define_var", "name");
  PolyDType f32 = {.priority = 13, .bitsize = 32, .name = "float", .fmt = 'f', .count = 1, .vcount = 1, .ptr_size = -1};
  int64_t two[1] = {2}, shape[2] = {0, 0};
  PolyUOp *x = poly_buffer_var(ctx, f32, three, two, 1);
  CHECK(x && poly_shape(ctx, x, shape, 2) == 2 && shape[0] == 10 && shape[1] == 2);
  PolyUOp *sum = poly_reduce(ctx, POLY_REDUCE_SUM, x, NULL, -1, 0, 0);
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, to, sum));
  PolyStep *step = poly_compile_step(ctx, sink);
  CHECK(step && poly_step_n_bindable_buffers(step) == 2);
  void *ptrs[2] = {out, out};
  PolyStepBufferInfo info;
  for (int i = 0; i < 2; i++)
    if (poly_step_buffer_info(step, i, &info) == 0 && info.numel == 20) ptrs[i] = data;
  CHECK(poly_step_run_indexed(step, ptrs, 2) == 0 && out[0] == 6);
  PolyVarBinding v = {n, 8};
  CHECK(poly_step_run_indexed_ex(step, ptrs, 2, &v, 1) == 0 && out[0] == 16);
  v.value = 99;
  FAILS(poly_step_run_indexed_ex(step, ptrs, 2, &v, 1) == 0, "poly_step_run_indexed_ex", "vars");
  v.var = to;
  FAILS(poly_step_run_indexed_ex(step, ptrs, 2, &v, 1) == 0, "poly_step_run_indexed_ex", "vars");
  poly_ctx_destroy(ctx);
}

static void numbers_and_names(void) {
  CHECK(poly_abi_version() == 1);
  CHECK(poly_op_count() == 89);
  CHECK(strcmp(poly_op_name(0), "INVALID") == 0 && strcmp(poly_op_name(POLY_OP_ADD), "ADD") == 0);
  CHECK(strcmp(poly_op_name(-1), "UNKNOWN") == 0 && strcmp(poly_op_name(89), "UNKNOWN") == 0);
  CHECK(strcmp(poly_op_name(POLY_OP_REDUCE_AXIS), "REDUCE_AXIS") == 0);
  CHECK(strcmp(poly_op_name(POLY_OP_WHERE), "WHERE") == 0 && strcmp(poly_op_name(POLY_OP_FLIP), "FLIP") == 0);
  CHECK(sizeof(PolyBufferBinding) == 32 && sizeof(PolyVarBinding) == 16 && sizeof(PolyDType) == 40);
  CHECK(sizeof(PolyStepBufferInfo) == 72 && offsetof(PolyStepBufferInfo, numel) == 56);
  PolyCtx *ctx = poly_ctx_new();
  CHECK(poly_dtype(ctx, poly_const_float(ctx, 1)) == POLY_DTYPE_FLOAT32);
  CHECK(poly_dtype(ctx, poly_const_double(ctx, 1)) == POLY_DTYPE_FLOAT64);
  CHECK(poly_dtype(ctx, poly_const_int(ctx, 1)) == POLY_DTYPE_INT32);
  PolyUOp *a = poly_buffer_f32(ctx, 2), *b = poly_buffer_f32(ctx, 2);
  CHECK(a != b);
  CHECK(poly_exp(ctx, a) == poly_exp(ctx, a));
  CHECK(poly_dtype(ctx, poly_eq(ctx, a, b)) == POLY_DTYPE_FLOAT32);
  CHECK(poly_dtype(ctx, poly_ge(ctx, a, b)) == POLY_DTYPE_FLOAT32);
  CHECK(poly_dtype(ctx, poly_le(ctx, a, b)) == POLY_DTYPE_FLOAT32);
  CHECK(poly_dtype(ctx, poly_gt(ctx, a, b)) == POLY_DTYPE_BOOL);
  CHECK(poly_dtype(ctx, poly_ne(ctx, a, b)) == POLY_DTYPE_BOOL);
  float r[3] = {9, 9, 9}, data[3] = {1, 2, 3};
  int64_t three[1] = {3};
  PolyUOp *x = host(ctx, data, 0, 3);
  CHECK(into(ctx, poly_grad(ctx, poly_gt(ctx, x, poly_const_float(ctx, 2)), x), r) == 0 && r[0] == 0 && r[2] == 0);
  CHECK(into(ctx, poly_rand(ctx, three, 1, 42), r) == 0);
  CHECK(r[0] == 0.86904836f && r[1] == 0.15063238f && r[2] == 0.52032065f);
  poly_ctx_destroy(ctx);
}

static void wasm_plans(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *x = poly_buffer_f32(ctx, 8), *y = poly_buffer_f32(ctx, 8);
  int64_t shape[2] = {2, 4};
  PolyUOp *soft = poly_softmax(ctx, x, shape, 2, 1);
  PolyWasmStepPlan *plan = poly_render_step_wasm_plan(ctx, poly_sink1(ctx, poly_store_val(ctx, y, soft)));
  CHECK(plan != NULL);
  int kernels = poly_wasm_stepplan_n_kernels(plan), buffers = poly_wasm_stepplan_n_buffers(plan), n = 0, len = 0;
  CHECK(kernels > 0 && poly_wasm_stepplan_n_bindable_buffers(plan) == 2 && buffers >= 2);
  const int *order = poly_wasm_stepplan_exec_order(plan, &n);
  CHECK(order && n == kernels);
  for (int k = 0; k < kernels; k++) {
    const uint8_t *code = poly_wasm_stepplan_kernel_bytes(plan, order[k], &len);
    CHECK(code && len > 8 && memcmp(code, "\0asm", 4) == 0);
    for (int i = 0; i < poly_wasm_stepplan_kernel_n_params(plan, k); i++) {
      int b = poly_wasm_stepplan_kernel_param_buf_index(plan, k, i);
      CHECK(b >= 0 && b < buffers && poly_wasm_stepplan_buf_nbytes(plan, b) > 0);
    }
  }
  CHECK(poly_wasm_stepplan_buf_size(plan, 0) == 8);
  FAILS(poly_wasm_stepplan_kernel_bytes(plan, kernels, &len), "poly_wasm_stepplan_kernel_bytes", "out of range");
  CHECK(poly_wasm_stepplan_n_kernels(NULL) == 0);
  poly_ctx_destroy(ctx);
  poly_wasm_stepplan_destroy(plan);
  poly_wasm_stepplan_destroy(plan);
  FAILS(poly_wasm_stepplan_exec_order(plan, &n), "poly_wasm_stepplan_exec_order", "stale");
}

int main(void) {
  old_and_new_records();
  reduced_axes();
  shapes_of_results();
  assignments();
  steps();
  variables();
  numbers_and_names();
  wasm_plans();
  return report();
}
