/* Functions of Tensors that are traced and compiled: steps of training, and functions that were captured; optimizers. */
#include <stdio.h>

#include "glue.h"

/* Whether a function is traced, and whether it has drawn random numbers. */
static int active, drawn;
static char who[64];

int tracing(void) { return active; }

SEXP r_tracing(void) { return Rf_ScalarLogical(active); }

/* In a trace the runs draw, and what they draw follows R's generator where manual_seed does not say otherwise. */
int draws_later(void) {
  drawn |= active;
  return active;
}

/* Handles in a raw vector. */
static PolyArray **in(SEXP raw) { return (PolyArray **)RAW(raw); }

/* Lets Tensors stand for others while a function is traced. */
static void stand_for(SEXP tensors, SEXP handles) {
  written(); /* elements that were asked for before are of other Tensors */
  for (R_xlen_t i = 0; i < Rf_xlength(tensors); i++) set_array(VECTOR_ELT(tensors, i), in(handles)[i]);
}

/* Begins to trace a function of Tensors, which stand for its arguments from then on. Returns what they stood for. */
SEXP r_trace_begin(SEXP name, SEXP tensors) {
  Args a = begin("trace");
  PolyCtx *ctx = context();
  int n = (int)Rf_xlength(tensors);
  const char *text = arg_string(&a, name, "name");
  PolyArray **arrays = arrays_of(text, tensors);
  SEXP before = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)((size_t)n * sizeof *arrays)));
  SEXP given = PROTECT(Rf_allocVector(RAWSXP, Rf_xlength(before)));
  if (n > 0) memcpy(RAW(before), arrays, (size_t)n * sizeof *arrays);
  before_run();
  snprintf(who, sizeof who, "%s", text);
  finish(P.poly_trace_begin(ctx, text, arrays, n, in(given)));
  stand_for(tensors, given);
  active = 1;
  drawn = 0;
  UNPROTECT(2);
  return before;
}

static void end(SEXP tensors, SEXP before) {
  active = 0;
  R_xlen_t n = Rf_xlength(tensors);
  PolyArray **given = (PolyArray **)R_alloc((size_t)n + 1, sizeof *given);
  for (R_xlen_t i = 0; i < n; i++) given[i] = array_of(VECTOR_ELT(tensors, i));
  stand_for(tensors, before);
  P.poly_array_release_n(given, (int)n);
}

SEXP r_trace_abandon(SEXP tensors, SEXP before) {
  P.poly_trace_abandon(context());
  end(tensors, before);
  return R_NilValue;
}

/* Compiles what was traced. A function keeps whether it draws random numbers. */
SEXP r_trace_end(SEXP results, SEXP tensors, SEXP before, SEXP flags) {
  PolyArray **arrays = arrays_of("trace", results);
  PolyFunction *f = P.poly_trace_end(context(), arrays, (int)Rf_xlength(results), Rf_asInteger(flags));
  end(tensors, before);
  if (f == NULL) fail_in(who, P.poly_last_error());
  return owned(f, RELEASE(poly_function_release), Rf_ScalarLogical(drawn));
}

static PolyFunction *function_of(SEXP function) {
  return held(function, RELEASE(poly_function_release), "a compiled function");
}

static void draw_for(SEXP function) {
  if (LOGICAL(R_ExternalPtrProtected(function))[0]) r_draw();
}

/* The Tensor that a result is at each run, NULL if it is another one each time. */
SEXP r_function_same(SEXP function, SEXP i) {
  PolyArray *array = P.poly_function_result(function_of(function), Rf_asInteger(i) - 1);
  return array != NULL ? wrap(array) : R_NilValue;
}

/* The numbers of kernels and of buffers between them. */
SEXP r_function_counts(SEXP function) {
  SEXP out = PROTECT(Rf_allocVector(INTSXP, 2));
  if (P.poly_function_info(function_of(function), NULL, &INTEGER(out)[0], &INTEGER(out)[1]) != 0) fail();
  UNPROTECT(1);
  return out;
}

