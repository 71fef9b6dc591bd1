/* Tensors: handles of the library's arrays, their values and gradients.
 *
 * A Tensor is a vector of R whose elements are computed when R asks for them (ALTREP): functions that know nothing of
 * Tensors, "if" and "for" see numbers. Its first field is a block of bytes with the handle, which copies share; its second
 * one keeps the elements that R has asked for. */
#include <stdio.h>
#include <stdlib.h>

#include "glue.h"

#include <R_ext/Altrep.h>
#include <R_ext/Rallocators.h>

/* An object with the attributes of a Tensor. */
static SEXP like;

/* The class of Tensors, with the attribute that says which package defines it. */
SEXP r_set_class(SEXP name) {
  like = Rf_allocVector(RAWSXP, 0);
  R_PreserveObject(like);
  Rf_setAttrib(like, R_ClassSymbol, name);
  like = Rf_asS4(like, TRUE, 0);
  return R_NilValue;
}

/* Handles of Tensors that are gone, given back many at a time. */
static SEXP values_of(PolyArray *array, int integer64);

#define RELEASE_AT 256
static PolyArray **dead;
static int n_dead, room;

static void release_dead(void) {
  if (n_dead == 0 || is_asking()) return;
  int n = n_dead;
  n_dead = 0;
  P.poly_array_release_n(dead, n);
}

/* What copies of a Tensor share. It lies in memory of ours beside a vector of R, which R's collector gives back to free_block. An
 * external pointer with a finalizer is three objects that outlive a collection: they cost as much as an operation. */
typedef struct Shared {
  PolyArray *array;
  int refuses; /* requires_grad <- FALSE */
} Shared;

static void *new_block(R_allocator_t *allocator, size_t size) {
  Shared *shared = malloc(sizeof *shared + size);
  if (shared == NULL) return NULL;
  *shared = (Shared){NULL, 0};
  allocator->data = shared;
  return shared + 1;
}

static void free_block(R_allocator_t *allocator, void *block) {
  (void)block;
  Shared *shared = allocator->data;
  if (n_dead == room) {
    PolyArray **more = realloc(dead, (size_t)(2 * room + RELEASE_AT) * sizeof *more);
    if (more == NULL) return;
    dead = more;
    room = 2 * room + RELEASE_AT;
  }
  if (shared->array != NULL) dead[n_dead++] = shared->array;
  free(shared);
  if (n_dead >= RELEASE_AT) release_dead();
}

static SEXP new_shared(PolyArray *array) {
  R_allocator_t allocator = {new_block, free_block, NULL, NULL};
  SEXP handle = Rf_allocVector3(RAWSXP, sizeof(Shared *), &allocator);
  Shared *shared = allocator.data;
  shared->array = array;
  memcpy(RAW(handle), &shared, sizeof shared);
  return handle;
}

static Shared *shared_of(SEXP x) {
  Shared *shared;
  memcpy(&shared, RAW(R_altrep_data1(x)), sizeof shared);
  return shared;
}

/* FALSE where requires_grad was set to it, else NULL. */
static SEXP refusal(SEXP x) { return shared_of(x)->refuses ? Rf_ScalarLogical(0) : R_NilValue; }

/* R's collector sees the handles only, not the memory of the arrays. It runs when that memory has doubled since it
 * last did. */
#define LEAST ((int64_t)256 << 20)
static int64_t enough = LEAST;

void before_run(void) {
  release_dead();
  if (P.poly_array_memory() < enough) return;
  R_gc();
  release_dead();
  int64_t used = P.poly_array_memory();
  enough = 2 * used > LEAST ? 2 * used : LEAST;
}

static R_altrep_class_t classes[4];

int is_tensor(SEXP x) {
  if (!Rf_isObject(x)) return 0;
  for (int i = 0; i < 4; i++) {
    if (R_altrep_inherits(x, classes[i])) return 1;
  }
  return 0;
}

static PolyArray *array_at(SEXP x) {
  context(); /* which may be computing, or belong to another process */
  return shared_of(x)->array;
}

PolyArray *array_of(SEXP x) {
  if (!is_tensor(x)) raise_error("%s, expected a Tensor", kind_of(x));
  return array_at(x);
}

void set_array(SEXP x, PolyArray *array) { shared_of(x)->array = array; }

