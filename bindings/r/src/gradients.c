/* Gradients: which nodes they are asked for, and how they cross computed nodes.
 *
 * A computed node stands in the graph as a leaf and remembers the lazy node that
 * it came from, so the graph below a loss may be in pieces. The gradient with
 * respect to such a leaf is the seed for the piece that it came from, and the
 * chain rule is applied from piece to piece. */
#include "glue.h"

/* A list of nodes that grows; what is in it is reachable from elsewhere. */
typedef struct List {
  SEXP *at;
  int n, room;
} List;

static void push(List *l, SEXP node) {
  if (l->n == l->room) {
    int room = l->room ? 2 * l->room : 64;
    SEXP *at = (SEXP *)R_alloc((size_t)room, sizeof *at);
    if (l->n) memcpy(at, l->at, (size_t)l->n * sizeof *at);
    l->at = at;
    l->room = room;
  }
  l->at[l->n++] = node;
}

/* Walks mark the nodes they have seen with a number of their own. */
static unsigned walk;

unsigned new_walk(void) { return ++walk; }

int first_visit(SEXP node, unsigned mark) {
  Node *n = node_of(node);
  if (n->mark == mark) return 0;
  n->mark = mark;
  return 1;
}

int n_sources(SEXP node) {
  SEXP from = R_ExternalPtrProtected(node);
  if (from == R_NilValue) return 0;
  return TYPEOF(from) == EXTPTRSXP ? 1 : (int)Rf_xlength(from);
}

SEXP source(SEXP node, int i) {
  SEXP from = R_ExternalPtrProtected(node);
  return TYPEOF(from) == EXTPTRSXP ? from : VECTOR_ELT(from, i);
}

/* The nodes below root that a living variable wants the gradient of; *below gets all that gradients
 * flow through. */
static List owners(SEXP root, List *below) {
  List found = {0}, stack = {0};
  unsigned mark = new_walk();
  first_visit(root, mark);
  push(&stack, root);
  while (stack.n > 0) {
    SEXP node = stack.at[--stack.n];
    if (owner_of(node) != R_NilValue) {
      SEXP wanted = lazy(node);
      int i = 0;
      while (i < found.n && found.at[i] != wanted) i++;
      if (i == found.n) push(&found, wanted);
    }
    SEXP origin = extra(node, ORIGIN);
    int n = origin == R_NilValue ? n_sources(node) : 1;
    for (int i = 0; i < n; i++) {
      SEXP other = origin == R_NilValue ? source(node, i) : origin;
      if (other == R_NilValue || !node_of(other)->tracked || !first_visit(other, mark)) continue;
      push(&stack, other);
      push(below, other);
    }
  }
  return found;
}

/* The nodes of the piece that ends in start; computed nodes are its leaves. */
static List visible(SEXP start, int everywhere) {
  List seen = {0};
  unsigned mark = new_walk();
  first_visit(start, mark);
  push(&seen, start);
  for (int next = 0; next < seen.n; next++) {
    for (int i = 0; i < n_sources(seen.at[next]); i++) {
      SEXP other = source(seen.at[next], i);
      if (other == R_NilValue || !(everywhere || node_of(other)->tracked)) continue;
      if (first_visit(other, mark)) push(&seen, other);
    }
  }
  return seen;
}

static int place(const List *l, SEXP node) {
  for (int i = 0; i < l->n; i++) {
    if (l->at[i] == node) return i;
  }
  return -1;
}

static void visit_piece(SEXP node, int everywhere, List *seen, List *order) {
  push(seen, node);
  List inputs = visible(lazy(node), everywhere);
  for (int i = 0; i < inputs.n; i++) {
    SEXP input = inputs.at[i];
    if (extra(input, ORIGIN) != R_NilValue && place(seen, input) < 0) visit_piece(input, everywhere, seen, order);
  }
  push(order, node);
}

/* Gradient nodes by the node they belong to; the list keeps them alive. */
typedef struct Sums {
  List keys;
  SEXP values; /* a list whose first keys.n elements count */
  PROTECT_INDEX index;
} Sums;

static void accumulate(Sums *s, SEXP key, SEXP gradient) {
  int i = place(&s->keys, key);
  if (i >= 0) {
    SEXP before = VECTOR_ELT(s->values, i);
    PolyUOp *sum = P.poly_binary(context(), POLY_ADD, node_of(before)->handle, node_of(gradient)->handle);
    if (sum == NULL) fail();
    SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(both, 0, before);
    SET_VECTOR_ELT(both, 1, gradient);
    SET_VECTOR_ELT(s->values, i, new_node(sum, both, 1));
    UNPROTECT(1);
    return;
  }
  if (s->keys.n == (int)Rf_xlength(s->values)) {
    REPROTECT(s->values = Rf_lengthgets(s->values, 2 * s->keys.n + 16), s->index);
  }
  SET_VECTOR_ELT(s->values, s->keys.n, gradient);
  push(&s->keys, key);
}

