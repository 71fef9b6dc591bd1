/* Model files, and bundles in memory. */
#include "glue.h"

/* An open file belongs to a pointer of R, so that errors do not leave it open. */
static SEXP open_file(Args *a, SEXP source, int format) {
  NEED(poly_file_open);
  PolyFile *file;
  if (TYPEOF(source) == RAWSXP) {
    file = P.poly_file_read(RAW(source), (int64_t)Rf_xlength(source), format);
  } else {
    file = P.poly_file_open(R_ExpandFileName(arg_string(a, source, "data")), format);
  }
  if (file == NULL) { /* poly_file_read: data: …, or poly_file_open: path: … */
    const char *text = strstr(P.poly_last_error(), ": ");
    const char *rest = text != NULL ? strstr(text + 2, ": ") : NULL;
    raise_error("%s: data%s", a->function, rest != NULL ? rest : ": is no such file");
  }
  return owned(file, RELEASE(poly_file_free), R_NilValue);
}

/* Tensor i: its bytes are copied out of the mapped file; those of a quantised one stay packed. */
static SEXP file_tensor(PolyFile *file, int i) {
  int64_t dims[POLY_MAX_DIMS], length = 0, count = 1;
  int dtype = 0, ndim = P.poly_file_describe(file, i, dims, POLY_MAX_DIMS, &dtype), quant = P.poly_file_quant(file, i);
  const void *data = P.poly_file_data(file, i, &length);
  if (ndim < 0 || quant < 0 || (data == NULL && length > 0)) fail();
  if (quant == 0) return new_tensor(dtype, ndim, dims, data);
  SEXP packed = PROTECT(new_tensor(POLY_DTYPE_UINT8, 1, &length, data));
  for (int k = 0; k < ndim; k++) count *= dims[k];
  PolyCtx *ctx = context();
  PolyArray *from = array_of(packed);
  PolyUOp *bytes = P.poly_array_node(from), *flat = P.poly_dequantize(ctx, bytes, quant, count);
  PolyUOp *shaped = flat != NULL ? P.poly_reshape(ctx, flat, dims, ndim) : NULL;
  PolyArray *out = shaped != NULL ? P.poly_array_of(ctx, shaped, &from, 1) : NULL;
  P.poly_uop_release(ctx, bytes);
  P.poly_uop_release(ctx, flat);
  P.poly_uop_release(ctx, shaped);
  UNPROTECT(1);
  return wrap(out);
}

/* list(named list of Tensors, what else the file says as JSON). */
SEXP r_file_read(SEXP source, SEXP format) {
  static const char *const readers[] = {"read_safetensors", "read_gguf", "read_torch"};
  context();
  int number = Rf_asInteger(format);
  Args a = begin(readers[number - POLY_FILE_SAFETENSORS]);
  SEXP pointer = PROTECT(open_file(&a, source, number));
  PolyFile *file = R_ExternalPtrAddr(pointer);
  int n = P.poly_file_count(file);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SEXP tensors = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 0, tensors);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++) {
    SET_STRING_ELT(names, i, Rf_mkCharCE(P.poly_file_name(file, i), CE_UTF8));
    SET_VECTOR_ELT(tensors, i, file_tensor(file, i));
  }
  Rf_setAttrib(tensors, R_NamesSymbol, names);
  const char *value = P.poly_file_value(file);
  if (value == NULL) fail();
  if (strcmp(value, "null") != 0) SET_VECTOR_ELT(out, 1, Rf_ScalarString(Rf_mkCharCE(value, CE_UTF8)));
  let_go(pointer);
  UNPROTECT(3);
  return out;
}

/* tensors: a list of Tensors; the number of files that were written. */
SEXP r_safetensors_save(SEXP path, SEXP tensors, SEXP names, SEXP metadata, SEXP max_shard_size) {
  Args a = begin("write_safetensors");
  NEED(poly_safetensors_save);
  int n = (int)Rf_xlength(tensors);
  PolyFileTensor *entries = (PolyFileTensor *)R_alloc((size_t)n + 1, sizeof *entries);
  PolyArray **arrays = arrays_of("write_safetensors", tensors);
  for (int i = 0; i < n; i++) {
    Shape *x = (Shape *)R_alloc(1, sizeof *x);
    *x = describe(arrays[i]);
    int64_t bytes = sizes_now(arrays[i], x) * P.poly_dtype_id_size(x->dtype);
    void *data = R_alloc((size_t)bytes + 1, 1);
    read_values(arrays[i], data, bytes);
    entries[i].name = Rf_translateCharUTF8(STRING_ELT(names, i));
    entries[i].data = data;
    entries[i].shape = x->dims;
    entries[i].ndim = x->ndim;
    entries[i].dtype = x->dtype;
  }
  const char *meta = metadata == R_NilValue ? NULL : arg_string(&a, metadata, "metadata");
  int64_t limit = max_shard_size == R_NilValue ? 0 : arg_int64(&a, max_shard_size, "max_shard_size");
  int made_files = P.poly_safetensors_save(R_ExpandFileName(arg_string(&a, path, "path")), entries, n, meta, limit);
  if (made_files < 0) fail();
  return Rf_ScalarInteger(made_files);
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
  int n = length32(data, "read_bundle");
  if (P.poly_bundle_decode(RAW(data), n, &s) != 0) fail();
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
  int n = length32(ir, a.function), n_weights = weights == R_NilValue ? 0 : length32(weights, a.function);
  uint8_t *block = P.poly_bundle_encode(RAW(ir), n, w, n_weights, meta, &length);
  return to_raw(block, length);
}
