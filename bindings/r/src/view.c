/* Graphs and kernels as text. */
#include <stdlib.h>

#include "glue.h"

/* A text that the library made, which is freed. */
static SEXP taken(char *text) {
  if (text == NULL) fail();
  SEXP out = PROTECT(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(out, 0, Rf_mkCharCE(text, CE_UTF8));
  free(text);
  UNPROTECT(1);
  return out;
}

/* The nodes of Tensors; a computed one is shown as what it came from. They are released by taken_of. */
static PolyUOp **origins(SEXP tensors) {
  R_xlen_t n = Rf_xlength(tensors);
  PolyArray **arrays = arrays_of("view", tensors);
  PolyUOp **nodes = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *nodes);
  for (R_xlen_t i = 0; i < n; i++) {
    if ((nodes[i] = P.poly_array_origin(arrays[i])) == NULL) fail();
  }
  return nodes;
}

static SEXP taken_of(char *text, PolyUOp **nodes, int n) {
  P.poly_uop_release_n(context(), nodes, n);
  return taken(text);
}

SEXP r_view_graph(SEXP tensors, SEXP format) {
  Args a = begin("view_graph");
  int view = arg_int(&a, format, "format"), n = (int)Rf_xlength(tensors);
  NEED(poly_view_graph);
  PolyUOp **nodes = origins(tensors);
  return taken_of(P.poly_view_graph(context(), nodes, n, view), nodes, n);
}

/* what is a list of Tensors, or the pointer of a compiled function. */
SEXP r_view_kernels(SEXP what, SEXP runs, SEXP format) {
  Args a = begin("view_kernels");
  int times = arg_int(&a, runs, "runs"), view = arg_int(&a, format, "format"), n = (int)Rf_xlength(what);
  if (TYPEOF(what) == EXTPTRSXP) return taken(P.poly_view_function(R_ExternalPtrAddr(what), times, view));
  NEED(poly_view_kernels);
  PolyUOp **nodes = origins(what);
  return taken_of(P.poly_view_kernels(context(), nodes, n, NULL, NULL, 0, times, view), nodes, n);
}
