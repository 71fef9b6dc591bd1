/* Edges of what is allowed: nothing to compute on, damaged files, callbacks that end what they are called for. */
#include "check.h"

static PolyUOp *zeros(PolyCtx *ctx, int dtype, int64_t a, int64_t b) {
  int64_t shape[2] = {a, b};
  return poly_full_by_id(ctx, dtype, shape, 2, 0);
}

static void empty(void) {
  PolyCtx *ctx = poly_ctx_new();
  float out[4] = {9, 9, 9, 9};
  PolyUOp *x = zeros(ctx, POLY_DTYPE_FLOAT32, 0, 4), *y = poly_groupnorm(ctx, x, 2, 1e-5, NULL, NULL);
  CHECK(poly_numel(ctx, y) == 0 && into(ctx, y, out) == 0);
  PolyUOp *none = zeros(ctx, POLY_DTYPE_INT32, 2, 0), *from = zeros(ctx, POLY_DTYPE_FLOAT32, 2, 0);
  PolyUOp *to = poly_scatter(ctx, zeros(ctx, POLY_DTYPE_FLOAT32, 2, 2), 1, none, from);
  CHECK(into(ctx, to, out) == 0 && out[0] == 0 && out[3] == 0);
  to = poly_scatter(ctx, x, 0, zeros(ctx, POLY_DTYPE_INT32, 0, 4), x);
  CHECK(poly_numel(ctx, to) == 0 && into(ctx, to, out) == 0);
  poly_ctx_destroy(ctx);
}

/* Division of bools by bools is found where the node is built. */
static void bools(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *b = zeros(ctx, POLY_DTYPE_BOOL, 2, 2), *i = zeros(ctx, POLY_DTYPE_INT32, 2, 2);
  static const int ops[] = {POLY_FLOORDIV, POLY_MOD, POLY_TRUNCDIV, POLY_TRUNCMOD};
  for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
    FAILS(poly_binary(ctx, ops[k], b, b), "poly_binary", "bool");
    FAILS(poly_binary_bool(ctx, ops[k], b, 1, 1), "poly_binary_bool", "bool");
    CHECK(poly_dtype(ctx, poly_binary(ctx, ops[k], b, i)) == POLY_DTYPE_INT32);
  }
  FAILS(poly_alu2(ctx, POLY_OP_IDIV, b, b), "poly_alu2", "bool");
  FAILS(poly_alu2(ctx, POLY_OP_MOD, b, b), "poly_alu2", "bool");
  poly_ctx_destroy(ctx);
}

static void file(const char *header, const char *word) {
  uint8_t data[256] = {(uint8_t)strlen(header)};
  int n = 7;
  char *meta = (char *)&n;
  memcpy(data + 8, header, strlen(header));
  FAILS(poly_safetensors_decode(data, 12 + (int)strlen(header), &n, &meta), "poly_safetensors_decode", word);
  CHECK(n == 0 && meta == NULL); /* nothing to free */
}

static void files(void) {
  file("null", "JSON object");
  file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", "3 data_offsets");
  file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "1 data_offsets");
  file("{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "I32");
}

static PolyCtx *current;
static int released;

static PolyUOp **less_than_none(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out) {
  (void)model, (void)user, (void)inputs, (void)n;
  *n_out = -1;
  return malloc(8);
}

static PolyUOp **ends(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out) {
  (void)inputs, (void)n, (void)n_out;
  if (user) poly_model_free(model);
  else poly_ctx_destroy(current);
  return NULL;
}

static void count(void *user) {
  (void)user;
  released++;
  poly_ctx_destroy(current);
}

static bool end(PolyUOp *x) {
  (void)x;
  poly_ctx_destroy(current);
  return true;
}

