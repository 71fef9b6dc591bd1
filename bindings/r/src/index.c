/* x[items], and joining operations whose results are several. */
#include "glue.h"

SEXP r_poly_index(SEXP x, SEXP items);
SEXP r_poly_setitem(SEXP x, SEXP items, SEXP value);
SEXP r_from_zero(SEXP positions);

/* A size less one; the node of it is kept with the others of the call. */
static int64_t before(SEXP size, int *kept) {
  PolyUOp *less = P.poly_size_op(context(), POLY_SIZE_SUB, size_number(size), 1);
  if (less == NULL) fail();
  Rf_protect(new_node(less, R_NilValue, 0));
  (*kept)++;
  return POLY_SIZE(less);
}

/* A number of a slice, counted from 1; NA for none. */
static int64_t bound(Args *a, SEXP item, int k, int *symbolic) {
  SEXP one = TYPEOF(item) == VECSXP ? VECTOR_ELT(item, k) : item;
  *symbolic = is_size(one);
  if (*symbolic) return size_number(one);
  if (one != item && Rf_xlength(one) != 1) raise_error("%s: expected first, last and step as numbers", a->function);
  if (TYPEOF(one) != REALSXP && TYPEOF(one) != INTSXP && TYPEOF(one) != LGLSXP) {
    raise_error("%s: %s is not an index", a->function, Rf_type2char(TYPEOF(one)));
  }
  SEXP number = PROTECT(Rf_coerceVector(one, REALSXP));
  double v = REAL(number)[one == item ? k : 0];
  SEXP scalar = PROTECT(Rf_ScalarReal(v));
  int64_t out = ISNAN(v) ? POLY_INDEX_NONE : arg_int64(a, scalar, "slice");
  UNPROTECT(2);
  return out;
}

/* Writes start, stop (excluded) and step, counted from 0. */
static void slice(Args *a, SEXP item, int64_t *out, int *kept) {
  if (Rf_xlength(item) != 3) {
    raise_error("%s: a slice of %d numbers, expected first, last and step", a->function, (int)Rf_xlength(item));
  }
  int symbolic[3];
  for (int k = 0; k < 3; k++) out[k] = bound(a, item, k, &symbolic[k]);
  int down = out[2] != POLY_INDEX_NONE && out[2] < 0;
  if (symbolic[2] || (down && (symbolic[0] || symbolic[1]))) {
    raise_error("%s: the step of a slice with a Variable must be a positive number", a->function);
  }
  if (symbolic[0]) {
    out[0] = before(VECTOR_ELT(item, 0), kept);
  } else if (out[0] > 0) {
    out[0]--;
  }
  if (out[1] == POLY_INDEX_NONE || symbolic[1]) return;
  if (!down && out[1] < 0) {
    out[1] = out[1] == -1 ? POLY_INDEX_NONE : out[1] + 1;
  } else if (down) {
    /* The place before the first element cannot be named: "none" goes there. */
    out[1] = out[1] < 0 ? out[1] - 1 : out[1] >= 2 ? out[1] - 2 : POLY_INDEX_NONE;
  }
}

/* Raises for a position of 0 where positions are known already: it would be taken for the first one. */
static void need_positions(const char *function, SEXP node) {
  static const char zero[sizeof(int64_t)];
  const Node *n = describe(node);
  int known = extra(node, DATA) != R_NilValue || is_shown(node);
  if (!known || n->symbolic || is_float(n->dtype) || n->dtype == POLY_DTYPE_BOOL) return;
  int64_t dims[POLY_MAX_DIMS], count = numel(n);
  size_t size = (size_t)P.poly_dtype_id_size(n->dtype);
  const void *top = vmaxget();
  const char *at = elements(node, dims);
  for (int64_t i = 0; i < count; i++, at += size) {
    if (memcmp(at, zero, size) == 0) {
      raise_error("%s: 0, expected positions from 1 (the first), or from the end: -1 (the last)", function);
    }
  }
  vmaxset(top);
}

/* Positions from 1 as positions from 0; negative ones count from the end in both. */
static PolyUOp *less_one(PolyUOp *from_one) {
  PolyCtx *ctx = context();
  PolyUOp *is_positive = P.poly_binary_int(ctx, POLY_GT, from_one, 0, 0);
  PolyUOp *from_zero = is_positive == NULL ? NULL : P.poly_binary(ctx, POLY_SUB, from_one, is_positive);
  if (is_positive != NULL) P.poly_uop_release(ctx, is_positive);
  if (from_zero == NULL) fail();
  return from_zero;
}

