/* Records by value, nodes made of parts and taken apart, walks. */
#include "check.h"

static PolyArg none(void) {
  PolyArg a;
  memset(&a, 0, sizeof a);
  a.kind = POLY_ARG_NONE;
  return a;
}

static PolyArg number(int64_t i) {
  PolyArg a = none();
  a.kind = POLY_ARG_INT;
  a.u.i = i;
  return a;
}

static PolyArg tuple(int64_t *vals, int n) {
  PolyArg a = none();
  a.kind = POLY_ARG_INT_TUPLE;
  a.u.int_tuple.vals = vals;
  a.u.int_tuple.n = n;
  return a;
}

static void dtypes(void) {
  PolyDType f = POLY_FLOAT32, v = poly_dtype_vec(f, 4), p = poly_dtype_ptr(f, 16, POLY_ADDR_LOCAL);
  CHECK(f.priority == 13 && f.bitsize == 32 && f.fmt == 'f' && f.count == 1 && f.vcount == 1 && f.ptr_size == -1);
  CHECK(strcmp(poly_dtype_name(f), "float") == 0 && strcmp(poly_dtype_name(POLY_UINT8), "unsigned char") == 0);
  CHECK(strcmp(poly_dtype_name(POLY_FLOAT16), "__fp16") == 0 && strcmp(poly_dtype_name(v), "float4") == 0);
  CHECK(v.count == 4 && poly_dtype_itemsize(v) == 16 && poly_dtype_itemsize(POLY_BOOL) == 1);
  CHECK(poly_dtype_eq(poly_dtype_scalar(v), f) && !poly_dtype_eq(v, f) && !poly_dtype_eq(p, f));
  CHECK(p.is_ptr && p.addrspace == POLY_ADDR_LOCAL && p.ptr_size == 16);
  CHECK(poly_dtype_is_float(POLY_BFLOAT16) && poly_dtype_is_float(v) && !poly_dtype_is_float(POLY_INT64));
  CHECK(poly_dtype_is_int(POLY_INDEX) && poly_dtype_is_int(POLY_INT8) && !poly_dtype_is_int(POLY_BOOL) && !poly_dtype_is_int(POLY_VOID));
  CHECK(poly_dtype_is_unsigned(POLY_UINT64) && !poly_dtype_is_unsigned(POLY_INT64) && !poly_dtype_is_unsigned(POLY_BOOL));
  CHECK(poly_dtype_is_bool(POLY_BOOL) && !poly_dtype_is_bool(POLY_VOID));
  for (int i = 0; i <= POLY_DTYPE_FP8E5M2; i++) CHECK(poly_dtype_number(poly_dtype_of(i)) == i);
  CHECK(poly_dtype_number(v) == -1 && poly_dtype_number(p) == -1);
  PolyDType odd = f;
  odd.bitsize = 31;
  FAILS(poly_dtype_name(odd), "poly_dtype_name", "31 bits");
  FAILS(poly_dtype_vec(v, 2).bitsize, "poly_dtype_vec", "vector already");
  FAILS(poly_dtype_vec(f, 0).bitsize, "poly_dtype_vec", "0 elements");
  FAILS(poly_dtype_ptr(p, 1, POLY_ADDR_REG).bitsize, "poly_dtype_ptr", "pointer already");
  FAILS(poly_dtype_ptr(f, -2, POLY_ADDR_REG).bitsize, "poly_dtype_ptr", "-2 elements");
  FAILS(poly_dtype_scalar(odd).bitsize, "poly_dtype_scalar", "31 bits");
  FAILS(poly_dtype_of(99).bitsize, "poly_dtype_of", "99");
}

