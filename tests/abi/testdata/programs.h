/* Runs statements of tests/programs.json, which programs_test.go writes as C. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "polygrad.h"

#define COUNT(...) ((int)(sizeof(__VA_ARGS__) / sizeof((__VA_ARGS__)[0])))
#define ARGS(...) ((PolyCallArg[]){__VA_ARGS__}), COUNT((PolyCallArg[]){__VA_ARGS__})
#define NAMES(...) ((const char *[]){__VA_ARGS__}), COUNT((const char *[]){__VA_ARGS__})
#define V(name) ((PolyCallArg){.kind = POLY_CALL_TENSOR, .as = {.p = get(name)}})
#define L(n_) ((PolyCallArg){.kind = POLY_CALL_LIST, .n = (n_)})
#define SLICE ((PolyCallArg){.kind = POLY_CALL_SLICE})
#define ELLIPSIS ((PolyCallArg){.kind = POLY_CALL_ELLIPSIS})

enum { MOST = 64 };

static PolyCtx *ctx;
static struct binding {
  const char *name;
  PolyArray *x;
} bound[MOST];
static int n_bound;

/* What makes a function of another: n inputs (of), for a batch with their axes, and those of outputs (out); text is a name. */
struct transform {
  const char *kind, *text, *second;
  int n, n_out, of[8], out[8];
};

/* A function that is compiled runs as it is, is traced, and runs as a program from then on; others are transformed. */
struct function {
  const char *name, **params, **returns;
  int n_params, n_returns, calls, n_how;
  const struct transform *how; /* NULL: it is compiled */
  int (*body)(void);
  PolyFunction *compiled;
};
static struct function functions[MOST];
static struct { const char *name; PolyOptim *o; } optimizers[MOST];
static int n_functions, n_optimizers, failures;
static char why[2000];

static int wrong(const char *text) {
  snprintf(why, sizeof why, "%s", text);
  return -2;
}

static PolyArray *get(const char *name) {
  for (int i = n_bound; i-- > 0;)
    if (strcmp(bound[i].name, name) == 0) return bound[i].x;
  return NULL;
}

/* Lets a name stand for an array, whose reference it takes. */
static int set(const char *name, PolyArray *x, int from) {
  if (!x) return -1;
  for (int i = n_bound; i-- > from;)
    if (strcmp(bound[i].name, name) == 0) {
      poly_array_release(bound[i].x);
      bound[i].x = x;
      return 0;
    }
  bound[n_bound++] = (struct binding){name, x};
  return 0;
}

static int inner; /* names from here on are of the function that runs */

static int let(const char *name, int dtype, const double *data, int n, const int64_t *shape, int ndim, int grad) {
  PolyArray *wide = poly_array_new(ctx, POLY_DTYPE_FLOAT64, shape, ndim, data, (size_t)n * 8), *x = NULL;
  PolyCallArg args[] = {POLY_PASS_T(wide), POLY_PASS_DTYPE(dtype)};
  if (poly_array_call(ctx, poly_op("cast"), args, 2, &x, 1) != 1 || poly_array_realize(&x, 1) != 0) return -1;
  poly_array_release(wide);
  if (grad && poly_array_require_grad(x, 1) != 0) {
    poly_array_release(x);
    return -1;
  }
  return set(name, x, inner);
}

static int call(const char *name, const char *op, const PolyCallArg *args, int n) {
  PolyArray *out[8] = {0};
  if (strcmp(op, "detach") == 0 || strcmp(op, "clone") == 0)
    out[0] = (*op == 'd' ? poly_array_detach : poly_array_clone)((PolyArray *)args[0].as.p);
  else if (poly_array_call(ctx, poly_op(op), args, n, out, 8) < 0)
    return -1;
  for (int i = 1; i < 8; i++) poly_array_release(out[i]);
  return set(name, out[0], inner);
}

static int all(const char **names, int n, PolyArray **xs) {
  for (int i = 0; i < n; i++) xs[i] = get(names[i]);
  return n;
}