static void callbacks(void) {
  int n = 7;
  current = poly_ctx_new();
  FAILS(poly_model_forward(poly_model_new(current, less_than_none, NULL, NULL), NULL, 0, &n), "poly_model_forward", "-1 outputs");
  CHECK(n == 0);
  FAILS(poly_model_forward(poly_model_new(current, ends, &n, count), NULL, 0, &n), "poly_model_forward", "no outputs");
  CHECK(released == 1 && poly_ctx_live_nodes(current) == -1);
  current = poly_ctx_new();
  FAILS(poly_model_forward(poly_model_new(current, ends, NULL, count), NULL, 0, &n), "poly_model_forward", "no outputs");
  CHECK(released == 2);
  current = poly_ctx_new();
  PolyUOp *x = poly_exp(current, poly_buffer_f32(current, 4));
  FAILS(poly_toposort_ex(current, x, &n, end, true), "poly_toposort_ex", "stale");
  CHECK(n == 0);
}

/* A variable that may be below 0 is no size. */
static void variables(void) {
  PolyCtx *ctx = poly_ctx_new();
  int64_t inner[1] = {4};
  FAILS(poly_buffer_var(ctx, poly_dtype_of(POLY_DTYPE_FLOAT32), poly_define_var(ctx, "low", -3, -1), inner, 1), "poly_buffer_var", "expected a size");
  FAILS(poly_buffer_var(ctx, poly_dtype_of(POLY_DTYPE_FLOAT32), poly_define_var(ctx, "any", -3, 2), inner, 1), "poly_buffer_var", "expected a size");
  CHECK(poly_ndim(ctx, poly_buffer_var(ctx, poly_dtype_of(POLY_DTYPE_FLOAT32), poly_define_var(ctx, "n", 0, 2), inner, 1)) == 2);
  poly_ctx_destroy(ctx);
}

/* Shared memory has the size of its array, also where there is none. */
static void shared(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[2] = {1, 2};
  FAILS(poly_array_share(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2}, 1, NULL, 0, 1), "poly_array_share", "nbytes: 0, expected 8");
  FAILS(poly_array_share(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2}, 1, NULL, 8, 1), "poly_array_share", "data");
  FAILS(poly_array_share(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2}, 1, data, 4, 1), "poly_array_share", "nbytes: 4, expected 8");
  PolyArray *none = poly_array_share(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){0}, 1, NULL, 0, 1);
  CHECK(none && poly_array_read(none, NULL, 0) == 0);
  poly_ctx_destroy(ctx);
}

/* Gradients beside the caller: the arrays have them at once, their elements when the job has ended. */
static void jobs(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[3] = {1, 2, 3};
  int64_t shape[1] = {3}, before = poly_array_memory();
  PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, shape, 1, data, sizeof data);
  CHECK(poly_array_memory() >= before + (int64_t)sizeof data && poly_array_require_grad(x, 1) == 0);
  PolyArray *squares = poly_array_binary(POLY_MUL, x, x), *sum, *grad;
  CHECK(poly_array_call(ctx, poly_op("sum"), (PolyCallArg[]){POLY_PASS_T(squares)}, 1, &sum, 1) == 1);
  FAILS(poly_array_backward_async(squares, NULL), "poly_array_backward_async", "expected one element or a gradient");
  PolyJob *job = poly_array_backward_async(sum, NULL);
  CHECK(job && poly_array_grad(x, &grad) == 1 && poly_job_wait(job, -1) == 0);
  poly_job_release(job);
  CHECK(poly_array_is_computed(grad) == 1 && poly_array_read(grad, data, sizeof data) == 0 && data[2] == 6);
  CHECK(poly_trace_begin(ctx, "step", NULL, 0, NULL) == 0);
  FAILS(poly_array_backward_async(sum, NULL), "poly_array_backward_async", "a value is needed while step traces");
  CHECK(poly_trace_abandon(ctx) == 0);
  poly_ctx_destroy(ctx);
  CHECK(poly_array_memory() == before);
}

