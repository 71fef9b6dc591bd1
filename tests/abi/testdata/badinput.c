/* Bad input: an error that names function and argument, and the process goes on. */
#include "check.h"

static int64_t i64(int64_t v) { return v; }

static void handles(void) {
  PolyCtx *ctx = poly_ctx_new(), *other = poly_ctx_new();
  PolyUOp *x = poly_buffer_f32(ctx, 4), *foreign = poly_buffer_f32(other, 4);
  int stack = 0;
  FAILS(poly_exp(NULL, x), "poly_exp", "ctx: is NULL");
  FAILS(poly_exp((PolyCtx *)(void *)x, x), "poly_exp", "ctx: is a handle of another kind");
  FAILS(poly_exp(ctx, NULL), "poly_exp", "x: is NULL");
  FAILS(poly_exp(ctx, (PolyUOp *)(void *)&stack), "poly_exp", "x: is not a polygrad handle");
  FAILS(poly_exp(ctx, (PolyUOp *)(uintptr_t)42), "poly_exp", "x: is not a polygrad handle");
  FAILS(poly_exp(ctx, (PolyUOp *)(void *)ctx), "poly_exp", "x: is a handle of another kind");
  FAILS(poly_exp(ctx, foreign), "poly_exp", "x: belongs to another context");
  FAILS(poly_binary(ctx, POLY_ADD, x, foreign), "poly_binary", "b: belongs to another context");
  PolyUOp *y = poly_exp(ctx, x);
  poly_uop_release(ctx, y);
  FAILS(poly_exp(ctx, y), "poly_exp", "x: is stale");
  poly_uop_release(ctx, y);
  poly_uop_release(ctx, NULL);
  poly_uop_release(NULL, x);
  PolyUOp *z = poly_exp(ctx, x);
  CHECK(z && z != y);
  CHECK(poly_exp(ctx, x) == z);
  poly_uop_release(ctx, z);
  CHECK(poly_ndim(ctx, z) == 1);
  CHECK(poly_uop_retain(ctx, z) == z);
  PolyUOp *two[2] = {z, z};
  poly_uop_release_n(ctx, two, 2);
  FAILS(poly_ndim(ctx, z) >= 0, "poly_ndim", "stale");
  poly_ctx_destroy(ctx);
  poly_ctx_destroy(ctx);
  poly_ctx_destroy(NULL);
  FAILS(poly_exp(ctx, x), "poly_exp", "ctx: is stale");
  poly_uop_release(ctx, x);
  poly_realize_begin(ctx);
  poly_realize_bind(ctx, x, &stack);
  CHECK(poly_exp(other, foreign) != NULL);
  poly_ctx_destroy(other);
}

/* A chain over a failed call ends with the first error. */
static void chains(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *a = poly_buffer_f32(ctx, 4), *b = poly_buffer_f32(ctx, 3), *out = poly_buffer_f32(ctx, 4);
  PolyUOp *bad = poly_alu2(ctx, POLY_OP_ADD, a, b);
  CHECK(bad == NULL && strstr(poly_last_error(), "poly_alu2"));
  bad = poly_exp(ctx, poly_square(ctx, bad));
  CHECK(bad == NULL && strstr(poly_last_error(), "poly_alu2"));
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, out, bad));
  CHECK(sink == NULL && strstr(poly_last_error(), "poly_alu2"));
  CHECK(poly_realize(ctx, sink, NULL, 0) == -1 && strstr(poly_last_error(), "poly_alu2"));
  /* Calls that succeed in between do not hide it. */
  CHECK(poly_exp(ctx, a) != NULL && poly_last_error()[0] == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(poly_store_val(ctx, out, bad) == NULL && strstr(poly_last_error(), "poly_store_val: value: is NULL; the last call that failed: poly_alu2: "));
    CHECK(poly_exp(ctx, a) != NULL);
  }
  poly_clear_error();
  CHECK(poly_store_val(ctx, out, bad) == NULL && strcmp(poly_last_error(), "poly_store_val: value: is NULL") == 0);
  CHECK(poly_exp(ctx, a) != NULL && poly_last_error()[0] == 0);
  poly_clear_error();
  CHECK(poly_last_error()[0] == 0);
  poly_ctx_destroy(ctx);
}

