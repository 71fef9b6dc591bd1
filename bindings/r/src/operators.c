/* R's operators. A number beside a tensor takes its type from it, an R array
 * becomes a tensor of its own type. */
#include <math.h>

#include "glue.h"

int is_number(SEXP x) {
  SEXPTYPE type = TYPEOF(x);
  return (type == REALSXP || type == INTSXP || type == LGLSXP || type == CPLXSXP) && !is_tensor(x) && Rf_xlength(x) == 1 &&
         (ATTRIB(x) == R_NilValue || (is_plain(x) && Rf_getAttrib(x, R_DimSymbol) == R_NilValue));
}

int number_args(SEXP x, PolyCallArg *out) {
  switch (TYPEOF(x)) {
    case LGLSXP: *out = LOGICAL(x)[0] == NA_LOGICAL ? POLY_PASS_F(NA_REAL) : POLY_PASS_B(LOGICAL(x)[0]); return 1;
    case INTSXP: *out = INTEGER(x)[0] == NA_INTEGER ? POLY_PASS_F(NA_REAL) : POLY_PASS_I(INTEGER(x)[0]); return 1;
    case CPLXSXP:
      *out = (PolyCallArg){.kind = POLY_CALL_COMPLEX};
      memcpy(out + 1, COMPLEX(x), sizeof(Rcomplex));
      return 2;
    default: *out = is_integer64(x) ? POLY_PASS_I(whole_at("Tensor", "value", x, 0)) : POLY_PASS_F(REAL(x)[0]); return 1;
  }
}

/* An array as a Tensor. A vector has no dimension in R, so beside a matrix it is
 * not clear what it means: R would repeat it down the columns, tensors broadcast
 * along the last axis. */
SEXP tensor_of(SEXP x, SEXP beside, const char *what) {
  if (is_tensor(x)) return x;
  if (is_tensor(beside) && !is_size(x) && Rf_getAttrib(x, R_DimSymbol) == R_NilValue && Rf_xlength(x) != 1 &&
      is_plain(x) && (Rf_isNumeric(x) || TYPEOF(x) == LGLSXP)) {
    int ndim = P.poly_array_describe(array_of(beside), NULL, 0, NULL);
    if (ndim > 1) {
      raise_error("%s: a vector of %lld numbers beside a tensor of %d axes: R would repeat it along the first axis, tensors "
                  "broadcast along the last; say what is meant with Tensor(v) or a dim",
                  what, (long long)Rf_xlength(x), ndim);
    }
  }
  if (is_size(x) || TYPEOF(x) == VECSXP) return call_package("Tensor", x, NULL);
  SEXP name = PROTECT(Rf_mkString(what));
  SEXP out = call_package("operand_of", x, name);
  UNPROTECT(1);
  return out;
}

/* The type of R's numbers. */
static int default_float(void) {
  Args a = {"Tensor"};
  SEXP option = Rf_GetOption1(Rf_install("polygrad.dtype"));
  return option == R_NilValue ? POLY_DTYPE_FLOAT64 : arg_dtype(&a, option, "polygrad.dtype");
}

/* An operation of a Tensor and a number. R's integers beside a double become doubles, which hold them all. */
static PolyArray *with_number(int op, SEXP x, SEXP number, int reverse) {
  PolyArray *array = array_of(x);
  PolyCallArg arg[2];
  int is_complex = number_args(number, arg) == 2;
  if (is_complex || arg->kind == POLY_CALL_FLOAT || op == POLY_DIV) {
    int dtype;
    P.poly_array_describe(array, NULL, 0, &dtype);
    int compares = op == POLY_EQ || op == POLY_NE || op == POLY_LT || op == POLY_LE || op == POLY_GT || op == POLY_GE;
    if (is_float(dtype)) {
    } else if (compares && !is_complex && fabs(arg->as.f) <= INT32_MAX && arg->as.f == floor(arg->as.f)) {
      *arg = POLY_PASS_I((int64_t)arg->as.f);
    } else {
      x = wrap(cast(array, default_float()));
      array = array_of(x);
    }
  }
  PROTECT(x);
  PolyArray *out = P.poly_array_binary_number(op, array, arg, reverse);
  UNPROTECT(1);
  return out;
}

/* e1 op e2, one of which is a Tensor; name is that of the operator. */
static SEXP combine(const char *name, int op, SEXP e1, SEXP e2) {
  PolyArray *out;
  if (is_number(e2)) {
    out = with_number(op, e1, e2, 0);
  } else if (is_number(e1)) {
    out = with_number(op, e2, e1, 1);
  } else {
    SEXP x = PROTECT(is_tensor(e1) ? e1 : tensor_of(e1, e2, name));
    SEXP y = PROTECT(tensor_of(e2, x, name));
    int whole = op == POLY_DIV && !is_float(describe(array_of(x)).dtype) && !is_float(describe(array_of(y)).dtype);
    if (whole) x = wrap(cast(array_of(x), default_float()));
    PROTECT(x);
    out = P.poly_array_binary(op, array_of(x), array_of(y));
    UNPROTECT(3);
  }
  if (out == NULL) fail_in(name, P.poly_last_error());
  return wrap(out);
}