static void creation(PolyCtx *ctx) {
  float x[6] = {1, 2, 3, 4, 5, 6};
  int32_t out[6] = {0};
  PolyUOp *a = host(ctx, x, 2, 3);
  CHECK(into(ctx, poly_cast(ctx, poly_binary(ctx, POLY_MUL, a, poly_const_typed(ctx, POLY_FLOAT32, 2.5)), POLY_INT32), out) == 0);
  CHECK(out[0] == 2 && out[5] == 15);
  PolyUOp *b = poly_buffer(ctx, POLY_FLOAT64, 7);
  CHECK(poly_dtype(ctx, b) == POLY_DTYPE_FLOAT64 && poly_numel(ctx, b) == 7 && poly_dtype_eq(poly_uop_dtype(ctx, b), POLY_FLOAT64));
  FAILS(poly_cast(ctx, a, poly_dtype_vec(POLY_FLOAT32, 4)), "poly_cast", "not the type of a tensor");
  FAILS(poly_buffer(ctx, POLY_VOID, 1), "poly_buffer", "void");
  FAILS(poly_buffer(ctx, POLY_FLOAT32, -1), "poly_buffer", "-1 elements");
  FAILS(poly_const_typed(NULL, POLY_FLOAT32, 1), "poly_const_typed", "NULL");
  PolyUOp *n = poly_define_var(ctx, "n", 1, 5);
  PolyUOp *rows = poly_buffer_var(ctx, POLY_FLOAT32, n, NULL, 0);
  CHECK(poly_ndim(ctx, rows) == 1);
  FAILS(poly_uop_dtype(ctx, NULL).bitsize, "poly_uop_dtype", "x: is NULL");
}