static void shapes_and_axes(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[12] = {0};
  PolyUOp *x = host(ctx, data, 3, 4);
  int64_t d[20], pairs[2][2] = {{0, 9}, {0, 4}};
  for (int i = 0; i < 20; i++) d[i] = 1;
  d[0] = 5, d[1] = 5;
  FAILS(poly_reshape(ctx, x, d, 2), "poly_reshape", "shape");
  FAILS(poly_reshape(ctx, x, d, 17), "poly_reshape", "dimensions");
  FAILS(poly_reshape(ctx, x, d, -1), "poly_reshape", "dims");
  FAILS(poly_reshape(ctx, x, NULL, 2), "poly_reshape", "dims: is NULL");
  d[0] = -1, d[1] = -1;
  FAILS(poly_reshape(ctx, x, d, 2), "poly_reshape", "shape");
  d[0] = INT64_MAX, d[1] = INT64_MAX;
  FAILS(poly_reshape(ctx, x, d, 2), "poly_reshape", "shape");
  FAILS(poly_expand(ctx, x, d, 2), "poly_expand", "dims");
  FAILS(poly_full(ctx, d, 2, 0), "poly_full", "shape");
  FAILS(poly_rand(ctx, d, 2, 0), "poly_rand", "shape");
  FAILS(poly_buffer_host(ctx, POLY_DTYPE_INT8, d, 2, data, 12), "poly_buffer_host", "shape");
  d[0] = -4;
  FAILS(poly_full(ctx, d, 1, 0), "poly_full", "shape");
  FAILS(poly_buffer_f32(ctx, -1), "poly_buffer_f32", "size");
  FAILS(poly_buffer_f32(ctx, INT64_MAX), "poly_buffer_f32", "size");
  d[0] = 0, d[1] = 0;
  FAILS(poly_permute(ctx, x, d, 2), "poly_permute", "axis 0");
  d[1] = INT64_MIN;
  FAILS(poly_permute(ctx, x, d, 2), "poly_permute", "out of range");
  FAILS(poly_flip(ctx, x, d + 1, 1), "poly_flip", "out of range");
  FAILS(poly_shrink(ctx, x, pairs, 2), "poly_shrink", "out of range");
  FAILS(poly_shrink(ctx, x, pairs, 1), "poly_shrink", "pairs");
  FAILS(poly_shrink(ctx, x, pairs, INT32_MIN), "poly_shrink", "pairs");
  FAILS(poly_pad_value(ctx, x, pairs, -1, 1), "poly_pad_value", "pairs");
  pairs[0][0] = INT64_MAX, pairs[0][1] = INT64_MAX;
  FAILS(poly_pad(ctx, x, pairs, 2), "poly_pad", "pairs");
  d[0] = 7;
  FAILS(poly_reduce_axis(ctx, POLY_OP_ADD, x, d, 1), "poly_reduce_axis", "out of range");
  FAILS(poly_reduce_axis(ctx, POLY_OP_SIN, x, d, 1), "poly_reduce_axis", "op");
  FAILS(poly_reduce(ctx, 99, x, NULL, -1, 0, 0), "poly_reduce", "op");
  FAILS(poly_reduce(ctx, POLY_REDUCE_SUM, x, NULL, 0, 0, 0), "poly_reduce", "n_axes: 0 and axes NULL");
  FAILS(poly_softmax(ctx, x, NULL, 0, 9), "poly_softmax", "out of range");
  FAILS(poly_matmul(ctx, x, x), "poly_matmul", "shape");
  FAILS(poly_alu1(ctx, 999, x), "poly_alu1", "op");
  FAILS(poly_alu1(ctx, -5, x), "poly_alu1", "op");
  FAILS(poly_alu2(ctx, POLY_OP_SIN, x, x), "poly_alu2", "op");
  FAILS(poly_alu3(ctx, 0, x, x, x), "poly_alu3", "op");
  FAILS(poly_binary(ctx, 99, x, x), "poly_binary", "op");
  FAILS(poly_binary_int(ctx, POLY_SHL, poly_const_int(ctx, 1), -1, 0), "poly_binary_int", "shift: is -1");
  FAILS(poly_binary_int(ctx, POLY_SHR, poly_const_int(ctx, 1), -2, 0), "poly_binary_int", "shift: is -2");
  PolyUOp *from[2] = {x, poly_neg(ctx, x)}, *to[2] = {poly_exp(ctx, x), x};
  FAILS(poly_uop_substitute(ctx, from[1], from, to, 1), "poly_uop_substitute", "to[0]: leads back");
  to[0] = poly_exp(ctx, from[1]);
  FAILS(poly_uop_substitute(ctx, from[1], from, to, 2), "poly_uop_substitute", "leads back");
  FAILS(poly_cast_by_id(ctx, x, 99), "poly_cast_by_id", "dtype");
  FAILS(poly_cast_by_id(ctx, x, POLY_DTYPE_INDEX), "poly_cast_by_id", "dtype");
  FAILS(poly_buffer_by_id(ctx, 4, -1), "poly_buffer_by_id", "dtype");
  FAILS(poly_arange(ctx, 0, 10, 0), "poly_arange", "step");
  FAILS(poly_arange(ctx, 0, NAN, 1), "poly_arange", "stop");
  FAILS(poly_arange(ctx, 0, 1e300, 1), "poly_arange", "stop");
  FAILS(poly_rearrange(ctx, NULL, x, NULL, 0, NULL, NULL, 0, NULL, NULL), "poly_rearrange", "formula");
  FAILS(poly_rearrange(ctx, "a b -> b", x, NULL, 0, "", NULL, 0, NULL, NULL), "poly_rearrange", "formula");
  FAILS(poly_einsum(ctx, NULL, &x, NULL, NULL, 1, NULL, NULL), "poly_einsum", "formula");
  FAILS(poly_einsum(ctx, "ij", NULL, NULL, NULL, 1, NULL, NULL), "poly_einsum", "ops");
  FAILS(poly_einsum(ctx, "ij", &x, NULL, NULL, 9, NULL, NULL), "poly_einsum", "n:");
  FAILS(poly_einsum(ctx, "i?", &x, NULL, NULL, 1, NULL, NULL), "poly_einsum", "formula");
  int32_t kind = 9;
  int64_t numbers[3] = {0, 0, 0};
  FAILS(poly_index(ctx, x, &kind, numbers, NULL, 1), "poly_index", "kinds[0]");
  kind = POLY_INDEX_INT, numbers[0] = 3;
  FAILS(poly_index(ctx, x, &kind, numbers, NULL, 1), "poly_index", "out of bounds");
  kind = POLY_INDEX_TENSOR;
  FAILS(poly_index(ctx, x, &kind, numbers, NULL, 1), "poly_index", "tensors");
  FAILS(poly_index(ctx, x, NULL, NULL, NULL, 1), "poly_index", "kinds");
  FAILS(poly_cat(ctx, NULL, 2, 0), "poly_cat", "xs");
  FAILS(poly_cat(ctx, &x, -2, 0), "poly_cat", "xs");
  FAILS(poly_cat(ctx, &x, 0, 0), "poly_cat", "xs");
  FAILS(poly_grad(ctx, x, NULL), "poly_grad", "wrt: is NULL");
  FAILS(poly_grad_many(ctx, x, NULL, &x, 0, &x) == 0, "poly_grad_many", "n:");
  FAILS(poly_dtype_id_name(77), "poly_dtype_id_name", "dtype");
  FAILS(poly_dtype_id_parse("complex") >= 0, "poly_dtype_id_parse", "name");
  FAILS(poly_ndim(ctx, poly_sink_n(ctx, NULL, 0)) >= 0, "poly_ndim", "no shape");
  CHECK(poly_numel(ctx, poly_exp(ctx, x)) == 12);
  poly_ctx_destroy(ctx);
}