static int realize(const char **names, int n) {
  PolyArray *xs[MOST];
  return poly_array_realize(xs, all(names, n, xs));
}

static int drop(const char *name) {
  for (int i = n_bound; i-- > 0;)
    if (strcmp(bound[i].name, name) == 0) {
      poly_array_release(bound[i].x);
      bound[i] = bound[--n_bound];
      return 0;
    }
  return wrong("no such name");
}

static int optimizer(const char *name, const char *kind, const char **names, int n, double lr, double momentum, int nesterov, double decay) {
  PolyArray *xs[MOST];
  all(names, n, xs);
  PolyCallArg sgd[] = {POLY_PASS_TENSORS(xs, n), POLY_PASS_F(lr), POLY_PASS_F(momentum), POLY_PASS_F(0), POLY_PASS_B(nesterov)};
  PolyCallArg adam[] = {POLY_PASS_TENSORS(xs, n), POLY_PASS_F(lr), POLY_PASS_NONE, POLY_PASS_NONE, POLY_PASS_NONE, POLY_PASS_F(decay)};
  PolyOptim *o = strcmp(kind, "sgd") == 0 ? poly_optim_new(ctx, poly_op("SGD"), sgd, 5, NULL)
                                          : poly_optim_new(ctx, poly_op(strcmp(kind, "adamw") == 0 ? "AdamW" : "Adam"), adam, 6, NULL);
  optimizers[n_optimizers].name = name, optimizers[n_optimizers++].o = o;
  return o ? 0 : -1;
}

static int step(const char *name) {
  for (int i = n_optimizers; i-- > 0;)
    if (strcmp(optimizers[i].name, name) == 0) return poly_optim_step(&optimizers[i].o, 1);
  return wrong("no such optimizer");
}

static int function(const char *name, int (*body)(void), const char **params, int n_params, const char **returns, int n_returns,
                    const struct transform *how, int n_how) {
  functions[n_functions++] = (struct function){.name = name, .params = params, .returns = returns, .n_params = n_params, .n_returns = n_returns,
                                               .how = how, .n_how = n_how, .body = body};
  return 0;
}

static struct function *find(const char *name) {
  for (int i = n_functions; i-- > 0;)
    if (strcmp(functions[i].name, name) == 0) return &functions[i];
  return NULL;
}

/* Keeps the last error of the library, which later calls overwrite. */
static int failed(void) {
  char text[sizeof why];
  snprintf(text, sizeof text, "%s", poly_last_error());
  return wrong(text);
}

/* Calls the body of a function on arrays, whose references it takes, and writes its results. */
static int run_body(struct function *f, PolyArray **given, PolyArray **out) {
  int before = inner, defined = n_functions, rc = 0;
  inner = n_bound;
  for (int i = 0; i < f->n_params; i++) set(f->params[i], given[i], n_bound);
  rc = f->body();
  for (int i = 0; rc == 0 && i < f->n_returns; i++)
    if (!(out[i] = poly_array_retain(get(f->returns[i])))) rc = -1;
  if (rc == -1) rc = failed();
  while (n_bound > inner) poly_array_release(bound[--n_bound].x);
  inner = before;
  n_functions = defined;
  return rc;
}

static void release(PolyArray **xs, int n) {
  for (int i = 0; i < n; i++) poly_array_release(xs[i]);
}

static int apply(struct function *f, int level, PolyArray **xs, int n, PolyArray **out);

/* Traces n_fs functions of the arguments behind the first skip, transformed as often as level says, or as they are if it is negative. turned:
 * their first argument is the last one. Returns the number of results. */
