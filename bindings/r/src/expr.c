/* Expressions: functions of Tensors as graphs of the library, which transforms and runs them. */
#include <stdlib.h>

#include "glue.h"

static PolyExpr *expr_of(SEXP expr) { return held(expr, RELEASE(poly_expr_release), "an expression"); }

static SEXP expr_made(SEXP who, PolyExpr *expr) {
  if (expr == NULL) fail_in(CHAR(STRING_ELT(who, 0)), P.poly_last_error());
  return owned(expr, RELEASE(poly_expr_release), R_NilValue);
}

/* Positions from 1, NA for none, as the library counts: from 0, -1 for none. */
static int *positions(SEXP from1) {
  R_xlen_t n = Rf_xlength(from1);
  int *out = (int *)R_alloc((size_t)n + 1, sizeof *out);
  for (R_xlen_t i = 0; i < n; i++) out[i] = INTEGER(from1)[i] == NA_INTEGER ? -1 : INTEGER(from1)[i] - 1;
  return out;
}

static SEXP wrapped(PolyArray **arrays, int n) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) SET_VECTOR_ELT(out, i, wrap(arrays[i]));
  UNPROTECT(1);
  return out;
}

/* Begins to trace a function. Returns placeholders for its Tensors, without the axes of a batch if there are axes. These
 * have a name, or NULL, and a size, NA for that of the Tensors. */
SEXP r_expr_begin(SEXP who, SEXP tensors, SEXP axes, SEXP name, SEXP size) {
  const char *text = CHAR(STRING_ELT(who, 0));
  int n = (int)Rf_xlength(tensors);
  PolyCtx *ctx = context();
  PolyArray **arrays = arrays_of(text, tensors), **given = (PolyArray **)R_alloc((size_t)n + 1, sizeof *given);
  before_run();
  if (P.poly_expr_begin(ctx, text, arrays, n, Rf_isNull(axes) ? NULL : positions(axes), given) != 0) fail_in(text, P.poly_last_error());
  SEXP out = PROTECT(wrapped(given, n));
  int64_t count = Rf_asInteger(size) == NA_INTEGER ? -1 : Rf_asInteger(size);
  if (!Rf_isNull(name) && P.poly_expr_axis(ctx, Rf_translateCharUTF8(STRING_ELT(name, 0)), count) != 0) {
    const char *error = P.poly_last_error();
    char *copy = R_alloc(strlen(error) + 1, 1); /* the end of the trace may clear it */
    strcpy(copy, error);
    P.poly_expr_abandon(ctx);
    fail_in(text, copy);
  }
  UNPROTECT(1);
  return out;
}

/* An operation along an axis with a name: see poly_expr_along. */
SEXP r_expr_along(SEXP who, SEXP x, SEXP operation, SEXP name) {
  before_run();
  PolyArray *out = P.poly_expr_along(array_of(x), CHAR(STRING_ELT(operation, 0)), Rf_translateCharUTF8(STRING_ELT(name, 0)));
  if (out == NULL) fail_in(CHAR(STRING_ELT(who, 0)), P.poly_last_error());
  return wrap(out);
}

SEXP r_expr_abandon(void) {
  P.poly_expr_abandon(context());
  return R_NilValue;
}

SEXP r_expr_end(SEXP who, SEXP results) {
  PolyArray **arrays = arrays_of(CHAR(STRING_ELT(who, 0)), results);
  return expr_made(who, P.poly_expr_end(context(), arrays, (int)Rf_xlength(results)));
}

SEXP r_expr_derive(SEXP who, SEXP expr, SEXP derivative, SEXP of) {
  return expr_made(who, P.poly_expr_derive(expr_of(expr), Rf_asInteger(derivative), positions(of), (int)Rf_xlength(of)));
}

/* size is NA for that of the axes. */
SEXP r_expr_batch(SEXP who, SEXP expr, SEXP size, SEXP in_axes, SEXP out_axes) {
  int64_t n = Rf_asInteger(size) == NA_INTEGER ? -1 : Rf_asInteger(size);
  return expr_made(who, P.poly_expr_batch(expr_of(expr), n, positions(in_axes), (int)Rf_xlength(in_axes), positions(out_axes),
                                          (int)Rf_xlength(out_axes)));
}

/* Begins to trace the next rule for a batch that an expression has missed, of at most room Tensors: the number of the rule, the size of the
 * batch, which of the Tensors are batched, and placeholders for them; NULL if none is missing. */
