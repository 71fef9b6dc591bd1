/* Computing values, and asking for gradients. */
#include "glue.h"

/* Computes nodes into new memory, then writes updates into the memory of
 * targets. Returns the computed nodes. With follow they remember where they came
 * from, and take the place of nodes that have views. */
SEXP compute(SEXP nodes, SEXP targets, SEXP updates, int follow) {
  PolyCtx *ctx = context();
  int n = (int)Rf_xlength(nodes), n_updates = (int)Rf_xlength(updates);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  void **memory = (void **)R_alloc((size_t)n + 1, sizeof *memory);
  PolyUOp **leaves = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *leaves);
  for (int i = 0; i < n; i++) {
    SEXP data = Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(describe(VECTOR_ELT(nodes, i))));
    SET_VECTOR_ELT(out, i, data);
    memory[i] = RAW(data);
  }
  int status;
  if (n_updates > 0) {
    status = P.poly_update(ctx, handles(nodes), memory, n, leaves, handles(targets), handles(updates),
                           n_updates);
  } else {
    status = P.poly_realize_into(ctx, handles(nodes), memory, n, leaves);
  }
  finish(status);
  for (int i = 0; i < n; i++) {
    SEXP from = VECTOR_ELT(nodes, i);
    Node *was = node_of(from);
    SEXP node = PROTECT(new_node(leaves[i], R_NilValue, 0));
    Node *is = node_of(node);
    is->known = 1;
    is->dtype = was->dtype;
    is->ndim = was->ndim;
    is->symbolic = was->symbolic;
    memcpy(is->dims, was->dims, sizeof is->dims);
    set_extra(node, DATA, VECTOR_ELT(out, i));
    if (follow) {
      is->refused = was->refused;
      is->tracked = was->tracked && is_float(was->dtype);
      if (was->first_view != NULL && !was->view) become(from, node);
    }
    if (is->tracked) {
      set_extra(node, ORIGIN, from);
      set_extra(node, OWNER, extra(from, OWNER));
    }
    SET_VECTOR_ELT(out, i, node);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return out;
}

SEXP compute_one(SEXP node, int follow) {
  SEXP nodes = PROTECT(Rf_allocVector(VECSXP, 1)), none = PROTECT(Rf_allocVector(VECSXP, 0));
  SET_VECTOR_ELT(nodes, 0, node);
  SEXP made = VECTOR_ELT(compute(nodes, none, none, follow), 0);
  UNPROTECT(2);
  return made;
}

/* Computes the Tensors of a list that have no value yet, in one program. */
void realize(SEXP tensors) {
  int n = (int)Rf_xlength(tensors), count = 0;
  int *place = (int *)R_alloc((size_t)n + 1, sizeof *place);
  SEXP todo = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(tensors, i));
    place[i] = -1;
    if (extra(node, DATA) != R_NilValue || is_shown(node)) continue;
    for (place[i] = 0; place[i] < count && VECTOR_ELT(todo, place[i]) != node; place[i]++) {
    }
    if (place[i] == count) SET_VECTOR_ELT(todo, count++, node);
  }
  if (count > 0) {
    if (tracing()) raise_error("a value is needed while %s traces the function", tracer());
    SEXP nodes = PROTECT(Rf_lengthgets(todo, count));
    SEXP done = PROTECT(compute(nodes, R_NilValue, R_NilValue, 1));
    for (int i = 0; i < n; i++) {
      if (place[i] >= 0) set_node(variable(VECTOR_ELT(tensors, i)), VECTOR_ELT(done, place[i]));
    }
    UNPROTECT(2);
  }
  UNPROTECT(1);
}

SEXP realize_one(SEXP x) {
  if (extra(node_in(x), DATA) == R_NilValue) {
    SEXP one = PROTECT(Rf_allocVector(VECSXP, 1));
    SET_VECTOR_ELT(one, 0, x);
    realize(one);
    UNPROTECT(1);
  }
  return node_in(x);
}

SEXP r_realize(SEXP tensors);
SEXP r_is_realized(SEXP x);
SEXP r_leaf(SEXP data, SEXP dtype, SEXP scalar);
SEXP r_values(SEXP x, SEXP integer64);
SEXP r_blob(SEXP data, SEXP shape, SEXP dtype);
SEXP r_bytes(SEXP x);
SEXP r_requires_grad(SEXP x);
SEXP r_tracked(SEXP x);
SEXP r_set_tracked(SEXP x, SEXP value);
SEXP r_detach(SEXP x);
SEXP r_clone(SEXP x);