static int traced(PolyExpr **e, struct function **fs, int n_fs, int level, int skip, int turned, PolyArray **xs, int n, const int *axes, const char *axis) {
  PolyArray *given[MOST], *args[MOST], *results[MOST] = {0};
  int total = 0, rc = 0;
  if (poly_expr_begin(ctx, fs[0]->name, xs, n, axes, given) != 0) return failed();
  if (axis && poly_expr_axis(ctx, axis, -1) != 0) rc = failed();
  for (int i = 0; i < n; i++) args[i] = turned ? given[(i + n - 1) % n] : given[i];
  for (int i = 0; rc == 0 && i < n_fs; i++) {
    int found = apply(fs[i], level < 0 ? fs[i]->n_how : level, args + skip, n - skip, results + total);
    if (found < 0) rc = found;
    else total += found;
  }
  if (rc != 0) poly_expr_abandon(ctx);
  else if (!(*e = poly_expr_end(ctx, results, total))) rc = failed();
  release(given, n);
  release(results, total);
  return rc != 0 ? rc : total;
}

/* Replaces an expression by one that is made of it. */
static int become(PolyExpr **e, PolyExpr *made) {
  int rc = made ? 0 : failed();
  poly_expr_release(*e);
  *e = made;
  return rc;
}

static int derive(PolyExpr **e, int derivative, const int *of, int n) { return become(e, poly_expr_derive(*e, derivative, of, n)); }

static int by_rule(struct function *f, int level, PolyArray **xs, int n, PolyArray **out) {
  const struct transform *how = &f->how[level - 1];
  PolyExpr *e = NULL, *forward = NULL, *rule = NULL;
  struct function *first = find(how->text), *second = how->second ? find(how->second) : NULL;
  PolyArray *args[MOST], *found[MOST] = {0};
  int total = traced(&e, &f, 1, level - 1, 0, 0, xs, n, NULL, NULL), rc = total;
  if (rc >= 0 && !second) {
    for (int i = 0; i < 2 * n; i++) args[i] = xs[i % n];
    rc = traced(&rule, &first, 1, -1, 0, 0, args, 2 * n, NULL, NULL);
    if (rc >= 0) rc = poly_expr_custom_jvp(e, rule, xs, n, out, MOST);
  } else if (rc >= 0) {
    int all = traced(&forward, &first, 1, -1, 0, 0, xs, n, NULL, NULL);
    rc = all < 0 ? all : poly_expr_apply(forward, xs, n, found, MOST);
    for (int i = 0; i < all; i++) args[i] = found[(i + total) % all];
    if (rc >= 0) rc = traced(&rule, &second, 1, -1, 0, 0, args, all, NULL, NULL);
    if (rc >= 0) rc = poly_expr_custom_vjp(e, forward, rule, xs, n, out, MOST);
    release(found, all);
  }
  if (rc == -1) rc = failed();
  poly_expr_release(e);
  poly_expr_release(forward);
  poly_expr_release(rule);
  return rc;
}

/* Calls a function that is transformed as often as level says. Returns the number of results. */
static int apply(struct function *f, int level, PolyArray **xs, int n, PolyArray **out) {
  if (level == 0) {
    PolyArray *given[MOST];
    for (int i = 0; i < n; i++) given[i] = poly_array_retain(xs[i]);
    int rc = run_body(f, given, out);
    return rc != 0 ? rc : f->n_returns;
  }
  const struct transform *how = &f->how[level - 1];
  if (strncmp(how->kind, "custom", 6) == 0) return by_rule(f, level, xs, n, out);
  int is_jvp = strcmp(how->kind, "jvp") == 0, is_vjp = strcmp(how->kind, "vjp") == 0, is_batch = strcmp(how->kind, "vmap") == 0;
  int inputs = is_jvp || is_vjp ? how->n : n, numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  PolyExpr *e = NULL;
  int total = traced(&e, &f, 1, level - 1, 0, 0, xs, inputs, is_batch ? how->of : NULL, is_batch ? how->text : NULL), rc = total < 0 ? total : 0;
  if (rc != 0) return rc;
  if (strcmp(how->kind, "checkpoint") == 0) {
    rc = poly_expr_checkpoint(e, how->text, xs, n, out, MOST);
  } else {
    if (is_jvp) rc = derive(&e, POLY_DERIVE_JVP, numbers, inputs);
    else if (is_vjp) rc = derive(&e, POLY_DERIVE_VJP, numbers, inputs);
    else if (is_batch) rc = become(&e, poly_expr_batch(e, -1, how->of, how->n, how->out, how->n_out));
    else if (strcmp(how->kind, "grad") == 0) rc = derive(&e, POLY_DERIVE_GRAD, how->of, how->n);
    else if (strcmp(how->kind, "jacfwd") == 0) rc = derive(&e, POLY_DERIVE_JACFWD, how->of, how->n);
    else rc = derive(&e, POLY_DERIVE_JACREV, how->of, how->n);
    if (rc == 0 && strcmp(how->kind, "hessian") == 0) rc = derive(&e, POLY_DERIVE_JACFWD, how->of, how->n);
    if (rc == 0) rc = poly_expr_apply(e, xs, n, out, MOST);
  }
  if (rc == -1) rc = failed();
  poly_expr_release(e);
  if (rc > 0 && strcmp(how->kind, "grad") == 0) { /* the outputs come behind the gradients */
    release(out + how->n, rc - how->n);
    rc = how->n;
  }
  return rc;
}

