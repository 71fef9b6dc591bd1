/* Views of tensors, and writing.
 *
 * A view shows elements of another node, its root, in another order or shape. A root that has been
 * computed is memory: what is written to it, or through one of its views, counts for all variables
 * that stand for it or for a view of it. What else was made of it keeps the value of that time: as
 * long as a node exists that is to be computed from the memory, it is not written to. A new leaf
 * takes the place of the old one instead. R's collector alone knows which nodes are still needed;
 * not to write to what might be is cheaper than to compute it.
 *
 * Variables are not looked for: the versions of a root share a cell that holds the newest one, and a
 * variable that is asked for its node moves there. A traced function uses that too, see trace.c. */
#include "glue.h"

/* Functions whose result may be a view of their only operand. */
static const char *const showing[] = {
    "poly_reshape", "poly_permute", "poly_transpose", "poly_shrink",    "poly_flip",     "poly_detach",          "poly_index",
    "poly_squeeze", "poly_unsqueeze", "poly_squeeze_all", "poly_flatten", "poly_unflatten", "poly_bitcast_by_id", "poly_diagonal"};

static void count(SEXP node, int by) {
  for (int i = 0; i < n_sources(node); i++) {
    SEXP from = source(node, i);
    Node *n = from == R_NilValue ? NULL : R_ExternalPtrAddr(from);
    if (n != NULL) n->readers += by;
  }
}

/* Counts a new node among those that read its sources. */
void note_node(SEXP node) {
  if (tracing()) {
    node_of(node)->uncounted = 1;
  } else {
    count(node, 1);
  }
}

static void unlink_view(Node *n) {
  if (n->shown == NULL) return;
  if (n->previous_view != NULL) n->previous_view->next_view = n->next_view;
  if (n->shown->first_view == n) n->shown->first_view = n->next_view;
  if (n->next_view != NULL) n->next_view->previous_view = n->previous_view;
  n->shown = NULL;
}

/* The opposite, for finalizers: sources may be gone already. */
void forget_node(SEXP node) {
  Node *n = R_ExternalPtrAddr(node);
  unlink_view(n);
  while (n->first_view != NULL) unlink_view(n->first_view);
  if (!n->view && !n->uncounted) count(node, -1);
}

/* Counts what a traced function made and somebody uses after it. */
static void count_late(SEXP node) {
  Node *n = node_of(node);
  if (!n->uncounted) return;
  n->uncounted = 0;
  if (!n->view) count(node, 1);
  for (int i = 0; i < n_sources(node); i++) {
    if (source(node, i) != R_NilValue) count_late(source(node, i));
  }
}

static void link_view(SEXP node) {
  Node *n = node_of(node), *of = node_of(R_ExternalPtrProtected(node));
  if (!n->uncounted) of->readers--;
  n->view = 1;
  n->shown = of;
  n->previous_view = NULL;
  n->next_view = of->first_view;
  if (of->first_view != NULL) of->first_view->previous_view = n;
  of->first_view = n;
}

/* Notes that the result of a function is a view, if it is. */
void mark_view(const char *function, SEXP node) {
  SEXP of = R_ExternalPtrProtected(node);
  if (TYPEOF(of) != EXTPTRSXP) return;
  for (size_t i = 0; i < sizeof showing / sizeof *showing; i++) {
    if (strcmp(function, showing[i]) != 0) continue;
    if (P.poly_is_view(context(), node_of(node)->handle, node_of(of)->handle) == 1) link_view(node);
    return;
  }
}

/* The node that a node is a view of, which may be itself. */
SEXP root(SEXP node) {
  while (node_of(node)->view) node = R_ExternalPtrProtected(node);
  return node;
}

/* A view of one node as the same view of another one. */
static SEXP moved(SEXP node, SEXP before, SEXP after) {
  if (node == before) return after;
  Node *n = node_of(node);
  PolyUOp *handle = P.poly_move_view(context(), n->handle, node_of(before)->handle, node_of(after)->handle);
  if (handle == NULL) fail();
  SEXP made = PROTECT(new_node(handle, after, n->tracked && node_of(after)->tracked));
  set_extra(made, BACKWARD, extra(node, BACKWARD));
  node_of(made)->refused = n->refused;
  link_view(made);
  UNPROTECT(1);
  return made;
}

/* What a variable stands for. */
SEXP current(SEXP var) {
  SEXP node = R_ExternalPtrProtected(var), base = root(node), cell = extra(base, CELL);
  if (cell != R_NilValue && CAR(cell) != base) {
    int owned = owner_of(node) == var;
    SEXP now = PROTECT(moved(node, base, CAR(cell)));
    if (owned && now != CAR(cell)) {
      set_owner(now, var);
      node_of(now)->tracked = 1;
    }
    set_node(var, now);
    UNPROTECT(1);
    node = now;
  }
  if (node_of(node)->uncounted && !tracing()) count_late(node);
  return node;
}