static SEXP missing_rule(const char *who, PolyExpr *f, int room) {
  PolyArray **given = (PolyArray **)R_alloc((size_t)room + 1, sizeof *given);
  int *flags = (int *)R_alloc((size_t)room + 1, sizeof *flags);
  int64_t rule, size;
  int n = P.poly_expr_begin_rule(f, who, &rule, &size, flags, given, room);
  if (n < 0) fail_in(who, P.poly_last_error());
  if (n == 0) return R_NilValue;
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3)), batched = Rf_allocVector(LGLSXP, n);
  SET_VECTOR_ELT(out, 1, batched);
  for (int i = 0; i < n; i++) LOGICAL(batched)[i] = flags[i] != 0;
  SET_VECTOR_ELT(out, 2, wrapped(given, n));
  SEXP numbers = Rf_allocVector(INTSXP, 2);
  SET_VECTOR_ELT(out, 0, numbers);
  INTEGER(numbers)[0] = (int)rule;
  INTEGER(numbers)[1] = (int)size;
  UNPROTECT(1);
  return out;
}

/* Runs an expression on Tensors in a way: apply, scan (with the number of carried Tensors, of steps, and whether in
 * reverse), associative_scan (whether in reverse), while, switch (with the number of branches), checkpoint (with a policy), custom_jvp (with the expression of the
 * tangents), custom_vjp (with a list of those of forward and backward), or custom_vmap (with the number of its rule). Returns the outputs. missing_rule (with
 * the most Tensors that a rule takes) begins to trace a rule, add_rule (with its expression and which results are batched) states it. */
SEXP r_expr_run(SEXP who, SEXP expr, SEXP tensors, SEXP way, SEXP with) {
  PolyExpr *f = expr_of(expr);
  const char *text = CHAR(STRING_ELT(who, 0)), *how = CHAR(STRING_ELT(way, 0));
  const int *numbers = TYPEOF(with) == INTSXP ? INTEGER(with) : NULL;
  int n = (int)Rf_xlength(tensors), room, count;
  if (P.poly_expr_info(f, NULL, &room) != 0) fail_in(text, P.poly_last_error());
  PolyArray **arrays = arrays_of(text, tensors), **out = (PolyArray **)R_alloc((size_t)room + 1, sizeof *out);
  before_run();
  if (strcmp(how, "missing_rule") == 0) return missing_rule(text, f, numbers[0]);
  if (strcmp(how, "add_rule") == 0) {
    SEXP batched = VECTOR_ELT(with, 1);
    if (P.poly_expr_add_rule(f, expr_of(VECTOR_ELT(with, 0)), LOGICAL(batched), (int)Rf_xlength(batched)) != 0) fail_in(text, P.poly_last_error());
    return R_NilValue;
  }
  if (strcmp(how, "scan") == 0) {
    count = P.poly_expr_scan(f, numbers[0], numbers[1], numbers[2], arrays, n, out, room);
  } else if (strcmp(how, "associative_scan") == 0) {
    count = P.poly_expr_associative_scan(f, numbers[0], arrays, n, out, room);
  } else if (strcmp(how, "while") == 0) {
    count = P.poly_expr_while(f, arrays, n, out, room);
  } else if (strcmp(how, "switch") == 0) {
    count = P.poly_expr_switch(f, numbers[0], arrays, n, out, room);
  } else if (strcmp(how, "checkpoint") == 0) {
    count = P.poly_expr_checkpoint(f, CHAR(STRING_ELT(with, 0)), arrays, n, out, room);
  } else if (strcmp(how, "custom_jvp") == 0) {
    count = P.poly_expr_custom_jvp(f, expr_of(with), arrays, n, out, room);
  } else if (strcmp(how, "custom_vjp") == 0) {
    count = P.poly_expr_custom_vjp(f, expr_of(VECTOR_ELT(with, 0)), expr_of(VECTOR_ELT(with, 1)), arrays, n, out, room);
  } else if (strcmp(how, "custom_vmap") == 0) {
    count = P.poly_expr_custom_vmap(f, numbers[0], arrays, n, out, room);
  } else {
    count = P.poly_expr_apply(f, arrays, n, out, room);
  }
  if (count < 0) fail_in(text, P.poly_last_error());
  return wrapped(out, count);
}

SEXP r_expr_text(SEXP expr) {
  char *text = P.poly_expr_text(expr_of(expr));
  if (text == NULL) fail();
  SEXP out = Rf_mkString(text);
  free(text);
  return out;
}

/* Lets Tensors stand for others, which are Tensors, or what a call returned: what the Tensors stood for before. */
SEXP r_stand_in(SEXP tensors, SEXP others) {
  R_xlen_t n = Rf_xlength(tensors);
  SEXP before = PROTECT(Rf_allocVector(RAWSXP, n * (R_xlen_t)sizeof(PolyArray *)));
  if (n > 0) memcpy(RAW(before), arrays_of("tensors", tensors), (size_t)Rf_xlength(before));
  PolyArray **arrays = TYPEOF(others) == RAWSXP ? (PolyArray **)RAW(others) : arrays_of("tensors", others);
  for (R_xlen_t i = 0; i < n; i++) set_array(VECTOR_ELT(tensors, i), arrays[i]);
  written();
  UNPROTECT(1);
  return before;
}