static int set_all(const char **names, int n, PolyArray **xs, int found) {
  int rc = found < n ? wrong("too few results") : 0;
  for (int i = 0; rc == 0 && i < n; i++) rc = set(names[i], xs[i], inner);
  return rc;
}

/* Runs a loop or a branch of functions. */
static int control(const char *kind, const char **names, int n_fs, const char **carry, int n_carry, const char **over, int n_over, const char **with,
                   int n_with, int reverse, int from, int to, const char *on, const char **lets, int n_lets) {
  struct function *fs[MOST];
  PolyArray *xs[MOST], *out[MOST] = {0}, *own = NULL;
  PolyExpr *e = NULL;
  int axes[MOST], n = all(carry, n_carry, xs), rc;
  n += all(over, n_over, xs + n);
  for (int i = 0; i < n_fs; i++)
    if (!(fs[i] = find(names[i]))) return wrong("no such function");
  for (int i = 0; i < MOST; i++) axes[i] = i < n_carry ? -1 : 0;
  if (strcmp(kind, "scan") == 0 || strcmp(kind, "map") == 0) {
    int64_t shape[POLY_MAX_DIMS];
    poly_array_describe(xs[n_carry], shape, POLY_MAX_DIMS, NULL);
    rc = traced(&e, fs, 1, -1, 0, 0, xs, n, axes, NULL);
    if (rc >= 0) rc = poly_expr_scan(e, n_carry, shape[0], reverse, xs, n, out, MOST);
  } else if (strcmp(kind, "fori_loop") == 0) {
    int32_t numbers[MOST];
    int64_t length = to - from;
    for (int i = from; i < to; i++) numbers[i - from] = i;
    own = xs[n++] = poly_array_new(ctx, POLY_DTYPE_INT32, &length, 1, numbers, (size_t)length * 4);
    rc = traced(&e, fs, 1, -1, 0, 1, xs, n, axes, NULL);
    if (rc >= 0) rc = poly_expr_scan(e, n_carry, length, 0, xs, n, out, MOST);
  } else if (strcmp(kind, "associative_scan") == 0) {
    all(over, n_over, xs + n);
    rc = traced(&e, fs, 1, -1, 0, 0, xs, 2 * n, axes, NULL);
    if (rc >= 0) rc = poly_expr_associative_scan(e, reverse, xs, n, out, MOST);
  } else if (strcmp(kind, "while_loop") == 0) {
    struct function *turned[] = {fs[1], fs[0]};
    rc = traced(&e, turned, 2, -1, 0, 0, xs, n, NULL, NULL);
    if (rc >= 0) rc = poly_expr_while(e, xs, n, out, MOST);
  } else {
    PolyCallArg args[] = {V(on), POLY_PASS_DTYPE(POLY_DTYPE_INT32)};
    if (poly_array_call(ctx, poly_op("cast"), args, 2, &own, 1) != 1) return -1;
    xs[0] = own;
    n = 1 + all(with, n_with, xs + 1);
    if (strcmp(kind, "cond") == 0) { /* branch 0 is that for false */
      struct function *first = fs[0];
      fs[0] = fs[1], fs[1] = first;
    }
    rc = traced(&e, fs, n_fs, -1, 1, 0, xs, n, NULL, NULL);
    if (rc >= 0) rc = poly_expr_switch(e, n_fs, xs, n, out, MOST);
  }
  if (rc == -1) rc = failed();
  poly_expr_release(e);
  poly_array_release(own);
  return rc < 0 ? rc : set_all(lets, n_lets, out, rc);
}

