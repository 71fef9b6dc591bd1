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

/* The nodes of Tensors, an external pointer that releases them; a computed one is shown as what it came from. */
typedef struct Nodes {
  int n;
  PolyUOp *nodes[];
} Nodes;

static void finalize(SEXP x) {
  Nodes *list = R_ExternalPtrAddr(x);
  R_ClearExternalPtr(x);
  if (list == NULL) return;
  P.poly_uop_release_n(context_or_null(), list->nodes, list->n);
  free(list);
}

static SEXP origins(SEXP tensors) {
  R_xlen_t n = Rf_xlength(tensors);
  const void *top = vmaxget();
  PolyArray **arrays = arrays_of("view", tensors);
  Nodes *list = calloc(1, sizeof *list + (size_t)n * sizeof *list->nodes);
  if (list == NULL) raise_error("no memory for %lld nodes", (long long)n);
  SEXP out = PROTECT(R_MakeExternalPtr(list, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(out, finalize, FALSE);
  for (; list->n < n; list->n++) {
    if ((list->nodes[list->n] = P.poly_array_origin(arrays[list->n])) == NULL) fail();
  }
  vmaxset(top);
  UNPROTECT(1);
  return out;
}

SEXP r_view_graph(SEXP tensors, SEXP format) {
  PolyCtx *ctx = context();
  Args a = begin("view_graph");
  int view = arg_int(&a, format, "format");
  NEED(poly_view_graph);
  SEXP nodes = PROTECT(origins(tensors));
  Nodes *list = R_ExternalPtrAddr(nodes);
  SEXP out = taken(P.poly_view_graph(ctx, list->nodes, list->n, view));
  UNPROTECT(1);
  return out;
}

/* what is a list of Tensors, or the pointer of a compiled function. */
SEXP r_view_kernels(SEXP what, SEXP runs, SEXP format) {
  PolyCtx *ctx = context();
  Args a = begin("view_kernels");
  int times = arg_int(&a, runs, "runs"), view = arg_int(&a, format, "format");
  if (TYPEOF(what) == EXTPTRSXP) return taken(P.poly_view_function(R_ExternalPtrAddr(what), times, view));
  NEED(poly_view_kernels);
  SEXP nodes = PROTECT(origins(what));
  Nodes *list = R_ExternalPtrAddr(nodes);
  SEXP out = taken(P.poly_view_kernels(ctx, list->nodes, list->n, NULL, NULL, 0, times, view));
  UNPROTECT(1);
  return out;
}