SEXP r_realize(SEXP tensors) {
  realize(tensors);
  return R_NilValue;
}

/* Whether the values are there, or those that it is a view of. */
SEXP r_is_realized(SEXP x) {
  SEXP node = node_in(x);
  return Rf_ScalarLogical(extra(node, DATA) != R_NilValue || is_shown(node));
}

/* A Tensor on a copy of R's numbers. dtype must have storage that R's numbers
 * can be written to; scalar: no dimension. */
SEXP r_leaf(SEXP data, SEXP dtype, SEXP scalar) {
  Args a = begin("Tensor");
  int kind = arg_dtype(&a, dtype, "dtype"), ndim;
  int64_t dims[POLY_MAX_DIMS];
  int64_t n = dims_of(data, &ndim, dims);
  if (Rf_asLogical(scalar)) ndim = 0;
  SEXP memory = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)n * P.poly_dtype_id_size(kind)));
  to_storage(&a, data, kind, ndim, dims, RAW(memory));
  SEXP out = wrap(new_leaf(memory, kind, ndim, dims));
  UNPROTECT(1);
  return out;
}

/* A Tensor on a copy of bytes, row by row. */
SEXP r_blob(SEXP data, SEXP shape, SEXP dtype) {
  Args a = begin("from_blob");
  int kind = arg_dtype(&a, dtype, "dtype"), ndim;
  int64_t *dims = arg_numbers(&a, shape, "shape", &ndim), size = P.poly_dtype_id_size(kind);
  double bytes = (double)size;
  for (int i = 0; i < ndim; i++) bytes *= (double)dims[i];
  if (ndim > POLY_MAX_DIMS) raise_error("from_blob: shape: %d axes, expected at most %d", ndim, POLY_MAX_DIMS);
  if ((double)Rf_xlength(data) != bytes) {
    raise_error("from_blob: data: %lld bytes, expected %.0f for the shape and %s", (long long)Rf_xlength(data), bytes,
                P.poly_dtype_id_name(kind));
  }
  SEXP copy = PROTECT(Rf_duplicate(data));
  SEXP out = wrap(new_leaf(copy, kind, ndim, dims));
  UNPROTECT(1);
  return out;
}

/* The elements of a node, which is memory or a view of it, without gaps; dims are its sizes now. They
 * are there as long as the node, or until vmaxset. */
const void *elements(SEXP node, int64_t *dims) {
  const Node *n = describe(node);
  sizes_now(n, dims);
  int64_t strides[POLY_MAX_DIMS], offset = 0, count = 1;
  SEXP data = extra(node, DATA);
  if (data != R_NilValue) {
    if (!n->symbolic) return RAW(data);
    int64_t step = 1;
    for (int i = n->ndim - 1; i >= 0; i--) {
      strides[i] = step;
      step *= n->dims[i];
    }
  } else {
    SEXP base = root(node);
    data = extra(base, DATA);
    int known = n->symbolic || node_of(base)->symbolic ? 0
      : P.poly_view_layout(context(), n->handle, node_of(base)->handle, strides, n->ndim, &offset);
    if (known < 0) fail();
    if (!known) {
      SEXP made = PROTECT(compute_one(node, 0));
      const void *from = elements(made, dims);
      for (int i = 0; i < n->ndim; i++) count *= dims[i];
      size_t size = (size_t)(count * P.poly_dtype_id_size(n->dtype));
      void *out = memcpy(R_alloc(size + 1, 1), from, size);
      UNPROTECT(1);
      return out;
    }
  }
  for (int i = 0; i < n->ndim; i++) count *= dims[i];
  int size = P.poly_dtype_id_size(n->dtype);
  void *out = R_alloc((size_t)count + 1, size);
  gather(RAW(data), size, n->ndim, dims, strides, offset, out);
  return out;
}

/* The values of a Tensor as R's array; types that R lacks were cast before. */
SEXP r_values(SEXP x, SEXP integer64) {
  SEXP node = realize_one(x);
  const Node *n = describe(node);
  int64_t dims[POLY_MAX_DIMS];
  const void *top = vmaxget();
  SEXP out = from_storage(elements(node, dims), n->dtype, n->ndim, dims, Rf_asLogical(integer64));
  vmaxset(top);
  return out;
}

