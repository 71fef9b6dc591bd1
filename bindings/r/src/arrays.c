/* Between R's vectors, whose first index runs fastest, and the memory of
 * tensors, whose last index does. */
#include <math.h>

#include "glue.h"

/* The dimensions of an R object; a vector has one. Returns its length. */
int64_t dims_of(SEXP data, int *ndim, int64_t *dims) {
  SEXP dim = Rf_getAttrib(data, R_DimSymbol);
  if (dim == R_NilValue) {
    *ndim = 1;
    dims[0] = Rf_xlength(data);
    return Rf_xlength(data);
  }
  *ndim = (int)Rf_xlength(dim);
  if (*ndim > POLY_MAX_DIMS) raise_error("Tensor: data: %d dimensions, expected at most %d", *ndim, POLY_MAX_DIMS);
  for (int i = 0; i < *ndim; i++) dims[i] = INTEGER(dim)[i];
  return Rf_xlength(data);
}

void set_dims(SEXP value, int ndim, const int64_t *dims) {
  if (ndim == 0) return;
  SEXP dim = PROTECT(Rf_allocVector(INTSXP, ndim));
  for (int i = 0; i < ndim; i++) {
    if (dims[i] > INT32_MAX) raise_error("as.array: an axis of %lld elements is too long for R", (long long)dims[i]);
    INTEGER(dim)[i] = (int)dims[i];
  }
  Rf_setAttrib(value, R_DimSymbol, dim);
  UNPROTECT(1);
}

/* Copies elements of one size from row by row to column by column order
 * (rows != 0) or back. Squares of BLOCK elements keep both sides in the cache. */
#define BLOCK 32
#define ORDER(name, T)                                                                                \
  static void name(const T *from, T *to, int ndim, const int64_t *dims, int rows) {                   \
    /* Along the last axis rows are contiguous, along the first one columns. */                      \
    int64_t last = dims[ndim - 1], outer = 1, step[POLY_MAX_DIMS], at[POLY_MAX_DIMS] = {0};           \
    for (int i = 0; i < ndim - 1; i++) {                                                              \
      step[i] = outer;                                                                                \
      outer *= dims[i];                                                                               \
    }                                                                                                 \
    int64_t columns[BLOCK];                                                                           \
    for (int64_t o = 0; o < outer; o += BLOCK) {                                                      \
      int64_t n = outer - o < BLOCK ? outer - o : BLOCK;                                              \
      for (int64_t k = 0; k < n; k++) {                                                               \
        int64_t c = 0;                                                                                \
        for (int i = 0; i < ndim - 1; i++) c += at[i] * step[i];                                      \
        columns[k] = c;                                                                               \
        for (int i = ndim - 2; i >= 0 && ++at[i] == dims[i]; i--) at[i] = 0;                          \
      }                                                                                               \
      for (int64_t j = 0; j < last; j++) {                                                            \
        if (rows) {                                                                                   \
          for (int64_t k = 0; k < n; k++) to[columns[k] + j * outer] = from[(o + k) * last + j];      \
        } else {                                                                                      \
          for (int64_t k = 0; k < n; k++) to[(o + k) * last + j] = from[columns[k] + j * outer];      \
        }                                                                                             \
      }                                                                                               \
    }                                                                                                 \
  }

ORDER(order1, uint8_t)
ORDER(order2, uint16_t)
ORDER(order4, uint32_t)
ORDER(order8, uint64_t)
ORDER(order16, Rcomplex)

static void order(const void *from, void *to, int size, int ndim, const int64_t *dims, int rows) {
  switch (size) {
    case 1: order1(from, to, ndim, dims, rows); break;
    case 2: order2(from, to, ndim, dims, rows); break;
    case 4: order4(from, to, ndim, dims, rows); break;
    case 8: order8(from, to, ndim, dims, rows); break;
    default: order16(from, to, ndim, dims, rows); break;
  }
}

/* R's NA is a NaN with the payload 1954; it has the same payload in float32. */
#define NA_PAYLOAD 1954u

