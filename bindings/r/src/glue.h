/* What the files of the glue share. */
#ifndef POLYGRAD_R_GLUE_H
#define POLYGRAD_R_GLUE_H

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <stdint.h>
#include <string.h>

#include "api.h"

#ifdef __GNUC__
#define NORETURN __attribute__((noreturn))
#define PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define NORETURN
#define PRINTF(a, b)
#endif

/* library.c: the shared library, its context, its errors */
struct poly_api *functions(void); /* loads the library at the first call, as context() */
#define P (*functions())
PolyCtx *context(void);
PolyCtx *context_or_null(void);
int is_asking(void); /* finalizers must then leave the library alone */
void missing(const char *name) NORETURN;
#define NEED(name) \
  do {             \
    context();     \
    if (P.name == NULL) missing(#name); \
  } while (0)
void raise_error(const char *format, ...) NORETURN PRINTF(1, 2);
void fail(void) NORETURN; /* raises the last error of the library */
void fail_in(const char *function, const char *text) NORETURN; /* the same as an error of a function */
void watch_interrupts(void); /* from here on the library asks for Ctrl-C */
void finish(int status);     /* after a run: raises an interrupt or the library's error */
SEXP package_function(const char *name);
SEXP quoted(SEXP x); /* an argument of a call that is not evaluated */
SEXP call_package(const char *name, SEXP x, SEXP y); /* y may be NULL; neither is evaluated */

/* Other objects of the library are external pointers whose tag is the function that releases them, which tells the
 * kinds apart; kept stays as long as they do. */
typedef void (*Release)(void *);
#define RELEASE(name) ((Release)P.name)
SEXP owned(void *object, Release release, SEXP kept); /* NULL raises the library's error */
void *held(SEXP x, Release release, const char *what);
void make_unsaved(DllInfo *dll);
void let_go(SEXP x); /* before the collector does */

/* tensor.c: handles of arrays, and their values */
typedef struct Shape {
  int ndim, dtype, symbolic; /* symbolic: a size is -1 */
  int64_t dims[POLY_MAX_DIMS];
} Shape;

int is_tensor(SEXP x);
PolyArray *array_of(SEXP x); /* of a Tensor; raises if it is none */
int same_tensor(SEXP x, SEXP y);
void set_array(SEXP x, PolyArray *array);
void refuse_gradient(SEXP x);  /* requires_grad is FALSE */
void written(void);            /* whoever writes to Tensors says so before */
void make_classes(DllInfo *dll);
SEXP wrap(PolyArray *array); /* a new Tensor; NULL raises the library's error */
PolyArray **arrays_of(const char *what, SEXP tensors);
Shape describe(PolyArray *array);
int64_t sizes_now(PolyArray *array, Shape *shape); /* values for symbolic sizes; the number of elements */
SEXP new_tensor(int dtype, int ndim, const int64_t *dims, const void *data);
PolyArray *cast(PolyArray *array, int dtype);
int is_float(int dtype); /* or complex */
void read_values(PolyArray *array, void *out, int64_t bytes);
void before_run(void); /* gives back what is not needed any more */

/* sizes.c: symbolic sizes */
int is_size(SEXP x);
PolyUOp *size_handle(SEXP x);
SEXP size_made(PolyUOp *handle);

/* args.c: arguments from R */
typedef struct Args {
  const char *function;
} Args;

Args begin(const char *function);
const char *kind_of(SEXP x);
const char *given_for_one(SEXP x);
int is_plain(SEXP x); /* no object of a class such as factor or Date */
int64_t whole_at(const char *function, const char *name, SEXP x, R_xlen_t i);
int arg_int(Args *a, SEXP x, const char *name);
int64_t arg_int64(Args *a, SEXP x, const char *name);
double arg_double(Args *a, SEXP x, const char *name);
double *arg_doubles(Args *a, SEXP x, const char *name, int *n);
int arg_dtype(Args *a, SEXP x, const char *name);
const char *arg_string(Args *a, SEXP x, const char *name);

/* function.c */
int tracing(void);
int draws_later(void); /* whether a function is traced, whose runs draw random numbers */

/* operators.c */
int is_number(SEXP x);
int number_args(SEXP x, PolyCallArg *out); /* two of a complex number; returns how many */
SEXP tensor_of(SEXP x, SEXP beside, const char *what); /* what is named in errors */
SEXP operand(SEXP value, SEXP like, const char *what); /* a number takes its type from the tensor it meets */

/* call.c: operations by name */
SEXP from_zero(SEXP positions);

/* arrays.c: R's vectors, column by column, and memory of tensors, row by row */
int is_integer64(SEXP x);
double number_at(SEXP data, R_xlen_t i);
void to_storage(Args *a, SEXP data, int dtype, int ndim, const int64_t *dims, void *out);
SEXP from_storage(const void *memory, int dtype, int ndim, const int64_t *dims, int integer64);
int64_t dims_of(SEXP data, int *ndim, int64_t *dims);
void gather(const void *memory, int size, int ndim, const int64_t *dims, const int64_t *strides, int64_t offset, void *out);
void set_dims(SEXP value, int ndim, const int64_t *dims);

/* instance.c */
SEXP to_raw(uint8_t *block, int n);
int length32(SEXP raw, const char *function);
PolyInstance *instance_of(SEXP inst);
SEXP new_instance(PolyInstance *inst);

#include "calls.h"

#endif
