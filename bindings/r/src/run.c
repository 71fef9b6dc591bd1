/* Computing values, and everything that changes what a variable stands for. */
#include "glue.h"

static PolyUOp **handles_of(SEXP nodes) {
  R_xlen_t n = Rf_xlength(nodes);
  PolyUOp **out = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *out);
  for (R_xlen_t i = 0; i < n; i++) out[i] = node_of(VECTOR_ELT(nodes, i))->handle;
  return out;
}

static SEXP memory_for(const Node *n) {
  SEXP data = Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(n));
  return data;
}

/* Computes nodes into new memory, then writes updates into the memory of
 * targets. Returns the computed nodes, which remember where they came from. */
SEXP compute(SEXP nodes, SEXP targets, SEXP updates) {
  PolyCtx *ctx = context();
  int n = (int)Rf_xlength(nodes), n_updates = (int)Rf_xlength(updates);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  void **memory = (void **)R_alloc((size_t)n + 1, sizeof *memory);
  PolyUOp **leaves = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *leaves);
  for (int i = 0; i < n; i++) {
    SEXP data = memory_for(describe(VECTOR_ELT(nodes, i)));
    SET_VECTOR_ELT(out, i, data);
    memory[i] = RAW(data);
  }
  int status;
  if (n_updates > 0) {
    status = P.poly_update(ctx, handles_of(nodes), memory, n, leaves, handles_of(targets), handles_of(updates),
                           n_updates);
  } else {
    status = P.poly_realize_into(ctx, handles_of(nodes), memory, n, leaves);
  }
  finish(status);
  for (int i = 0; i < n; i++) {
    SEXP from = VECTOR_ELT(nodes, i);
    Node *was = node_of(from);
    int follow = was->tracked && is_float(was->dtype);
    SEXP node = PROTECT(new_node(leaves[i], R_NilValue, follow));
    Node *is = node_of(node);
    is->known = 1;
    is->dtype = was->dtype;
    is->ndim = was->ndim;
    memcpy(is->dims, was->dims, sizeof is->dims);
    set_extra(node, DATA, VECTOR_ELT(out, i));
    if (follow) {
      set_extra(node, ORIGIN, from);
      set_extra(node, OWNER, extra(from, OWNER));
    }
    SET_VECTOR_ELT(out, i, node);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return out;
}

/* Computes the Tensors of a list that have no value yet, in one program. */
void realize(SEXP tensors) {
  int n = (int)Rf_xlength(tensors), count = 0;
  int *place = (int *)R_alloc((size_t)n + 1, sizeof *place);
  SEXP todo = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(tensors, i));
    place[i] = -1;
    if (extra(node, DATA) != R_NilValue) continue;
    for (place[i] = 0; place[i] < count && VECTOR_ELT(todo, place[i]) != node; place[i]++) {
    }
    if (place[i] == count) SET_VECTOR_ELT(todo, count++, node);
  }
  if (count > 0) {
    if (tracing()) raise_error("a value is needed while compile_step traces the function");
    SEXP nodes = PROTECT(Rf_lengthgets(todo, count));
    SEXP done = PROTECT(compute(nodes, R_NilValue, R_NilValue));
    for (int i = 0; i < n; i++) {
      if (place[i] >= 0) set_node(variable(VECTOR_ELT(tensors, i)), VECTOR_ELT(done, place[i]));
    }
    UNPROTECT(2);
  }
  UNPROTECT(1);
}

static SEXP realize_one(SEXP x) {
  if (extra(node_in(x), DATA) == R_NilValue) {
    SEXP one = PROTECT(Rf_allocVector(VECSXP, 1));
    SET_VECTOR_ELT(one, 0, x);
    realize(one);
    UNPROTECT(1);
  }
  return node_in(x);
}

SEXP r_realize(SEXP tensors);
SEXP r_leaf(SEXP data, SEXP dtype, SEXP scalar);
SEXP r_values(SEXP x, SEXP integer64);
SEXP r_assign(SEXP targets, SEXP values);
SEXP r_settle(SEXP x);
SEXP r_write(SEXP x, SEXP data);
SEXP r_tracked(SEXP x);
SEXP r_set_tracked(SEXP x, SEXP value);
SEXP r_detach(SEXP x);
SEXP r_clone(SEXP x);