/* Runs a function on Tensors. Returns its results. */
SEXP r_function_run(SEXP function, SEXP tensors, SEXP variables, SEXP values) {
  PolyFunction *f = function_of(function);
  int n = (int)Rf_xlength(tensors), n_vars = (int)Rf_xlength(variables), count;
  const void *top = vmaxget();
  PolyArray **arrays = arrays_of("TinyJit", tensors);
  PolyVarBinding *vars = (PolyVarBinding *)R_alloc((size_t)n_vars + 1, sizeof *vars);
  for (int i = 0; i < n_vars; i++) {
    vars[i].var = size_handle(VECTOR_ELT(variables, i));
    vars[i].value = INTEGER(values)[i];
  }
  if (P.poly_function_info(f, &count, NULL, NULL) != 0) fail();
  PolyArray **made = (PolyArray **)R_alloc((size_t)count + 1, sizeof *made);
  draw_for(function);
  before_run();
  written();
  int status = P.poly_function_run(f, arrays, n, vars, n_vars, made, count), given;
  if (status < 0 && sscanf(P.poly_last_error(), "poly_function_run: args: argument %d is a view", &given) == 1) {
    raise_error("TinyJit: the function assigns tensor %d of the arguments, which is a view", given + 1);
  }
  finish(status < 0);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, count));
  for (int i = 0; i < count; i++) SET_VECTOR_ELT(out, i, wrap(made[i]));
  vmaxset(top);
  UNPROTECT(1);
  return out;
}

SEXP r_function_rerun(SEXP function) {
  PolyFunction *f = function_of(function);
  draw_for(function);
  written();
  finish(P.poly_function_rerun(f));
  return R_NilValue;
}

/* Type and shape as text, symbolic sizes without the values of variables. */
SEXP r_kind(SEXP x) {
  PolyArray *array = array_of(x);
  PolyCtx *ctx = context();
  Shape s = describe(array);
  char text[1024];
  size_t used = (size_t)snprintf(text, sizeof text, "%s of shape (", P.poly_dtype_id_name(s.dtype));
  PolyUOp *node = s.symbolic ? P.poly_array_node(array) : NULL;
  for (int i = 0; i < s.ndim && used < sizeof text; i++) {
    const char *comma = i > 0 ? ", " : "";
    if (s.dims[i] >= 0) {
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", comma, (long long)s.dims[i]);
      continue;
    }
    char name[256] = "";
    int64_t most = 0;
    PolyUOp *size = P.poly_size_of(ctx, node, i), *open = P.poly_size_unbind(ctx, size);
    P.poly_size_info(ctx, open, NULL, &most, NULL);
    P.poly_size_text(ctx, open, name, sizeof name);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld at most: %s", comma, (long long)most, name);
    P.poly_uop_release(ctx, size);
    P.poly_uop_release(ctx, open);
  }
  if (node != NULL) P.poly_uop_release(ctx, node);
  if (used < sizeof text) snprintf(text + used, sizeof text - used, ")");
  return Rf_mkString(text);
}

/* Whether all are Tensors, each given once, of these kinds, none of which has a symbolic size. */
SEXP r_are_kinds(SEXP tensors, SEXP kinds) {
  R_xlen_t n = Rf_xlength(tensors);
  if (n != Rf_xlength(kinds)) return Rf_ScalarLogical(0);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP x = VECTOR_ELT(tensors, i);
    if (!is_tensor(x)) return Rf_ScalarLogical(0);
    for (R_xlen_t j = 0; j < i; j++) {
      if (same_tensor(VECTOR_ELT(tensors, j), x)) return Rf_ScalarLogical(0);
    }
    SEXP kind = r_kind(x);
    if (strcmp(CHAR(STRING_ELT(kind, 0)), CHAR(STRING_ELT(kinds, i))) != 0 || strstr(CHAR(STRING_ELT(kind, 0)), " at most")) {
      return Rf_ScalarLogical(0);
    }
  }
  return Rf_ScalarLogical(1);
}

static PolyOptim *optim_of(SEXP optimizer) { return held(optimizer, RELEASE(poly_optim_release), "an optimizer"); }

SEXP r_optim_step(SEXP optimizers) {
  R_xlen_t n = Rf_xlength(optimizers);
  PolyOptim **list = (PolyOptim **)R_alloc((size_t)n + 1, sizeof *list);
  for (R_xlen_t i = 0; i < n; i++) list[i] = optim_of(VECTOR_ELT(optimizers, i));
  before_run();
  written();
  finish(P.poly_optim_step(list, (int)n));
  return R_NilValue;
}

/* i counts from 1. */
SEXP r_optim_state(SEXP optimizer, SEXP what, SEXP i) {
  SEXP out = wrap(P.poly_optim_state(optim_of(optimizer), Rf_asInteger(what), Rf_asInteger(i) - 1));
  refuse_gradient(out);
  return out;
}
