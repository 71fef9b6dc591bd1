/* What the C program of the table stands on: it makes tensors, computes results and compares them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "polygrad.h"

static PolyCtx *ctx;
static const char *current; /* the case that runs */
static int failures, checks;
static int64_t told[POLY_MAX_OUT_DIMS]; /* the shape that a function of the original interface tells */
static int n_told;
static double tolerance; /* of gradients */

static void complain(const char *call, const char *what) {
  printf("FAIL %s: %s: %s\n", current, call, what);
  failures++;
}

/* A tensor on the bytes of the table, which the program may write to. */
static PolyUOp *leaf(int dtype, const int64_t *shape, int ndim, void *data, size_t nbytes) {
  PolyUOp *x = poly_buffer_host(ctx, dtype, shape, ndim, data, nbytes);
  if (!x)
    complain("poly_buffer_host", poly_last_error());
  return x;
}

/* An operation by its name. */
static PolyUOp *called(const char *op, const PolyCallArg *args, int n) {
  PolyUOp *out = NULL;
  return poly_call(ctx, poly_op(op), args, n, &out, 1) == 1 ? out : NULL;
}

static double half(uint16_t bits) {
  int e = bits >> 10 & 31, m = bits & 1023;
  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return bits >> 15 ? -v : v;
}

static double brain(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, sizeof f);
  return f;
}

/* Element i of a floating type. */
static double real(int dtype, const void *data, int64_t i) {
  switch (dtype) {
  case POLY_DTYPE_FLOAT16:
    return half(((const uint16_t *)data)[i]);
  case POLY_DTYPE_BFLOAT16:
    return brain(((const uint16_t *)data)[i]);
  case POLY_DTYPE_FLOAT32:
    return ((const float *)data)[i];
  default:
    return ((const double *)data)[i];
  }
}

static int is_real(int dtype) {
  return dtype >= POLY_DTYPE_FLOAT16 && dtype <= POLY_DTYPE_FLOAT64;
}

static int near(double got, double want, double rtol, double atol) {
  return got == want || (got != got && want != want) || fabs(got - want) <= atol + rtol * fabs(want);
}

static int same_shape(const int64_t *a, int n, const int64_t *b, int m) {
  return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

/* Compares a result with what the table says. */
static void result(const char *call, PolyUOp *u, int dtype, const int64_t *shape, int ndim, const void *want,
                   double rtol, double atol) {
  checks++;
  if (!u) {
    complain(call, poly_last_error());
    return;
  }
  int64_t dims[POLY_MAX_OUT_DIMS];
  int type, n = poly_describe(ctx, u, dims, POLY_MAX_OUT_DIMS, &type);
  if (type != dtype || !same_shape(dims, n, shape, ndim)) {
    char text[200];
    snprintf(text, sizeof text, "is %s of %d dimensions, expected %s of %d; or the sizes differ",
             poly_dtype_id_name(type), n, poly_dtype_id_name(dtype), ndim);
    complain(call, text);
    return;
  }
  int64_t count = poly_numel(ctx, u);
  size_t size = poly_dtype_id_size(dtype);
  char *got = malloc(count * size + 1);
  void *to = got;
  if (poly_realize_into(ctx, &u, &to, 1, NULL) != 0) {
    complain(call, poly_last_error());
  } else if (!is_real(dtype)) {
    if (memcmp(got, want, count * size) != 0)
      complain(call, "elements differ");
  } else {
    for (int64_t i = 0; i < count; i++) {
      double g = real(dtype, got, i), w = real(dtype, want, i);
      if (near(g, w, rtol, atol))
        continue;
      char text[200];
      snprintf(text, sizeof text, "element %d is %.17g, expected %.17g", (int)i, g, w);
      complain(call, text);
      break;
    }
  }
  free(got);
}

/* Checks the shape that the last call told. */
static void told_shape(const char *call, const int64_t *shape, int ndim) {
  checks++;
  if (!same_shape(told, n_told, shape, ndim))
    complain(call, "another shape is told");
  n_told = -1;
}

/* Checks that a call failed with a message about something; computing its value may be what fails. */
static void fails(const char *call, PolyUOp *u, const char *text) {
  checks++;
  if (u) {
    complain(call, "gave a node, expected an error");
    return;
  }
  const char *said = poly_last_error();
  for (const char *at = said; *at; at++)
    if (strncasecmp(at, text, strlen(text)) == 0)
      return;
  if (*text || !*said)
    complain(call, *said ? said : "failed without a message");
}

/* The weighted sum of results, term by term. */
static PolyUOp *weighted(PolyUOp *loss, PolyUOp *u, const int64_t *shape, int ndim, double *weights, size_t nbytes) {
  PolyUOp *w = leaf(POLY_DTYPE_FLOAT64, shape, ndim, weights, nbytes);
  PolyUOp *term = poly_reduce(ctx, POLY_REDUCE_SUM, poly_binary(ctx, POLY_MUL, u, w), NULL, -1, 0, 0);
  return loss ? poly_binary(ctx, POLY_ADD, loss, term) : term;
}

/* Compares gradients, all float64; want[i] are the elements of the i-th. */
static void gradients(const char *call, PolyUOp *loss, PolyUOp **wrt, double **want, int n) {
  PolyUOp *grads[8] = {0};
  if (poly_grad_many(ctx, loss, NULL, wrt, n, grads) != 0) {
    complain(call, poly_last_error());
    return;
  }
  for (int i = 0; i < n; i++) {
    int64_t dims[POLY_MAX_OUT_DIMS];
    int ndim = poly_shape(ctx, wrt[i], dims, POLY_MAX_OUT_DIMS);
    result(call, grads[i], POLY_DTYPE_FLOAT64, dims, ndim, want[i], tolerance, tolerance);
    result("poly_grad", poly_grad(ctx, loss, wrt[i]), POLY_DTYPE_FLOAT64, dims, ndim, want[i], tolerance, tolerance);
  }
}

static void begin(const char *name) {
  current = name;
  n_told = -1;
  ctx = poly_ctx_new();
}

static void end(void) {
  poly_ctx_destroy(ctx);
}