/* "&" and "|" ask whether numbers are 0, as in R. */
static SEXP truth(const char *name, SEXP x, SEXP beside) {
  if (is_number(x)) {
    if (TYPEOF(x) == CPLXSXP) return Rf_coerceVector(x, LGLSXP);
    double v = Rf_asReal(x);
    return Rf_ScalarLogical(ISNAN(v) ? NA_LOGICAL : v != 0);
  }
  SEXP tensor = PROTECT(tensor_of(x, beside, name));
  if (describe(array_of(tensor)).dtype != POLY_DTYPE_BOOL) tensor = wrap(cast(array_of(tensor), POLY_DTYPE_BOOL));
  UNPROTECT(1);
  return tensor;
}

static const struct {
  const char *name;
  int op;
} operators[] = {{"+", POLY_ADD},  {"-", POLY_SUB},  {"*", POLY_MUL}, {"/", POLY_DIV}, {"^", POLY_POW},
                 {"%%", POLY_MOD}, {"%/%", POLY_FLOORDIV}, {"==", POLY_EQ}, {"!=", POLY_NE}, {"<", POLY_LT},
                 {">", POLY_GT},   {"<=", POLY_LE},  {">=", POLY_GE}, {"&", POLY_AND}, {"|", POLY_OR}};

/* The group generic Ops, of Tensors and of sizes. */
SEXP r_ops(SEXP generic, SEXP e1, SEXP e2) {
  const char *name = CHAR(STRING_ELT(generic, 0));
  if (e1 == R_NilValue || e2 == R_NilValue) raise_error("%s: NULL, expected a Tensor or numbers", name);
  if (!is_tensor(e1) && !is_tensor(e2)) {
    e1 = PROTECT(quoted(e1));
    e2 = PROTECT(quoted(e2));
    SEXP call = PROTECT(Rf_lang4(package_function("ops_of_sizes"), generic, e1, e2));
    SEXP out = Rf_eval(call, R_BaseEnv);
    UNPROTECT(3);
    return out;
  }
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (strcmp(operators[i].name, name) != 0) continue;
    int op = operators[i].op;
    if (op != POLY_AND && op != POLY_OR) return combine(name, op, e1, e2);
    SEXP x = PROTECT(truth(name, e1, e2)), y = PROTECT(truth(name, e2, e1));
    SEXP out = combine(name, op, x, y);
    UNPROTECT(2);
    return out;
  }
  raise_error("%s is not an operator of tensors", name);
}

SEXP r_ops_unary(SEXP generic, SEXP x) {
  const char *name = CHAR(STRING_ELT(generic, 0));
  if (*name == '+') return x;
  static int numbers[2];
  int not = *name == '!';
  if (numbers[not] == 0 && (numbers[not] = P.poly_op(not ? "logical_not" : "neg") + 1) == 0) fail();
  PolyCallArg arg = POLY_PASS_T(array_of(x));
  PolyArray *out = NULL;
  if (P.poly_array_call(context(), numbers[not] - 1, &arg, 1, &out, 1) < 0) fail_in(name, P.poly_last_error());
  return wrap(out);
}

/* A value as a Tensor: a number takes its type from the tensor it meets. */
SEXP operand(SEXP value, SEXP like, const char *what) {
  if (!is_number(value)) return tensor_of(value, like, what);
  static int op;
  if (op == 0 && (op = P.poly_op("full") + 1) == 0) fail();
  int dtype = describe(array_of(like)).dtype;
  PolyCallArg args[4] = {{.kind = POLY_CALL_LIST}};
  int n = 1 + number_args(value, args + 1);
  if (n == 3) {
    if (dtype < POLY_DTYPE_COMPLEX64) dtype = dtype == POLY_DTYPE_FLOAT64 ? POLY_DTYPE_COMPLEX128 : POLY_DTYPE_COMPLEX64;
  } else if (args[1].kind == POLY_CALL_FLOAT && !is_float(dtype)) {
    dtype = POLY_DTYPE_FLOAT32;
  }
  args[n] = POLY_PASS_DTYPE(dtype);
  PolyArray *out = NULL;
  if (P.poly_array_call(context(), op - 1, args, n + 1, &out, 1) < 0) fail_in("Tensor", P.poly_last_error());
  return wrap(out);
}

SEXP r_operand(SEXP value, SEXP like, SEXP what) { return operand(value, like, CHAR(STRING_ELT(what, 0))); }
