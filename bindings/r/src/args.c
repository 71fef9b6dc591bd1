/* Arguments from R. */
#include <math.h>

#include "glue.h"

Args begin(const char *function) {
  context();
  return (Args){function};
}

const char *kind_of(SEXP x) {
  /* Functions in R's C code give their results the attributes of what they are given. */
  if (Rf_inherits(x, "Tensor") && !is_tensor(x)) return "numbers that kept the class of a Tensor: give R's function as.array(x)";
  if (is_tensor(x)) return "a Tensor";
  if (Rf_isFactor(x)) return "a factor";
  switch (TYPEOF(x)) {
    case NILSXP: return "NULL";
    case LGLSXP: return "a logical";
    case INTSXP: return "an integer";
    case REALSXP: return "a number";
    case STRSXP: return "a string";
    case VECSXP: return "a list";
    case CLOSXP: return "a function";
    case EXTPTRSXP: return is_size(x) ? "a Variable" : "a pointer";
    default: return Rf_type2char(TYPEOF(x));
  }
}

/* The class of an object, which R has numbers behind that are none: a factor, a Date. */
static const char *class_of(SEXP x) {
  if (Rf_isFactor(x)) return kind_of(x);
  SEXP class = Rf_getAttrib(x, R_ClassSymbol);
  return TYPEOF(class) == STRSXP && Rf_xlength(class) > 0 ? CHAR(STRING_ELT(class, 0)) : kind_of(x);
}

int is_plain(SEXP x) { return !Rf_isObject(x) || is_tensor(x) || is_integer64(x); }

/* What was given where one value is expected. */
const char *given_for_one(SEXP x) {
  if (x == R_NilValue || Rf_xlength(x) == 1) {
    if (x != R_NilValue && !is_plain(x) && !is_size(x)) return class_of(x);
    return TYPEOF(x) == LGLSXP && LOGICAL(x)[0] == NA_LOGICAL ? "NA" : kind_of(x);
  }
  char *text = R_alloc(64, 1);
  snprintf(text, 64, "%s of length %lld", kind_of(x), (long long)Rf_xlength(x));
  return text;
}

static void wrong(const char *function, const char *name, const char *given, const char *expected) NORETURN;

static void wrong(const char *function, const char *name, const char *given, const char *expected) {
  raise_error("%s: %s: %s, expected %s", function, name, given, expected);
}

/* Element i as a whole number. */
int64_t whole_at(const char *function, const char *name, SEXP x, R_xlen_t i) {
  char given[64];
  if (!is_plain(x) && TYPEOF(x) != VECSXP) wrong(function, name, is_size(x) ? kind_of(x) : class_of(x), "a whole number");
  switch (TYPEOF(x)) {
    case LGLSXP:
    case INTSXP: {
      int v = TYPEOF(x) == LGLSXP ? LOGICAL(x)[i] : INTEGER(x)[i];
      if (v == NA_INTEGER) wrong(function, name, "NA", "a whole number");
      return v;
    }
    case REALSXP: {
      double v = REAL(x)[i];
      if (is_integer64(x)) {
        int64_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (bits == INT64_MIN) wrong(function, name, "NA", "a whole number");
        return bits;
      }
      if (!(fabs(v) <= 9007199254740992.0) || v != floor(v)) {
        snprintf(given, sizeof given, "%g", v);
        wrong(function, name, given, "a whole number up to 2^53");
      }
      return (int64_t)v;
    }
    case VECSXP: {
      SEXP one = VECTOR_ELT(x, i);
      if (Rf_xlength(one) == 1) return whole_at(function, name, one, 0);
      wrong(function, name, kind_of(one), "one whole number");
    }
    default: break;
  }
  wrong(function, name, kind_of(x), "a whole number");
}

#define WRONG(given, expected) wrong(a->function, name, given, expected)

int64_t arg_int64(Args *a, SEXP x, const char *name) {
  if (Rf_xlength(x) != 1) WRONG(given_for_one(x), "one whole number");
  return whole_at(a->function, name, x, 0);
}

int arg_int(Args *a, SEXP x, const char *name) {
  if (is_size(x)) WRONG("a Variable", "a number");
  int64_t v = arg_int64(a, x, name);
  if (v < INT32_MIN || v > INT32_MAX) {
    char given[64];
    snprintf(given, sizeof given, "%lld", (long long)v);
    WRONG(given, "a number that fits in 32 bits");
  }
  return (int)v;
}

double arg_double(Args *a, SEXP x, const char *name) {
  if (Rf_xlength(x) == 1 && is_plain(x)) {
    if (TYPEOF(x) == REALSXP && R_IsNA(REAL(x)[0]) && !is_integer64(x)) WRONG("NA", "one number");
    if (TYPEOF(x) == REALSXP && !is_integer64(x)) return REAL(x)[0];
    if (TYPEOF(x) == REALSXP) return (double)whole_at(a->function, name, x, 0);
    if (TYPEOF(x) == INTSXP && INTEGER(x)[0] == NA_INTEGER) WRONG("NA", "one number");
    if (TYPEOF(x) == INTSXP || (TYPEOF(x) == LGLSXP && LOGICAL(x)[0] != NA_LOGICAL)) return Rf_asReal(x);
  }
  WRONG(given_for_one(x), "one number");
}

double *arg_doubles(Args *a, SEXP x, const char *name, int *n) {
  *n = (int)Rf_xlength(x);
  if (x == R_NilValue) return NULL;
  if ((TYPEOF(x) != REALSXP && TYPEOF(x) != INTSXP) || !is_plain(x)) WRONG(kind_of(x), "numbers");
  double *out = (double *)R_alloc((size_t)*n + 1, sizeof *out);
  for (int i = 0; i < *n; i++) out[i] = number_at(x, i);
  return out;
}

const char *arg_string(Args *a, SEXP x, const char *name) {
  if (TYPEOF(x) != STRSXP || Rf_xlength(x) != 1 || STRING_ELT(x, 0) == NA_STRING) WRONG(kind_of(x), "one string");
  return Rf_translateCharUTF8(STRING_ELT(x, 0));
}

int arg_dtype(Args *a, SEXP x, const char *name) {
  const char *text = arg_string(a, x, name);
  int dtype = P.poly_dtype_id_parse(text);
  if (dtype < 0 || P.poly_dtype_id_size(dtype) < 0) {
    char given[128];
    snprintf(given, sizeof given, "\"%.100s\"", text);
    WRONG(given, "the name of a data type such as float32, int32, bool");
  }
  return dtype;
}