SEXP r_from_zero(SEXP positions) {
  Args a = begin("index");
  need_positions("positions", node_in(positions));
  return made(&a, less_one(arg_node(&a, positions, "index")));
}

typedef struct Items {
  int n, kept; /* kept: nodes to unprotect */
  int32_t *kinds;
  int64_t *args;
  PolyUOp **tensors;
} Items;

/* items is a list with an item for each axis: NULL for all of it, a Tensor of
 * integers from 1, a whole number (the axis disappears), a slice as three numbers
 * c(first, last, step) from 1 with NA for what is left out (a list if there are Variables), "newaxis" or "...". */
static Items parse(Args *a, SEXP items) {
  Items out;
  size_t n = (size_t)Rf_xlength(items);
  out.n = (int)n;
  out.kept = 0;
  out.kinds = (int32_t *)R_alloc(n + 1, sizeof *out.kinds);
  out.args = (int64_t *)R_alloc(3 * n + 3, sizeof *out.args);
  out.tensors = (PolyUOp **)R_alloc(n + 1, sizeof *out.tensors);
  memset(out.args, 0, (3 * n + 3) * sizeof *out.args);
  for (int i = 0; i < out.n; i++) {
    SEXP item = VECTOR_ELT(items, i);
    int64_t *numbers = out.args + 3 * i;
    out.tensors[i] = NULL;
    if (item == R_NilValue) {
      out.kinds[i] = POLY_INDEX_SLICE;
      for (int k = 0; k < 3; k++) numbers[k] = POLY_INDEX_NONE;
    } else if (is_tensor(item)) {
      out.kinds[i] = POLY_INDEX_TENSOR;
      need_positions(a->function, node_in(item));
      PolyUOp *from_one = arg_node(a, item, "index");
      a->n--; /* the node from 0 keeps the one from 1 alive */
      PolyUOp *from_zero = less_one(from_one);
      SEXP node = Rf_protect(new_node(from_zero, node_in(item), 0));
      out.kept++;
      if (a->n == (int)(sizeof a->nodes / sizeof a->nodes[0])) raise_error("%s: too many index tensors", a->function);
      a->nodes[a->n++] = node;
      out.tensors[i] = from_zero;
    } else if (TYPEOF(item) == STRSXP) {
      const char *word = arg_string(a, item, "item");
      if (strcmp(word, "newaxis") != 0 && strcmp(word, "...") != 0) {
        raise_error("%s: \"%.100s\", expected \"newaxis\" or \"...\"", a->function, word);
      }
      out.kinds[i] = *word == 'n' ? POLY_INDEX_NEWAXIS : POLY_INDEX_ELLIPSIS;
    } else if (is_size(item)) {
      out.kinds[i] = POLY_INDEX_INT;
      numbers[0] = before(item, &out.kept);
    } else if (Rf_xlength(item) == 1) {
      int64_t at = arg_int64(a, item, "index");
      if (at == 0) raise_error("%s: 0, expected a position from 1 (the first) or -1 (the last)", a->function);
      out.kinds[i] = POLY_INDEX_INT;
      numbers[0] = at > 0 ? at - 1 : at;
    } else {
      out.kinds[i] = POLY_INDEX_SLICE;
      slice(a, item, numbers, &out.kept);
    }
  }
  return out;
}

SEXP r_poly_index(SEXP x, SEXP items) {
  Args a = begin("poly_index");
  PolyUOp *of = arg_node(&a, x, "x");
  Items at = parse(&a, items);
  SEXP out = made(&a, P.poly_index(context(), of, at.kinds, at.args, at.tensors, at.n));
  Rf_unprotect(at.kept);
  return out;
}

/* x with other values at items. */
SEXP r_poly_setitem(SEXP x, SEXP items, SEXP value) {
  Args a = begin("poly_setitem");
  PolyUOp *of = arg_node(&a, x, "x"), *by = arg_node(&a, value, "value");
  Items at = parse(&a, items);
  NEED(poly_setitem);
  SEXP out = made(&a, P.poly_setitem(context(), of, at.kinds, at.args, at.tensors, at.n, by));
  Rf_unprotect(at.kept);
  return out;
}
