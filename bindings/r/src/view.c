/* Graphs and kernels as text. */
#include <stdlib.h>

#include "glue.h"

SEXP r_view_graph(SEXP tensors, SEXP format);
SEXP r_view_kernels(SEXP what, SEXP runs, SEXP format);

/* A text that the library made, which is freed. */
static SEXP taken(char *text) {
  if (text == NULL) fail();
  SEXP out = PROTECT(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(out, 0, Rf_mkCharCE(text, CE_UTF8));
  free(text);
  UNPROTECT(1);
  return out;
}

/* The lazy nodes of tensors: a computed one is shown as what it came from. */
static SEXP lazy_nodes(SEXP tensors) {
  R_xlen_t n = Rf_xlength(tensors);
  SEXP nodes = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) SET_VECTOR_ELT(nodes, i, lazy(node_in(VECTOR_ELT(tensors, i))));
  UNPROTECT(1);
  return nodes;
}

SEXP r_view_graph(SEXP tensors, SEXP format) {
  PolyCtx *ctx = context();
  Args a = begin("view_graph");
  int view = arg_int(&a, format, "format");
  SEXP nodes = PROTECT(lazy_nodes(tensors));
  NEED(poly_view_graph);
  SEXP out = taken(P.poly_view_graph(ctx, handles(nodes), (int)Rf_xlength(nodes), view));
  UNPROTECT(1);
  return out;
}

/* what is a list of Tensors, or the pointer of a compiled step. */
SEXP r_view_kernels(SEXP what, SEXP runs, SEXP format) {
  PolyCtx *ctx = context();
  Args a = begin("view_kernels");
  int times = arg_int(&a, runs, "runs"), view = arg_int(&a, format, "format");
  SEXP results, targets = R_NilValue, values = R_NilValue;
  if (TYPEOF(what) == EXTPTRSXP) {
    step_program(what, &results, &targets, &values);
    PROTECT(results);
  } else {
    results = PROTECT(lazy_nodes(what));
  }
  NEED(poly_view_kernels);
  SEXP out = taken(P.poly_view_kernels(ctx, handles(results), (int)Rf_xlength(results), handles(targets),
                                       handles(values), (int)Rf_xlength(targets), times, view));
  UNPROTECT(1);
  return out;
}