/* sum((x * 2)^T over its rows) of nodes made by hand. */
static void parts(PolyCtx *ctx) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {0};
  int64_t two_three[2] = {2, 3}, swap[2] = {1, 0}, axis[1] = {1}, three[1] = {3};
  PolyUOp *in = poly_uop1(ctx, POLY_OP_BUFFER, POLY_FLOAT32, poly_uop0(ctx, POLY_OP_UNIQUE, POLY_VOID, number(500)), number(6));
  CHECK(in && poly_uop1(ctx, POLY_OP_BUFFER, POLY_FLOAT32, poly_uop0(ctx, POLY_OP_UNIQUE, POLY_VOID, number(500)), number(6)) == in);
  CHECK(poly_buffer_f32(ctx, 6) != in && poly_numel(ctx, in) == 6);
  PolyUOp *out = poly_buffer(ctx, POLY_FLOAT32, 3);
  PolyUOp *shaped = poly_uop1(ctx, POLY_OP_RESHAPE, POLY_FLOAT32, in, tuple(two_three, 2));
  PolyArg two = none();
  two.kind = POLY_ARG_FLOAT;
  two.u.f = 2;
  PolyUOp *doubled = poly_uop2(ctx, POLY_OP_MUL, POLY_FLOAT32, shaped, poly_uop0(ctx, POLY_OP_CONST, POLY_FLOAT32, two), none());
  PolyUOp *turned = poly_uop1(ctx, POLY_OP_PERMUTE, POLY_FLOAT32, doubled, tuple(swap, 2));
  PolyArg over = none();
  over.kind = POLY_ARG_REDUCE_AXIS;
  over.u.reduce_axis.op = POLY_OP_ADD;
  over.u.reduce_axis.axes = axis;
  over.u.reduce_axis.n = 1;
  PolyUOp *sum = poly_uop1(ctx, POLY_OP_REDUCE_AXIS, POLY_FLOAT32, turned, over);
  PolyUOp *flat = poly_uop1(ctx, POLY_OP_RESHAPE, POLY_FLOAT32, sum, tuple(three, 1));
  PolyUOp *store = poly_uop2(ctx, POLY_OP_STORE, POLY_VOID, out, flat, none());
  PolyUOp *sink = poly_uop(ctx, POLY_OP_SINK, POLY_VOID, &store, 1, none());
  PolyUOp *buffers[2] = {in, out};
  void *data[2] = {x, y};
  CHECK(poly_realize_flat(ctx, sink, buffers, data, 2) == 0 && y[0] == 10 && y[1] == 14 && y[2] == 18);

  PolyArg a = poly_uop_arg(ctx, shaped);
  CHECK(a.kind == POLY_ARG_INT_TUPLE && a.u.int_tuple.n == 2 && a.u.int_tuple.vals[0] == 2 && a.u.int_tuple.vals[1] == 3);
  CHECK(poly_arg_eq(a, tuple(two_three, 2)) && !poly_arg_eq(a, tuple(swap, 2)) && !poly_arg_eq(a, none()));
  CHECK(poly_arg_eq(poly_uop_arg(ctx, sum), over) && poly_arg_eq(poly_uop_arg(ctx, in), number(6)));
  CHECK(poly_uop_n_src(ctx, shaped) == 1 && poly_uop_src(ctx, shaped, 0) == in && poly_uop_n_src(ctx, store) == 2);
  CHECK(poly_uop_n_src(ctx, poly_const_float(ctx, 1)) == 0);

  int n = 0;
  PolyUOp **list = poly_toposort(ctx, sink, &n);
  CHECK(list && n >= 12 && list[n - 1] == sink);
  for (int i = 0; i < n; i++) { /* each node of its parts is the node, and its sources stand before it */
    PolyUOp *src[4] = {NULL};
    int count = poly_uop_n_src(ctx, list[i]);
    for (int k = 0; k < count; k++) {
      src[k] = poly_uop_src(ctx, list[i], k);
      int found = 0;
      for (int j = 0; j < i; j++) found = found || list[j] == src[k];
      CHECK(found);
    }
    PolyUOp *same = poly_uop(ctx, poly_uop_op(ctx, list[i]), poly_uop_dtype(ctx, list[i]), src, count, poly_uop_arg(ctx, list[i]));
    CHECK(same == list[i] || poly_uop_op(ctx, list[i]) == POLY_OP_REDUCE_AXIS || list[i] == sum);
  }
  CHECK(poly_toposort(ctx, sink, NULL) == list);
  PolyUOp *floor = poly_floor(ctx, shaped), *argument = poly_uop_src(ctx, floor, 0);
  PolyUOp *again = poly_uop(ctx, poly_uop_op(ctx, floor), poly_uop_dtype(ctx, floor), &argument, 1, poly_uop_arg(ctx, floor));
  CHECK(poly_uop_n_src(ctx, floor) == 1 && again == floor && strcmp(poly_op_name(poly_uop_op(ctx, floor)), "FLOOR") == 0);

  PolyShape s = poly_uop_shape(ctx, turned), t = poly_uop_shape(ctx, shaped);
  CHECK(s.ndim == 2 && s.dims[0] == 3 && s.dims[1] == 2 && poly_shape_numel(s) == 6 && !poly_shape_eq(s, t) && poly_shape_eq(s, s));
  free(s.dims);
  free(t.dims);
  s = poly_uop_shape(ctx, poly_const_float(ctx, 1));
  CHECK(s.ndim == 0 && s.dims == NULL && poly_shape_numel(s) == 1);
  FAILS(poly_uop_shape(ctx, sink).ndim >= 0, "poly_uop_shape", "no shape");
  s.ndim = -1;
  CHECK(poly_shape_numel(s) == 0);

  char *text = poly_uop_str(turned), *graph = poly_graph_str(sink);
  CHECK(text && strncmp(text, "PERMUTE float", 13) == 0 && !strchr(text, '\n') && strstr(text, "3"));
  CHECK(graph && strstr(graph, "REDUCE_AXIS") && strstr(graph, "SINK"));
  free(text);
  free(graph);
  CHECK(poly_ctx_owns_ptr(ctx, sum) && poly_ctx_owns_ptr(ctx, in) && !poly_ctx_owns_ptr(ctx, x) && !poly_ctx_owns_ptr(ctx, ctx));

  FAILS(poly_uop2(ctx, POLY_OP_ADD, POLY_INT32, in, in, none()), "poly_uop2", "type float");
  FAILS(poly_uop1(ctx, POLY_OP_LOAD, POLY_FLOAT32, in, none()), "poly_uop1", "LOAD");
  FAILS(poly_uop0(ctx, 0, POLY_FLOAT32, none()), "poly_uop0", "0 is not an operation");
  FAILS(poly_uop(ctx, POLY_OP_SINK, POLY_VOID, NULL, 2, none()), "poly_uop", "NULL");
  FAILS(poly_uop3(ctx, POLY_OP_WHERE, POLY_FLOAT32, in, in, NULL, none()), "poly_uop3", "s2: is NULL");
  FAILS(poly_uop1(ctx, POLY_OP_RESHAPE, POLY_FLOAT32, in, tuple(NULL, 2)), "poly_uop1", "NULL");
  two.kind = 77;
  FAILS(poly_uop0(ctx, POLY_OP_CONST, POLY_FLOAT32, two), "poly_uop0", "kind 77");
  FAILS(poly_uop_src(ctx, shaped, 1), "poly_uop_src", "out of range");
  FAILS(poly_uop_n_src(ctx, NULL) >= 0, "poly_uop_n_src", "NULL");
  FAILS(poly_uop_arg(ctx, (PolyUOp *)17).kind != POLY_ARG_INVALID, "poly_uop_arg", "not a polygrad handle");
  FAILS(poly_uop_str(NULL), "poly_uop_str", "NULL");
  FAILS(poly_graph_str((PolyUOp *)x), "poly_graph_str", "not a polygrad handle");
  FAILS(poly_toposort(ctx, NULL, &n), "poly_toposort", "NULL");
  CHECK(n == 0);
}

