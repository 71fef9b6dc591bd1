/* Nodes and the variables that stand for them. */
#include <stdlib.h>

#include "glue.h"

/* What the address of a variable is: NULL means that it was restored from a file. */
static int here;
static SEXP prototype;
static SEXP slot;

SEXP r_set_prototype(SEXP tensor);

SEXP r_set_prototype(SEXP tensor) {
  prototype = tensor;
  R_PreserveObject(tensor);
  slot = Rf_install("ptr");
  return R_NilValue;
}

/* Handles of nodes that are gone, given back many at a time. */
#define RELEASE_AT 256
static PolyUOp **dead;
static int n_dead, room;

void release_dead(void) {
  if (is_asking()) return;
  int n = n_dead;
  n_dead = 0;
  if (n > 0) P.poly_uop_release_n(context_or_null(), dead, n);
}

static void finalize(SEXP node) {
  Node *n = R_ExternalPtrAddr(node);
  if (n == NULL) return;
  forget_node(node);
  if (n_dead == room) {
    PolyUOp **more = realloc(dead, (size_t)(2 * room + RELEASE_AT) * sizeof *more);
    if (more != NULL) {
      dead = more;
      room = 2 * room + RELEASE_AT;
    }
  }
  if (n_dead < room) dead[n_dead++] = n->handle;
  R_ClearExternalPtr(node);
  free(n);
  if (n_dead >= RELEASE_AT) release_dead();
}

/* How many nodes were made so far. */
static uint64_t count;

uint64_t nodes_made(void) { return count; }

SEXP new_node(PolyUOp *handle, SEXP sources, int tracked) {
  Node *n = calloc(1, sizeof *n);
  if (n == NULL) raise_error("no memory for a node");
  n->handle = handle;
  n->tracked = tracked;
  n->born = ++count;
  SEXP node = PROTECT(R_MakeExternalPtr(n, R_NilValue, sources));
  R_RegisterCFinalizerEx(node, finalize, FALSE);
  note_node(node);
  UNPROTECT(1);
  return node;
}

Node *node_of(SEXP node) {
  Node *n = TYPEOF(node) == EXTPTRSXP ? R_ExternalPtrAddr(node) : NULL;
  if (n == NULL) raise_error("a node of another session cannot be used");
  return n;
}

const Node *describe(SEXP node) {
  Node *n = node_of(node);
  if (!n->known) {
    n->ndim = P.poly_describe(context(), n->handle, n->dims, POLY_MAX_DIMS, &n->dtype);
    if (n->ndim < 0) fail();
    sizes_most(n);
    n->known = 1;
  }
  return n;
}

int64_t numel(const Node *n) {
  int64_t count = 1;
  for (int i = 0; i < n->ndim; i++) count *= n->dims[i];
  return count;
}

size_t bytes_of(const Node *n) { return (size_t)numel(n) * (size_t)P.poly_dtype_id_size(n->dtype); }

SEXP extra(SEXP node, int what) {
  SEXP tag = R_ExternalPtrTag(node);
  return tag == R_NilValue ? R_NilValue : VECTOR_ELT(tag, what);
}

void set_extra(SEXP node, int what, SEXP value) {
  SEXP tag = R_ExternalPtrTag(node);
  if (tag == R_NilValue) {
    if (value == R_NilValue) return;
    PROTECT(value);
    tag = Rf_allocVector(VECSXP, EXTRAS);
    R_SetExternalPtrTag(node, tag);
    UNPROTECT(1);
  }
  SET_VECTOR_ELT(tag, what, value);
}

SEXP wrap(SEXP node) {
  PROTECT(node);
  SEXP var = PROTECT(R_MakeExternalPtr(&here, R_NilValue, node));
  SEXP tensor = PROTECT(Rf_shallow_duplicate(prototype));
  R_do_slot_assign(tensor, slot, var);
  UNPROTECT(3);
  return tensor;
}

int is_tensor(SEXP x) {
  if (TYPEOF(x) != S4SXP) return 0;
  SEXP var = Rf_getAttrib(x, slot);
  if (TYPEOF(var) != EXTPTRSXP) return 0;
  /* The address says it at once, unless the object was restored from a file. */
  return R_ExternalPtrAddr(var) == &here || Rf_inherits(x, "Tensor");
}

SEXP variable(SEXP x) {
  SEXP var = TYPEOF(x) == S4SXP ? Rf_getAttrib(x, slot) : R_NilValue;
  if (TYPEOF(var) != EXTPTRSXP) raise_error("%s, expected a Tensor", Rf_type2char(TYPEOF(x)));
  if (R_ExternalPtrAddr(var) != &here) {
    raise_error("a Tensor of another session cannot be used: save as.array(x) instead");
  }
  return var;
}

