/* The layouts of records, and the functions that take or return them. */
#include "records.h"

#include <stdio.h>
#include <string.h>

#include "_cgo_export.h"

#define LAYOUT(type, size) _Static_assert(sizeof(type) == (size), #type " has " #size " bytes")
#define FIELD(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field " lies at " #offset)

LAYOUT(PolyDType, 40);
FIELD(PolyDType, bitsize, 2);
FIELD(PolyDType, name, 8);
FIELD(PolyDType, fmt, 16);
FIELD(PolyDType, count, 18);
FIELD(PolyDType, is_ptr, 20);
FIELD(PolyDType, addrspace, 24);
FIELD(PolyDType, vcount, 28);
FIELD(PolyDType, ptr_size, 32);
LAYOUT(PolyBufferHandle, 24);
FIELD(PolyBufferHandle, domain, 16);
FIELD(PolyBufferHandle, owned, 20);
LAYOUT(PolyBufferBinding, 32);
LAYOUT(PolyVarBinding, 16);
LAYOUT(PolyIOBinding, 16);
LAYOUT(PolyStepBufferInfo, 72);
FIELD(PolyStepBufferInfo, role, 8);
FIELD(PolyStepBufferInfo, dtype, 16);
FIELD(PolyStepBufferInfo, numel, 56);
LAYOUT(PolyArg, 40);
FIELD(PolyArg, u, 8);
LAYOUT(PolyShape, 16);
FIELD(PolyShape, ndim, 8);
LAYOUT(PolyTensor, 152);
FIELD(PolyTensor, data, 16);
FIELD(PolyTensor, shape, 32);
FIELD(PolyTensor, ndim, 96);
FIELD(PolyTensor, owned, 100);
LAYOUT(PolyLinear, 24);
FIELD(PolyLinear, n_in, 16);
LAYOUT(PolySGD, 16);
FIELD(PolySGD, n_params, 8);
FIELD(PolySGD, lr, 12);
LAYOUT(GPT2Config, 24);
FIELD(GPT2Config, norm_eps, 20);
LAYOUT(PolyBundleSections, 56);
FIELD(PolyBundleSections, weights, 16);
FIELD(PolyBundleSections, meta, 32);
FIELD(PolyBundleSections, version, 44);
LAYOUT(PolySafetensorEntry, 32);
FIELD(PolySafetensorEntry, ndim, 24);
LAYOUT(PolySafetensorView, 96);
FIELD(PolySafetensorView, shape, 16);
FIELD(PolySafetensorView, ndim, 80);
FIELD(PolySafetensorView, numel, 88);
LAYOUT(PolySafetensorViewEx, 104);
FIELD(PolySafetensorViewEx, dtype, 96);

/* The records of the data types, by number. */
static const PolyDType dtype_records[] = {
    [POLY_DTYPE_VOID] = {-1, 0, "void", 0, 1, false, 0, 1, -1},
    [POLY_DTYPE_BOOL] = {0, 1, "bool", '?', 1, false, 0, 1, -1},
    [POLY_DTYPE_INT8] = {1, 8, "signed char", 'b', 1, false, 0, 1, -1},
    [POLY_DTYPE_UINT8] = {2, 8, "unsigned char", 'B', 1, false, 0, 1, -1},
    [POLY_DTYPE_INT16] = {3, 16, "short", 'h', 1, false, 0, 1, -1},
    [POLY_DTYPE_UINT16] = {4, 16, "unsigned short", 'H', 1, false, 0, 1, -1},
    [POLY_DTYPE_INT32] = {5, 32, "int", 'i', 1, false, 0, 1, -1},
    [POLY_DTYPE_UINT32] = {6, 32, "unsigned int", 'I', 1, false, 0, 1, -1},
    [POLY_DTYPE_INT64] = {7, 64, "long", 'q', 1, false, 0, 1, -1},
    [POLY_DTYPE_UINT64] = {8, 64, "unsigned long", 'Q', 1, false, 0, 1, -1},
    [POLY_DTYPE_FLOAT16] = {11, 16, "__fp16", 'e', 1, false, 0, 1, -1},
    [POLY_DTYPE_BFLOAT16] = {12, 16, "__bf16", 0, 1, false, 0, 1, -1},
    [POLY_DTYPE_FLOAT32] = {13, 32, "float", 'f', 1, false, 0, 1, -1},
    [POLY_DTYPE_FLOAT64] = {14, 64, "double", 'd', 1, false, 0, 1, -1},
    [POLY_DTYPE_INDEX] = {-1, 800, "index", 0, 1, false, 0, 1, -1},
    [POLY_DTYPE_FP8E4M3] = {9, 8, "float8_e4m3", 0, 1, false, 0, 1, -1},
    [POLY_DTYPE_FP8E5M2] = {10, 8, "float8_e5m2", 0, 1, false, 0, 1, -1},
};

