/* Optimizers of the library, and one hash. */
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