/* Expressions nest, and keep what they are computed from. */
static void expressions(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[2] = {2, 3};
  int64_t shape[1] = {2};
  int first = 0, both[2] = {0, 0}, none = -1;
  PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, shape, 1, data, sizeof data);
  PolyArray *arg, *inner, *out[4], *w = poly_array_new(ctx, POLY_DTYPE_FLOAT32, NULL, 0, data, 4);
  CHECK(poly_expr_begin(ctx, "outer", &x, 1, &first, &arg) == 0);
  CHECK(poly_expr_begin(ctx, "inner", &arg, 1, NULL, &inner) == 0);
  FAILS(poly_array_read(inner, data, sizeof data) == 0, "poly_array_read", "a value is needed while inner traces the function");
  FAILS(poly_array_assign(w, (PolyCallArg[]){POLY_PASS_T(inner)}) == 0, "poly_array_assign", "a tensor from outside is written while inner traces the function");
  PolyArray *square = poly_array_binary(POLY_MUL, inner, inner), *cube = poly_array_binary(POLY_MUL, square, inner);
  PolyArray *y = poly_array_binary(POLY_MUL, cube, w);
  PolyExpr *f = poly_expr_end(ctx, &y, 1), *slope = poly_expr_derive(f, POLY_DERIVE_GRAD, &first, 1);
  CHECK(f && slope && poly_expr_apply(slope, &arg, 1, out, 2) == 2); /* 3 w x^2, inside of the outer function */
  PolyExpr *outer = poly_expr_end(ctx, out, 1), *second = poly_expr_derive(outer, POLY_DERIVE_GRAD, &first, 1);
  PolyExpr *all = poly_expr_batch(second, -1, both, 1, both, 2);
  int inputs = 0, outputs = 0;
  CHECK(all && poly_expr_info(all, &inputs, &outputs) == 0 && inputs == 1 && outputs == 2);
  poly_expr_release(f), poly_expr_release(slope), poly_expr_release(outer), poly_expr_release(second), poly_array_release(w);
  CHECK(poly_expr_apply(all, &x, 1, out, 4) == 2 && poly_array_read(out[0], data, sizeof data) == 0);
  CHECK(data[0] == 6 * 2 * 2 && data[1] == 6 * 2 * 3);
  FAILS(poly_expr_apply(all, &x, 1, out, 1) >= 0, "poly_expr_apply", "expected 2");
  FAILS(poly_expr_end(ctx, out, 1), "poly_expr_end", "no function is traced");
  FAILS(poly_expr_abandon(ctx) == 0, "poly_expr_abandon", "no function is traced");
  CHECK(poly_expr_begin(ctx, NULL, &x, 1, &none, &arg) == 0);
  FAILS(poly_expr_batch(poly_expr_end(ctx, &arg, 1), -1, &first, 1, &first, 1), "poly_expr_batch", "no argument is mapped");
  FAILS(poly_expr_begin(ctx, "map", &x, 1, both + 1, NULL) == 0, "poly_expr_begin", "given: is NULL");
  CHECK(poly_expr_begin(ctx, NULL, &x, 1, NULL, &arg) == 0 && poly_expr_abandon(ctx) == 0);
  FAILS(poly_array_read(arg, data, sizeof data) == 0, "poly_array_read", "a tensor has left it");
  poly_ctx_destroy(ctx);
}

