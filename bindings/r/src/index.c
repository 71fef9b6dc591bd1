/* x[items], and joining operations whose results are several. */
#include "glue.h"

SEXP r_poly_index(SEXP x, SEXP items);

/* Writes start, stop (excluded) and step, counted from 0. */
static void slice(Args *a, SEXP item, int64_t *out) {
  if (TYPEOF(item) != REALSXP && TYPEOF(item) != INTSXP && TYPEOF(item) != LGLSXP) {
    raise_error("poly_index: %s is not an index", Rf_type2char(TYPEOF(item)));
  }
  if (Rf_xlength(item) != 3) raise_error("poly_index: a slice of %d numbers, expected first, last and step", (int)Rf_xlength(item));
  SEXP numbers = PROTECT(Rf_coerceVector(item, REALSXP));
  for (int k = 0; k < 3; k++) {
    SEXP one = PROTECT(Rf_ScalarReal(REAL(numbers)[k]));
    out[k] = ISNAN(REAL(numbers)[k]) ? POLY_INDEX_NONE : arg_int64(a, one, "slice");
    UNPROTECT(1);
  }
  UNPROTECT(1);
  int down = out[2] != POLY_INDEX_NONE && out[2] < 0;
  if (out[0] > 0) out[0]--;
  if (out[1] == POLY_INDEX_NONE) return;
  if (!down && out[1] < 0) {
    out[1] = out[1] == -1 ? POLY_INDEX_NONE : out[1] + 1;
  } else if (down) {
    /* The place before the first element cannot be named: "none" goes there. */
    out[1] = out[1] < 0 ? out[1] - 1 : out[1] >= 2 ? out[1] - 2 : POLY_INDEX_NONE;
  }
}

/* items is a list with an item for each axis: NULL for all of it, a Tensor of
 * integers from 1, a whole number (the axis disappears), a slice as three numbers
 * c(first, last, step) from 1 with NA for what is left out, "newaxis" or "...". */
SEXP r_poly_index(SEXP x, SEXP items) {
  Args a = begin("poly_index");
  PolyUOp *of = arg_node(&a, x, "x");
  int n = (int)Rf_xlength(items);
  int32_t *kinds = (int32_t *)R_alloc((size_t)n + 1, sizeof *kinds);
  int64_t *args = (int64_t *)R_alloc(3 * (size_t)n + 3, sizeof *args);
  PolyUOp **tensors = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *tensors);
  memset(args, 0, (3 * (size_t)n + 3) * sizeof *args);
  for (int i = 0; i < n; i++) {
    SEXP item = VECTOR_ELT(items, i);
    tensors[i] = NULL;
    if (item == R_NilValue) {
      kinds[i] = POLY_INDEX_SLICE;
      for (int k = 0; k < 3; k++) args[3 * i + k] = POLY_INDEX_NONE;
    } else if (is_tensor(item)) {
      kinds[i] = POLY_INDEX_TENSOR;
      PolyUOp *from_one = arg_node(&a, item, "index");
      a.n--; /* the node from 0 keeps the one from 1 alive */
      PolyUOp *from_zero = P.poly_binary_int(context(), POLY_SUB, from_one, 1, 0);
      if (from_zero == NULL) fail();
      SEXP node = PROTECT(new_node(from_zero, node_in(item), 0));
      if (a.n == (int)(sizeof a.nodes / sizeof a.nodes[0])) raise_error("poly_index: too many index tensors");
      a.nodes[a.n++] = node;
      tensors[i] = from_zero;
    } else if (TYPEOF(item) == STRSXP) {
      const char *word = arg_string(&a, item, "item");
      if (strcmp(word, "newaxis") != 0 && strcmp(word, "...") != 0) {
        raise_error("poly_index: \"%.100s\", expected \"newaxis\" or \"...\"", word);
      }
      kinds[i] = *word == 'n' ? POLY_INDEX_NEWAXIS : POLY_INDEX_ELLIPSIS;
    } else if (Rf_xlength(item) == 1) {
      int64_t at = arg_int64(&a, item, "index");
      if (at == 0) raise_error("poly_index: 0, expected a position from 1 (the first) or -1 (the last)");
      kinds[i] = POLY_INDEX_INT;
      args[3 * i] = at > 0 ? at - 1 : at;
    } else {
      kinds[i] = POLY_INDEX_SLICE;
      slice(&a, item, args + 3 * i);
    }
  }
  int kept = a.n - 1;
  SEXP out = made(&a, P.poly_index(context(), of, kinds, args, tensors, n));
  UNPROTECT(kept);
  return out;
}