enum { N_DTYPES = sizeof dtype_records / sizeof dtype_records[0] };

static const PolyDType *dtype_record(int dtype) {
  return dtype >= 0 && dtype < N_DTYPES ? &dtype_records[dtype] : NULL;
}

PolyDType poly_dtype_of(int dtype) {
  const PolyDType *d = dtype_record(dtype);
  if (poly_enter("poly_dtype_of")) return dtype_records[0];
  if (d) return *d;
  char text[80];
  int n = snprintf(text, sizeof text, "poly_dtype_of: dtype: %d is not a data type, expected 0 to %d", dtype, N_DTYPES - 1);
  poly_fail(text, (size_t)n);
  return dtype_records[0];
}

/* Priority and size name a scalar type; -1 if there is none. */
static int scalar_number(const PolyDType *d) {
  int count = d->count > 1 ? d->count : 1;
  for (int i = 0; i < N_DTYPES; i++)
    if (dtype_records[i].priority == d->priority && dtype_records[i].bitsize * count == d->bitsize) return i;
  return -1;
}

int poly_dtype_number(PolyDType d) {
  if (poly_enter("poly_dtype_number")) return -1;
  return d.count > 1 || d.is_ptr ? -1 : scalar_number(&d);
}

bool poly_dtype_eq(PolyDType a, PolyDType b) {
  return a.priority == b.priority && a.bitsize == b.bitsize && a.count == b.count && a.is_ptr == b.is_ptr &&
         a.addrspace == b.addrspace && a.vcount == b.vcount && a.ptr_size == b.ptr_size;
}

bool poly_dtype_is_float(PolyDType d) { return d.priority >= dtype_records[POLY_DTYPE_FP8E4M3].priority; }

bool poly_dtype_is_int(PolyDType d) {
  return (d.priority >= dtype_records[POLY_DTYPE_INT8].priority && d.priority <= dtype_records[POLY_DTYPE_UINT64].priority) ||
         (d.priority < 0 && d.bitsize > 0);
}

bool poly_dtype_is_unsigned(PolyDType d) {
  return d.priority > 0 && d.priority <= dtype_records[POLY_DTYPE_UINT64].priority && d.priority % 2 == 0;
}

bool poly_dtype_is_bool(PolyDType d) { return d.priority == 0; }

int poly_dtype_itemsize(PolyDType d) { return (d.bitsize + 7) / 8; }

PolyDType poly_dtype_vec(PolyDType d, int n) {
  PolyDType out = dtype_records[0];
  if (!poly_enter("poly_dtype_vec")) POLY_GO(go_poly_dtype_vec(&d, n, &out));
  return out;
}

PolyDType poly_dtype_scalar(PolyDType d) {
  PolyDType out = dtype_records[0];
  if (!poly_enter("poly_dtype_scalar")) POLY_GO(go_poly_dtype_scalar(&d, &out));
  return out;
}

PolyDType poly_dtype_ptr(PolyDType d, int64_t size, PolyAddrSpace space) {
  PolyDType out = dtype_records[0];
  if (!poly_enter("poly_dtype_ptr")) POLY_GO(go_poly_dtype_ptr(&d, size, (int)space, &out));
  return out;
}

