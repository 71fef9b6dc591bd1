/* Instances: models with memory of their own. Their arrays are float32, row by
 * row; R sees copies as numbers, column by column. */
#include <stdlib.h>

#include "glue.h"

SEXP new_instance(PolyInstance *i) { return owned(i, RELEASE(poly_instance_free), R_NilValue); }

PolyInstance *instance_of(SEXP inst) { return held(inst, RELEASE(poly_instance_free), "an instance, but for its bundle,"); }

int length32(SEXP raw, const char *function) {
  if (TYPEOF(raw) != RAWSXP) raise_error("%s: data: %s, expected a raw vector", function, Rf_type2char(TYPEOF(raw)));
  long long n = (long long)Rf_xlength(raw);
  if (n > INT32_MAX) raise_error("%s: data: %lld bytes, expected less than 2^31", function, n);
  return (int)n;
}

SEXP r_instance_config(SEXP family, SEXP json) {
  Args a = begin("instance");
  const char *name = arg_string(&a, family, "family"), *text = arg_string(&a, json, "config");
  int n = (int)strlen(text);
  if (strcmp(name, "mlp") == 0) return new_instance(P.poly_mlp_instance(text, n));
  if (strcmp(name, "tabm") == 0) return new_instance(P.poly_tabm_instance(text, n));
  return new_instance(P.poly_nam_instance(text, n));
}

SEXP r_instance_from_ir(SEXP ir, SEXP weights) {
  context();
  const uint8_t *w = NULL;
  int n_weights = 0;
  if (weights != R_NilValue) {
    n_weights = length32(weights, "instance_from_ir");
    w = RAW(weights);
  }
  return new_instance(P.poly_instance_from_ir(RAW(ir), length32(ir, "instance_from_ir"), w, n_weights));
}

SEXP r_instance_from_bundle(SEXP data) {
  context();
  int n = length32(data, "instance_from_bundle");
  return new_instance(P.poly_instance_from_bundle(RAW(data), n));
}

static const char *const roles[] = {"param", "input", "target", "output", "aux"};

static int shape_of(PolyInstance *inst, int i, int64_t *dims) {
  int n = P.poly_instance_buf_shape(inst, i, dims, POLY_MAX_OUT_DIMS);
  return n < 0 ? 0 : n;
}

/* list(name =, role =, shape =), parameters first. */
SEXP r_instance_buffers(SEXP inst) {
  PolyInstance *i = instance_of(inst);
  int n = P.poly_instance_buf_count(i);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
  SEXP names = Rf_allocVector(STRSXP, n);
  SET_VECTOR_ELT(out, 0, names);
  SEXP kinds = Rf_allocVector(STRSXP, n);
  SET_VECTOR_ELT(out, 1, kinds);
  SEXP shapes = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 2, shapes);
  for (int k = 0; k < n; k++) {
    int64_t dims[POLY_MAX_OUT_DIMS];
    int ndim = shape_of(i, k, dims), role = P.poly_instance_buf_role(i, k);
    SET_STRING_ELT(names, k, Rf_mkCharCE(P.poly_instance_buf_name(i, k), CE_UTF8));
    SET_STRING_ELT(kinds, k, Rf_mkChar(role >= 0 && role < 5 ? roles[role] : "unknown"));
    SEXP shape = Rf_allocVector(INTSXP, ndim);
    SET_VECTOR_ELT(shapes, k, shape);
    for (int d = 0; d < ndim; d++) INTEGER(shape)[d] = (int)dims[d];
  }
  UNPROTECT(1);
  return out;
}

static int which_of(Args *a, PolyInstance *inst, SEXP which) {
  int k = arg_int(a, which, "which") - 1;
  if (k < 0 || k >= P.poly_instance_buf_count(inst)) raise_error("%s: %d is not a buffer", a->function, k + 1);
  return k;
}

SEXP r_instance_get(SEXP inst, SEXP which) {
  Args a = begin("buffers");
  PolyInstance *i = instance_of(inst);
  int k = which_of(&a, i, which);
  int64_t dims[POLY_MAX_OUT_DIMS];
  int ndim = shape_of(i, k, dims);
  return from_storage(P.poly_instance_buf_data(i, k, NULL), POLY_DTYPE_FLOAT32, ndim, dims, 0);
}

SEXP r_instance_set(SEXP inst, SEXP which, SEXP data) {
  Args a = begin("set_buffer");
  PolyInstance *i = instance_of(inst);
  int k = which_of(&a, i, which);
  int64_t dims[POLY_MAX_OUT_DIMS], n = 0;
  int ndim = shape_of(i, k, dims);
  float *memory = P.poly_instance_buf_data(i, k, &n);
  if ((int64_t)Rf_xlength(data) != n) {
    raise_error("set_buffer: %s: %lld numbers, expected %lld", P.poly_instance_buf_name(i, k),
                (long long)Rf_xlength(data), (long long)n);
  }
  to_storage(&a, data, POLY_DTYPE_FLOAT32, ndim, dims, memory);
  return R_NilValue;
}

