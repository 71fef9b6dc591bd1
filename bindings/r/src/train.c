/* Optimizers of the library, and hashes. */
#include "glue.h"

static PolyOptim *optim_of(SEXP optimizer) { return held(optimizer, RELEASE(poly_optim_release), "an optimizer"); }

SEXP r_optim_step(SEXP optimizers) {
  R_xlen_t n = Rf_xlength(optimizers);
  PolyOptim **list = (PolyOptim **)R_alloc((size_t)n + 1, sizeof *list);
  for (R_xlen_t i = 0; i < n; i++) list[i] = optim_of(VECTOR_ELT(optimizers, i));
  before_run();
  written();
  finish(P.poly_optim_step(list, (int)n));
  return R_NilValue;
}

/* i counts from 1. */
SEXP r_optim_state(SEXP optimizer, SEXP what, SEXP i) {
  SEXP out = wrap(P.poly_optim_state(optim_of(optimizer), Rf_asInteger(what), Rf_asInteger(i) - 1));
  refuse_gradient(out);
  return out;
}

/* The Tensor of a node that was made of x's. */
static SEXP made_of(const char *function, PolyArray *x, PolyUOp *node, PolyUOp *out) {
  if (node != NULL) P.poly_uop_release(context(), node);
  if (out == NULL) fail_in(function, P.poly_last_error());
  PolyArray *made = P.poly_array_of(context(), out, &x, 1);
  P.poly_uop_release(context(), out);
  return wrap(made);
}

SEXP r_keccak(SEXP x, SEXP rate, SEXP suffix) {
  NEED(poly_keccak);
  Args a = begin("keccak");
  int bytes = arg_int(&a, rate, "cfg"), end = arg_int(&a, suffix, "cfg");
  PolyArray *array = array_of(x);
  PolyUOp *node = P.poly_array_node(array);
  return made_of(a.function, array, node, P.poly_keccak(context(), node, bytes, end));
}

SEXP r_hash(SEXP x) {
  NEED(poly_hash);
  PolyArray *array = array_of(x);
  PolyUOp *node = P.poly_array_node(array);
  return made_of("hash", array, node, P.poly_hash(context(), node));
}
