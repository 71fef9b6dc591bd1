/* Sizes that are not known before a program runs. A size is an external pointer to a node, of class
 * "SymInt"; that of a variable has the class "Variable" too, and keeps the variable's own node. */
#include <stdlib.h>

#include "glue.h"

int is_size(SEXP x) { return TYPEOF(x) == EXTPTRSXP && Rf_inherits(x, "SymInt"); }

SEXP r_is_size(SEXP x) { return Rf_ScalarLogical(is_size(x)); }

PolyUOp *size_handle(SEXP x) {
  PolyUOp *handle = is_size(x) ? R_ExternalPtrAddr(x) : NULL;
  if (handle == NULL) raise_error("a Variable of another session cannot be used");
  return handle;
}

static void release(void *handle) { P.poly_uop_release(context_or_null(), handle); }

static SEXP new_node(PolyUOp *handle) { return owned(handle, release, R_NilValue); }

/* A number, or a size, for functions of sizes. */
static int64_t size_number(SEXP x) {
  return is_size(x) ? POLY_SIZE(size_handle(x)) : whole_at("Variable", "size", x, 0);
}

static SEXP whole_number(int64_t v) {
  return v > INT32_MIN && v <= INT32_MAX ? Rf_ScalarInteger((int)v) : Rf_ScalarReal((double)v);
}

/* A size as a number of R where it is one. The reference to the handle goes to it. */
SEXP size_made(PolyUOp *handle) {
  int64_t lo, hi;
  if (handle == NULL || P.poly_size_info(context(), handle, &lo, &hi, NULL) < 0) fail();
  if (lo == hi) {
    P.poly_uop_release(context(), handle);
    return whole_number(lo);
  }
  SEXP size = PROTECT(new_node(handle));
  Rf_classgets(size, PROTECT(Rf_mkString("SymInt")));
  UNPROTECT(2);
  return size;
}

/* The size itself; raises if it is none. */
static PolyUOp *need_size(Args *a, SEXP x) {
  if (!is_size(x)) raise_error("%s: expected a Variable or what is computed from one", a->function);
  return size_handle(x);
}

static SEXP with_class(SEXP size, SEXP var) {
  PROTECT(size);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(names, 0, Rf_mkChar("Variable"));
  SET_STRING_ELT(names, 1, Rf_mkChar("SymInt"));
  Rf_classgets(size, names);
  R_SetExternalPtrProtected(size, var);
  UNPROTECT(2);
  return size;
}

SEXP r_variable(SEXP name, SEXP lo, SEXP hi) {
  Args a = begin("Variable");
  const char *text = arg_string(&a, name, "name");
  int64_t from = arg_int64(&a, lo, "min_val"), to = arg_int64(&a, hi, "max_val");
  if (from < INT32_MIN || to > INT32_MAX || from >= to) {
    raise_error("Variable: %lld to %lld, expected an interval of int32 with more than one value", (long long)from,
                (long long)to);
  }
  PolyCtx *ctx = context();
  PolyUOp *handle = P.poly_define_var(ctx, text, from, to);
  SEXP var = PROTECT(new_node(handle));
  SEXP size = size_made(P.poly_size_op(ctx, POLY_SIZE_ADD, POLY_SIZE(handle), 0));
  UNPROTECT(1);
  return with_class(size, var);
}

SEXP r_bind(SEXP x, SEXP value) {
  Args a = begin("bind");
  need_size(&a, x);
  SEXP var = R_ExternalPtrProtected(x);
  PolyCtx *ctx = context();
  PolyUOp *bound = P.poly_bind_var(ctx, R_ExternalPtrAddr(var), arg_int64(&a, value, "val"));
  if (bound == NULL) fail();
  PolyUOp *size = P.poly_size_op(ctx, POLY_SIZE_ADD, POLY_SIZE(bound), 0);
  P.poly_uop_release(ctx, bound);
  return size_made(size);
}

SEXP r_size_op(SEXP op, SEXP a, SEXP b) {
  Args call = begin("Variable");
  int64_t x = size_number(a), y = size_number(b);
  return size_made(P.poly_size_op(context(), arg_int(&call, op, "op"), x, y));
}

/* Least and greatest value, and the value or NULL. */
SEXP r_size_info(SEXP x) {
  Args a = begin("Variable");
  int64_t lo, hi, value;
  int known = P.poly_size_info(context(), need_size(&a, x), &lo, &hi, &value);
  if (known < 0) fail();
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(out, 0, whole_number(lo));
  SET_VECTOR_ELT(out, 1, whole_number(hi));
  if (known) SET_VECTOR_ELT(out, 2, whole_number(value));
  UNPROTECT(1);
  return out;
}

static SEXP text_of(PolyUOp *size) {
  int n = P.poly_size_text(context(), size, NULL, 0);
  if (n < 0) fail();
  char *text = R_alloc((size_t)n + 1, 1);
  P.poly_size_text(context(), size, text, n + 1);
  return Rf_mkCharCE(text, CE_UTF8);
}

SEXP r_size_text(SEXP x) {
  Args a = begin("Variable");
  return Rf_ScalarString(text_of(need_size(&a, x)));
}

SEXP r_size_unbind(SEXP x) {
  Args a = begin("unbind");
  return size_made(P.poly_size_unbind(context(), need_size(&a, x)));
}

/* The values of the variables of a size by their names, NA for those without, with the variables as
 * the attribute "variables". */
SEXP r_size_variables(SEXP x) {
  Args a = begin("variables");
  PolyUOp *size = need_size(&a, x);
  int n = P.poly_size_n_variables(context(), size);
  if (n < 0) fail();
  SEXP out = PROTECT(Rf_allocVector(INTSXP, n));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
  SEXP sizes = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    int64_t value;
    PolyUOp *variable = P.poly_size_variable(context(), size, i, &value);
    SET_VECTOR_ELT(sizes, i, size_made(variable));
    SET_STRING_ELT(names, i, text_of(variable));
    INTEGER(out)[i] = value == INT64_MIN ? NA_INTEGER : (int)value;
  }
  Rf_setAttrib(out, R_NamesSymbol, names);
  Rf_setAttrib(out, Rf_install("variables"), sizes);
  UNPROTECT(3);
  return out;
}

/* A Tensor of a node that was made of sizes only. */
static SEXP of_node(PolyUOp *node) {
  if (node == NULL) fail();
  PolyArray *out = P.poly_array_of(context(), node, NULL, 0);
  P.poly_uop_release(context(), node);
  return wrap(out);
}

/* A size as an int32 tensor without axes. */
SEXP r_size_tensor(SEXP x) {
  Args a = begin("Tensor");
  return of_node(P.poly_size_tensor(context(), POLY_SIZE(need_size(&a, x))));
}

SEXP r_arange_size(SEXP dtype, SEXP start, SEXP stop, SEXP step) {
  Args a = begin("arange");
  int kind = arg_dtype(&a, dtype, "dtype");
  return of_node(P.poly_arange_size(context(), kind, size_number(start), size_number(stop), size_number(step)));
}
