/* What the files of the glue share. R objects that stand for the library:
 *
 *   node    an external pointer to a Node. Its protected field holds the nodes
 *           that it was built from (one node, a list, or NULL), its tag NULL or
 *           a list of DATA (a raw vector: the memory of a leaf or of a computed
 *           node), ORIGIN (the lazy node that a computed one came from), OWNER
 *           (a weak reference to the variable that wants the gradient), CELL
 *           (what the variables that stand for it stand for now, see views.c)
 *           and BACKWARD (how its gradient is computed, see gradients.c).
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
  int refused; /* somebody said that none shall be */
  int known;   /* dtype, ndim, dims and symbolic are set */
  int dtype;
  int ndim;
  int64_t dims[POLY_MAX_DIMS]; /* of its memory: symbolic sizes as the largest that they can be */
  int symbolic;
  int is_input;   /* it stands for an argument of a function that is being captured */
  unsigned mark;  /* the last walk that came here */
  uint64_t born;  /* how many nodes there were */
  /* views.c */
  int readers;    /* living nodes that are computed from this one and no views of it */
  int uncounted;  /* made by a traced function: no reader yet */
  int view;       /* a view of its only source: */
  struct Node *shown, *first_view, *next_view, *previous_view;
} Node;

enum { DATA = 0, ORIGIN = 1, OWNER = 2, CELL = 3, BACKWARD = 4, EXTRAS = 5 };

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
SEXP leaf_like(SEXP like, SEXP data, PolyVarBinding *vars, int n_vars);
SEXP shape_of_tensor(SEXP x);
uint64_t nodes_made(void);
void release_dead(void);

/* sizes.c: symbolic sizes */
int is_size(SEXP x);
int64_t size_number(SEXP x);
SEXP size_made(PolyUOp *handle);
void sizes_now(const Node *n, int64_t *dims);
void sizes_most(Node *n);
void sizes_given(const Node *n, int64_t *dims, PolyUOp **held, PolyVarBinding *vars, int n_vars);
void release_sizes(const Node *n, PolyUOp **held);

/* views.c: views and writing */
void note_node(SEXP node);
void forget_node(SEXP node);
void mark_view(const char *function, SEXP node);
SEXP root(SEXP node);
SEXP current(SEXP variable);
void become(SEXP before, SEXP after);
void pass_owner(SEXP before, SEXP after);
void cut_history(SEXP node);
int has_readers(SEXP node);
SEXP own_memory(SEXP node);
SEXP fitted(SEXP value, SEXP like);
int is_shown(SEXP node);

/* args.c: arguments from R */
typedef struct Args {
  const char *function;
  SEXP nodes[8]; /* the operands */
  int n;
  SEXP list; /* further operands */
  int tracked, refused, asked;
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
int is_integer64(SEXP x);
double number_at(SEXP data, R_xlen_t i);
void to_storage(Args *a, SEXP data, int dtype, int ndim, const int64_t *dims, void *out);
SEXP from_storage(const void *memory, int dtype, int ndim, const int64_t *dims, int integer64);
int is_float(int dtype);
int64_t dims_of(SEXP data, int *ndim, int64_t *dims);
void gather(const void *memory, int size, int ndim, const int64_t *dims, const int64_t *strides, int64_t offset, void *out);
void set_dims(SEXP value, int ndim, const int64_t *dims);

/* instance.c */
SEXP to_raw(uint8_t *block, int n);
int length32(SEXP raw, const char *function);
PolyInstance *instance_of(SEXP inst);
SEXP new_instance(PolyInstance *inst);

/* run.c: computing */
SEXP compute(SEXP nodes, SEXP targets, SEXP updates, int follow);
SEXP compute_one(SEXP node, int follow);
void realize(SEXP tensors);
SEXP realize_one(SEXP x);
const void *elements(SEXP node, int64_t *dims);

/* gradients.c: walks mark the nodes they have seen with a number of their own */
unsigned new_walk(void);
int first_visit(SEXP node, unsigned mark);
SEXP gradient_of(SEXP x);
SEXP gradient_on_the_way(SEXP node);
int n_sources(SEXP node);
SEXP source(SEXP node, int i);

/* step.c */
PolyUOp **handles(SEXP nodes); /* of a list of nodes */
void step_program(SEXP step, SEXP *results, SEXP *targets, SEXP *values);

/* trace.c */
int tracing(void);
const char *tracer(void);
int made_in_trace(const Node *n);
void trace_assign(SEXP variable, SEXP value);
void trace_replace(SEXP variable);
void trace_gradient(SEXP variable);
void trace_seed(SEXP words);
void renew_seeds(SEXP seeds);

#endif
