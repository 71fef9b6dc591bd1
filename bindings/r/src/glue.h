/* What the files of the glue share. R objects that stand for the library:
 *
 *   node    an external pointer to a Node. Its protected field holds the nodes
 *           that it was built from (one node, a list, or NULL), its tag NULL or
 *           a list of DATA (a raw vector: the memory of a leaf or of a computed
 *           node), ORIGIN (the lazy node that a computed one came from) and
 *           OWNER (a weak reference to the variable that wants the gradient).
 *   Tensor  an S4 object whose slot "ptr" is a variable: an external pointer
 *           whose protected field is the node that it stands for and whose tag
 *           is its gradient (a Tensor or NULL).
 */
#ifndef POLYGRAD_R_GLUE_H
#define POLYGRAD_R_GLUE_H

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R.h>
#include <Rinternals.h>
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
extern struct poly_api P;
PolyCtx *context(void); /* loads the library at the first call */
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
void watch_interrupts(void); /* from here on the library asks for Ctrl-C */
void finish(int status);     /* after a run: raises an interrupt or the library's error */
SEXP package_function(const char *name);

/* node.c */
typedef struct Node {
  PolyUOp *handle;
  int tracked; /* a gradient may be asked for through this node */
  int known;   /* dtype, ndim and dims are set */
  int dtype;
  int ndim;
  int64_t dims[POLY_MAX_DIMS];
  unsigned mark; /* the last walk that came here, see gradients.c */
  int slot;
} Node;

enum { DATA = 0, ORIGIN = 1, OWNER = 2 };

SEXP new_node(PolyUOp *handle, SEXP sources, int tracked);
Node *node_of(SEXP node);
const Node *describe(SEXP node);
SEXP extra(SEXP node, int what);
void set_extra(SEXP node, int what, SEXP value);
int64_t numel(const Node *n);
size_t bytes_of(const Node *n);
SEXP wrap(SEXP node); /* a new Tensor */
int is_tensor(SEXP x);
SEXP variable(SEXP x); /* of a Tensor; raises if it is none */
SEXP node_in(SEXP x);  /* the node of a Tensor */
void set_node(SEXP variable, SEXP node);
SEXP owner_of(SEXP node); /* the variable that wants the gradient, or NULL */
void set_owner(SEXP node, SEXP variable);
SEXP lazy(SEXP node);
SEXP new_leaf(SEXP data, int dtype, int ndim, const int64_t *dims);
void release_dead(void);

/* args.c: arguments from R */
typedef struct Args {
  const char *function;
  SEXP nodes[8]; /* the operands */
  int n;
  SEXP list; /* further operands */
  int tracked;
} Args;

Args begin(const char *function);
PolyUOp *arg_node(Args *a, SEXP x, const char *name);
PolyUOp **arg_nodes(Args *a, SEXP x, const char *name, int *n);
int arg_int(Args *a, SEXP x, const char *name);
int arg_position(Args *a, SEXP x, const char *name);
int64_t arg_int64(Args *a, SEXP x, const char *name);
int64_t *arg_numbers(Args *a, SEXP x, const char *name, int *n);
int64_t *arg_positions(Args *a, SEXP x, const char *name, int *n);
double arg_double(Args *a, SEXP x, const char *name);
double *arg_doubles(Args *a, SEXP x, const char *name, int *n);
int arg_dtype(Args *a, SEXP x, const char *name);
const char *arg_string(Args *a, SEXP x, const char *name);
SEXP made(Args *a, PolyUOp *handle); /* a Tensor from the result */
SEXP made_list(Args *a, int status, PolyUOp **out, int n);

/* arrays.c: R's vectors, column by column, and memory of tensors, row by row */
void to_storage(Args *a, SEXP data, int dtype, int ndim, const int64_t *dims, void *out);
SEXP from_storage(const void *memory, int dtype, int ndim, const int64_t *dims, int integer64);
int is_float(int dtype);
int64_t dims_of(SEXP data, int *ndim, int64_t *dims);
void set_dims(SEXP value, int ndim, const int64_t *dims);

/* instance.c */
SEXP to_raw(uint8_t *block, int n);

/* run.c: computing, and what changes tensors */
SEXP compute(SEXP nodes, SEXP targets, SEXP updates);
void realize(SEXP tensors);

/* step.c */
PolyUOp **handles(SEXP nodes); /* of a list of nodes */
void step_program(SEXP step, SEXP *results, SEXP *targets, SEXP *values);

/* trace.c */
int tracing(void);
void trace_change(SEXP variable, SEXP node);
void trace_gradient(SEXP variable);
void trace_seed(SEXP words);
void renew_seeds(SEXP seeds);

#endif