Shape describe(PolyArray *array) {
  Shape s;
  s.ndim = P.poly_array_describe(array, s.dims, POLY_MAX_DIMS, &s.dtype);
  if (s.ndim < 0) fail();
  s.symbolic = 0;
  for (int i = 0; i < s.ndim; i++) s.symbolic |= s.dims[i] < 0;
  return s;
}

/* A Tensor without its class. */
static SEXP vector_for(SEXP shared, int dtype) {
  int small = dtype == POLY_DTYPE_INT8 || dtype == POLY_DTYPE_UINT8 || dtype == POLY_DTYPE_INT16 ||
              dtype == POLY_DTYPE_UINT16 || dtype == POLY_DTYPE_INT32;
  int kind = dtype >= POLY_DTYPE_COMPLEX64 ? 1 : small ? 2 : dtype == POLY_DTYPE_BOOL ? 3 : 0; /* most are numbers */
  return R_new_altrep(classes[kind], shared, R_NilValue);
}

/* Functions of R that are written in C look at the attribute dim. */
static void set_dim_attribute(SEXP x, const Shape *s) {
  if (s->ndim > 1 && !s->symbolic) set_dims(x, s->ndim, s->dims);
}

SEXP wrap(PolyArray *array) {
  if (array == NULL) fail();
  Shape s = describe(array);
  SEXP shared = PROTECT(new_shared(array)), x = PROTECT(vector_for(shared, s.dtype));
  SHALLOW_DUPLICATE_ATTRIB(x, like);
  set_dim_attribute(x, &s);
  UNPROTECT(2);
  return x;
}

/* The number of writes so far, after which elements that were asked for are others. */
static double writes;

void written(void) { writes++; }

/* The elements of a Tensor as R's vector, column by column. */
static SEXP elements_of(SEXP x) {
  SEXP kept = R_altrep_data2(x);
  if (kept != R_NilValue && REAL(VECTOR_ELT(kept, 1))[0] == writes) return VECTOR_ELT(kept, 0);
  SEXP values = PROTECT(values_of(array_at(x), 0));
  values = PROTECT(Rf_coerceVector(values, TYPEOF(x)));
  kept = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(kept, 0, values);
  SET_VECTOR_ELT(kept, 1, Rf_ScalarReal(writes));
  R_set_altrep_data2(x, kept);
  UNPROTECT(3);
  return values;
}

static R_xlen_t length_method(SEXP x) {
  Shape s = describe(array_at(x));
  return (R_xlen_t)sizes_now(array_at(x), &s);
}

static void *data_method(SEXP x, Rboolean writable) {
  (void)writable;
  return DATAPTR(elements_of(x));
}

static const void *data_or_null_method(SEXP x) {
  SEXP kept = R_altrep_data2(x);
  if (kept == R_NilValue || REAL(VECTOR_ELT(kept, 1))[0] != writes) return NULL;
  return DATAPTR(VECTOR_ELT(kept, 0));
}

static SEXP copy_method(SEXP x, Rboolean deep) {
  (void)deep;
  return vector_for(R_altrep_data1(x), describe(array_at(x)).dtype);
}

/* What saveRDS writes of a Tensor: data type, sizes, bytes, and the flag for gradients. */
static SEXP state_method(SEXP x) {
  PolyArray *array = array_at(x);
  Shape s = describe(array);
  int64_t bytes = sizes_now(array, &s) * P.poly_dtype_id_size(s.dtype);
  SEXP state = PROTECT(Rf_allocVector(VECSXP, 4)), dims = Rf_allocVector(REALSXP, s.ndim), data;
  SET_VECTOR_ELT(state, 1, dims);
  SET_VECTOR_ELT(state, 0, Rf_mkString(P.poly_dtype_id_name(s.dtype)));
  for (int i = 0; i < s.ndim; i++) REAL(dims)[i] = (double)s.dims[i];
  SET_VECTOR_ELT(state, 2, data = Rf_allocVector(RAWSXP, (R_xlen_t)bytes));
  read_values(array, RAW(data), bytes);
  int learns = P.poly_array_requires_grad(array) == 1;
  SET_VECTOR_ELT(state, 3, learns ? Rf_ScalarLogical(1) : refusal(x));
  UNPROTECT(1);
  return state;
}