/* Named arrays of the buffers' shapes, as the library takes them. */
static PolyIOBinding *bindings(Args *a, PolyInstance *inst, SEXP arrays, int *n) {
  *n = (int)Rf_xlength(arrays);
  SEXP names = Rf_getAttrib(arrays, R_NamesSymbol);
  PolyIOBinding *out = (PolyIOBinding *)R_alloc((size_t)*n + 1, sizeof *out);
  int count = P.poly_instance_buf_count(inst);
  for (int i = 0; i < *n; i++) {
    const char *name = Rf_translateCharUTF8(STRING_ELT(names, i));
    SEXP data = VECTOR_ELT(arrays, i);
    int k = 0;
    while (k < count && strcmp(P.poly_instance_buf_name(inst, k), name) != 0) k++;
    if (k == count) raise_error("%s: %s is not a buffer of the model", a->function, name);
    int64_t dims[POLY_MAX_OUT_DIMS], size = 1;
    int ndim = shape_of(inst, k, dims);
    for (int d = 0; d < ndim; d++) size *= dims[d];
    if ((int64_t)Rf_xlength(data) != size) {
      raise_error("%s: %s: %lld numbers, expected %lld", a->function, name, (long long)Rf_xlength(data),
                  (long long)size);
    }
    out[i].name = name;
    out[i].data = (float *)R_alloc((size_t)size + 1, sizeof(float));
    to_storage(a, data, POLY_DTYPE_FLOAT32, ndim, dims, out[i].data);
  }
  return out;
}

SEXP r_instance_call(SEXP inst, SEXP entry, SEXP arrays) {
  Args a = begin("call");
  PolyInstance *i = instance_of(inst);
  int n;
  PolyIOBinding *io = bindings(&a, i, arrays, &n);
  finish(P.poly_instance_call(i, arg_string(&a, entry, "entry"), io, n));
  return R_NilValue;
}

SEXP r_instance_train(SEXP inst, SEXP arrays) {
  Args a = begin("train_step");
  PolyInstance *i = instance_of(inst);
  int n;
  float loss = 0;
  PolyIOBinding *io = bindings(&a, i, arrays, &n);
  finish(P.poly_instance_train_step(i, io, n, &loss));
  return Rf_ScalarReal(loss);
}

/* list(loss, list of gradients in the order of the parameters). */
SEXP r_instance_value_and_grad(SEXP inst, SEXP entry, SEXP arrays) {
  Args a = begin("value_and_grad");
  PolyInstance *i = instance_of(inst);
  int n;
  float loss = 0;
  PolyIOBinding *io = bindings(&a, i, arrays, &n);
  finish(P.poly_instance_value_and_grad(i, arg_string(&a, entry, "entry"), io, n, &loss));
  int count = P.poly_instance_param_count(i);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(loss));
  SEXP gradients = Rf_allocVector(VECSXP, count);
  SET_VECTOR_ELT(out, 1, gradients);
  for (int k = 0; k < count; k++) {
    int64_t dims[POLY_MAX_OUT_DIMS];
    int ndim = P.poly_instance_param_shape(i, k, dims, POLY_MAX_OUT_DIMS);
    float *memory = P.poly_instance_param_grad(i, k, NULL);
    if (memory != NULL) SET_VECTOR_ELT(gradients, k, from_storage(memory, POLY_DTYPE_FLOAT32, ndim, dims, 0));
  }
  UNPROTECT(1);
  return out;
}

/* numbers: lr, beta1, beta2, eps, weight_decay. */
SEXP r_instance_optimizer(SEXP inst, SEXP kind, SEXP numbers) {
  Args a = begin("set_optimizer");
  int n;
  double *v = arg_doubles(&a, numbers, "numbers", &n);
  if (n != 5) raise_error("set_optimizer: %d numbers, expected 5", n);
  PolyInstance *i = instance_of(inst);
  int status = P.poly_instance_set_optimizer(i, arg_int(&a, kind, "kind"), (float)v[0], (float)v[1], (float)v[2],
                                             (float)v[3], (float)v[4]);
  if (status != 0) fail();
  return R_NilValue;
}

SEXP r_instance_device(SEXP inst, SEXP device) {
  Args a = begin("set_device");
  if (P.poly_instance_set_device(instance_of(inst), arg_int(&a, device, "device")) != 0) fail();
  return R_NilValue;
}

/* A malloc'd block as a raw vector; the block is freed. */
SEXP to_raw(uint8_t *block, int n) {
  if (block == NULL) fail();
  SEXP out = Rf_allocVector(RAWSXP, n);
  memcpy(RAW(out), block, (size_t)n);
  free(block);
  return out;
}

SEXP r_instance_bytes(SEXP inst, SEXP what) {
  Args a = begin("save");
  PolyInstance *i = instance_of(inst);
  const char *name = arg_string(&a, what, "what");
  int n = 0;
  uint8_t *block;
  if (strcmp(name, "ir") == 0) {
    block = P.poly_instance_export_ir(i, &n);
  } else if (strcmp(name, "weights") == 0) {
    block = P.poly_instance_export_weights(i, &n);
  } else {
    block = P.poly_instance_save_bundle(i, &n);
  }
  return to_raw(block, n);
}

SEXP r_instance_weights(SEXP inst, SEXP data, SEXP strict) {
  PolyInstance *i = instance_of(inst);
  int n = length32(data, "import_weights");
  int status = Rf_asLogical(strict) ? P.poly_instance_load_weights(i, RAW(data), n)
                                    : P.poly_instance_import_weights(i, RAW(data), n);
  if (status != 0) fail();
  return R_NilValue;
}

SEXP r_instance_notes(SEXP inst) {
  const char *text = P.poly_instance_notes(instance_of(inst));
  if (text == NULL) fail();
  return Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8));
}
