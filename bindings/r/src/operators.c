/* R's operators. A number beside a tensor takes its type from it, an R array
 * becomes a tensor of its own type. */
#include <math.h>

#include "glue.h"

SEXP r_ops(SEXP generic, SEXP e1, SEXP e2);
SEXP r_binary(SEXP op, SEXP x, SEXP y, SEXP reverse);
SEXP r_operand(SEXP value, SEXP like);
SEXP r_size_tensor(SEXP x);

static int is_number(SEXP x) {
  return (TYPEOF(x) == LGLSXP || TYPEOF(x) == INTSXP || TYPEOF(x) == REALSXP) && Rf_xlength(x) == 1 && !Rf_isFactor(x) &&
         Rf_getAttrib(x, R_DimSymbol) == R_NilValue;
}

/* An array as a Tensor. A vector has no dimension in R, so beside a matrix it is
 * not clear what it means: R would repeat it down the columns, tensors broadcast
 * along the last axis. */
static SEXP tensor_of(SEXP x, SEXP beside) {
  if (is_tensor(x)) return x;
  if (is_size(x)) return r_size_tensor(x);
  if (Rf_getAttrib(x, R_DimSymbol) == R_NilValue && Rf_xlength(x) != 1 && describe(node_in(beside))->ndim > 1) {
    raise_error("a vector of %lld numbers beside a tensor of %d axes: R would repeat it along the first axis, tensors "
                "broadcast along the last; say what is meant with Tensor(v) or a dim",
                (long long)Rf_xlength(x), describe(node_in(beside))->ndim);
  }
  SEXP call = PROTECT(Rf_lang2(package_function("Tensor"), x));
  SEXP out = Rf_eval(call, R_GlobalEnv);
  UNPROTECT(1);
  return out;
}

static PolyUOp *with_number(Args *a, int op, SEXP x, SEXP number, int reversed) {
  PolyUOp *h = arg_node(a, x, "x");
  PolyCtx *ctx = context();
  switch (TYPEOF(number)) {
    case LGLSXP:
      if (LOGICAL(number)[0] == NA_LOGICAL) return P.poly_binary_float(ctx, op, h, NA_REAL, reversed);
      return P.poly_binary_bool(ctx, op, h, LOGICAL(number)[0], reversed);
    case INTSXP:
      if (INTEGER(number)[0] == NA_INTEGER) return P.poly_binary_float(ctx, op, h, NA_REAL, reversed);
      return P.poly_binary_int(ctx, op, h, INTEGER(number)[0], reversed);
    default:
      if (Rf_inherits(number, "integer64")) return P.poly_binary_int(ctx, op, h, arg_int64(a, number, "value"), reversed);
      return P.poly_binary_float(ctx, op, h, REAL(number)[0], reversed);
  }
}

/* e1 op e2, one of which is a Tensor. */
static SEXP combine(int op, SEXP e1, SEXP e2) {
  Args a = begin("poly_binary");
  if (is_number(e2)) return made(&a, with_number(&a, op, e1, e2, 0));
  if (is_number(e1)) return made(&a, with_number(&a, op, e2, e1, 1));
  SEXP x = PROTECT(is_tensor(e1) ? e1 : tensor_of(e1, e2));
  SEXP y = PROTECT(tensor_of(e2, x));
  PolyUOp *first = arg_node(&a, x, "a"), *second = arg_node(&a, y, "b");
  SEXP out = made(&a, P.poly_binary(context(), op, first, second));
  UNPROTECT(2);
  return out;
}

/* "&" and "|" ask whether numbers are 0, as in R. */
static SEXP truth(SEXP x, SEXP beside) {
  if (is_number(x)) {
    double v = Rf_asReal(x);
    return Rf_ScalarLogical(ISNAN(v) ? NA_LOGICAL : v != 0);
  }
  SEXP tensor = PROTECT(tensor_of(x, beside));
  if (describe(node_in(tensor))->dtype != POLY_DTYPE_BOOL) {
    Args a = begin("poly_cast_by_id");
    PolyUOp *h = arg_node(&a, tensor, "x");
    tensor = made(&a, P.poly_cast_by_id(context(), h, POLY_DTYPE_BOOL));
  }
  UNPROTECT(1);
  return tensor;
}

static const struct {
  const char *name;
  int op;
} operators[] = {{"+", POLY_ADD},  {"-", POLY_SUB},  {"*", POLY_MUL}, {"/", POLY_DIV}, {"^", POLY_POW},
                 {"%%", POLY_MOD}, {"%/%", POLY_FLOORDIV}, {"==", POLY_EQ}, {"!=", POLY_NE}, {"<", POLY_LT},
                 {">", POLY_GT},   {"<=", POLY_LE},  {">=", POLY_GE}, {"&", POLY_AND}, {"|", POLY_OR}};

/* The group generic Ops; e2 is NULL for a unary operator. */
SEXP r_ops(SEXP generic, SEXP e1, SEXP e2) {
  const char *name = CHAR(STRING_ELT(generic, 0));
  if (e2 == R_NilValue) {
    Args a = begin(*name == '!' ? "poly_logical_not" : "poly_neg");
    if (*name == '+') return e1;
    PolyUOp *x = arg_node(&a, e1, "x");
    return made(&a, *name == '!' ? P.poly_logical_not(context(), x) : P.poly_neg(context(), x));
  }
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (strcmp(operators[i].name, name) != 0) continue;
    int op = operators[i].op;
    if (op != POLY_AND && op != POLY_OR) return combine(op, e1, e2);
    SEXP x = PROTECT(truth(e1, e2)), y = PROTECT(truth(e2, e1));
    SEXP out = combine(op, x, y);
    UNPROTECT(2);
    return out;
  }
  raise_error("%s is not an operator of tensors", name);
}

/* x op y for a PolyBinaryOp, the other way round if reverse. */
SEXP r_binary(SEXP op, SEXP x, SEXP y, SEXP reverse) {
  if (!is_number(y) && !is_tensor(y) && !is_size(y) && !Rf_isNumeric(y) && TYPEOF(y) != LGLSXP) {
    raise_error("expected a Tensor or numbers, got %s", Rf_type2char(TYPEOF(y)));
  }
  if (TYPEOF(reverse) != LGLSXP || Rf_xlength(reverse) != 1 || LOGICAL(reverse)[0] == NA_LOGICAL) {
    raise_error("reverse: expected TRUE or FALSE");
  }
  return LOGICAL(reverse)[0] ? combine(Rf_asInteger(op), y, x) : combine(Rf_asInteger(op), x, y);
}

/* A value as a Tensor: a number takes its type from the tensor it meets. */
SEXP r_operand(SEXP value, SEXP like) {
  if (!is_number(value)) return tensor_of(value, like);
  Args a = begin("operand");
  PolyUOp *h = arg_node(&a, like, "x"), *made_of;
  PolyCtx *ctx = context();
  double v = Rf_asReal(value);
  if (Rf_inherits(value, "integer64")) {
    made_of = P.poly_const_like_int(ctx, h, arg_int64(&a, value, "value"));
  } else if (TYPEOF(value) == REALSXP || ISNAN(v)) {
    made_of = P.poly_const_like_float(ctx, h, v);
  } else if (TYPEOF(value) == INTSXP) {
    made_of = P.poly_const_like_int(ctx, h, (int64_t)v);
  } else {
    made_of = P.poly_const_like_bool(ctx, h, v != 0);
  }
  a.n = 0; /* a constant needs no memory */
  a.tracked = 0;
  return made(&a, made_of);
}