static SEXP unstate_method(SEXP class, SEXP state) {
  (void)class;
  Args a = begin("readRDS");
  int dtype = arg_dtype(&a, VECTOR_ELT(state, 0), "dtype"), ndim = (int)Rf_xlength(VECTOR_ELT(state, 1));
  int64_t dims[POLY_MAX_DIMS];
  for (int i = 0; i < ndim && i < POLY_MAX_DIMS; i++) dims[i] = (int64_t)REAL(VECTOR_ELT(state, 1))[i];
  SEXP data = VECTOR_ELT(state, 2), learns = VECTOR_ELT(state, 3);
  PolyArray *array = P.poly_array_new(context(), dtype, dims, ndim, RAW(data), (size_t)Rf_xlength(data));
  if (array == NULL) fail();
  int wanted = learns != R_NilValue && LOGICAL(learns)[0];
  if (wanted && P.poly_array_require_grad(array, 1) != 0) fail();
  SEXP shared = PROTECT(new_shared(array)), x = vector_for(shared, dtype);
  if (learns != R_NilValue && !wanted) refuse_gradient(x);
  UNPROTECT(1);
  return x;
}

void make_classes(DllInfo *dll) {
  classes[0] = R_make_altreal_class("doubles", "polygrad", dll);
  classes[1] = R_make_altcomplex_class("complexes", "polygrad", dll);
  classes[2] = R_make_altinteger_class("integers", "polygrad", dll);
  classes[3] = R_make_altlogical_class("logicals", "polygrad", dll);
  for (int i = 0; i < 4; i++) {
    R_set_altrep_Length_method(classes[i], length_method);
    R_set_altvec_Dataptr_method(classes[i], data_method);
    R_set_altvec_Dataptr_or_null_method(classes[i], data_or_null_method);
    R_set_altrep_Duplicate_method(classes[i], copy_method);
    R_set_altrep_Serialized_state_method(classes[i], state_method);
    R_set_altrep_Unserialize_method(classes[i], unstate_method);
  }
  make_unsaved(dll);
}

void refuse_gradient(SEXP x) { shared_of(x)->refuses = 1; }

/* The handles of a list of Tensors, there until vmaxset. */
PolyArray **arrays_of(const char *what, SEXP tensors) {
  R_xlen_t n = Rf_xlength(tensors);
  PolyArray **out = (PolyArray **)R_alloc((size_t)n + 1, sizeof *out);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP x = VECTOR_ELT(tensors, i);
    if (!is_tensor(x)) raise_error("%s: %s, expected Tensors", what, kind_of(x));
    out[i] = array_of(x);
  }
  return out;
}

int64_t sizes_now(PolyArray *array, Shape *s) {
  int64_t count = 1;
  if (s->symbolic) {
    PolyCtx *ctx = context();
    PolyUOp *node = P.poly_array_node(array);
    for (int i = 0; i < s->ndim; i++) {
      PolyUOp *size = P.poly_size_of(ctx, node, i);
      int known = size == NULL ? -1 : P.poly_size_info(ctx, size, NULL, NULL, &s->dims[i]);
      if (known == 1) {
        P.poly_uop_release(ctx, size);
        continue;
      }
      P.poly_uop_release(ctx, node);
      if (known < 0) fail();
      SEXP text = PROTECT(call_package("format", size_made(size), NULL));
      raise_error("%s has no value: bind its variables", CHAR(STRING_ELT(text, 0)));
    }
    P.poly_uop_release(ctx, node);
  }
  for (int i = 0; i < s->ndim; i++) count *= s->dims[i];
  return count;
}

/* A Tensor with a copy of elements, row by row. */
SEXP new_tensor(int dtype, int ndim, const int64_t *dims, const void *data) {
  size_t bytes = (size_t)P.poly_dtype_id_size(dtype);
  for (int i = 0; i < ndim; i++) bytes *= (size_t)dims[i];
  if (bytes > LEAST / 64) before_run();
  return wrap(P.poly_array_new(context(), dtype, dims, ndim, bytes > 0 ? data : NULL, bytes));
}

static int op_number(int *known, const char *name) {
  if (*known < 0 && (*known = P.poly_op(name)) < 0) fail();
  return *known;
}