static int run(const char *name, const char **with, int n, const char **lets, int n_lets) {
  struct function *f = find(name);
  if (!f) return wrong("no such function");
  PolyArray *xs[MOST], *given[MOST], *out[MOST] = {0};
  all(with, n, xs);
  int rc = 0;
  if (f->how) {
    rc = apply(f, f->n_how, xs, n, out);
    return rc < 0 ? rc : set_all(lets, n_lets, out, rc);
  }
  if (++f->calls == 1) {
    for (int i = 0; i < n; i++) given[i] = poly_array_retain(xs[i]);
    rc = run_body(f, given, out);
    if (rc == 0 && f->n_returns > 0) rc = poly_array_realize(out, f->n_returns);
  } else {
    if (!f->compiled) {
      PolyArray *results[MOST] = {0};
      if (poly_trace_begin(ctx, "f", xs, n, given) != 0) return -1;
      if ((rc = run_body(f, given, results)) != 0) {
        poly_trace_abandon(ctx);
        return rc;
      }
      f->compiled = poly_trace_end(ctx, results, f->n_returns, 0);
      if (!f->compiled) rc = failed();
      release(results, f->n_returns);
      if (rc != 0) return rc;
    }
    if (poly_function_run(f->compiled, xs, n, NULL, 0, out, MOST) != f->n_returns) return -1;
  }
  return rc != 0 ? rc : set_all(lets, n_lets, out, f->n_returns);
}

static int compare(PolyArray *x, int dtype, const int64_t *shape, int ndim, const double *values, int n, double tolerance) {
  int64_t have[POLY_MAX_DIMS];
  int type, dims = poly_array_describe(x, have, POLY_MAX_DIMS, &type);
  if (dims < 0) return -1;
  if (shape && (dims != ndim || memcmp(have, shape, (size_t)ndim * 8) != 0)) return wrong("the shape differs");
  if (dtype >= 0 && type != dtype) return wrong("the type differs");
  PolyArray *wide = NULL;
  PolyCallArg args[] = {POLY_PASS_T(x), POLY_PASS_DTYPE(POLY_DTYPE_FLOAT64)};
  if (poly_array_call(ctx, poly_op("cast"), args, 2, &wide, 1) != 1) return -1;
  double *got = malloc((size_t)n * 8 + 8);
  int rc = poly_array_read(wide, got, (size_t)n * 8);
  for (int i = 0; rc == 0 && i < n; i++)
    if (!(fabs(got[i] - values[i]) <= fmax(tolerance, 1e-6) * fmax(1, fabs(values[i])))) {
      snprintf(why, sizeof why, "element %d is %g, expected %g", i, got[i], values[i]);
      rc = -2;
    }
  free(got);
  if (rc == 0) poly_array_release(wide);
  return rc;
}

static int expect(const char *name, int dtype, const int64_t *shape, int ndim, const double *values, int n, double tolerance) {
  return compare(get(name), dtype, shape, ndim, values, n, tolerance);
}

static int expect_grad(const char *name, const double *values, int n, double tolerance) {
  PolyArray *g;
  int has = poly_array_grad(get(name), &g);
  if (has < 0) return -1;
  if (has != (values != NULL)) return wrong(has ? "there is a gradient" : "there is no gradient");
  int rc = has ? compare(g, -1, NULL, 0, values, n, tolerance) : 0;
  poly_array_release(g);
  return rc;
}

