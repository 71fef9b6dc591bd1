/* polygrad.h - tensors, gradients and a compiler behind one flat C interface.
 *
 * This file is the manual of the library.
 *
 * A program builds a graph of nodes (PolyUOp); nothing is computed while it is
 * built. poly_realize and its relatives compile the graph into kernels, run
 * them on memory of the caller and return. What was compiled once is kept: the
 * same computation on other buffers only looks it up and runs it.
 *
 *     PolyCtx *ctx = poly_ctx_new();
 *     int64_t shape[1] = {3};
 *     float in[3] = {1, 2, 3}, out[3];
 *     PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, sizeof in);
 *     PolyUOp *y = poly_exp(ctx, poly_square(ctx, x));
 *     void *to[1] = {out};
 *     if (poly_realize_into(ctx, &y, to, 1, NULL) != 0)
 *         fprintf(stderr, "%s\n", poly_last_error());
 *     poly_ctx_destroy(ctx);
 *
 * CONTENTS
 *   Types; The library; Contexts; Nodes; Operations by name; Arrays; Symbolic
 *   sizes; Creation; Random numbers;
 *   Elementwise: one operand; Elementwise: two and three operands; Movement;
 *   Indexing and joining; Reductions; Convolution and pooling; Linear algebra;
 *   Hashes; Losses; Training; Gradients; Running; Jobs; Compiled steps; WASM plans;
 *   Instances; Generating text; Files of models; Files of tensors; Data types as
 *   records; Graphs, node by node; Tensors with memory; Schedules and plans;
 *   Views; Models as nodes; Graphs as files.
 *
 * HANDLES
 *   PolyCtx, PolyUOp, PolyStep, PolyJob, PolyInstance and their like are opaque.
 *   Their pointers are tokens: they look like addresses, point to nothing, are
 *   checked on every call and never used twice. NULL, a handle that was
 *   released, one of another kind or of another context is an error, not a
 *   crash.
 *
 * OWNERSHIP
 *   A node lives in its context. Nodes are immutable, and equal nodes (same
 *   operation, type, sources and argument) are one node with one handle. Every
 *   function that returns a node adds one reference to it; poly_uop_release
 *   gives it back. A program that never releases anything is correct too:
 *   poly_ctx_destroy frees all that belongs to the context. A released node
 *   stays part of the graphs that were built on it.
 *   Memory given to the library stays the caller's. Byte blocks that the
 *   library returns ("malloc'd") belong to the caller, who calls free().
 *   Strings that it returns belong to the library.
 *
 * ERRORS
 *   Functions that return a pointer return NULL, functions that return int
 *   return -1 (where not stated otherwise), and poly_last_error() says which
 *   function and argument failed, what was given and what was expected.
 *   Nothing else is changed by a call that fails. A NULL node as an operand
 *   makes the result NULL and keeps the first error, so a chain of calls may be
 *   checked once, at its end. Zero-size and scalar tensors are errors only where
 *   no result is defined: argmax of no elements, the decomposition of a matrix
 *   without rows.
 *
 * SHAPES
 *   A shape is an array of int64_t and a count (ndim, 0 for a scalar; the array
 *   may then be NULL). Shapes broadcast by NumPy's rule. Axes may be negative
 *   and then count from the end. Functions of the original interface take the
 *   operand's shape from the caller ("shape, ndim"); NULL for the shape means:
 *   use the node's own. A shape that differs from the node's, with the same
 *   number of elements, reshapes it first. Out-shapes (shape_out, ndim_out) may
 *   be NULL; they receive at most POLY_MAX_OUT_DIMS dimensions, so int64_t[8]
 *   is enough.
 *
 * TYPES
 *   A data type is a number (PolyDTypeId). Operands of different types are
 *   promoted by one lattice: bool < signed and unsigned integers < fp8 <
 *   float16, bfloat16 < float32 < float64. Numbers given as C arguments are
 *   weak: they take the type of the tensor they meet where it can hold them.
 *
 * THREADS
 *   Every function may be called from every thread. Calls on one context are
 *   serialized. Contexts run in parallel, except that only one at a time compiles
 *   new kernels. The last error is kept for each thread. Objects outlive the
 *   thread that made them.
 *
 * SIGNALS
 *   They belong to the program: the library's threads do not take them, and
 *   handlers stay as they are, except that they get SA_ONSTACK, since a call may
 *   run on a small stack. Another library written in Go may live in the same
 *   process. dlclose leaves the library in the process, as Go's are.
 *
 * FORK
 *   The library does not survive fork() once it is loaded: every call in the
 *   child fails with an error that says so, without hanging. Start workers by
 *   exec ("spawn"), or load the library in the child only.
 *
 * SINCE
 *   1.0 is the original interface (Python, JavaScript and R frontends written
 *   for it work unchanged); 2.0 marks what this library added.
 */
#ifndef POLYGRAD_H
#define POLYGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POLY_API extern __attribute__((visibility("default")))

/* The number poly_abi_version returns: the layout of records and prototypes. */
#define POLY_ABI_VERSION 1

/* The version of this header, and of a library that was built with it. */
#define POLY_VERSION "2.0.0"

/* No out-shape is longer; graphs themselves may have up to POLY_MAX_DIMS. */
#define POLY_MAX_OUT_DIMS 8
#define POLY_MAX_DIMS 16

/* ======================================================================== */
/* Types                                                                    */
/* ======================================================================== */

typedef struct PolyCtx PolyCtx;                   /* a graph and what runs it */
typedef struct PolyUOp PolyUOp;                   /* a node of the graph */
typedef struct PolyStep PolyStep;                 /* a compiled program */
typedef struct PolyInstance PolyInstance;         /* a model with its memory */
typedef struct PolyWasmStepPlan PolyWasmStepPlan; /* a program as WASM modules */

/* Data types by number. INDEX and VOID are types of nodes, not of tensors. */
typedef enum PolyDTypeId {
  POLY_DTYPE_VOID = 0,
  POLY_DTYPE_BOOL = 1,
  POLY_DTYPE_INT8 = 2,
  POLY_DTYPE_UINT8 = 3,
  POLY_DTYPE_INT16 = 4,
  POLY_DTYPE_UINT16 = 5,
  POLY_DTYPE_INT32 = 6,
  POLY_DTYPE_UINT32 = 7,
  POLY_DTYPE_INT64 = 8,
  POLY_DTYPE_UINT64 = 9,
  POLY_DTYPE_FLOAT16 = 10,
  POLY_DTYPE_BFLOAT16 = 11,
  POLY_DTYPE_FLOAT32 = 12,
  POLY_DTYPE_FLOAT64 = 13,
  POLY_DTYPE_INDEX = 14,
  POLY_DTYPE_FP8E4M3 = 15, /* since 2.0 */
  POLY_DTYPE_FP8E5M2 = 16  /* since 2.0 */
} PolyDTypeId;

/* Devices by number. AUTO and CPU select the device in the environment variable
 * POLY_DEVICE, or else machine code of this processor (X64_JIT); where that
 * cannot be (another processor, no executable memory), WebAssembly (WASM_JIT). */
typedef enum PolyDeviceId {
  POLY_DEVICE_AUTO = 0,
  POLY_DEVICE_CPU = 1,
  POLY_DEVICE_INTERP = 2,
  POLY_DEVICE_CUDA = 3,
  POLY_DEVICE_WASM_JIT = 4,
  POLY_DEVICE_WEBGPU = 5,
  POLY_DEVICE_X64_JIT = 6,
  POLY_DEVICE_CLANG = 7 /* since 2.0 */
} PolyDeviceId;

/* Operations of nodes, as poly_op_name numbers them. */
typedef int PolyOps;
enum {
  POLY_OP_INVALID = 0,
  POLY_OP_DEFINE_VAR = 1,
  POLY_OP_BIND = 2,
  POLY_OP_SPECIAL = 3,
  POLY_OP_DEFINE_LOCAL = 4,
  POLY_OP_DEFINE_REG = 5,
  POLY_OP_NOOP = 6,
  POLY_OP_REWRITE_ERROR = 7,
  POLY_OP_PARAM = 8,
  POLY_OP_CALL = 9,
  POLY_OP_PROGRAM = 10,
  POLY_OP_LINEAR = 11,
  POLY_OP_SOURCE = 12,
  POLY_OP_BINARY = 13,
  POLY_OP_SINK = 14,
  POLY_OP_AFTER = 15,
  POLY_OP_GROUP = 16,
  POLY_OP_GEP = 17,
  POLY_OP_VECTORIZE = 18,
  POLY_OP_INDEX = 19,
  POLY_OP_LOAD = 20,
  POLY_OP_STORE = 21,
  POLY_OP_WMMA = 22,
  POLY_OP_CAST = 23,
  POLY_OP_BITCAST = 24,
  POLY_OP_EXP2 = 25,
  POLY_OP_LOG2 = 26,
  POLY_OP_SIN = 27,
  POLY_OP_SQRT = 28,
  POLY_OP_RECIPROCAL = 29,
  POLY_OP_NEG = 30,
  POLY_OP_TRUNC = 31,
  POLY_OP_ADD = 32,
  POLY_OP_MUL = 33,
  POLY_OP_SHL = 34,
  POLY_OP_SHR = 35,
  POLY_OP_IDIV = 36,
  POLY_OP_MAX = 37,
  POLY_OP_MOD = 38,
  POLY_OP_CMPLT = 39,
  POLY_OP_CMPNE = 40,
  POLY_OP_CMPEQ = 41,
  POLY_OP_XOR = 42,
  POLY_OP_OR = 43,
  POLY_OP_AND = 44,
  POLY_OP_THREEFRY = 45,
  POLY_OP_SUB = 46,
  POLY_OP_FDIV = 47,
  POLY_OP_POW = 48,
  POLY_OP_WHERE = 49,
  POLY_OP_MULACC = 50,
  POLY_OP_BARRIER = 51,
  POLY_OP_RANGE = 52,
  POLY_OP_IF = 53,
  POLY_OP_END = 54,
  POLY_OP_ENDIF = 55,
  POLY_OP_VCONST = 56,
  POLY_OP_CONST = 57,
  POLY_OP_CUSTOM = 58,
  POLY_OP_CUSTOMI = 59,
  POLY_OP_INS = 60,
  POLY_OP_UNIQUE = 61,
  POLY_OP_DEVICE = 62,
  POLY_OP_ASSIGN = 63,
  POLY_OP_LUNIQUE = 64,
  POLY_OP_CONTIGUOUS = 65,
  POLY_OP_CONTIGUOUS_BACKWARD = 66,
  POLY_OP_DETACH = 67,
  POLY_OP_BUFFERIZE = 68,
  POLY_OP_COPY = 69,
  POLY_OP_BUFFER = 70,
  POLY_OP_BUFFER_VIEW = 71,
  POLY_OP_MSELECT = 72,
  POLY_OP_MSTACK = 73,
  POLY_OP_ENCDEC = 74,
  POLY_OP_RESHAPE = 75,
  POLY_OP_PERMUTE = 76,
  POLY_OP_EXPAND = 77,
  POLY_OP_PAD = 78,
  POLY_OP_SHRINK = 79,
  POLY_OP_FLIP = 80,
  POLY_OP_MULTI = 81,
  POLY_OP_REDUCE_AXIS = 82,
  POLY_OP_REDUCE = 83,
  POLY_OP_ALLREDUCE = 84,
  POLY_OP_UNROLL = 85,
  POLY_OP_CONTRACT = 86,
  POLY_OP_CAT = 87,
  POLY_OP_PTRCAT = 88
};

/* A data type as a record, see section "data types as records". */
typedef struct PolyDType {
  int8_t priority;
  uint16_t bitsize;
  const char *name;
  char fmt;
  uint16_t count;
  bool is_ptr;
  int32_t addrspace;
  uint16_t vcount;
  int64_t ptr_size;
} PolyDType;

/* Memory behind a PolyBufferBinding. Only ptr is read. */
typedef struct PolyBufferHandle {
  void *ptr;
  size_t nbytes;
  int32_t domain;
  bool owned;
} PolyBufferHandle;

/* A buffer and the caller's memory for it. There are two layouts: this one of
 * 32 bytes, and an older one of 16 bytes, {buffer, void *data}. Functions that
 * take an array of bindings accept both: what stands at offset 16 is a node in
 * the older layout and a byte count in this one, and handles do not look like
 * byte counts. */
typedef struct PolyBufferBinding {
  PolyUOp *buffer;
  PolyBufferHandle handle;
} PolyBufferBinding;

/* A variable and its value. */
typedef struct PolyVarBinding {
  PolyUOp *var;
  int32_t value;
} PolyVarBinding;

/* A named array of float32 for an instance. */
typedef struct PolyIOBinding {
  const char *name;
  float *data;
} PolyIOBinding;

/* What poly_step_buffer_info tells about a buffer of a step. */
typedef struct PolyStepBufferInfo {
  int32_t version; /* 1 */
  int32_t index;
  int32_t role; /* PolyStepBufferRole */
  PolyDType dtype;
  int64_t numel;
  int64_t nbytes;
} PolyStepBufferInfo;

typedef enum PolyStepBufferRole {
  POLY_STEP_BUFFER_INPUT = 0,
  POLY_STEP_BUFFER_OUTPUT = 1,
  POLY_STEP_BUFFER_TEMP = 2,
  POLY_STEP_BUFFER_CONSTANT = 3
} PolyStepBufferRole;

/* ======================================================================== */
/* The library                                                              */
/* ======================================================================== */

/* POLY_ABI_VERSION of the library that was loaded. Since 1.0. */
POLY_API int poly_abi_version(void);

/* The version of the library, "major.minor.patch". Since 2.0. */
POLY_API const char *poly_version(void);

/* How the library was built, as "key=value" separated by blanks: version, go (of
 * the compiler), os, arch, and, if the source was under version control, its
 * revision and whether it was modified. Since 2.0. */
POLY_API const char *poly_build_info(void);

/* What went wrong in the last call of this thread that failed: one line of
 * UTF-8, "function: argument: given, expected". "" if the last call succeeded.
 * Never NULL. Valid until the thread's next call. This function and
 * poly_clear_error do not count as calls. Since 2.0. */
POLY_API const char *poly_last_error(void);

/* Forgets the last error of this thread. Since 2.0. */
POLY_API void poly_clear_error(void);

/* Number of operation codes, the unused 0 included. Since 1.0. */
POLY_API int poly_op_count(void);

/* Name of an operation code: "ADD" for 32; "INVALID" for 0; "UNKNOWN" outside
 * 0 .. poly_op_count()-1. Never NULL, never freed. Since 1.0. */
POLY_API const char *poly_op_name(PolyOps op);

/* Name of a data type, "float32" for POLY_DTYPE_FLOAT32; NULL if there is no
 * such type. Since 2.0. */
POLY_API const char *poly_dtype_id_name(int dtype);

/* Bytes of one element; -1 if dtype is not the type of a tensor. Since 2.0. */
POLY_API int poly_dtype_id_size(int dtype);

/* The data type of a name; -1 if there is none. Since 2.0. */
POLY_API int poly_dtype_id_parse(const char *name);

/* The smallest type that holds values of both types, by the promotion lattice;
 * -1 if one is not the type of a tensor. Since 2.0. */
POLY_API int poly_dtype_id_promote(int a, int b);

/* Number of devices that the library knows. Since 2.0. */
POLY_API int poly_device_count(void);

/* Name of the i-th device: "CPU", "INTERP", "CUDA", …; NULL outside
 * 0 .. poly_device_count()-1. Since 2.0. */
POLY_API const char *poly_device_name(int i);

/* 1 if a device can run kernels in this process, 0 if not. Since 2.0. */
POLY_API int poly_device_available(int device);

/* Empties the caches of compiled kernels, plans and schedules of every context.
 * Since 1.0. */
POLY_API void poly_cpu_cache_flush(void);
POLY_API void poly_sched_cache_flush(void);

/* Asked between the kernels of a run, at most every 10 ms, in the thread that
 * called the library: any result but 0 ends the run with an error, "interrupted".
 * It must not call the library. */
typedef int (*PolyPollFn)(void *data);

/* Lets a host with signals of its own (Ctrl-C) stop long runs: from then on
 * all runs of the process call poll; NULL ends that. The outputs of an
 * interrupted run are undefined. Since 2.0. */
POLY_API void poly_set_poll(PolyPollFn poll, void *data);

/* ======================================================================== */
/* Contexts                                                                 */
/* ======================================================================== */

/* A new, empty context, which runs kernels on the device that the environment
 * variable POLY_DEVICE names: "native" (the default), "wasm", "interp", "clang"
 * or "reference", whose contexts compose operations as tinygrad does and run its
 * kernels. Since 1.0. */
POLY_API PolyCtx *poly_ctx_new(void);

/* Ends a context: all its nodes, buffers and compiled programs. Handles that
 * belonged to it are stale from then on. NULL and stale contexts are ignored.
 * Since 1.0. */
POLY_API void poly_ctx_destroy(PolyCtx *ctx);

/* Number of live handles to nodes of a context, and of values that its arrays have,
 * -1 on error; for leak tests. Since 2.0. */
POLY_API int64_t poly_ctx_live_nodes(PolyCtx *ctx);

/* ======================================================================== */
/* Nodes                                                                    */
/* ======================================================================== */

/* Gives one reference to a node back; with the last one the handle becomes
 * stale, and host memory that was bound to it (poly_buffer_host) is no longer
 * used. NULL, stale handles and a destroyed context are ignored, so finalizers
 * may run in any order. Since 2.0. */
POLY_API void poly_uop_release(PolyCtx *ctx, PolyUOp *x);

/* poly_uop_release for n nodes in one call. Since 2.0. */
POLY_API void poly_uop_release_n(PolyCtx *ctx, PolyUOp **xs, int n);

/* Adds a reference to a node and returns it. Since 2.0. */
POLY_API PolyUOp *poly_uop_retain(PolyCtx *ctx, PolyUOp *x);

/* Number of dimensions of a node; -1 on error, also if the node has no shape
 * (a STORE, a SINK). Since 2.0. */
POLY_API int poly_ndim(PolyCtx *ctx, PolyUOp *x);

/* Writes the first cap dimensions of a node into dims, symbolic sizes as the
 * largest they can be, and returns their full number, -1 on error. Since 2.0. */
POLY_API int poly_shape(PolyCtx *ctx, PolyUOp *x, int64_t *dims, int cap);

/* Number of elements of a node, the largest if it is symbolic, -1 on error.
 * Since 2.0. */
POLY_API int64_t poly_numel(PolyCtx *ctx, PolyUOp *x);

/* Data type of a node (PolyDTypeId), -1 on error. Since 2.0. */
POLY_API int poly_dtype(PolyCtx *ctx, PolyUOp *x);

/* Shape and data type in one call: dims, their number (returned) and *dtype.
 * Symbolic sizes are written as -1 (see poly_size_of). -1 on error. Since 2.0. */
POLY_API int poly_describe(PolyCtx *ctx, PolyUOp *x, int64_t *dims, int cap, int *dtype);

/* Operation of a node, -1 on error. Since 2.0. */
POLY_API int poly_uop_op(PolyCtx *ctx, PolyUOp *x);

/* The graph below a node as text, one node a line; malloc'd. Since 2.0. */
POLY_API char *poly_uop_print(PolyCtx *ctx, PolyUOp *x);

/* The graph of root with every from[i] replaced by to[i]. root itself if n is
 * 0. Since 1.0. */
POLY_API PolyUOp *poly_uop_substitute(PolyCtx *ctx, PolyUOp *root, PolyUOp **from, PolyUOp **to, int n);

/* ======================================================================== */
/* Operations by name                                                       */
/* ======================================================================== */
/* Every operation of docs/api.md can be called by its name, with its parameters in
 * the order of its description:
 *
 *     PolyCallArg args[] = {POLY_PASS_T(x), POLY_PASS_I(-1), POLY_PASS_B(true)};
 *     PolyUOp *sum;
 *     if (poly_call(ctx, poly_op("sum"), args, 3, &sum, 1) != 1)
 *       puts(poly_last_error()); // x.sum(axis=-1, keepdim=true)
 */

/* The kinds of arguments. In parentheses: the member of PolyCallArg.as that is
 * read. n counts what a pointer points to, or what follows in the array. */
typedef enum PolyCallKind {
  POLY_CALL_NONE = 0,     /* not given: the default of the parameter; in an index, a new axis */
  POLY_CALL_BOOL = 1,     /* (i) */
  POLY_CALL_INT = 2,      /* (i) */
  POLY_CALL_UINT = 3,     /* (i) as uint64_t */
  POLY_CALL_FLOAT = 4,    /* (f); without a fraction it stands for an integer too */
  POLY_CALL_TENSOR = 5,   /* (p) a node */
  POLY_CALL_SIZE = 6,     /* (p) a node that is a symbolic size */
  POLY_CALL_DTYPE = 7,    /* (i) a PolyDTypeId */
  POLY_CALL_TEXT = 8,     /* (p) ends with a 0 */
  POLY_CALL_CHARS = 9,    /* a text of n bytes, which follow, in whole elements of the array */
  POLY_CALL_LIST = 10,    /* the n arguments that follow */
  POLY_CALL_INTS = 11,    /* (p) n int64_t */
  POLY_CALL_FLOATS = 12,  /* (p) n double */
  POLY_CALL_TENSORS = 13, /* (p) n nodes */
  POLY_CALL_SLICE = 14,   /* of an index: start, stop and step follow, NONE leaves one open */
  POLY_CALL_ELLIPSIS = 15 /* of an index: all axes that no other item is for */
} PolyCallKind;

/* An argument. A parameter of several numbers takes a single one as a list of
 * one; names with sizes are a list in which each name stands before its size. */
typedef struct PolyCallArg {
  int32_t kind; /* PolyCallKind */
  int32_t n;
  union {
    int64_t i;
    double f;
    const void *p;
  } as;
} PolyCallArg;