/* The gradients of the sum of root, weighted by seed (or NULL), with respect to
 * targets: lazy nodes, NULL for those that root does not depend on. With
 * everywhere the way may lead through nodes that are not tracked. */
static SEXP differentiate(SEXP root, SEXP seed, const List *targets, int everywhere) {
  PolyCtx *ctx = context();
  Sums total = {{0}, R_NilValue, 0}, seeds = {{0}, R_NilValue, 0};
  PROTECT_WITH_INDEX(total.values = Rf_allocVector(VECSXP, 0), &total.index);
  PROTECT_WITH_INDEX(seeds.values = Rf_allocVector(VECSXP, 0), &seeds.index);
  if (seed != R_NilValue) accumulate(&seeds, root, seed);
  List wanted = {0}, seen = {0}, order = {0};
  for (int i = 0; i < targets->n; i++) push(&wanted, lazy(targets->at[i]));
  visit_piece(root, everywhere, &seen, &order);
  for (int k = order.n - 1; k >= 0; k--) {
    SEXP start = lazy(order.at[k]);
    List below = visible(start, everywhere), at = {0};
    unsigned mark = new_walk();
    for (int i = 0; i < wanted.n; i++) node_of(wanted.at[i])->mark = mark;
    for (int i = 0; i < below.n; i++) {
      if (node_of(below.at[i])->mark == mark || extra(below.at[i], ORIGIN) != R_NilValue) push(&at, below.at[i]);
    }
    if (at.n == 0) continue;
    int weight = place(&seeds.keys, order.at[k]);
    SEXP by = weight < 0 ? R_NilValue : VECTOR_ELT(seeds.values, weight);
    PolyUOp **wrt = (PolyUOp **)R_alloc((size_t)at.n, sizeof *wrt);
    PolyUOp **out = (PolyUOp **)R_alloc((size_t)at.n, sizeof *out);
    for (int i = 0; i < at.n; i++) wrt[i] = node_of(at.at[i])->handle;
    PolyUOp *factor = by == R_NilValue ? NULL : node_of(by)->handle;
    if (P.poly_grad_many(ctx, node_of(start)->handle, factor, wrt, at.n, out) != 0) fail();
    SEXP from = PROTECT(by == R_NilValue ? start : Rf_allocVector(VECSXP, 2));
    if (by != R_NilValue) {
      SET_VECTOR_ELT(from, 0, start);
      SET_VECTOR_ELT(from, 1, by);
    }
    SEXP gradients = PROTECT(Rf_allocVector(VECSXP, at.n));
    for (int i = 0; i < at.n; i++) SET_VECTOR_ELT(gradients, i, new_node(out[i], from, 1));
    for (int i = 0; i < at.n; i++) {
      if (place(&wanted, at.at[i]) >= 0) accumulate(&total, at.at[i], VECTOR_ELT(gradients, i));
      if (extra(at.at[i], ORIGIN) != R_NilValue) accumulate(&seeds, at.at[i], VECTOR_ELT(gradients, i));
    }
    UNPROTECT(2);
  }
  SEXP result = PROTECT(Rf_allocVector(VECSXP, wanted.n));
  for (int i = 0; i < wanted.n; i++) {
    int j = place(&total.keys, wanted.at[i]);
    if (j >= 0) SET_VECTOR_ELT(result, i, VECTOR_ELT(total.values, j));
  }
  UNPROTECT(3);
  return result;
}

static SEXP sum_of(SEXP a, SEXP b) {
  SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(both, 0, a);
  SET_VECTOR_ELT(both, 1, b);
  PolyUOp *sum = P.poly_binary(context(), POLY_ADD, node_of(a)->handle, node_of(b)->handle);
  if (sum == NULL) fail();
  SEXP out = new_node(sum, both, 1);
  UNPROTECT(1);
  return out;
}

/* What a variable on the way stands for has a gradient too, which is computed when it is asked for: R does
 * not say which variables there are. Until then its node holds cells with list(root, seed) of each backward,
 * tagged with the node that the gradient belongs to there; later one cell with the gradient. */
static void note_backward(SEXP node, SEXP what) {
  SEXP before = extra(node, BACKWARD);
  if (before != R_NilValue && TYPEOF(CAR(before)) == VECSXP && !tracing()) {
    /* Nobody has asked so far: graphs of the past need not be kept for that. */
    SEXP total = gradient_on_the_way(node);
    if (total != R_NilValue) cut_history(total);
    before = extra(node, BACKWARD);
  }
  SEXP cell = PROTECT(Rf_cons(what, before));
  SET_TAG(cell, node);
  set_extra(node, BACKWARD, cell);
  UNPROTECT(1);
}