PolyArray *cast(PolyArray *array, int dtype) {
  static int op = -1;
  PolyArray *out = NULL;
  PolyCallArg args[] = {POLY_PASS_T(array), POLY_PASS_DTYPE(dtype)};
  if (P.poly_array_call(context(), op_number(&op, "cast"), args, 2, &out, 1) < 0) fail();
  return out;
}

/* Whether numbers go through float32 on their way from and to R. */
static int through_float(int dtype) {
  return dtype == POLY_DTYPE_FLOAT16 || dtype == POLY_DTYPE_BFLOAT16 || dtype == POLY_DTYPE_FP8E4M3 ||
         dtype == POLY_DTYPE_FP8E5M2;
}

/* Whether numbers of a type have fractions. */
int is_float(int dtype) {
  return through_float(dtype) || dtype == POLY_DTYPE_FLOAT32 || dtype == POLY_DTYPE_FLOAT64 || dtype >= POLY_DTYPE_COMPLEX64;
}

void read_values(PolyArray *array, void *out, int64_t bytes) {
  before_run();
  finish(P.poly_array_read(array, out, (size_t)bytes));
}

/* The values of a large array from its own memory. */
static SEXP pinned_values(PolyArray *array, const Shape *s, int64_t count, int integer64) {
  void *data;
  int64_t strides[POLY_MAX_DIMS], next = 1;
  before_run();
  PolyPin *p = P.poly_array_pin(array, &data, strides, POLY_MAX_DIMS, NULL);
  finish(p == NULL);
  SEXP pin = PROTECT(owned(p, RELEASE(poly_array_unpin), R_NilValue));
  int plain = 1, size = P.poly_dtype_id_size(s->dtype);
  for (int i = s->ndim - 1; i >= 0; i--) {
    plain &= s->dims[i] == 1 || strides[i] == next;
    next *= s->dims[i];
  }
  if (!plain) {
    void *rows = R_alloc((size_t)count, size);
    gather(data, size, s->ndim, s->dims, strides, 0, rows);
    data = rows;
  }
  SEXP out = from_storage(data, s->dtype, s->ndim, s->dims, integer64);
  let_go(pin);
  UNPROTECT(1);
  return out;
}

SEXP r_is_tensor(SEXP x) { return Rf_ScalarLogical(is_tensor(x)); }

static SEXP numbers(const Shape *s) {
  int large = 0;
  for (int i = 0; i < s->ndim; i++) large |= s->dims[i] > INT32_MAX;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, s->ndim));
  for (int i = 0; i < s->ndim; i++) REAL(out)[i] = (double)s->dims[i];
  if (!large) out = Rf_coerceVector(out, INTSXP);
  UNPROTECT(1);
  return out;
}

/* The shape as numbers: variables must have values. */
SEXP r_shape(SEXP x) {
  PolyArray *array = array_of(x);
  Shape s = describe(array);
  sizes_now(array, &s);
  return numbers(&s);
}

/* The sizes of a tensor: numbers, in a list with SymInts where there are some. */
SEXP r_sizes(SEXP x) {
  PolyArray *array = array_of(x);
  Shape s = describe(array);
  if (!s.symbolic) return numbers(&s);
  PolyCtx *ctx = context();
  SEXP out = PROTECT(Rf_allocVector(VECSXP, s.ndim));
  PolyUOp *node = P.poly_array_node(array);
  for (int i = 0; i < s.ndim; i++) SET_VECTOR_ELT(out, i, size_made(P.poly_size_of(ctx, node, i)));
  P.poly_uop_release(ctx, node);
  UNPROTECT(1);
  return out;
}

SEXP r_dtype(SEXP x) { return Rf_mkString(P.poly_dtype_id_name(describe(array_of(x)).dtype)); }

SEXP r_is_floating_point(SEXP x) { return Rf_ScalarLogical(is_float(describe(array_of(x)).dtype)); }

/* Whether two Tensors are one. */
int same_tensor(SEXP x, SEXP y) { return shared_of(x) == shared_of(y); }

/* A number for each of some Tensors, which one that is given again has, too. */
SEXP r_identities(SEXP tensors) {
  SEXP out = PROTECT(Rf_allocVector(REALSXP, Rf_xlength(tensors)));
  arrays_of("tensors", tensors);
  for (R_xlen_t i = 0; i < Rf_xlength(tensors); i++) REAL(out)[i] = (double)(uintptr_t)shared_of(VECTOR_ELT(tensors, i));
  UNPROTECT(1);
  return out;
}

