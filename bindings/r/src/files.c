/* Safetensors files and bundles in memory. */
#include <stdlib.h>

#include "glue.h"

SEXP r_safetensors_read(SEXP data);
SEXP r_safetensors_write(SEXP tensors, SEXP names, SEXP metadata);
SEXP r_bundle_read(SEXP data);
SEXP r_bundle_write(SEXP ir, SEXP weights, SEXP metadata);

static const int dtypes[] = {POLY_DTYPE_FLOAT32, POLY_DTYPE_FLOAT16, POLY_DTYPE_BFLOAT16, POLY_DTYPE_FLOAT64,
                             POLY_DTYPE_INT64,   POLY_DTYPE_INT32,   POLY_DTYPE_INT16,    POLY_DTYPE_INT8,
                             POLY_DTYPE_UINT8,   POLY_DTYPE_BOOL,    POLY_DTYPE_UINT16,   POLY_DTYPE_UINT32,
                             POLY_DTYPE_UINT64,  POLY_DTYPE_FP8E4M3, POLY_DTYPE_FP8E5M2};

static void free_views(PolySafetensorViewEx *views, int n, char *metadata) {
  for (int i = 0; i < n; i++) free(views[i].name);
  free(views);
  free(metadata);
}

/* list(named list of Tensors, metadata as JSON or NULL). */
SEXP r_safetensors_read(SEXP data) {
  context();
  int n = 0;
  char *metadata = NULL;
  PolySafetensorViewEx *views = P.poly_safetensors_decode_ex(RAW(data), (int64_t)Rf_xlength(data), &n, &metadata);
  if (views == NULL) fail();
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SEXP tensors = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 0, tensors);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++) {
    int dtype = dtypes[views[i].dtype];
    size_t bytes = (size_t)views[i].numel * (size_t)P.poly_dtype_id_size(dtype);
    SET_STRING_ELT(names, i, Rf_mkCharCE(views[i].name, CE_UTF8));
    SEXP block = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)bytes));
    if (bytes > 0) memcpy(RAW(block), views[i].data, bytes);
    SET_VECTOR_ELT(tensors, i, wrap(new_leaf(block, dtype, views[i].ndim, views[i].shape)));
    UNPROTECT(1);
  }
  Rf_setAttrib(tensors, R_NamesSymbol, names);
  if (metadata != NULL) SET_VECTOR_ELT(out, 1, Rf_ScalarString(Rf_mkCharCE(metadata, CE_UTF8)));
  free_views(views, n, metadata);
  UNPROTECT(2);
  return out;
}

/* tensors: a list of computed float32 Tensors. */
SEXP r_safetensors_write(SEXP tensors, SEXP names, SEXP metadata) {
  Args a = begin("write_safetensors");
  int n = (int)Rf_xlength(tensors), length = 0;
  PolySafetensorEntry *entries = (PolySafetensorEntry *)R_alloc((size_t)n + 1, sizeof *entries);
  realize(tensors);
  for (int i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(tensors, i));
    const Node *x = describe(node);
    entries[i].name = Rf_translateCharUTF8(STRING_ELT(names, i));
    entries[i].data = (const float *)(const void *)RAW(extra(node, DATA));
    entries[i].shape = (int64_t *)R_alloc(POLY_MAX_DIMS, sizeof(int64_t));
    memcpy(entries[i].shape, x->dims, sizeof x->dims);
    entries[i].ndim = x->ndim;
  }
  const char *meta = metadata == R_NilValue ? NULL : arg_string(&a, metadata, "metadata");
  uint8_t *block = P.poly_safetensors_encode(entries, n, meta, &length);
  return to_raw(block, length);
}

static SEXP section(const void *from, int32_t n) {
  if (from == NULL) return R_NilValue;
  SEXP out = Rf_allocVector(RAWSXP, n);
  if (n > 0) memcpy(RAW(out), from, (size_t)n);
  return out;
}

/* list(ir, weights, metadata): raw vectors or NULL. */
SEXP r_bundle_read(SEXP data) {
  context();
  PolyBundleSections s;
  memset(&s, 0, sizeof s);
  if (P.poly_bundle_decode(RAW(data), (int)Rf_xlength(data), &s) != 0) fail();
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(out, 0, section(s.ir, s.ir_len));
  SET_VECTOR_ELT(out, 1, section(s.weights, s.weights_len));
  SET_VECTOR_ELT(out, 2, section(s.meta, s.meta_len));
  UNPROTECT(1);
  return out;
}

SEXP r_bundle_write(SEXP ir, SEXP weights, SEXP metadata) {
  Args a = begin("write_bundle");
  int length = 0;
  const char *meta = metadata == R_NilValue ? NULL : arg_string(&a, metadata, "metadata");
  const uint8_t *w = weights == R_NilValue ? NULL : RAW(weights);
  int n_weights = weights == R_NilValue ? 0 : (int)Rf_xlength(weights);
  uint8_t *block = P.poly_bundle_encode(RAW(ir), (int)Rf_xlength(ir), w, n_weights, meta, &length);
  return to_raw(block, length);
}