/* Derivatives that the caller states, and that are computed again; expressions as text. */
static void rules(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[1] = {3};
  int first = 0;
  PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, NULL, 0, data, sizeof data), *pair[2] = {x, x}, *given[2], *out[2], *y;
  CHECK(poly_expr_begin(ctx, NULL, &x, 1, NULL, given) == 0 && (y = poly_array_binary(POLY_MUL, given[0], given[0])));
  PolyExpr *square = poly_expr_end(ctx, &y, 1);
  CHECK(poly_expr_begin(ctx, NULL, pair, 2, NULL, given) == 0 && (y = poly_array_binary(POLY_MUL, given[0], given[1])));
  PolyExpr *product = poly_expr_end(ctx, &y, 1); /* half of the tangent of a square, and of its gradient */
  CHECK(poly_expr_begin(ctx, NULL, &x, 1, NULL, given) == 0 && (out[0] = poly_array_binary(POLY_MUL, given[0], given[0])) && (out[1] = given[0]));
  PolyExpr *forward = poly_expr_end(ctx, out, 2);
  for (int k = 0; k < 3; k++) {
    CHECK(poly_expr_begin(ctx, NULL, &x, 1, NULL, given) == 0);
    int n = k == 0 ? poly_expr_checkpoint(square, NULL, given, 1, out, 1)
      : k == 1 ? poly_expr_custom_jvp(square, product, given, 1, out, 1)
               : poly_expr_custom_vjp(square, forward, product, given, 1, out, 1);
    CHECK(n == 1);
    PolyExpr *f = poly_expr_end(ctx, out, 1), *slope = poly_expr_derive(f, POLY_DERIVE_GRAD, &first, 1);
    CHECK(slope && poly_expr_apply(slope, &x, 1, out, 2) == 2 && poly_array_read(out[0], data, sizeof data) == 0);
    CHECK(data[0] == (k == 0 ? 6 : 3));
    poly_expr_release(f), poly_expr_release(slope);
  }
  FAILS(poly_expr_checkpoint(square, "all", &x, 1, out, 1) >= 0, "poly_expr_checkpoint", "policy: \"all\"");
  FAILS(poly_expr_custom_jvp(square, square, &x, 1, out, 1) >= 0, "poly_expr_custom_jvp", "tangent: takes 1 tensors, expected 1 arguments and 1 tangents");
  FAILS(poly_expr_custom_vjp(square, square, product, &x, 1, out, 1) >= 0, "poly_expr_custom_vjp", "backward: takes 2 tensors, expected 0 residuals and 1 cotangents");
  FAILS(poly_expr_custom_vjp(square, product, product, &x, 1, out, 1) >= 0, "poly_expr_custom_vjp", "forward: takes 2 tensors, expected 1 as the function");
  /* A rule for a batch: 10 times the function, to see that it is used. */
  PolyArray *batch = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2}, 1, (float[]){1, 2}, 8);
  CHECK(poly_expr_begin(ctx, NULL, &batch, 1, &first, given) == 0);
  FAILS(poly_expr_custom_vmap(square, -1, given, 1, out, 1) >= 0, "poly_expr_custom_vmap", "rule: -1, expected 0 or more");
  CHECK(poly_expr_custom_vmap(square, 7, given, 1, out, 1) == 1);
  PolyExpr *f = poly_expr_end(ctx, out, 1), *whole;
  int64_t rule = 0, size = 0;
  int batched[1] = {0}, yes = 1;
  float squares[2] = {0};
  CHECK(poly_expr_begin_rule(f, "rule", &rule, &size, batched, given, 1) == 0);
  FAILS(poly_expr_add_rule(f, square, &yes, 1) == 0, "poly_expr_add_rule", "no rule is missing");
  CHECK((whole = poly_expr_batch(f, -1, &first, 1, &first, 1)));
  poly_expr_release(whole);
  FAILS(poly_expr_begin_rule(f, "rule", &rule, &size, batched, given, 0) >= 0, "poly_expr_begin_rule", "room: 0, expected 1");
  FAILS(poly_expr_begin_rule(f, "rule", NULL, &size, batched, given, 1) >= 0, "poly_expr_begin_rule", "rule: is NULL, expected memory");
  CHECK(poly_expr_begin_rule(f, "rule", &rule, &size, batched, given, 1) == 1 && rule == 7 && size == 2 && batched[0] == 1);
  CHECK((y = poly_array_binary_number(POLY_MUL, given[0], (PolyCallArg[]){POLY_PASS_F(10)}, 0)) && (y = poly_array_binary(POLY_MUL, y, given[0])));
  PolyExpr *tens = poly_expr_end(ctx, &y, 1);
  FAILS(poly_expr_add_rule(f, tens, &first, 1) == 0, "poly_expr_add_rule", "expected float32 of shape (), as it is not batched");
  FAILS(poly_expr_add_rule(f, tens, &yes, 0) == 0, "poly_expr_add_rule", "says of 0 whether they are batched");
  CHECK(poly_expr_add_rule(f, tens, &yes, 1) == 0 && (whole = poly_expr_batch(f, -1, &first, 1, &first, 1)));
  CHECK(poly_expr_apply(whole, &batch, 1, out, 1) == 1 && poly_array_read(out[0], squares, sizeof squares) == 0);
  CHECK(squares[0] == 10 && squares[1] == 40);
  poly_expr_release(f), poly_expr_release(whole), poly_expr_release(tens), poly_array_release(batch);
  /* A sum over a batch, and its errors. */
  PolyArray *both = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2}, 1, (float[]){1, 2}, 8), *total;
  FAILS(poly_expr_axis(ctx, "i", 2) == 0, "poly_expr_axis", "no function is traced");
  CHECK(poly_expr_begin(ctx, NULL, &both, 1, &first, given) == 0 && poly_expr_axis(ctx, "i", -1) == 0);
  FAILS(poly_expr_along(given[0], "psum", "k"), "poly_expr_along", "along the axis \"k\"");
  FAILS(poly_expr_along(given[0], "sum", "i"), "poly_expr_along", "operation: \"sum\"");
  FAILS(poly_expr_along(given[0], "own", "i"), "poly_expr_along", "x: has shape (), expected a first axis of 2");
  CHECK((total = poly_expr_along(given[0], "psum", "i")) != NULL);
  PolyExpr *sums = poly_expr_batch(poly_expr_end(ctx, &total, 1), -1, &first, 1, &first, 1);
  float two[2] = {0, 0};
  CHECK(poly_expr_apply(sums, &both, 1, out, 1) == 1 && poly_array_read(out[0], two, sizeof two) == 0 && two[0] == 3 && two[1] == 3);
  char *text = poly_expr_text(product);
  CHECK(text && strcmp(text, "{ lambda ; a:float32[] b:float32[]. let\n    c:float32[] = mul a b\n  in (c) }") == 0);
  free(text);
  poly_ctx_destroy(ctx);
}