static void programs(void) {
  PolyCtx *ctx = poly_ctx_new();
  float in[4] = {1, 2, 3, 4}, out[4] = {0};
  PolyUOp *x = poly_buffer_f32(ctx, 4), *y = poly_buffer_f32(ctx, 4), *small = poly_buffer_f32(ctx, 3);
  FAILS(poly_store_val(ctx, small, x), "poly_store_val", "value");
  FAILS(poly_store_val(ctx, poly_exp(ctx, x), x), "poly_store_val", "buf");
  FAILS(poly_assign(ctx, small, x), "poly_assign", "value");
  FAILS(poly_assign(ctx, poly_exp(ctx, x), x), "poly_assign", "target");
  FAILS(poly_sink1(ctx, x), "poly_sink1", "store[0]");
  FAILS(poly_realize(ctx, x, NULL, 0) == 0, "poly_realize", "sink");
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, y, poly_exp(ctx, x)));
  FAILS(poly_realize(ctx, sink, NULL, 0) == 0, "poly_realize", "bound");
  FAILS(poly_realize(ctx, sink, NULL, 3) == 0, "poly_realize", "binds");
  PolyBufferBinding b[2] = {{x, {in, 0, 0, false}}, {y, {NULL, 0, 0, false}}};
  FAILS(poly_realize(ctx, sink, b, 2) == 0, "poly_realize", "null");
  b[1].buffer = NULL;
  FAILS(poly_realize(ctx, sink, b, 2) == 0, "poly_realize", "binds[1]: is NULL");
  b[1].buffer = y, b[1].handle.ptr = out;
  CHECK(poly_realize(ctx, sink, b, 2) == 0 && near(out[3], 54.59815));
  b[0].handle.nbytes = 16, b[1].handle.nbytes = 15;
  FAILS(poly_realize(ctx, sink, b, 2) == 0, "poly_realize", "needs 16 bytes, is bound to 15");
  FAILS(poly_compile_step(ctx, x), "poly_compile_step", "sink");
  FAILS(poly_compile_value_and_grad(ctx, x, &x, 1, NULL, NULL), "poly_compile_value_and_grad", "loss");
  int64_t shape[1] = {4};
  FAILS(poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, NULL, 16), "poly_buffer_host", "data");
  FAILS(poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, 15), "poly_buffer_host", "nbytes");
  FAILS(poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, (char *)in + 1, 16), "poly_buffer_host", "aligned");
  void *data[1] = {NULL};
  PolyUOp *value = poly_exp(ctx, host(ctx, in, 0, 4));
  FAILS(poly_realize_into(ctx, &value, data, 1, NULL) == 0, "poly_realize_into", "data");
  FAILS(poly_realize_into(ctx, &value, NULL, 1, NULL) == 0, "poly_realize_into", "data");
  FAILS(poly_realize_into(ctx, NULL, data, 1, NULL) == 0, "poly_realize_into", "values");
  PolyUOp *store = poly_store_val(ctx, y, x);
  data[0] = out;
  FAILS(poly_realize_into(ctx, &store, data, 1, NULL) == 0, "poly_realize_into", "values[0]: a STORE is no tensor");
  FAILS(poly_softmax(ctx, store, NULL, 0, 0), "poly_softmax", "a STORE is no tensor");
  FAILS(poly_exp(ctx, store), "poly_exp", "x: is a STORE");
  PolyUOp *unbound = poly_exp(ctx, x);
  data[0] = out;
  FAILS(poly_realize_into(ctx, &unbound, data, 1, NULL) == 0, "poly_realize_into", "bound");
  FAILS(poly_update(ctx, NULL, NULL, 0, NULL, &unbound, &value, 1) == 0, "poly_update", "target");
  CHECK(into(ctx, value, out) == 0 && near(out[0], 2.7182818));
  size_t room[1] = {15};
  FAILS(poly_update_sized(ctx, &value, data, room, 1, NULL, NULL, NULL, 0) == 0, "poly_update_sized", "nbytes[0] is 15, expected at least 16");
  FAILS(poly_update_sized(ctx, &value, data, NULL, 1, NULL, NULL, NULL, 0) == 0, "poly_update_sized", "nbytes");
  FAILS(poly_compile_update_sized(ctx, &value, data, room, 1, NULL, NULL, 0), "poly_compile_update_sized", "nbytes[0] is 15");
  room[0] = 16, out[0] = 0;
  CHECK(poly_update_sized(ctx, &value, data, room, 1, NULL, NULL, NULL, 0) == 0 && near(out[0], 2.7182818));
  PolyStep *sized = poly_compile_update_sized(ctx, &value, data, room, 1, NULL, NULL, 0);
  out[0] = 0;
  CHECK(sized && poly_step_run_ex(sized, NULL, 0, NULL, 0) == 0 && near(out[0], 2.7182818));
  poly_step_destroy(sized);
  poly_ctx_destroy(ctx);
}