static float narrow(double v) {
  if (!R_IsNA(v)) return (float)v;
  uint32_t bits = 0x7FC00000u | NA_PAYLOAD;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static double widen(float f) {
  if (f == f) return f;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (bits & 0x003FFFFFu) == NA_PAYLOAD ? NA_REAL : R_NaN;
}

static void bad(Args *a, R_xlen_t i, double v, const char *expected) NORETURN;

static void bad(Args *a, R_xlen_t i, double v, const char *expected) {
  if (R_IsNA(v)) {
    raise_error("%s: data[%lld]: NA, expected a value of %s: only floating types can hold NA", a->function,
                (long long)i + 1, expected);
  }
  raise_error("%s: data[%lld]: %g, expected a value of %s", a->function, (long long)i + 1, v, expected);
}

/* The package bit64 keeps whole numbers of 64 bits in the memory of doubles; their NA is -2^63. */
int is_integer64(SEXP x) { return TYPEOF(x) == REALSXP && Rf_inherits(x, "integer64"); }

static double as_number(int64_t v) { return v == INT64_MIN ? NA_REAL : (double)v; }

static double element(SEXP data, R_xlen_t i) {
  switch (TYPEOF(data)) {
    case LGLSXP: return LOGICAL(data)[i] == NA_LOGICAL ? NA_REAL : LOGICAL(data)[i];
    case INTSXP: return INTEGER(data)[i] == NA_INTEGER ? NA_REAL : INTEGER(data)[i];
    case RAWSXP: return RAW(data)[i];
    default: return REAL(data)[i];
  }
}

/* A number of a vector, of whichever class. */
double number_at(SEXP data, R_xlen_t i) {
  return is_integer64(data) ? as_number(((const int64_t *)REAL(data))[i]) : element(data, i);
}

static Rcomplex complex_of(double re, double im) {
  Rcomplex z;
  z.r = re;
  z.i = im;
  return z;
}

static Rcomplex complex_at(SEXP data, R_xlen_t i) {
  return TYPEOF(data) == CPLXSXP ? COMPLEX(data)[i] : complex_of(element(data, i), 0);
}

#include "elements.h"

/* All 64 bits of integer64, where the type has them. */
static void convert_wide(Args *a, const int64_t *bits, R_xlen_t n, int dtype, int64_t *out) {
  int64_t least = dtype == POLY_DTYPE_UINT64 ? 0 : INT64_MIN + 1;
  for (R_xlen_t i = 0; i < n; i++) {
    if (bits[i] < least) bad(a, i, as_number(bits[i]), P.poly_dtype_id_name(dtype));
    out[i] = bits[i];
  }
}

static void convert(Args *a, SEXP data, int dtype, void *out) {
  R_xlen_t n = Rf_xlength(data);
  if (is_integer64(data)) {
    if (dtype == POLY_DTYPE_INT64 || dtype == POLY_DTYPE_UINT64) {
      convert_wide(a, (const int64_t *)REAL(data), n, dtype, out);
      return;
    }
    SEXP numbers = PROTECT(Rf_allocVector(REALSXP, n));
    for (R_xlen_t i = 0; i < n; i++) REAL(numbers)[i] = number_at(data, i);
    convert(a, numbers, dtype, out);
    UNPROTECT(1);
    return;
  }
  convert_numbers(a, data, n, dtype, out);
}

void to_storage(Args *a, SEXP data, int dtype, int ndim, const int64_t *dims, void *out) {
  int size = P.poly_dtype_id_size(dtype), kind = TYPEOF(data);
  if (kind != LGLSXP && kind != INTSXP && kind != REALSXP && kind != RAWSXP && (kind != CPLXSXP || dtype < POLY_DTYPE_COMPLEX64)) {
    raise_error("%s: data: %s, expected %s", a->function, Rf_type2char(TYPEOF(data)),
                kind == CPLXSXP ? "real numbers: see Re, Im and Mod" : "numbers or logicals");
  }
  if (ndim < 2 || Rf_xlength(data) < 2) {
    convert(a, data, dtype, out);
  } else if (dtype == POLY_DTYPE_FLOAT64 && TYPEOF(data) == REALSXP && !is_integer64(data)) {
    order(REAL(data), out, size, ndim, dims, 0);
  } else {
    const void *top = vmaxget();
    void *columns = R_alloc((size_t)Rf_xlength(data), size);
    convert(a, data, dtype, columns);
    order(columns, out, size, ndim, dims, 0);
    vmaxset(top);
  }
}

/* Copies elements of memory, at offset + strides * positions, row by row. */
void gather(const void *memory, int size, int ndim, const int64_t *dims, const int64_t *strides, int64_t offset, void *out) {
  int64_t n = 1, at[POLY_MAX_DIMS] = {0};
  for (int i = 0; i < ndim; i++) n *= dims[i];
  for (int64_t k = 0; k < n; k++) {
    memcpy((char *)out + k * size, (const char *)memory + offset * size, (size_t)size);
    for (int i = ndim - 1; i >= 0; i--) {
      offset += strides[i];
      if (++at[i] < dims[i]) break;
      offset -= strides[i] * dims[i];
      at[i] = 0;
    }
  }
}

SEXP from_storage(const void *memory, int dtype, int ndim, const int64_t *dims, int integer64) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++) n *= dims[i];
  integer64 = integer64 && dtype == POLY_DTYPE_INT64;
  SEXP out = PROTECT(Rf_allocVector(type_for(memory, dtype, n), n));
  if (ndim < 2 || n < 2) {
    values(memory, dtype, n, out, integer64);
  } else if (dtype == POLY_DTYPE_FLOAT64) {
    order(memory, REAL(out), sizeof(double), ndim, dims, 1);
  } else {
    int size = P.poly_dtype_id_size(dtype);
    const void *top = vmaxget();
    void *columns = R_alloc((size_t)n, size);
    order(memory, columns, size, ndim, dims, 1);
    values(columns, dtype, n, out, integer64);
    vmaxset(top);
  }
  if (integer64) Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("integer64"));
  set_dims(out, ndim, dims);
  UNPROTECT(1);
  return out;
}

/* R's positions from 1 as c(first, last, step), if they are evenly spaced on an axis of a size; else NULL. */
SEXP r_slice(SEXP positions, SEXP size) {
  R_xlen_t n = TYPEOF(positions) == INTSXP || TYPEOF(positions) == REALSXP ? Rf_xlength(positions) : 0;
  if (n == 0 || Rf_isObject(positions) || TYPEOF(size) == EXTPTRSXP) return R_NilValue;
  double most = Rf_asReal(size), first = trunc(number_at(positions, 0)), last = first, step = 1;
  for (R_xlen_t i = 0; i < n; i++) {
    double at = trunc(number_at(positions, i));
    if (!(at >= 1 && at <= most)) return R_NilValue;
    if (i == 1) step = at - first;
    if (i > 0 && (step == 0 || at - last != step)) return R_NilValue;
    last = at;
  }
  SEXP out = Rf_allocVector(REALSXP, 3);
  REAL(out)[0] = first;
  REAL(out)[1] = last;
  REAL(out)[2] = step;
  return out;
}