/* Lets the variables that stand for a node, or for views of it, stand for another one. */
void become(SEXP before, SEXP after) {
  PROTECT(after);
  SEXP cell = extra(before, CELL);
  if (cell == R_NilValue) {
    cell = PROTECT(Rf_cons(before, R_NilValue));
    set_extra(before, CELL, cell);
    UNPROTECT(1);
  }
  set_extra(after, CELL, cell);
  SETCAR(cell, after);
  UNPROTECT(1);
}

/* The variable that wants the gradient of a node wants that of the next one, and keeps what it has. */
void pass_owner(SEXP before, SEXP after) {
  Node *now = node_of(after);
  now->refused = node_of(before)->refused;
  now->tracked = owner_of(before) != R_NilValue;
  if (now->tracked) set_extra(after, OWNER, extra(before, OWNER));
  set_extra(after, BACKWARD, extra(lazy(before), BACKWARD));
}

/* Forgets how memory came about that is written to: no gradient flows on from there. */
void cut_history(SEXP node) {
  if (extra(node, ORIGIN) == R_NilValue) return;
  set_extra(node, BACKWARD, extra(lazy(node), BACKWARD));
  set_extra(node, ORIGIN, R_NilValue);
  node_of(node)->tracked = owner_of(node) != R_NilValue;
}

static int read_below(const Node *n) {
  if (n->readers > 0) return 1;
  for (const Node *v = n->first_view; v != NULL; v = v->next_view) {
    if (read_below(v)) return 1;
  }
  return 0;
}

/* Whether a node may be there that is to be computed from the memory of this one. */
int has_readers(SEXP node) { return read_below(node_of(node)); }

/* Whether a node is a view of memory: nothing is to be computed. */
int is_shown(SEXP node) { return node_of(node)->view && extra(root(node), DATA) != R_NilValue; }

/* A leaf with a copy of the memory of a node. */
static SEXP copy_of(SEXP node) {
  SEXP data = PROTECT(Rf_duplicate(extra(node, DATA)));
  SEXP leaf = leaf_like(node, data, NULL, 0);
  UNPROTECT(1);
  return leaf;
}

/* The memory that the variables of a computed node may be written to: its own, or a new copy. */
SEXP own_memory(SEXP node) {
  if (!has_readers(node)) {
    cut_history(node);
    return node;
  }
  SEXP copy = PROTECT(copy_of(node));
  pass_owner(node, copy);
  become(node, copy);
  UNPROTECT(1);
  return copy;
}

/* A value in the shape and the type of a node. */
SEXP fitted(SEXP value, SEXP like) {
  const Node *n = describe(like), *v = describe(value);
  int same = n->ndim == v->ndim;
  for (int i = 0; same && i < n->ndim; i++) same = n->dims[i] == v->dims[i];
  PROTECT(value);
  if (!same) {
    int64_t dims[POLY_MAX_DIMS];
    PolyUOp *held[POLY_MAX_DIMS];
    sizes_given(n, dims, held, NULL, 0);
    PolyUOp *wide = P.poly_expand(context(), v->handle, dims, n->ndim);
    release_sizes(n, held);
    if (wide == NULL) fail();
    value = new_node(wide, value, v->tracked);
  }
  PROTECT(value);
  if (v->dtype != n->dtype) {
    PolyUOp *cast = P.poly_cast_by_id(context(), node_of(value)->handle, n->dtype);
    if (cast == NULL) fail();
    value = new_node(cast, value, v->tracked);
  }
  UNPROTECT(2);
  return value;
}

/* Computes what a variable stands for, with its root, so that both are memory; returns the root. */
static SEXP settle_root(SEXP var) {
  SEXP base = root(current(var));
  if (extra(base, DATA) != R_NilValue) return base;
  SEXP made = PROTECT(compute_one(base, 1));
  become(base, made);
  UNPROTECT(1);
  return made;
}

/* Lets a variable that stands for a root stand for a value, which is computed into new memory. */
static void supersede(SEXP base, SEXP made) {
  PROTECT(made);
  pass_owner(base, made);
  become(base, made);
  UNPROTECT(1);
}

/* Writes a value of its shape and type to a variable. */
static void write_one(SEXP var, SEXP value) {
  SEXP node = current(var), base = root(node);
  if (node == base && (extra(base, DATA) == R_NilValue || has_readers(base))) {
    supersede(base, compute_one(value, 0));
    return;
  }
  base = settle_root(var);
  int kept = has_readers(base);
  SEXP to = PROTECT(kept ? copy_of(base) : base);
  SEXP view = PROTECT(moved(current(var), base, to));
  SEXP targets = PROTECT(Rf_list1(view)), updates = PROTECT(Rf_list1(value));
  SEXP none = PROTECT(Rf_allocVector(VECSXP, 0));
  targets = PROTECT(Rf_PairToVectorList(targets));
  updates = PROTECT(Rf_PairToVectorList(updates));
  compute(none, targets, updates, 0);
  if (kept) {
    supersede(base, to);
  } else {
    cut_history(base);
  }
  UNPROTECT(7);
}