static PolyCtx *walking;
static PolyUOp *stop;
static int asked;

static bool gate(PolyUOp *x) {
  asked++;
  return x != stop && poly_uop_op(walking, x) != POLY_OP_CONST;
}

static bool never(PolyUOp *x) { return x == NULL; }

static void walks(PolyCtx *ctx) {
  int64_t before = poly_ctx_live_nodes(ctx);
  float x[4] = {1, 2, 3, 4};
  PolyUOp *a = host(ctx, x, 0, 4), *e = poly_exp2(ctx, a), *one = poly_const_float(ctx, 1);
  PolyUOp *s = poly_alu2(ctx, POLY_OP_ADD, e, one), *r = poly_alu2(ctx, POLY_OP_MUL, s, e);
  walking = ctx;
  stop = NULL;
  int n = 0, m = 0;
  PolyUOp **all = poly_toposort(ctx, r, &n);
  PolyUOp **some = poly_toposort_ex(ctx, r, &m, gate, true);
  CHECK(all && some && n > m && m > 2 && some[m - 1] == r && asked >= m);
  stop = e;
  some = poly_toposort_ex(ctx, r, &m, gate, true);
  CHECK(some && m >= 2 && some[m - 1] == r);
  for (int i = 0; i < m; i++) CHECK(some[i] != e && some[i] != a && some[i] != one);
  CHECK(poly_toposort_ex(ctx, r, &m, never, false) && m == 0);
  CHECK(poly_toposort_ex(ctx, r, &m, NULL, true) == all && m == n);
  PolyUOp *mine[5] = {a, e, one, s, r};
  poly_uop_release_n(ctx, mine, 5);
  CHECK(poly_ctx_live_nodes(ctx) == before);
}

int main(void) {
  PolyCtx *ctx = poly_ctx_new();
  dtypes();
  creation(ctx);
  parts(ctx);
  walks(ctx);
  poly_debug_opsets();
  poly_debug_uop(ctx, poly_const_float(ctx, 1));
  poly_debug_uop(ctx, NULL);
  poly_ctx_destroy(ctx);
  FAILS(poly_uop0(ctx, POLY_OP_CONST, POLY_FLOAT32, number(1)), "poly_uop0", "stale");
  return report();
}