static PolyArray *reduced(PolyCtx *ctx, const char *operation, PolyArray *x) {
  PolyArray *out = NULL;
  CHECK(poly_array_call(ctx, poly_op(operation), (PolyCallArg[]){POLY_PASS_T(x)}, 1, &out, 1) == 1);
  return out;
}

/* Derivatives that are composed of others: see the names in the header. */
static void composed(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[2] = {1, 3}, ones[2] = {1, 2}, found[4];
  int64_t two[1] = {2};
  int first = 0;
  PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, two, 1, data, sizeof data), *v = poly_array_new(ctx, POLY_DTYPE_FLOAT32, two, 1, ones, sizeof ones);
  PolyArray *given, *y, *out[4];
  CHECK(poly_expr_begin(ctx, "cubes", &x, 1, NULL, &given) == 0);
  CHECK((y = poly_array_binary(POLY_MUL, poly_array_binary(POLY_MUL, given, given), given)) && (y = reduced(ctx, "sum", y)));
  PolyExpr *loss = poly_expr_end(ctx, &y, 1), *grad = poly_expr_derive(loss, POLY_DERIVE_GRAD, &first, 1);
  /* hvp: the gradients, the loss, and the tangent of each. */
  PolyExpr *hvp = poly_expr_derive(grad, POLY_DERIVE_JVP, &first, 1);
  CHECK(poly_expr_apply(hvp, (PolyArray *[]){x, v}, 2, out, 4) == 4 && poly_array_read(out[2], found, 8) == 0 && found[0] == 6 && found[1] == 36);
  CHECK(poly_array_read(out[3], found, 4) == 0 && found[0] == 3 + 27 * 2);
  PolyExpr *hessian = poly_expr_derive(poly_expr_derive(loss, POLY_DERIVE_JACREV, &first, 1), POLY_DERIVE_JACFWD, &first, 1);
  CHECK(poly_expr_apply(hessian, &x, 1, out, 4) == 1 && poly_array_read(out[0], found, sizeof found) == 0);
  CHECK(found[0] == 6 && found[1] == 0 && found[2] == 0 && found[3] == 18);
  /* linear_transpose: the gradient of a function that is linear depends on the cotangent only. */
  CHECK(poly_expr_begin(ctx, "differences", &x, 1, NULL, &given) == 0 && (y = poly_array_binary(POLY_MUL, given, v)));
  PolyExpr *transposed = poly_expr_derive(poly_expr_end(ctx, &y, 1), POLY_DERIVE_VJP, &first, 1);
  CHECK(poly_expr_apply(transposed, (PolyArray *[]){x, x}, 2, out, 1) == 1 && poly_array_read(out[0], found, 8) == 0 && found[0] == 1 && found[1] == 6);
  /* pmax: the maximum of what all elements of the batch have; eval_shape: the shape of what a traced function returns. */
  int64_t sizes[POLY_MAX_DIMS];
  CHECK(poly_expr_begin(ctx, "shares", &x, 1, &first, &given) == 0 && poly_expr_axis(ctx, "i", -1) == 0);
  CHECK((y = reduced(ctx, "max", poly_expr_along(given, "all_gather", "i"))) && poly_array_describe(y, sizes, POLY_MAX_DIMS, NULL) == 0);
  PolyExpr *greatest = poly_expr_batch(poly_expr_end(ctx, &y, 1), -1, &first, 1, &first, 1);
  CHECK(poly_expr_apply(greatest, &x, 1, out, 1) == 1 && poly_array_read(out[0], found, 8) == 0 && found[0] == 3 && found[1] == 3);
  poly_ctx_destroy(ctx);
}