/* The values of a Tensor as R's array. */
static SEXP values_of(PolyArray *array, int integer64) {
  Shape s = describe(array);
  if (through_float(s.dtype)) {
    SEXP wide = PROTECT(wrap(cast(array, POLY_DTYPE_FLOAT32)));
    SEXP out = values_of(array_of(wide), integer64);
    UNPROTECT(1);
    return out;
  }
  const void *top = vmaxget();
  int64_t count = sizes_now(array, &s), bytes = count * P.poly_dtype_id_size(s.dtype);
  SEXP out;
  if (bytes > 1 << 16 && !s.symbolic) {
    out = pinned_values(array, &s, count, integer64);
  } else {
    double small[64];
    void *memory = bytes <= (int64_t)sizeof small ? (void *)small : R_alloc((size_t)bytes, 1);
    read_values(array, memory, bytes);
    out = from_storage(memory, s.dtype, s.ndim, s.dims, integer64);
  }
  vmaxset(top);
  return out;
}

SEXP r_values(SEXP x, SEXP integer64) { return values_of(array_of(x), Rf_asLogical(integer64)); }

/* A Tensor on a copy of R's numbers; scalar: no dimension. */
SEXP r_leaf(SEXP data, SEXP dtype, SEXP scalar) {
  Args a = begin("Tensor");
  int kind = arg_dtype(&a, dtype, "dtype"), ndim;
  int64_t dims[POLY_MAX_DIMS], n = dims_of(data, &ndim, dims);
  if (Rf_asLogical(scalar)) ndim = 0;
  int stored = through_float(kind) ? POLY_DTYPE_FLOAT32 : kind;
  const void *top = vmaxget();
  double small[64];
  size_t bytes = (size_t)n * (size_t)P.poly_dtype_id_size(stored);
  void *memory = bytes <= sizeof small ? (void *)small : R_alloc(bytes, 1);
  to_storage(&a, data, stored, ndim, dims, memory);
  SEXP out = PROTECT(new_tensor(stored, ndim, dims, memory));
  vmaxset(top);
  if (stored != kind) {
    PolyArray *narrow = cast(array_of(out), kind);
    out = wrap(narrow);
    finish(P.poly_array_realize(&narrow, 1));
  }
  UNPROTECT(1);
  return out;
}

/* A Tensor on a copy of bytes, row by row. */
SEXP r_blob(SEXP data, SEXP shape, SEXP dtype) {
  Args a = begin("from_blob");
  int kind = arg_dtype(&a, dtype, "dtype"), ndim = (int)Rf_xlength(shape);
  int64_t dims[POLY_MAX_DIMS];
  double bytes = P.poly_dtype_id_size(kind);
  if (ndim > POLY_MAX_DIMS) raise_error("from_blob: shape: %d axes, expected at most %d", ndim, POLY_MAX_DIMS);
  for (int i = 0; i < ndim; i++) {
    dims[i] = whole_at("from_blob", "shape", shape, i);
    bytes *= (double)dims[i];
  }
  if ((double)Rf_xlength(data) != bytes) {
    raise_error("from_blob: data: %lld bytes, expected %.0f for the shape and %s", (long long)Rf_xlength(data), bytes,
                P.poly_dtype_id_name(kind));
  }
  return new_tensor(kind, ndim, dims, RAW(data));
}

/* The elements of a Tensor, row by row, as a raw vector. */
SEXP r_bytes(SEXP x) {
  PolyArray *array = array_of(x);
  Shape s = describe(array);
  int64_t bytes = sizes_now(array, &s) * P.poly_dtype_id_size(s.dtype);
  SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)bytes));
  read_values(array, RAW(out), bytes);
  UNPROTECT(1);
  return out;
}

SEXP r_realize(SEXP tensors) {
  context();
  const void *top = vmaxget();
  PolyArray **arrays = arrays_of("realize", tensors);
  before_run();
  finish(P.poly_array_realize(arrays, (int)Rf_xlength(tensors)));
  vmaxset(top);
  return R_NilValue;
}