#define POLY_PASS_NONE ((PolyCallArg){.kind = POLY_CALL_NONE})
#define POLY_PASS_B(b) ((PolyCallArg){.kind = POLY_CALL_BOOL, .as = {.i = (b) != 0}})
#define POLY_PASS_I(n) ((PolyCallArg){.kind = POLY_CALL_INT, .as = {.i = (n)}})
#define POLY_PASS_F(x) ((PolyCallArg){.kind = POLY_CALL_FLOAT, .as = {.f = (x)}})
#define POLY_PASS_T(x) ((PolyCallArg){.kind = POLY_CALL_TENSOR, .as = {.p = (x)}})
#define POLY_PASS_DTYPE(id) ((PolyCallArg){.kind = POLY_CALL_DTYPE, .as = {.i = (id)}})
#define POLY_PASS_TEXT(s) ((PolyCallArg){.kind = POLY_CALL_TEXT, .as = {.p = (s)}})
#define POLY_PASS_INTS(p_, n_) ((PolyCallArg){.kind = POLY_CALL_INTS, .n = (n_), .as = {.p = (p_)}})
#define POLY_PASS_TENSORS(p_, n_) ((PolyCallArg){.kind = POLY_CALL_TENSORS, .n = (n_), .as = {.p = (p_)}})

/* The number of an operation, which may differ from one version of the library to
 * the next; -1 if there is none of that name. Since 2.0. */
POLY_API int poly_op(const char *name);

/* Calls an operation on nodes: args are its operand (of a method), or list of
 * operands (cat, stack, einsum …), if it has one, and its parameters; what is left
 * out at the end takes its default. Writes the results, at most room of them, to
 * out and returns how many there are: if there are more than room, nothing is
 * written, and the call may be made again. -1 on error, which names the operation
 * and the parameter. Operations that draw random numbers are an error. An operation
 * whose result's shape depends on values (nonzero, masked_select) computes
 * those. Since 2.0. */
POLY_API int poly_call(PolyCtx *ctx, int op, const PolyCallArg *args, int n, PolyUOp **out, int room);

/* ======================================================================== */
/* Arrays                                                                   */
/* ======================================================================== */
/* An array is what Tensor stands for in the other languages: a variable whose
 * value is a node. Its elements are computed when they are needed, it can be
 * written, views of it show what is written, and it can have a gradient.
 *
 *     PolyCtx *ctx = poly_ctx_new();
 *     float data[] = {1, 2, 3};
 *     PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){3}, 1, data, sizeof data);
 *     poly_array_require_grad(x, 1);
 *     PolyArray *squares = poly_array_binary(POLY_MUL, x, x), *sum, *grad;
 *     poly_array_call(ctx, poly_op("sum"), (PolyCallArg[]){POLY_PASS_T(squares)}, 1, &sum, 1);
 *     poly_array_backward(sum, NULL);
 *     poly_array_grad(x, &grad);
 *     poly_array_read(grad, data, sizeof data); // 2, 4, 6
 *
 * What was made of an array keeps the elements that the array had at that time:
 * where somebody else still needs them, a write goes to other memory, else it is in
 * place. A function that returns a PolyArray gives a reference, which ends with
 * poly_array_release. */

typedef struct PolyArray PolyArray;       /* an array */
typedef struct PolyPin PolyPin;           /* memory of an array that the caller sees */
typedef struct PolyFunction PolyFunction; /* a function of arrays, compiled */

/* An array with a copy of elements in row-major order, zeros if data is NULL.
 * nbytes is their size. Since 2.0. */
POLY_API PolyArray *poly_array_new(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, const void *data, size_t nbytes);

/* An array on the caller's memory: what is written to the array arrives there. The
 * memory must stay valid until poly_array_released has returned the token, which is
 * the caller's, or the context is destroyed. Since 2.0. */
POLY_API PolyArray *poly_array_share(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, void *data, size_t nbytes, uint64_t token);

/* Writes at most room tokens of poly_array_share whose memory is no longer used,
 * each once, and returns their number; -1 on error. Since 2.0. */
POLY_API int poly_array_released(PolyCtx *ctx, uint64_t *tokens, int room);

/* One more reference to an array, by a handle of its own. Since 2.0. */
POLY_API PolyArray *poly_array_retain(PolyArray *x);

/* Ends the reference of a handle, or of n handles. NULL and stale handles are
 * ignored, so finalizers may run in any order. Since 2.0. */
POLY_API void poly_array_release(PolyArray *x);
POLY_API void poly_array_release_n(PolyArray **xs, int n);

/* The node that an array stands for now. Since 2.0. */
POLY_API PolyUOp *poly_array_node(PolyArray *x);

/* The node by which the elements of a computed array were computed, as far as it is
 * known, to look at; else its node. Since 2.0. */
POLY_API PolyUOp *poly_array_origin(PolyArray *x);

/* An array of a node that was made of the nodes of n arrays. Since 2.0. */
POLY_API PolyArray *poly_array_of(PolyCtx *ctx, PolyUOp *node, PolyArray **from, int n);

/* Shape and data type: the first room sizes, symbolic ones as -1, and *dtype (both
 * may be NULL). Returns the number of dimensions, -1 on error. Since 2.0. */
POLY_API int poly_array_describe(PolyArray *x, int64_t *shape, int room, int *dtype);

/* poly_call on arrays. An operation that shows elements of its operand makes a view
 * of it; random numbers come from the context (see poly_seed). Since 2.0. */
POLY_API int poly_array_call(PolyCtx *ctx, int op, const PolyCallArg *args, int n, PolyArray **out, int room);

/* a op b, by PolyBinaryOp. Since 2.0. */
POLY_API PolyArray *poly_array_binary(int op, PolyArray *a, PolyArray *b);

/* x op number, or number op x if reversed: a POLY_CALL_BOOL, INT, UINT or FLOAT,
 * which takes its type from x. Since 2.0. */
POLY_API PolyArray *poly_array_binary_number(int op, PolyArray *x, const PolyCallArg *number, int reversed);

/* Computes n arrays in one program. Since 2.0. */
POLY_API int poly_array_realize(PolyArray **xs, int n);

/* poly_array_realize that returns at once; poly_job_wait tells when the arrays are
 * computed. Jobs run one after the other, and whatever else computes waits for them.
 * What is written meanwhile does not change the values, except memory of the caller.
 * Since 2.0. */
typedef struct PolyJob PolyJob;
POLY_API PolyJob *poly_array_realize_async(PolyCtx *ctx, PolyArray **xs, int n);

/* 1 if the elements, or those that the array is a view of, are computed. Since 2.0. */
POLY_API int poly_array_is_computed(PolyArray *x);

/* 1 if an array shows elements of another one, or of one that is gone. Since 2.0. */
POLY_API int poly_array_is_view(PolyArray *x);

/* Computes an array and copies its elements, of nbytes, in row-major order. Since 2.0. */
POLY_API int poly_array_read(PolyArray *x, void *out, size_t nbytes);

/* Computes an array and writes where its first element lies and the distances of
 * neighbours along each axis, in elements (strides and writable may be NULL). The
 * memory stays until poly_array_unpin; who writes there writes the array, unless
 * *writable is 0: elements that do not lie in regular steps are copied. Since 2.0. */
POLY_API PolyPin *poly_array_pin(PolyArray *x, void **data, int64_t *strides, int room, int *writable);

/* Ends the use of memory, also after the end of the context. Since 2.0. */
POLY_API void poly_array_unpin(PolyPin *pin);

/* Gives an array the elements of value, an array (POLY_PASS_T) of its type or a
 * number, broadcast to its shape. Since 2.0. */
POLY_API int poly_array_assign(PolyArray *x, const PolyCallArg *value);

/* poly_array_assign through which gradients flow: for operations in place. An array
 * that requires a gradient itself only takes the elements. Since 2.0. */
POLY_API int poly_array_update(PolyArray *x, const PolyCallArg *value);

/* Assigns n arrays; all values are computed from the elements before, in one
 * program. Since 2.0. */
POLY_API int poly_array_assign_n(PolyArray **targets, PolyArray **values, int n);

/* Gives the elements that an index selects those of value: n items, each a
 * POLY_CALL_INT, SLICE, TENSOR (of positions, or a mask), NONE (a new axis) or ELLIPSIS. Since 2.0. */
POLY_API int poly_array_set(PolyArray *x, const PolyCallArg *items, int n, const PolyCallArg *value);

/* Lets an array stand for what another one stands for: a write to one is seen in
 * both. Since 2.0. */
POLY_API int poly_array_replace(PolyArray *x, PolyArray *by);

/* A view through which no gradient flows. Since 2.0. */
POLY_API PolyArray *poly_array_detach(PolyArray *x);

/* An array with the same elements, of its own: they share memory until one of them
 * is written. Since 2.0. */
POLY_API PolyArray *poly_array_clone(PolyArray *x);

/* The bytes of memory of all arrays of the process, without memory of the caller.
 * Since 2.0. */
POLY_API int64_t poly_array_memory(void);

/* Says whether poly_array_backward gives an array a gradient, and tells whether it
 * does, or gives one to what the array is computed from (1, 0, -1 on error). Since 2.0. */
POLY_API int poly_array_require_grad(PolyArray *x, int on);
POLY_API int poly_array_requires_grad(PolyArray *x);

/* Computes the gradients of an array for all arrays that require one and adds them
 * to those they have. gradient is the gradient that comes in, of the shape of x;
 * NULL for an array of one element. Since 2.0. */
POLY_API int poly_array_backward(PolyArray *x, PolyArray *gradient);

/* poly_array_backward that returns at once, as poly_array_realize_async does; the
 * arrays have their gradients at once. Since 2.0. */
POLY_API PolyJob *poly_array_backward_async(PolyArray *x, PolyArray *gradient);

/* Writes the gradients of x with respect to n arrays to out and stores none. An
 * array on which x does not depend has a gradient of zeros if zeros is not 0, and is
 * an error else. Since 2.0. */
POLY_API int poly_array_gradient(PolyArray *x, PolyArray **targets, int n, PolyArray *gradient, int zeros, PolyArray **out);

/* Writes the gradient of an array, as a new handle, to *grad: 1, 0 and NULL if it
 * has none, -1 on error. Since 2.0. */
POLY_API int poly_array_grad(PolyArray *x, PolyArray **grad);

/* Sets the gradient of an array, of its shape; NULL for none. Since 2.0. */
POLY_API int poly_array_set_grad(PolyArray *x, PolyArray *grad);

/* Whether dropout drops and batch normalisation learns: sets it, or only asks if on
 * is negative, and returns what it was before; -1 on error. Since 2.0. */
POLY_API int poly_training(PolyCtx *ctx, int on);

/* Begins (1) and ends (0) that what is computed has no gradients. Calls nest. Since 2.0. */
POLY_API int poly_no_grad(PolyCtx *ctx, int on);

/* Begins the random stream of the context again. Equal seeds give equal numbers on
 * every device, and in tinygrad. Since 2.0. */
POLY_API int poly_seed(PolyCtx *ctx, uint64_t seed);

/* How poly_trace_end compiles a function. */
typedef enum PolyTraceFlags {
  POLY_TRACE_PRUNE = 1, /* what depends on no argument, no random number and nothing written is computed once */
  POLY_TRACE_FIXED = 2  /* each run writes the results to the same arrays */
} PolyTraceFlags;

/* Begins to trace a function of n arrays, whose shapes and types it fixes, and
 * writes the arrays to call it on to given. name is that of the function for errors,
 * or NULL. Until poly_trace_end, or
 * poly_trace_abandon, nothing is computed: what is done to arrays of the context is
 * recorded, and undone at the end. The function is a program then: it computes what
 * results are, for other arguments, and writes the arrays that were written, where
 * they are at each run. Random numbers are drawn by runs only. A run leaves the
 * gradients that the function leaves, but none where they were forgotten first and
 * an optimizer of the function has used them. flags are PolyTraceFlags. Since 2.0. */
POLY_API int poly_trace_begin(PolyCtx *ctx, const char *name, PolyArray **args, int n, PolyArray **given);
POLY_API PolyFunction *poly_trace_end(PolyCtx *ctx, PolyArray **results, int n, int flags);
POLY_API int poly_trace_abandon(PolyCtx *ctx);

/* Runs a function on n arrays and writes its results to out, which has room for
 * all of them. vars are the values of variables in sizes that the shapes
 * of the arguments do not tell. Returns the number of results, -1 on error. Since 2.0. */
POLY_API int poly_function_run(PolyFunction *f, PolyArray **args, int n, PolyVarBinding *vars, int n_vars, PolyArray **out, int room);

/* Runs a function of no arguments without asking for its results: a training step,
 * or one compiled with POLY_TRACE_FIXED. Since 2.0. */
POLY_API int poly_function_rerun(PolyFunction *f);

/* The array that result i is at each run: of a function compiled with
 * POLY_TRACE_FIXED, or an array from before the trace. Else NULL. Since 2.0. */
POLY_API PolyArray *poly_function_result(PolyFunction *f, int i);

/* The numbers of results, kernels and buffers between kernels of a function; all
 * may be NULL. Since 2.0. */
POLY_API int poly_function_info(PolyFunction *f, int *results, int *kernels, int *temporaries);

/* poly_view_kernels of a function. Since 2.0. */
POLY_API char *poly_view_function(PolyFunction *f, int runs, int view);

/* Ends a function. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_function_release(PolyFunction *f);

typedef struct PolyOptim PolyOptim;               /* an optimizer of arrays */
typedef struct PolyRateScheduler PolyRateScheduler; /* sets the learning rate of an optimizer */

/* An optimizer by its name: poly_op("AdamW"). The arguments are a list of arrays of
 * floating types, each of which counts once and requires a gradient from now on, and
 * the optimizer's settings, lr first (see docs/api.md). *states, if not NULL, receives
 * how many tensors of state each parameter has. Since 2.0. */
POLY_API PolyOptim *poly_optim_new(PolyCtx *ctx, int op, const PolyCallArg *args, int n, int *states);

/* An optimizer of n arrays of floating types, each of which counts once and
 * requires a gradient from now on, by poly_lars (gradient descent, LARS, Muon) and
 * by poly_lamb (Adam, AdamW, LAMB). Since 2.0. */
POLY_API PolyOptim *poly_optim_lars(PolyArray **params, int n, double lr, double momentum, double weight_decay, double tcoef,
                                    int nesterov, int classic, int decoupled_decay, int ns_steps,
                                    const double *ns_coefficients, int n_coefficients);
POLY_API PolyOptim *poly_optim_lamb(PolyArray **params, int n, double lr, double b1, double b2, double eps, double weight_decay,
                                    int adam, int coupled_decay);

/* Changes each parameter of n optimizers of one context that has a gradient, in one
 * program; all new values are computed from the old ones. Since 2.0. */
POLY_API int poly_optim_step(PolyOptim **optimizers, int n);

/* What an optimizer works on: its learning rate (what 0), parameter i (1), the power
 * of beta i of poly_optim_lamb (2), and of parameter i the momentum, or the first and
 * the second moment (3, 4). Who writes the learning rate changes it for the steps
 * that follow, also in traced functions. Since 2.0. */
POLY_API PolyArray *poly_optim_state(PolyOptim *optimizer, int what, int i);

/* Ends an optimizer. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_optim_release(PolyOptim *optimizer);

/* Sets the learning rate of an optimizer to that of step 0 of a PolyRateSchedule;
 * each poly_rate_schedule_step, which may be traced, to that of the next step. The
 * count of steps is an array of one int32. Since 2.0. */
POLY_API PolyRateScheduler *poly_optim_schedule(PolyOptim *optimizer, int schedule, const double *params, int n);
POLY_API int poly_rate_schedule_step(PolyRateScheduler *schedule);
POLY_API PolyArray *poly_rate_schedule_count(PolyRateScheduler *schedule);
POLY_API void poly_rate_schedule_release(PolyRateScheduler *schedule);

/* The calls that the Python package makes most, as an array of PyMethodDef that ends
 * with an entry of zeros. python is the handle (dlopen) of the process or library that
 * has Python's functions; objects are n objects of Python, in the order of
 * capi/python.c, which must live as long as the process. NULL on error. Since 2.0. */
POLY_API const void *poly_python_methods(void *python, void *const *objects, int n);

/* ======================================================================== */
/* Symbolic sizes                                                           */
/* ======================================================================== */
/* A variable is an integer between bounds whose value is given when a program
 * runs. What is computed from variables, bound or not, is a size: a node of an
 * integer without a shape. Wherever a function of nodes takes sizes, bounds,
 * paddings, repeats or indices as int64_t, it takes POLY_SIZE(node) too:
 *
 *     PolyUOp *n = poly_bind_var(ctx, poly_define_var(ctx, "n", 1, 8), 3);
 *     int64_t part[1][2] = {{0, POLY_SIZE(n)}};
 *     PolyUOp *y = poly_square(ctx, poly_shrink(ctx, x, part, 1));
 *
 * Programs that differ in the values of variables only are one program, which is
 * compiled once. Memory of a tensor with symbolic sizes is laid out as the largest
 * tensor that it can be; only the beginning of each axis is used. Bounds that leave
 * an axis for some values of their variables find zeros there. */

/* A node as a size, which must not be released before the call it is given to. */
#define POLY_SIZE(node) (-(int64_t)(intptr_t)(node))

/* A symbolic int32 with inclusive bounds; the same name and bounds give the
 * same node. Since 1.0. */
POLY_API PolyUOp *poly_define_var(PolyCtx *ctx, const char *name, int64_t lo, int64_t hi);

/* A variable with a default value, lo <= value <= hi. Since 1.0. */
POLY_API PolyUOp *poly_bind_var(PolyCtx *ctx, PolyUOp *var, int64_t value);

/* Operations on sizes. Division rounds down, and the remainder has the sign of
 * the divisor. */
typedef enum {
  POLY_SIZE_ADD = 0,
  POLY_SIZE_SUB = 1,
  POLY_SIZE_MUL = 2,
  POLY_SIZE_DIV = 3,
  POLY_SIZE_MOD = 4,
  POLY_SIZE_MIN = 5,
  POLY_SIZE_MAX = 6
} PolySizeOp;

/* a op b of numbers or POLY_SIZEs, in canonical form: equal results are one
 * node, and a result without variables is a constant. A
 * divisor must not be 0 for any value of its variables. Since 2.0. */
POLY_API PolyUOp *poly_size_op(PolyCtx *ctx, int op, int64_t a, int64_t b);

/* The least and the greatest value of a size; all may be NULL. 1 if it has a
 * value (a constant, or all of its variables are bound), which is written to
 * value, 0 if not, -1 on error. Since 2.0. */
POLY_API int poly_size_info(PolyCtx *ctx, PolyUOp *x, int64_t *lo, int64_t *hi, int64_t *value);

/* The size without the values of its variables. Since 2.0. */
POLY_API PolyUOp *poly_size_unbind(PolyCtx *ctx, PolyUOp *x);

/* The size of an axis as a node, also if it is a number. Since 2.0. */
POLY_API PolyUOp *poly_size_of(PolyCtx *ctx, PolyUOp *x, int axis);

/* The number of variables in a size, -1 on error, and one of them as a size, in the
 * order of their names. The value that it is bound to is written to value, if that is
 * not NULL, INT64_MIN for none. Since 2.0. */
POLY_API int poly_size_n_variables(PolyCtx *ctx, PolyUOp *x);
POLY_API PolyUOp *poly_size_variable(PolyCtx *ctx, PolyUOp *x, int i, int64_t *value);

/* The size with other values of its variables: vars override the bound values;
 * variables that are not in the size are ignored. Since 2.0. */
POLY_API PolyUOp *poly_size_bind(PolyCtx *ctx, PolyUOp *x, PolyVarBinding *vars, int n_vars);

/* Writes a size as text ("n*4+1", with values "(n=3)*4+1") and a 0 into out, as
 * much as fits in cap bytes; out may be NULL. Returns the length of the text, -1 on
 * error. Since 2.0. */
POLY_API int poly_size_text(PolyCtx *ctx, PolyUOp *x, char *out, int cap);

/* A number or a POLY_SIZE as an int32 scalar to compute with. Since 2.0. */
POLY_API PolyUOp *poly_size_tensor(PolyCtx *ctx, int64_t size);

/* start, start+step, … below stop as any type; all three may be POLY_SIZEs, step is
 * positive. Since 2.0. */
POLY_API PolyUOp *poly_arange_size(PolyCtx *ctx, int dtype, int64_t start, int64_t stop, int64_t step);

/* ======================================================================== */
/* Creation                                                                 */
/* ======================================================================== */

/* Scalar constants: float32, float64 and int32. Since 1.0. */
POLY_API PolyUOp *poly_const_float(PolyCtx *ctx, double value);
POLY_API PolyUOp *poly_const_double(PolyCtx *ctx, double value);
POLY_API PolyUOp *poly_const_int(PolyCtx *ctx, int64_t value);

/* A scalar constant of any type. poly_const_int_by_id keeps all 64 bits (cast
 * to uint64_t for POLY_DTYPE_UINT64). Since 2.0. */
POLY_API PolyUOp *poly_const_by_id(PolyCtx *ctx, int dtype, double value);
POLY_API PolyUOp *poly_const_int_by_id(PolyCtx *ctx, int dtype, int64_t value);

/* A scalar constant whose type follows x as a number in an expression does: a
 * float next to an integer tensor is float32, an integer or bool next to any
 * numeric tensor takes its type. An integer with more bits than that type has is
 * an error. Since 2.0. */
POLY_API PolyUOp *poly_const_like_float(PolyCtx *ctx, PolyUOp *x, double value);
POLY_API PolyUOp *poly_const_like_int(PolyCtx *ctx, PolyUOp *x, int64_t value);
POLY_API PolyUOp *poly_const_like_bool(PolyCtx *ctx, PolyUOp *x, int value);

/* A fresh one-dimensional buffer of size elements (>= 0). No memory is
 * allocated: it is bound when a program runs. Since 1.0. */
POLY_API PolyUOp *poly_buffer_f32(PolyCtx *ctx, int64_t size);
POLY_API PolyUOp *poly_buffer_f64(PolyCtx *ctx, int64_t size);
POLY_API PolyUOp *poly_buffer_by_id(PolyCtx *ctx, int64_t size, int dtype);