static void empty_and_scalar(void) {
  PolyCtx *ctx = poly_ctx_new();
  int64_t none[2] = {0, 3}, dims[1] = {-9};
  PolyUOp *e = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, none, 2, NULL, 0);
  CHECK(e && poly_numel(ctx, e) == 0 && poly_ndim(ctx, e) == 2);
  char bytes[2];
  CHECK(into(ctx, poly_exp(ctx, e), bytes) == 0 && into(ctx, poly_exp(ctx, e), bytes + 1) == 0);
  float out[3] = {9, 9, 9}, one = 5;
  int64_t axis = i64(0);
  CHECK(into(ctx, poly_reduce(ctx, POLY_REDUCE_SUM, e, &axis, 1, 0, 0), out) == 0 && out[0] == 0 && out[2] == 0);
  PolyUOp *s = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, NULL, 0, &one, 4);
  CHECK(s && poly_ndim(ctx, s) == 0 && poly_numel(ctx, s) == 1 && poly_shape(ctx, s, dims, 1) == 0 && dims[0] == -9);
  CHECK(into(ctx, poly_square(ctx, s), out) == 0 && out[0] == 25);
  CHECK(poly_reshape(ctx, s, NULL, 0) == s);
  CHECK(poly_numel(ctx, poly_arange(ctx, 5, 2, 1)) == 0);
  CHECK(poly_realize_into(ctx, NULL, NULL, 0, NULL) == 0);
  poly_ctx_destroy(ctx);
}

int main(void) {
  handles();
  chains();
  shapes_and_axes();
  programs();
  empty_and_scalar();
  return report();
}