SEXP r_is_realized(SEXP x) { return Rf_ScalarLogical(P.poly_array_is_computed(array_of(x)) == 1); }

SEXP r_is_view(SEXP x) { return Rf_ScalarLogical(P.poly_array_is_view(array_of(x)) == 1); }

SEXP r_live_nodes(void) {
  PolyCtx *ctx = context();
  release_dead();
  return Rf_ScalarReal((double)P.poly_ctx_live_nodes(ctx));
}

/* The name of a data type that may be given by another one, such as "half". */
SEXP r_type_name(SEXP dtype) {
  Args a = begin("Tensor");
  return Rf_mkString(P.poly_dtype_id_name(arg_dtype(&a, dtype, "dtype")));
}

/* Writing */

/* value is a Tensor or a number. */
SEXP r_assign(SEXP x, SEXP value) {
  PolyArray *array = array_of(x);
  PolyCallArg arg[2] = {{.kind = POLY_CALL_NONE}};
  if (is_tensor(value)) {
    arg[0] = POLY_PASS_T(array_of(value));
  } else {
    number_args(value, arg);
  }
  before_run();
  written();
  finish(P.poly_array_assign(array, arg));
  return x;
}

/* Assigns values of any type to targets, in one program. */
SEXP r_assign_all(SEXP targets, SEXP values) {
  int n = (int)Rf_xlength(targets);
  const void *top = vmaxget();
  PolyArray **to = arrays_of("assign", targets), **from = arrays_of("assign", values);
  SEXP kept = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    int dtype = describe(to[i]).dtype;
    if (describe(from[i]).dtype == dtype) continue;
    from[i] = cast(from[i], dtype);
    SET_VECTOR_ELT(kept, i, wrap(from[i]));
  }
  before_run();
  written();
  finish(P.poly_array_assign_n(to, from, n));
  UNPROTECT(1);
  vmaxset(top);
  return R_NilValue;
}

/* Lets x stand for what y stands for. */
SEXP r_replace(SEXP x, SEXP y) {
  if (!is_tensor(y)) raise_error("replace: x: %s, expected a Tensor", Rf_type2char(TYPEOF(y)));
  written();
  if (P.poly_array_replace(array_of(x), array_of(y)) != 0) fail();
  Shape s = describe(array_of(x));
  Rf_setAttrib(x, R_DimSymbol, R_NilValue);
  set_dim_attribute(x, &s);
  return x;
}

SEXP r_detach(SEXP x) {
  SEXP out = wrap(P.poly_array_detach(array_of(x)));
  refuse_gradient(out);
  return out;
}

/* The device of a tensor, or the default one for NULL. */
SEXP r_device(SEXP x) {
  return Rf_mkString(P.poly_device_name(Rf_isNull(x) ? P.poly_ctx_device(context()) : P.poly_array_device(array_of(x))));
}

/* Puts x, or a copy of it, on a device by its number; NULL stands for new tensors, whose default device it becomes. */
SEXP r_to(SEXP x, SEXP device, SEXP itself) {
  int to = Rf_isNull(device) ? P.poly_ctx_device(context()) : Rf_asInteger(device);
  if (Rf_isNull(x)) return finish(P.poly_ctx_set_device(context(), to)), x;
  if (!Rf_asLogical(itself)) return to == P.poly_array_device(array_of(x)) ? x : wrap(P.poly_array_to(array_of(x), to));
  finish(P.poly_array_move(array_of(x), to));
  return x;
}

SEXP r_clone(SEXP x) { return wrap(P.poly_array_clone(array_of(x))); }

/* Gradients */

/* TRUE, FALSE, or NULL where nobody has said. */
SEXP r_requires_grad(SEXP x) {
  int on = P.poly_array_requires_grad(array_of(x));
  if (on < 0) fail();
  return on ? Rf_ScalarLogical(1) : refusal(x);
}

SEXP r_set_requires_grad(SEXP x, SEXP value) {
  PolyArray *array = array_of(x);
  if (value != R_NilValue && (TYPEOF(value) != LGLSXP || Rf_xlength(value) != 1 || LOGICAL(value)[0] == NA_LOGICAL)) {
    raise_error("requires_grad: expected TRUE, FALSE or NULL");
  }
  int on = value != R_NilValue && LOGICAL(value)[0], dtype = describe(array).dtype;
  if (on && !is_float(dtype)) {
    raise_error("requires_grad: the tensor is %s, expected a floating type", P.poly_dtype_id_name(dtype));
  }
  if (P.poly_array_require_grad(array, on) != 0) fail();
  shared_of(x)->refuses = value != R_NilValue && !on;
  return x;
}