SEXP node_in(SEXP x) { return current(variable(x)); }

void set_node(SEXP var, SEXP node) { R_SetExternalPtrProtected(var, node); }

SEXP owner_of(SEXP node) {
  SEXP weak = extra(node, OWNER);
  return weak == R_NilValue ? R_NilValue : R_WeakRefKey(weak);
}

void set_owner(SEXP node, SEXP var) {
  SEXP weak = var == R_NilValue ? R_NilValue : R_MakeWeakRef(var, R_NilValue, R_NilValue, FALSE);
  PROTECT(weak);
  set_extra(node, OWNER, weak);
  UNPROTECT(1);
}

SEXP lazy(SEXP node) {
  SEXP origin = extra(node, ORIGIN);
  return origin == R_NilValue ? node : origin;
}

/* A leaf on the memory of a raw vector, which the node keeps alive. */
SEXP new_leaf(SEXP data, int dtype, int ndim, const int64_t *dims) {
  PROTECT(data);
  PolyCtx *ctx = context(); /* loads the library, if this is the first call */
  PolyUOp *handle = P.poly_buffer_host(ctx, dtype, dims, ndim, RAW(data), (size_t)Rf_xlength(data));
  if (handle == NULL) fail();
  SEXP node = PROTECT(new_node(handle, R_NilValue, 0));
  set_extra(node, DATA, data);
  UNPROTECT(2);
  return node;
}

/* The same with the shape and type of another node, whose variables may be bound anew. */
SEXP leaf_like(SEXP like, SEXP data, PolyVarBinding *vars, int n_vars) {
  PROTECT(data);
  const Node *n = describe(like);
  int64_t dims[POLY_MAX_DIMS];
  PolyUOp *held[POLY_MAX_DIMS];
  sizes_given(n, dims, held, vars, n_vars);
  SEXP node = new_leaf(data, n->dtype, n->ndim, dims);
  release_sizes(n, held);
  UNPROTECT(1);
  return node;
}

SEXP r_is_tensor(SEXP x);
SEXP r_shape(SEXP x);
SEXP r_dtype(SEXP x);
SEXP r_same(SEXP x, SEXP y);
SEXP r_gradient_of(SEXP x);
SEXP r_set_gradient(SEXP x, SEXP gradient);
SEXP r_replace(SEXP x, SEXP y);
SEXP r_live_nodes(void);

SEXP r_is_tensor(SEXP x) { return Rf_ScalarLogical(is_tensor(x)); }

SEXP shape_of_tensor(SEXP x) {
  const Node *n = describe(node_in(x));
  int64_t dims[POLY_MAX_DIMS];
  sizes_now(n, dims);
  int large = 0;
  for (int i = 0; i < n->ndim; i++) large |= dims[i] > INT32_MAX;
  SEXP out = Rf_allocVector(large ? REALSXP : INTSXP, n->ndim);
  for (int i = 0; i < n->ndim; i++) {
    if (large) {
      REAL(out)[i] = (double)dims[i];
    } else {
      INTEGER(out)[i] = (int)dims[i];
    }
  }
  return out;
}

SEXP r_shape(SEXP x) { return shape_of_tensor(x); }

SEXP r_dtype(SEXP x) { return Rf_mkString(P.poly_dtype_id_name(describe(node_in(x))->dtype)); }

/* Whether two Tensors are one variable. */
SEXP r_same(SEXP x, SEXP y) { return Rf_ScalarLogical(variable(x) == variable(y)); }

SEXP r_gradient_of(SEXP x) { return gradient_of(x); }

SEXP r_set_gradient(SEXP x, SEXP gradient) {
  SEXP var = variable(x);
  if (gradient != R_NilValue && !is_tensor(gradient)) {
    raise_error("grad: %s, expected a Tensor or NULL", Rf_type2char(TYPEOF(gradient)));
  }
  trace_gradient(var);
  set_extra(lazy(node_in(x)), BACKWARD, R_NilValue);
  R_SetExternalPtrTag(var, gradient);
  return R_NilValue;
}

/* Lets x stand for what y stands for. */
SEXP r_replace(SEXP x, SEXP y) {
  if (!is_tensor(y)) raise_error("replace: x: %s, expected a Tensor", Rf_type2char(TYPEOF(y)));
  SEXP node = node_in(y);
  trace_replace(variable(x));
  set_node(variable(x), node);
  return x;
}

SEXP r_live_nodes(void) {
  PolyCtx *ctx = context();
  release_dead();
  return Rf_ScalarReal((double)P.poly_ctx_live_nodes(ctx));
}
