/* The functions whose parameters hold a PolyDType record. */
#include "../include/polygrad.h"
#include "_cgo_export.h"
#include "guard.h"

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

/* Priority and size name a scalar type; -1 if there is none. */
static int dtype_number(const PolyDType *d) {
  for (int i = 0; i < N_DTYPES; i++)
    if (dtype_records[i].priority == d->priority && dtype_records[i].bitsize == d->bitsize && d->count <= 1) return i;
  return -1;
}

PolyUOp *poly_buffer_var(PolyCtx *ctx, PolyDType dtype, PolyUOp *var, const int64_t *inner, int n_inner) {
  if (poly_enter("poly_buffer_var")) return NULL;
  return (PolyUOp *)go_buffer_var((uintptr_t)ctx, dtype_number(&dtype), (uintptr_t)var, (int64_t *)inner, n_inner);
}

int poly_step_buffer_info(const PolyStep *step, int idx, PolyStepBufferInfo *out) {
  int role = 0, dtype = 0;
  int64_t numel = 0, nbytes = 0;
  if (poly_enter("poly_step_buffer_info")) return -1;
  if (go_step_buffer_info((uintptr_t)step, idx, out != NULL, &role, &dtype, &numel, &nbytes) != 0) return -1;
  *out = (PolyStepBufferInfo){1, idx, role, dtype_records[dtype], numel, nbytes};
  return 0;
}