/* The gradient of a node that is no target, or NULL: what is noted there is computed. */
SEXP gradient_on_the_way(SEXP node) {
  node = lazy(node);
  SEXP cells = extra(node, BACKWARD), total = R_NilValue;
  if (cells == R_NilValue) return R_NilValue;
  PROTECT_INDEX index;
  PROTECT_WITH_INDEX(total, &index);
  for (SEXP p = cells; p != R_NilValue; p = CDR(p)) {
    SEXP found = CAR(p);
    if (TYPEOF(found) == VECSXP) {
      List target = {0};
      push(&target, TAG(p));
      found = VECTOR_ELT(differentiate(VECTOR_ELT(found, 0), VECTOR_ELT(found, 1), &target, 0), 0);
    }
    if (found == R_NilValue) continue;
    PROTECT(found);
    REPROTECT(total = total == R_NilValue ? found : sum_of(total, found), index);
    UNPROTECT(1);
  }
  if (total != R_NilValue && extra(total, DATA) == R_NilValue && !tracing()) {
    REPROTECT(total = compute_one(total, 1), index);
  }
  set_extra(node, BACKWARD, total == R_NilValue ? R_NilValue : Rf_cons(total, R_NilValue));
  UNPROTECT(1);
  return total;
}

/* The gradient of a variable: what backward gave to it, what somebody set, and what is noted on its way. */
SEXP gradient_of(SEXP x) {
  SEXP given = R_ExternalPtrTag(variable(x)), noted = gradient_on_the_way(node_in(x));
  if (noted == R_NilValue) return given;
  PROTECT(noted);
  SEXP out = wrap(given == R_NilValue ? noted : sum_of(node_in(given), noted));
  UNPROTECT(1);
  return out;
}

SEXP r_backward(SEXP x, SEXP gradient);
SEXP r_gradient(SEXP x, SEXP targets, SEXP gradient);

SEXP r_backward(SEXP x, SEXP gradient) {
  SEXP root = node_in(x);
  if (gradient == R_NilValue && numel(describe(root)) != 1) {
    raise_error("backward: the tensor has %lld elements, expected one element or a gradient",
                (long long)numel(describe(root)));
  }
  List below = {0}, targets = owners(root, &below);
  if (targets.n == 0) raise_error("backward: no tensor that this one depends on requires a gradient");
  SEXP seed = gradient == R_NilValue ? R_NilValue : node_in(gradient);
  SEXP gradients = PROTECT(differentiate(root, seed, &targets, 0));
  SEXP vars = PROTECT(Rf_allocVector(VECSXP, targets.n));
  SEXP found = PROTECT(Rf_allocVector(VECSXP, targets.n));
  int n = 0;
  for (int i = 0; i < targets.n; i++) {
    SEXP var = owner_of(targets.at[i]);
    if (var == R_NilValue || VECTOR_ELT(gradients, i) == R_NilValue) continue;
    SEXP node = VECTOR_ELT(gradients, i), before = R_ExternalPtrTag(var);
    /* A variable that was written to since has more than one node below. */
    int same = 0;
    while (same < n && VECTOR_ELT(vars, same) != var) same++;
    if (same < n) before = VECTOR_ELT(found, same);
    SET_VECTOR_ELT(vars, n, var);
    if (before != R_NilValue) {
      node = sum_of(node_in(before), node);
    }
    SET_VECTOR_ELT(found, same, wrap(node));
    if (same == n) n++;
  }
  /* The loss with them: read after an optimizer's step it is still the one before. */
  found = PROTECT(Rf_lengthgets(found, n + 1));
  SET_VECTOR_ELT(found, n, x);
  if (!tracing()) realize(found);
  for (int i = 0; i < n; i++) {
    trace_gradient(VECTOR_ELT(vars, i));
    R_SetExternalPtrTag(VECTOR_ELT(vars, i), VECTOR_ELT(found, i));
  }
  SEXP what = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(what, 0, root);
  SET_VECTOR_ELT(what, 1, seed);
  for (int i = 0; i < below.n; i++) {
    SEXP node = below.at[i];
    int here = extra(node, ORIGIN) == R_NilValue && owner_of(node) == R_NilValue && node != lazy(root);
    if (here && (!tracing() || made_in_trace(node_of(node)))) note_backward(node, what);
  }
  UNPROTECT(5);
  return x;
}

/* Gradients with respect to a list of Tensors, as lazy Tensors or NULL. */
SEXP r_gradient(SEXP x, SEXP targets, SEXP gradient) {
  List nodes = {0};
  for (R_xlen_t i = 0; i < Rf_xlength(targets); i++) push(&nodes, node_in(VECTOR_ELT(targets, i)));
  SEXP seed = gradient == R_NilValue ? R_NilValue : node_in(gradient);
  SEXP out = PROTECT(differentiate(node_in(x), seed, &nodes, 1));
  for (int i = 0; i < nodes.n; i++) {
    if (VECTOR_ELT(out, i) != R_NilValue) SET_VECTOR_ELT(out, i, wrap(VECTOR_ELT(out, i)));
  }
  UNPROTECT(1);
  return out;
}