/* A fresh buffer of the given shape on memory of the caller, which is used
 * without a copy by every program that reads or updates the buffer. data must
 * be aligned to the element, hold nbytes (at least the tensor's size) and stay
 * valid until the handle is released or the context destroyed. data may be
 * NULL for a tensor without elements. Since 2.0. */
POLY_API PolyUOp *poly_buffer_host(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, void *data, size_t nbytes);

/* A fresh buffer of the given shape on memory of the library with a copy of
 * data, which holds nbytes (exactly the tensor's size). The memory lives as long
 * as the handle. Since 2.0. */
POLY_API PolyUOp *poly_from_host(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, const void *data,
                                 size_t nbytes);

/* A tensor filled with v (float32). Since 1.0. */
POLY_API PolyUOp *poly_full(PolyCtx *ctx, const int64_t *shape, int ndim, double v);

/* A tensor of any type filled with v. Integer types drop the fraction of v; a
 * negative v of an unsigned type wraps around (-1 is the greatest value). A v
 * outside of the type's range is an error. Since 2.0. */
POLY_API PolyUOp *poly_full_by_id(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double v);
POLY_API PolyUOp *poly_full_int_by_id(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, int64_t v);

/* start, start+step, … below stop (above, if step is negative), as float32;
 * NULL if step is 0. poly_arange_by_id: of any type. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_arange(PolyCtx *ctx, double start, double stop, double step);
POLY_API PolyUOp *poly_arange_by_id(PolyCtx *ctx, int dtype, double start, double stop, double step);

/* steps values from start to stop, both included, as float32 or any type;
 * steps 1 gives start, 0 an empty tensor. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_linspace(PolyCtx *ctx, double start, double stop, int64_t steps);
POLY_API PolyUOp *poly_linspace_by_id(PolyCtx *ctx, int dtype, double start, double stop, int64_t steps);

/* The (n, n) identity as float32; the (n, m) identity of any type. Since 1.0,
 * 2.0. */
POLY_API PolyUOp *poly_eye(PolyCtx *ctx, int64_t n);
POLY_API PolyUOp *poly_eye_by_id(PolyCtx *ctx, int dtype, int64_t n, int64_t m);

/* ======================================================================== */
/* Random numbers                                                           */
/* ======================================================================== */
/* Counter based (threefry 2x32, 20 rounds) and lazy: the same seed and shape
 * give the same bits on every device. */

/* Uniform float32 in [0, 1). Since 1.0. */
POLY_API PolyUOp *poly_rand(PolyCtx *ctx, const int64_t *shape, int ndim, uint64_t seed);

/* Normal float32 with mean 0 and deviation 1 (Box-Muller). Since 1.0. */
POLY_API PolyUOp *poly_randn(PolyCtx *ctx, const int64_t *shape, int ndim, uint64_t seed);

/* Random numbers whose seed is a tensor, so that one compiled program serves
 * every seed. A seed of two uint32 (low word, high word) gives the same numbers
 * as the functions above, cast to dtype (a floating type for poly_rand_seeded); a
 * seed of three uint32 is a position from poly_random_take. Since 2.0. */
POLY_API PolyUOp *poly_rand_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, PolyUOp *seed);
POLY_API PolyUOp *poly_randn_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, PolyUOp *seed);

/* The process-wide stream of random words, for bindings whose random tensors draw
 * from one stream. poly_random_seed restarts it (an unseeded stream starts at a
 * random position). poly_random_take reserves the next 0 to 2^32 words for one
 * tensor and writes the three uint32 of its seed; 0, or -1 on error. Keys and
 * counters are tinygrad's, so a tensor has tinygrad's numbers if it takes
 *
 *   n words (8-byte types 2n, 2-byte types n/2, …)  rand
 *   n words                                         dropout, uniform, randperm
 *   2n words                                        randn, normal
 *
 * for n elements; uniform takes 2n for float64, and integers take n up to a range
 * of 2^23 and 2n from there on; multinomial one for each number that it draws, and
 * one for each weight without replacement. Since 2.0. */
POLY_API void poly_random_seed(uint64_t seed);
POLY_API int poly_random_take(int64_t words, uint32_t *seed_out);

/* Integers in [low, high) of an integer type, from the same stream. Since
 * 2.0. */
POLY_API PolyUOp *poly_randint_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, int64_t low,
                                      int64_t high, PolyUOp *seed);

/* Uniform in [low, high) and normal with a mean and a standard deviation. An
 * integer type takes whole bounds and gives integers in [low, high); normal
 * numbers are rounded to zero. Since 2.0. */
POLY_API PolyUOp *poly_uniform_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double low, double high,
                                      PolyUOp *seed);
POLY_API PolyUOp *poly_normal_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double mean, double std,
                                     PolyUOp *seed);

/* How weights of shape (out, in, …) begin; fan_in is the product of the sizes
 * from the second on. */
typedef enum PolyInit {
  POLY_INIT_SCALED_UNIFORM = 0,  /* uniform in +-1/sqrt(number of elements) */
  POLY_INIT_GLOROT_UNIFORM = 1,  /* uniform in +-sqrt(6/(out + fan_in)) */
  POLY_INIT_KAIMING_UNIFORM = 2, /* uniform in +-sqrt(6/((1 + a^2) fan_in)) */
  POLY_INIT_KAIMING_NORMAL = 3   /* normal, deviation sqrt(2/((1 + a^2) fan_in)) */
} PolyInit;

/* Weights by one of these schemes; a is the slope below 0 of the rectifier that
 * follows (tinygrad: 0.01). Since 2.0. */
POLY_API PolyUOp *poly_init_seeded(PolyCtx *ctx, int scheme, int dtype, const int64_t *shape, int ndim, double a,
                                   PolyUOp *seed);

/* 0 .. n-1 in random order. Since 2.0. */
POLY_API PolyUOp *poly_randperm_seeded(PolyCtx *ctx, int dtype, int64_t n, PolyUOp *seed);

/* n class numbers, int32, shape (.., n), drawn with the weights x (.., classes),
 * which are >= 0 and not all 0; without replacement none twice. Since 2.0. */
POLY_API PolyUOp *poly_multinomial(PolyCtx *ctx, PolyUOp *x, int64_t n, int replacement, PolyUOp *seed);

/* Sets each element to 0 with probability p (0 <= p <= 1) and divides the
 * others by 1-p. Since 2.0. */
POLY_API PolyUOp *poly_dropout(PolyCtx *ctx, PolyUOp *x, double p, PolyUOp *seed);

/* ======================================================================== */
/* Elementwise: one operand                                                 */
/* ======================================================================== */
/* Results have the shape of x. Functions of real numbers turn integers and
 * bools into float32 first and are accurate to a few units in the last place;
 * NaN goes in and out; the others keep the type of x. All have gradients. */

/* A unary operation by its code: EXP2, LOG2, SIN, SQRT, RECIPROCAL, NEG or
 * TRUNC. Since 1.0. */
POLY_API PolyUOp *poly_alu1(PolyCtx *ctx, PolyOps op, PolyUOp *x);

POLY_API PolyUOp *poly_exp(PolyCtx *ctx, PolyUOp *x);        /* e^x. Since 1.0 */
POLY_API PolyUOp *poly_exp2(PolyCtx *ctx, PolyUOp *x);       /* 2^x. Since 2.0 */
POLY_API PolyUOp *poly_expm1(PolyCtx *ctx, PolyUOp *x);      /* e^x - 1, accurate near 0. Since 1.0 */
POLY_API PolyUOp *poly_log(PolyCtx *ctx, PolyUOp *x);        /* natural logarithm; NaN for x < 0. Since 1.0 */
POLY_API PolyUOp *poly_log2(PolyCtx *ctx, PolyUOp *x);       /* base 2. Since 2.0 */
POLY_API PolyUOp *poly_log10(PolyCtx *ctx, PolyUOp *x);      /* base 10. Since 2.0 */
POLY_API PolyUOp *poly_log1p(PolyCtx *ctx, PolyUOp *x);      /* log(1+x), accurate near 0. Since 1.0 */
POLY_API PolyUOp *poly_sqrt(PolyCtx *ctx, PolyUOp *x);       /* Since 2.0 */
POLY_API PolyUOp *poly_rsqrt(PolyCtx *ctx, PolyUOp *x);      /* 1/sqrt(x). Since 1.0 */
POLY_API PolyUOp *poly_reciprocal(PolyCtx *ctx, PolyUOp *x); /* 1/x. Since 2.0 */
POLY_API PolyUOp *poly_square(PolyCtx *ctx, PolyUOp *x);     /* x*x. Since 1.0 */
POLY_API PolyUOp *poly_neg(PolyCtx *ctx, PolyUOp *x);        /* -x; logical not for bool. Since 2.0 */
POLY_API PolyUOp *poly_abs(PolyCtx *ctx, PolyUOp *x);        /* Since 1.0 */
POLY_API PolyUOp *poly_sign(PolyCtx *ctx, PolyUOp *x);       /* -1, 0, 1 or NaN. Since 1.0 */

POLY_API PolyUOp *poly_sin(PolyCtx *ctx, PolyUOp *x);   /* Since 1.0 */
POLY_API PolyUOp *poly_cos(PolyCtx *ctx, PolyUOp *x);   /* Since 1.0 */
POLY_API PolyUOp *poly_tan(PolyCtx *ctx, PolyUOp *x);   /* Since 1.0 */
POLY_API PolyUOp *poly_asin(PolyCtx *ctx, PolyUOp *x);  /* Since 2.0 */
POLY_API PolyUOp *poly_acos(PolyCtx *ctx, PolyUOp *x);  /* Since 2.0 */
POLY_API PolyUOp *poly_atan(PolyCtx *ctx, PolyUOp *x);  /* Since 2.0 */
POLY_API PolyUOp *poly_sinh(PolyCtx *ctx, PolyUOp *x);  /* Since 2.0 */
POLY_API PolyUOp *poly_cosh(PolyCtx *ctx, PolyUOp *x);  /* Since 2.0 */
POLY_API PolyUOp *poly_asinh(PolyCtx *ctx, PolyUOp *x); /* Since 2.0 */
POLY_API PolyUOp *poly_acosh(PolyCtx *ctx, PolyUOp *x); /* Since 2.0 */
POLY_API PolyUOp *poly_atanh(PolyCtx *ctx, PolyUOp *x); /* Since 2.0 */

POLY_API PolyUOp *poly_ceil(PolyCtx *ctx, PolyUOp *x);    /* Since 1.0 */
POLY_API PolyUOp *poly_floor(PolyCtx *ctx, PolyUOp *x);   /* Since 1.0 */
POLY_API PolyUOp *poly_trunc(PolyCtx *ctx, PolyUOp *x);   /* towards zero. Since 2.0 */
POLY_API PolyUOp *poly_round_f(PolyCtx *ctx, PolyUOp *x); /* to the nearest integer, halves to even. Since 1.0 */

POLY_API PolyUOp *poly_isnan(PolyCtx *ctx, PolyUOp *x);    /* bool. Since 1.0 */
POLY_API PolyUOp *poly_isinf(PolyCtx *ctx, PolyUOp *x);    /* bool, either sign. Since 1.0 */
POLY_API PolyUOp *poly_isfinite(PolyCtx *ctx, PolyUOp *x); /* bool. Since 2.0 */
POLY_API PolyUOp *poly_logical_not(PolyCtx *ctx, PolyUOp *x); /* bool, x == 0. Since 2.0 */
POLY_API PolyUOp *poly_bitwise_not(PolyCtx *ctx, PolyUOp *x); /* integers and bool. Since 2.0 */

/* To a unit in the last place in float32 and 1e-12 of the value in float64.
 * Near their zeros below 0 the error of lgamma and digamma of float64 is 2e-15
 * times the terms that cancel there: 1 + lgamma(|x|), log(2 + |x|). */
POLY_API PolyUOp *poly_erf(PolyCtx *ctx, PolyUOp *x);     /* error function. Since 1.0 */
POLY_API PolyUOp *poly_erfc(PolyCtx *ctx, PolyUOp *x);    /* 1 - erf(x), accurate in the tail. Since 1.0 */
POLY_API PolyUOp *poly_erfinv(PolyCtx *ctx, PolyUOp *x);  /* inverse of erf on (-1, 1). Since 1.0 */
POLY_API PolyUOp *poly_ndtri(PolyCtx *ctx, PolyUOp *x);   /* normal quantile of x in (0, 1). Since 1.0 */
POLY_API PolyUOp *poly_lgamma(PolyCtx *ctx, PolyUOp *x);  /* log |gamma(x)|; infinite at 0, -1, -2 ... Since 1.0 */
POLY_API PolyUOp *poly_digamma(PolyCtx *ctx, PolyUOp *x); /* derivative of lgamma; NaN at -1, -2 ... Since 1.0 */

POLY_API PolyUOp *poly_relu(PolyCtx *ctx, PolyUOp *x);        /* max(x, 0); NaN stays NaN. Since 1.0 */
POLY_API PolyUOp *poly_relu6(PolyCtx *ctx, PolyUOp *x);       /* x clamped to [0, 6]. Since 1.0 */
POLY_API PolyUOp *poly_sigmoid(PolyCtx *ctx, PolyUOp *x);     /* 1/(1+e^-x). Since 1.0 */
POLY_API PolyUOp *poly_logsigmoid(PolyCtx *ctx, PolyUOp *x);  /* log(sigmoid(x)). Since 2.0 */
POLY_API PolyUOp *poly_tanh_act(PolyCtx *ctx, PolyUOp *x);    /* tanh(x). Since 1.0 */
POLY_API PolyUOp *poly_gelu(PolyCtx *ctx, PolyUOp *x);        /* 0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3))). Since 1.0 */
POLY_API PolyUOp *poly_quick_gelu(PolyCtx *ctx, PolyUOp *x);  /* x*sigmoid(1.702x). Since 1.0 */
POLY_API PolyUOp *poly_silu(PolyCtx *ctx, PolyUOp *x);        /* x*sigmoid(x). Since 1.0 */
POLY_API PolyUOp *poly_mish(PolyCtx *ctx, PolyUOp *x);        /* x*tanh(softplus(x)). Since 1.0 */
POLY_API PolyUOp *poly_hardswish(PolyCtx *ctx, PolyUOp *x);   /* x*relu6(x+3)/6. Since 1.0 */
POLY_API PolyUOp *poly_hardsigmoid(PolyCtx *ctx, PolyUOp *x); /* x/6+0.5 clamped to [0, 1]. Since 1.0 */
/* alpha*x+beta clamped to [0, 1]. Since 2.0. */
POLY_API PolyUOp *poly_hardsigmoid_by(PolyCtx *ctx, PolyUOp *x, double alpha, double beta);
POLY_API PolyUOp *poly_softsign(PolyCtx *ctx, PolyUOp *x);    /* x/(1+|x|). Since 2.0 */

/* x where x >= 0, slope*x elsewhere. Since 1.0. */
POLY_API PolyUOp *poly_leaky_relu(PolyCtx *ctx, PolyUOp *x, double slope);

/* x where x > 0, alpha*(e^x - 1) elsewhere. Since 1.0. */
POLY_API PolyUOp *poly_elu(PolyCtx *ctx, PolyUOp *x, double alpha);

/* elu that is differentiable at 0 for every alpha. Since 2.0. */
POLY_API PolyUOp *poly_celu(PolyCtx *ctx, PolyUOp *x, double alpha);

/* gamma * elu(x, alpha). Since 2.0. */
POLY_API PolyUOp *poly_selu(PolyCtx *ctx, PolyUOp *x, double alpha, double gamma);

/* log(1 + e^(beta*x)) / beta, without overflow; beta != 0. Since 1.0. */
POLY_API PolyUOp *poly_softplus(PolyCtx *ctx, PolyUOp *x, double beta);

/* x clamped to [lo, hi]; an infinite bound does nothing. Since 1.0. */
POLY_API PolyUOp *poly_clamp(PolyCtx *ctx, PolyUOp *x, double lo, double hi);
POLY_API PolyUOp *poly_hardtanh(PolyCtx *ctx, PolyUOp *x, double lo, double hi);

/* x clamped to [lo, hi], two tensors that broadcast with x; either may be NULL.
 * Since 2.0. */
POLY_API PolyUOp *poly_clip(PolyCtx *ctx, PolyUOp *x, PolyUOp *lo, PolyUOp *hi);

/* x in another type; poly_bitcast keeps the bits (sizes of the types must
 * divide the last axis evenly). Since 1.0, 2.0. */
POLY_API PolyUOp *poly_cast_by_id(PolyCtx *ctx, PolyUOp *x, int dtype);
POLY_API PolyUOp *poly_bitcast_by_id(PolyCtx *ctx, PolyUOp *x, int dtype);

/* x, through which no gradient flows. Since 1.0. */
POLY_API PolyUOp *poly_detach(PolyCtx *ctx, PolyUOp *x);

/* x, computed into memory of its own rather than fused. Since 2.0. */
POLY_API PolyUOp *poly_contiguous(PolyCtx *ctx, PolyUOp *x);

/* x, whose gradient is computed into memory of its own. Since 2.0. */
POLY_API PolyUOp *poly_contiguous_backward(PolyCtx *ctx, PolyUOp *x);

/* ======================================================================== */
/* Elementwise: two and three operands                                      */
/* ======================================================================== */
/* Shapes broadcast, types are promoted. */

/* Binary and ternary operations by code (ADD MUL IDIV MAX MOD CMPLT CMPNE
 * CMPEQ XOR OR AND THREEFRY SUB FDIV POW SHL SHR; WHERE MULACC): the machine's
 * view of them. CMPxx give bool; IDIV rounds towards zero and MOD has the sign
 * of a; others the promoted type. Since 1.0. */