static int gradients(const char *name, const char **of, int n, const char **lets, int n_lets) {
  PolyArray *targets[MOST], *out[MOST];
  if (n_lets != n || poly_array_gradient(get(name), targets, all(of, n, targets), NULL, 0, out) != 0) return -1;
  int rc = 0;
  for (int i = 0; rc == 0 && i < n; i++) rc = set(lets[i], out[i], inner);
  return rc;
}

static struct { const char *name; PolyUOp *node; } sizes[MOST];
static int n_sizes;

static int size(const char *name, int64_t least, int64_t greatest) {
  sizes[n_sizes].name = name, sizes[n_sizes].node = poly_define_var(ctx, name, least, greatest);
  return sizes[n_sizes++].node ? 0 : -1;
}

/* The first elements of an array, as many as a size is. */
static int first(const char *name, const char *size, int64_t value, const char *of) {
  for (int i = n_sizes; i-- > 0;) {
    if (strcmp(sizes[i].name, size) != 0) continue;
    PolyUOp *n = poly_bind_var(ctx, sizes[i].node, value);
    if (!n) return -1;
    PolyCallArg n_arg = {.kind = POLY_CALL_SIZE, .as = {.p = n}};
    int rc = call(name, "shrink", ARGS(V(of), L(1), L(2), POLY_PASS_I(0), n_arg));
    poly_uop_release(ctx, n);
    return rc;
  }
  return wrong("no such size");
}

static size_t bytes_of(PolyArray *x) {
  int64_t shape[POLY_MAX_DIMS];
  int type, ndim = poly_array_describe(x, shape, POLY_MAX_DIMS, &type);
  size_t bytes = sizeof(float);
  for (int i = 0; i < ndim; i++) bytes *= (size_t)shape[i];
  return bytes;
}

/* Reads at most 16 float32. */
static int read_values(const char *name) {
  float x[16];
  return bytes_of(get(name)) > sizeof x ? wrong("too many elements") : poly_array_read(get(name), x, bytes_of(get(name)));
}

/* Whether two arrays of at most 16 float32 have the same elements. */
static int same(const char *a, const char *b, int is) {
  float x[16] = {0}, y[16] = {0};
  size_t bytes = bytes_of(get(a));
  if (bytes > sizeof x) return wrong("too many elements");
  if (poly_array_read(get(a), x, bytes) != 0 || poly_array_read(get(b), y, bytes) != 0) return -1;
  return (memcmp(x, y, sizeof x) == 0) == is ? 0 : wrong("other elements");
}

static int mentions(const char *text, const char *part) {
  size_t n = strlen(part);
  for (; *text; text++)
    if (strncasecmp(text, part, n) == 0) return 1;
  return 0;
}

/* A statement that must fail with an error about something. */
static int fails(const char *about, int rc) {
  char text[sizeof why];
  snprintf(text, sizeof text, "%s", rc == -2 ? why : poly_last_error());
  if (rc == 0) return wrong("no error");
  if (mentions(text, about)) return 0;
  snprintf(why, sizeof why, "error \"%.900s\", expected one about \"%.200s\"", text, about);
  return -2;
}

/* Runs a program; statement is the number of the one that fails. */
static void program(const char *name, int (*body)(void)) {
  ctx = poly_ctx_new();
  n_bound = n_functions = n_optimizers = n_sizes = inner = 0;
  poly_clear_error();
  int rc = body();
  if (rc != 0) {
    failures++;
    fprintf(stderr, "%s: %s\n", name, rc == -1 ? poly_last_error() : why);
  }
  for (int i = 0; i < n_bound; i++) poly_array_release(bound[i].x);
  for (int i = 0; i < n_optimizers; i++) poly_optim_release(optimizers[i].o);
  for (int i = 0; i < n_functions; i++) poly_function_release(functions[i].compiled);
  poly_ctx_destroy(ctx);
}