/* Loops and branches of expressions. */
static void control_flow(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[3] = {1, 2, 3}, sum[3];
  int32_t which[1] = {7};
  int axes[2] = {-1, 0}, first = 0;
  PolyArray *none = poly_array_new(ctx, POLY_DTYPE_FLOAT32, NULL, 0, NULL, 0), *xs = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){3}, 1, data, sizeof data);
  PolyArray *args[2] = {none, xs}, *given[2], *results[2], *out[4];
  CHECK(poly_expr_begin(ctx, "sums", args, 2, axes, given) == 0);
  results[0] = results[1] = poly_array_binary(POLY_ADD, given[0], given[1]);
  PolyExpr *step = poly_expr_end(ctx, results, 2);
  for (int reverse = 0; reverse < 2; reverse++) {
    CHECK(poly_expr_scan(step, 1, 3, reverse, args, 2, out, 4) == 2 && poly_array_read(out[0], sum, 4) == 0 && sum[0] == 6);
    CHECK(poly_array_read(out[1], sum, sizeof sum) == 0 && sum[0] == (reverse ? 6 : 1) && sum[1] == (reverse ? 5 : 3) && sum[2] == (reverse ? 3 : 6));
  }
  FAILS(poly_expr_scan(step, 1, 4, 0, args, 2, out, 4) >= 0, "poly_expr_scan", "expected float32 of shape (4)");
  FAILS(poly_expr_scan(step, 3, 3, 0, args, 2, out, 4) >= 0, "poly_expr_scan", "carried: 3");
  FAILS(poly_expr_scan(step, 1, -1, 0, args, 2, out, 4) >= 0, "poly_expr_scan", "length: -1");
  FAILS(poly_expr_scan(step, 1, 3, 0, args, 2, out, 1) >= 0, "poly_expr_scan", "room for 1");
  /* A loop inside of a function that is differentiated. */
  CHECK(poly_expr_begin(ctx, "total", &xs, 1, NULL, &args[1]) == 0 && poly_expr_scan(step, 1, 3, 0, args, 2, out, 4) == 2);
  PolyArray *cube = poly_array_binary(POLY_MUL, poly_array_binary(POLY_MUL, out[0], out[0]), out[0]);
  PolyExpr *slope = poly_expr_derive(poly_expr_end(ctx, &cube, 1), POLY_DERIVE_GRAD, &first, 1);
  CHECK(poly_expr_apply(slope, &xs, 1, out, 4) == 2 && poly_array_read(out[0], sum, sizeof sum) == 0 && sum[2] == 3 * 6 * 6);
  args[1] = xs;

  /* Products up to each place, and their gradient. */
  PolyArray *twice[2] = {xs, xs};
  CHECK(poly_expr_begin(ctx, "products", twice, 2, (int[]){0, 0}, given) == 0 && (results[0] = poly_array_binary(POLY_MUL, given[0], given[1])));
  PolyExpr *products = poly_expr_end(ctx, results, 1);
  for (int reverse = 0; reverse < 2; reverse++) {
    CHECK(poly_expr_associative_scan(products, reverse, &xs, 1, out, 1) == 1 && poly_array_read(out[0], sum, sizeof sum) == 0);
    CHECK(sum[0] == (reverse ? 6 : 1) && sum[1] == (reverse ? 6 : 2) && sum[2] == (reverse ? 3 : 6));
  }
  PolyArray *inner;
  CHECK(poly_expr_begin(ctx, "last", &xs, 1, NULL, &inner) == 0 && poly_expr_associative_scan(products, 1, &inner, 1, out, 1) == 1);
  PolyExpr *all = poly_expr_end(ctx, (PolyArray *[]){reduced(ctx, "sum", out[0])}, 1);
  CHECK(poly_expr_apply(poly_expr_derive(all, POLY_DERIVE_GRAD, &first, 1), &xs, 1, out, 4) == 2 && poly_array_read(out[0], sum, sizeof sum) == 0);
  CHECK(sum[0] == 6 && sum[1] == 6 && sum[2] == 5);
  FAILS(poly_expr_associative_scan(step, 0, twice, 2, out, 4) >= 0, "poly_expr_associative_scan", "2 inputs and 2 outputs, expected twice as many inputs");
  FAILS(poly_expr_associative_scan(products, 0, twice, 2, out, 4) >= 0, "poly_expr_associative_scan", "2 arguments, expected 1 sequences");
  FAILS(poly_expr_associative_scan(products, 0, &none, 1, out, 4) >= 0, "poly_expr_associative_scan", "argument 0 is float32 of shape ()");
  FAILS(poly_expr_associative_scan(products, 0, &xs, 1, out, 0) >= 0, "poly_expr_associative_scan", "room for 0");

  PolyArray *limit = poly_array_new(ctx, POLY_DTYPE_FLOAT32, NULL, 0, data + 2, 4), *one = poly_array_new(ctx, POLY_DTYPE_FLOAT32, NULL, 0, data, 4);
  CHECK(poly_expr_begin(ctx, "twice", &one, 1, NULL, given) == 0);
  results[0] = poly_array_binary(POLY_ADD, given[0], given[0]), results[1] = poly_array_binary(POLY_LT, given[0], limit);
  PolyExpr *loop = poly_expr_end(ctx, results, 2);
  CHECK(poly_expr_while(loop, &one, 1, out, 4) == 1 && poly_array_read(out[0], sum, 4) == 0 && sum[0] == 4);
  FAILS(poly_expr_while(step, args, 2, out, 4) >= 0, "poly_expr_while", "expected");
  CHECK(poly_expr_begin(ctx, "endless", &one, 1, NULL, given) == 0);
  results[0] = results[1] = given[0];
  FAILS(poly_expr_while(poly_expr_end(ctx, results, 2), &one, 1, out, 4) >= 0, "poly_expr_while", "expected a bool of shape ()");

  PolyArray *read[2] = {poly_array_new(ctx, POLY_DTYPE_INT32, NULL, 0, which, 4), one};
  CHECK(poly_expr_begin(ctx, "branches", read, 2, NULL, given) == 0);
  results[0] = given[1], results[1] = poly_array_binary(POLY_ADD, given[1], limit);
  PolyExpr *branches = poly_expr_end(ctx, results, 2);
  CHECK(poly_expr_switch(branches, 2, read, 2, out, 1) == 1 && poly_array_read(out[0], sum, 4) == 0 && sum[0] == 4);
  FAILS(poly_expr_switch(branches, 3, read, 2, out, 1) >= 0, "poly_expr_switch", "branches: 3");
  FAILS(poly_expr_switch(branches, 0, read, 2, out, 1) >= 0, "poly_expr_switch", "branches: 0");
  FAILS(poly_expr_switch(step, 2, (PolyArray *[]){none, none}, 2, out, 1) >= 0, "poly_expr_switch", "expected an integer of shape ()");
  CHECK(poly_expr_begin(ctx, "constant", NULL, 0, NULL, NULL) == 0);
  FAILS(poly_expr_switch(poly_expr_end(ctx, &one, 1), 1, NULL, 0, out, 1) >= 0, "poly_expr_switch", "no inputs");
  poly_ctx_destroy(ctx);
}