SEXP r_gradient_of(SEXP x) {
  PolyArray *grad;
  int has = P.poly_array_grad(array_of(x), &grad);
  if (has < 0) fail();
  return has ? wrap(grad) : R_NilValue;
}

SEXP r_set_gradient(SEXP x, SEXP gradient) {
  if (gradient != R_NilValue && !is_tensor(gradient)) {
    raise_error("grad: %s, expected a Tensor or NULL", Rf_type2char(TYPEOF(gradient)));
  }
  if (P.poly_array_set_grad(array_of(x), gradient == R_NilValue ? NULL : array_of(gradient)) != 0) fail();
  return R_NilValue;
}

SEXP r_backward(SEXP x, SEXP gradient) {
  PolyArray *array = array_of(x), *incoming = gradient == R_NilValue ? NULL : array_of(gradient);
  before_run();
  finish(P.poly_array_backward(array, incoming));
  return x;
}

SEXP r_gradient(SEXP x, SEXP targets, SEXP gradient, SEXP zeros) {
  PolyArray *array = array_of(x), *incoming = gradient == R_NilValue ? NULL : array_of(gradient);
  int n = (int)Rf_xlength(targets);
  const void *top = vmaxget();
  PolyArray **wrt = arrays_of("gradient: targets", targets), **out = (PolyArray **)R_alloc((size_t)n + 1, sizeof *out);
  before_run();
  int status = P.poly_array_gradient(array, wrt, n, incoming, Rf_asLogical(zeros), out), target;
  if (status != 0 && sscanf(P.poly_last_error(), "poly_array_gradient: targets[%d]: the tensor does not depend", &target) == 1) {
    raise_error("gradient: the tensor does not depend on target %d", target + 1);
  }
  finish(status);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) SET_VECTOR_ELT(list, i, wrap(out[i]));
  vmaxset(top);
  UNPROTECT(1);
  return list;
}

/* Modes */

/* Sets whether dropout drops; NULL only asks. Returns what it was before. */
SEXP r_training(SEXP on) {
  int before = P.poly_training(context(), on == R_NilValue ? -1 : Rf_asLogical(on));
  if (before < 0) fail();
  return Rf_ScalarLogical(before);
}

/* Begins or ends a region in which results do not require gradients. */
SEXP r_no_grad(SEXP on) {
  if (P.poly_no_grad(context(), Rf_asLogical(on)) < 0) fail();
  return R_NilValue;
}

/* After manual_seed(s) random numbers come from the library's stream, which are tinygrad's. Before it each tensor
 * begins anywhere, by R's generator, so that set.seed() makes them repeatable. */
static int manual;

SEXP r_manual_seed(SEXP seed) {
  Args a = begin("manual_seed");
  manual = seed != R_NilValue;
  uint64_t first = 0;
  if (manual && TYPEOF(seed) == STRSXP) {
    /* Numbers beyond 2^53 come as decimal digits. */
    char *end;
    const char *digits = arg_string(&a, seed, "seed");
    double size = strtod(digits, NULL);
    first = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end != 0 || size >= 18446744073709551616.0) {
      raise_error("manual_seed: seed: \"%.100s\", expected digits of a number below 2^64", digits);
    }
  } else if (manual) {
    first = (uint64_t)arg_int64(&a, seed, "seed");
  }
  if (manual && P.poly_seed(context(), first) != 0) fail();
  return R_NilValue;
}

/* Whoever draws random numbers calls it before. In a trace the runs draw. */
SEXP r_draw(void) {
  PolyCtx *ctx = context();
  if (draws_later() || manual) return R_NilValue;
  GetRNGstate();
  uint64_t high = (uint64_t)(unif_rand() * 4294967296.0), low = (uint64_t)(unif_rand() * 4294967296.0);
  PutRNGstate();
  if (P.poly_seed(ctx, high << 32 | low) != 0) fail();
  return R_NilValue;
}
