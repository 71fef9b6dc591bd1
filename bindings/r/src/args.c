/* Arguments from R: checked, and counted from 0 where R counts from 1. */
#include <math.h>

#include "glue.h"

Args begin(const char *function) {
  Args a;
  context();
  memset(&a, 0, sizeof a);
  a.function = function;
  a.list = R_NilValue;
  return a;
}

static const char *kind_of(SEXP x) {
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

/* A wrong argument. The names of functions in messages are the library's. */
#define WRONG(...) wrong(a, name, __VA_ARGS__)
static void wrong(Args *a, const char *name, const char *given, const char *expected) NORETURN;

static void wrong(Args *a, const char *name, const char *given, const char *expected) {
  raise_error("%s: %s: %s, expected %s", a->function, name, given, expected);
}

/* A result wants a gradient if an operand does, and refuses one if all do. */
static void note_wish(Args *a, SEXP node) {
  const Node *n = node_of(node);
  a->tracked |= n->tracked;
  a->refused = n->refused && (a->refused || !a->asked);
  a->asked = 1;
}

static void keep(Args *a, SEXP node) {
  if (a->n == (int)(sizeof a->nodes / sizeof a->nodes[0])) raise_error("%s: too many operands", a->function);
  a->nodes[a->n++] = node;
  note_wish(a, node);
}

PolyUOp *arg_node(Args *a, SEXP x, const char *name) {
  if (x == R_NilValue) return NULL;
  if (!is_tensor(x)) WRONG(kind_of(x), "a Tensor");
  SEXP node = node_in(x);
  keep(a, node);
  return node_of(node)->handle;
}

/* A list of Tensors (NULL for none); the nodes stay protected until made(). */
PolyUOp **arg_nodes(Args *a, SEXP x, const char *name, int *n) {
  *n = 0;
  if (x == R_NilValue) return NULL;
  if (TYPEOF(x) != VECSXP) WRONG(kind_of(x), "a list of Tensors");
  *n = (int)Rf_xlength(x);
  SEXP list = Rf_protect(Rf_allocVector(VECSXP, *n));
  PolyUOp **out = (PolyUOp **)R_alloc((size_t)*n + 1, sizeof *out);
  for (int i = 0; i < *n; i++) {
    SEXP item = VECTOR_ELT(x, i);
    out[i] = NULL;
    if (item == R_NilValue) continue;
    if (!is_tensor(item)) WRONG(kind_of(item), "Tensors only");
    SEXP node = node_in(item);
    SET_VECTOR_ELT(list, i, node);
    note_wish(a, node);
    out[i] = node_of(node)->handle;
  }
  a->list = list;
  return out;
}

static int64_t whole(Args *a, SEXP x, R_xlen_t i, const char *name) {
  char given[64];
  if (Rf_isFactor(x)) WRONG("a factor", "a whole number");
  switch (TYPEOF(x)) {
    case LGLSXP:
    case INTSXP: {
      int v = TYPEOF(x) == LGLSXP ? LOGICAL(x)[i] : INTEGER(x)[i];
      if (v == NA_INTEGER) WRONG("NA", "a whole number");
      return v;
    }
    case REALSXP: {
      double v = REAL(x)[i];
      if (is_integer64(x)) {
        int64_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (bits == INT64_MIN) WRONG("NA", "a whole number");
        return bits;
      }
      if (!(fabs(v) <= 9007199254740992.0) || v != floor(v)) {
        snprintf(given, sizeof given, "%g", v);
        WRONG(given, "a whole number up to 2^53");
      }
      return (int64_t)v;
    }
    case VECSXP: return whole(a, VECTOR_ELT(x, i), 0, name);
    case EXTPTRSXP:
      if (is_size(x)) return size_number(x);
      break;
    default: break;
  }
  WRONG(kind_of(x), "a whole number");
}

int64_t arg_int64(Args *a, SEXP x, const char *name) {
  if (Rf_xlength(x) != 1) {
    char given[64];
    snprintf(given, sizeof given, "%s of length %lld", kind_of(x), (long long)Rf_xlength(x));
    WRONG(x == R_NilValue ? "NULL" : given, "one whole number");
  }
  return whole(a, x, 0, name);
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

/* The number of axes that positions count: those of the first operand, and the new one where the
 * function makes one. -1: there is no operand. */
static int axes_of(Args *a) {
  SEXP node = a->n > 0 ? a->nodes[0] : R_NilValue;
  for (int i = 0; node == R_NilValue && a->list != R_NilValue && i < (int)Rf_xlength(a->list); i++) {
    node = VECTOR_ELT(a->list, i);
  }
  if (node == R_NilValue) return -1;
  int n = describe(node)->ndim;
  if (strcmp(a->function, "poly_unsqueeze") == 0 || strcmp(a->function, "poly_stack") == 0) n++;
  return n;
}

/* Counted from 0. A number takes 1 and -1 as a vector does. The library would name what it was given, counted from 0: R's own message first. */
static int64_t position(Args *a, int64_t v, const char *name) {
  if (v == 0) WRONG("0", "a position from 1 (the first) or -1 (the last)");
  int n = axes_of(a);
  int most = n > 0 ? n : 1;
  if (n >= 0 && (v > most || v < -most)) {
    raise_error("%s: %s: %lld is out of range for %d dimensions, expected 1..%d or -%d..-1", a->function, name,
                (long long)v, n, most, most);
  }
  return v > 0 ? v - 1 : v;
}

/* A position; NULL stands for the flattened tensor where a function knows it. */
int arg_position(Args *a, SEXP x, const char *name) {
  if (x == R_NilValue && strcmp(a->function, "poly_repeat_interleave") == 0) return POLY_AXIS_FLAT;
  return (int)position(a, arg_int(a, x, name), name);
}

int64_t *arg_numbers(Args *a, SEXP x, const char *name, int *n) {
  *n = (int)Rf_xlength(x);
  if (x == R_NilValue) {
    /* "n_axes -1: all" */
    *n = strcmp(name, "axes") == 0 ? -1 : 0;
    return NULL;
  }
  int64_t *out = (int64_t *)R_alloc((size_t)*n + 1, sizeof *out);
  for (int i = 0; i < *n; i++) {
    if (TYPEOF(x) == VECSXP && Rf_xlength(VECTOR_ELT(x, i)) != 1) WRONG(kind_of(VECTOR_ELT(x, i)), "one whole number");
    out[i] = whole(a, x, i, name);
  }
  return out;
}

int64_t *arg_positions(Args *a, SEXP x, const char *name, int *n) {
  if (is_size(x) || TYPEOF(x) == VECSXP) WRONG(kind_of(x), "positions");
  int64_t *out = arg_numbers(a, x, name, n);
  for (int i = 0; i < *n; i++) out[i] = position(a, out[i], name);
  return out;
}

double arg_double(Args *a, SEXP x, const char *name) {
  if (Rf_xlength(x) == 1) {
    if (TYPEOF(x) == REALSXP && !is_integer64(x)) return REAL(x)[0];
    if (TYPEOF(x) == REALSXP) return (double)whole(a, x, 0, name);
    if (TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP) return Rf_asReal(x);
  }
  WRONG(kind_of(x), "one number");
}

double *arg_doubles(Args *a, SEXP x, const char *name, int *n) {
  *n = (int)Rf_xlength(x);
  if (x == R_NilValue) return NULL;
  if ((TYPEOF(x) != REALSXP && TYPEOF(x) != INTSXP) || Rf_isFactor(x)) WRONG(kind_of(x), "numbers");
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

/* The nodes that a result is computed from. */
static SEXP sources(Args *a) {
  if (a->list == R_NilValue && a->n == 0) return R_NilValue;
  if (a->list == R_NilValue && a->n == 1) return a->nodes[0];
  if (a->n == 0) return a->list;
  int more = a->list == R_NilValue ? 0 : (int)Rf_xlength(a->list);
  SEXP out = Rf_allocVector(VECSXP, a->n + more);
  for (int i = 0; i < a->n; i++) SET_VECTOR_ELT(out, i, a->nodes[i]);
  for (int i = 0; i < more; i++) SET_VECTOR_ELT(out, a->n + i, VECTOR_ELT(a->list, i));
  return out;
}

static void done(Args *a) {
  if (a->list != R_NilValue) Rf_unprotect(1);
}

SEXP made(Args *a, PolyUOp *handle) {
  if (handle == NULL) fail();
  SEXP from = PROTECT(sources(a));
  SEXP node = PROTECT(new_node(handle, from, a->tracked));
  node_of(node)->refused = a->refused;
  mark_view(a->function, node);
  SEXP tensor = wrap(node);
  UNPROTECT(2);
  done(a);
  return tensor;
}

SEXP made_list(Args *a, int status, PolyUOp **out, int n) {
  if (status != 0) fail();
  SEXP from = PROTECT(sources(a));
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    SEXP node = PROTECT(new_node(out[i], from, a->tracked));
    node_of(node)->refused = a->refused;
    SET_VECTOR_ELT(list, i, wrap(node));
    UNPROTECT(1);
  }
  UNPROTECT(2);
  done(a);
  return list;
}