/* Learning rate schedules by name and by number give the same rates. */
static void schedules(void) {
  PolyCtx *ctx = poly_ctx_new();
  float data[3] = {1, 2, 3}, rates[2];
  int64_t shape[1] = {3};
  PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, shape, 1, data, sizeof data);
  PolyOptim *o[2];
  for (int i = 0; i < 2; i++) o[i] = poly_optim_new(ctx, poly_op("SGD"), (PolyCallArg[]){POLY_PASS_TENSORS(&x, 1), POLY_PASS_F(0.5)}, 2, NULL);
  PolyRateScheduler *named[3] = {
      poly_rate_schedule_new(o[0], poly_op("LinearLR"), (PolyCallArg[]){POLY_PASS_F(0.25)}, 1),
      poly_rate_schedule_new(o[0], poly_op("MultiStepLR"), (PolyCallArg[]){POLY_PASS_INTS(((int64_t[]){1, 2}), 2)}, 1),
      poly_rate_schedule_new(o[0], poly_op("CosineAnnealingLRWithWarmup"), (PolyCallArg[]){POLY_PASS_F(0.5), POLY_PASS_F(0.1), POLY_PASS_I(1), POLY_PASS_I(4)}, 4),
  };
  PolyRateScheduler *numbered[3] = {
      poly_optim_schedule(o[1], POLY_RATE_LINEAR, (double[]){0.25, 1, 5}, 3),
      poly_optim_schedule(o[1], POLY_RATE_MULTISTEP, (double[]){0.1, 1, 2}, 3),
      poly_optim_schedule(o[1], POLY_RATE_WARMUP_COSINE, (double[]){1, 4, 0.1}, 3),
  };
  for (int i = 0; i < 3; i++) {
    for (int step = 0; step < 3; step++) {
      CHECK(poly_rate_schedule_step(named[i]) == 0 && poly_rate_schedule_step(numbered[i]) == 0);
      for (int j = 0; j < 2; j++) CHECK(poly_array_read(poly_optim_state(o[j], 0, 0), &rates[j], sizeof *rates) == 0);
      CHECK(rates[0] == rates[1] && rates[0] > 0 && (i != 1 || step != 1 || (rates[0] > 0.0049f && rates[0] < 0.0051f)));
    }
  }
  /* base_lr is the rate that this schedule, and later ones, begin with. */
  poly_rate_schedule_new(o[0], poly_op("CosineAnnealingLRWithWarmup"), (PolyCallArg[]){POLY_PASS_F(3), POLY_PASS_F(0), POLY_PASS_I(2), POLY_PASS_I(4)}, 4);
  CHECK(poly_array_read(poly_optim_state(o[0], 0, 0), rates, sizeof *rates) == 0 && rates[0] == 1.5f);
  FAILS(poly_rate_schedule_new(o[0], poly_op("SGD"), NULL, 0), "poly_rate_schedule_new", "op: SGD is no schedule");
  FAILS(poly_rate_schedule_new(o[0], poly_op("ReduceLROnPlateau"), NULL, 0), "poly_rate_schedule_new", "ReduceLROnPlateau is no schedule of the number of steps");
  FAILS(poly_rate_schedule_new(o[0], poly_op("StepLR"), NULL, 0), "poly_rate_schedule_new", "args: StepLR: step_size: is missing, expected a number");
  FAILS(poly_rate_schedule_new(o[0], poly_op("StepLR"), (PolyCallArg[]){POLY_PASS_T(x)}, 1), "poly_rate_schedule_new", "args: StepLR: step_size: is a tensor");
  FAILS(poly_rate_schedule_new(o[0], poly_op("OneCycleLR"), (PolyCallArg[]){POLY_PASS_F(1)}, 1), "poly_rate_schedule_new", "total_steps: not given");
  FAILS(poly_rate_schedule_new(NULL, poly_op("StepLR"), NULL, 0), "poly_rate_schedule_new", "optimizer: is NULL");
  poly_ctx_destroy(ctx);
}

int main(void) {
  empty();
  schedules();
  shared();
  jobs();
  expressions();
  rules();
  composed();
  control_flow();
  variables();
  bools();
  files();
  callbacks();
  return report();
}
