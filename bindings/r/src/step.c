/* Compiled steps. */
#include "glue.h"

/* A step is an external pointer whose protected field is a list of the memory
 * of its results, their nodes, targets, new values and seeds: the program works
 * on them. */
enum { MEMORY = 0, RESULTS = 1, TARGETS = 2, VALUES = 3, STEP_SEEDS = 4, STEP_FIELDS = 5 };

SEXP r_compile_step(SEXP results, SEXP before, SEXP after, SEXP seeds);
SEXP r_step_run(SEXP step);
SEXP r_step_output(SEXP step, SEXP which);
SEXP r_step_counts(SEXP step);

static void finalize(SEXP step) {
  if (is_asking()) {
    R_RegisterCFinalizerEx(step, finalize, FALSE);
    return;
  }
  PolyStep *s = R_ExternalPtrAddr(step);
  R_ClearExternalPtr(step);
  if (s != NULL) P.poly_step_destroy(s);
}

static PolyStep *step_of(SEXP step) {
  PolyStep *s = TYPEOF(step) == EXTPTRSXP ? R_ExternalPtrAddr(step) : NULL;
  if (s == NULL) raise_error("a compiled step of another session cannot be used");
  return s;
}

PolyUOp **handles(SEXP nodes) {
  R_xlen_t n = Rf_xlength(nodes);
  PolyUOp **out = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *out);
  for (R_xlen_t i = 0; i < n; i++) out[i] = node_of(VECTOR_ELT(nodes, i))->handle;
  return out;
}

/* results is a list of Tensors; before and after are lists of nodes. */
SEXP r_compile_step(SEXP results, SEXP before, SEXP after, SEXP seeds) {
  PolyCtx *ctx = context();
  int n = (int)Rf_xlength(results);
  SEXP fields = PROTECT(Rf_allocVector(VECSXP, STEP_FIELDS));
  SEXP memory = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(fields, MEMORY, memory);
  SEXP nodes = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(fields, RESULTS, nodes);
  SET_VECTOR_ELT(fields, TARGETS, before);
  SET_VECTOR_ELT(fields, VALUES, after);
  SET_VECTOR_ELT(fields, STEP_SEEDS, seeds);
  void **data = (void **)R_alloc((size_t)n + 1, sizeof *data);
  for (int i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(results, i));
    SET_VECTOR_ELT(nodes, i, node);
    SEXP block = Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(describe(node)));
    memset(RAW(block), 0, (size_t)Rf_xlength(block));
    SET_VECTOR_ELT(memory, i, block);
    data[i] = RAW(block);
  }
  NEED(poly_compile_update);
  int changes = (int)Rf_xlength(before);
  PolyStep *s = P.poly_compile_update(ctx, handles(nodes), data, n, handles(before), handles(after), changes);
  if (s == NULL) fail();
  SEXP step = PROTECT(R_MakeExternalPtr(s, R_NilValue, fields));
  R_RegisterCFinalizerEx(step, finalize, FALSE);
  UNPROTECT(2);
  return step;
}

SEXP r_step_run(SEXP step) {
  PolyStep *s = step_of(step);
  renew_seeds(VECTOR_ELT(R_ExternalPtrProtected(step), STEP_SEEDS));
  finish(P.poly_step_run(s, NULL, 0));
  return R_NilValue;
}

/* What a step computes and changes: its results, and targets with their new values. */
void step_program(SEXP step, SEXP *results, SEXP *targets, SEXP *values) {
  step_of(step);
  SEXP fields = R_ExternalPtrProtected(step);
  *results = VECTOR_ELT(fields, RESULTS);
  *targets = VECTOR_ELT(fields, TARGETS);
  *values = VECTOR_ELT(fields, VALUES);
}

/* A result of the last run; types that R lacks were cast while tracing. */
SEXP r_step_output(SEXP step, SEXP which) {
  step_of(step);
  Args a = begin("outputs");
  int i = arg_int(&a, which, "which") - 1;
  SEXP fields = R_ExternalPtrProtected(step), memory = VECTOR_ELT(fields, MEMORY);
  if (i < 0 || i >= Rf_xlength(memory)) return R_NilValue;
  const Node *n = describe(VECTOR_ELT(VECTOR_ELT(fields, RESULTS), i));
  return from_storage(RAW(VECTOR_ELT(memory, i)), n->dtype, n->ndim, n->dims, 0);
}

SEXP r_step_counts(SEXP step) {
  PolyStep *s = step_of(step);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, 3));
  INTEGER(out)[0] = P.poly_step_n_kernels(s);
  INTEGER(out)[1] = P.poly_step_n_intermediates(s);
  INTEGER(out)[2] = (int)Rf_xlength(VECTOR_ELT(R_ExternalPtrProtected(step), MEMORY));
  UNPROTECT(1);
  return out;
}