SEXP r_assign(SEXP targets, SEXP values, SEXP spent);
SEXP r_settle(SEXP x);
SEXP r_write(SEXP x, SEXP data);

/* The same node as one that is computed from it: what is written first does not change it. */
static SEXP reader(SEXP node) {
  PolyUOp *handle = P.poly_uop_retain(context(), node_of(node)->handle);
  if (handle == NULL) fail();
  return new_node(handle, node, 0);
}

/* Whether targets are distinct memory, or to be, and no views: they can be computed in one program. */
static int apart(SEXP vars, int n) {
  unsigned mark = new_walk();
  for (int i = 0; i < n; i++) {
    SEXP node = current(VECTOR_ELT(vars, i));
    if (node_of(node)->view || !first_visit(node, mark)) return 0;
  }
  return 1;
}

/* Nodes that nobody uses any more do not count as readers. */
static void discount(SEXP node) {
  Node *n = node_of(node);
  if (n->uncounted) return;
  if (!n->view) count(node, -1);
  n->uncounted = 1;
}

/* Gives variables new values, all computed from those before. spent: nobody else has the values. */
SEXP r_assign(SEXP targets, SEXP values, SEXP spent) {
  int n = (int)Rf_xlength(targets), fresh = 0, kept = 0;
  SEXP vars = PROTECT(Rf_allocVector(VECSXP, n)), from = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    SET_VECTOR_ELT(vars, i, variable(VECTOR_ELT(targets, i)));
    SEXP value = node_in(VECTOR_ELT(values, i));
    if (Rf_asLogical(spent)) discount(value);
    SET_VECTOR_ELT(from, i, fitted(value, current(VECTOR_ELT(vars, i))));
  }
  if (tracing()) {
    for (int i = 0; i < n; i++) trace_assign(VECTOR_ELT(vars, i), VECTOR_ELT(from, i));
  } else if (n == 1 || !apart(vars, n)) {
    for (int i = 0; n > 1 && i < n; i++) SET_VECTOR_ELT(from, i, reader(VECTOR_ELT(from, i)));
    for (int i = 0; i < n; i++) write_one(VECTOR_ELT(vars, i), VECTOR_ELT(from, i));
  } else {
    /* New memory for some, in place for the others. */
    int *is_fresh = (int *)R_alloc((size_t)n, sizeof *is_fresh);
    for (int i = 0; i < n; i++) {
      SEXP node = current(VECTOR_ELT(vars, i));
      fresh += is_fresh[i] = extra(node, DATA) == R_NilValue || has_readers(node);
    }
    SEXP nodes = PROTECT(Rf_allocVector(VECSXP, fresh)), to = PROTECT(Rf_allocVector(VECSXP, n - fresh));
    SEXP updates = PROTECT(Rf_allocVector(VECSXP, n - fresh));
    fresh = 0;
    for (int i = 0; i < n; i++) {
      if (is_fresh[i]) {
        SET_VECTOR_ELT(nodes, fresh++, VECTOR_ELT(from, i));
      } else {
        SET_VECTOR_ELT(to, kept, current(VECTOR_ELT(vars, i)));
        SET_VECTOR_ELT(updates, kept++, VECTOR_ELT(from, i));
      }
    }
    SEXP made = PROTECT(compute(nodes, to, updates, 0));
    fresh = 0;
    for (int i = 0; i < n; i++) {
      SEXP node = current(VECTOR_ELT(vars, i));
      if (is_fresh[i]) {
        supersede(node, VECTOR_ELT(made, fresh++));
      } else {
        cut_history(node);
      }
    }
    UNPROTECT(4);
  }
  UNPROTECT(2);
  return R_NilValue;
}

/* Makes a tensor memory without history. */
SEXP r_settle(SEXP x) {
  cut_history(settle_root(variable(x)));
  return x;
}

/* Writes R's numbers, converted, to a tensor that is no view. */
SEXP r_write(SEXP x, SEXP data) {
  Args a = begin("assign");
  SEXP base = node_in(x);
  const Node *n = describe(base);
  SEXP memory = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(n)));
  to_storage(&a, data, n->dtype, n->ndim, n->dims, RAW(memory));
  if (extra(base, DATA) != R_NilValue && !has_readers(base)) {
    cut_history(base);
    memcpy(RAW(extra(base, DATA)), RAW(memory), (size_t)Rf_xlength(memory));
  } else {
    supersede(base, leaf_like(base, memory, NULL, 0));
  }
  UNPROTECT(1);
  return x;
}