/* The memory of a Tensor, row by row, as a raw vector. */
SEXP r_bytes(SEXP x) {
  SEXP node = realize_one(x);
  const Node *n = describe(node);
  int64_t dims[POLY_MAX_DIMS], count = P.poly_dtype_id_size(n->dtype);
  const void *top = vmaxget(), *from = elements(node, dims);
  for (int i = 0; i < n->ndim; i++) count *= dims[i];
  SEXP out = Rf_allocVector(RAWSXP, (R_xlen_t)count);
  if (count > 0) memcpy(RAW(out), from, (size_t)count);
  vmaxset(top);
  return out;
}

/* TRUE, FALSE, or NULL where nobody has said. */
SEXP r_requires_grad(SEXP x) {
  const Node *n = node_of(node_in(x));
  return n->tracked || n->refused ? Rf_ScalarLogical(n->tracked) : R_NilValue;
}

SEXP r_tracked(SEXP x) { return Rf_ScalarLogical(node_of(node_in(x))->tracked); }

static int below_tracked(SEXP node) {
  SEXP from = R_ExternalPtrProtected(node);
  if (from == R_NilValue) return 0;
  if (TYPEOF(from) == EXTPTRSXP) return node_of(from)->tracked;
  for (R_xlen_t i = 0; i < Rf_xlength(from); i++) {
    if (VECTOR_ELT(from, i) != R_NilValue && node_of(VECTOR_ELT(from, i))->tracked) return 1;
  }
  return 0;
}

static void own(SEXP node, SEXP var) {
  set_owner(node, var);
  node_of(node)->tracked = var != R_NilValue || (node_of(node)->tracked && below_tracked(node));
}

/* A leaf with the values of a Tensor that nothing else stands for. */
static SEXP fresh(SEXP x) {
  SEXP node = realize_one(x);
  SEXP data = extra(node, DATA);
  if (data == R_NilValue) return compute_one(node, 0);
  SEXP leaf = leaf_like(node, PROTECT(Rf_duplicate(data)), NULL, 0);
  UNPROTECT(1);
  return leaf;
}

/* Whether backward gives this variable, or one that it came from, a gradient: TRUE, FALSE, or NULL
 * for whoever uses it to say. */
SEXP r_set_tracked(SEXP x, SEXP value) {
  SEXP var = variable(x), node = node_in(x);
  if (value != R_NilValue && (TYPEOF(value) != LGLSXP || Rf_xlength(value) != 1 || LOGICAL(value)[0] == NA_LOGICAL)) {
    raise_error("requires_grad: expected TRUE, FALSE or NULL");
  }
  if (value == R_NilValue || !LOGICAL(value)[0]) {
    own(node, R_NilValue);
    own(lazy(node), R_NilValue);
    node_of(node)->tracked = node_of(lazy(node))->tracked;
    node_of(node)->refused = node_of(lazy(node))->refused = value != R_NilValue;
    return x;
  }
  const Node *n = describe(node);
  if (!is_float(n->dtype)) {
    raise_error("requires_grad: the tensor is %s, expected a floating type", P.poly_dtype_id_name(n->dtype));
  }
  if (extra(node, OWNER) != R_NilValue && owner_of(node) != var) {
    /* Another variable stands for the same node: this one needs memory of its own. */
    set_node(var, fresh(x));
  } else if (!n->tracked && extra(node, DATA) == R_NilValue && !tracing()) {
    realize_one(x);
  }
  node = node_in(x);
  own(node, var);
  own(lazy(node), var);
  node_of(node)->refused = node_of(lazy(node))->refused = 0;
  return x;
}

/* The same value, through which no gradient flows. */
SEXP r_detach(SEXP x) {
  Args a = begin("poly_detach");
  PolyUOp *handle = arg_node(&a, x, "x");
  a.tracked = 0;
  a.refused = 1;
  return made(&a, P.poly_detach(context(), handle));
}

/* A copy with memory of its own, which requires a gradient if x does. */
SEXP r_clone(SEXP x) {
  SEXP node = node_in(x);
  if (extra(node, DATA) == R_NilValue || extra(node, ORIGIN) != R_NilValue || tracing()) {
    Args a = begin("poly_contiguous");
    PolyUOp *handle = arg_node(&a, x, "x");
    return made(&a, P.poly_contiguous(context(), handle));
  }
  SEXP out = PROTECT(wrap(fresh(x)));
  if (node_of(node)->tracked) r_set_tracked(out, Rf_ScalarLogical(1));
  UNPROTECT(1);
  return out;
}