SEXP r_realize(SEXP tensors) {
  realize(tensors);
  return R_NilValue;
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

/* The values of a Tensor as R's array; types that R lacks were cast before. */
SEXP r_values(SEXP x, SEXP integer64) {
  SEXP node = realize_one(x);
  const Node *n = describe(node);
  return from_storage(RAW(extra(node, DATA)), n->dtype, n->ndim, n->dims, Rf_asLogical(integer64));
}

/* Makes a variable a leaf: computed, without history, with memory of its own. */
static void settle(SEXP x) {
  SEXP node = realize_one(x);
  if (R_ExternalPtrProtected(node) != R_NilValue) {
    const Node *n = describe(node);
    SEXP leaf = PROTECT(new_leaf(Rf_duplicate(extra(node, DATA)), n->dtype, n->ndim, n->dims));
    set_node(variable(x), leaf);
    UNPROTECT(1);
  } else if (extra(node, ORIGIN) != R_NilValue) {
    set_extra(node, ORIGIN, R_NilValue);
    node_of(node)->tracked = extra(node, OWNER) != R_NilValue;
  }
}

SEXP r_settle(SEXP x) {
  settle(x);
  return x;
}

/* Gives variables new values in their memory, all computed from those before. */
SEXP r_assign(SEXP targets, SEXP values) {
  int n = (int)Rf_xlength(targets);
  SEXP to = PROTECT(Rf_allocVector(VECSXP, n));
  SEXP from = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) SET_VECTOR_ELT(from, i, node_in(VECTOR_ELT(values, i)));
  if (tracing()) {
    for (int i = 0; i < n; i++) {
      SEXP var = variable(VECTOR_ELT(targets, i)), source = VECTOR_ELT(from, i);
      int dtype = describe(R_ExternalPtrProtected(var))->dtype;
      PolyUOp *cast = P.poly_cast_by_id(context(), node_of(source)->handle, dtype);
      if (cast == NULL) fail();
      SEXP node = PROTECT(new_node(cast, source, 0));
      PolyUOp *cut = P.poly_detach(context(), cast);
      if (cut == NULL) fail();
      node = PROTECT(new_node(cut, node, 0));
      trace_change(var, node);
      UNPROTECT(2);
    }
  } else {
    for (int i = 0; i < n; i++) {
      settle(VECTOR_ELT(targets, i));
      SET_VECTOR_ELT(to, i, node_in(VECTOR_ELT(targets, i)));
    }
    SEXP none = PROTECT(Rf_allocVector(VECSXP, 0));
    compute(none, to, from);
    UNPROTECT(1);
  }
  UNPROTECT(2);
  return R_NilValue;
}

/* Writes R's numbers, converted, into the memory of a leaf. */
SEXP r_write(SEXP x, SEXP data) {
  Args a = begin("assign");
  if (tracing()) raise_error("assign: numbers are written while compile_step traces the function; assign a Tensor");
  settle(x);
  SEXP node = node_in(x);
  const Node *n = describe(node);
  if ((int64_t)Rf_xlength(data) != numel(n)) {
    raise_error("assign: %lld numbers, expected the %lld of the tensor", (long long)Rf_xlength(data),
                (long long)numel(n));
  }
  SEXP copy = PROTECT(Rf_allocVector(RAWSXP, Rf_xlength(extra(node, DATA))));
  to_storage(&a, data, n->dtype, n->ndim, n->dims, RAW(copy));
  memcpy(RAW(extra(node, DATA)), RAW(copy), (size_t)Rf_xlength(copy));
  UNPROTECT(1);
  return x;
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
  node_of(node)->tracked = var != R_NilValue || below_tracked(node);
}

/* Whether backward gives this variable, or one that it came from, a gradient. */
SEXP r_set_tracked(SEXP x, SEXP value) {
  SEXP var = variable(x), node = node_in(x);
  if (!Rf_asLogical(value)) {
    own(node, R_NilValue);
    own(lazy(node), R_NilValue);
    node_of(node)->tracked = node_of(lazy(node))->tracked;
    return x;
  }
  const Node *n = describe(node);
  if (!is_float(n->dtype)) {
    raise_error("requires_grad: the tensor is %s, expected a floating type", P.poly_dtype_id_name(n->dtype));
  }
  if (extra(node, OWNER) != R_NilValue && owner_of(node) != var) {
    /* Another variable stands for the same node: this one needs memory of its own. */
    node = realize_one(x);
    n = describe(node);
    set_node(var, new_leaf(Rf_duplicate(extra(node, DATA)), n->dtype, n->ndim, n->dims));
  } else if (!n->tracked && extra(node, DATA) == R_NilValue && !tracing()) {
    realize_one(x);
  }
  node = node_in(x);
  own(node, var);
  own(lazy(node), var);
  return x;
}

/* The same value, through which no gradient flows. */
SEXP r_detach(SEXP x) {
  Args a = begin("poly_detach");
  PolyUOp *handle = arg_node(&a, x, "x");
  a.tracked = 0;
  SEXP out = PROTECT(made(&a, P.poly_detach(context(), handle)));
  set_extra(node_in(out), DATA, extra(node_in(x), DATA));
  UNPROTECT(1);
  return out;
}

/* A copy with memory of its own, which requires a gradient if x does. */
SEXP r_clone(SEXP x) {
  SEXP node = node_in(x), data = extra(node, DATA);
  if (data == R_NilValue || extra(node, ORIGIN) != R_NilValue || tracing()) {
    Args a = begin("poly_contiguous");
    PolyUOp *handle = arg_node(&a, x, "x");
    return made(&a, P.poly_contiguous(context(), handle));
  }
  const Node *n = describe(node);
  SEXP out = PROTECT(wrap(new_leaf(Rf_duplicate(data), n->dtype, n->ndim, n->dims)));
  if (n->tracked) r_set_tracked(out, Rf_ScalarLogical(1));
  UNPROTECT(1);
  return out;
}