POLY_API PolyUOp *poly_alu2(PolyCtx *ctx, PolyOps op, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_alu3(PolyCtx *ctx, PolyOps op, PolyUOp *a, PolyUOp *b, PolyUOp *c);

/* Binary operations as a user of tensors means them. */
typedef enum PolyBinaryOp {
  POLY_ADD = 0,
  POLY_SUB = 1,
  POLY_MUL = 2,
  POLY_DIV = 3,      /* true division: the result is floating */
  POLY_FLOORDIV = 4, /* rounds towards minus infinity; as MOD, TRUNCDIV, TRUNCMOD not of two bools */
  POLY_MOD = 5,      /* has the sign of b: a - floordiv(a,b)*b */
  POLY_POW = 6, /* integers to a floating number are floating, to an integer below 0 an error */
  POLY_MAXIMUM = 7, /* NaN if either operand is, as for POLY_MINIMUM */
  POLY_MINIMUM = 8,
  POLY_LT = 9, /* comparisons give bool */
  POLY_LE = 10,
  POLY_GT = 11,
  POLY_GE = 12,
  POLY_EQ = 13,
  POLY_NE = 14,
  POLY_AND = 15, /* integers and bool */
  POLY_OR = 16,
  POLY_XOR = 17,
  POLY_SHL = 18,
  POLY_SHR = 19,
  POLY_TRUNCDIV = 20, /* integers: rounds towards zero */
  POLY_LOGADDEXP = 21,
  POLY_COPYSIGN = 22,
  POLY_TRUNCMOD = 23, /* a - truncdiv(a,b)*b, with the sign of a, as C's % */
  POLY_ATAN2 = 24,    /* angle of the point with y = a, x = b, in [-pi, pi]; floating */
  POLY_HYPOT = 25     /* sqrt(a^2 + b^2) without overflow; floating */
} PolyBinaryOp;

/* a op b. Since 2.0. */
POLY_API PolyUOp *poly_binary(PolyCtx *ctx, int op, PolyUOp *a, PolyUOp *b);

/* x op value, or value op x if reversed is not 0, with a weak number (see
 * poly_const_like_float). If x is of integers and value is outside of their
 * range, comparisons, divisions, maximum and minimum use its exact value (300 is
 * greater than every uint8); sums, products and bit operations take it modulo
 * 2^bits if it has at most that many bits, and fail otherwise. Since 2.0. */
POLY_API PolyUOp *poly_binary_float(PolyCtx *ctx, int op, PolyUOp *x, double value, int reversed);
POLY_API PolyUOp *poly_binary_int(PolyCtx *ctx, int op, PolyUOp *x, int64_t value, int reversed);
POLY_API PolyUOp *poly_binary_bool(PolyCtx *ctx, int op, PolyUOp *x, int value, int reversed);

/* The larger and the smaller; NaN if either is. Since 1.0. */
POLY_API PolyUOp *poly_maximum(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_minimum(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* Comparisons of the original interface. eq, ge and le give 1.0 or 0.0 in the
 * (floating) type of a; ne and gt give bool. poly_binary gives bool for all.
 * Since 1.0. */
POLY_API PolyUOp *poly_eq(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_ne(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_gt(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_ge(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_le(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* x where cond is not 0, y elsewhere. Since 1.0. (masked_fill(x, mask, value) is
 * poly_where_op(mask, value, x).) */
POLY_API PolyUOp *poly_where_op(PolyCtx *ctx, PolyUOp *cond, PolyUOp *x, PolyUOp *y);

/* start + (end - start) * weight. Since 2.0. */
POLY_API PolyUOp *poly_lerp(PolyCtx *ctx, PolyUOp *start, PolyUOp *end, PolyUOp *weight);

/* bool: |a - b| <= atol + rtol*|b|, or both are the same infinity, or both NaN if
 * equal_nan is not 0. poly_allclose: whether that holds everywhere, a scalar.
 * Since 2.0. */
POLY_API PolyUOp *poly_isclose(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rtol, double atol, int equal_nan);
POLY_API PolyUOp *poly_allclose(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rtol, double atol, int equal_nan);

/* ======================================================================== */
/* Movement                                                                 */
/* ======================================================================== */
/* Views: no data moves until a program needs it. Arrays are only read. */

/* The same elements, row by row, in another shape. One dimension may be -1 and
 * is computed. Since 1.0. */
POLY_API PolyUOp *poly_reshape(PolyCtx *ctx, PolyUOp *src, int64_t *dims, int ndim);

/* src repeated along axes of size 1 up to dims; new axes appear in front; -1
 * keeps an axis. Since 1.0. */
POLY_API PolyUOp *poly_expand(PolyCtx *ctx, PolyUOp *src, int64_t *dims, int ndim);

/* Axis i of the result is axis perm[i] of src. Since 1.0. */
POLY_API PolyUOp *poly_permute(PolyCtx *ctx, PolyUOp *src, int64_t *perm, int ndim);

/* Elements start (included) to end (excluded) of each axis: pairs[i] = {start,
 * end}, 0 <= start <= end <= size. Since 1.0. */
POLY_API PolyUOp *poly_shrink(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim);

/* Zeros before and after each axis: pairs[i] = {before, after}; a negative number
 * removes elements. poly_pad_value fills with value, converted as by
 * poly_full_by_id. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim);
POLY_API PolyUOp *poly_pad_value(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim, double value);

/* Where poly_pad_mode takes its elements from. */
typedef enum PolyPadMode {
  POLY_PAD_REFLECT = 0,   /* mirrored at the edge: c b | a b c d | c b; less than the size */
  POLY_PAD_REPLICATE = 1, /* the edge again and again */
  POLY_PAD_CIRCULAR = 2   /* from the other end; at most the size, not negative */
} PolyPadMode;

/* poly_pad with elements of src itself. Since 2.0. */
POLY_API PolyUOp *poly_pad_mode(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim, int mode);

/* src with the order along some axes reversed. Since 1.0. */
POLY_API PolyUOp *poly_flip(PolyCtx *ctx, PolyUOp *src, int64_t *axes, int n_axes);

/* src with two axes swapped. Since 2.0. */
POLY_API PolyUOp *poly_transpose(PolyCtx *ctx, PolyUOp *src, int axis0, int axis1);

/* src without an axis of size 1 (unchanged if the axis is longer);
 * poly_squeeze_all: without all axes of size 1. Since 2.0. */
POLY_API PolyUOp *poly_squeeze(PolyCtx *ctx, PolyUOp *src, int axis);
POLY_API PolyUOp *poly_squeeze_all(PolyCtx *ctx, PolyUOp *src);

/* src with a new axis of size 1 at position axis (-1: last). Since 2.0. */
POLY_API PolyUOp *poly_unsqueeze(PolyCtx *ctx, PolyUOp *src, int axis);

/* src with axes first .. last joined into one. Since 2.0. */
POLY_API PolyUOp *poly_flatten(PolyCtx *ctx, PolyUOp *src, int first, int last);

/* src with one axis split into n axes of the given sizes (one may be -1).
 * Since 2.0. */
POLY_API PolyUOp *poly_unflatten(PolyCtx *ctx, PolyUOp *src, int axis, const int64_t *sizes, int n);

/* src repeated counts[i] times along each axis; more counts than axes add axes
 * in front. Since 2.0. */
POLY_API PolyUOp *poly_repeat(PolyCtx *ctx, PolyUOp *src, const int64_t *counts, int n);

/* As an axis: the function works on the flattened tensor. */
#define POLY_AXIS_FLAT INT32_MIN

/* Each element of an axis repeated: a a b b; repeats >= 0; the axis may be
 * POLY_AXIS_FLAT. Since 2.0. */
POLY_API PolyUOp *poly_repeat_interleave(PolyCtx *ctx, PolyUOp *src, int64_t repeats, int axis);

/* Windows of `size` elements along an axis, one every `step` elements: the axis
 * counts them, and a new last axis holds them. 1 <= size <= the axis' size, step
 * >= 1. Since 2.0. */
POLY_API PolyUOp *poly_unfold(PolyCtx *ctx, PolyUOp *src, int axis, int64_t size, int64_t step);

/* Elements moved by shifts[i] along axes[i]; what leaves one end enters at the
 * other. axes NULL (and n 1): along the flattened tensor. Since 2.0. */
POLY_API PolyUOp *poly_roll(PolyCtx *ctx, PolyUOp *src, const int64_t *shifts, const int64_t *axes, int n);

/* The diagonal of two axes as the last axis of the result; offset > 0 takes one
 * above (to the right), offset < 0 one below. Since 2.0. */
POLY_API PolyUOp *poly_diagonal(PolyCtx *ctx, PolyUOp *src, int64_t offset, int axis1, int axis2);

/* The (n, n) matrix with the vector src on its diagonal and 0 elsewhere. Since
 * 2.0. */
POLY_API PolyUOp *poly_diag(PolyCtx *ctx, PolyUOp *src);

/* einops' rearrange: "b (h w) c -> b c h w". Tokens are names, ( ) groups and
 * 1; names of known size come as one string of names separated by blanks and
 * their sizes; one size per group may be unknown. A 1 may be dropped and
 * added; "..." stands for any number of axes. Since 1.0. */
POLY_API PolyUOp *poly_rearrange(PolyCtx *ctx, const char *formula, PolyUOp *x, const int64_t *shape, int ndim,
                                 const char *names, const int64_t *sizes, int n_sizes, int64_t *shape_out,
                                 int *ndim_out);

/* ======================================================================== */
/* Indexing and joining                                                     */
/* ======================================================================== */

/* One item of an index expression is a kind and three numbers. */
typedef enum PolyIndexKind {
  POLY_INDEX_INT = 0,      /* element a; the axis disappears */
  POLY_INDEX_SLICE = 1,    /* a:b:c with POLY_INDEX_NONE for an omitted bound or step */
  POLY_INDEX_NEWAXIS = 2,  /* a new axis of size 1 */
  POLY_INDEX_ELLIPSIS = 3, /* all axes that no other item names */
  POLY_INDEX_TENSOR = 4    /* elements chosen by an integer tensor (NumPy's rules) */
} PolyIndexKind;
#define POLY_INDEX_NONE INT64_MIN

/* x[items]: kinds[i] with numbers args[3*i .. 3*i+2], and tensors[i] for
 * POLY_INDEX_TENSOR (tensors may be NULL if there is none). Slices are clipped
 * as in Python; an index out of range is an error, in a tensor it gives 0.
 * Since 2.0. */
POLY_API PolyUOp *poly_index(PolyCtx *ctx, PolyUOp *x, const int32_t *kinds, const int64_t *args, PolyUOp **tensors,
                             int n);

/* x with x[items] replaced by value, which broadcasts to the shape of x[items]
 * and is converted to the type of x. x itself does not change (poly_update
 * writes the result into its memory). Where index tensors name a place twice,
 * the last value wins. Since 2.0. */
POLY_API PolyUOp *poly_setitem(PolyCtx *ctx, PolyUOp *x, const int32_t *kinds, const int64_t *args, PolyUOp **tensors,
                               int n, PolyUOp *value);

/* Views: chains of poly_reshape, poly_permute, poly_shrink, poly_flip,
 * poly_detach, slices, and poly_bitcast_by_id to a type of the same size.
 * poly_is_view is 1 if x is a view of base, or base itself: if it shows
 * elements of base, none of them twice and nothing else; 0 if not, -1 on error.
 * poly_set_view is base with the elements that its view x shows replaced by
 * value, which broadcasts to the shape of x and is converted to its type; base
 * itself does not change (poly_update writes through a view). poly_move_view is
 * the view of other, which has the shape and type of base, that x is of base.
 * Since 2.0. */
POLY_API int poly_is_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base);
POLY_API PolyUOp *poly_set_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, PolyUOp *value);
POLY_API PolyUOp *poly_move_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, PolyUOp *other);

/* Where a view has its elements in the memory of base: that at i, j, ... is
 * element offset + i*strides[0] + j*strides[1] + ... of base, counted row by
 * row; ndim is that of x. 1; 0 if x is no view of base, has no elements, or its
 * places have no such form (a reshaped transpose); -1 on error. Since 2.0. */
POLY_API int poly_view_layout(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, int64_t *strides_out, int ndim,
                                int64_t *offset_out);

/* Elements of an axis chosen by a vector of integers, which takes its place:
 * shape x[:axis] + (len(index),) + x[axis+1:]. Negative ones count from the end,
 * those out of range give 0. Since 2.0. */
POLY_API PolyUOp *poly_index_select(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index);

/* out[i][j][k] = x[i][index[i][j][k]][k] for axis 1, and so on: index has as
 * many axes as x. Since 2.0. */
POLY_API PolyUOp *poly_gather_axis(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index);

/* x with out[i][index[i][j][k]][k] = src[i][j][k] for axis 1, and so on: index
 * and src have as many axes as x, index is in no axis longer than src, nor (but
 * for axis) than x. src has the type of x. Of several values for one place the
 * last one wins; indices out of range do nothing. Since 2.0. */
POLY_API PolyUOp *poly_scatter(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index, PolyUOp *src);

/* poly_scatter that combines all values for one place by POLY_REDUCE_SUM, PROD,
 * MAX, MIN or MEAN, together with what x holds there if include_self is not 0.
 * Since 2.0. */
POLY_API PolyUOp *poly_scatter_reduce(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index, PolyUOp *src, int op,
                                      int include_self);

/* The elements of x where a bool mask, broadcast to the shape of x, is true, in
 * order: a vector. The size of a result is part of the graph, so the caller
 * gives it as count (the sum of the mask); missing elements are 0. Since 2.0. */
POLY_API PolyUOp *poly_masked_select(PolyCtx *ctx, PolyUOp *x, PolyUOp *mask, int64_t count);

/* Where x is not 0: (count, ndim of x) int32, an index in each row. count as in
 * poly_masked_select. Since 2.0. */
POLY_API PolyUOp *poly_nonzero(PolyCtx *ctx, PolyUOp *x, int64_t count);

/* Rows of a 2-D table chosen by a tensor of indices: shape idx + (columns,).
 * Since 1.0. */
POLY_API PolyUOp *poly_gather(PolyCtx *ctx, PolyUOp *table, const int64_t *t_shape, int t_ndim, PolyUOp *idx,
                              const int64_t *i_shape, int i_ndim, int64_t *shape_out, int *ndim_out);

/* n tensors joined along an axis, which may differ in size there. Since 2.0. */
POLY_API PolyUOp *poly_cat(PolyCtx *ctx, PolyUOp **xs, int n, int axis);

/* n tensors of one shape joined along a new axis. Since 2.0. */
POLY_API PolyUOp *poly_stack(PolyCtx *ctx, PolyUOp **xs, int n, int axis);

/* n vectors (or scalars) laid along the axes of an n-dimensional grid: n tensors
 * of its shape are written to out. xy not 0 swaps the first two axes. 0 or -1.
 * Since 2.0. */
POLY_API int poly_meshgrid(PolyCtx *ctx, PolyUOp **xs, int n, int xy, PolyUOp **out);

/* x cut along an axis into n parts of the given sizes (their sum is the size
 * of the axis); parts are written to out. 0 or -1. Since 2.0. */
POLY_API int poly_split(PolyCtx *ctx, PolyUOp *x, const int64_t *sizes, int n, int axis, PolyUOp **out);

/* 1 at the position of each class, 0 elsewhere, along a new last axis. Since
 * 2.0. */
POLY_API PolyUOp *poly_one_hot(PolyCtx *ctx, PolyUOp *x, int64_t classes);

/* The lower (upper) triangle of the last two axes, 0 elsewhere: column -
 * row <= diagonal (>= diagonal). Since 1.0. */
POLY_API PolyUOp *poly_tril(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int diagonal);
POLY_API PolyUOp *poly_triu(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int diagonal);

/* (T, T) float32: 0 on and below the diagonal, -1e9 above. Since 1.0. */
POLY_API PolyUOp *poly_causal_mask(PolyCtx *ctx, int64_t T, int64_t *shape_out, int *ndim_out);

/* ======================================================================== */
/* Reductions                                                               */
/* ======================================================================== */

/* ADD, MUL or MAX over some axes (>= 0), which stay with size 1. A frontend of
 * the original interface that goes on as if the axes had disappeared is
 * understood: of the two readings of its graph, the one whose sizes fit is
 * taken when a store, a reshape or an expansion decides. Since 1.0. */
POLY_API PolyUOp *poly_reduce_axis(PolyCtx *ctx, PolyOps op, PolyUOp *src, int64_t *axes, int n_axes);

/* One axis, kept with size 1 if keep is not 0. A 1-D input without keep gives
 * shape (1), except for logsumexp, which gives a scalar. Variance divides by
 * count - corr (by 1 if that is not positive). Since 1.0. */
POLY_API PolyUOp *poly_sum_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_max_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_mean_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                   int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_var_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int corr, int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_logsumexp(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                 int64_t *shape_out, int *ndim_out);

/* Reductions over lists of axes. */
typedef enum PolyReduceOp {
  POLY_REDUCE_SUM = 0,  /* small integers and bools in 32 bits, float16 in float32 and back */
  POLY_REDUCE_PROD = 1,
  POLY_REDUCE_MAX = 2,
  POLY_REDUCE_MIN = 3,
  POLY_REDUCE_MEAN = 4,
  POLY_REDUCE_ANY = 5, /* bool */
  POLY_REDUCE_ALL = 6, /* bool */
  POLY_REDUCE_LOGSUMEXP = 7,
  POLY_REDUCE_ARGMAX = 8, /* int32 (int64 for an axis of 2^31 or more), the first of equals, or the first NaN; one axis or all */
  POLY_REDUCE_ARGMIN = 9,
  POLY_REDUCE_VAR = 10, /* divide by count - correction, not below 0 */
  POLY_REDUCE_STD = 11
} PolyReduceOp;

/* x reduced over n_axes axes (n_axes -1: all). They stay with size 1 if
 * keepdim is not 0 and disappear otherwise. correction counts for VAR and STD
 * only (1: sample, 0: population). Since 2.0. */
POLY_API PolyUOp *poly_reduce(PolyCtx *ctx, int op, PolyUOp *x, const int64_t *axes, int n_axes, int keepdim,
                              int correction);

/* POLY_REDUCE_SUM or POLY_REDUCE_PROD, accumulated in a data type, which the
 * result keeps. Since 2.0. */
POLY_API PolyUOp *poly_reduce_as(PolyCtx *ctx, int op, PolyUOp *x, const int64_t *axes, int n_axes, int keepdim,
                                 int dtype);

/* Running sum, product and log(sum(e^x)) along an axis. Since 2.0. */
POLY_API PolyUOp *poly_cumsum(PolyCtx *ctx, PolyUOp *x, int axis);
POLY_API PolyUOp *poly_cumprod(PolyCtx *ctx, PolyUOp *x, int axis);
POLY_API PolyUOp *poly_logcumsumexp(PolyCtx *ctx, PolyUOp *x, int axis);

/* Running maximum and minimum along an axis, written to out[0], and the first
 * position of each, int32, to out[1]. After NaN all are NaN. 0 or -1. Since
 * 2.0. */
POLY_API int poly_cummax(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp **out);
POLY_API int poly_cummin(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp **out);

/* x sorted along an axis, written to out[0], and where its elements came from,
 * int32, to out[1]. Equal elements keep their order; NaN is greater than every
 * number. From 16384 elements on it compiles more kernels. 0 or -1. Since 2.0. */
POLY_API int poly_sort(PolyCtx *ctx, PolyUOp *x, int axis, int descending, PolyUOp **out);

/* out[1] of poly_sort. Since 2.0. */
POLY_API PolyUOp *poly_argsort(PolyCtx *ctx, PolyUOp *x, int axis, int descending);

/* The k largest (smallest, if largest is 0) elements along an axis, in order, and
 * their positions: the first k of poly_sort. 0 <= k <= size. 0 or -1. Since
 * 2.0. */
POLY_API int poly_topk(PolyCtx *ctx, PolyUOp *x, int64_t k, int axis, int largest, PolyUOp **out);

/* Softmax and its logarithm along an axis. Since 1.0. */
POLY_API PolyUOp *poly_softmax(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis);
POLY_API PolyUOp *poly_log_softmax(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis);

/* (x - mean) / sqrt(variance + eps) along an axis. Since 1.0. */
POLY_API PolyUOp *poly_layernorm(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, double eps,
                                 int64_t *shape_out, int *ndim_out);

/* The same over several axes, then * weight + bias (either may be NULL). Since
 * 2.0. */
POLY_API PolyUOp *poly_layernorm_axes(PolyCtx *ctx, PolyUOp *x, const int64_t *axes, int n_axes, double eps,
                                      PolyUOp *weight, PolyUOp *bias);

/* x / sqrt(mean(x^2, last axis) + eps) * weight (may be NULL). Since 2.0. */
POLY_API PolyUOp *poly_rmsnorm(PolyCtx *ctx, PolyUOp *x, double eps, PolyUOp *weight);

/* x of shape (N, C, …) normalised within each of `groups` groups of channels,
 * then * weight + bias per channel (either may be NULL). With as many groups as
 * channels this is instance normalisation. Since 2.0. */
POLY_API PolyUOp *poly_groupnorm(PolyCtx *ctx, PolyUOp *x, int64_t groups, double eps, PolyUOp *weight, PolyUOp *bias);

/* (x - mean) * invstd * weight + bias, where the parameters have the shape of
 * some axes of x (n_axes 0: axis 1, the channels); weight and bias may be NULL.
 * invstd is 1/sqrt(variance + eps). Since 2.0. */
POLY_API PolyUOp *poly_batchnorm(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, PolyUOp *mean,
                                 PolyUOp *invstd, const int64_t *axes, int n_axes);

/* Mean and variance (divided by the count) of each channel (axis 1), written to
 * out[0] and out[1]. 0 or -1. Since 2.0. */
POLY_API int poly_batchnorm_stats(PolyCtx *ctx, PolyUOp *x, PolyUOp **out);

/* ======================================================================== */
/* Convolution and pooling                                                  */
/* ======================================================================== */
/* Windows slide over the last n axes of x, the spatial ones. stride, dilation,
 * kernel and the like are arrays of n numbers; padding holds 2*n: before and
 * after each axis, first axis first. NULL means the default: dilation 1, padding
 * 0, stride 1, in pools the stride of the kernel. An axis of size i gives
 * floor((i + padding - dilation*(kernel-1) - 1) / stride) + 1 windows, with
 * ceil_mode not 0 ceil(…) + 1 of them, but none that begins in the padding at the
 * end (Dumoulin and Visin, https://arxiv.org/abs/1603.07285). */

/* Cross-correlation of x (N, in, …) with weight (out, in/groups, kernel…), plus
 * bias (out), which may be NULL: shape (N, out, …). groups divides in and out;
 * each group of channels has its own filters. Since 2.0. */
POLY_API PolyUOp *poly_conv(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, int64_t groups,
                            const int64_t *stride, const int64_t *dilation, const int64_t *padding, int n);

/* Transposed convolution, the gradient of poly_conv with respect to its input,
 * for weight (in, out/groups, kernel…): an axis of size i becomes (i-1)*stride -
 * padding + dilation*(kernel-1) + output_padding + 1 long. Since 2.0. */
POLY_API PolyUOp *poly_conv_transpose(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, int64_t groups,
                                      const int64_t *stride, const int64_t *dilation, const int64_t *padding,
                                      const int64_t *output_padding, int n);

/* The mean of each window. Padding counts as zeros if count_include_pad is not 0
 * and does not count otherwise. Since 2.0. */
POLY_API PolyUOp *poly_avg_pool(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                const int64_t *dilation, const int64_t *padding, int n, int ceil_mode,
                                int count_include_pad);

/* The maximum of each window; padding never wins. Since 2.0. */
POLY_API PolyUOp *poly_max_pool(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                const int64_t *dilation, const int64_t *padding, int n, int ceil_mode);

/* The same, written to out[0], and the place of each maximum (the first one) in
 * the flattened last n axes of x, int32, to out[1]. 0 or -1. Since 2.0. */
POLY_API int poly_max_pool_indices(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *dilation, const int64_t *padding, int n, int ceil_mode,
                                   PolyUOp **out);

/* Zeros, with the elements of x at the places `indices` of poly_max_pool_indices;
 * elements for one place are added. output_size are the last n sizes of the
 * result; NULL: the least from which the pool makes x. Since 2.0. */
POLY_API PolyUOp *poly_max_unpool(PolyCtx *ctx, PolyUOp *x, PolyUOp *indices, const int64_t *kernel,
                                  const int64_t *stride, const int64_t *dilation, const int64_t *padding, int n,
                                  const int64_t *output_size);

/* How poly_interpolate finds values between elements. */
typedef enum PolyInterpolation {
  POLY_INTERPOLATE_LINEAR = 0,        /* along every axis */
  POLY_INTERPOLATE_NEAREST = 1,       /* element floor(i * in/out) */
  POLY_INTERPOLATE_NEAREST_EXACT = 2  /* element floor((i + 1/2) * in/out) */
} PolyInterpolation;

/* x resized: its last n axes get the sizes `size`. align_corners, for linear
 * interpolation, keeps the outermost elements in place. Since 2.0. */
POLY_API PolyUOp *poly_interpolate(PolyCtx *ctx, PolyUOp *x, const int64_t *size, int n, int mode, int align_corners);

/* ======================================================================== */
/* Linear algebra                                                           */
/* ======================================================================== */

/* Matrix product over the last axis of x and the last but one of w (the only
 * one of a 1-D w); leading axes broadcast. poly_dot gives shape (1) for
 * vector . vector, poly_matmul a scalar. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_dot(PolyCtx *ctx, PolyUOp *x, const int64_t *x_shape, int x_ndim, PolyUOp *w,
                           const int64_t *w_shape, int w_ndim, int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_matmul(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* poly_matmul accumulated in a data type, which the result keeps. Since 2.0. */
POLY_API PolyUOp *poly_matmul_as(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, int dtype);

/* x @ w^T + bias for w of shape (out, in); bias may be NULL. Since 1.0. */
POLY_API PolyUOp *poly_linear(PolyCtx *ctx, PolyUOp *x, const int64_t *x_shape, int x_ndim, PolyUOp *w,
                              const int64_t *w_shape, int w_ndim, PolyUOp *bias, const int64_t *b_shape, int b_ndim,
                              int64_t *shape_out, int *ndim_out);

/* x @ w^T + bias with the nodes' own shapes; bias may be NULL. Since 2.0. */
POLY_API PolyUOp *poly_affine(PolyCtx *ctx, PolyUOp *x, PolyUOp *w, PolyUOp *bias);

/* x @ w + bias for w of shape (in, out), x * w + bias for w of one axis; bias may
 * be NULL. w of shape (out, in) is transposed if only its transpose fits x. Since
 * 2.0. */
POLY_API PolyUOp *poly_dense(PolyCtx *ctx, PolyUOp *x, PolyUOp *w, PolyUOp *bias);

/* Einstein summation of 1 to 8 operands: "ij,jk->ik", letters, one per dimension;
 * a letter repeated in one operand takes the diagonal; "..." stands for any number
 * of further axes, which broadcast. Without "->" the result has the axes of "...",
 * then every letter that occurs once, in alphabetical order. Axes of "..." that the
 * right side leaves out are summed.
 * shapes and ndims may be NULL (the nodes' own). Since 1.0. */
POLY_API PolyUOp *poly_einsum(PolyCtx *ctx, const char *formula, PolyUOp **ops, const int64_t **shapes,
                              const int *ndims, int n, int64_t *shape_out, int *ndim_out);

/* The Cholesky factor of symmetric positive definite matrices (.., n, n):
 * lower, or upper if upper is not 0. Since 1.0. */
POLY_API PolyUOp *poly_cholesky(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int upper);

/* Solves A X = B (A^T X = B if trans_a) for triangular A (.., n, n), B (.., n)
 * or (.., n, k); only the named triangle of A is read, and its diagonal not if
 * unit_diag. Since 1.0. */
POLY_API PolyUOp *poly_triangular_solve(PolyCtx *ctx, PolyUOp *a, const int64_t *a_shape, int a_ndim, PolyUOp *b,
                                        const int64_t *b_shape, int b_ndim, int upper, int trans_a, int unit_diag,
                                        int64_t *shape_out, int *ndim_out);

/* x with a x = b for matrices a (.., n, n) and b of shape (n), (.., n) with the
 * leading axes of a, or (.., n, k), by elimination with partial pivoting. Where a
 * is singular, x is infinite or NaN; so is poly_inv, the inverse. Since 2.0. */
POLY_API PolyUOp *poly_solve(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_inv(PolyCtx *ctx, PolyUOp *a);

/* The determinant of matrices (.., n, n). Its gradient is NaN where it is 0.
 * poly_slogdet writes its sign to out[0] and the logarithm of its absolute value,
 * which cannot overflow, to out[1]; 0 or -1. Since 2.0. */
POLY_API PolyUOp *poly_det(PolyCtx *ctx, PolyUOp *a);
POLY_API int poly_slogdet(PolyCtx *ctx, PolyUOp *a, PolyUOp **out);

/* a = Q R for matrices (.., m, n): orthogonal Q (.., m, m) in out[0] and upper
 * triangular R (.., m, n) in out[1], with LAPACK's signs. 0 or -1. Since 2.0. */
POLY_API int poly_qr(PolyCtx *ctx, PolyUOp *a, PolyUOp **out);

/* a = U diag(S) V^T for matrices (.., m, n) with k = min(m, n): U (.., m, k) in
 * out[0], the singular values S (.., k), the greatest first, in out[1], V^T
 * (.., k, n) in out[2]; with full_matrices not 0, U is (.., m, m) and V^T
 * (.., n, n). By Jacobi's
 * rotations: some kernels for each of about n (3 + log2(n)) rounds, so for small
 * matrices. 0 or -1. Since 2.0. */
POLY_API int poly_svd(PolyCtx *ctx, PolyUOp *a, int full_matrices, PolyUOp **out);

/* a = V diag(W) V^T for symmetric matrices (.., n, n): the eigenvalues W (.., n),
 * the least first, in out[0], and orthonormal eigenvectors, the columns of V
 * (.., n, n), in out[1]. Only the lower triangle of a is read, or the upper one if
 * upper is not 0. Takes as long as poly_svd. 0 or -1. Since 2.0. */
POLY_API int poly_eigh(PolyCtx *ctx, PolyUOp *a, int upper, PolyUOp **out);

/* Least squares for matrices a (.., m, n) and b of shape (m), (.., m) with the
 * leading axes of a, or (.., m, k): in out[0] the x (.., n) or (.., n, k) of the
 * least norm among those for which |a x - b| is least, in out[1] the squares
 * |a x - b|^2, one for each column of b, in out[2] the rank of a, int32, and in
 * out[3] its singular values. Those up to rcond times the greatest count as 0; a
 * negative rcond stands for the machine's epsilon times the greater of m and n.
 * 0 or -1. Since 2.0. */
POLY_API int poly_lstsq(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rcond, PolyUOp **out);

/* Matrices scaled to norm 1 (norm + eps), then `steps` times x = sum of params[i]
 * (x x^T)^i x, which brings their singular values near 1; steps in 0..1000. Since
 * 2.0. */
POLY_API PolyUOp *poly_newton_schulz(PolyCtx *ctx, PolyUOp *a, int steps, const double *params, int n_params,
                                     double eps);

/* softmax(scale * q k^T + mask) v for q (.., L, d), k (.., S, d), v (.., S, e).
 *   mask        is added, or, if it is bool, tells which pairs count; may be NULL
 *   causal      not 0 hides keys after the query (then mask must be NULL)
 *   enable_gqa  not 0: several heads of q (axis -3) share one of k and v
 *   scale       0 means 1/sqrt(d)
 *   dropout_p   weights are dropped with this probability by the numbers of seed
 *               (see "Random numbers"; may be NULL if it is 0)
 * Masked pairs may be skipped: whether a NaN or an infinity in a masked position
 * reaches the result is unspecified. Since 2.0. */
POLY_API PolyUOp *poly_attention(PolyCtx *ctx, PolyUOp *q, PolyUOp *k, PolyUOp *v, PolyUOp *mask, int causal,
                                 int enable_gqa, double scale, double dropout_p, PolyUOp *seed);

/* ======================================================================== */
/* Hashes                                                                   */
/* ======================================================================== */

/* The sponge of FIPS 202 over the bytes of the last axis: rate bytes a block, and
 * suffix, the bits that a hash puts behind the message. SHA3-224 has rate 144 and
 * suffix 6, SHA3-256 136, SHA3-384 104, SHA3-512 72; SHAKE128 168 and 31, SHAKE256
 * 136. At most 256 blocks: each is 24 kernels. uint8 of shape
 * (.., (200 - rate) / 2). Since 2.0. */
POLY_API PolyUOp *poly_keccak(PolyCtx *ctx, PolyUOp *x, int rate, int suffix);

/* 16 bytes (uint8) that depend on all bytes of x: a tree of SHAKE128 over blocks of
 * 4096 bytes, with zeros behind the last 2^20 bytes. Since 2.0. */
POLY_API PolyUOp *poly_hash(PolyCtx *ctx, PolyUOp *x);

/* ======================================================================== */
/* Losses                                                                   */
/* ======================================================================== */

/* Mean cross entropy of logits along axis. target holds class numbers (shape
 * without axis) or probabilities (same shape). A scalar. NULL and *ndim_out 0
 * if the shapes do not fit. Since 1.0. */
POLY_API PolyUOp *poly_cross_entropy(PolyCtx *ctx, PolyUOp *logits, const int64_t *l_shape, int l_ndim, PolyUOp *target,
                                     const int64_t *t_shape, int t_ndim, int axis, int64_t *shape_out, int *ndim_out);

/* Reduction of the losses of all elements. */
typedef enum PolyLossReduction {
  POLY_LOSS_MEAN = 0,
  POLY_LOSS_SUM = 1,
  POLY_LOSS_NONE = 2 /* no reduction: a loss for each element */
} PolyLossReduction;

/* Cross entropy of logits along an axis of classes: -sum(p log softmax(logits)),
 * where p is the target (class numbers, or probabilities, as above) mixed with
 * the uniform distribution: (1-s)*p + s/classes for label_smoothing s in [0, 1].
 * Since 2.0. */
POLY_API PolyUOp *poly_cross_entropy_loss(PolyCtx *ctx, PolyUOp *logits, PolyUOp *target, int axis,
                                          double label_smoothing, int reduction);

/* The same for class numbers and logits with the classes in the last axis.
 * Targets equal to ignore_index do not count, in the mean neither (-1: all
 * count). Since 2.0. */
POLY_API PolyUOp *poly_sparse_cross_entropy_loss(PolyCtx *ctx, PolyUOp *logits, PolyUOp *target, int64_t ignore_index,
                                                 double label_smoothing, int reduction);

/* -x[n, target[n]] * weight[target[n]] for log probabilities x (N, C, …), class
 * numbers target (N, …) and weight (C), which may be NULL. Targets equal to
 * ignore_index do not count, if use_ignore is not 0. The mean is divided by the
 * sum of weights. Since 2.0. */
POLY_API PolyUOp *poly_nll_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, PolyUOp *weight, int use_ignore,
                                int64_t ignore_index, int reduction);

/* Losses of d = x - target. Squared: d^2. Absolute: |d|. Huber: d^2/2 for |d| <=
 * delta, else delta*(|d| - delta/2), with delta > 0. Shapes broadcast, x is
 * floating. Since 2.0. */
POLY_API PolyUOp *poly_mse_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_l1_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_huber_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, double delta, int reduction);

/* -(y log x + (1-y) log(1-x)) for probabilities x and y = target. The second
 * takes logits (x before the sigmoid) and pos_weight (may be NULL), which scales
 * the first term. Since 2.0. */
POLY_API PolyUOp *poly_binary_cross_entropy(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_binary_cross_entropy_logits(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, PolyUOp *pos_weight,
                                                   int reduction);

/* ======================================================================== */
/* Training                                                                 */
/* ======================================================================== */
/* What optimizers, learning rate schedules and recurrent layers compute. Each
 * builds the new state as a graph of the old one; the caller owns the state and
 * replaces all of it in one program (poly_update, poly_compile_update). State is
 * computed in float32, or in float64 if the parameter is float64, and keeps its
 * type. */

/* A step of a parameter (floating) by layer-wise adaptive rate scaling (You,
 * Gitman and Ginsburg, arXiv:1708.03888), g being its gradient, of its shape:
 *
 *   rate = lr, times tcoef |param| / (|g| + weight_decay |param|) for tcoef != 0
 *   g += weight_decay * param               unless decoupled_decay
 *   g *= rate                               if classic
 *   buffer = momentum * buffer + g          for momentum != 0
 *   g = buffer, or momentum * buffer + g    if nesterov
 *   g = poly_newton_schulz(g, ns_steps)     for n > 0, as a matrix of g's first
 *                                           axis and all others together
 *   param *= 1 - lr * weight_decay          if decoupled_decay
 *   param -= g * rate, or g                 if classic
 *
 * |x| is the root of the sum of squares; a ratio of which a norm is 0 counts as 1.
 * tcoef 0 is gradient descent with momentum; with n coefficients and decoupled
 * decay it is Muon (arXiv:2502.16982). lr has one element; buffer may be NULL if
 * momentum is 0. Writes the new param to out[0] and, for momentum != 0, the new
 * buffer to out[1]. 0 or -1. Since 2.0. */
POLY_API int poly_lars(PolyCtx *ctx, PolyUOp *param, PolyUOp *grad, PolyUOp *lr, PolyUOp *buffer, double momentum,
                       double weight_decay, double tcoef, int nesterov, int classic, int decoupled_decay, int ns_steps,
                       const double *ns_coefficients, int n, PolyUOp **out);

/* A step of a parameter by moments of its gradient g (You et al., LAMB,
 * arXiv:1904.00962):
 *
 *   g += weight_decay * param                           if coupled_decay
 *   m = b1 * m + (1 - b1) * g,  v = b2 * v + (1 - b2) * g^2
 *   step = m/(1 - b1_t) / (sqrt(v/(1 - b2_t)) + eps)
 *   step += weight_decay * param                        unless coupled_decay
 *   param -= lr * step, times |param| / |step| unless adam
 *
 * adam is Adam (arXiv:1412.6980) with coupled_decay, AdamW (arXiv:1711.05101)
 * without. b1_t and b2_t, of one element, are b1 and b2 to the power of the number
 * of this step, from 1. Writes the new param, m and v to out. 0 or -1. Since
 * 2.0. */
POLY_API int poly_lamb(PolyCtx *ctx, PolyUOp *param, PolyUOp *grad, PolyUOp *lr, PolyUOp *m, PolyUOp *v, PolyUOp *b1_t,
                       PolyUOp *b2_t, double b1, double b2, double eps, double weight_decay, int adam,
                       int coupled_decay, PolyUOp **out);

/* Clips n gradients by their common norm: each is multiplied by min(1, max_norm /
 * (norm + 1e-6)), where norm is the norm of order norm_type (> 0; INFINITY: the
 * greatest absolute value) of all elements of all gradients. Writes norm, a
 * scalar, to out[0] and the clipped gradients to out[1 .. n]. 0 or -1. Since 2.0. */
POLY_API int poly_clip_grad_norm(PolyCtx *ctx, PolyUOp **grads, int n, double max_norm, double norm_type,
                                 PolyUOp **out);

/* How a learning rate depends on t, the number of steps so far; lr is the rate
 * that the schedule begins with. params are, in this order: */
typedef enum PolyRateSchedule {
  POLY_RATE_STEP = 0,            /* step_size, gamma: lr * gamma^floor(t / step_size) */
  POLY_RATE_MULTISTEP = 1,       /* gamma, milestones...: lr * gamma for each milestone <= t */
  POLY_RATE_EXPONENTIAL = 2,     /* gamma: lr * gamma^t */
  POLY_RATE_CONSTANT = 3,        /* factor, total: lr * factor for t < total, then lr */
  POLY_RATE_LINEAR = 4,          /* start, end, total: lr times a factor from start to end, t from 0 to total */
  POLY_RATE_POLYNOMIAL = 5,      /* total, power: lr * (1 - t/total)^power, 0 from total on */
  POLY_RATE_COSINE = 6,          /* total, least: (lr - least) * (1 + cos(pi t/total)) / 2 + least */
  POLY_RATE_COSINE_RESTARTS = 7, /* first, factor, least: the same in cycles of first, first*factor, ... steps */
  POLY_RATE_WARMUP_COSINE = 8,   /* warmup, decay, least: lr * (t+1)/warmup, then a half cosine down to least */
  POLY_RATE_ONE_CYCLE = 9        /* max, total, rising share of the steps, 1 for lines or 0 for cosines, divisor, final
                                  * divisor, 1 for three phases or 0 for two: from max/divisor to max, (back, ) and
                                  * down to max/divisor/final */
} PolyRateSchedule;

/* The learning rate after t steps, computed in float64, of the type (at least
 * float32) and shape of lr; lr and t have one element. Names and conventions are
 * PyTorch's. Since 2.0. */
POLY_API PolyUOp *poly_learning_rate(PolyCtx *ctx, PolyUOp *lr, PolyUOp *t, int schedule, const double *params, int n);

/* Multiplies lr by factor, in (0, 1), when a metric has not become better for
 * more than patience steps; then cooldown steps do not count. Better is less, or
 * with maximize greater, than best by more than threshold, or with relative by
 * more than threshold * best. lr does not fall below min_lr, nor by eps or less.
 * All tensors have one element; best is infinite at first, bad and cooling, which
 * count steps, are 0. Writes the new lr, best, bad and cooling to out. 0 or -1.
 * Since 2.0. */
POLY_API int poly_plateau(PolyCtx *ctx, PolyUOp *lr, PolyUOp *metric, PolyUOp *best, PolyUOp *bad, PolyUOp *cooling,
                          int maximize, int relative, double threshold, double factor, double min_lr, double eps,
                          int64_t patience, int64_t cooldown, PolyUOp **out);

/* One step of long short-term memory (Hochreiter and Schmidhuber, 1997) from the
 * state h and c, (..., H), by x, (..., I):
 *
 *   i, f, g, o = the quarters of x w_ih^T + b_ih + h w_hh^T + b_hh
 *   c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
 *
 * w_ih is (4H, I), w_hh (4H, H), biases, which may be NULL, (4H). Writes h and c to
 * out. 0 or -1. Since 2.0. */
POLY_API int poly_lstm_cell(PolyCtx *ctx, PolyUOp *x, PolyUOp *h, PolyUOp *c, PolyUOp *w_ih, PolyUOp *w_hh,
                            PolyUOp *b_ih, PolyUOp *b_hh, PolyUOp **out);

/* The same over a sequence x, (T, N, I) or with batch_first (N, T, I), from h and
 * c, (N, H), forwards or in reverse. Writes the outputs of all steps, (T, N, H) or
 * (N, T, H), in the order of x, and h and c of the last one to out. 0 or -1. Since
 * 2.0. */
POLY_API int poly_lstm(PolyCtx *ctx, PolyUOp *x, PolyUOp *h, PolyUOp *c, PolyUOp *w_ih, PolyUOp *w_hh, PolyUOp *b_ih,
                       PolyUOp *b_hh, int batch_first, int reverse, PolyUOp **out);

/* ======================================================================== */
/* Gradients                                                                */
/* ======================================================================== */
/* Gradients are graphs like any other: nothing is computed, and they can be
 * differentiated again. */

/* d(sum of y)/d(wrt), of wrt's shape; zeros if y does not depend on wrt. NULL
 * if an operation on the way has no derivative. Since 1.0. */
POLY_API PolyUOp *poly_grad(PolyCtx *ctx, PolyUOp *y, PolyUOp *wrt);

/* The same for n nodes in one pass; seed (of y's shape) weighs the elements of
 * y, NULL means ones. Writes n nodes to out. 0 or -1. Since 1.0. */
POLY_API int poly_grad_many(PolyCtx *ctx, PolyUOp *y, PolyUOp *seed, PolyUOp **wrts, int n, PolyUOp **out);

/* ======================================================================== */
/* Running                                                                  */
/* ======================================================================== */
/* A program is a SINK of STOREs and ASSIGNs. All values that are stored are
 * those before any assignment. Assignments happen in the order of the SINK's
 * sources; a later one that reads an assigned buffer element by element sees
 * the new values, one that reads it through a reduction the old ones; an
 * ASSIGN node used as an operand stands for the new contents. One kernel cannot
 * read a buffer before and after an assignment: such a program is not compiled.
 * The buffers of one kernel may take 4 GiB together; more is an error. */

/* Store value into a buffer: void, a source for a SINK. The value is converted
 * to the buffer's type; it must have as many elements as the buffer, or be a
 * scalar, which fills it. A value whose shape has a variable fills its part of the
 * buffer, laid out as the largest such shape, and leaves the rest; that counts as
 * an assignment. Since 1.0. */
POLY_API PolyUOp *poly_store_val(PolyCtx *ctx, PolyUOp *buf, PolyUOp *value);

/* Replace the contents of target (a buffer, a reshaped one, or a view of one:
 * poly_is_view) by value. Since 1.0, views since 2.0. */
POLY_API PolyUOp *poly_assign(PolyCtx *ctx, PolyUOp *target, PolyUOp *value);

/* A SINK of one or n STORE and ASSIGN nodes. Since 1.0. */
POLY_API PolyUOp *poly_sink1(PolyCtx *ctx, PolyUOp *store);
POLY_API PolyUOp *poly_sink_n(PolyCtx *ctx, PolyUOp **stores, int n);

/* Runs a SINK on host memory and returns when the results are there. Every
 * buffer of the graph must be bound, here or by poly_buffer_host; bindings of
 * other buffers are ignored, of two for one buffer the first counts.
 * poly_realize_ex also gives values to variables; they override defaults of
 * poly_bind_var. poly_realize_flat takes parallel arrays. 0 or -1. Since
 * 1.0. */
POLY_API int poly_realize(PolyCtx *ctx, PolyUOp *sink, PolyBufferBinding *binds, int n_binds);
POLY_API int poly_realize_ex(PolyCtx *ctx, PolyUOp *sink, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars,
                             int n_vars);
POLY_API int poly_realize_flat(PolyCtx *ctx, PolyUOp *sink, PolyUOp **buffers, void **datas, int n);

/* The same in three calls: forget the bindings of this context, add one (the
 * memory must stay valid until exec), run and forget. A bind that fails makes
 * exec fail. Since 1.0. */
POLY_API void poly_realize_begin(PolyCtx *ctx);
POLY_API void poly_realize_bind(PolyCtx *ctx, PolyUOp *buffer, void *data);
POLY_API int poly_realize_exec(PolyCtx *ctx, PolyUOp *sink);

/* Computes n values and writes each, row by row in its own type, to data[i].
 * data[i] must not lie in memory that the values are computed from: poly_update
 * replaces contents. If leaves is not NULL, leaves[i] receives a new buffer of the
 * value's shape on data[i], as poly_buffer_host makes it. 0 or -1. Since 2.0. */
POLY_API int poly_realize_into(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves);

/* As poly_realize_into, and then replaces the contents of n_updates buffers:
 * targets are nodes of poly_buffer_host or views of them (poly_is_view), updates
 * their new values. A buffer with a view among the targets is there once. Since
 * 2.0. */
POLY_API int poly_update(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves, PolyUOp **targets,
                         PolyUOp **updates, int n_updates);

/* Copies. poly_copy_from_host replaces the contents of a buffer that has memory
 * (of poly_buffer_host, poly_from_host, or a leaf) by nbytes of data, exactly as
 * many as it has. poly_copy_to_host writes the elements of x row by row to data,
 * which has room for nbytes; x is computed first if it is no such buffer. 0 or
 * -1. Since 2.0. */
POLY_API int poly_copy_from_host(PolyCtx *ctx, PolyUOp *buffer, const void *data, size_t nbytes);
POLY_API int poly_copy_to_host(PolyCtx *ctx, PolyUOp *x, void *data, size_t nbytes);

/* ======================================================================== */
/* Jobs                                                                     */
/* ======================================================================== */
/* A job is a program that runs while its caller goes on. Jobs of a context run
 * one after the other, in the order in which they were started, as if each had
 * run at once: whatever else runs programs on the context, copies memory of its
 * buffers or destroys it waits for them, and building graphs does not. Until a
 * job has ended, all memory that it reads or writes must stay valid and must not
 * be touched, and handles of buffers on such memory must be kept. */


/* poly_realize_into, poly_update and poly_step_run_ex as jobs: they compile if
 * need be, start the job and return. Leaves are there at once. NULL on error.
 * Since 2.0. */
POLY_API PolyJob *poly_realize_async(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves);
POLY_API PolyJob *poly_update_async(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves,
                                    PolyUOp **targets, PolyUOp **updates, int n_updates);
POLY_API PolyJob *poly_step_run_async(PolyStep *step, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars,
                                      int n_vars);

/* Waits for the end of a job, at most timeout_ms milliseconds (0: only asks; less
 * than 0: without a limit). 0: it has ended well; -1: it has failed, and
 * poly_last_error says why; 1: it is still running. May be called again. Since
 * 2.0. */
POLY_API int poly_job_wait(PolyJob *job, int64_t timeout_ms);

/* Gives the handle back; the work goes on. NULL and stale handles are ignored.
 * Since 2.0. */
POLY_API void poly_job_release(PolyJob *job);

/* ======================================================================== */
/* Compiled steps                                                           */
/* ======================================================================== */
/* A step is a program that was compiled once, for a loop that runs it often.
 * It has buffers: first the bindable ones (index 0 .. n_bindable-1), then
 * temporaries of its own. A step must not run in two threads at once, and
 * outlives its context as a stale handle only. */

/* Compiles a SINK. NULL on error. Since 1.0. */
POLY_API PolyStep *poly_compile_step(PolyCtx *ctx, PolyUOp *sink);

/* Compiles the program of poly_update. Since 2.0. */
POLY_API PolyStep *poly_compile_update(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **targets,
                                       PolyUOp **updates, int n_updates);

/* The same for a step of which only the n_inputs given buffers change between
 * runs, and its targets. Reductions and contiguous values that depend on none of
 * them, nor on variables, are computed now, once, and kept with the step. Since
 * 2.0. */
POLY_API PolyStep *poly_compile_update_pruned(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **targets,
                                              PolyUOp **updates, int n_updates, PolyUOp **inputs, int n_inputs);

/* A step that computes loss (one element) and its gradient with respect to n
 * buffers. Writes the index of the loss and of each gradient (flat, in the
 * parameter's type) among the step's buffers. Since 1.0. */
POLY_API PolyStep *poly_compile_value_and_grad(PolyCtx *ctx, PolyUOp *loss, PolyUOp **params, int n_params,
                                               int *loss_idx_out, int *grad_idxs_out);

/* Ends a step. NULL, stale steps and destroyed contexts are ignored. Since
 * 1.0. */
POLY_API void poly_step_destroy(PolyStep *step);

/* Runs a step. Buffers that are not given here use the memory that they were
 * made on (poly_buffer_host). 0 or -1. Since 1.0. */
POLY_API int poly_step_run(PolyStep *step, PolyBufferBinding *binds, int n_binds);
POLY_API int poly_step_run_ex(PolyStep *step, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars, int n_vars);

/* Runs a step with pointers by buffer index; NULL entries are skipped. n <= 0
 * is an error. Since 1.0. */
POLY_API int poly_step_run_indexed(PolyStep *step, void **ptrs, int n);
POLY_API int poly_step_run_indexed_ex(PolyStep *step, void **ptrs, int n, PolyVarBinding *vars, int n_vars);

/* Counts of a step: kernels, temporaries, bindable buffers, all buffers; 0 for
 * NULL. Since 1.0. */
POLY_API int poly_step_n_kernels(const PolyStep *step);
POLY_API int poly_step_n_intermediates(const PolyStep *step);
POLY_API int poly_step_n_bindable_buffers(const PolyStep *step);
POLY_API int poly_step_n_buffers(const PolyStep *step);

/* Describes a buffer of a step. Temporaries share one block of memory that the
 * step owns: their type is void and their sizes are 0. 0 or -1. Since 1.0. */
POLY_API int poly_step_buffer_info(const PolyStep *step, int idx, PolyStepBufferInfo *out);

/* The index of the buffer behind a node (poly_buffer_host and its like), and of the
 * one that value i of poly_compile_update is written to; -1 on error, also if the
 * step has no such buffer. Since 2.0. */
POLY_API int poly_step_buf_index(const PolyStep *step, PolyUOp *x);
POLY_API int poly_step_value_index(const PolyStep *step, int i);

/* The BUFFER node at a bindable index, NULL for other indices. Since 1.0. */
POLY_API PolyUOp *poly_step_buf_uop(const PolyStep *step, int idx);

/* ======================================================================== */
/* WASM plans                                                               */
/* ======================================================================== */
/* A program as a WebAssembly module, for a host that runs WASM itself. The module
 * imports nothing and exports its memory, which is as large as the first 64 KiB,
 * left free, and all buffers behind one another, each at a multiple of 64 bytes.
 * The host instantiates it once, gives every buffer such a place, writes the
 * inputs, and calls the kernels in the order of exec_order with the addresses of
 * their buffers. Assignments change buffers in place, so that the next run goes
 * on from there. A program with variables has no such plan. What a query returns
 * belongs to the plan. */

POLY_API PolyWasmStepPlan *poly_render_step_wasm_plan(PolyCtx *ctx, PolyUOp *sink); /* NULL on error. Since 1.0 */
POLY_API void poly_wasm_stepplan_destroy(PolyWasmStepPlan *plan);                   /* NULL is ignored. Since 1.0 */

POLY_API int poly_wasm_stepplan_n_kernels(const PolyWasmStepPlan *plan);          /* 0 for NULL. Since 1.0 */
POLY_API int poly_wasm_stepplan_n_buffers(const PolyWasmStepPlan *plan);          /* bindable and temporary. Since 1.0 */
POLY_API int poly_wasm_stepplan_n_bindable_buffers(const PolyWasmStepPlan *plan); /* they come first. Since 1.0 */

/* The buffer index of the i-th bindable buffer, which is i; -1 out of range. Since
 * 1.0. */
POLY_API int poly_wasm_stepplan_bindable_buf_index(const PolyWasmStepPlan *plan, int i);

/* The module that holds kernel k, and its length. All kernels of a plan are in
 * one module, which exports "memory" and the functions k0, k1, …; they take
 * the addresses of their buffers in that memory. Since 1.0. */
POLY_API const uint8_t *poly_wasm_stepplan_kernel_bytes(const PolyWasmStepPlan *plan, int k, int *len_out);

/* Kernel k takes this many parameters, and parameter i is a buffer index
 * (-1 if there is none). Since 1.0. */
POLY_API int poly_wasm_stepplan_kernel_n_params(const PolyWasmStepPlan *plan, int k);
POLY_API int poly_wasm_stepplan_kernel_param_buf_index(const PolyWasmStepPlan *plan, int k, int i);

/* Kernel numbers in the order they must run, and how many there are. Since
 * 1.0. */
POLY_API const int *poly_wasm_stepplan_exec_order(const PolyWasmStepPlan *plan, int *n_out);

/* The BUFFER node behind bindable buffer i (a new reference), NULL for other
 * indices and after the end of its context. Since 2.0. */
POLY_API PolyUOp *poly_wasm_stepplan_buf_uop(const PolyWasmStepPlan *plan, int i);

/* Elements and bytes of buffer i; -1 if there is none. Since 1.0. */
POLY_API int64_t poly_wasm_stepplan_buf_size(const PolyWasmStepPlan *plan, int i);
POLY_API int64_t poly_wasm_stepplan_buf_nbytes(const PolyWasmStepPlan *plan, int i);

/* ======================================================================== */
/* Instances                                                                */
/* ======================================================================== */
/* An instance is a model with its parameters, inputs, outputs, entry points and
 * optimizer. It has a graph of its own and belongs to no context. It owns the
 * memory of its buffers, which are all float32 and stay at one address until
 * poly_instance_free; a caller may read and write them between calls.
 * Calls on one instance take turns.
 *
 * Buffers have a name, a shape of at most POLY_MAX_OUT_DIMS dimensions and a
 * role. Entry points are "forward", which fills the outputs, and, of a model
 * with a loss, "loss", which needs the targets too and stores one number in the
 * buffer "loss". */

/* What a buffer of an instance is for. */
typedef enum PolyBufferRole {
  POLY_ROLE_PARAM = 0,  /* trained and saved */
  POLY_ROLE_INPUT = 1,  /* given by the caller */
  POLY_ROLE_TARGET = 2, /* given by the caller, for the loss */
  POLY_ROLE_OUTPUT = 3, /* computed */
  POLY_ROLE_AUX = 4     /* constant data of the model, saved */
} PolyBufferRole;

/* The optimizers of an instance. */
typedef enum PolyOptimizer {
  POLY_OPTIMIZER_NONE = 0,
  POLY_OPTIMIZER_SGD = 1,
  POLY_OPTIMIZER_ADAM = 2,
  POLY_OPTIMIZER_ADAMW = 3
} PolyOptimizer;

/* MODELS FROM JSON. The text is json_len bytes long. Keys ignore case;
 * numbers lose their fraction. All three take
 *   "loss":       "mse" (mean of squares over all elements), "cross_entropy"
 *                 (mean over the batch of -sum(y * log_softmax(output))) or
 *                 "none" (default)
 *   "batch_size": rows of x, output and y (default 1, less counts as 1)
 *   "seed":       of the parameters, which depend on seed, name and position
 *                 only (default 42; see poly_init_param_kaiming)
 * and have the buffers x (batch, in), output (batch, out) and, with a loss,
 * y (batch, out; probabilities for cross_entropy) and loss (1). NULL if the
 * text is no JSON object, a size is missing or impossible, or a key or the name
 * of an activation or a loss is unknown. */

/* A multi-layer perceptron.
 *   "layers":     [in, …, out], two sizes or more (required)
 *   "activation": between layers: relu (default), gelu, silu, tanh,
 *                 sigmoid, none
 *   "bias":       default true; anything but true means none
 * Parameters layers.L.weight (out, in) and layers.L.bias (out), zeros. Since
 * 1.0. */
POLY_API PolyInstance *poly_mlp_instance(const char *json, int json_len);

/* TabM: an ensemble of perceptrons that share their weights.
 *   "layers", "activation" (relu, gelu, silu, none), "n_ensemble" (k, 32)
 * A layer is s * ((r * h) weight^T) + b, with parameters layers.L.weight
 * (out, in), layers.L.r (k, in) and layers.L.s (k, out), ones, layers.L.b
 * (k, out), zeros. The output is the mean over the ensemble. Since 1.0. */
POLY_API PolyInstance *poly_tabm_instance(const char *json, int json_len);

/* A neural additive model: intercept + the sum of one network for each feature.
 *   "n_features" (required), "hidden_sizes" ([64], at most 16), "n_outputs" (1)
 *   "activation": exu (default), relu, gelu, silu
 * Parameters intercept (zeros), then for each feature k and layer l
 * features.k.layers.l.weight, .bias and, for hidden layers with exu,
 * features.k.exu.l.weight, .bias (zeros): exu(h) = relu(exp(weight) * (h -
 * bias)). Since 1.0. */
POLY_API PolyInstance *poly_nam_instance(const char *json, int json_len);

/* A Hugging Face model: config.json and n_files safetensors files in memory, of
 * file_lens[i] bytes each, for batch rows of seq tokens (0: as many as the model
 * allows, but for rotary positions at most 4096). Numbers of any type become
 * float32. Parameters are named as in the files without the prefix
 * "transformer.", "model." or "bert.". x (batch, seq) are token numbers,
 * positions (1, seq) begin as 0, 1, …; output depends on the model_type:
 *   gpt2; llama, mistral, qwen2, qwen3 (the tables rope.cos and rope.sin are
 *     auxiliary): output (batch, seq, vocabulary) are the logits, loss (1) the
 *     sum of their squares. gpt2 has arange (seq) and vocab_arange (vocabulary)
 *     too, which begin as 0, 1, …
 *   bert: token_type (batch, seq) begins as 0, attention_mask (batch, seq) as 1
 *     (0: padding). hidden (batch, seq, width) are the hidden states of tokens,
 *     pooled (batch, width) the pooled states of rows, if the files hold a
 *     pooler; output the logits (batch, seq, vocabulary) of masked tokens, if
 *     the files hold that head, else hidden again.
 * Models with logits have a target y (batch, seq), which begins as -1: the token
 * that each position should give (for one that follows a text, the next one), or
 * a negative number where it does not count. The entry point "cross_entropy"
 * stores the mean cross entropy of those that count in cross_entropy (1), 0 if
 * none does, NaN if one is no token; poly_instance_train_step learns by it when
 * it is given y.
 * NULL if the configuration is bad. Files that cannot be read and tensors that do
 * not fit are left out: see poly_instance_notes. Since 1.0; gpt2 only before 2.0. */
POLY_API PolyInstance *poly_hf_load(const char *config, int config_len, const uint8_t **files,
                                    const int64_t *file_lens, int n_files, int batch, int seq);

/* poly_hf_load that keeps matrices (linear layers and the table of tokens) as
 * weights says: "float32" (NULL means that too), "float16", "bfloat16" (rounded)
 * or "int8": q * s with one float32 s for each output of a layer (each token of
 * the table), the greatest |w| there / 127, so that no weight changes by more
 * than s / 2. Smaller weights make generating faster, which is bound by reading
 * them; arithmetic stays float32. Matrices that are not float32 are no buffers,
 * and such a model can be neither trained nor saved. Since 2.0. */
POLY_API PolyInstance *poly_hf_load_as(const char *config, int config_len, const uint8_t **files,
                                       const int64_t *file_lens, int n_files, int batch, int seq,
                                       const char *weights);

/* poly_hf_load_as of a folder: config.json, and the safetensors files that
 * model.safetensors.index.json names, or model.safetensors, or else all there are.
 * They are mapped into memory while they are read. NULL also if one of them cannot
 * be read. Since 2.0. */
POLY_API PolyInstance *poly_hf_open(const char *path, int batch, int seq, const char *weights);

/* The tokens that end a text, as generation_config.json of the model's folder, or
 * else its config.json, says (eos_token_id): up to room of them are copied to
 * tokens. Their number, or -1 on error. Since 2.0. */
POLY_API int poly_instance_ends(PolyInstance *inst, int32_t *tokens, int room);

/* A model from the bytes of poly_instance_export_ir and (or NULL, 0: zeros) of
 * poly_instance_export_weights, or from those of poly_instance_save_bundle.
 * Nothing keeps the bytes. NULL if they are damaged. Since 1.0. */
POLY_API PolyInstance *poly_instance_from_ir(const uint8_t *ir, int ir_len, const uint8_t *weights, int weights_len);
POLY_API PolyInstance *poly_instance_from_bundle(const uint8_t *data, int len);

/* Ends an instance and its memory. NULL and stale handles are ignored. Since
 * 1.0. */
POLY_API void poly_instance_free(PolyInstance *inst);

/* The model as bytes; malloc'd, their number in *len_out. export_ir: the graph,
 * the very bytes it was loaded from, if it was. export_weights: the parameters,
 * a safetensors file; NULL and 0 if there are none. save_bundle: both, the
 * auxiliary data, and, if an optimizer is set, its settings, step count and
 * moments, so that a loaded instance goes on training where this one stopped.
 * NULL on error. Since 1.0. */
POLY_API uint8_t *poly_instance_export_ir(PolyInstance *inst, int *len_out);
POLY_API uint8_t *poly_instance_export_weights(PolyInstance *inst, int *len_out);
POLY_API uint8_t *poly_instance_save_bundle(PolyInstance *inst, int *len_out);

/* Reads parameters from a safetensors file of F32. Tensors of unknown names or
 * other sizes are left out (poly_instance_notes tells which). 0; -1 if the bytes
 * are no such file. Since 1.0. */
POLY_API int poly_instance_import_weights(PolyInstance *inst, const uint8_t *data, int len);

/* The same, but every tensor must fit and every parameter must be there, or
 * nothing is changed and the result is -1. Since 2.0. */
POLY_API int poly_instance_load_weights(PolyInstance *inst, const uint8_t *data, int len);

/* Warnings of the last read of weights: one line for each tensor that was
 * missing, unknown or of another size; "" if there were none. The text is valid
 * until the next call of this function on the instance. NULL on error. Since 2.0. */
POLY_API const char *poly_instance_notes(PolyInstance *inst);

/* Parameters, i from 0: how many (0 for NULL); name (valid until free); memory
 * and number of elements (numel_out may be NULL); number of dimensions, of which
 * the first cap are written. Out of range: NULL, 0. Since 1.0. */
POLY_API int poly_instance_param_count(const PolyInstance *inst);
POLY_API const char *poly_instance_param_name(const PolyInstance *inst, int i);
POLY_API float *poly_instance_param_data(PolyInstance *inst, int i, int64_t *numel_out);
POLY_API int poly_instance_param_shape(const PolyInstance *inst, int i, int64_t *dims_out, int cap);

/* The gradient of a parameter, as the last poly_instance_value_and_grad or
 * poly_instance_train_step left it; NULL before the first. Since 2.0. */
POLY_API float *poly_instance_param_grad(PolyInstance *inst, int i, int64_t *numel_out);

/* The same for all named buffers, parameters first, and the role (-1 out of
 * range). Since 1.0. */
POLY_API int poly_instance_buf_count(const PolyInstance *inst);
POLY_API const char *poly_instance_buf_name(const PolyInstance *inst, int i);
POLY_API int poly_instance_buf_role(const PolyInstance *inst, int i);
POLY_API float *poly_instance_buf_data(PolyInstance *inst, int i, int64_t *numel_out);
POLY_API int poly_instance_buf_shape(const PolyInstance *inst, int i, int64_t *dims_out, int cap);

/* Copies len bytes into the beginning of a parameter or buffer, or out of it. 0
 * or -1 (len must be whole floats, at most the buffer's). Since 1.0. */
POLY_API int poly_instance_upload_param(PolyInstance *inst, int i, const void *src, size_t len);
POLY_API int poly_instance_upload_buf(PolyInstance *inst, int i, const void *src, size_t len);
POLY_API int poly_instance_readback_param(PolyInstance *inst, int i, void *dst, size_t len);
POLY_API int poly_instance_readback_buf(PolyInstance *inst, int i, void *dst, size_t len);

/* The device (PolyDeviceId) on which an instance runs. 0, or -1 if it is not
 * available. Since 1.0. */
POLY_API int poly_instance_set_device(PolyInstance *inst, int device);

/* Chooses a PolyOptimizer and forgets steps and moments. SGD uses lr; Adam also
 * beta1, beta2 and eps; AdamW also weight_decay, which shrinks parameters by
 * 1 - lr * weight_decay before each step. 0 or -1. Since 1.0. */
POLY_API int poly_instance_set_optimizer(PolyInstance *inst, int kind, float lr, float beta1, float beta2, float eps,
                                         float weight_decay);

/* Runs the entry point "forward" or another one on named arrays, which are
 * copied to the inputs and targets of these names before the call returns; each
 * must hold as many floats as the buffer. Other names are ignored; inputs that
 * are not given keep their last values, initially zeros. 0 or -1. Since 1.0. */
POLY_API int poly_instance_forward(PolyInstance *inst, PolyIOBinding *inputs, int n_inputs);
POLY_API int poly_instance_call(PolyInstance *inst, const char *entry, PolyIOBinding *io, int n_io);

/* Loss, gradients and one step of the optimizer. *loss_out (may be NULL) and the
 * buffer "loss" receive the loss before the step; the buffer "output" stays as it
 * was. A language model that is given y learns by its entry point "cross_entropy"
 * (see poly_hf_load). 0, or -1, also without an optimizer or a loss. Since 1.0. */
POLY_API int poly_instance_train_step(PolyInstance *inst, PolyIOBinding *io, int n_io, float *loss_out);

/* Loss and gradients of an entry point that stores one number; parameters stay
 * as they are, gradients are left where poly_instance_param_grad finds them. 0
 * or -1. Since 1.0. */
POLY_API int poly_instance_value_and_grad(PolyInstance *inst, const char *entry, PolyIOBinding *io, int n_io,
                                          float *loss_out);

/* ======================================================================== */
/* Generating text                                                          */
/* ======================================================================== */
/* A generator continues rows of tokens with a causal language model. It keeps the
 * keys and values of the tokens so far: each further token costs one pass over
 * the weights, with a program that is compiled once for all places in a text.
 *
 *     PolyGenerator *gen = poly_generator_new(inst, 1);
 *     int32_t prompt[3] = {464, 2068, 7586}, n = 3, token;
 *     poly_generator_sampling(gen, 0.8, 40, 0.95, 1234);
 *     poly_generator_feed(gen, prompt, &n, 1);
 *     while (poly_generator_next(gen, &token, 1) == 0 && token != 50256)
 *         ...
 *     poly_generator_free(gen);
 */

typedef struct PolyGenerator PolyGenerator;

/* A generator of rows texts, 0 for as many as the instance has rows. Besides
 * models of poly_hf_load, any model works that has an input x (rows, tokens)
 * and an entry point forward with an output "output" (rows, tokens,
 * vocabulary), such as a GPT-2 from a bundle; there each token costs a run over
 * all of them, and rows is limited to the instance's. The instance must outlive
 * the generator. Since 2.0. */
POLY_API PolyGenerator *poly_generator_new(PolyInstance *inst, int rows);

/* Ends a generator and its memory. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_generator_free(PolyGenerator *gen);

/* The number of texts, of tokens that there are, and of tokens that a text can
 * have; -1 on error. Since 2.0. */
POLY_API int64_t poly_generator_rows(PolyGenerator *gen);
POLY_API int64_t poly_generator_vocab(PolyGenerator *gen);
POLY_API int64_t poly_generator_room(PolyGenerator *gen);

/* How tokens are drawn; without, the most likely one is taken. temperature divides
 * the logits, 0 takes the most likely token. top_k > 0 draws among the k most
 * likely ones, top_p < 1 among the most likely ones whose probabilities first sum
 * up to p. Each row has random numbers of its own, which depend on seed and begin
 * anew here and with poly_generator_reset: the same on all machines. 0 or -1.
 * Since 2.0. */
POLY_API int poly_generator_sampling(PolyGenerator *gen, double temperature, int top_k, double top_p, uint64_t seed);

/* Appends lengths[i] tokens to text i; they lie one after the other. The lengths
 * may differ only at the beginning or after poly_generator_reset. A model with
 * room for T tokens sees the last T of each text; once a text is longer, each call
 * costs as much as T tokens. 0 or -1. Since 2.0. */
POLY_API int poly_generator_feed(PolyGenerator *gen, const int32_t *tokens, const int32_t *lengths, int rows);

/* The n tokens that end a text, none at first. A text that has ended is continued
 * with the token that ended it. 0 or -1. Since 2.0. */
POLY_API int poly_generator_ends(PolyGenerator *gen, const int32_t *tokens, int n);

/* Draws the next token of each text and appends it; tokens gets one for each of
 * the rows. 1 if all texts have ended by now (see poly_generator_ends), else 0, or
 * -1 on error. Since 2.0. */
POLY_API int poly_generator_next(PolyGenerator *gen, int32_t *tokens, int rows);

/* The logits (rows, vocab) of the tokens that come next. The pointer stays valid
 * until poly_generator_free; each call overwrites the values. Since 2.0. */
POLY_API const float *poly_generator_logits(PolyGenerator *gen, int64_t *numel_out);

/* Drops all tokens and keeps the settings of poly_generator_sampling and
 * poly_generator_ends. 0 or -1.
 * Since 2.0. */
POLY_API int poly_generator_reset(PolyGenerator *gen);

/* ======================================================================== */
/* Files of models                                                          */
/* ======================================================================== */
/* What instances are made of, piece by piece. A bundle is "POLYBNDL" and
 * sections: 1 the graph, 2 the weights (safetensors), 3 metadata of the user
 * (JSON), 4 the state of the optimizer (safetensors; readers that do not know
 * it skip it). All numbers are little-endian. */

/* The sections of a bundle, which point into its bytes; NULL and 0 for those
 * that it lacks. */
typedef struct PolyBundleSections {
  const uint8_t *ir;
  int32_t ir_len;
  const uint8_t *weights;
  int32_t weights_len;
  const char *meta; /* not terminated by 0 */
  int32_t meta_len;
  uint32_t version;
  uint32_t flags;
} PolyBundleSections;

/* A bundle of a graph, weights and metadata (both may be NULL); malloc'd. NULL
 * without a graph. Since 1.0. */
POLY_API uint8_t *poly_bundle_encode(const uint8_t *ir, int ir_len, const uint8_t *weights, int weights_len,
                                     const char *meta, int *len_out);

/* Finds the sections of a bundle. 0, or -1 if the bytes are damaged or hold no
 * graph. Since 1.0. */
POLY_API int poly_bundle_decode(const uint8_t *data, int len, PolyBundleSections *out);

/* Types of tensors in safetensors files. */
typedef enum PolySafetensorDType {
  POLY_SAFETENSOR_F32 = 0,
  POLY_SAFETENSOR_F16 = 1,
  POLY_SAFETENSOR_BF16 = 2,
  POLY_SAFETENSOR_F64 = 3,
  POLY_SAFETENSOR_I64 = 4,
  POLY_SAFETENSOR_I32 = 5,
  POLY_SAFETENSOR_I16 = 6,
  POLY_SAFETENSOR_I8 = 7,
  POLY_SAFETENSOR_U8 = 8,
  POLY_SAFETENSOR_BOOL = 9,
  POLY_SAFETENSOR_U16 = 10, /* these since 2.0 */
  POLY_SAFETENSOR_U32 = 11,
  POLY_SAFETENSOR_U64 = 12,
  POLY_SAFETENSOR_F8_E4M3 = 13,
  POLY_SAFETENSOR_F8_E5M2 = 14
} PolySafetensorDType;

/* A float32 tensor to be written. */
typedef struct PolySafetensorEntry {
  const char *name;
  const float *data;
  int64_t *shape;
  int32_t ndim;
} PolySafetensorEntry;

/* A tensor that was read: name is malloc'd, data points into the file. */
typedef struct PolySafetensorView {
  char *name;
  const float *data;
  int64_t shape[POLY_MAX_OUT_DIMS];
  int32_t ndim;
  int64_t numel;
} PolySafetensorView;

typedef struct PolySafetensorViewEx {
  char *name;
  const void *data;
  int64_t shape[POLY_MAX_OUT_DIMS];
  int32_t ndim;
  int64_t numel;
  int32_t dtype; /* PolySafetensorDType */
} PolySafetensorViewEx;

/* Bytes of an element of a PolySafetensorDType, -1 if there is no such type.
 * Since 1.0. */
POLY_API int poly_safetensor_dtype_size(int dtype);

/* A file of n tensors, sorted by name, and metadata (a JSON object of strings,
 * may be NULL); malloc'd. Since 1.0. */
POLY_API uint8_t *poly_safetensors_encode(const PolySafetensorEntry *entries, int n, const char *meta, int *len_out);

/* The tensors of a file in the order of their data, and its metadata as JSON
 * (metadata_out may be NULL; NULL if it has none). The caller frees the array,
 * each name and the metadata. decode takes files of F32 only, decode_ex all.
 * NULL on error; a file without tensors gives an array that is not NULL. Since
 * 1.0. */
POLY_API PolySafetensorView *poly_safetensors_decode(const uint8_t *data, int len, int *n_out, char **metadata_out);
POLY_API PolySafetensorViewEx *poly_safetensors_decode_ex(const uint8_t *data, int64_t len, int *n_out,
                                                          char **metadata_out);

/* The elements of a tensor as float32; malloc'd. Since 1.0. */
POLY_API float *poly_safetensors_to_f32(const PolySafetensorViewEx *view);

/* Fills n floats with uniform numbers in +-sqrt(6 / fan_in) that depend on seed,
 * name and position only: how parameters of instances begin. Since 1.0. */
POLY_API void poly_init_param_kaiming(uint64_t seed, const char *name, float *data, int64_t n, int64_t fan_in);

/* The shape of a GPT-2 model. */
typedef struct GPT2Config {
  int32_t vocab_size;
  int32_t n_embd;
  int32_t n_head;
  int32_t n_layer;
  int32_t max_seq_len;
  float norm_eps;
} GPT2Config;

/* A GPT-2 instance as poly_hf_load makes it, with parameters that are all 0.
 * NULL if the configuration makes no sense. Since 1.0. */
POLY_API PolyInstance *poly_gpt2_build(const GPT2Config *config, int batch);

/* ======================================================================== */
/* Files of tensors                                                         */
/* ======================================================================== */
/* Model files: safetensors (one file, a folder of shards, or their index
 * model.safetensors.index.json), GGUF (versions 2 and 3) and files of PyTorch's
 * torch.save, in each of its formats. In Python's pickles only the globals of
 * tensors are allowed; any other is an error with its name. A file is mapped
 * into memory: opening one costs little whatever its size, and nothing is
 * copied before its use. Writes to its memory stay in this process; the file
 * itself is never changed. It must not be made shorter while it is open. A
 * damaged or hostile file is an error that names the file, the tensor and the
 * numbers; it makes the library allocate no more than a small multiple of its
 * own size, and nothing in it is run. */

typedef struct PolyFile PolyFile;

/* Formats. POLY_FILE_AUTO detects the format from the contents; POLY_FILE_RAW is
 * any file, as one tensor of uint8 without a name. */
typedef enum PolyFileFormat {
  POLY_FILE_AUTO = 0,
  POLY_FILE_SAFETENSORS = 1,
  POLY_FILE_GGUF = 2,
  POLY_FILE_TORCH = 3,
  POLY_FILE_RAW = 4
} PolyFileFormat;

/* Opens a file or, for safetensors, a folder or an index of shards. NULL on
 * error. Since 2.0. */
POLY_API PolyFile *poly_file_open(const char *path, int format);

/* The same for a file that is in memory, which is copied. NULL on error. Since
 * 2.0. */
POLY_API PolyFile *poly_file_read(const void *data, int64_t len, int format);

/* Ends a file and its memory. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_file_free(PolyFile *file);

/* The format (PolyFileFormat) and the number of tensors. -1 on error. Since
 * 2.0. */
POLY_API int poly_file_format(PolyFile *file);
POLY_API int poly_file_count(PolyFile *file);

/* Tensor i, from 0, in the order of the file: its name, and the name that its
 * type has in the file ("BF16", "Q4_K"), both valid until poly_file_free. NULL
 * on error. Since 2.0. */
POLY_API const char *poly_file_name(PolyFile *file, int i);
POLY_API const char *poly_file_type(PolyFile *file, int i);

/* Shape and data type (PolyDTypeId; dtype may be NULL) of tensor i, as
 * poly_describe: ndim, of which the first cap sizes are written. A quantised
 * tensor has the shape and type that its numbers will have, float32. -1 on
 * error. Since 2.0. */
POLY_API int poly_file_describe(PolyFile *file, int i, int64_t *dims, int cap, int *dtype);

/* How tensor i is quantised: the number that ggml has for the type, 0 if it is
 * not. -1 on error. Since 2.0. */
POLY_API int poly_file_quant(PolyFile *file, int i);

/* The memory of tensor i, row by row and aligned, and its size (len_out may be
 * NULL): the file's own where the tensor lies so in it, else a copy that is made
 * once. Of a quantised tensor, its blocks. It is writable and valid until
 * poly_file_free: poly_buffer_host makes it a node without copying, and
 * poly_dequantize numbers of blocks. NULL on error and for tensors without
 * elements, whose size is 0. Since 2.0. */
POLY_API void *poly_file_data(PolyFile *file, int i, int64_t *len_out);

/* The rest of the file besides its tensors, as JSON: the metadata of
 * safetensors, an object of strings or null; the metadata of GGUF, an object;
 * of PyTorch the saved object, with tensors by their number. Integers have no
 * fraction, other numbers have one or an exponent. A value without a JSON form
 * is an object with one key: {"$float": "nan"}, "inf" or "-inf"; {"$int":
 * "digits"} for more than 53 bits; {"$bytes": base64} for texts that are no
 * UTF-8; {"$tuple": [...]}; {"$tensor": i}; {"$dict": [[key, value], ...]} for
 * keys that are no strings. Valid until poly_file_free. NULL on error. Since
 * 2.0. */
POLY_API const char *poly_file_value(PolyFile *file);

/* Dequantises blocks to n float32 numbers: x holds the blocks, uint8 in any
 * shape, and type is ggml's number: 2 Q4_0, 3 Q4_1, 6 Q5_0, 7 Q5_1, 8 Q8_0, 10
 * Q2_K, 11 Q3_K, 12 Q4_K, 13 Q5_K, 14 Q6_K, 39 MXFP4; or one that is not
 * quantised, whose bytes x holds: 0 F32, 1 F16, 24 I8, 25 I16, 26 I32, 27 I64, 28
 * F64, 30 BF16. Lazy: the numbers are computed where they are used, so that
 * weights may stay packed in memory. Since 2.0. */
POLY_API PolyUOp *poly_dequantize(PolyCtx *ctx, PolyUOp *x, int type, int64_t n);

/* A tensor to be written. */
typedef struct PolyFileTensor {
  const char *name;
  const void *data;
  const int64_t *shape;
  int32_t ndim;
  int32_t dtype; /* PolyDTypeId */
} PolyFileTensor;

/* Writes a safetensors file of n tensors and metadata (a JSON object of strings,
 * may be NULL). The header lists them in the order given; the widest types lie
 * first, so that all are aligned. If they have more than max_shard_bytes together
 * (0: no limit), they go to shards beside it, model-00001-of-00003.safetensors
 * for model.safetensors, with an index, model.safetensors.index.json. A file
 * appears whole or not at all; one of that name that is open stays as it was.
 * The number of files, the index included; -1 on error. Since 2.0. */
POLY_API int poly_safetensors_save(const char *path, const PolyFileTensor *tensors, int n, const char *meta,
                                   int64_t max_shard_bytes);

/* ======================================================================== */
/* Data types as records                                                    */
/* ======================================================================== */
/* What programs in C pass by value. Other languages use the numbers of
 * PolyDTypeId instead: for each function here there is one of the same meaning
 * with "_by_id" or "_id_" in its name. */

/* Where a pointer points. */
typedef enum PolyAddrSpace {
  POLY_ADDR_GLOBAL = 0,
  POLY_ADDR_LOCAL = 1,
  POLY_ADDR_REG = 2
} PolyAddrSpace;

/* The record of a PolyDTypeId; that of void if there is no such type. Since
 * 2.0. */
POLY_API PolyDType poly_dtype_of(int dtype);

/* The names of the records. Since 1.0. */
#define POLY_VOID poly_dtype_of(POLY_DTYPE_VOID)
#define POLY_BOOL poly_dtype_of(POLY_DTYPE_BOOL)
#define POLY_INT8 poly_dtype_of(POLY_DTYPE_INT8)
#define POLY_UINT8 poly_dtype_of(POLY_DTYPE_UINT8)
#define POLY_INT16 poly_dtype_of(POLY_DTYPE_INT16)
#define POLY_UINT16 poly_dtype_of(POLY_DTYPE_UINT16)
#define POLY_INT32 poly_dtype_of(POLY_DTYPE_INT32)
#define POLY_UINT32 poly_dtype_of(POLY_DTYPE_UINT32)
#define POLY_INT64 poly_dtype_of(POLY_DTYPE_INT64)
#define POLY_UINT64 poly_dtype_of(POLY_DTYPE_UINT64)
#define POLY_FLOAT16 poly_dtype_of(POLY_DTYPE_FLOAT16)
#define POLY_BFLOAT16 poly_dtype_of(POLY_DTYPE_BFLOAT16)
#define POLY_FLOAT32 poly_dtype_of(POLY_DTYPE_FLOAT32)
#define POLY_FLOAT64 poly_dtype_of(POLY_DTYPE_FLOAT64)
#define POLY_INDEX poly_dtype_of(POLY_DTYPE_INDEX)

/* The number of a record: its PolyDTypeId, -1 for vectors, pointers and records
 * that are no type. Since 2.0. */
POLY_API int poly_dtype_number(PolyDType dtype);

/* Whether two records are one type, and of which kind one is (of a vector or
 * pointer: its elements). Indices count as integers, bool does not. These
 * cannot fail. Since 1.0. */
POLY_API bool poly_dtype_eq(PolyDType a, PolyDType b);
POLY_API bool poly_dtype_is_float(PolyDType dtype);
POLY_API bool poly_dtype_is_int(PolyDType dtype);
POLY_API bool poly_dtype_is_unsigned(PolyDType dtype);
POLY_API bool poly_dtype_is_bool(PolyDType dtype);

/* Bytes of one value, of a vector of all its elements: bits / 8, rounded up.
 * Cannot fail. Since 1.0. */
POLY_API int poly_dtype_itemsize(PolyDType dtype);

/* The name of a type in C: "float", "unsigned char", for a vector "float4", for
 * a pointer the name of its base type. Never freed. NULL if the record is no
 * type. Since 1.0. */
POLY_API const char *poly_dtype_name(PolyDType dtype);

/* The vector of n elements (1 to 64; 1 gives the type itself), the element of a
 * vector, the pointer to size elements (-1: unlimited). Void on error: a record
 * that is no type, a vector of a vector, a pointer to a pointer. Since 1.0. */
POLY_API PolyDType poly_dtype_vec(PolyDType dtype, int n);
POLY_API PolyDType poly_dtype_scalar(PolyDType dtype);
POLY_API PolyDType poly_dtype_ptr(PolyDType dtype, int64_t size, PolyAddrSpace space);

/* poly_cast_by_id, poly_const_by_id and poly_buffer_by_id with a record. Since
 * 1.0. */
POLY_API PolyUOp *poly_cast(PolyCtx *ctx, PolyUOp *x, PolyDType dtype);
POLY_API PolyUOp *poly_const_typed(PolyCtx *ctx, PolyDType dtype, double value);
POLY_API PolyUOp *poly_buffer(PolyCtx *ctx, PolyDType dtype, int64_t size);

/* A buffer whose first dimension is a variable, of shape (var, inner...). Since
 * 1.0. */
POLY_API PolyUOp *poly_buffer_var(PolyCtx *ctx, PolyDType dtype, PolyUOp *var, const int64_t *inner, int n_inner);

/* ======================================================================== */
/* Graphs, node by node                                                     */
/* ======================================================================== */
/* A node has an operation, a data type, sources and an argument. A program may
 * look at all of them and make nodes of them; poly_uop of the parts of a node is
 * that node again. Devices are left out: a CONST has no source, a BUFFER has one,
 * its UNIQUE.
 *
 *   operation                 sources           argument
 *   UNIQUE                    -                 INT, its number
 *   BUFFER                    UNIQUE            INT, its elements
 *   CONST                     -                 INT, FLOAT or BOOL
 *   DEFINE_VAR                -                 DEFINE_VAR, name and bounds
 *   BIND                      variable, CONST   NONE
 *   arithmetic, comparisons   1, 2 or 3         NONE
 *   CAST, BITCAST, DETACH     1                 NONE (the type says to what)
 *   CONTIGUOUS(_BACKWARD)     1                 NONE
 *   RESHAPE, EXPAND, PERMUTE  1                 INT_TUPLE, the sizes or the order
 *   FLIP                      1                 INT_TUPLE, the axes
 *   PAD, SHRINK               1                 PAIR_TUPLE, as poly_pad, poly_shrink
 *   REDUCE_AXIS               1                 REDUCE_AXIS, operation and axes
 *   STORE, ASSIGN             target, value     NONE (STORE and SINK are void)
 *   SINK                      any number        NONE
 *
 * A node is a handle. The fields of the original library's PolyUOp record are
 * read by functions here. */

/* What an argument is. */
typedef enum PolyArgKind {
  POLY_ARG_NONE = 0,
  POLY_ARG_INT = 1,
  POLY_ARG_FLOAT = 2,
  POLY_ARG_BOOL = 3,
  POLY_ARG_INT_TUPLE = 4,
  POLY_ARG_PAIR_TUPLE = 5,
  POLY_ARG_STRING = 6,
  POLY_ARG_OPS = 7,
  POLY_ARG_REDUCE_AXIS = 8,
  POLY_ARG_RANGE = 9,
  POLY_ARG_DEFINE_VAR = 10,
  POLY_ARG_INVALID = 11 /* one that has no form in C; only nodes of kernels have such */
} PolyArgKind;

/* The argument of a node. Arrays and strings are only read when a node is made. */
typedef struct PolyArg {
  int32_t kind; /* PolyArgKind: which member counts */
  union {
    int64_t i;
    double f;
    bool b;
    struct {
      int64_t *vals;
      int32_t n;
    } int_tuple;
    struct {
      int64_t (*pairs)[2];
      int32_t n;
    } pair_tuple;
    const char *str;
    int32_t ops;
    struct {
      int32_t op;
      int64_t *axes;
      int32_t n;
    } reduce_axis;
    struct {
      int64_t id;
      int32_t axis_type;
      int64_t *extra;
      int32_t n_extra;
    } range;
    struct {
      const char *name;
      int64_t min;
      int64_t max;
    } define_var;
  } u;
} PolyArg;

/* A shape by value; ndim -1 if a node has none. */
typedef struct PolyShape {
  int64_t *dims;
  int32_t ndim;
} PolyShape;

/* A node of its parts, which are checked: the number and kinds of sources, the
 * argument and that dtype is the type that the node has. Operands are promoted
 * and broadcast as poly_alu2 does it. NULL on error, and for operations that
 * only kernels have. Since 1.0. */
POLY_API PolyUOp *poly_uop(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp **src, int n_src, PolyArg arg);
POLY_API PolyUOp *poly_uop0(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyArg arg);
POLY_API PolyUOp *poly_uop1(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyArg arg);
POLY_API PolyUOp *poly_uop2(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyUOp *s1, PolyArg arg);
POLY_API PolyUOp *poly_uop3(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyUOp *s1, PolyUOp *s2,
                            PolyArg arg);

/* The parts of a node; poly_uop_op tells its operation. Type: void on error.
 * Sources: their number, -1 on error; the i-th one, NULL out of range. Argument:
 * kind INVALID on error; its arrays and strings belong to the handle of the
 * node. Since 2.0. */
POLY_API PolyDType poly_uop_dtype(PolyCtx *ctx, PolyUOp *x);
POLY_API int poly_uop_n_src(PolyCtx *ctx, PolyUOp *x);
POLY_API PolyUOp *poly_uop_src(PolyCtx *ctx, PolyUOp *x, int i);
POLY_API PolyArg poly_uop_arg(PolyCtx *ctx, PolyUOp *x);

/* Whether two arguments are equal, their arrays and strings by contents. Cannot
 * fail. Since 1.0. */
POLY_API bool poly_arg_eq(PolyArg a, PolyArg b);

/* The shape of a node, dims malloc'd (NULL for a scalar). ndim -1 if it has no
 * shape, and on error. Since 1.0. */
POLY_API PolyShape poly_uop_shape(PolyCtx *ctx, PolyUOp *x);

/* Whether two shapes are equal; the number of elements, 1 for a scalar, 0 for
 * no shape. These cannot fail. Since 1.0. */
POLY_API bool poly_shape_eq(PolyShape a, PolyShape b);
POLY_API int64_t poly_shape_numel(PolyShape shape);

/* A node as one line of text, and the graph below a node, one node a line;
 * malloc'd. They find the context themselves. NULL on error. Since 1.0. */
POLY_API char *poly_uop_str(PolyUOp *x);
POLY_API char *poly_graph_str(PolyUOp *root);

/* Says whether a walk enters a node. It may call the library. */
typedef bool (*PolyGateFn)(PolyUOp *x);

/* The graph below root, sources before users, root last; *n_out (may be NULL)
 * receives the number of nodes. poly_toposort_ex leaves out nodes for which
 * gate (may be NULL) is false, with everything reachable only through them, and
 * does not enter the callee of a CALL unless enter_calls. The array and one
 * reference to each node in it belong to the handle of root. NULL and 0 on
 * error; an array of no nodes is not NULL. Since 1.0. */
POLY_API PolyUOp **poly_toposort(PolyCtx *ctx, PolyUOp *root, int *n_out);
POLY_API PolyUOp **poly_toposort_ex(PolyCtx *ctx, PolyUOp *root, int *n_out, PolyGateFn gate, bool enter_calls);

/* Whether p is a live handle of a context: a node, a step or a plan. Since 1.0. */
POLY_API bool poly_ctx_owns_ptr(PolyCtx *ctx, const void *p);

/* Prints a node, or the groups of operations, to the standard error stream.
 * Since 1.0. */
POLY_API void poly_debug_uop(PolyCtx *ctx, PolyUOp *x);
POLY_API void poly_debug_opsets(void);

/* ======================================================================== */
/* Tensors with memory                                                      */
/* ======================================================================== */
/* What a small program in C needs to train: float32 tensors that know their
 * memory, a linear layer, gradients and an optimizer.
 *
 *     PolyLinear *layer = poly_nn_linear(2, 1, true);
 *     PolyTensor *params[2];
 *     PolySGD sgd = poly_sgd_new(params, poly_nn_linear_params(layer, params, 2), 0.1f);
 *     int64_t in[2] = {4, 2}, out[2] = {4, 1};
 *     for (int i = 0; i < 100; i++) {
 *       PolyCtx *ctx = poly_ctx_new();
 *       PolyTensor *x = poly_tensor_input(ctx, xs, in, 2), *y = poly_tensor_input(ctx, ys, out, 2);
 *       PolyTensor *h = poly_nn_linear_forward(layer, ctx, x), *loss = poly_tensor_mse(h, y);
 *       float value;
 *       if (poly_sgd_step(&sgd, ctx, loss, &value) != 0) break;
 *       poly_tensor_free(loss), poly_tensor_free(h), poly_tensor_free(y), poly_tensor_free(x);
 *       poly_ctx_destroy(ctx);
 *     }
 *     poly_nn_linear_free(layer);
 *
 * A tensor is persistent (zeros, ones, rand, from_data; the parameters of
 * layers), belongs to no context and owns its memory, or it belongs to a
 * context: an input on memory of the caller, or the result of an operation, which
 * has memory once it is realized. Operations wrap persistent tensors into the
 * context of their other operands; of persistent tensors only, into one that the
 * library keeps for that. Tensors of two contexts do not mix.
 *
 * Every PolyTensor that a function returns is freed with poly_tensor_free, before
 * or after its context. A pointer to a tensor or layer that is NULL or was freed
 * is an error, not a crash, unless its memory was given to a new one. */

/* A float32 tensor. The fields are for reading; the memory may be written. */
typedef struct PolyTensor {
  PolyCtx *ctx;                      /* NULL if persistent */
  PolyUOp *uop;                      /* its node in ctx, for all other functions; released with the tensor */
  float *data;                       /* its memory, row by row; NULL before a result is realized */
  int64_t numel;                     /* elements */
  int64_t shape[POLY_MAX_OUT_DIMS];  /* the first ndim count */
  int32_t ndim;
  bool owned;                        /* whether the library frees data */
  void *reserved[6];
} PolyTensor;

/* A linear layer: x @ weight^T + bias. */
typedef struct PolyLinear {
  PolyTensor *weight; /* (n_out, n_in) */
  PolyTensor *bias;   /* (n_out), NULL if there is none */
  int32_t n_in;
  int32_t n_out;
} PolyLinear;

/* Stochastic gradient descent on n_params tensors. The record owns nothing: the
 * array must stay as long as it is used. lr may be changed between steps. */
typedef struct PolySGD {
  PolyTensor **params;
  int32_t n_params;
  float lr;
} PolySGD;

/* Persistent tensors of at most POLY_MAX_OUT_DIMS dimensions: filled with 0; with
 * 1; with uniform numbers in +-sqrt(6 / elements), see poly_nn_seed; with a copy
 * of data. NULL on error. Since 1.0. */
POLY_API PolyTensor *poly_tensor_zeros(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_ones(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_rand(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_from_data(const float *data, int64_t *shape, int ndim);

/* A tensor of a context on the caller's memory, which must stay valid until the
 * tensor is freed or the context destroyed. Since 1.0. */
POLY_API PolyTensor *poly_tensor_input(PolyCtx *ctx, float *data, int64_t *shape, int ndim);

/* A persistent tensor as one of a context, on the same memory; of one that
 * belongs to the context already, another handle. Since 1.0. */
POLY_API PolyTensor *poly_tensor_wrap(PolyCtx *ctx, PolyTensor *persistent);

/* Ends a tensor, its memory if it owns it, and its node's reference. NULL and
 * freed tensors are ignored. Since 1.0. */
POLY_API void poly_tensor_free(PolyTensor *t);

/* Elementwise, shapes broadcast. Since 1.0. */
POLY_API PolyTensor *poly_tensor_add(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_sub(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_mul(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_div(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_neg(PolyTensor *t);
POLY_API PolyTensor *poly_tensor_relu(PolyTensor *t);
POLY_API PolyTensor *poly_tensor_sigmoid(PolyTensor *t);

/* The product of two matrices; x @ w^T + bias (bias may be NULL); the mean of
 * (pred - target)^2 over all elements, a scalar. Since 1.0. */
POLY_API PolyTensor *poly_tensor_matmul(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_linear(PolyTensor *x, PolyTensor *w, PolyTensor *bias);
POLY_API PolyTensor *poly_tensor_mse(PolyTensor *pred, PolyTensor *target);

/* Over one axis (from 0), which disappears, or, if axis is -1, over all: a
 * scalar. Since 1.0. */
POLY_API PolyTensor *poly_tensor_sum(PolyTensor *t, int axis);
POLY_API PolyTensor *poly_tensor_mean(PolyTensor *t, int axis);
POLY_API PolyTensor *poly_tensor_max_reduce(PolyTensor *t, int axis);

/* Views, as poly_reshape, poly_expand and poly_permute; a matrix transposed.
 * Since 1.0. */
POLY_API PolyTensor *poly_tensor_reshape(PolyTensor *t, int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_expand(PolyTensor *t, int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_permute(PolyTensor *t, int64_t *perm, int ndim);
POLY_API PolyTensor *poly_tensor_transpose(PolyTensor *t);

/* Computes a result into t->data, again if it was before; inputs and persistent
 * tensors have their data already. 0 or -1. Since 1.0. */
POLY_API int poly_tensor_realize(PolyTensor *t);

/* The first element, realized if it was not before; 0 on error. Since 1.0. */
POLY_API float poly_tensor_item(PolyTensor *t);

/* The gradients of a loss of one element with respect to n_params tensors, of
 * their shapes, not realized; zeros for parameters without influence on the
 * loss. A malloc'd array; the caller frees it and each tensor. NULL on error.
 * Since 1.0. */
POLY_API PolyTensor **poly_tensor_backward(PolyCtx *ctx, PolyTensor *loss, PolyTensor **params, int n_params);

/* A layer with weights in +-sqrt(6 / n_in) and a bias of zeros. Its tensors
 * belong to it. NULL unless n_in and n_out are positive. Since 1.0. */
POLY_API PolyLinear *poly_nn_linear(int n_in, int n_out, bool bias);

/* Ends a layer and its tensors. NULL and freed layers are ignored. Since 1.0. */
POLY_API void poly_nn_linear_free(PolyLinear *l);

/* Writes the tensors of a layer, weight first, at most max; how many were
 * written, -1 on error. Since 1.0. */
POLY_API int poly_nn_linear_params(PolyLinear *l, PolyTensor **out, int max);

/* The layer applied to x (..., n_in), in a context. Since 1.0. */
POLY_API PolyTensor *poly_nn_linear_forward(PolyLinear *l, PolyCtx *ctx, PolyTensor *x);

/* Starts the random numbers of tensors and layers again: the n-th tensor after it
 * depends on seed and n only. The seed of a new process is 42. Since 1.0. */
POLY_API void poly_nn_seed(uint32_t seed);

/* The record of an optimizer. Since 1.0. */
POLY_API PolySGD poly_sgd_new(PolyTensor **params, int n_params, float lr);

/* One step: each parameter (persistent, or an input of ctx) becomes itself - lr *
 * gradient of the loss, all from the values before. *loss_out (may be NULL)
 * receives the loss before the step. 0, or -1 and nothing changed. Since 1.0. */
POLY_API int poly_sgd_step(PolySGD *opt, PolyCtx *ctx, PolyTensor *loss, float *loss_out);

/* ======================================================================== */
/* Schedules and plans                                                      */
/* ======================================================================== */
/* The way of a program in steps: a SINK is cut into kernels (a schedule, the same
 * for all devices), a schedule is compiled for a device (a plan), a plan is run on
 * memory. poly_realize and poly_compile_step do all of it at once. Schedules and
 * plans belong to a context and are stale after it. */

typedef struct PolySchedule PolySchedule;
typedef struct PolyCompiledPlan PolyCompiledPlan;

/* How a program is to be cut. */
typedef enum PolyCompileMode {
  POLY_COMPILE_CALL = 0 /* as one call of the whole program */
} PolyCompileMode;

/* The SINK of the last kernel of a program, for inspection. NULL on error, and
 * for a program that only copies buffers. Since 1.0. */
POLY_API PolyUOp *poly_schedule(PolyCtx *ctx, PolyUOp *sink);

/* A program cut into kernels; ended by poly_schedule_free, which ignores NULL and
 * stale handles. NULL on error. Since 1.0. */
POLY_API PolySchedule *poly_schedule_for(PolyCtx *ctx, PolyUOp *sink, int mode);
POLY_API void poly_schedule_free(PolySchedule *schedule);

/* The number of kernels of a schedule, -1 on error, and the SINK of the i-th one
 * in the order in which they run, NULL out of range. Since 2.0. */
POLY_API int poly_schedule_n_kernels(PolySchedule *schedule);
POLY_API PolyUOp *poly_schedule_kernel(PolySchedule *schedule, int i);

/* A schedule compiled for a PolyDeviceId (AUTO: that of the context); it does not
 * need the schedule afterwards. Ended by poly_compiled_plan_free, which ignores
 * NULL and stale handles. NULL on error. Since 1.0. */
POLY_API PolyCompiledPlan *poly_compile_schedule(PolyCtx *ctx, PolySchedule *prepared, int device);
POLY_API void poly_compiled_plan_free(PolyCompiledPlan *plan);

/* The plan of a SINK for a device, the same one at each call. It belongs to the
 * handle of the SINK and ends with it; poly_compiled_plan_free leaves it alone.
 * NULL on error. Since 1.0. */
POLY_API PolyCompiledPlan *poly_get_plan(PolyCtx *ctx, PolyUOp *sink, int device);

/* Runs a plan with pointers by slot; for entries that are NULL, and slots from
 * n_slots on, the memory counts that a buffer was made on (poly_buffer_host).
 * 0 or -1. Since 1.0. */
POLY_API int poly_compiled_plan_run(PolyCompiledPlan *plan, void **slot_data, int n_slots, PolyVarBinding *vars,
                                    int n_vars);

/* The number of slots of a plan, -1 on error, and the BUFFER that a slot is for,
 * NULL out of range. Since 2.0. */
POLY_API int poly_compiled_plan_n_slots(PolyCompiledPlan *plan);
POLY_API PolyUOp *poly_compiled_plan_slot_buf(PolyCompiledPlan *plan, int i);

/* What runs the kernels of a device. */
typedef struct PolyBackendDesc {
  int32_t device;      /* PolyDeviceId */
  const char *name;    /* as poly_device_name */
  const char *runs_on; /* the code generator: "native", "wasm", "interp", "clang" or "reference" */
} PolyBackendDesc;

/* The description of a device; never freed. NULL if it cannot run kernels in this
 * process. Since 1.0. */
POLY_API const PolyBackendDesc *poly_backend_get(int device);

/* A program of one kernel as a WebAssembly module; malloc'd. It exports "memory"
 * and the function k0, which takes the addresses of its buffers, *n_bufs_out of
 * them. NULL and zeros on error, also if the program needs more kernels or
 * variables: see poly_render_step_wasm_plan. Since 1.0. */
POLY_API uint8_t *poly_render_kernel_wasm(PolyCtx *ctx, PolyUOp *sink, int *len_out, int *n_bufs_out);

/* The BUFFER behind an address that the kernel takes which was rendered last in
 * this context. NULL out of range, and for scratch memory of the kernel. Since
 * 1.0. */
POLY_API PolyUOp *poly_kernel_buf(PolyCtx *ctx, int index);

/* The host memory that a buffer was made on (poly_buffer_host); NULL for one that
 * is bound when a program runs, which is no error. Since 1.0. */
POLY_API const void *poly_const_buffer_data(PolyCtx *ctx, PolyUOp *buf);

/* ======================================================================== */
/* Views                                                                    */
/* ======================================================================== */
/* What is computed and how, for people and for tools: texts, malloc'd. */

/* Forms of a view. */
typedef enum PolyView {
  POLY_VIEW_TEXT = 0, /* of a graph: a tree; of kernels: tables */
  POLY_VIEW_JSON = 1, /* records */
  POLY_VIEW_DOT = 2,  /* the language of Graphviz */
  POLY_VIEW_SVG = 3,  /* a picture, of at most 3000 nodes */
  POLY_VIEW_CODE = 4  /* of a graph: its nodes, one a line; of kernels: their graphs and their code */
} PolyView;

/* The graph of n nodes. But for POLY_VIEW_CODE it shows no devices, no identities of
 * buffers and no sizes that movements take, and a number that was broadcast is one
 * node. JSON: {"nodes": [{"name", "detail", "kind", "sources": [numbers]}],
 * "roots": [numbers]}, sources before users. NULL on error. Since 2.0. */
POLY_API char *poly_view_graph(PolyCtx *ctx, PolyUOp **roots, int n, int view);

/* What poly_update runs for the same values, targets and updates, on the device of
 * the context: its kernels, their buffers, estimates of their work, their code. It
 * compiles them anew and runs them runs + 1 times, with runs at most 1000000,
 * and times each but the first run. No memory is changed afterwards: values are
 * discarded, targets get their old contents back. With runs 0 nothing runs. DOT and
 * SVG draw kernels and buffers. JSON:
 *   {"device", "kernels": [{"name", "reads": [buffers], "writes": [buffers], "flops",
 *    "bytes", "seconds" (the fastest run), "mean_seconds", "graph", "language",
 *    "code"}], "buffers": [{"role": "input", "output", "updated" or "temporary",
 *    "dtype", "shape", "bytes"}], "copies": [{"from", "to", "bytes"}],
 *    "temporary_bytes", "compile_seconds", "runs", "text": the view as text}
 * NULL on error. Since 2.0. */
POLY_API char *poly_view_kernels(PolyCtx *ctx, PolyUOp **values, int n, PolyUOp **targets, PolyUOp **updates,
                                 int n_updates, int runs, int view);

/* ======================================================================== */
/* Models as nodes                                                          */
/* ======================================================================== */
/* A PolyModel is a function from nodes to nodes with parameters, made of a
 * configuration; an instance (section "instances") is a whole program with its own
 * memory and training. A model belongs to a context and ends with it.
 *
 *   kind   inputs                                       output
 *   mlp    x (batch, in), any batch                     (batch, out)
 *   tabm   x (batch, in)                                (batch, out)
 *   nam    x (batch, n_features)                        (batch, n_outputs)
 *   gpt2   tokens (batch, n <= n_positions) and,        logits (batch, n, vocab_size)
 *          if given, positions (1, n), else 0, 1, ...
 *
 * The keys of a configuration are those of the instances of the same kind, for
 * gpt2 those of a config.json (vocab_size, n_embd, n_head, n_layer, n_positions or
 * max_seq_len, layer_norm_epsilon or norm_eps). Parameters have the same names and
 * begin the same; those of gpt2 are zeros. */

typedef struct PolyModelConfig PolyModelConfig;
typedef struct PolyModel PolyModel;

/* A configuration: an object with keys that ignore case, empty or from a JSON
 * text of len bytes (NULL if it is no object). Freed with
 * poly_model_config_free, which ignores NULL and stale handles; models do not
 * need it afterwards. Since 1.0. */
POLY_API PolyModelConfig *poly_model_config_new(void);
POLY_API PolyModelConfig *poly_model_config_from_json(const char *json, int len);
POLY_API void poly_model_config_free(PolyModelConfig *config);

/* Gives a key a value; poly_last_error tells if that failed. Since 1.0; strings
 * and lists (such as "layers") since 2.0. */
POLY_API void poly_model_config_set_int(PolyModelConfig *config, const char *key, int value);
POLY_API void poly_model_config_set_float(PolyModelConfig *config, const char *key, float value);
POLY_API void poly_model_config_set_string(PolyModelConfig *config, const char *key, const char *value);
POLY_API void poly_model_config_set_ints(PolyModelConfig *config, const char *key, const int64_t *values, int n);

/* The value of a key, or missing if there is none of that type (numbers lose what
 * an int does not hold), also on error. Strings belong to the configuration. Since
 * 1.0. */
POLY_API int poly_model_config_get_int(const PolyModelConfig *config, const char *key, int missing);
POLY_API float poly_model_config_get_float(const PolyModelConfig *config, const char *key, float missing);
POLY_API const char *poly_model_config_get_string(const PolyModelConfig *config, const char *key, const char *missing);

/* Makes models of a kind. It may call the library, poly_model_create included. */
typedef PolyModel *(*PolyModelCreateFn)(PolyCtx *ctx, PolyModelConfig *config);

/* Computes the outputs of a model of poly_model_new: a malloc'd array of *n_out
 * nodes (n_out is not NULL), or NULL. It may call the library. */
typedef PolyUOp **(*PolyModelForwardFn)(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out);

/* Told that a model ended. */
typedef void (*PolyModelReleaseFn)(void *user);

/* Lets poly_model_create make models of a kind by a function; it goes before a
 * kind of the library of the same name. NULL takes the function away. For the whole
 * process. Since 1.0. */
POLY_API void poly_model_register(const char *kind, PolyModelCreateFn create);

/* A model of a kind; config may be NULL: no keys. NULL on error. Since 1.0. */
POLY_API PolyModel *poly_model_create(PolyCtx *ctx, const char *kind, PolyModelConfig *config);

/* A model that is a function of the caller: for constructors. user is passed to
 * forward, and to release (may be NULL) when the model ends. Parameters are nodes of
 * the context, of which the model holds a reference; 0 or -1. Since 2.0. */
POLY_API PolyModel *poly_model_new(PolyCtx *ctx, PolyModelForwardFn forward, void *user, PolyModelReleaseFn release);
POLY_API int poly_model_add_parameter(PolyModel *model, const char *name, PolyUOp *node);

/* Ends a model and the memory of its parameters. NULL and stale handles are
 * ignored. Since 1.0. */
POLY_API void poly_model_free(PolyModel *model);

/* The outputs for n input nodes: a malloc'd array of *n_out nodes, which the caller
 * frees, and releases if it releases nodes. NULL and 0 on error. Since 1.0. */
POLY_API PolyUOp **poly_model_forward(PolyModel *model, PolyUOp **inputs, int n, int *n_out);

/* The node of a parameter: differentiate by it, assign to it (poly_update). NULL if
 * there is none of that name. Since 1.0. */
POLY_API PolyUOp *poly_model_parameter(PolyModel *model, const char *name);

/* The parameters: how many, -1 on error; the name of the i-th, valid until the model
 * ends, NULL out of range; the float32 memory of one, at a fixed address until then,
 * and its number of elements (numel_out may be NULL), NULL on error. Since 2.0. */
POLY_API int poly_model_parameter_count(PolyModel *model);
POLY_API const char *poly_model_parameter_name(PolyModel *model, int i);
POLY_API float *poly_model_parameter_data(PolyModel *model, const char *name, int64_t *numel_out);

/* ======================================================================== */
/* Graphs as files                                                          */
/* ======================================================================== */
/* What an instance exports as its graph (poly.ir.uops@1), read into a context and
 * written from one: named buffers, and programs by name. */

/* A named buffer. */
typedef struct PolyIrBuffer {
  const char *name;
  int32_t role;     /* PolyBufferRole */
  int32_t ndim;     /* at most POLY_MAX_OUT_DIMS */
  int64_t shape[POLY_MAX_OUT_DIMS];
  PolyUOp *buffer;  /* its BUFFER, float32, of as many elements as shape; NULL if no program uses it */
} PolyIrBuffer;

/* A program: a SINK. */
typedef struct PolyIrEntry {
  const char *name;
  PolyUOp *sink;
} PolyIrEntry;

/* A graph with the names of its file. */
typedef struct PolyIrSpec {
  PolyCtx *ctx;
  PolyIrBuffer *buffers;
  PolyIrEntry *entries;
  int32_t n_buffers;
  int32_t n_entries;
} PolyIrSpec;

/* Writes a graph; malloc'd, its length in *len_out. Every buffer that an entry uses
 * must be named. NULL on error. Since 1.0. */
POLY_API uint8_t *poly_ir_export(const PolyIrSpec *spec, int *len_out);

/* Reads a graph into a new context and fills *out: its names and arrays are freed by
 * poly_ir_spec_free, the context by poly_ctx_destroy. Buffers get fresh numbers. 0, or
 * -1 if the bytes are damaged; *out is all zero then. Since 1.0. */
POLY_API int poly_ir_import(const uint8_t *data, int len, PolyIrSpec *out);

/* Frees names and arrays of poly_ir_import, not the context, and sets them to zero.
 * NULL is ignored. Since 1.0. */
POLY_API void poly_ir_spec_free(PolyIrSpec *spec);

#undef POLY_API

#ifdef __cplusplus
}
#endif

#endif /* POLYGRAD_H */