PolyDType poly_uop_dtype(PolyCtx *ctx, PolyUOp *x) {
  PolyDType out = dtype_records[0];
  if (!poly_enter("poly_uop_dtype")) POLY_GO(go_poly_uop_dtype((uintptr_t)ctx, (uintptr_t)x, &out));
  return out;
}

PolyArg poly_uop_arg(PolyCtx *ctx, PolyUOp *x) {
  PolyArg out = {POLY_ARG_INVALID, {0}};
  if (!poly_enter("poly_uop_arg")) POLY_GO(go_poly_uop_arg((uintptr_t)ctx, (uintptr_t)x, &out));
  return out;
}

static bool same_numbers(const int64_t *a, const int64_t *b, int64_t n) {
  return n <= 0 || (a && b ? memcmp(a, b, (size_t)n * sizeof *a) == 0 : a == b);
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

bool poly_arg_eq(PolyArg a, PolyArg b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case POLY_ARG_INT: return a.u.i == b.u.i;
    case POLY_ARG_FLOAT: return memcmp(&a.u.f, &b.u.f, sizeof a.u.f) == 0; /* NaN equals itself */
    case POLY_ARG_BOOL: return a.u.b == b.u.b;
    case POLY_ARG_INT_TUPLE:
      return a.u.int_tuple.n == b.u.int_tuple.n && same_numbers(a.u.int_tuple.vals, b.u.int_tuple.vals, a.u.int_tuple.n);
    case POLY_ARG_PAIR_TUPLE:
      return a.u.pair_tuple.n == b.u.pair_tuple.n &&
             same_numbers((int64_t *)a.u.pair_tuple.pairs, (int64_t *)b.u.pair_tuple.pairs, 2 * (int64_t)a.u.pair_tuple.n);
    case POLY_ARG_STRING: return same_text(a.u.str, b.u.str);
    case POLY_ARG_OPS: return a.u.ops == b.u.ops;
    case POLY_ARG_REDUCE_AXIS:
      return a.u.reduce_axis.op == b.u.reduce_axis.op && a.u.reduce_axis.n == b.u.reduce_axis.n &&
             same_numbers(a.u.reduce_axis.axes, b.u.reduce_axis.axes, a.u.reduce_axis.n);
    case POLY_ARG_RANGE:
      return a.u.range.id == b.u.range.id && a.u.range.axis_type == b.u.range.axis_type && a.u.range.n_extra == b.u.range.n_extra &&
             same_numbers(a.u.range.extra, b.u.range.extra, a.u.range.n_extra);
    case POLY_ARG_DEFINE_VAR:
      return a.u.define_var.min == b.u.define_var.min && a.u.define_var.max == b.u.define_var.max &&
             same_text(a.u.define_var.name, b.u.define_var.name);
  }
  return true;
}

PolyShape poly_uop_shape(PolyCtx *ctx, PolyUOp *x) {
  PolyShape out = {NULL, -1};
  if (!poly_enter("poly_uop_shape")) POLY_GO(go_poly_uop_shape((uintptr_t)ctx, (uintptr_t)x, &out.dims, &out.ndim));
  return out;
}

bool poly_shape_eq(PolyShape a, PolyShape b) {
  return a.ndim == b.ndim && same_numbers(a.dims, b.dims, a.ndim);
}

int64_t poly_shape_numel(PolyShape s) {
  if (s.ndim < 0 || (s.ndim > 0 && !s.dims)) return 0;
  int64_t n = 1;
  for (int i = 0; i < s.ndim; i++) n *= s.dims[i];
  return n;
}

PolySGD poly_sgd_new(PolyTensor **params, int n_params, float lr) { return (PolySGD){params, n_params, lr}; }

int poly_step_buffer_info(const PolyStep *step, int idx, PolyStepBufferInfo *out) {
  int role = 0, dtype = 0;
  int64_t numel = 0, nbytes = 0;
  if (poly_enter("poly_step_buffer_info")) return -1;
  if (POLY_GO(go_poly_step_buffer_info((uintptr_t)step, idx, out != NULL, &role, &dtype, &numel, &nbytes)) != 0) return -1;
  *out = (PolyStepBufferInfo){1, idx, role, dtype_records[dtype], numel, nbytes};
  return 0;
}
