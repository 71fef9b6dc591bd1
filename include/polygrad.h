/* polygrad.h - tensors, gradients and a compiler behind one flat C interface.
 *
 * This file is the manual of the library for programs in C and for bindings.
 *
 * A program describes a computation as a graph. Nothing is computed while the
 * graph is built. When a value is requested, the graph is compiled into fused
 * kernels, which run on the processor. Compiled programs are cached by the
 * structure of their graph: the second step of a loop only looks up and runs.
 *
 * CONTENTS
 *   Types; The library; Contexts;
 *   Operations by name; Arrays; Gradients of arrays; Traced functions; Function transformations;
 *   Optimizers of arrays;
 *   Nodes; Symbolic sizes; Creation; Random numbers; Elementwise: one operand;
 *   Elementwise: two and three operands; Movement; Indexing and joining; Reductions;
 *   Normalisation; Convolution and pooling; Linear algebra; Hashes; Losses; Training;
 *   Gradients; Running; Jobs; Compiled steps;
 *   Files of tensors; Instances; Generating text; Tokens of texts; Models as nodes; Files of models; Graphs as files;
 *   Views of graphs and kernels; Schedules and plans; WASM plans; Graphs, node by node;
 *   Data types as records; Support for bindings;
 *   Compatibility.
 *
 * CONTEXTS
 *   A context (PolyCtx) owns a graph, its memory, its compiled programs and a
 *   random stream. Nodes and arrays belong to one context and cannot be combined
 *   with those of another one.
 *
 * NODES AND ARRAYS
 *   There are two ways to write a program; both use the same operations.
 *
 *   A node (PolyUOp) is an immutable value in the graph. Equal nodes (same
 *   operation, data type, sources and argument) are one node with one handle.
 *   Buffers are nodes whose elements the caller stores in its own memory. The
 *   caller decides when to run a program, where its results go and what it
 *   updates. Use nodes to embed the compiler.
 *
 *     #include <polygrad.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       PolyCtx *ctx = poly_ctx_new();
 *       int64_t shape[1] = {3};
 *       float data[3] = {1, 2, 3}, out[3];
 *       void *to[1] = {out};
 *       PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, data, sizeof data);
 *       PolyUOp *gradient = poly_grad(ctx, poly_square(ctx, x), x);
 *       if (poly_realize_into(ctx, &gradient, to, 1, NULL) != 0) return puts(poly_last_error());
 *       printf("%g %g %g\n", out[0], out[1], out[2]);  // 2 4 6
 *       poly_ctx_destroy(ctx);
 *       return 0;
 *     }
 *
 *   An array (PolyArray) is a mutable tensor: a variable whose value is a node.
 *   The library owns its memory, computes it on demand, and keeps its views,
 *   writes and gradients consistent. It is what Tensor is in Python, JavaScript
 *   and R. Use arrays to write numeric programs and training loops.
 *
 *     #include <polygrad.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       PolyCtx *ctx = poly_ctx_new();
 *       float data[3] = {1, 2, 3};
 *       PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){3}, 1, data, sizeof data);
 *       poly_array_require_grad(x, 1);
 *       PolyArray *square = poly_array_binary(POLY_MUL, x, x), *sum, *grad;
 *       poly_array_call(ctx, poly_op("sum"), (PolyCallArg[]){POLY_PASS_T(square)}, 1, &sum, 1);
 *       if (poly_array_backward(sum, NULL) != 0) return puts(poly_last_error());
 *       poly_array_grad(x, &grad);
 *       poly_array_read(grad, data, sizeof data);
 *       printf("%g %g %g\n", data[0], data[1], data[2]);  // 2 4 6
 *       poly_ctx_destroy(ctx);
 *       return 0;
 *     }
 *
 *   A function of arrays can be traced once and compiled into one program,
 *   which each later run only executes:
 *
 *     #include <polygrad.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       PolyCtx *ctx = poly_ctx_new();
 *       float data[3] = {1, 2, 3}, value;
 *       PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){3}, 1, data, sizeof data);
 *       PolyArray *arg, *square, *sum, *result;
 *       poly_trace_begin(ctx, "norm", &x, 1, &arg);
 *       square = poly_array_binary(POLY_MUL, arg, arg);
 *       poly_array_call(ctx, poly_op("sum"), (PolyCallArg[]){POLY_PASS_T(square)}, 1, &sum, 1);
 *       PolyFunction *norm = poly_trace_end(ctx, &sum, 1, 0);
 *       if (poly_function_run(norm, &x, 1, NULL, 0, &result, 1) < 0) return puts(poly_last_error());
 *       poly_array_read(result, &value, sizeof value);
 *       printf("%g\n", value);  // 14
 *       poly_ctx_destroy(ctx);
 *       return 0;
 *     }
 *
 *   Or it is traced as an expression, which can be differentiated and batched:
 *
 *     #include <polygrad.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       PolyCtx *ctx = poly_ctx_new();
 *       float data[3] = {1, 2, 3};
 *       PolyArray *x = poly_array_new(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){3}, 1, data, sizeof data);
 *       PolyArray *arg, *square, *cube, *out[2];
 *       int axis = 0, axes[2] = {0, 0};
 *       poly_expr_begin(ctx, "cube", &x, 1, &axis, &arg);  // arg is one number
 *       square = poly_array_binary(POLY_MUL, arg, arg);
 *       cube = poly_array_binary(POLY_MUL, square, arg);
 *       PolyExpr *f = poly_expr_end(ctx, &cube, 1);
 *       PolyExpr *slope = poly_expr_derive(f, POLY_DERIVE_GRAD, &axis, 1);  // the gradient, and f
 *       PolyExpr *slopes = poly_expr_batch(slope, -1, axes, 1, axes, 2);    // for each number
 *       if (poly_expr_apply(slopes, &x, 1, out, 2) < 0) return puts(poly_last_error());
 *       poly_array_read(out[0], data, sizeof data);
 *       printf("%g %g %g\n", data[0], data[1], data[2]);  // 3 12 27
 *       poly_ctx_destroy(ctx);
 *       return 0;
 *     }
 *
 * HANDLES
 *   PolyCtx, PolyUOp, PolyArray, PolyFunction, PolyStep and the other types
 *   without a definition are opaque. Their pointers are tokens: they look like
 *   addresses but must not be dereferenced. Every call checks them, and a token
 *   is never reused. NULL, a released handle, a handle of another kind or of
 *   another context is an error, not a crash.
 *
 * OWNERSHIP
 *   Each function that returns a handle gives the caller one reference, which
 *   the caller returns with the release function of its kind (poly_uop_release,
 *   poly_array_release, ...). Releasing is optional: poly_ctx_destroy ends
 *   everything that belongs to the context. A released node stays part of the
 *   graphs that were built from it.
 *   Memory that the caller passes stays the caller's.
 *   Blocks and texts that are called "malloc'd" below belong to the caller, who
 *   calls free(). All other strings that the library returns belong to it.
 *
 * ERRORS
 *   On error, functions that return a pointer return NULL and functions that
 *   return int return -1, unless stated otherwise. Functions described as
 *   "0 or -1" return 0 on success. poly_last_error() returns one line that names
 *   the function, the argument, what was given and what was expected. A call
 *   that fails changes nothing else. A NULL node or array as an operand makes
 *   the result NULL and keeps the first error, so a chain of calls may be
 *   checked once, at its end. Scalars and tensors without elements are valid
 *   operands; they are errors only where no result is defined, such as argmax
 *   of no elements or the decomposition of a matrix without rows.
 *
 * SHAPES
 *   A shape is an array of int64_t and a count (ndim; 0 for a scalar, whose
 *   array may be NULL). Elements are in row-major order. Shapes broadcast by
 *   NumPy's rule. Negative axes count from the end. Sizes may be symbolic (see
 *   "Symbolic sizes").
 *   Some functions take the shape of an operand from the caller ("shape,
 *   ndim"). NULL selects the shape of the node itself. A different shape with
 *   the same number of elements reshapes the operand first. Some functions also
 *   report the shape of the result (shape_out, ndim_out). Both may be NULL; at
 *   most POLY_MAX_OUT_DIMS sizes are written, so int64_t[8] is enough.
 *
 * DATA TYPES
 *   A data type is a number (PolyDTypeId). Operands of different types are
 *   promoted by one lattice: bool < signed and unsigned integers < fp8 <
 *   float16, bfloat16 < float32 < float64. A number given as a C argument is
 *   weak: it takes the type of the tensor it is combined with, if that type can
 *   represent its kind.
 *
 * THREADS
 *   Any thread may call any function. Calls on one context are serialized.
 *   Contexts run in parallel, except that only one at a time compiles new
 *   kernels. The last error is per thread. Objects do not belong to the thread
 *   that created them and stay valid when it ends.
 *
 * SIGNALS
 *   Signals belong to the program: the threads of the library block them.
 *   Signal handlers are left unchanged, except that SA_ONSTACK is added, because
 *   a call may run on a small stack, and that a fault in a kernel (SIGSEGV,
 *   SIGBUS, SIGILL, SIGFPE) is reported before its handler runs. Another
 *   library written in Go may be loaded in the same process. dlclose does not
 *   unload the library: the Go runtime cannot be unloaded.
 *
 * FORK
 *   The library does not survive fork(). In the child of a process that has
 *   loaded the library every call fails at once with an error that says so.
 *   Start workers with exec ("spawn"), or load the library only in the child.
 *
 * VERSIONS
 *   "Since 1.0" marks the original interface; programs that were written for it
 *   work unchanged. "Since 2.0" marks additions. If the functions of a group
 *   differ, the versions are listed in their order: "Since 1.0, 2.0". Functions of
 *   1.0 that have a better successor are in the last section, "Compatibility".
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

/* The number that poly_abi_version returns: the layout of records and prototypes. */
#define POLY_ABI_VERSION 1

/* The version of this header, and of the library that was built with it. */
#define POLY_VERSION "2.0.0"

/* The limit of dimensions that functions report (shape_out, records), and the limit of
 * dimensions of a node. */
#define POLY_MAX_OUT_DIMS 8
#define POLY_MAX_DIMS 16

/* ======================================================================== */
/* Types                                                                    */
/* ======================================================================== */

/* Handles. See HANDLES above. */
typedef struct PolyCtx PolyCtx;                     /* a context: a graph, its memory and its programs */
typedef struct PolyUOp PolyUOp;                     /* a node of the graph */
typedef struct PolyArray PolyArray;                 /* an array: a mutable tensor */
typedef struct PolyPin PolyPin;                     /* access to the memory of an array */
typedef struct PolyFunction PolyFunction;           /* a compiled function of arrays */
typedef struct PolyExpr PolyExpr;                   /* a function of arrays, to be transformed */
typedef struct PolyOptim PolyOptim;                 /* an optimizer of arrays */
typedef struct PolyRateScheduler PolyRateScheduler; /* a learning rate schedule of an optimizer */
typedef struct PolyJob PolyJob;                     /* a run in the background */
typedef struct PolyStep PolyStep;                   /* a compiled program of nodes */
typedef struct PolyInstance PolyInstance;           /* a model with its memory */
typedef struct PolyGenerator PolyGenerator;         /* a text generator */
typedef struct PolyTokenizer PolyTokenizer;         /* converts between texts and tokens */
typedef struct PolyTextStream PolyTextStream;       /* decodes tokens to text incrementally */
typedef struct PolyFile PolyFile;                   /* an open file of tensors */
typedef struct PolyModelConfig PolyModelConfig;     /* the configuration of a model */
typedef struct PolyModel PolyModel;                 /* a model as a function of nodes */
typedef struct PolySchedule PolySchedule;           /* a program cut into kernels */
typedef struct PolyCompiledPlan PolyCompiledPlan;   /* a schedule compiled for a device */
typedef struct PolyWasmStepPlan PolyWasmStepPlan;   /* a program as a WASM module */

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
  POLY_DTYPE_FP8E5M2 = 16, /* since 2.0 */
  POLY_DTYPE_COMPLEX64 = 17, /* of arrays, not of nodes: real and imaginary parts alternate; since 2.0 */
  POLY_DTYPE_COMPLEX128 = 18 /* since 2.0 */
} PolyDTypeId;

/* Devices by number. AUTO and CPU select the device named by the environment variable
 * POLY_DEVICE; CPU ignores the variable if it names a GPU. The default is machine code for
 * this processor (X64_JIT), or WebAssembly (WASM_JIT) on another processor or where the
 * process may not have executable memory. */
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

/* The operations of nodes. poly_op_name gives their names. */
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

/* A data type as a record: see section "Data types as records". */
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

/* The memory of a PolyBufferBinding. The library reads ptr, and nbytes if it is not 0 and
 * there are two or more bindings: memory that is too small is an error. */
typedef struct PolyBufferHandle {
  void *ptr;
  size_t nbytes;
  int32_t domain;
  bool owned;
} PolyBufferHandle;

/* A buffer and the memory that a program uses for it. Programs written for 1.0 may use an
 * older layout of 16 bytes, {buffer, void *data}: see section "Compatibility". */
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

/* The description of a buffer of a step, written by poly_step_buffer_info. */
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

/* POLY_ABI_VERSION of the loaded library. Since 1.0. */
POLY_API int poly_abi_version(void);

/* The version of the loaded library, "major.minor.patch". Since 2.0. */
POLY_API const char *poly_version(void);

/* How the library was built: "key=value" pairs separated by blanks, with the keys version,
 * go (compiler), os, arch, and, if the source was under version control, revision and
 * modified. Since 2.0. */
POLY_API const char *poly_build_info(void);

/* The error of the last call of this thread: one line of UTF-8, "function: argument: given,
 * expected", or "" if that call succeeded. Never NULL. Valid until the thread's next call;
 * this function and poly_clear_error do not count as calls. Since 2.0. */
POLY_API const char *poly_last_error(void);

/* Clears the last error of this thread. Since 2.0. */
POLY_API void poly_clear_error(void);

/* The number of operation codes (PolyOps), including the unused 0. Since 1.0. */
POLY_API int poly_op_count(void);

/* The name of an operation code: "ADD" for 32, "INVALID" for 0, "UNKNOWN" outside 0 ..
 * poly_op_count()-1, except FLOOR, CEIL and ROUND, which nodes may have (102 to 104).
 * Never NULL, never freed. Since 1.0. */
POLY_API const char *poly_op_name(PolyOps op);

/* The name of a data type ("float32" for POLY_DTYPE_FLOAT32); NULL if there is no such
 * type. Since 2.0. */
POLY_API const char *poly_dtype_id_name(int dtype);

/* The size of one element in bytes; -1 if dtype is not the type of a tensor. Since 2.0. */
POLY_API int poly_dtype_id_size(int dtype);

/* The data type (PolyDTypeId) with a name; -1 if there is none. Since 2.0. */
POLY_API int poly_dtype_id_parse(const char *name);

/* The smallest type that holds the values of both types, by the promotion lattice; -1 if
 * one is not the type of a tensor. Since 2.0. */
POLY_API int poly_dtype_id_promote(int a, int b);

/* The number of devices that the library knows. Since 2.0. */
POLY_API int poly_device_count(void);

/* The name of device i (PolyDeviceId): "AUTO", "CPU", "INTERP", ...; NULL outside 0 ..
 * poly_device_count()-1. Since 2.0. */
POLY_API const char *poly_device_name(int i);

/* 1 if a device (PolyDeviceId) can run kernels in this process, else 0. Since 2.0. */
POLY_API int poly_device_available(int device);

/* Empty the caches of compiled kernels, plans and schedules of all contexts (both do the
 * same). Since 1.0. */
POLY_API void poly_cpu_cache_flush(void);
POLY_API void poly_sched_cache_flush(void);

/* A function that the library calls between the kernels of a run, at most every 10 ms, in
 * the thread that started the run. A result other than 0 ends the run with the error
 * "interrupted". It must not call the library. */
typedef int (*PolyPollFn)(void *data);

/* Sets the function that all runs of the process poll, so that a host can stop a long run
 * (Ctrl-C). NULL removes it. The outputs of an interrupted run are undefined. Since 2.0. */
POLY_API void poly_set_poll(PolyPollFn poll, void *data);

/* ======================================================================== */
/* Contexts                                                                 */
/* ======================================================================== */

/* Creates an empty context. It runs kernels on the device that the environment variable
 * POLY_DEVICE names: "native" (the default), "wasm", "interp", "clang", or "reference",
 * which composes operations as tinygrad does and runs its kernels. Since 1.0. */
POLY_API PolyCtx *poly_ctx_new(void);

/* Destroys a context with its nodes, arrays, buffers and compiled programs; their handles
 * become stale. Waits for jobs that still run. NULL and stale contexts are ignored. Since
 * 1.0. */
POLY_API void poly_ctx_destroy(PolyCtx *ctx);

/* Sets the default device (PolyDeviceId) of a context: it runs all later programs, except
 * those on arrays that were put on another device (poly_array_to). AUTO is the device of the
 * environment. Programs that were compiled before stay on their device; arrays move to the
 * device that uses them. 0, or -1 if the device cannot run kernels in this process. Since
 * 2.0. */
POLY_API int poly_ctx_set_device(PolyCtx *ctx, int device);

/* The default device (PolyDeviceId) of a context. If it is that of the environment: CPU, or
 * the GPU that the environment names. -1 on error. Since 2.0. */
POLY_API int poly_ctx_device(PolyCtx *ctx);

/* The number of live node handles and array values of a context; -1 on error. For leak
 * tests. Since 2.0. */
POLY_API int64_t poly_ctx_live_nodes(PolyCtx *ctx);

/* ======================================================================== */
/* Operations by name                                                       */
/* ======================================================================== */

/* Every operation that docs/api.md lists can be called by its name, with its parameters in
 * the order of its description there:
 *
 *     PolyCallArg args[] = {POLY_PASS_T(x), POLY_PASS_I(-1), POLY_PASS_B(true)};
 *     PolyUOp *sum;
 *     if (poly_call(ctx, poly_op("sum"), args, 3, &sum, 1) != 1)  // x.sum(axis=-1, keepdim=True)
 *       puts(poly_last_error());
 */

/* The kinds of arguments. In parentheses: the member of PolyCallArg.as that is read. n
 * counts the elements that the pointer refers to, or the arguments that follow in the
 * array. */
typedef enum PolyCallKind {
  POLY_CALL_NONE = 0,     /* not given: the parameter's default; in an index, a new axis */
  POLY_CALL_BOOL = 1,     /* (i) */
  POLY_CALL_INT = 2,      /* (i) */
  POLY_CALL_UINT = 3,     /* (i) as uint64_t */
  POLY_CALL_FLOAT = 4,    /* (f); a float without a fraction is accepted as an integer */
  POLY_CALL_TENSOR = 5,   /* (p) a node, or in poly_array_call an array */
  POLY_CALL_SIZE = 6,     /* (p) a node that is a symbolic size */
  POLY_CALL_DTYPE = 7,    /* (i) a PolyDTypeId */
  POLY_CALL_TEXT = 8,     /* (p) a string that ends with a 0 */
  POLY_CALL_CHARS = 9,    /* a string of n bytes, stored in the array elements that follow */
  POLY_CALL_LIST = 10,    /* a list of the n arguments that follow */
  POLY_CALL_INTS = 11,    /* (p) n int64_t */
  POLY_CALL_FLOATS = 12,  /* (p) n double */
  POLY_CALL_TENSORS = 13, /* (p) n nodes, or in poly_array_call arrays */
  POLY_CALL_SLICE = 14,   /* of an index: start, stop and step follow; NONE leaves one open */
  POLY_CALL_ELLIPSIS = 15, /* of an index: all axes that the other items do not select from */
  POLY_CALL_OTHER = 16,   /* for bindings: a value of a type that no parameter takes; the name of the type, stored
                           * as CHARS, appears in the error */
  POLY_CALL_COMPLEX = 17  /* a complex number: two double, stored in the array element that follows */
} PolyCallKind;

/* One argument. A parameter that is a list of numbers also accepts a single number. Names
 * with sizes (rearrange) are one list in which each name precedes its size. */
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

/* The number of the operation with a name; -1 if there is none. Numbers may change from one
 * version of the library to the next. Since 2.0. */
POLY_API int poly_op(const char *name);

/* Calls operation op on nodes. args holds the operand (of a method) or the list of operands
 * (cat, stack, einsum, ...) first, if the operation has one, then its parameters;
 * parameters that are left out at the end take their defaults. Returns the number of
 * results and writes them to out. If there are more than room, nothing is written, and the
 * call may be repeated with more room. -1 on error, which names the operation and the
 * parameter. Operations that draw random numbers are an error: use poly_array_call.
 * Operations whose result shape depends on values (nonzero, masked_select) compute those
 * values. Since 2.0. */
POLY_API int poly_call(PolyCtx *ctx, int op, const PolyCallArg *args, int n, PolyUOp **out, int room);

/* ======================================================================== */
/* Arrays                                                                   */
/* ======================================================================== */

/* An array is a mutable tensor: a variable whose value is a node. Its elements are computed
 * when they are requested.
 *
 * VIEWS. An operation that only selects or reorders elements (reshape, permute, flip, an
 * index of integers and slices, ...) returns a view. A view and the array it was made from
 * share their elements: a write to one is visible in the other.
 *
 * WRITES. A write changes the array and its views. It never changes an array that was
 * computed from it before, even one that is not computed yet: such an array keeps reading
 * the old elements. If any such reader exists, the written array moves to other memory;
 * otherwise the write is in place.
 *
 * OWNERSHIP. Each PolyArray that a function returns or writes to a parameter is a reference
 * of the caller, which poly_array_release ends. */

/* Creates an array with a copy of data: elements in row-major order, nbytes in all, exactly
 * the size of the array. If data is NULL the array is filled with zeros and nbytes is
 * ignored. Since 2.0. */
POLY_API PolyArray *poly_array_new(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, const void *data, size_t nbytes);

/* Creates an array on the caller's memory of nbytes, without a copy. Writes to the array
 * change that memory. On a device with memory of its own, such as a GPU, the array is a copy
 * instead, which is made at once. The memory must stay valid until poly_array_released reports token, a number
 * of the caller's choice, or the context is destroyed. Since 2.0. */
POLY_API PolyArray *poly_array_share(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, void *data, size_t nbytes, uint64_t token);

/* Writes the tokens of poly_array_share whose memory is no longer used, at most room of
 * them, and returns their number; -1 on error. Each token is reported once. Since 2.0. */
POLY_API int poly_array_released(PolyCtx *ctx, uint64_t *tokens, int room);

/* Returns another handle, with a reference of its own, to the same array. Since 2.0. */
POLY_API PolyArray *poly_array_retain(PolyArray *x);

/* Ends the reference of one handle, or of n. NULL and stale handles are ignored, so
 * finalizers may run in any order. Since 2.0. */
POLY_API void poly_array_release(PolyArray *x);
POLY_API void poly_array_release_n(PolyArray **xs, int n);

/* The node that is the array's current value. A later write gives the array another node.
 * Since 2.0. */
POLY_API PolyUOp *poly_array_node(PolyArray *x);

/* For inspection: the graph that a computed array was computed from, if it is still kept;
 * else the array's current node. Since 2.0. */
POLY_API PolyUOp *poly_array_origin(PolyArray *x);

/* Creates an array whose value is a node that was built from the nodes (poly_array_node) of
 * the n arrays in from. The array keeps their memory alive and takes their gradients into
 * account. Since 2.0. */
POLY_API PolyArray *poly_array_of(PolyCtx *ctx, PolyUOp *node, PolyArray **from, int n);

/* Returns the number of dimensions, -1 on error. Writes the first room sizes to shape (a
 * symbolic size as -1) and the data type (PolyDTypeId) to *dtype; both may be NULL. Since
 * 2.0. */
POLY_API int poly_array_describe(PolyArray *x, int64_t *shape, int room, int *dtype);

/* poly_call on arrays: POLY_CALL_TENSOR and POLY_CALL_TENSORS refer to arrays. Movement
 * operations return views. Random operations draw from the stream of the context
 * (poly_seed). Since 2.0. */
POLY_API int poly_array_call(PolyCtx *ctx, int op, const PolyCallArg *args, int n, PolyArray **out, int room);

/* a op b for a PolyBinaryOp. Shapes broadcast, types are promoted. Since 2.0. */
POLY_API PolyArray *poly_array_binary(int op, PolyArray *a, PolyArray *b);

/* x op number, or number op x if reversed is not 0. number is a POLY_CALL_BOOL, INT, UINT
 * or FLOAT and is weak: see poly_binary_float. Since 2.0. */
POLY_API PolyArray *poly_array_binary_number(int op, PolyArray *x, const PolyCallArg *number, int reversed);

/* Computes n arrays of one context in one program. 0 or -1. Since 2.0. */
POLY_API int poly_array_realize(PolyArray **xs, int n);

/* Starts poly_array_realize as a job and returns at once; poly_job_wait waits for it. Jobs
 * of a context run one after the other, and every other computation waits for them. Writes
 * to arrays in the meantime do not change the result; writes by the caller to memory of
 * poly_array_share do. NULL on error. Since 2.0. */
POLY_API PolyJob *poly_array_realize_async(PolyCtx *ctx, PolyArray **xs, int n);

/* 1 if the elements of the array, or of the array it is a view of, are computed; 0 if not;
 * -1 on error. Since 2.0. */
POLY_API int poly_array_is_computed(PolyArray *x);

/* 1 if the array is a view of another one, also if that one was released; 0 if not; -1 on
 * error. Since 2.0. */
POLY_API int poly_array_is_view(PolyArray *x);

/* Computes the array and copies its elements to out in row-major order. nbytes is exactly
 * the size of the elements. 0 or -1. Since 2.0. */
POLY_API int poly_array_read(PolyArray *x, void *out, size_t nbytes);

/* For hosts that must not block, such as the main thread of a page: computes the array and
 * starts to copy its elements from its device to the host. Returns the number of the copy;
 * when the host has reported that copy as complete, the program calls poly_array_fetched, and
 * poly_array_read then finds the elements. 0: there is nothing to wait for; -2: the array is
 * a view, which has to be copied first; -1 on error. Since 2.0. */
POLY_API int poly_array_fetch(PolyArray *x);

/* Completes copy `number` of poly_array_fetch: its array has the elements on the host now. A
 * copy is dropped if its array has changed since. 0 or -1. Since 2.0. */
POLY_API int poly_array_fetched(PolyCtx *ctx, int number);

/* Computes the array and gives access to its memory: writes the address of its first
 * element to *data and, unless strides is NULL, the distance between neighbours along each
 * axis, in elements, to strides, which has room for all axes. The memory stays valid until
 * poly_array_unpin. If *writable (may be NULL) is 1, writes to the memory change the array;
 * it is 0 if the elements have no strided layout, and the memory is then a copy. NULL on
 * error. Since 2.0. */
POLY_API PolyPin *poly_array_pin(PolyArray *x, void **data, int64_t *strides, int room, int *writable);

/* Ends the access to pinned memory; also valid after the context was destroyed. NULL and
 * stale handles are ignored. Since 2.0. */
POLY_API void poly_array_unpin(PolyPin *pin);

/* Writes value to all elements of x: an array (POLY_PASS_T) of the same data type, which
 * broadcasts to the shape of x, or a number. No gradient flows from x to value. 0 or -1.
 * Since 2.0. */
POLY_API int poly_array_assign(PolyArray *x, const PolyCallArg *value);

/* poly_array_assign for in-place operations (x += y): gradients flow from x to value. If x
 * requires a gradient itself, it stays a leaf and only its elements change. 0 or -1. Since
 * 2.0. */
POLY_API int poly_array_update(PolyArray *x, const PolyCallArg *value);

/* Assigns values[i] to targets[i] for n arrays in one program. All values are computed
 * before any target is written. 0 or -1. Since 2.0. */
POLY_API int poly_array_assign_n(PolyArray **targets, PolyArray **values, int n);

/* x[items] = value: writes value, as poly_array_assign takes it, to the elements that an
 * index selects. The index has n items, each a POLY_CALL_INT, SLICE, TENSOR (integer
 * positions, or a bool mask), NONE (a new axis) or ELLIPSIS. Gradients flow from x to value;
 * it is an error if value has a gradient and x requires one itself. 0 or -1. Since 2.0. */
POLY_API int poly_array_set(PolyArray *x, const PolyCallArg *items, int n, const PolyCallArg *value);

/* Makes x an alias of by: x then has the elements, shape and type of by, and a write to
 * either is visible in both. Whether x requires a gradient does not change. 0 or -1. Since
 * 2.0. */
POLY_API int poly_array_replace(PolyArray *x, PolyArray *by);

/* A view through which no gradient flows. Since 2.0. */
POLY_API PolyArray *poly_array_detach(PolyArray *x);

/* The array on a device (PolyDeviceId): operations on the result run there. An operation may
 * combine it with arrays that were put on no device, but not with arrays on another device,
 * which is an error. The elements are copied, and gradients flow back to x, on its own
 * device; if x is on the device already, the result is x. AUTO is the device of the context.
 * NULL if the device cannot run kernels in this process. Since 2.0. */
POLY_API PolyArray *poly_array_to(PolyArray *x, int device);

/* Puts the array itself on a device (see poly_array_to), without a copy: its memory moves
 * when it is used there. AUTO: on no device, the initial state. 0 or -1. Since 2.0. */
POLY_API int poly_array_move(PolyArray *x, int device);

/* Makes the device WEBGPU run on the program's own WGPUDevice gpu, which was requested from
 * the WGPUAdapter adapter, so that the program and polygrad can share buffers. library is the
 * path of the wgpu-native library that created both: handles are only valid in that library,
 * not in another copy of it. polygrad keeps a reference to the device, handles the errors of
 * its own calls (the device's error callback does not see them) and polls the device itself.
 * It is limited to the features and limits that the device was created with: request those of
 * the adapter. Elements that are only on the device used before are lost. A lost device is not
 * replaced: every use is an error until this function is called again. gpu 0 returns to a
 * device that polygrad chooses. Not in WebAssembly, whose host provides devices. 0 or -1.
 * Since 2.0. */
POLY_API int poly_webgpu_init(const char *library, int64_t adapter, int64_t gpu);

/* Computes an array on the device WEBGPU and returns its buffer, for a program that uses the
 * same device: a WGPUBuffer, as a number, with at least as many bytes as the elements have; in
 * WebAssembly the number by which the host knows the GPUBuffer. The buffer is the memory of the
 * array until the array is moved or released; writes to the array go to it. Commands that the
 * program submits after this call run after those that polygrad has submitted. 0 on error: the
 * array is on another device, is a view, or its memory is in use by the host. Since 2.0. */
POLY_API int64_t poly_array_gpu_buffer(PolyArray *x);

/* Creates an array on an existing buffer of the device WEBGPU (as returned by
 * poly_array_gpu_buffer; the buffer's usage includes storage and copies), without a copy: a
 * write to either is visible in both. The elements begin at offset, a multiple of 256; room is
 * the number of bytes from there on. polygrad keeps a reference to the buffer, which must not
 * be mapped; on a device of the program (poly_webgpu_init) the use of a destroyed buffer is an
 * error. NULL on error. Since 2.0. */
POLY_API PolyArray *poly_array_of_gpu_buffer(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, int64_t buffer, int64_t offset, int64_t room);

/* The device (PolyDeviceId) that an array was put on, or that of its context if it was put on
 * none; -1 on error. Since 2.0. */
POLY_API int poly_array_device(PolyArray *x);

/* A copy: a write to the array or to its copy is not visible in the other one. The memory
 * is shared until the first such write. Since 2.0. */
POLY_API PolyArray *poly_array_clone(PolyArray *x);

/* The bytes of memory of all arrays of the process, without memory of the caller. Since
 * 2.0. */
POLY_API int64_t poly_array_memory(void);

/* Sets training mode if on is 1 or 0, and leaves it if on is negative. Returns the mode
 * before the call: 1, 0, or -1 on error. In training mode dropout drops elements and batch
 * normalisation uses and updates batch statistics. Since 2.0. */
POLY_API int poly_training(PolyCtx *ctx, int on);

/* Restarts the random stream of the context. Equal seeds give equal numbers on every
 * device, in every language, and in tinygrad. 0 or -1. Since 2.0. */
POLY_API int poly_seed(PolyCtx *ctx, uint64_t seed);

/* ======================================================================== */
/* Gradients of arrays                                                      */
/* ======================================================================== */

/* An array that requires a gradient is a leaf: poly_array_backward computes the gradient of
 * a loss with respect to it and adds that to the gradient it holds. */

/* Sets (on = 1) or clears (0) that the array requires a gradient. Its type must be
 * floating. 0 or -1. Since 2.0. */
POLY_API int poly_array_require_grad(PolyArray *x, int on);

/* 1 if poly_array_backward gives the array, or an array it is computed from, a gradient; 0
 * if not; -1 on error. Since 2.0. */
POLY_API int poly_array_requires_grad(PolyArray *x);

/* Computes the gradients of x with respect to all arrays that it is computed from and that
 * require one, and adds them to the gradients these hold. gradient is the incoming
 * gradient, of the shape of x; it may be NULL if x has one element. 0 or -1. Since 2.0. */
POLY_API int poly_array_backward(PolyArray *x, PolyArray *gradient);

/* Starts poly_array_backward as a job, as poly_array_realize_async does. poly_array_grad
 * returns the new gradients at once, before they are computed. NULL on error. Since 2.0. */
POLY_API PolyJob *poly_array_backward_async(PolyArray *x, PolyArray *gradient);

/* Writes the gradients of x with respect to n arrays to out; no array stores them. They can
 * be differentiated again. An array that x does not depend on has a gradient of zeros if
 * zeros is not 0, and is an error otherwise. 0 or -1. Since 2.0. */
POLY_API int poly_array_gradient(PolyArray *x, PolyArray **targets, int n, PolyArray *gradient, int zeros, PolyArray **out);

/* Writes a new handle to the gradient of an array to *grad and returns 1. If the array
 * holds no gradient, writes NULL and returns 0. -1 on error. Since 2.0. */
POLY_API int poly_array_grad(PolyArray *x, PolyArray **grad);

/* Replaces the gradient of an array by grad, of its shape; NULL removes it. 0 or -1. Since
 * 2.0. */
POLY_API int poly_array_set_grad(PolyArray *x, PolyArray *grad);

/* Begins (on = 1) or ends (0) a region in which results do not require gradients, even if
 * their operands do. Regions nest. 0 or -1. Since 2.0. */
POLY_API int poly_no_grad(PolyCtx *ctx, int on);

/* ======================================================================== */
/* Traced functions                                                         */
/* ======================================================================== */

/* A traced function is compiled into one program. poly_trace_begin starts a trace and
 * returns placeholders for the arguments; the caller calls the function on them;
 * poly_trace_end compiles what was recorded:
 *
 *   - During a trace nothing is computed. Functions that need a value
 *     (poly_array_read, poly_array_pin, ...) are errors, and so are a second
 *     trace and a run of another traced function.
 *   - An array stands for one argument: given twice, it is an error.
 *   - Writes to arrays, and to gradients, are recorded and undone at the end of the
 *     trace. Each run performs them on the current memory of the arrays.
 *   - Each run reads the current elements of arrays from before the trace.
 *   - Numbers of C, and the branches that the caller took, are constants.
 *   - Random numbers are drawn at each run, none during the trace.
 *   - After a run the arrays hold the gradients that the function leaves. Exception:
 *     gradients that the function first removes (poly_array_set_grad with NULL) and
 *     that an optimizer then uses are temporaries, which no run leaves behind.
 */

/* How poly_trace_end compiles a function. */
typedef enum PolyTraceFlags {
  POLY_TRACE_PRUNE = 1, /* compute values that are the same in every run once, when compiling: those that depend
                         * on no argument, no random number and nothing that the function writes */
  POLY_TRACE_FIXED = 2  /* every run writes its results to the same arrays: see poly_function_result */
} PolyTraceFlags;

/* Begins a trace of a function of n arrays. Writes one placeholder for each to given; they
 * have the shapes and types of args. name (may be NULL) is the function's name in errors.
 * Traces do not nest. 0 or -1. Since 2.0. */
POLY_API int poly_trace_begin(PolyCtx *ctx, const char *name, PolyArray **args, int n, PolyArray **given);

/* Ends the trace and compiles the function with n results. flags are PolyTraceFlags. NULL
 * on error; the trace has ended then, too. Since 2.0. */
POLY_API PolyFunction *poly_trace_end(PolyCtx *ctx, PolyArray **results, int n, int flags);

/* Ends the trace and discards what was recorded. 0 or -1. Since 2.0. */
POLY_API int poly_trace_abandon(PolyCtx *ctx);

/* Runs a function on n arrays with the shapes and types of the traced ones. vars are the
 * values of those variables in sizes that the shapes of the arguments do not determine.
 * Writes the results to out, which must have room for all of them, and returns their
 * number; -1 on error. Since 2.0. */
POLY_API int poly_function_run(PolyFunction *f, PolyArray **args, int n, PolyVarBinding *vars, int n_vars, PolyArray **out, int room);

/* Runs a function that has no arguments and does not return its results: a training step,
 * or a function compiled with POLY_TRACE_FIXED. 0 or -1. Since 2.0. */
POLY_API int poly_function_rerun(PolyFunction *f);

/* The array that holds result i after every run: of a function compiled with
 * POLY_TRACE_FIXED, or if the result is an array from before the trace. NULL if each run
 * creates a new array. Since 2.0. */
POLY_API PolyArray *poly_function_result(PolyFunction *f, int i);

/* Writes the numbers of results, of kernels and of buffers between kernels; each pointer
 * may be NULL. 0 or -1. Since 2.0. */
POLY_API int poly_function_info(PolyFunction *f, int *results, int *kernels, int *temporaries);

/* poly_view_kernels of the program of a function; malloc'd. Since 2.0. */
POLY_API char *poly_view_function(PolyFunction *f, int runs, int view);

/* Releases a function. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_function_release(PolyFunction *f);

/* ======================================================================== */
/* Function transformations                                                 */
/* ======================================================================== */

/* The usual names of transformations, and how to get each of them here:
 *
 *   grad, value_and_grad          POLY_DERIVE_GRAD
 *   jvp, linearize                POLY_DERIVE_JVP: apply the expression to as many tangents as needed
 *   vjp, linear_transpose         POLY_DERIVE_VJP, POLY_DERIVE_TRANSPOSE
 *   jacfwd, jacrev                POLY_DERIVE_JACFWD, POLY_DERIVE_JACREV
 *   hessian                       POLY_DERIVE_JACFWD of POLY_DERIVE_JACREV
 *   hvp                           POLY_DERIVE_JVP of POLY_DERIVE_GRAD
 *   vmap                          poly_expr_batch; psum, all_gather and axis_index: poly_expr_along;
 *                                 other collectives are composed of them: pmax is the maximum of
 *                                 all_gather
 *   checkpoint, custom_jvp,       poly_expr_checkpoint, poly_expr_custom_jvp, _custom_vjp and
 *   custom_vjp, custom_vmap       _custom_vmap
 *   stop_gradient                 poly_array_detach
 *   scan, map, fori_loop          poly_expr_scan: map has no carry, fori_loop scans over the
 *                                 loop indices; associative_scan: poly_expr_associative_scan
 *   while_loop, cond, switch      poly_expr_while, poly_expr_switch: cond has two branches
 *   jit, ahead-of-time compiling  poly_trace_begin and poly_trace_end
 *   eval_shape, make_jaxpr        the shapes of what a traced function returns; poly_expr_text
 *
 * An expression (PolyExpr) is a function of arrays as a graph: outputs that are computed
 * from inputs. poly_expr_begin returns placeholders for the arguments, which have no
 * elements; the caller calls the function on them; poly_expr_end makes the expression.
 * Transformations of an expression give expressions and compose in any order and depth, and
 * a function that is traced may trace others. Nothing is computed before an output of
 * poly_expr_apply is read.
 *
 *   - While a function is traced, it is an error to read a value that depends on a
 *     placeholder, to call poly_array_backward, or to write to an array from before the
 *     trace: return new values instead.
 *   - Arrays from before the trace are constants of the expression.
 *   - Random numbers are drawn once, when the function is traced; all elements of a batch
 *     get the same ones.
 */

/* Begins to trace a function of n arrays. Writes one placeholder for each to given. A
 * placeholder has the type and shape of args[i]; axes[i], unless it is -1, is the batch axis
 * of args[i], which the placeholder does not have. axes may be NULL: no batch axes. name (may
 * be NULL) is the name of the transformation in errors. 0 or -1. Since 2.0. */
POLY_API int poly_expr_begin(PolyCtx *ctx, const char *name, PolyArray **args, int n, const int *axes, PolyArray **given);

/* Names the batch axis of the innermost trace, for poly_expr_along. size is the batch size;
 * -1 takes it from the axes of poly_expr_begin. 0 or -1. Since 2.0. */
POLY_API int poly_expr_axis(PolyCtx *ctx, const char *name, int64_t size);

/* A collective operation along a named batch axis, in a function that is traced to be batched
 * along it: "psum" (the sum of x over the batch), "all_gather" (the x of all batch elements,
 * stacked along a new first axis), "axis_index" (the index of this batch element; x may be
 * any array) or "own" (the slice of this batch element of an x that has the batch as its
 * first axis, as a result of all_gather has). NULL on error. Since 2.0. */
POLY_API PolyArray *poly_expr_along(PolyArray *x, const char *operation, const char *axis);

/* Ends the innermost trace with n results. NULL on error; the trace has ended then, too.
 * Since 2.0. */
POLY_API PolyExpr *poly_expr_end(PolyCtx *ctx, PolyArray **results, int n);

/* Ends the innermost trace without a result. 0 or -1. Since 2.0. */
POLY_API int poly_expr_abandon(PolyCtx *ctx);

/* The derivatives that poly_expr_derive makes, with respect to selected inputs, which have
 * floating types. Each line says what the derivative takes, and after the arrow what it
 * returns. */
typedef enum PolyDerivative {
  POLY_DERIVE_JVP = 0,    /* inputs, a tangent for each selected input -> outputs, then their tangents (forward mode) */
  POLY_DERIVE_VJP = 1,    /* inputs, a cotangent for each output -> for each selected input the gradient of the sum of
                           * all outputs times their cotangents (reverse mode) */
  POLY_DERIVE_GRAD = 2,   /* inputs -> the gradients of the first output, a scalar, then all outputs */
  POLY_DERIVE_JACFWD = 3, /* inputs -> for each output, and each selected input, the Jacobian: its shape is the shape
                           * of the output followed by that of the input (forward mode) */
  POLY_DERIVE_JACREV = 4, /* the same (reverse mode) */
  POLY_DERIVE_HOLOMORPHIC_GRAD = 5,   /* GRAD, JACFWD and JACREV of holomorphic functions: inputs and outputs are */
  POLY_DERIVE_HOLOMORPHIC_JACFWD = 6, /* complex, and derivatives are complex derivatives */
  POLY_DERIVE_HOLOMORPHIC_JACREV = 7,
  POLY_DERIVE_TRANSPOSE = 8 /* VJP of a function that is linear in the selected inputs; an error for others */
} PolyDerivative;

/* A derivative of an expression with respect to its inputs of[0], ..., of[n-1]. NULL on
 * error. Since 2.0. */
POLY_API PolyExpr *poly_expr_derive(PolyExpr *f, int derivative, const int *of, int n);

/* The expression that applies f to each element of a batch (vmap): input i has the batch as
 * axis in_axes[i], output i as axis out_axes[i]. An input with -1 is the same for all
 * elements of the batch; an output with -1 must be. size is the batch size; -1 takes it from
 * the batch axes of poly_expr_begin. NULL on error. Since 2.0. */
POLY_API PolyExpr *poly_expr_batch(PolyExpr *f, int64_t size, const int *in_axes, int n_in, const int *out_axes, int n_out);

/* The expression with the same inputs that returns only the outputs outputs[0], ...,
 * outputs[n-1]; n is at most the number of outputs of f. NULL on error. Since 2.0. */
POLY_API PolyExpr *poly_expr_select(PolyExpr *f, const int *outputs, int n);

/* Writes the numbers of inputs and of outputs; each pointer may be NULL. 0 or -1. Since
 * 2.0. */
POLY_API int poly_expr_info(PolyExpr *f, int *inputs, int *outputs);

/* Applies an expression to n arrays of the types and shapes of its inputs. Writes the outputs
 * to out, which must have room for all of them, and returns their number; -1 on error. Since
 * 2.0. */
POLY_API int poly_expr_apply(PolyExpr *f, PolyArray **args, int n, PolyArray **out, int room);

/* A loop (scan): runs an expression, the step, for each element of some sequences, in order,
 * or from the last to the first if reverse is not 0. The first `carried` inputs and outputs
 * of the step are the carry: a step receives it from the previous one and must not change
 * its shapes and types. The other inputs of the step are one element of each sequence.
 * args[0 .. n-1] are the initial carry, then the sequences, stacked along a first axis of
 * size length. To trace a step without that axis, pass it in axes of poly_expr_begin. Writes
 * to out the carry after the last step, then the other outputs of all steps, each stacked
 * along a new first axis in the order of the sequences. Returns the number of outputs; -1 on
 * error. The loop has derivatives in both modes; reverse mode stores the carry before each
 * step, and intermediate values that are expensive to compute again. Since 2.0. */
POLY_API int poly_expr_scan(PolyExpr *f, int carried, int64_t length, int reverse, PolyArray **args, int n, PolyArray **out, int room);

/* The prefix scan of n sequences, along their first axes, by an associative expression. The
 * expression combines two elements into one: inputs 0 .. n-1 are one element, inputs n ..
 * 2n-1 the next one, and its n outputs have the same shapes and types. Element i of the
 * results, written to out, combines elements 0 .. i, or i .. the last one if reverse is not
 * 0. Returns n; -1 on error. Trace the expression on 2n arrays, the sequences twice, with
 * their first axis in axes of poly_expr_begin. Since 2.0. */
POLY_API int poly_expr_associative_scan(PolyExpr *f, int reverse, PolyArray **args, int n, PolyArray **out, int room);

/* A loop (while): args are the n inputs of the first step. The last output of the expression,
 * a bool of shape (), is the condition; while it is true for the inputs of a step, the other
 * outputs, of the same shapes and types, are the inputs of the next step. Writes the inputs
 * for which the condition is false to out and returns n; -1 on error. The loop has
 * derivatives in forward mode only. Since 2.0. */
POLY_API int poly_expr_while(PolyExpr *f, PolyArray **args, int n, PolyArray **out, int room);

/* Runs one of several branches (switch); the others are not computed. The outputs of the
 * expression are those of branch 0, then those of branch 1, and so on; all branches have
 * outputs of the same shapes and types. args[0], an integer of shape (), selects the branch
 * and is clamped to 0 .. branches-1; args[1 .. n-1] are the operands of the branches. They
 * correspond to the inputs of the expression. Writes the outputs of the selected branch to
 * out and returns their number; -1 on error. Since 2.0. */
POLY_API int poly_expr_switch(PolyExpr *f, int branches, PolyArray **args, int n, PolyArray **out, int room);

/* poly_expr_apply with rematerialization (checkpoint): derivatives recompute intermediate
 * values instead of storing them. The recomputation begins when the gradients of the outputs
 * are known, and shares nothing with the first computation. policy names the values that are
 * stored besides the inputs: "nothing_saveable" (or NULL), "dots_saveable" (matrix products
 * and convolutions) or "everything_saveable". Since 2.0. */
POLY_API int poly_expr_checkpoint(PolyExpr *f, const char *policy, PolyArray **args, int n, PolyArray **out, int room);

/* poly_expr_apply with a custom derivative in forward mode: tangent takes the inputs of f and
 * a tangent for each input of a floating type, and returns a tangent for each output of a
 * floating type. It must be linear in the tangents; reverse mode then uses its transpose.
 * Since 2.0. */
POLY_API int poly_expr_custom_jvp(PolyExpr *f, PolyExpr *tangent, PolyArray **args, int n, PolyArray **out, int room);

/* poly_expr_apply with a custom derivative in reverse mode: forward takes the inputs of f and
 * returns as many outputs as f, which are ignored, then the residuals; backward takes the
 * residuals and a cotangent for each output of f, and returns a gradient for each input of a
 * floating type. Forward mode uses the transpose of backward, at cotangents of 0. Since
 * 2.0. */
POLY_API int poly_expr_custom_vjp(PolyExpr *f, PolyExpr *forward, PolyExpr *backward, PolyArray **args, int n, PolyArray **out, int room);

/* poly_expr_apply of a function with custom batching rules; rule, 0 or more, is a number by
 * which the caller knows the code that makes the rules. When the outputs, or an expression
 * that contains them, are batched, the rule for this batch size and these batched inputs
 * computes them; without such a rule the operations of the function are batched. Gradients
 * are those of the function, tangents in a batch those of the rule. Since 2.0. */
POLY_API int poly_expr_custom_vmap(PolyExpr *f, int64_t rule, PolyArray **args, int n, PolyArray **out, int room);

/* Begins to trace, as poly_expr_begin does, the first batching rule that the last
 * poly_expr_batch or poly_expr_derive of f did not find. Writes the caller's number of the
 * function (see poly_expr_custom_vmap) to *rule, the batch size to *size, and for each input
 * of the function 1 or 0 (batched or not) to batched and a placeholder to given; placeholders
 * of batched inputs have the batch as first axis. Returns the number of inputs, 0 if no rule
 * is missing, -1 on error, also if batched and given have room for fewer. The caller ends the
 * trace with poly_expr_end and poly_expr_add_rule, repeats this until no rule is missing, and
 * then transforms f again. Since 2.0. */
POLY_API int poly_expr_begin_rule(PolyExpr *f, const char *name, int64_t *rule, int64_t *size, int *batched, PolyArray **given, int room);

/* Adds the rule that poly_expr_begin_rule began to trace. It has the n outputs of the
 * function; those for which batched[i] is not 0 have the batch as first axis, the others are
 * the same for all elements of the batch. 0 or -1. Since 2.0. */
POLY_API int poly_expr_add_rule(PolyExpr *f, PolyExpr *rule, const int *batched, int n);

/* An expression as text: inputs, one equation a line, outputs, with their types; malloc'd.
 * Since 2.0. */
POLY_API char *poly_expr_text(PolyExpr *f);

/* Releases an expression. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_expr_release(PolyExpr *f);

/* ======================================================================== */
/* Optimizers of arrays                                                     */
/* ======================================================================== */

/* An optimizer updates arrays (parameters) by their gradients and owns its state, such as
 * moments. Its steps may be traced. */

/* Creates an optimizer by its name, poly_op("AdamW"). args are a list of arrays
 * (POLY_PASS_TENSORS) of floating types, then the settings in the order of docs/api.md, lr
 * first. An array that is listed twice is one parameter. The arrays require a gradient from
 * now on. Writes the number of state tensors of each parameter to *states, unless it is
 * NULL. Since 2.0. */
POLY_API PolyOptim *poly_optim_new(PolyCtx *ctx, int op, const PolyCallArg *args, int n, int *states);

/* Create an optimizer of n arrays with the settings of poly_lars (gradient descent, LARS,
 * Muon) or of poly_lamb (Adam, AdamW, LAMB). NULL on error. Since 2.0. */
POLY_API PolyOptim *poly_optim_lars(PolyArray **params, int n, double lr, double momentum, double weight_decay, double tcoef,
                                    int nesterov, int classic, int decoupled_decay, int ns_steps,
                                    const double *ns_coefficients, int n_coefficients);
POLY_API PolyOptim *poly_optim_lamb(PolyArray **params, int n, double lr, double b1, double b2, double eps, double weight_decay,
                                    int adam, int coupled_decay);

/* Updates each parameter that holds a gradient, of n optimizers of one context, in one
 * program. All new values are computed from the old ones. 0 or -1. Since 2.0. */
POLY_API int poly_optim_step(PolyOptim **optimizers, int n);

/* The arrays of an optimizer. what selects:
 *   0     the learning rate, of one element; write it to change the rate of later
 *         steps, also in traced functions
 *   1     parameter i
 *   2     the current power of beta i of poly_optim_lamb
 *   3, 4  the state of parameter i: the momentum, or the first and second moment
 * NULL on error. Since 2.0. */
POLY_API PolyArray *poly_optim_state(PolyOptim *optimizer, int what, int i);

/* Releases an optimizer. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_optim_release(PolyOptim *optimizer);

/* Creates a learning rate schedule by its name, poly_op("CosineAnnealingLR"), and sets the
 * optimizer's rate to that of step 0. args are the settings in the order of docs/api.md;
 * those that are left out at the end take their defaults. For ReduceLROnPlateau, which
 * depends on a metric, use poly_plateau. NULL on error. Since 2.0. */
POLY_API PolyRateScheduler *poly_rate_schedule_new(PolyOptim *optimizer, int op, const PolyCallArg *args, int n);

/* Creates a schedule by its number (PolyRateSchedule) with its n params. NULL on error.
 * Since 2.0. */
POLY_API PolyRateScheduler *poly_optim_schedule(PolyOptim *optimizer, int schedule, const double *params, int n);

/* Advances a schedule by one step and sets the optimizer's rate. Call it after
 * poly_optim_step; it may be traced. 0 or -1. Since 2.0. */
POLY_API int poly_rate_schedule_step(PolyRateScheduler *schedule);

/* The number of steps so far, an array of one int32. Since 2.0. */
POLY_API PolyArray *poly_rate_schedule_count(PolyRateScheduler *schedule);

/* Releases a schedule. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_rate_schedule_release(PolyRateScheduler *schedule);

/* ======================================================================== */
/* Nodes                                                                    */
/* ======================================================================== */

/* Ends one reference to a node. With the last one the handle becomes stale, and memory that
 * was bound to it (poly_buffer_host) is no longer used. NULL, stale handles and a destroyed
 * context are ignored, so finalizers may run in any order. Since 2.0. */
POLY_API void poly_uop_release(PolyCtx *ctx, PolyUOp *x);

/* poly_uop_release for n nodes. Since 2.0. */
POLY_API void poly_uop_release_n(PolyCtx *ctx, PolyUOp **xs, int n);

/* Adds a reference to a node and returns it. Since 2.0. */
POLY_API PolyUOp *poly_uop_retain(PolyCtx *ctx, PolyUOp *x);

/* The number of dimensions of a node; -1 on error and for a node without a shape (a STORE,
 * a SINK). Since 2.0. */
POLY_API int poly_ndim(PolyCtx *ctx, PolyUOp *x);

/* Writes the first cap sizes of the shape of a node to dims (a symbolic size as its
 * greatest value) and returns the number of dimensions; -1 on error. Since 2.0. */
POLY_API int poly_shape(PolyCtx *ctx, PolyUOp *x, int64_t *dims, int cap);

/* The number of elements of a node, the greatest if a size is symbolic; -1 on error. Since
 * 2.0. */
POLY_API int64_t poly_numel(PolyCtx *ctx, PolyUOp *x);

/* The data type (PolyDTypeId) of a node; -1 on error. Since 2.0. */
POLY_API int poly_dtype(PolyCtx *ctx, PolyUOp *x);

/* Shape and data type in one call: writes the first cap sizes to dims (a symbolic size as
 * -1, see poly_size_of) and the type to *dtype, and returns the number of dimensions; -1 on
 * error. Since 2.0. */
POLY_API int poly_describe(PolyCtx *ctx, PolyUOp *x, int64_t *dims, int cap, int *dtype);

/* The operation (PolyOps) of a node; -1 on error. Since 2.0. */
POLY_API int poly_uop_op(PolyCtx *ctx, PolyUOp *x);

/* The graph below a node as text, one node a line; malloc'd. Since 2.0. */
POLY_API char *poly_uop_print(PolyCtx *ctx, PolyUOp *x);

/* The graph of root with every from[i] replaced by to[i], for n pairs. Since 1.0. */
POLY_API PolyUOp *poly_uop_substitute(PolyCtx *ctx, PolyUOp *root, PolyUOp **from, PolyUOp **to, int n);

/* ======================================================================== */
/* Symbolic sizes                                                           */
/* ======================================================================== */

/* A variable is an integer with bounds whose value is given when a program runs. A size is
 * what is computed from variables, bound to a value or not: a node of an integer type
 * without a shape. Where a function of nodes takes sizes, bounds, paddings, repeats or
 * indices as int64_t, it also takes POLY_SIZE(node):
 *
 *     PolyUOp *n = poly_bind_var(ctx, poly_define_var(ctx, "n", 1, 8), 3);
 *     int64_t part[1][2] = {{0, POLY_SIZE(n)}};
 *     PolyUOp *y = poly_square(ctx, poly_shrink(ctx, x, part, 1));
 *
 * Programs that differ only in the values of variables are compiled once. A tensor with
 * symbolic sizes has the memory of the largest tensor it can be; only the beginning of each
 * axis is used. If a slice exceeds its axis for some values of the variables, it reads
 * zeros there. */

/* A node as a size. It must not be released before the call that takes it. */
#define POLY_SIZE(node) (-(int64_t)(intptr_t)(node))

/* A variable: a symbolic int32 with inclusive bounds. The same name and bounds give the
 * same node. Since 1.0. */
POLY_API PolyUOp *poly_define_var(PolyCtx *ctx, const char *name, int64_t lo, int64_t hi);

/* A variable with a default value, lo <= value <= hi. Since 1.0. */
POLY_API PolyUOp *poly_bind_var(PolyCtx *ctx, PolyUOp *var, int64_t value);

/* Operations on sizes. Division rounds down, and the remainder has the sign of the divisor. */
typedef enum {
  POLY_SIZE_ADD = 0,
  POLY_SIZE_SUB = 1,
  POLY_SIZE_MUL = 2,
  POLY_SIZE_DIV = 3,
  POLY_SIZE_MOD = 4,
  POLY_SIZE_MIN = 5,
  POLY_SIZE_MAX = 6
} PolySizeOp;

/* a op b for numbers or POLY_SIZEs, in canonical form: equal sizes are one node, and a size
 * without variables is a constant. A divisor that is 0 for some values of its variables is
 * an error. Since 2.0. */
POLY_API PolyUOp *poly_size_op(PolyCtx *ctx, int op, int64_t a, int64_t b);

/* Writes the least and the greatest value of a size to *lo and *hi. Returns 1 and writes
 * *value if the size has a value (a constant, or all its variables are bound), 0 if not, -1
 * on error. All pointers may be NULL. Since 2.0. */
POLY_API int poly_size_info(PolyCtx *ctx, PolyUOp *x, int64_t *lo, int64_t *hi, int64_t *value);

/* The size x with its variables unbound. Since 2.0. */
POLY_API PolyUOp *poly_size_unbind(PolyCtx *ctx, PolyUOp *x);

/* The size of an axis of x as a node, also if it is a number. Since 2.0. */
POLY_API PolyUOp *poly_size_of(PolyCtx *ctx, PolyUOp *x, int axis);

/* The number of variables in a size; -1 on error. Since 2.0. */
POLY_API int poly_size_n_variables(PolyCtx *ctx, PolyUOp *x);

/* Variable i of a size, in the order of their names. Writes the value it is bound to, or
 * INT64_MIN if it is not bound, to *value, which may be NULL. Since 2.0. */
POLY_API PolyUOp *poly_size_variable(PolyCtx *ctx, PolyUOp *x, int i, int64_t *value);

/* The size with n_vars variables bound to new values, which replace earlier ones. Variables
 * that do not occur in the size are ignored. Since 2.0. */
POLY_API PolyUOp *poly_size_bind(PolyCtx *ctx, PolyUOp *x, PolyVarBinding *vars, int n_vars);

/* Writes a size as text ("n*4+1", with values "(n=3)*4+1") and a terminating 0 to out, at
 * most cap bytes; out may be NULL. Returns the length of the whole text; -1 on error. Since
 * 2.0. */
POLY_API int poly_size_text(PolyCtx *ctx, PolyUOp *x, char *out, int cap);

/* A number or a POLY_SIZE as an int32 scalar. Since 2.0. */
POLY_API PolyUOp *poly_size_tensor(PolyCtx *ctx, int64_t size);

/* start, start+step, ... below stop, of any type. All three may be POLY_SIZEs; step is
 * positive. Since 2.0. */
POLY_API PolyUOp *poly_arange_size(PolyCtx *ctx, int dtype, int64_t start, int64_t stop, int64_t step);

/* ======================================================================== */
/* Creation                                                                 */
/* ======================================================================== */

/* A scalar constant of any type. value is converted to it; poly_const_int_by_id keeps all
 * 64 bits (for POLY_DTYPE_UINT64 the bits of a uint64_t). Since 2.0. */
POLY_API PolyUOp *poly_const_by_id(PolyCtx *ctx, int dtype, double value);
POLY_API PolyUOp *poly_const_int_by_id(PolyCtx *ctx, int dtype, int64_t value);

/* A scalar constant whose type follows from x as that of a number in an expression does: a
 * float next to an integer tensor is float32; an integer or bool next to a numeric tensor
 * takes the type of x. An integer that needs more bits than that type has is an error.
 * Since 2.0. */
POLY_API PolyUOp *poly_const_like_float(PolyCtx *ctx, PolyUOp *x, double value);
POLY_API PolyUOp *poly_const_like_int(PolyCtx *ctx, PolyUOp *x, int64_t value);
POLY_API PolyUOp *poly_const_like_bool(PolyCtx *ctx, PolyUOp *x, int value);

/* A new one-dimensional buffer of size elements (>= 0) without memory: each program that
 * uses it binds memory to it. Since 1.0. */
POLY_API PolyUOp *poly_buffer_by_id(PolyCtx *ctx, int64_t size, int dtype);

/* A new buffer of a shape on the caller's memory: programs that read or update the buffer
 * use that memory without a copy. data is aligned to the element, holds nbytes (at least
 * the size of the tensor) and must stay valid until the handle is released or the context
 * destroyed. data may be NULL if there are no elements. Since 2.0. */
POLY_API PolyUOp *poly_buffer_host(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, void *data, size_t nbytes);

/* A new buffer of a shape on memory of the library, with a copy of data, which holds nbytes
 * (exactly the size of the tensor). The memory lives as long as the handle. Since 2.0. */
POLY_API PolyUOp *poly_from_host(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, const void *data,
                                 size_t nbytes);

/* A tensor filled with v: float32; or of any type. Integer types drop the fraction of v; a
 * negative v of an unsigned type wraps around (-1 is the greatest value). Other values
 * outside of the range of the type are errors. Since 1.0, 2.0, 2.0. */
POLY_API PolyUOp *poly_full(PolyCtx *ctx, const int64_t *shape, int ndim, double v);
POLY_API PolyUOp *poly_full_by_id(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double v);
POLY_API PolyUOp *poly_full_int_by_id(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, int64_t v);

/* The vector start, start+step, ... below stop (above stop if step is negative), as float32
 * or any type. step 0 is an error. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_arange(PolyCtx *ctx, double start, double stop, double step);
POLY_API PolyUOp *poly_arange_by_id(PolyCtx *ctx, int dtype, double start, double stop, double step);

/* The vector of steps values at equal distances from start to stop, both included, as
 * float32 or any type. steps 1 gives start, 0 an empty vector. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_linspace(PolyCtx *ctx, double start, double stop, int64_t steps);
POLY_API PolyUOp *poly_linspace_by_id(PolyCtx *ctx, int dtype, double start, double stop, int64_t steps);

/* The (n, n) identity matrix as float32; the (n, m) one of any type. Since 1.0, 2.0. */
POLY_API PolyUOp *poly_eye(PolyCtx *ctx, int64_t n);
POLY_API PolyUOp *poly_eye_by_id(PolyCtx *ctx, int dtype, int64_t n, int64_t m);

/* ======================================================================== */
/* Random numbers                                                           */
/* ======================================================================== */

/* The generator is counter based (threefry 2x32, 20 rounds) and lazy: the same seed and
 * shape give the same bits on every device. */

/* Uniform float32 in [0, 1). Since 1.0. */
POLY_API PolyUOp *poly_rand(PolyCtx *ctx, const int64_t *shape, int ndim, uint64_t seed);

/* Normal float32 with mean 0 and standard deviation 1 (Box-Muller). Since 1.0. */
POLY_API PolyUOp *poly_randn(PolyCtx *ctx, const int64_t *shape, int ndim, uint64_t seed);

/* The same with a tensor as seed, so that one compiled program serves all seeds. seed is a
 * tensor of two uint32 (low word, high word), which gives the same numbers as the functions
 * above, cast to dtype, or of three uint32, a position in the stream of poly_random_take.
 * dtype is a floating type for poly_rand_seeded. Since 2.0. */
POLY_API PolyUOp *poly_rand_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, PolyUOp *seed);
POLY_API PolyUOp *poly_randn_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, PolyUOp *seed);

/* The random stream of the process, for bindings whose random tensors draw from one stream.
 * It starts at a random position. poly_random_seed restarts it. poly_random_take reserves
 * the next `words` words (0 to 2^32) for one tensor and writes the tensor's seed, three
 * uint32, to seed_out. 0 or -1. Keys and counters are those of tinygrad: a tensor of n
 * elements has tinygrad's numbers if it takes
 *
 *   n words (2n for 8-byte types, n/2 for 2-byte types, ...)  rand
 *   n words                                                   dropout, randperm
 *   n words (float64: 2n)                                     uniform
 *   2n words                                                  randn, normal
 *   n words (2n for a range of 2^23 or more)                  integers
 *
 * and multinomial one word for each number it draws (without replacement: for each weight).
 * Since 2.0. */
POLY_API void poly_random_seed(uint64_t seed);
POLY_API int poly_random_take(int64_t words, uint32_t *seed_out);

/* Integers in [low, high) of an integer type. Since 2.0. */
POLY_API PolyUOp *poly_randint_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, int64_t low,
                                      int64_t high, PolyUOp *seed);

/* Numbers uniform in [low, high); normal numbers with a mean and a standard deviation. An
 * integer type needs integer bounds and gives integers in [low, high); normal numbers are
 * rounded towards zero. Since 2.0. */
POLY_API PolyUOp *poly_uniform_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double low, double high,
                                      PolyUOp *seed);
POLY_API PolyUOp *poly_normal_seeded(PolyCtx *ctx, int dtype, const int64_t *shape, int ndim, double mean, double std,
                                     PolyUOp *seed);

/* Initialisation schemes for weights of shape (out, in, ...). fan_in is the product of all
 * sizes but the first. */
typedef enum PolyInit {
  POLY_INIT_SCALED_UNIFORM = 0,  /* uniform in +-1/sqrt(number of elements) */
  POLY_INIT_GLOROT_UNIFORM = 1,  /* uniform in +-sqrt(6/(out + fan_in)) */
  POLY_INIT_KAIMING_UNIFORM = 2, /* uniform in +-sqrt(6/((1 + a^2) fan_in)) */
  POLY_INIT_KAIMING_NORMAL = 3   /* normal, deviation sqrt(2/((1 + a^2) fan_in)) */
} PolyInit;

/* Weights initialised by a PolyInit. a is the negative slope of the rectifier that follows
 * the layer (tinygrad's default: 0.01). Since 2.0. */
POLY_API PolyUOp *poly_init_seeded(PolyCtx *ctx, int scheme, int dtype, const int64_t *shape, int ndim, double a,
                                   PolyUOp *seed);

/* The numbers 0 .. n-1 in random order. Since 2.0. */
POLY_API PolyUOp *poly_randperm_seeded(PolyCtx *ctx, int dtype, int64_t n, PolyUOp *seed);

/* Draws n class numbers with the weights x (..., classes), which are >= 0 and not all 0:
 * int32 of shape (..., n). Without replacement no class is drawn twice. Since 2.0. */
POLY_API PolyUOp *poly_multinomial(PolyCtx *ctx, PolyUOp *x, int64_t n, int replacement, PolyUOp *seed);

/* Sets each element to 0 with probability p, 0 <= p <= 1, and divides the others by 1-p.
 * Since 2.0. */
POLY_API PolyUOp *poly_dropout(PolyCtx *ctx, PolyUOp *x, double p, PolyUOp *seed);

/* ======================================================================== */
/* Elementwise: one operand                                                 */
/* ======================================================================== */

/* Results have the shape of x. Functions of real numbers convert integers and bools to
 * float32 first; their error is a few units in the last place. A NaN element gives NaN.
 * Other functions keep the type of x. All are differentiable. */

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

/* Special functions. The error is one unit in the last place in float32, and 1e-12 of the
 * value in float64. Exception: near their zeros at negative arguments the error of lgamma
 * and digamma in float64 is 2e-15 times the magnitude of the terms that cancel there, 1 +
 * lgamma(|x|) and log(2 + |x|). */
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

/* x where x > 0, alpha*(e^(x/alpha) - 1) elsewhere. Since 2.0. */
POLY_API PolyUOp *poly_celu(PolyCtx *ctx, PolyUOp *x, double alpha);

/* gamma * elu(x, alpha). Since 2.0. */
POLY_API PolyUOp *poly_selu(PolyCtx *ctx, PolyUOp *x, double alpha, double gamma);

/* log(1 + e^(beta*x)) / beta, without overflow; beta != 0. Since 1.0. */
POLY_API PolyUOp *poly_softplus(PolyCtx *ctx, PolyUOp *x, double beta);

/* x clamped to [lo, hi]; an infinite bound has no effect. Both are the same function. Since
 * 1.0. */
POLY_API PolyUOp *poly_clamp(PolyCtx *ctx, PolyUOp *x, double lo, double hi);
POLY_API PolyUOp *poly_hardtanh(PolyCtx *ctx, PolyUOp *x, double lo, double hi);

/* x clamped to [lo, hi] for tensors lo and hi that broadcast with x; either may be NULL.
 * Since 2.0. */
POLY_API PolyUOp *poly_clip(PolyCtx *ctx, PolyUOp *x, PolyUOp *lo, PolyUOp *hi);

/* x converted to another type. Since 1.0. */
POLY_API PolyUOp *poly_cast_by_id(PolyCtx *ctx, PolyUOp *x, int dtype);

/* The bits of x as elements of another type. Between types of different sizes the last axis
 * gets longer or shorter; it must hold whole elements. Since 2.0. */
POLY_API PolyUOp *poly_bitcast_by_id(PolyCtx *ctx, PolyUOp *x, int dtype);

/* x, with no gradient flowing through it. Since 1.0. */
POLY_API PolyUOp *poly_detach(PolyCtx *ctx, PolyUOp *x);

/* x, stored in memory of its own: kernels that use x read that memory instead of computing
 * x themselves. Since 2.0. */
POLY_API PolyUOp *poly_contiguous(PolyCtx *ctx, PolyUOp *x);

/* x; the gradient that flows to x is stored in memory of its own. Since 2.0. */
POLY_API PolyUOp *poly_contiguous_backward(PolyCtx *ctx, PolyUOp *x);

/* ======================================================================== */
/* Elementwise: two and three operands                                      */
/* ======================================================================== */

/* Shapes broadcast, types are promoted. */

/* Binary operations with the semantics of tensors. */
typedef enum PolyBinaryOp {
  POLY_ADD = 0,
  POLY_SUB = 1,
  POLY_MUL = 2,
  POLY_DIV = 3,      /* true division; the result is floating */
  POLY_FLOORDIV = 4, /* rounds towards minus infinity; like MOD, TRUNCDIV and TRUNCMOD not defined for two bools */
  POLY_MOD = 5,      /* a - floordiv(a,b)*b, with the sign of b */
  POLY_POW = 6, /* integers to a floating power are floating, to a negative integer power an error */
  POLY_MAXIMUM = 7, /* NaN if either operand is NaN, like MINIMUM */
  POLY_MINIMUM = 8,
  POLY_LT = 9, /* comparisons give bool */
  POLY_LE = 10,
  POLY_GT = 11,
  POLY_GE = 12,
  POLY_EQ = 13,
  POLY_NE = 14,
  POLY_AND = 15, /* bit operations: integers and bool */
  POLY_OR = 16,
  POLY_XOR = 17,
  POLY_SHL = 18,
  POLY_SHR = 19,
  POLY_TRUNCDIV = 20, /* integers: rounds towards zero */
  POLY_LOGADDEXP = 21, /* log(e^a + e^b), without overflow */
  POLY_COPYSIGN = 22,  /* |a| with the sign of b */
  POLY_TRUNCMOD = 23, /* a - truncdiv(a,b)*b, with the sign of a, as C's % */
  POLY_ATAN2 = 24,    /* the angle of the point (x = b, y = a), in [-pi, pi]; floating */
  POLY_HYPOT = 25     /* sqrt(a^2 + b^2), without overflow; floating */
} PolyBinaryOp;

/* a op b for a PolyBinaryOp. Since 2.0. */
POLY_API PolyUOp *poly_binary(PolyCtx *ctx, int op, PolyUOp *a, PolyUOp *b);

/* x op value, or value op x if reversed is not 0. The number is weak: see
 * poly_const_like_float. If x has an integer type whose range does not include value,
 * comparisons, divisions, maximum and minimum use the exact value (300 is greater than
 * every uint8); sums, products and bit operations take it modulo 2^bits if it has at most
 * that many bits, and fail otherwise. Since 2.0. */
POLY_API PolyUOp *poly_binary_float(PolyCtx *ctx, int op, PolyUOp *x, double value, int reversed);
POLY_API PolyUOp *poly_binary_int(PolyCtx *ctx, int op, PolyUOp *x, int64_t value, int reversed);
POLY_API PolyUOp *poly_binary_bool(PolyCtx *ctx, int op, PolyUOp *x, int value, int reversed);

/* The larger, the smaller element; NaN if either is NaN. Since 1.0. */
POLY_API PolyUOp *poly_maximum(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_minimum(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* x where cond is not 0, y elsewhere. masked_fill(x, mask, value) is poly_where_op(mask,
 * value, x). Since 1.0. */
POLY_API PolyUOp *poly_where_op(PolyCtx *ctx, PolyUOp *cond, PolyUOp *x, PolyUOp *y);

/* start + (end - start) * weight. Since 2.0. */
POLY_API PolyUOp *poly_lerp(PolyCtx *ctx, PolyUOp *start, PolyUOp *end, PolyUOp *weight);

/* bool: |a - b| <= atol + rtol*|b|, or both are the same infinity, or, if equal_nan is not
 * 0, both are NaN. poly_allclose: whether this holds for all elements, a scalar. Since 2.0. */
POLY_API PolyUOp *poly_isclose(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rtol, double atol, int equal_nan);
POLY_API PolyUOp *poly_allclose(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rtol, double atol, int equal_nan);

/* ======================================================================== */
/* Movement                                                                 */
/* ======================================================================== */

/* These functions select, reorder or repeat elements. They move no data by themselves: the
 * kernels that use the result read the elements where they are. The library does not change
 * the arrays dims, perm, pairs and axes. */

/* The same elements, in row-major order, in another shape. One size may be -1 and is
 * inferred. Since 1.0. */
POLY_API PolyUOp *poly_reshape(PolyCtx *ctx, PolyUOp *src, int64_t *dims, int ndim);

/* src repeated along axes of size 1 up to dims. New axes appear in front. -1 keeps the size
 * of an axis. Since 1.0. */
POLY_API PolyUOp *poly_expand(PolyCtx *ctx, PolyUOp *src, int64_t *dims, int ndim);

/* Axis i of the result is axis perm[i] of src. Since 1.0. */
POLY_API PolyUOp *poly_permute(PolyCtx *ctx, PolyUOp *src, int64_t *perm, int ndim);

/* The elements start (included) to end (excluded) of each axis: pairs[i] = {start, end}, 0
 * <= start <= end <= size. Since 1.0. */
POLY_API PolyUOp *poly_shrink(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim);

/* Adds zeros before and after each axis: pairs[i] = {before, after}; a negative number
 * removes elements. poly_pad_value adds value instead, converted as by poly_full_by_id.
 * Since 1.0, 2.0. */
POLY_API PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim);
POLY_API PolyUOp *poly_pad_value(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim, double value);

/* The elements that poly_pad_mode adds, for the axis a b c d: */
typedef enum PolyPadMode {
  POLY_PAD_REFLECT = 0,   /* c b | a b c d | c b; the padding is less than the size of the axis */
  POLY_PAD_REPLICATE = 1, /* a a | a b c d | d d */
  POLY_PAD_CIRCULAR = 2   /* c d | a b c d | a b; the padding is at most the size, not negative */
} PolyPadMode;

/* Pads with elements of src. pairs is as for poly_pad. Since 2.0. */
POLY_API PolyUOp *poly_pad_mode(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim, int mode);

/* src in reverse order along some axes. Since 1.0. */
POLY_API PolyUOp *poly_flip(PolyCtx *ctx, PolyUOp *src, int64_t *axes, int n_axes);

/* src with two axes swapped. Since 2.0. */
POLY_API PolyUOp *poly_transpose(PolyCtx *ctx, PolyUOp *src, int axis0, int axis1);

/* src without an axis of size 1 (an axis of another size is kept); without all axes of size
 * 1. Since 2.0. */
POLY_API PolyUOp *poly_squeeze(PolyCtx *ctx, PolyUOp *src, int axis);
POLY_API PolyUOp *poly_squeeze_all(PolyCtx *ctx, PolyUOp *src);

/* src with a new axis of size 1 at position axis (-1: last). Since 2.0. */
POLY_API PolyUOp *poly_unsqueeze(PolyCtx *ctx, PolyUOp *src, int axis);

/* src with the axes first .. last joined into one. Since 2.0. */
POLY_API PolyUOp *poly_flatten(PolyCtx *ctx, PolyUOp *src, int first, int last);

/* src with one axis split into n axes of the given sizes, of which one may be -1. Since
 * 2.0. */
POLY_API PolyUOp *poly_unflatten(PolyCtx *ctx, PolyUOp *src, int axis, const int64_t *sizes, int n);

/* src repeated counts[i] times along each axis; more counts than axes add axes in front.
 * Since 2.0. */
POLY_API PolyUOp *poly_repeat(PolyCtx *ctx, PolyUOp *src, const int64_t *counts, int n);

/* As an axis: the function applies to the flattened tensor. */
#define POLY_AXIS_FLAT INT32_MIN

/* Each element repeated `repeats` times (>= 0) along an axis: a b becomes a a b b. axis may
 * be POLY_AXIS_FLAT. Since 2.0. */
POLY_API PolyUOp *poly_repeat_interleave(PolyCtx *ctx, PolyUOp *src, int64_t repeats, int axis);

/* Windows of `size` elements along an axis, one every `step` elements: the axis then counts
 * the windows, and a new last axis has their elements. 1 <= size <= the size of the axis,
 * step >= 1. Since 2.0. */
POLY_API PolyUOp *poly_unfold(PolyCtx *ctx, PolyUOp *src, int axis, int64_t size, int64_t step);

/* Elements shifted by shifts[i] positions along axes[i], cyclically; along the flattened
 * tensor if axes is NULL and n is 1. Since 2.0. */
POLY_API PolyUOp *poly_roll(PolyCtx *ctx, PolyUOp *src, const int64_t *shifts, const int64_t *axes, int n);

/* The diagonal of two axes, as the last axis of the result. offset > 0 selects a diagonal
 * above the main one, offset < 0 one below. Since 2.0. */
POLY_API PolyUOp *poly_diagonal(PolyCtx *ctx, PolyUOp *src, int64_t offset, int axis1, int axis2);

/* The (n, n) matrix with the vector src of n elements on its diagonal, 0 elsewhere. Since
 * 2.0. */
POLY_API PolyUOp *poly_diag(PolyCtx *ctx, PolyUOp *src);

/* einops' rearrange: "b (h w) c -> b c h w". Tokens are names, groups in parentheses and 1;
 * "..." stands for any number of axes. names is one string of n_sizes names separated by
 * blanks, whose sizes are given; one size per group may be inferred. An axis 1 may be
 * dropped or added. Since 1.0. */
POLY_API PolyUOp *poly_rearrange(PolyCtx *ctx, const char *formula, PolyUOp *x, const int64_t *shape, int ndim,
                                 const char *names, const int64_t *sizes, int n_sizes, int64_t *shape_out,
                                 int *ndim_out);

/* ======================================================================== */
/* Indexing and joining                                                     */
/* ======================================================================== */

/* The kinds of items of an index. Each item has a kind and three numbers a, b, c. */
typedef enum PolyIndexKind {
  POLY_INDEX_INT = 0,      /* element a; removes the axis */
  POLY_INDEX_SLICE = 1,    /* a:b:c, with POLY_INDEX_NONE for an omitted bound or step */
  POLY_INDEX_NEWAXIS = 2,  /* a new axis of size 1 */
  POLY_INDEX_ELLIPSIS = 3, /* all axes that the other items do not select from */
  POLY_INDEX_TENSOR = 4    /* the elements at the positions in an integer tensor (NumPy's rules) */
} PolyIndexKind;
#define POLY_INDEX_NONE INT64_MIN

/* x[items] for n items: kinds[i] with the numbers args[3*i .. 3*i+2], and tensors[i] for
 * POLY_INDEX_TENSOR (tensors may be NULL if there is none). Slices are clipped as in
 * Python. A POLY_INDEX_INT out of range is an error; a position out of range in a tensor
 * gives 0. Since 2.0. */
POLY_API PolyUOp *poly_index(PolyCtx *ctx, PolyUOp *x, const int32_t *kinds, const int64_t *args, PolyUOp **tensors,
                             int n);

/* x with x[items] replaced by value, which broadcasts to the shape of x[items] and is
 * converted to the type of x. The result is a new node; poly_update can write it to the
 * memory of x. If tensors select an element twice, the last value is written. Since 2.0. */
POLY_API PolyUOp *poly_setitem(PolyCtx *ctx, PolyUOp *x, const int32_t *kinds, const int64_t *args, PolyUOp **tensors,
                               int n, PolyUOp *value);

/* A view of a node base is a chain of poly_reshape, poly_permute, poly_shrink, poly_flip,
 * poly_detach, slices, and poly_bitcast_by_id to a type of the same size: it selects
 * elements of base, each at most once.
 *   poly_is_view    1 if x is a view of base or base itself, 0 if not, -1 on error
 *   poly_set_view   base with the elements that x selects replaced by value, which
 *                   broadcasts to the shape of x and is converted to its type; a new node
 *                   (poly_update can write through a view)
 *   poly_move_view  the same view of another node, which has the shape and type of base
 * Since 2.0. */
POLY_API int poly_is_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base);
POLY_API PolyUOp *poly_set_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, PolyUOp *value);
POLY_API PolyUOp *poly_move_view(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, PolyUOp *other);

/* The strided layout of a view: element (i, j, ...) of x is element offset + i*strides[0] +
 * j*strides[1] + ... of base in row-major order. ndim is that of x. Returns 1; 0 if x is no
 * view of base, has no elements, or has no strided layout (a reshaped transpose); -1 on
 * error. Since 2.0. */
POLY_API int poly_view_layout(PolyCtx *ctx, PolyUOp *x, PolyUOp *base, int64_t *strides_out, int ndim,
                                int64_t *offset_out);

/* The elements of an axis at the positions in a vector of integers, which replaces the
 * axis: shape x[:axis] + (len(index),) + x[axis+1:]. Negative positions count from the end;
 * positions out of range give 0. Since 2.0. */
POLY_API PolyUOp *poly_index_select(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index);

/* out[i][j][k] = x[i][index[i][j][k]][k] for axis 1, and so on. index has as many axes as
 * x. Since 2.0. */
POLY_API PolyUOp *poly_gather_axis(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index);

/* x with out[i][index[i][j][k]][k] = src[i][j][k] for axis 1, and so on. index and src have
 * as many axes as x. No axis of index is longer than that of src, nor, except for axis,
 * than that of x. src has the type of x. Of several values for one element the last is
 * written; positions out of range are skipped. Since 2.0. */
POLY_API PolyUOp *poly_scatter(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index, PolyUOp *src);

/* poly_scatter that reduces all values for one element by POLY_REDUCE_SUM, PROD, MAX, MIN
 * or MEAN, together with the element of x if include_self is not 0. Since 2.0. */
POLY_API PolyUOp *poly_scatter_reduce(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp *index, PolyUOp *src, int op,
                                      int include_self);

/* The elements of x where a bool mask, broadcast to the shape of x, is true, as a vector in
 * row-major order. The shape of a node does not depend on values, so the caller passes its
 * size as count (the sum of the mask); missing elements are 0. Since 2.0. */
POLY_API PolyUOp *poly_masked_select(PolyCtx *ctx, PolyUOp *x, PolyUOp *mask, int64_t count);

/* The indices of the elements that are not 0: int32 of shape (count, ndim of x), one index
 * in each row. count is as for poly_masked_select. Since 2.0. */
POLY_API PolyUOp *poly_nonzero(PolyCtx *ctx, PolyUOp *x, int64_t count);

/* n tensors concatenated along an axis. They may differ in the size of that axis only.
 * Since 2.0. */
POLY_API PolyUOp *poly_cat(PolyCtx *ctx, PolyUOp **xs, int n, int axis);

/* n tensors of one shape joined along a new axis. Since 2.0. */
POLY_API PolyUOp *poly_stack(PolyCtx *ctx, PolyUOp **xs, int n, int axis);

/* The coordinates of an n-dimensional grid: n vectors (or scalars) broadcast along its
 * axes. Writes n tensors of the shape of the grid to out. xy not 0 swaps the first two
 * axes. 0 or -1. Since 2.0. */
POLY_API int poly_meshgrid(PolyCtx *ctx, PolyUOp **xs, int n, int xy, PolyUOp **out);

/* x split along an axis into n parts of the given sizes, whose sum is the size of the axis.
 * Writes the parts to out. 0 or -1. Since 2.0. */
POLY_API int poly_split(PolyCtx *ctx, PolyUOp *x, const int64_t *sizes, int n, int axis, PolyUOp **out);

/* Class numbers as vectors along a new last axis of size classes: 1 at the position of the
 * class, 0 elsewhere. Since 2.0. */
POLY_API PolyUOp *poly_one_hot(PolyCtx *ctx, PolyUOp *x, int64_t classes);

/* The lower (upper) triangle of the last two axes: elements with column - row <= diagonal
 * (>= diagonal), 0 elsewhere. Since 1.0. */
POLY_API PolyUOp *poly_tril(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int diagonal);
POLY_API PolyUOp *poly_triu(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int diagonal);

/* ======================================================================== */
/* Reductions                                                               */
/* ======================================================================== */

/* Reductions of poly_reduce. */
typedef enum PolyReduceOp {
  POLY_REDUCE_SUM = 0,  /* small integers and bools are summed in 32 bits, float16 in float32 and rounded back */
  POLY_REDUCE_PROD = 1,
  POLY_REDUCE_MAX = 2,
  POLY_REDUCE_MIN = 3,
  POLY_REDUCE_MEAN = 4,
  POLY_REDUCE_ANY = 5, /* bool */
  POLY_REDUCE_ALL = 6, /* bool */
  POLY_REDUCE_LOGSUMEXP = 7,
  POLY_REDUCE_ARGMAX = 8, /* int32 (int64 for an axis of 2^31 or more): the position of the first
                           * maximum, or of the first NaN; over one axis or all */
  POLY_REDUCE_ARGMIN = 9,
  POLY_REDUCE_VAR = 10, /* divided by max(count - correction, 0) */
  POLY_REDUCE_STD = 11
} PolyReduceOp;

/* x reduced over n_axes axes (-1: over all). axes NULL with n_axes 0 is an error; axes that
 * are not NULL with n_axes 0 reduce nothing. The axes stay with size 1 if keepdim is not 0
 * and are removed otherwise. correction is for VAR and STD only (1: sample, 0: population).
 * Since 2.0. */
POLY_API PolyUOp *poly_reduce(PolyCtx *ctx, int op, PolyUOp *x, const int64_t *axes, int n_axes, int keepdim,
                              int correction);

/* POLY_REDUCE_SUM or POLY_REDUCE_PROD accumulated in, and with a result of, another data
 * type. Since 2.0. */
POLY_API PolyUOp *poly_reduce_as(PolyCtx *ctx, int op, PolyUOp *x, const int64_t *axes, int n_axes, int keepdim,
                                 int dtype);

/* The running sum, product and log(sum(e^x)) along an axis. Since 2.0. */
POLY_API PolyUOp *poly_cumsum(PolyCtx *ctx, PolyUOp *x, int axis);
POLY_API PolyUOp *poly_cumprod(PolyCtx *ctx, PolyUOp *x, int axis);
POLY_API PolyUOp *poly_logcumsumexp(PolyCtx *ctx, PolyUOp *x, int axis);

/* The running maximum, minimum along an axis to out[0], and the position of its first
 * occurrence, int32, to out[1]. From a NaN on, all are NaN. 0 or -1. Since 2.0. */
POLY_API int poly_cummax(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp **out);
POLY_API int poly_cummin(PolyCtx *ctx, PolyUOp *x, int axis, PolyUOp **out);

/* Sorts x along an axis: the sorted elements to out[0], their positions in x, int32, to
 * out[1]. The sort is stable; NaN is greater than every number. Axes of 16384 elements or
 * more compile more kernels. 0 or -1. Since 2.0. */
POLY_API int poly_sort(PolyCtx *ctx, PolyUOp *x, int axis, int descending, PolyUOp **out);

/* out[1] of poly_sort. Since 2.0. */
POLY_API PolyUOp *poly_argsort(PolyCtx *ctx, PolyUOp *x, int axis, int descending);

/* The k largest (smallest, if largest is 0) elements along an axis, in order, and their
 * positions, int32, to out[0] and out[1]. 0 <= k <= size. 0 or -1. Since 2.0. */
POLY_API int poly_topk(PolyCtx *ctx, PolyUOp *x, int64_t k, int axis, int largest, PolyUOp **out);

/* log(sum(e^x)) over one axis, without overflow. The axis stays with size 1 if keep is not
 * 0. Since 1.0. */
POLY_API PolyUOp *poly_logsumexp(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                 int64_t *shape_out, int *ndim_out);

/* Softmax and its logarithm along an axis. Since 1.0. */
POLY_API PolyUOp *poly_softmax(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis);
POLY_API PolyUOp *poly_log_softmax(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis);

/* ======================================================================== */
/* Normalisation                                                            */
/* ======================================================================== */

/* Layer normalisation: (x - mean) / sqrt(variance + eps) over some axes, then * weight +
 * bias (either may be NULL). Since 2.0. */
POLY_API PolyUOp *poly_layernorm_axes(PolyCtx *ctx, PolyUOp *x, const int64_t *axes, int n_axes, double eps,
                                      PolyUOp *weight, PolyUOp *bias);

/* x / sqrt(mean of x^2 over the last axis + eps) * weight (may be NULL). Since 2.0. */
POLY_API PolyUOp *poly_rmsnorm(PolyCtx *ctx, PolyUOp *x, double eps, PolyUOp *weight);

/* Group normalisation: x (N, C, ...) normalised within each of `groups` groups of channels,
 * then * weight + bias, both of shape (C) (either may be NULL). With as many groups as
 * channels this is instance normalisation. Since 2.0. */
POLY_API PolyUOp *poly_groupnorm(PolyCtx *ctx, PolyUOp *x, int64_t groups, double eps, PolyUOp *weight, PolyUOp *bias);

/* Batch normalisation with given statistics: (x - mean) * invstd * weight + bias, where
 * invstd is 1/sqrt(variance + eps). The parameters have the shape of the axes of x that are
 * listed (n_axes 0: axis 1, the channels); weight and bias may be NULL. Since 2.0. */
POLY_API PolyUOp *poly_batchnorm(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, PolyUOp *mean,
                                 PolyUOp *invstd, const int64_t *axes, int n_axes);

/* The mean and the variance (divided by the count) of each channel (axis 1) of x, to out[0]
 * and out[1]. 0 or -1. Since 2.0. */
POLY_API int poly_batchnorm_stats(PolyCtx *ctx, PolyUOp *x, PolyUOp **out);

/* ======================================================================== */
/* Convolution and pooling                                                  */
/* ======================================================================== */

/* Windows slide over the last n axes of x, the spatial ones. stride, dilation, kernel and
 * the like are arrays of n numbers. padding has 2*n numbers: before and after each axis,
 * first axis first. NULL selects the default: dilation 1, padding 0, stride 1, or for pools
 * the stride of the kernel. An axis of size i has floor((i + padding - dilation*(kernel-1)
 * - 1) / stride) + 1 windows. If ceil_mode is not 0 the quotient is rounded up, but no
 * window begins in the padding at the end (Dumoulin and Visin,
 * https://arxiv.org/abs/1603.07285). */

/* Cross-correlation of x (N, in, ...) with weight (out, in/groups, kernel...), plus bias
 * (out), which may be NULL: (N, out, ...). groups divides in and out; each group of
 * channels has filters of its own. Since 2.0. */
POLY_API PolyUOp *poly_conv(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, int64_t groups,
                            const int64_t *stride, const int64_t *dilation, const int64_t *padding, int n);

/* Transposed convolution, the gradient of poly_conv with respect to its input, of x (N, in,
 * ...) with weight (in, out/groups, kernel...). An axis of size i becomes (i-1)*stride -
 * padding + dilation*(kernel-1) + output_padding + 1 long. Since 2.0. */
POLY_API PolyUOp *poly_conv_transpose(PolyCtx *ctx, PolyUOp *x, PolyUOp *weight, PolyUOp *bias, int64_t groups,
                                      const int64_t *stride, const int64_t *dilation, const int64_t *padding,
                                      const int64_t *output_padding, int n);

/* The mean of each window. If count_include_pad is not 0, padding counts as zeros;
 * otherwise it is not counted. Since 2.0. */
POLY_API PolyUOp *poly_avg_pool(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                const int64_t *dilation, const int64_t *padding, int n, int ceil_mode,
                                int count_include_pad);

/* The maximum of each window; padding counts as minus infinity. Since 2.0. */
POLY_API PolyUOp *poly_max_pool(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                const int64_t *dilation, const int64_t *padding, int n, int ceil_mode);

/* poly_max_pool to out[0], and to out[1] the position of each maximum (the first one) in
 * the flattened last n axes of x, int32. 0 or -1. Since 2.0. */
POLY_API int poly_max_pool_indices(PolyCtx *ctx, PolyUOp *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *dilation, const int64_t *padding, int n, int ceil_mode,
                                   PolyUOp **out);

/* The inverse of poly_max_pool_indices: zeros, with the elements of x at the positions
 * `indices`; elements for one position are added. output_size has the last n sizes of the
 * result; NULL selects the smallest from which the pool gives the shape of x. Since 2.0. */
POLY_API PolyUOp *poly_max_unpool(PolyCtx *ctx, PolyUOp *x, PolyUOp *indices, const int64_t *kernel,
                                  const int64_t *stride, const int64_t *dilation, const int64_t *padding, int n,
                                  const int64_t *output_size);

/* How poly_interpolate computes values between elements. */
typedef enum PolyInterpolation {
  POLY_INTERPOLATE_LINEAR = 0,        /* along every axis */
  POLY_INTERPOLATE_NEAREST = 1,       /* element floor(i * in/out) */
  POLY_INTERPOLATE_NEAREST_EXACT = 2, /* element floor((i + 1/2) * in/out) */
  POLY_INTERPOLATE_CUBIC = 3,         /* cubic convolution along every axis (Keys, 1981) */
  POLY_INTERPOLATE_AREA = 4           /* mean of the elements that a result covers */
} PolyInterpolation;

/* x with its last n axes resized to `size`. For linear and cubic interpolation
 * align_corners keeps the outermost elements in place. Since 2.0. */
POLY_API PolyUOp *poly_interpolate(PolyCtx *ctx, PolyUOp *x, const int64_t *size, int n, int mode, int align_corners);

/* ======================================================================== */
/* Linear algebra                                                           */
/* ======================================================================== */

/* Matrices are the last two axes; leading axes are batches, written as "..." in shapes. */

/* The matrix product over the last axis of a and the last but one of b (the only one of a
 * vector); leading axes broadcast. Two vectors give a scalar. Since 2.0. */
POLY_API PolyUOp *poly_matmul(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* poly_matmul accumulated in, and with a result of, another data type. Since 2.0. */
POLY_API PolyUOp *poly_matmul_as(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, int dtype);

/* x @ w^T + bias for x (..., in), w (out, in) and bias (out), which may be NULL. Since 2.0. */
POLY_API PolyUOp *poly_affine(PolyCtx *ctx, PolyUOp *x, PolyUOp *w, PolyUOp *bias);

/* x @ w + bias for w (in, out); x * w + bias for w of one axis. bias may be NULL. w of
 * shape (out, in) is transposed if only its transpose fits x. Since 2.0. */
POLY_API PolyUOp *poly_dense(PolyCtx *ctx, PolyUOp *x, PolyUOp *w, PolyUOp *bias);

/* Einstein summation of 1 to 8 operands: "ij,jk->ik", one letter per dimension. A letter
 * that is repeated in one operand selects the diagonal. "..." stands for any number of
 * further axes, which broadcast. Without "->" the result has the axes of "...", then every
 * letter that occurs once, in alphabetical order. Axes of "..." that the right side omits
 * are summed. shapes and ndims may be NULL (the nodes' own). Since 1.0. */
POLY_API PolyUOp *poly_einsum(PolyCtx *ctx, const char *formula, PolyUOp **ops, const int64_t **shapes,
                              const int *ndims, int n, int64_t *shape_out, int *ndim_out);

/* The Cholesky factor of symmetric positive definite matrices (..., n, n): the lower one,
 * or the upper one if upper is not 0. Since 1.0. */
POLY_API PolyUOp *poly_cholesky(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int upper);

/* Solves A X = B (A^T X = B if trans_a) for triangular A (..., n, n) and B (..., n) or
 * (..., n, k). Only the lower triangle of A is read, or the upper one if upper is not 0;
 * the diagonal counts as 1 and is not read if unit_diag. Since 1.0. */
POLY_API PolyUOp *poly_triangular_solve(PolyCtx *ctx, PolyUOp *a, const int64_t *a_shape, int a_ndim, PolyUOp *b,
                                        const int64_t *b_shape, int b_ndim, int upper, int trans_a, int unit_diag,
                                        int64_t *shape_out, int *ndim_out);

/* poly_solve: x with a x = b for matrices a (..., n, n) and b of shape (n), (..., n) with
 * the leading axes of a, or (..., n, k), by elimination with partial pivoting. poly_inv:
 * the inverse. Where a is singular the results are infinite or NaN. Since 2.0. */
POLY_API PolyUOp *poly_solve(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_inv(PolyCtx *ctx, PolyUOp *a);

/* The determinant of matrices (..., n, n). Its gradient is NaN where it is 0. poly_slogdet
 * writes its sign to out[0] and the logarithm of its absolute value, which cannot overflow,
 * to out[1]. 0 or -1. Since 2.0. */
POLY_API PolyUOp *poly_det(PolyCtx *ctx, PolyUOp *a);
POLY_API int poly_slogdet(PolyCtx *ctx, PolyUOp *a, PolyUOp **out);

/* QR decomposition a = Q R of matrices (..., m, n): the orthogonal Q (..., m, m) to out[0]
 * and the upper triangular R (..., m, n) to out[1], with LAPACK's signs. 0 or -1. Since
 * 2.0. */
POLY_API int poly_qr(PolyCtx *ctx, PolyUOp *a, PolyUOp **out);

/* Singular value decomposition a = U diag(S) V^T of matrices (..., m, n), k = min(m, n): U
 * (..., m, k) to out[0], the singular values S (..., k) in descending order to out[1], V^T
 * (..., k, n) to out[2]. If full_matrices is not 0, U is (..., m, m) and V^T (..., n, n).
 * Small matrices use Jacobi rotations, larger ones divide and conquer of a bidiagonal form.
 * 0 or -1. Since 2.0. */
POLY_API int poly_svd(PolyCtx *ctx, PolyUOp *a, int full_matrices, PolyUOp **out);

/* Eigendecomposition a = V diag(W) V^T of symmetric matrices (..., n, n): the eigenvalues W
 * (..., n) in ascending order to out[0], the orthonormal eigenvectors, columns of V (...,
 * n, n), to out[1]. Only the lower triangle of a is read, or the upper one if upper is not
 * 0. Small matrices use Jacobi rotations, larger ones divide and conquer. 0 or -1. Since
 * 2.0. */
POLY_API int poly_eigh(PolyCtx *ctx, PolyUOp *a, int upper, PolyUOp **out);

/* Least squares for matrices a (..., m, n) and b of shape (m), (..., m) with the leading
 * axes of a, or (..., m, k). Writes
 *   out[0]  x (..., n) or (..., n, k): of all x that minimise |a x - b| the one of least norm
 *   out[1]  the squared residuals |a x - b|^2, one for each column of b
 *   out[2]  the rank of a, int32
 *   out[3]  the singular values of a
 * Singular values up to rcond times the greatest count as 0; a negative rcond selects the
 * machine epsilon times max(m, n). 0 or -1. Since 2.0. */
POLY_API int poly_lstsq(PolyCtx *ctx, PolyUOp *a, PolyUOp *b, double rcond, PolyUOp **out);

/* Newton-Schulz iteration: matrices are scaled to norm 1 (divided by norm + eps), then
 * `steps` times (0..1000) replaced by the sum over i of params[i] (x x^T)^i x, which drives
 * their singular values towards 1. Since 2.0. */
POLY_API PolyUOp *poly_newton_schulz(PolyCtx *ctx, PolyUOp *a, int steps, const double *params, int n_params,
                                     double eps);

/* Scaled dot-product attention, softmax(scale * q k^T + mask) v, for q (..., L, d), k (...,
 * S, d), v (..., S, e):
 *   mask        is added to the scores; a bool mask selects the pairs that count; may be NULL
 *   causal      not 0: a query sees no later keys (mask must be NULL)
 *   enable_gqa  not 0: several heads of q (axis -3) share one head of k and v
 *   scale       0 selects 1/sqrt(d)
 *   dropout_p   the probability with which weights are dropped, by the random numbers of
 *               seed (see "Random numbers"; may be NULL if dropout_p is 0)
 * Masked pairs may be skipped: whether a NaN or an infinity in a masked position reaches
 * the result is unspecified. Since 2.0. */
POLY_API PolyUOp *poly_attention(PolyCtx *ctx, PolyUOp *q, PolyUOp *k, PolyUOp *v, PolyUOp *mask, int causal,
                                 int enable_gqa, double scale, double dropout_p, PolyUOp *seed);

/* ======================================================================== */
/* Hashes                                                                   */
/* ======================================================================== */

/* The Keccak sponge of FIPS 202 over the bytes of the last axis of x (uint8). rate is the
 * number of bytes per block, suffix the bits that the hash appends to the message: SHA3-224
 * has rate 144 and suffix 6, SHA3-256 136, SHA3-384 104, SHA3-512 72; SHAKE128 168 and 31,
 * SHAKE256 136. uint8 of shape (..., (200 - rate) / 2). Since 2.0. */
POLY_API PolyUOp *poly_keccak(PolyCtx *ctx, PolyUOp *x, int rate, int suffix);

/* A hash of 16 bytes (uint8) of all bytes of x: a tree of SHAKE128 over blocks of 4096
 * bytes; the last chunk of 2^20 bytes is padded with zeros. Since 2.0. */
POLY_API PolyUOp *poly_hash(PolyCtx *ctx, PolyUOp *x);

/* ======================================================================== */
/* Losses                                                                   */
/* ======================================================================== */

/* The reduction of the losses of all elements. */
typedef enum PolyLossReduction {
  POLY_LOSS_MEAN = 0,
  POLY_LOSS_SUM = 1,
  POLY_LOSS_NONE = 2 /* no reduction: a loss for each element */
} PolyLossReduction;

/* Cross entropy -sum(p log softmax(logits)) along an axis of classes. target holds class
 * numbers (the shape of logits without axis) or probabilities (the shape of logits). p is
 * the target mixed with the uniform distribution: (1-s)*p + s/classes for label_smoothing s
 * in [0, 1]. Since 2.0. */
POLY_API PolyUOp *poly_cross_entropy_loss(PolyCtx *ctx, PolyUOp *logits, PolyUOp *target, int axis,
                                          double label_smoothing, int reduction);

/* The same for class numbers and logits with the classes in the last axis. Targets equal to
 * ignore_index are excluded, also from the mean (-1: none is). Since 2.0. */
POLY_API PolyUOp *poly_sparse_cross_entropy_loss(PolyCtx *ctx, PolyUOp *logits, PolyUOp *target, int64_t ignore_index,
                                                 double label_smoothing, int reduction);

/* Negative log likelihood -x[n, target[n]] * weight[target[n]] of log probabilities x (N,
 * C, ...), class numbers target (N, ...) and weight (C), which may be NULL. If use_ignore
 * is not 0, targets equal to ignore_index are excluded. The mean is divided by the sum of
 * the weights. Since 2.0. */
POLY_API PolyUOp *poly_nll_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, PolyUOp *weight, int use_ignore,
                                int64_t ignore_index, int reduction);

/* Losses of d = x - target: squared d^2; absolute |d|; Huber: d^2/2 for |d| <= delta, else
 * delta*(|d| - delta/2), with delta > 0. Shapes broadcast, x is floating. Since 2.0. */
POLY_API PolyUOp *poly_mse_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_l1_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_huber_loss(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, double delta, int reduction);

/* Binary cross entropy -(y log x + (1-y) log(1-x)) of probabilities x and y = target. The
 * second function takes logits (x before the sigmoid) and pos_weight (may be NULL), which
 * scales the first term. Since 2.0. */
POLY_API PolyUOp *poly_binary_cross_entropy(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, int reduction);
POLY_API PolyUOp *poly_binary_cross_entropy_logits(PolyCtx *ctx, PolyUOp *x, PolyUOp *target, PolyUOp *pos_weight,
                                                   int reduction);

/* ======================================================================== */
/* Training                                                                 */
/* ======================================================================== */

/* The computations of optimizers, learning rate schedules and recurrent layers. Each
 * function builds the new state as a graph of the old one. The caller owns the state and
 * replaces all of it in one program (poly_update, poly_compile_update). State is computed
 * in float32, or in float64 for a parameter of float64, and keeps its type. */

/* One step of layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888)
 * of a floating parameter with the gradient g, of its shape:
 *
 *   rate = lr, times tcoef |param| / (|g| + weight_decay |param|) for tcoef != 0
 *   g += weight_decay * param               unless decoupled_decay
 *   g *= rate                               if classic
 *   buffer = momentum * buffer + g          for momentum != 0
 *   g = buffer, or momentum * buffer + g    if nesterov
 *   g = poly_newton_schulz(g, ns_steps)     for n > 0, as a matrix of g's first axis and all
 *                                           others together
 *   param *= 1 - lr * weight_decay          if decoupled_decay
 *   param -= g * rate, or g                 if classic
 *
 * |x| is the root of the sum of squares; a ratio with a norm of 0 counts as 1. tcoef 0 is
 * gradient descent with momentum; with n coefficients and decoupled decay it is Muon
 * (arXiv:2502.16982). lr has one element. buffer may be NULL if momentum is 0. Writes the
 * new param to out[0] and, for momentum != 0, the new buffer to out[1]. 0 or -1. Since 2.0. */
POLY_API int poly_lars(PolyCtx *ctx, PolyUOp *param, PolyUOp *grad, PolyUOp *lr, PolyUOp *buffer, double momentum,
                       double weight_decay, double tcoef, int nesterov, int classic, int decoupled_decay, int ns_steps,
                       const double *ns_coefficients, int n, PolyUOp **out);

/* One step by the moments of the gradient g (You et al., LAMB, arXiv:1904.00962):
 *
 *   g += weight_decay * param                           if coupled_decay
 *   m = b1 * m + (1 - b1) * g,  v = b2 * v + (1 - b2) * g^2
 *   step = m/(1 - b1_t) / (sqrt(v/(1 - b2_t)) + eps)
 *   step += weight_decay * param                        unless coupled_decay
 *   param -= lr * step, times |param| / |step| unless adam
 *
 * With adam this is Adam (arXiv:1412.6980) if coupled_decay, else AdamW (arXiv:1711.05101).
 * lr, b1_t and b2_t have one element; b1_t and b2_t are b1 and b2 to the power of the
 * number of this step, from 1. Writes the new param, m and v to out. 0 or -1. Since 2.0. */
POLY_API int poly_lamb(PolyCtx *ctx, PolyUOp *param, PolyUOp *grad, PolyUOp *lr, PolyUOp *m, PolyUOp *v, PolyUOp *b1_t,
                       PolyUOp *b2_t, double b1, double b2, double eps, double weight_decay, int adam,
                       int coupled_decay, PolyUOp **out);

/* Clips n gradients by their common norm: each is multiplied by min(1, max_norm / (norm +
 * 1e-6)), where norm is the norm of order norm_type (> 0; INFINITY: the greatest absolute
 * value) of all elements of all gradients. Writes norm, a scalar, to out[0] and the clipped
 * gradients to out[1 .. n]. 0 or -1. Since 2.0. */
POLY_API int poly_clip_grad_norm(PolyCtx *ctx, PolyUOp **grads, int n, double max_norm, double norm_type,
                                 PolyUOp **out);

/* Learning rate schedules: the rate as a function of t, the number of steps so far. lr is
 * the rate at the beginning. The comments give the params in order. */
typedef enum PolyRateSchedule {
  POLY_RATE_STEP = 0,            /* step_size, gamma: lr * gamma^floor(t / step_size) */
  POLY_RATE_MULTISTEP = 1,       /* gamma, milestones...: lr * gamma for each milestone <= t */
  POLY_RATE_EXPONENTIAL = 2,     /* gamma: lr * gamma^t */
  POLY_RATE_CONSTANT = 3,        /* factor, total: lr * factor for t < total, then lr */
  POLY_RATE_LINEAR = 4,          /* start, end, total: lr times a factor from start to end, for t from 0 to total */
  POLY_RATE_POLYNOMIAL = 5,      /* total, power: lr * (1 - t/total)^power, 0 for t >= total */
  POLY_RATE_COSINE = 6,          /* total, least: (lr - least) * (1 + cos(pi t/total)) / 2 + least */
  POLY_RATE_COSINE_RESTARTS = 7, /* first, factor, least: cosine in cycles of first, first*factor, ... steps */
  POLY_RATE_WARMUP_COSINE = 8,   /* warmup, decay, least: lr * (t+1)/warmup, then a half cosine down to least */
  POLY_RATE_ONE_CYCLE = 9        /* max, total, rise, linear, divisor, final, three: the rate goes from max/divisor up
                                  * to max in the fraction rise of total steps, and down to max/divisor/final. Phases are
                                  * linear (1) or half cosines (0). If three is 1, the rate first falls to max/divisor in
                                  * as many steps as it rose */
} PolyRateSchedule;

/* The learning rate after t steps, computed in float64; it has the type (at least float32)
 * and the shape of lr. lr and t have one element. Names and conventions are PyTorch's.
 * Since 2.0. */
POLY_API PolyUOp *poly_learning_rate(PolyCtx *ctx, PolyUOp *lr, PolyUOp *t, int schedule, const double *params, int n);

/* Reduce-on-plateau: multiplies lr by factor, in (0, 1), when a metric has not improved for
 * more than patience steps; the next cooldown steps are then not counted. The metric
 * improves if it is less than best (greater, if maximize) by more than threshold, or, if
 * relative, by more than threshold * best. lr is not set below min_lr, and not changed by
 * eps or less. All tensors have one element. Initially best is infinite, and the counters
 * bad and cooling are 0. Writes the new lr, best, bad and cooling to out. 0 or -1. Since
 * 2.0. */
POLY_API int poly_plateau(PolyCtx *ctx, PolyUOp *lr, PolyUOp *metric, PolyUOp *best, PolyUOp *bad, PolyUOp *cooling,
                          int maximize, int relative, double threshold, double factor, double min_lr, double eps,
                          int64_t patience, int64_t cooldown, PolyUOp **out);

/* One step of a long short-term memory (Hochreiter and Schmidhuber, 1997) with the state h
 * and c, (..., H), and the input x, (..., I):
 *
 *   i, f, g, o = the quarters of x w_ih^T + b_ih + h w_hh^T + b_hh
 *   c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
 *
 * w_ih is (4H, I), w_hh (4H, H); the biases (4H) may be NULL. Writes the new h and c to
 * out. 0 or -1. Since 2.0. */
POLY_API int poly_lstm_cell(PolyCtx *ctx, PolyUOp *x, PolyUOp *h, PolyUOp *c, PolyUOp *w_ih, PolyUOp *w_hh,
                            PolyUOp *b_ih, PolyUOp *b_hh, PolyUOp **out);

/* poly_lstm_cell over a sequence x, (T, N, I), or (N, T, I) with batch_first, from the
 * state h and c, (N, H), forwards or in reverse. Writes to out the outputs of all steps,
 * (T, N, H) or (N, T, H) in the order of x, and the last h and c. 0 or -1. Since 2.0. */
POLY_API int poly_lstm(PolyCtx *ctx, PolyUOp *x, PolyUOp *h, PolyUOp *c, PolyUOp *w_ih, PolyUOp *w_hh, PolyUOp *b_ih,
                       PolyUOp *b_hh, int batch_first, int reverse, PolyUOp **out);

/* ======================================================================== */
/* Gradients                                                                */
/* ======================================================================== */

/* A gradient is a graph like any other: it is computed when a program uses it, and can be
 * differentiated again. Second-order gradients are gradients of gradients. */

/* The gradient of the sum of y with respect to wrt, of the shape of wrt; zeros if y does
 * not depend on wrt. NULL if an operation between them has no derivative. Since 1.0. */
POLY_API PolyUOp *poly_grad(PolyCtx *ctx, PolyUOp *y, PolyUOp *wrt);

/* The gradients with respect to n nodes in one pass. seed (of the shape of y) weights the
 * elements of y; NULL means ones. Writes n nodes to out. 0 or -1. Since 1.0. */
POLY_API int poly_grad_many(PolyCtx *ctx, PolyUOp *y, PolyUOp *seed, PolyUOp **wrts, int n, PolyUOp **out);

/* ======================================================================== */
/* Running                                                                  */
/* ======================================================================== */

/* A program is a SINK of STORE and ASSIGN nodes. poly_realize_into and poly_update build it
 * themselves; the other functions of this section take one from the caller.
 *
 * ORDER. Every STORE writes a value from before all assignments. Assignments happen in the
 * order of the SINK's sources: a later assignment that reads an assigned buffer element by
 * element sees the new elements, one that reads it through a reduction the old ones. An
 * ASSIGN node that is used as an operand stands for the new contents. A program in which
 * one kernel would have to read a buffer both before and after an assignment is an error.
 *
 * LIMIT. The buffers of one kernel may take 4 GiB together; more is an error. */

/* Computes n values and writes value i in row-major order and in its own type to data[i].
 * data[i] must have room for poly_numel elements; only poly_update_sized, which is given the
 * sizes, checks that. data[i] must not overlap memory that the values are computed from: use
 * poly_update to replace the contents of a buffer. If leaves is not NULL, leaves[i] receives
 * a new buffer of the value's shape on data[i], as from poly_buffer_host. 0 or -1. Since 2.0. */
POLY_API int poly_realize_into(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves);

/* poly_realize_into that also replaces the contents of n_updates buffers: targets are nodes
 * of poly_buffer_host, or views of them (poly_is_view); updates are their new values. A
 * buffer may have only one target if that is a view. 0 or -1. Since 2.0. */
POLY_API int poly_update(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves, PolyUOp **targets,
                         PolyUOp **updates, int n_updates);

/* poly_update that checks the memory of the caller: data[i] has nbytes[i] bytes, and fewer
 * than value i takes are an error. Without updates (n_updates is 0) it is poly_realize_into.
 * 0 or -1. Since 2.0. */
POLY_API int poly_update_sized(PolyCtx *ctx, PolyUOp **values, void **data, const size_t *nbytes, int n,
                               PolyUOp **leaves, PolyUOp **targets, PolyUOp **updates, int n_updates);

/* poly_copy_from_host replaces the contents of a buffer with memory (of poly_buffer_host,
 * poly_from_host, or a leaf) by nbytes of data, exactly the size of the buffer.
 * poly_copy_to_host writes the elements of x in row-major order to data, which has room for
 * nbytes; if x is not a buffer with memory, it is computed. 0 or -1. Since 2.0. */
POLY_API int poly_copy_from_host(PolyCtx *ctx, PolyUOp *buffer, const void *data, size_t nbytes);
POLY_API int poly_copy_to_host(PolyCtx *ctx, PolyUOp *x, void *data, size_t nbytes);

/* A node that stores value into a buffer: void, a source of a SINK. value is converted to
 * the type of the buffer. It has as many elements as the buffer, or is a scalar, which
 * fills it. A value with a symbolic size writes its part of the buffer, laid out as the
 * largest such shape, and leaves the rest; that counts as an assignment. Since 1.0. */
POLY_API PolyUOp *poly_store_val(PolyCtx *ctx, PolyUOp *buf, PolyUOp *value);

/* A node that replaces the contents of target by value: target is a buffer, a reshaped
 * buffer, or a view of one (poly_is_view). Since 1.0, views since 2.0. */
POLY_API PolyUOp *poly_assign(PolyCtx *ctx, PolyUOp *target, PolyUOp *value);

/* A SINK of one or n STORE and ASSIGN nodes. Since 1.0. */
POLY_API PolyUOp *poly_sink1(PolyCtx *ctx, PolyUOp *store);
POLY_API PolyUOp *poly_sink_n(PolyCtx *ctx, PolyUOp **stores, int n);

/* Runs a SINK and returns when the results are in memory. Every buffer of the graph must
 * have memory, from binds or from poly_buffer_host. Bindings of other buffers are ignored;
 * of two bindings of one buffer the first is used. poly_realize_ex also binds variables,
 * which overrides their defaults (poly_bind_var). 0 or -1. Since 1.0. */
POLY_API int poly_realize(PolyCtx *ctx, PolyUOp *sink, PolyBufferBinding *binds, int n_binds);
POLY_API int poly_realize_ex(PolyCtx *ctx, PolyUOp *sink, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars,
                             int n_vars);

/* ======================================================================== */
/* Jobs                                                                     */
/* ======================================================================== */

/* A job is a program that runs in the background. The jobs of a context run one after the
 * other, in the order in which they were started. Results are the same as without jobs, since
 * calls that run programs on the context, copy memory of its buffers, or destroy it wait
 * for its jobs. Calls that build graphs do not wait. Until a job has ended, the memory that it
 * reads and writes must stay valid and must not be accessed, and handles of buffers on such
 * memory must not be released. */

/* poly_realize_into, poly_update and poly_step_run_ex as jobs: compile if necessary, start
 * the job and return. Leaves are valid at once. NULL on error. Since 2.0. */
POLY_API PolyJob *poly_realize_async(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves);
POLY_API PolyJob *poly_update_async(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **leaves,
                                    PolyUOp **targets, PolyUOp **updates, int n_updates);
POLY_API PolyJob *poly_step_run_async(PolyStep *step, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars,
                                      int n_vars);

/* Waits at most timeout_ms milliseconds for the end of a job (0: does not wait; negative:
 * without a limit). Returns 0 if it has succeeded, -1 if it has failed (poly_last_error
 * gives its error), 1 if it is still running. May be called again. Since 2.0. */
POLY_API int poly_job_wait(PolyJob *job, int64_t timeout_ms);

/* Releases the handle of a job; the job itself continues. NULL and stale handles are
 * ignored. Since 2.0. */
POLY_API void poly_job_release(PolyJob *job);

/* ======================================================================== */
/* Compiled steps                                                           */
/* ======================================================================== */

/* A step is a program that is compiled once and run many times. Its buffers have indices:
 * first the bindable ones (0 .. n_bindable-1), then its temporaries. Two threads must not
 * run one step at the same time. The handle of a step is stale after its context was
 * destroyed. */

/* Compiles a SINK. NULL on error. Since 1.0. */
POLY_API PolyStep *poly_compile_step(PolyCtx *ctx, PolyUOp *sink);

/* Compiles the program of poly_update. NULL on error. Since 2.0. */
POLY_API PolyStep *poly_compile_update(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **targets,
                                       PolyUOp **updates, int n_updates);

/* poly_compile_update that checks the memory of the caller, as poly_update_sized. NULL on
 * error. Since 2.0. */
POLY_API PolyStep *poly_compile_update_sized(PolyCtx *ctx, PolyUOp **values, void **data, const size_t *nbytes, int n,
                                             PolyUOp **targets, PolyUOp **updates, int n_updates);

/* poly_compile_update for a step of which only the n_inputs given buffers, and the targets,
 * change between runs. Reductions and contiguous values that depend on none of them, nor on
 * variables, are computed once, now, and kept with the step. NULL on error. Since 2.0. */
POLY_API PolyStep *poly_compile_update_pruned(PolyCtx *ctx, PolyUOp **values, void **data, int n, PolyUOp **targets,
                                              PolyUOp **updates, int n_updates, PolyUOp **inputs, int n_inputs);

/* A step that computes loss (one element) and its gradients with respect to n_params
 * buffers. Writes the buffer index of the loss to *loss_idx_out and those of the gradients
 * (flat, of the types of the parameters) to grad_idxs_out. NULL on error. Since 1.0. */
POLY_API PolyStep *poly_compile_value_and_grad(PolyCtx *ctx, PolyUOp *loss, PolyUOp **params, int n_params,
                                               int *loss_idx_out, int *grad_idxs_out);

/* Destroys a step. NULL and stale handles are ignored. Since 1.0. */
POLY_API void poly_step_destroy(PolyStep *step);

/* Runs a step. Buffers without a binding use the memory that they were created on
 * (poly_buffer_host). 0 or -1. Since 1.0. */
POLY_API int poly_step_run(PolyStep *step, PolyBufferBinding *binds, int n_binds);
POLY_API int poly_step_run_ex(PolyStep *step, PolyBufferBinding *binds, int n_binds, PolyVarBinding *vars, int n_vars);

/* Runs a step with n > 0 pointers by buffer index; entries that are NULL are skipped. 0 or
 * -1. Since 1.0. */
POLY_API int poly_step_run_indexed(PolyStep *step, void **ptrs, int n);
POLY_API int poly_step_run_indexed_ex(PolyStep *step, void **ptrs, int n, PolyVarBinding *vars, int n_vars);

/* The number of kernels, of temporaries, of bindable buffers and of all buffers; 0 for
 * NULL. Since 1.0. */
POLY_API int poly_step_n_kernels(const PolyStep *step);
POLY_API int poly_step_n_intermediates(const PolyStep *step);
POLY_API int poly_step_n_bindable_buffers(const PolyStep *step);
POLY_API int poly_step_n_buffers(const PolyStep *step);

/* Writes the description of buffer idx to *out. Temporaries share one block of memory of
 * the step: their type is void and their sizes are 0. 0 or -1. Since 1.0. */
POLY_API int poly_step_buffer_info(const PolyStep *step, int idx, PolyStepBufferInfo *out);

/* The index of the buffer of a node (of poly_buffer_host and its like); the index of the
 * buffer to which value i of poly_compile_update is written. -1 on error, also if the step
 * has no such buffer. Since 2.0. */
POLY_API int poly_step_buf_index(const PolyStep *step, PolyUOp *x);
POLY_API int poly_step_value_index(const PolyStep *step, int i);

/* The BUFFER node at a bindable index; NULL at other indices. Since 1.0. */
POLY_API PolyUOp *poly_step_buf_uop(const PolyStep *step, int idx);

/* ======================================================================== */
/* Files of tensors                                                         */
/* ======================================================================== */

/* Formats: safetensors (one file, a folder of shards, or their index
 * model.safetensors.index.json), GGUF (versions 2 and 3), and files of PyTorch's torch.save
 * in each of its formats. Of Python's pickles only the globals of tensors are allowed; any
 * other is an error that names it, and nothing in a file is executed.
 *
 * A file is mapped into memory, so opening it is cheap whatever its size, and data is
 * copied only where stated. Writes to its memory stay in this process; the file is never
 * changed. It must not be truncated while it is open. A damaged or hostile file is an error
 * that names the file, the tensor and the numbers; the library then allocates no more than
 * a small multiple of the size of the file. */

/* Formats. POLY_FILE_AUTO detects the format from the contents. POLY_FILE_RAW is any file,
 * as one tensor of uint8 without a name. */
typedef enum PolyFileFormat {
  POLY_FILE_AUTO = 0,
  POLY_FILE_SAFETENSORS = 1,
  POLY_FILE_GGUF = 2,
  POLY_FILE_TORCH = 3,
  POLY_FILE_RAW = 4
} PolyFileFormat;

/* Opens a file or, for safetensors, a folder or an index of shards. NULL on error. Since
 * 2.0. */
POLY_API PolyFile *poly_file_open(const char *path, int format);

/* Opens a file in memory of len bytes, which are copied. NULL on error. Since 2.0. */
POLY_API PolyFile *poly_file_read(const void *data, int64_t len, int format);

/* Closes a file and frees its memory. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_file_free(PolyFile *file);

/* The format (PolyFileFormat) and the number of tensors; -1 on error. Since 2.0. */
POLY_API int poly_file_format(PolyFile *file);
POLY_API int poly_file_count(PolyFile *file);

/* The name of tensor i, from 0, in the order of the file, and the name of its type in the
 * file ("BF16", "Q4_K"). Valid until poly_file_free. NULL on error. Since 2.0. */
POLY_API const char *poly_file_name(PolyFile *file, int i);
POLY_API const char *poly_file_type(PolyFile *file, int i);

/* Shape and data type of tensor i: writes the first cap sizes to dims and the PolyDTypeId
 * to *dtype (may be NULL), and returns the number of dimensions; -1 on error. For a
 * quantised tensor they are those of its dequantised elements, float32. Since 2.0. */
POLY_API int poly_file_describe(PolyFile *file, int i, int64_t *dims, int cap, int *dtype);

/* The quantisation of tensor i: the number of its type in ggml, 0 if it is not quantised;
 * -1 on error. Since 2.0. */
POLY_API int poly_file_quant(PolyFile *file, int i);

/* The memory of tensor i in row-major order, aligned, and its size in bytes (len_out may be
 * NULL): the file's own memory if the tensor has that layout in the file, else a copy,
 * which is made once. For a quantised tensor, its blocks. The memory is writable and valid
 * until poly_file_free; poly_buffer_host makes a node of it without a copy, and
 * poly_dequantize elements of blocks. NULL on error, and for a tensor without elements,
 * whose size is 0. Since 2.0. */
POLY_API void *poly_file_data(PolyFile *file, int i, int64_t *len_out);

/* What the file contains besides its tensors, as JSON: of safetensors the metadata, an
 * object of strings or null; of GGUF the metadata, an object; of PyTorch the saved object,
 * in which tensors are replaced by their number. Integers have no fraction; other numbers
 * have a fraction or an exponent. A value without a JSON form is an object with one key:
 * {"$float": "nan"}, "inf" or "-inf"; {"$int": "digits"} for more than 53 bits; {"$bytes":
 * base64} for strings that are not UTF-8; {"$tuple": [...]}; {"$tensor": i}; {"$dict":
 * [[key, value], ...]} for keys that are not strings. Valid until poly_file_free. NULL on
 * error. Since 2.0. */
POLY_API const char *poly_file_value(PolyFile *file);

/* Dequantises blocks to n float32 elements. x has the blocks as uint8 of any shape. type is
 * ggml's number: 2 Q4_0, 3 Q4_1, 6 Q5_0, 7 Q5_1, 8 Q8_0, 10 Q2_K, 11 Q3_K, 12 Q4_K, 13
 * Q5_K, 14 Q6_K, 39 MXFP4; or an unquantised type whose bytes x has: 0 F32, 1 F16, 24 I8,
 * 25 I16, 26 I32, 27 I64, 28 F64, 30 BF16. The result is lazy: kernels that use it decode
 * the blocks they read, so weights may stay packed in memory. Since 2.0. */
POLY_API PolyUOp *poly_dequantize(PolyCtx *ctx, PolyUOp *x, int type, int64_t n);

/* A tensor to be written. data is in row-major order. */
typedef struct PolyFileTensor {
  const char *name;
  const void *data;
  const int64_t *shape;
  int32_t ndim;
  int32_t dtype; /* PolyDTypeId */
} PolyFileTensor;

/* Writes n tensors and metadata (a JSON object of strings, may be NULL) as safetensors. The
 * header lists the tensors in the given order; the data begins with the widest types, so
 * that all are aligned. If the tensors have more than max_shard_bytes together (0: no
 * limit), they are split into shards beside path, model-00001-of-00003.safetensors for
 * model.safetensors, with an index model.safetensors.index.json. Each file is replaced as a
 * whole; an open file of that name keeps its contents. Returns the number of files,
 * including the index; -1 on error. Since 2.0. */
POLY_API int poly_safetensors_save(const char *path, const PolyFileTensor *tensors, int n, const char *meta,
                                   int64_t max_shard_bytes);

/* ======================================================================== */
/* Instances                                                                */
/* ======================================================================== */

/* An instance is a complete model: parameters, inputs, outputs, entry points and an
 * optimizer. It has a graph of its own and belongs to no context. It owns the memory of its
 * buffers, all float32 at addresses that do not change until poly_instance_free; the caller
 * may read and write it between calls. Calls on one instance are serialized.
 *
 * A buffer has a name, a shape of at most POLY_MAX_OUT_DIMS dimensions and a role. The
 * entry point "forward" computes the outputs. A model with a loss also has the entry point
 * "loss", which reads the targets and stores one number in the buffer "loss". */

/* The role of a buffer. */
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

/* MODELS FROM JSON. poly_mlp_instance, poly_tabm_instance and poly_nam_instance take a JSON
 * object, json_len bytes long. Keys ignore case; the fraction of a number is dropped. All
 * three have the keys
 *   "loss":       "mse" (the mean of squares over all elements), "cross_entropy" (the mean over the batch of -sum(y *
 *                 log_softmax(output))) or "none" (default)
 *   "batch_size": rows of x, output and y (default 1; less counts as 1)
 *   "seed":       of the parameters, which depend only on seed, name and position (default 42; see
 *                 poly_init_param_kaiming)
 * and the buffers x (batch, in), output (batch, out) and, with a loss, y (batch, out;
 * probabilities for cross_entropy) and loss (1). NULL if the text is not a JSON object, a
 * size is missing or invalid, or a key or the name of an activation or a loss is unknown. */

/* A multi-layer perceptron.
 *   "layers":     [in, ..., out], two sizes or more (required)
 *   "activation": between layers: relu (default), gelu, silu, tanh, sigmoid, none
 *   "bias":       true (default); any other value means none
 * Parameters: layers.L.weight (out, in), and layers.L.bias (out), initially zeros. Since
 * 1.0. */
POLY_API PolyInstance *poly_mlp_instance(const char *json, int json_len);

/* TabM: an ensemble of perceptrons with shared weights.
 *   "layers":     as above
 *   "activation": relu, gelu, silu, none
 *   "n_ensemble": the size k of the ensemble (default 32)
 * A layer computes s * ((r * h) weight^T) + b. Parameters: layers.L.weight (out, in);
 * layers.L.r (k, in) and layers.L.s (k, out), initially ones; layers.L.b (k, out),
 * initially zeros. The output is the mean over the ensemble. Since 1.0. */
POLY_API PolyInstance *poly_tabm_instance(const char *json, int json_len);

/* A neural additive model: an intercept plus the sum of one network per feature.
 *   "n_features":   required
 *   "hidden_sizes": default [64], at most 16
 *   "n_outputs":    default 1
 *   "activation":   exu (default), relu, gelu, silu
 * Parameters: intercept (zeros); for each feature k and layer l features.k.layers.l.weight
 * and .bias, and, for hidden layers with exu, features.k.exu.l.weight and .bias (zeros):
 * exu(h) = relu(exp(weight) * (h - bias)). Since 1.0. */
POLY_API PolyInstance *poly_nam_instance(const char *json, int json_len);

/* A Hugging Face model from config.json and n_weights safetensors files in memory, of
 * weight_lens[i] bytes each, for max_batch rows of max_seq_len tokens (0: as many as the model allows; at
 * most 4096 with rotary positions). Elements of any type are converted to float32.
 * Parameters have the names of the files without the prefix "transformer.", "model." or
 * "bert.". The inputs are x (batch, seq), the token numbers, and positions (1, seq),
 * initially 0, 1, ... The outputs depend on model_type:
 *   gpt2, llama, mistral, qwen2, qwen3: output (batch, seq, vocabulary) are the logits, loss (1) is the sum of their
 *     squares. The tables rope.cos and rope.sin of rotary positions are auxiliary. gpt2 also has arange (seq) and
 *     vocab_arange (vocabulary), initially 0, 1, ...
 *   bert: the inputs token_type (batch, seq), initially 0, and attention_mask (batch, seq), initially 1 (0: padding).
 *     hidden (batch, seq, width) are the hidden states of the tokens; pooled (batch, width) the pooled states of the
 *     rows, if the files have a pooler; output the logits (batch, seq, vocabulary) of masked tokens, if the files have
 *     that head, else the same as hidden.
 * A model with logits has a target y (batch, seq), initially -1: the token that each
 * position should predict (in a text, the next one); positions with a negative number are
 * excluded. The entry point "cross_entropy" stores the mean cross entropy of the other
 * positions in cross_entropy (1): 0 if there are none, NaN if a number is not a token.
 * poly_instance_train_step uses this loss when it is given y. NULL if the configuration is
 * invalid. Files that cannot be read and tensors that do not fit are skipped, and parameters
 * that are missing are zeros: see poly_instance_notes, or use poly_hf_load_as. Since 1.0; before 2.0 only gpt2. */
POLY_API PolyInstance *poly_hf_load(const char *config, int config_len, const uint8_t **weights,
                                    const int64_t *weight_lens, int n_weights, int max_batch, int max_seq_len);

/* poly_hf_load that stores matrices (linear layers and the token table) in another format:
 * dtype is "float32" (as is NULL), "float16", "bfloat16" (rounded) or "int8": q * s with
 * one float32 s per output of a layer (per token of the table), the greatest |w| there /
 * 127, so that no weight changes by more than s / 2. Arithmetic stays in float32. Smaller
 * weights speed up generation, which is bound by reading them. Matrices that are not
 * float32 are not buffers, and such a model can be neither trained nor saved.
 * With strict, a file that cannot be read, a parameter that is missing or has another shape,
 * and a tensor that the model has no parameter for are errors: NULL. Some tensors that files of
 * a family often contain are not errors: attention masks, rotary_emb.inv_freq, position_ids, an
 * output layer that is tied to the token table, bert's next sentence head, and the heads
 * classifier, score, qa_outputs, multiple_choice_head and v_head; a table of positions may be
 * longer than max_seq_len. Without strict such files and tensors are skipped, as by
 * poly_hf_load. Since 2.0. */
POLY_API PolyInstance *poly_hf_load_as(const char *config, int config_len, const uint8_t **weights,
                                       const int64_t *weight_lens, int n_weights, int max_batch, int max_seq_len,
                                       const char *dtype, int strict);

/* poly_hf_load_as of a folder: config.json, and the safetensors files that
 * model.safetensors.index.json names, else model.safetensors, else all safetensors files of
 * the folder, mapped into memory while they are read. NULL also if one of them cannot be
 * read, with strict or without. Since 2.0. */
POLY_API PolyInstance *poly_hf_open(const char *path, int max_batch, int max_seq_len, const char *dtype,
                                    int strict);

/* The tokens that end a text (eos_token_id in generation_config.json of the model's folder,
 * else in its config.json): copies at most room of them to tokens and returns their number;
 * -1 on error. Since 2.0. */
POLY_API int poly_instance_ends(PolyInstance *inst, int32_t *tokens, int room);

/* An instance from the bytes of poly_instance_export_ir and poly_instance_export_weights
 * (NULL, 0: parameters are zeros); from the bytes of poly_instance_save_bundle. The bytes
 * are not used after the call. NULL if they are damaged. Since 1.0. */
POLY_API PolyInstance *poly_instance_from_ir(const uint8_t *ir, int ir_len, const uint8_t *weights, int weights_len);
POLY_API PolyInstance *poly_instance_from_bundle(const uint8_t *data, int len);

/* Frees an instance and its memory. NULL and stale handles are ignored. Since 1.0. */
POLY_API void poly_instance_free(PolyInstance *inst);

/* The model as bytes; malloc'd, with their number in *len_out.
 *   export_ir       the graph; of a loaded instance the bytes that it was loaded from
 *   export_weights  the parameters, a safetensors file; NULL and 0 if there are none
 *   save_bundle     both, the auxiliary data, and, if an optimizer is set, its settings, step
 *                   count and moments, so that training can be resumed
 * NULL on error. Since 1.0. */
POLY_API uint8_t *poly_instance_export_ir(PolyInstance *inst, int *len_out);
POLY_API uint8_t *poly_instance_export_weights(PolyInstance *inst, int *len_out);
POLY_API uint8_t *poly_instance_save_bundle(PolyInstance *inst, int *len_out);

/* Reads parameters from a safetensors file of F32 tensors. Tensors with unknown names or
 * other sizes are skipped (poly_instance_notes lists them). 0; -1 if the bytes are not such
 * a file. Since 1.0. */
POLY_API int poly_instance_import_weights(PolyInstance *inst, const uint8_t *data, int len);

/* The same, but every tensor must fit and every parameter must be present; otherwise
 * nothing is changed. 0 or -1. Since 2.0. */
POLY_API int poly_instance_load_weights(PolyInstance *inst, const uint8_t *data, int len);

/* Warnings of the last read of weights, one line for each tensor that was missing, unknown
 * or of another size; "" if there were none. Valid until the next call of this function on
 * the instance. NULL on error. Since 2.0. */
POLY_API const char *poly_instance_notes(PolyInstance *inst);

/* The parameters, i from 0: their number (0 for NULL); name (valid until
 * poly_instance_free); memory and, in *numel_out (may be NULL), number of elements; number
 * of dimensions, of which the first cap sizes are written. Out of range: NULL, 0. On a device
 * with memory of its own, such as a GPU, parameters stay there between runs. After
 * poly_instance_param_data has returned its memory, a parameter is copied for each run, as the
 * caller may read and write it at any time; poly_instance_readback_param and
 * poly_instance_upload_param copy it once instead. Since 1.0. */
POLY_API int poly_instance_param_count(const PolyInstance *inst);
POLY_API const char *poly_instance_param_name(const PolyInstance *inst, int i);
POLY_API float *poly_instance_param_data(PolyInstance *inst, int i, int64_t *numel_out);
POLY_API int poly_instance_param_shape(const PolyInstance *inst, int i, int64_t *dims_out, int cap);

/* The gradient of a parameter from the last poly_instance_value_and_grad or
 * poly_instance_train_step; NULL before the first. Since 2.0. */
POLY_API float *poly_instance_param_grad(PolyInstance *inst, int i, int64_t *numel_out);

/* The same for all named buffers, parameters first, and their role (PolyBufferRole; -1 out
 * of range). Since 1.0. */
POLY_API int poly_instance_buf_count(const PolyInstance *inst);
POLY_API const char *poly_instance_buf_name(const PolyInstance *inst, int i);
POLY_API int poly_instance_buf_role(const PolyInstance *inst, int i);
POLY_API float *poly_instance_buf_data(PolyInstance *inst, int i, int64_t *numel_out);
POLY_API int poly_instance_buf_shape(const PolyInstance *inst, int i, int64_t *dims_out, int cap);

/* Copies len bytes to the beginning of a parameter or buffer (upload), or from it
 * (readback). len is a multiple of 4, at most the size of the buffer. 0 or -1. Since 1.0. */
POLY_API int poly_instance_upload_param(PolyInstance *inst, int i, const void *src, size_t len);
POLY_API int poly_instance_upload_buf(PolyInstance *inst, int i, const void *src, size_t len);
POLY_API int poly_instance_readback_param(PolyInstance *inst, int i, void *dst, size_t len);
POLY_API int poly_instance_readback_buf(PolyInstance *inst, int i, void *dst, size_t len);

/* Sets the device (PolyDeviceId) on which an instance runs. 0, or -1 if it is not
 * available. Since 1.0. */
POLY_API int poly_instance_set_device(PolyInstance *inst, int device);

/* Sets the optimizer (PolyOptimizer) and resets its step count and moments. SGD uses lr;
 * Adam also beta1, beta2 and eps; AdamW also weight_decay, which multiplies parameters by 1
 * - lr * weight_decay before each step. 0 or -1. Since 1.0. */
POLY_API int poly_instance_set_optimizer(PolyInstance *inst, int kind, float lr, float beta1, float beta2, float eps,
                                         float weight_decay);

/* Runs the entry point "forward", or another one, on named arrays, which are copied to the
 * inputs and targets of these names; each holds as many floats as the buffer. Other names
 * are ignored. Inputs that are not given keep their last values, initially zeros. 0 or -1.
 * Since 1.0. */
POLY_API int poly_instance_forward(PolyInstance *inst, PolyIOBinding *inputs, int n_inputs);
POLY_API int poly_instance_call(PolyInstance *inst, const char *entry, PolyIOBinding *io, int n_io);

/* Computes loss and gradients and takes one step of the optimizer. *loss_out (may be NULL)
 * and the buffer "loss" receive the loss before the step; the buffer "output" is not
 * changed. A language model that is given y uses the entry point "cross_entropy" (see
 * poly_hf_load). 0 or -1; it is an error if the instance has no optimizer or no loss. Since
 * 1.0. */
POLY_API int poly_instance_train_step(PolyInstance *inst, PolyIOBinding *io, int n_io, float *loss_out);

/* Computes the loss and the gradients of an entry point that stores one number. Parameters
 * do not change; poly_instance_param_grad returns the gradients. 0 or -1. Since 1.0. */
POLY_API int poly_instance_value_and_grad(PolyInstance *inst, const char *entry, PolyIOBinding *io, int n_io,
                                          float *loss_out);

/* ======================================================================== */
/* Generating text                                                          */
/* ======================================================================== */

/* A generator continues rows of tokens with a causal language model. It caches the keys and
 * values of earlier tokens, so each further token costs one pass over the weights, by a
 * program that is compiled once for all positions.
 *
 *     PolyGenerator *gen = poly_generator_new(inst, 1);
 *     int32_t prompt[3] = {464, 2068, 7586}, n = 3, token;
 *     poly_generator_sampling(gen, 0.8, 40, 0.95, 1234);
 *     poly_generator_feed(gen, prompt, &n, 1);
 *     while (poly_generator_next(gen, &token, 1) == 0 && token != 50256)
 *         ...
 *     poly_generator_free(gen);
 */

/* Creates a generator of rows texts; 0: as many as the instance has rows. Besides models of
 * poly_hf_load it accepts any model with an input x (rows, tokens) and an entry point
 * forward with an output "output" (rows, tokens, vocabulary), such as a GPT-2 from a
 * bundle; there each token costs a run over all tokens, and rows is limited to those of the
 * instance. The instance must not be freed before the generator. Since 2.0. */
POLY_API PolyGenerator *poly_generator_new(PolyInstance *inst, int rows);

/* Frees a generator and its memory. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_generator_free(PolyGenerator *gen);

/* The number of texts; the size of the vocabulary; the maximal length of a text in tokens.
 * -1 on error. Since 2.0. */
POLY_API int64_t poly_generator_rows(PolyGenerator *gen);
POLY_API int64_t poly_generator_vocab(PolyGenerator *gen);
POLY_API int64_t poly_generator_room(PolyGenerator *gen);

/* Sets how tokens are drawn; by default the most likely one is taken. temperature divides
 * the logits; 0 takes the most likely token. top_k > 0 draws from the k most likely tokens,
 * top_p < 1 from the smallest set of most likely tokens whose probabilities sum to at least
 * p. Each row has a random stream of its own, which depends on seed and restarts here and
 * at poly_generator_reset; it is the same on all machines. 0 or -1. Since 2.0. */
POLY_API int poly_generator_sampling(PolyGenerator *gen, double temperature, int top_k, double top_p, uint64_t seed);

/* Appends lengths[i] tokens to text i; tokens holds those of all texts, one after the
 * other. The lengths may differ only at the beginning or after poly_generator_reset. A
 * model for at most T tokens sees the last T of each text; once a text is longer, each call
 * costs as much as T tokens. 0 or -1. Since 2.0. */
POLY_API int poly_generator_feed(PolyGenerator *gen, const int32_t *tokens, const int32_t *lengths, int rows);

/* Sets the n tokens that end a text; initially there are none. A text that has ended is
 * continued with the token that ended it. 0 or -1. Since 2.0. */
POLY_API int poly_generator_ends(PolyGenerator *gen, const int32_t *tokens, int n);

/* Draws the next token of each text, appends it, and writes it to tokens, one for each of
 * the rows. 1 if all texts have ended (see poly_generator_ends), 0 if not, -1 on error.
 * Since 2.0. */
POLY_API int poly_generator_next(PolyGenerator *gen, int32_t *tokens, int rows);

/* The logits (rows, vocab) of the next tokens, and their number in *numel_out. The pointer
 * is valid until poly_generator_free; each call overwrites the values. NULL on error. Since
 * 2.0. */
POLY_API const float *poly_generator_logits(PolyGenerator *gen, int64_t *numel_out);

/* Removes all tokens and keeps the settings of poly_generator_sampling and
 * poly_generator_ends. 0 or -1. Since 2.0. */
POLY_API int poly_generator_reset(PolyGenerator *gen);

/* ======================================================================== */
/* Tokens of texts                                                          */
/* ======================================================================== */

/* A tokenizer encodes texts (UTF-8, which may contain zeros) as tokens, numbers from 0, and
 * decodes tokens: byte pair encoding by ranks (tiktoken, CLIP), SentencePiece's models
 * (unigram and BPE), tokenizer.json of Hugging Face (all normalizers, pre-tokenizers, models,
 * post-processors and decoders), and the tokenizers in GGUF files (models gpt2 and llama). A
 * damaged file is an error that says where. Any number of threads may use one tokenizer. */

/* Reads a tokenizer from len bytes. name says what they are:
 *   NULL or ""      a tokenizer.json, a .model of SentencePiece, a GGUF file or its metadata
 *                   as JSON, detected by the contents
 *   "gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base",
 *   "o200k_harmony" the ranks of tiktoken's vocabulary: lines of bytes in base 64 and a rank.
 *                   gpt2, p50k_edit and o200k_harmony share the files of r50k_base, p50k_base
 *                   and o200k_base
 *   "clip"          the merges of CLIP
 *   a JSON object   {"pattern": expression, "special": {text: number}}: ranks of a vocabulary
 *                   of the caller's own; the regular expression splits texts into words, in
 *                   tiktoken's syntax without backreferences
 * Bytes compressed by gzip are decompressed first. NULL on error. Since 2.0. */
POLY_API PolyTokenizer *poly_tokenizer_new(const void *file, int64_t len, const char *name);

/* poly_tokenizer_new of a file, or of a folder with tokenizer.json or tokenizer.model. NULL
 * on error. Since 2.0. */
POLY_API PolyTokenizer *poly_tokenizer_open(const char *path, const char *name);

/* The URL of a vocabulary file. The library does not download it: the caller does, and passes
 * its contents to poly_tokenizer_new. name is a vocabulary of poly_tokenizer_new; "owner/name":
 * the tokenizer.json of a model on the Hugging Face Hub; "owner/name/file": another file of the
 * model; or a URL, which is returned unchanged. malloc'd, zero-terminated, with its length in
 * *len_out unless that is NULL. NULL on error. Since 2.0. */
POLY_API uint8_t *poly_tokenizer_source(const char *name, int64_t *len_out);

/* Frees a tokenizer; its streams stay valid. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_tokenizer_free(PolyTokenizer *tok);

/* Flags of encoding. SPECIAL: adds the special tokens that the model expects around each text.
 * PAIRS: texts come in pairs, and each pair is encoded as one row (BERT's two segments). */
enum { POLY_ENCODE_SPECIAL = 1, POLY_ENCODE_PAIRS = 2 };

/* Encodes n texts, stored one after another in texts, of lengths[i] bytes each; threads
 * share the work.
 * allowed says how the text of a special token is encoded: NULL or "all": as that token;
 * "none": as ordinary text; "refuse": it is an error; a JSON list: the texts in the list as
 * their tokens, others as ordinary text. (Added tokens of a tokenizer.json that are not
 * special are always tokens.) It may also be a JSON object {"allowed": one of these,
 * "truncation": ..., "padding": ...}, with the objects of a tokenizer.json, or true for those
 * of the tokenizer's own file: truncation {"max_length": 512, "strategy": "LongestFirst",
 * "OnlyFirst" or "OnlySecond", "direction": "Right" or "Left"} (tokens that are cut off are
 * dropped), padding {"strategy": "BatchLongest" or {"Fixed": 512}, "direction": "Right" or
 * "Left", "pad_to_multiple_of": 8, "pad_id": 0}. The default is neither.
 * Bytes that are not UTF-8 count as U+FFFD. Returns a malloc'd array of the tokens of all
 * texts, one after another, and writes the number of tokens of each text, or each pair, to
 * counts; NULL on error. Since 2.0. */
POLY_API int32_t *poly_tokenizer_encode(PolyTokenizer *tok, const void *texts, const int64_t *lengths, int n, int flags,
                                        const char *allowed, int64_t *counts);

/* Flags of decoding. SPECIAL: keeps special tokens. BYTES, for tiktoken's vocabularies: keeps
 * bytes that are not UTF-8 instead of replacing them by U+FFFD. */
enum { POLY_DECODE_SPECIAL = 1, POLY_DECODE_BYTES = 2 };

/* The text of n tokens: malloc'd, zero-terminated, with its length in *len_out. NULL on
 * error, also for a number that is not a token. Since 2.0. */
POLY_API uint8_t *poly_tokenizer_decode(PolyTokenizer *tok, const int32_t *tokens, int64_t n, int flags,
                                        int64_t *len_out);

/* The size of the vocabulary. -1 on error. Since 2.0. */
POLY_API int64_t poly_tokenizer_size(PolyTokenizer *tok);

/* The token whose text in the vocabulary is the given one, of len bytes. -1 on error, also if
 * there is none. Since 2.0. */
POLY_API int64_t poly_tokenizer_id(PolyTokenizer *tok, const void *text, int64_t len);

/* The text of a token in the vocabulary (bytes in tiktoken's): malloc'd, zero-terminated,
 * with its length in *len_out. NULL on error, also for a number that is not a token. Since
 * 2.0. */
POLY_API uint8_t *poly_tokenizer_token(PolyTokenizer *tok, int64_t token, int64_t *len_out);

/* The special tokens as a JSON object {text: number}: malloc'd, zero-terminated, with its
 * length in *len_out. NULL on error. Since 2.0. */
POLY_API uint8_t *poly_tokenizer_special(PolyTokenizer *tok, int64_t *len_out);

/* Creates an incremental decoder for the tokens that follow the n tokens in before, whose text
 * is not returned again. A token may be a part of a character, and its text may depend on the
 * tokens before it; the stream returns complete characters only. flags: 0 or
 * POLY_DECODE_SPECIAL. NULL on error. Since 2.0. */
POLY_API PolyTextStream *poly_text_stream_new(PolyTokenizer *tok, const int32_t *before, int64_t n, int flags);

/* Adds n tokens and returns the new text: malloc'd, zero-terminated, with its length in
 * *len_out. The bytes of an incomplete character are held back until it is complete; n = 0
 * returns them as U+FFFD. NULL on error. Since 2.0. */
POLY_API uint8_t *poly_text_stream_push(PolyTextStream *stream, const int32_t *tokens, int64_t n, int64_t *len_out);

/* Frees a stream. NULL and stale handles are ignored. Since 2.0. */
POLY_API void poly_text_stream_free(PolyTextStream *stream);

/* ======================================================================== */
/* Models as nodes                                                          */
/* ======================================================================== */

/* A PolyModel is a function from nodes to nodes with parameters. It is created from a
 * configuration, belongs to a context and ends with it. (An instance is a whole program
 * with memory and training of its own: see section "Instances".)
 *
 *   kind   inputs                                       output
 *   mlp    x (batch, in), any batch                     (batch, out)
 *   tabm   x (batch, in)                                (batch, out)
 *   nam    x (batch, n_features)                        (batch, n_outputs)
 *   gpt2   tokens (batch, n <= n_positions) and         logits (batch, n, vocab_size)
 *          optionally positions (1, n), else 0, 1, ...
 *
 * The keys of a configuration are those of the instances of the same kind; for gpt2 those
 * of config.json (vocab_size, n_embd, n_head, n_layer, n_positions or max_seq_len,
 * layer_norm_epsilon or norm_eps). Parameters have the names and initial values of the
 * instances; those of gpt2 are zeros. */

/* A configuration, an object with keys that ignore case: empty, or from a JSON text of len
 * bytes (NULL if that is not an object). Models do not use it after their creation.
 * poly_model_config_free ignores NULL and stale handles. Since 1.0. */
POLY_API PolyModelConfig *poly_model_config_new(void);
POLY_API PolyModelConfig *poly_model_config_from_json(const char *json, int len);
POLY_API void poly_model_config_free(PolyModelConfig *config);

/* Sets the value of a key. After an error poly_last_error is not "". Since 1.0; strings and
 * lists (such as "layers") since 2.0. */
POLY_API void poly_model_config_set_int(PolyModelConfig *config, const char *key, int value);
POLY_API void poly_model_config_set_float(PolyModelConfig *config, const char *key, float value);
POLY_API void poly_model_config_set_string(PolyModelConfig *config, const char *key, const char *value);
POLY_API void poly_model_config_set_ints(PolyModelConfig *config, const char *key, const int64_t *values, int n);

/* The value of a key; missing if there is none of that type, and on error. Numbers are
 * converted to int or float. Strings belong to the configuration. Since 1.0. */
POLY_API int poly_model_config_get_int(const PolyModelConfig *config, const char *key, int missing);
POLY_API float poly_model_config_get_float(const PolyModelConfig *config, const char *key, float missing);
POLY_API const char *poly_model_config_get_string(const PolyModelConfig *config, const char *key, const char *missing);

/* A constructor of models. It may call the library, including poly_model_create. */
typedef PolyModel *(*PolyModelCreateFn)(PolyCtx *ctx, PolyModelConfig *config);

/* The function of a model of poly_model_new: returns a malloc'd array of *n_out output
 * nodes (n_out is not NULL), or NULL on error. It may call the library. */
typedef PolyUOp **(*PolyModelForwardFn)(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out);

/* Called when a model has ended. */
typedef void (*PolyModelReleaseFn)(void *user);

/* Registers the constructor of a kind for the whole process. It takes precedence over a
 * kind of the library with that name. NULL removes it. Since 1.0. */
POLY_API void poly_model_register(const char *kind, PolyModelCreateFn create);

/* Creates a model of a kind; config may be NULL: no keys. NULL on error. Since 1.0. */
POLY_API PolyModel *poly_model_create(PolyCtx *ctx, const char *kind, PolyModelConfig *config);

/* For constructors. poly_model_new creates a model that calls forward with user; release
 * (may be NULL) is called with user when the model ends. poly_model_add_parameter adds a
 * node of the context as a parameter, to which the model holds a reference; 0 or -1. Since
 * 2.0. */
POLY_API PolyModel *poly_model_new(PolyCtx *ctx, PolyModelForwardFn forward, void *user, PolyModelReleaseFn release);
POLY_API int poly_model_add_parameter(PolyModel *model, const char *name, PolyUOp *node);

/* Frees a model and the memory of its parameters. NULL and stale handles are ignored. Since
 * 1.0. */
POLY_API void poly_model_free(PolyModel *model);

/* The outputs of a model for n input nodes: a malloc'd array of *n_out nodes, each with a
 * reference of the caller. NULL and 0 on error. Since 1.0. */
POLY_API PolyUOp **poly_model_forward(PolyModel *model, PolyUOp **inputs, int n, int *n_out);

/* The node of a parameter, for gradients with respect to it and updates of it (poly_grad,
 * poly_update). NULL if there is none of that name. Since 1.0. */
POLY_API PolyUOp *poly_model_parameter(PolyModel *model, const char *name);

/* The number of parameters, -1 on error; the name of parameter i, valid until the model
 * ends, NULL out of range; the float32 memory of a parameter, at a fixed address until
 * then, and its number of elements in *numel_out (may be NULL), NULL on error. Since 2.0. */
POLY_API int poly_model_parameter_count(PolyModel *model);
POLY_API const char *poly_model_parameter_name(PolyModel *model, int i);
POLY_API float *poly_model_parameter_data(PolyModel *model, const char *name, int64_t *numel_out);

/* ======================================================================== */
/* Files of models                                                          */
/* ======================================================================== */

/* The parts of saved instances. A bundle is the text "POLYBNDL" and sections: 1 the graph,
 * 2 the weights (safetensors), 3 metadata of the user (JSON), 4 the state of the optimizer
 * (safetensors; readers that do not know it skip it). All numbers are little-endian. */

/* The sections of a bundle, as pointers into its bytes; NULL and 0 for missing ones. */
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

/* A bundle of a graph, weights and metadata (the latter two may be NULL); malloc'd, with
 * its length in *len_out. NULL without a graph. Since 1.0. */
POLY_API uint8_t *poly_bundle_encode(const uint8_t *ir, int ir_len, const uint8_t *weights, int weights_len,
                                     const char *meta, int *len_out);

/* Finds the sections of a bundle. 0, or -1 if the bytes are damaged or have no graph. Since
 * 1.0. */
POLY_API int poly_bundle_decode(const uint8_t *data, int len, PolyBundleSections *out);

/* The types of tensors in safetensors files. */
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
  POLY_SAFETENSOR_F8_E5M2 = 14,
  POLY_SAFETENSOR_C64 = 15 /* complex64 */
} PolySafetensorDType;

/* A float32 tensor to be written. */
typedef struct PolySafetensorEntry {
  const char *name;
  const float *data;
  int64_t *shape;
  int32_t ndim;
} PolySafetensorEntry;

/* A tensor that was read: name is malloc'd, data points into the file's bytes. */
typedef struct PolySafetensorView {
  char *name;
  const float *data;
  int64_t shape[POLY_MAX_OUT_DIMS];
  int32_t ndim;
  int64_t numel;
} PolySafetensorView;

/* The same for tensors of any type. */
typedef struct PolySafetensorViewEx {
  char *name;
  const void *data;
  int64_t shape[POLY_MAX_OUT_DIMS];
  int32_t ndim;
  int64_t numel;
  int32_t dtype; /* PolySafetensorDType */
} PolySafetensorViewEx;

/* The size of an element of a PolySafetensorDType in bytes; -1 if there is no such type.
 * Since 1.0. */
POLY_API int poly_safetensor_dtype_size(int dtype);

/* A safetensors file of n tensors, sorted by name, and metadata (a JSON object of strings,
 * may be NULL); malloc'd, with its length in *len_out. poly_safetensors_save writes files
 * of all types. Since 1.0. */
POLY_API uint8_t *poly_safetensors_encode(const PolySafetensorEntry *entries, int n, const char *meta, int *len_out);

/* The tensors of a safetensors file in memory, in the order of their data, and its metadata
 * as JSON (metadata_out may be NULL; NULL if there is none). poly_safetensors_decode reads
 * F32 only, poly_safetensors_decode_ex all types; poly_file_open maps files instead. The
 * caller frees the array, each name and the metadata. NULL on error; a file without tensors
 * gives an array that is not NULL. Since 1.0. */
POLY_API PolySafetensorView *poly_safetensors_decode(const uint8_t *data, int len, int *n_out, char **metadata_out);
POLY_API PolySafetensorViewEx *poly_safetensors_decode_ex(const uint8_t *data, int64_t len, int *n_out,
                                                          char **metadata_out);

/* The elements of a tensor as float32; malloc'd. Since 1.0. */
POLY_API float *poly_safetensors_to_f32(const PolySafetensorViewEx *view);

/* Fills n floats with uniform numbers in +-sqrt(6 / fan_in), which depend only on seed,
 * name and position: the initial parameters of instances. Since 1.0. */
POLY_API void poly_init_param_kaiming(uint64_t seed, const char *name, float *data, int64_t n, int64_t fan_in);

/* The sizes of a GPT-2 model. */
typedef struct GPT2Config {
  int32_t vocab_size;
  int32_t n_embd;
  int32_t n_head;
  int32_t n_layer;
  int32_t max_seq_len;
  float norm_eps;
} GPT2Config;

/* A GPT-2 instance as from poly_hf_load, with parameters that are all 0. NULL if the
 * configuration is invalid. Since 1.0. */
POLY_API PolyInstance *poly_gpt2_build(const GPT2Config *config, int batch);

/* ======================================================================== */
/* Graphs as files                                                          */
/* ======================================================================== */

/* The graph of an instance (format poly.ir.uops@1) as nodes of a context: named buffers and
 * programs by name. */

/* A named buffer. */
typedef struct PolyIrBuffer {
  const char *name;
  int32_t role;     /* PolyBufferRole */
  int32_t ndim;     /* at most POLY_MAX_OUT_DIMS */
  int64_t shape[POLY_MAX_OUT_DIMS];
  PolyUOp *buffer;  /* its BUFFER, float32, of as many elements as shape; NULL if no program uses it */
} PolyIrBuffer;

/* A named program: a SINK. */
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

/* The bytes of a graph; malloc'd, with their number in *len_out. Every buffer that an entry
 * uses must have a name. Loops and branches (poly_expr_scan) are written without their
 * derivatives. A loop that computes with its counter, as matrix decompositions do, is an
 * error. NULL on error. Since 1.0. */
POLY_API uint8_t *poly_ir_export(const PolyIrSpec *spec, int *len_out);

/* Reads a graph into a new context and fills *out. poly_ir_spec_free frees its names and
 * arrays, poly_ctx_destroy the context. Buffers get new numbers. 0, or -1 if the bytes are
 * damaged; *out is then all zero. Since 1.0. */
POLY_API int poly_ir_import(const uint8_t *data, int len, PolyIrSpec *out);

/* Frees the names and arrays of poly_ir_import, not the context, and sets them to zero.
 * NULL is ignored. Since 1.0. */
POLY_API void poly_ir_spec_free(PolyIrSpec *spec);

/* ======================================================================== */
/* Views of graphs and kernels                                              */
/* ======================================================================== */

/* Texts for people and tools that show what is computed, and how. All are malloc'd. */

/* The formats. */
typedef enum PolyView {
  POLY_VIEW_TEXT = 0, /* of a graph: a tree; of kernels: tables */
  POLY_VIEW_JSON = 1, /* records */
  POLY_VIEW_DOT = 2,  /* the language of Graphviz */
  POLY_VIEW_SVG = 3,  /* a picture, of at most 3000 nodes */
  POLY_VIEW_CODE = 4  /* of a graph: its nodes, one a line; of kernels: their graphs and their code */
} PolyView;

/* The graph of n nodes. All formats but POLY_VIEW_CODE omit devices, the identities of
 * buffers and the sizes of movements, and show a broadcast number as one node. JSON:
 * {"nodes": [{"name", "detail", "kind", "sources": [numbers]}], "roots": [numbers]},
 * sources before their users. NULL on error. Since 2.0. */
POLY_API char *poly_view_graph(PolyCtx *ctx, PolyUOp **roots, int n, int view);

/* The kernels that poly_update runs for the same values, targets and updates on the device
 * of the context: their buffers, estimated work and code. Compiles them again, runs them
 * runs + 1 times (runs at most 1000000) and times each run but the first; with runs 0
 * nothing runs. Memory is unchanged afterwards: values are discarded, targets get their old
 * contents back. DOT and SVG draw kernels and buffers. JSON:
 *   {"device",
 *    "kernels": [{"name", "reads": [buffers], "writes": [buffers], "flops", "bytes",
 *                 "seconds" (the fastest run), "mean_seconds", "graph", "language", "code"}],
 *    "buffers": [{"role": "input", "output", "updated" or "temporary", "dtype", "shape", "bytes"}],
 *    "copies": [{"from", "to", "bytes"}],
 *    "temporary_bytes", "compile_seconds", "runs", "text": the view as text}
 * NULL on error. Since 2.0. */
POLY_API char *poly_view_kernels(PolyCtx *ctx, PolyUOp **values, int n, PolyUOp **targets, PolyUOp **updates,
                                 int n_updates, int runs, int view);

/* ======================================================================== */
/* Schedules and plans                                                      */
/* ======================================================================== */

/* The stages of a program: a SINK is cut into kernels (a schedule, the same for all
 * devices); a schedule is compiled for a device (a plan); a plan runs on memory.
 * poly_realize and poly_compile_step do all three. Schedules and plans belong to a context
 * and are stale after it was destroyed. */

/* How a program is cut into kernels. */
typedef enum PolyCompileMode {
  POLY_COMPILE_CALL = 0 /* as one call of the whole program */
} PolyCompileMode;

/* The SINK of the last kernel of a program, for inspection. NULL on error, and for a
 * program that only copies buffers. Since 1.0. */
POLY_API PolyUOp *poly_schedule(PolyCtx *ctx, PolyUOp *sink);

/* A program cut into kernels. poly_schedule_free ignores NULL and stale handles. NULL on
 * error. Since 1.0. */
POLY_API PolySchedule *poly_schedule_for(PolyCtx *ctx, PolyUOp *sink, int mode);
POLY_API void poly_schedule_free(PolySchedule *schedule);

/* The number of kernels of a schedule, -1 on error; the SINK of kernel i in the order in
 * which they run, NULL out of range. Since 2.0. */
POLY_API int poly_schedule_n_kernels(PolySchedule *schedule);
POLY_API PolyUOp *poly_schedule_kernel(PolySchedule *schedule, int i);

/* A schedule compiled for a PolyDeviceId (AUTO: the device of the context). It does not
 * refer to the schedule afterwards. poly_compiled_plan_free ignores NULL and stale handles.
 * NULL on error. Since 1.0. */
POLY_API PolyCompiledPlan *poly_compile_schedule(PolyCtx *ctx, PolySchedule *prepared, int device);
POLY_API void poly_compiled_plan_free(PolyCompiledPlan *plan);

/* The plan of a SINK for a device, the same one at each call. It belongs to the handle of
 * the SINK and ends with it; poly_compiled_plan_free does not free it. NULL on error. Since
 * 1.0. */
POLY_API PolyCompiledPlan *poly_get_plan(PolyCtx *ctx, PolyUOp *sink, int device);

/* Runs a plan with pointers by slot. Entries that are NULL, and slots from n_slots on, use
 * the memory that the buffer was created on (poly_buffer_host). 0 or -1. Since 1.0. */
POLY_API int poly_compiled_plan_run(PolyCompiledPlan *plan, void **slot_data, int n_slots, PolyVarBinding *vars,
                                    int n_vars);

/* The number of slots of a plan, -1 on error; the BUFFER of slot i, NULL out of range.
 * Since 2.0. */
POLY_API int poly_compiled_plan_n_slots(PolyCompiledPlan *plan);
POLY_API PolyUOp *poly_compiled_plan_slot_buf(PolyCompiledPlan *plan, int i);

/* The description of a device. */
typedef struct PolyBackendDesc {
  int32_t device;      /* PolyDeviceId */
  const char *name;    /* as poly_device_name */
  const char *runs_on; /* the code generator: "native", "wasm", "interp", "clang" or "reference" */
} PolyBackendDesc;

/* The description of a device (PolyDeviceId); never freed. NULL if it cannot run kernels in
 * this process. Since 1.0. */
POLY_API const PolyBackendDesc *poly_backend_get(int device);

/* The host memory that a buffer was created on (poly_buffer_host). NULL, without an error,
 * for one that is bound when a program runs. Since 1.0. */
POLY_API const void *poly_const_buffer_data(PolyCtx *ctx, PolyUOp *buf);

/* ======================================================================== */
/* WASM plans                                                               */
/* ======================================================================== */

/* A program as a WebAssembly module, for a host that runs WASM itself. The module imports
 * nothing and exports its memory. The memory has room for the first 64 KiB, which stay
 * free, and for all buffers one after the other, each at a multiple of 64 bytes. The host
 * instantiates the module once, places the buffers, writes the inputs, and calls the
 * kernels in the order of exec_order with the addresses of their buffers. Assignments
 * change buffers in place, so the next run continues from there. A program with variables
 * has no such plan. Results of queries belong to the plan. */

/* Compiles a SINK. NULL on error. Since 1.0. */
POLY_API PolyWasmStepPlan *poly_render_step_wasm_plan(PolyCtx *ctx, PolyUOp *sink);

/* Destroys a plan. NULL is ignored. Since 1.0. */
POLY_API void poly_wasm_stepplan_destroy(PolyWasmStepPlan *plan);

/* The number of kernels; of all buffers, bindable ones first, then temporaries; of bindable
 * buffers. 0 for NULL. Since 1.0. */
POLY_API int poly_wasm_stepplan_n_kernels(const PolyWasmStepPlan *plan);
POLY_API int poly_wasm_stepplan_n_buffers(const PolyWasmStepPlan *plan);
POLY_API int poly_wasm_stepplan_n_bindable_buffers(const PolyWasmStepPlan *plan);

/* The buffer index of bindable buffer i, which is i; -1 out of range. Since 1.0. */
POLY_API int poly_wasm_stepplan_bindable_buf_index(const PolyWasmStepPlan *plan, int i);

/* The module with kernel k, and its length in *len_out. All kernels of a plan are in one
 * module, which exports "memory" and the functions k0, k1, ...; their parameters are the
 * addresses of their buffers in that memory. Since 1.0. */
POLY_API const uint8_t *poly_wasm_stepplan_kernel_bytes(const PolyWasmStepPlan *plan, int k, int *len_out);

/* The number of parameters of kernel k; the buffer index of its parameter i (-1 if there is
 * none). Since 1.0. */
POLY_API int poly_wasm_stepplan_kernel_n_params(const PolyWasmStepPlan *plan, int k);
POLY_API int poly_wasm_stepplan_kernel_param_buf_index(const PolyWasmStepPlan *plan, int k, int i);

/* The numbers of the kernels in the order in which they must run, and their count in
 * *n_out. Since 1.0. */
POLY_API const int *poly_wasm_stepplan_exec_order(const PolyWasmStepPlan *plan, int *n_out);

/* The BUFFER node of bindable buffer i (a new reference). NULL for other indices and after
 * the context was destroyed. Since 2.0. */
POLY_API PolyUOp *poly_wasm_stepplan_buf_uop(const PolyWasmStepPlan *plan, int i);

/* The number of elements and of bytes of buffer i; -1 if there is none. Since 1.0. */
POLY_API int64_t poly_wasm_stepplan_buf_size(const PolyWasmStepPlan *plan, int i);
POLY_API int64_t poly_wasm_stepplan_buf_nbytes(const PolyWasmStepPlan *plan, int i);

/* A program of one kernel as a WebAssembly module; malloc'd, with its length in *len_out.
 * It exports "memory" and the function k0, whose *n_bufs_out parameters are the addresses
 * of its buffers. NULL and zeros on error, also if the program needs several kernels or
 * variables: see poly_render_step_wasm_plan. Since 1.0. */
POLY_API uint8_t *poly_render_kernel_wasm(PolyCtx *ctx, PolyUOp *sink, int *len_out, int *n_bufs_out);

/* The BUFFER of parameter index of the kernel that was last rendered in this context by
 * poly_render_kernel_wasm. NULL out of range, and for scratch memory of the kernel. Since
 * 1.0. */
POLY_API PolyUOp *poly_kernel_buf(PolyCtx *ctx, int index);

/* ======================================================================== */
/* Graphs, node by node                                                     */
/* ======================================================================== */

/* A node has an operation, a data type, sources and an argument. A program may read all of
 * them and build nodes from them: poly_uop with the parts of a node returns that node.
 * Devices are not shown: a CONST has no source, a BUFFER only its UNIQUE.
 *
 *   operation                 sources           argument
 *   UNIQUE                    -                 INT, its number
 *   BUFFER                    UNIQUE            INT, its elements
 *   CONST                     -                 INT, FLOAT or BOOL
 *   DEFINE_VAR                -                 DEFINE_VAR, name and bounds
 *   BIND                      variable, CONST   NONE
 *   arithmetic, comparisons   1, 2 or 3         NONE
 *   CAST, BITCAST, DETACH     1                 NONE (the data type is the target)
 *   CONTIGUOUS(_BACKWARD)     1                 NONE
 *   RESHAPE, EXPAND, PERMUTE  1                 INT_TUPLE, the sizes or the order
 *   FLIP                      1                 INT_TUPLE, the axes
 *   PAD, SHRINK               1                 PAIR_TUPLE, as for poly_pad, poly_shrink
 *   REDUCE_AXIS               1                 REDUCE_AXIS, operation and axes
 *   STORE, ASSIGN             target, value     NONE (STORE and SINK are void)
 *   SINK                      any number        NONE
 *
 * A node is a handle: functions here read what were fields of the record PolyUOp in the
 * original library. */

/* The kinds of arguments. */
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
  POLY_ARG_INVALID = 11 /* an argument without a form in C; only nodes of kernels have one */
} PolyArgKind;

/* The argument of a node. Functions that build nodes copy its arrays and strings. */
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

/* A shape by value. ndim is -1 for a node without a shape. */
typedef struct PolyShape {
  int64_t *dims;
  int32_t ndim;
} PolyShape;

/* Builds a node from its parts and checks them: the number and kinds of sources, the
 * argument, and that dtype is the type of the result. Operands are promoted and broadcast
 * as by poly_alu2. NULL on error, and for operations that only kernels have. Since 1.0. */
POLY_API PolyUOp *poly_uop(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp **src, int n_src, PolyArg arg);
POLY_API PolyUOp *poly_uop0(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyArg arg);
POLY_API PolyUOp *poly_uop1(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyArg arg);
POLY_API PolyUOp *poly_uop2(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyUOp *s1, PolyArg arg);
POLY_API PolyUOp *poly_uop3(PolyCtx *ctx, PolyOps op, PolyDType dtype, PolyUOp *s0, PolyUOp *s1, PolyUOp *s2,
                            PolyArg arg);

/* The parts of a node (poly_uop_op gives its operation): the type, void on error; the
 * number of sources, -1 on error; source i, NULL out of range; the argument, of the kind
 * INVALID on error, whose arrays and strings belong to the handle of the node. Since 2.0. */
POLY_API PolyDType poly_uop_dtype(PolyCtx *ctx, PolyUOp *x);
POLY_API int poly_uop_n_src(PolyCtx *ctx, PolyUOp *x);
POLY_API PolyUOp *poly_uop_src(PolyCtx *ctx, PolyUOp *x, int i);
POLY_API PolyArg poly_uop_arg(PolyCtx *ctx, PolyUOp *x);

/* Whether two arguments are equal; arrays and strings are compared by contents. Cannot
 * fail. Since 1.0. */
POLY_API bool poly_arg_eq(PolyArg a, PolyArg b);

/* The shape of a node, with malloc'd dims (NULL for a scalar). ndim is -1 if it has no
 * shape, and on error. Since 1.0. */
POLY_API PolyShape poly_uop_shape(PolyCtx *ctx, PolyUOp *x);

/* Whether two shapes are equal; the number of elements, 1 for a scalar, 0 for no shape.
 * Cannot fail. Since 1.0. */
POLY_API bool poly_shape_eq(PolyShape a, PolyShape b);
POLY_API int64_t poly_shape_numel(PolyShape shape);

/* A node as one line of text; the graph below a node, one node a line. Malloc'd. The
 * context is that of the node. NULL on error. Since 1.0. */
POLY_API char *poly_uop_str(PolyUOp *x);
POLY_API char *poly_graph_str(PolyUOp *root);

/* Decides whether a traversal enters a node. It may call the library. */
typedef bool (*PolyGateFn)(PolyUOp *x);

/* The nodes of the graph below root in topological order, sources before users, root last;
 * *n_out (may be NULL) receives their number. poly_toposort_ex skips the nodes for which
 * gate (may be NULL) is false, with everything that is reachable only through them, and
 * enters the callee of a CALL only if enter_calls. The array, and one reference to each
 * node in it, belong to the handle of root. NULL and 0 on error; an array of no nodes is
 * not NULL. Since 1.0. */
POLY_API PolyUOp **poly_toposort(PolyCtx *ctx, PolyUOp *root, int *n_out);
POLY_API PolyUOp **poly_toposort_ex(PolyCtx *ctx, PolyUOp *root, int *n_out, PolyGateFn gate, bool enter_calls);

/* Whether p is a live handle of the context: of a node, a step or a plan. Since 1.0. */
POLY_API bool poly_ctx_owns_ptr(PolyCtx *ctx, const void *p);

/* Prints a node, or the groups of operations, to standard error. Since 1.0. */
POLY_API void poly_debug_uop(PolyCtx *ctx, PolyUOp *x);
POLY_API void poly_debug_opsets(void);

/* ======================================================================== */
/* Data types as records                                                    */
/* ======================================================================== */

/* Functions in this section take a data type as a record by value. For each there is one
 * with the same meaning that takes a PolyDTypeId, with "_by_id" or "_id_" in its name. */

/* Address spaces of pointers. */
typedef enum PolyAddrSpace {
  POLY_ADDR_GLOBAL = 0,
  POLY_ADDR_LOCAL = 1,
  POLY_ADDR_REG = 2
} PolyAddrSpace;

/* The record of a PolyDTypeId; that of void if there is no such type. Since 2.0. */
POLY_API PolyDType poly_dtype_of(int dtype);

/* The records by name. Since 1.0. */
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

/* The PolyDTypeId of a record; -1 for vectors, pointers and records that are not a type.
 * Since 2.0. */
POLY_API int poly_dtype_number(PolyDType dtype);

/* Whether two records are the same type; whether the element type of a record is of a kind.
 * INDEX is an integer, bool is not. Cannot fail. Since 1.0. */
POLY_API bool poly_dtype_eq(PolyDType a, PolyDType b);
POLY_API bool poly_dtype_is_float(PolyDType dtype);
POLY_API bool poly_dtype_is_int(PolyDType dtype);
POLY_API bool poly_dtype_is_unsigned(PolyDType dtype);
POLY_API bool poly_dtype_is_bool(PolyDType dtype);

/* The size of a value in bytes (of a vector: of all its elements): its bits / 8, rounded
 * up. Cannot fail. Since 1.0. */
POLY_API int poly_dtype_itemsize(PolyDType dtype);

/* The name of a type in C: "float", "unsigned char", for a vector "float4", for a pointer
 * the name of its base type. Never freed. NULL if the record is not a type. Since 1.0. */
POLY_API const char *poly_dtype_name(PolyDType dtype);

/* The vector of n elements (1 to 64; 1 gives the type itself); the element type of a
 * vector; the pointer to size elements (-1: unlimited). Void on error: a record that is not
 * a type, a vector of a vector, a pointer to a pointer. Since 1.0. */
POLY_API PolyDType poly_dtype_vec(PolyDType dtype, int n);
POLY_API PolyDType poly_dtype_scalar(PolyDType dtype);
POLY_API PolyDType poly_dtype_ptr(PolyDType dtype, int64_t size, PolyAddrSpace space);

/* poly_cast_by_id, poly_const_by_id and poly_buffer_by_id with a record. Since 1.0. */
POLY_API PolyUOp *poly_cast(PolyCtx *ctx, PolyUOp *x, PolyDType dtype);
POLY_API PolyUOp *poly_const_typed(PolyCtx *ctx, PolyDType dtype, double value);
POLY_API PolyUOp *poly_buffer(PolyCtx *ctx, PolyDType dtype, int64_t size);

/* A buffer whose first size is a variable, of shape (var, inner...). Since 1.0. */
POLY_API PolyUOp *poly_buffer_var(PolyCtx *ctx, PolyDType dtype, PolyUOp *var, const int64_t *inner, int n_inner);

/* ======================================================================== */
/* Support for bindings                                                     */
/* ======================================================================== */

/* For the Python package: its most frequent calls as an array of PyMethodDef that ends with
 * an entry of zeros. python is the handle (dlopen) of the process or library that exports
 * Python's functions. objects are n Python objects in the order of capi/python.c, which
 * must live as long as the process. NULL on error. Since 2.0. */
POLY_API const void *poly_python_methods(void *python, void *const *objects, int n);

/* ======================================================================== */
/* Compatibility                                                            */
/* ======================================================================== */

/* Functions of the original interface that programs written for it still need. Each group
 * names what new programs use instead. */

/* Bindings in the older layout of 16 bytes, {PolyUOp *buffer, void *data}: every function
 * that takes an array of PolyBufferBinding accepts them, too. The layouts differ in the 8
 * bytes at offset 16, which are a node in the older layout (of the second binding) and a
 * byte count in the newer one. Instead: PolyBufferBinding. */

/* Scalar constants of float32, float64 and int32. Instead: poly_const_by_id,
 * poly_const_int_by_id. Since 1.0. */
POLY_API PolyUOp *poly_const_float(PolyCtx *ctx, double value);
POLY_API PolyUOp *poly_const_double(PolyCtx *ctx, double value);
POLY_API PolyUOp *poly_const_int(PolyCtx *ctx, int64_t value);

/* poly_buffer_by_id for float32 and float64. Instead: poly_buffer_by_id, poly_buffer_host.
 * Since 1.0. */
POLY_API PolyUOp *poly_buffer_f32(PolyCtx *ctx, int64_t size);
POLY_API PolyUOp *poly_buffer_f64(PolyCtx *ctx, int64_t size);

/* Elementwise operations by operation code, with the semantics of machine operations:
 *   poly_alu1  EXP2 LOG2 SIN SQRT RECIPROCAL NEG TRUNC
 *   poly_alu2  ADD MUL IDIV MAX MOD CMPLT CMPNE CMPEQ XOR OR AND THREEFRY SUB FDIV POW SHL SHR
 *   poly_alu3  WHERE MULACC
 * CMPxx give bool, others the promoted type. IDIV rounds towards zero and MOD has the sign
 * of a. Instead: the functions of "Elementwise". Since 1.0. */
POLY_API PolyUOp *poly_alu1(PolyCtx *ctx, PolyOps op, PolyUOp *x);
POLY_API PolyUOp *poly_alu2(PolyCtx *ctx, PolyOps op, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_alu3(PolyCtx *ctx, PolyOps op, PolyUOp *a, PolyUOp *b, PolyUOp *c);

/* Comparisons. eq, ge and le give 1.0 or 0.0 in the (floating) type of a; ne and gt give
 * bool. Instead: poly_binary, which gives bool for all. Since 1.0. */
POLY_API PolyUOp *poly_eq(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_ne(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_gt(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_ge(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);
POLY_API PolyUOp *poly_le(PolyCtx *ctx, PolyUOp *a, PolyUOp *b);

/* ADD, MUL or MAX over some axes (>= 0), which stay with size 1. A frontend of the original
 * interface may continue as if the axes were removed: the result then has two possible
 * shapes, and the next store, reshape or expansion selects the one that fits. Instead:
 * poly_reduce. Since 1.0. */
POLY_API PolyUOp *poly_reduce_axis(PolyCtx *ctx, PolyOps op, PolyUOp *src, int64_t *axes, int n_axes);

/* Reductions over one axis, which stays with size 1 if keep is not 0. A vector without keep
 * gives shape (1). The variance is divided by count - corr, or by 1 if that is not
 * positive. Instead: poly_reduce. Since 1.0. */
POLY_API PolyUOp *poly_sum_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_max_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_mean_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                   int64_t *shape_out, int *ndim_out);
POLY_API PolyUOp *poly_var_reduce(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, int keep,
                                  int corr, int64_t *shape_out, int *ndim_out);

/* Layer normalisation over one axis. Instead: poly_layernorm_axes. Since 1.0. */
POLY_API PolyUOp *poly_layernorm(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis, double eps,
                                 int64_t *shape_out, int *ndim_out);

/* The rows of a 2-D table at the positions in a tensor idx: shape of idx + (columns,).
 * Instead: poly_index with POLY_INDEX_TENSOR. Since 1.0. */
POLY_API PolyUOp *poly_gather(PolyCtx *ctx, PolyUOp *table, const int64_t *t_shape, int t_ndim, PolyUOp *idx,
                              const int64_t *i_shape, int i_ndim, int64_t *shape_out, int *ndim_out);

/* (T, T) float32: 0 on and below the diagonal, -1e9 above. Instead: causal of
 * poly_attention, or poly_tril. Since 1.0. */
POLY_API PolyUOp *poly_causal_mask(PolyCtx *ctx, int64_t T, int64_t *shape_out, int *ndim_out);

/* The matrix product; two vectors give shape (1). Instead: poly_matmul. Since 1.0. */
POLY_API PolyUOp *poly_dot(PolyCtx *ctx, PolyUOp *x, const int64_t *x_shape, int x_ndim, PolyUOp *w,
                           const int64_t *w_shape, int w_ndim, int64_t *shape_out, int *ndim_out);

/* x @ w^T + bias for w (out, in); bias may be NULL. Instead: poly_affine. Since 1.0. */
POLY_API PolyUOp *poly_linear(PolyCtx *ctx, PolyUOp *x, const int64_t *x_shape, int x_ndim, PolyUOp *w,
                              const int64_t *w_shape, int w_ndim, PolyUOp *bias, const int64_t *b_shape, int b_ndim,
                              int64_t *shape_out, int *ndim_out);

/* The mean cross entropy of logits along axis, a scalar. target holds class numbers (the
 * shape of logits without axis) or probabilities (the same shape). NULL and *ndim_out 0 if
 * the shapes do not fit. Instead: poly_cross_entropy_loss. Since 1.0. */
POLY_API PolyUOp *poly_cross_entropy(PolyCtx *ctx, PolyUOp *logits, const int64_t *l_shape, int l_ndim, PolyUOp *target,
                                     const int64_t *t_shape, int t_ndim, int axis, int64_t *shape_out, int *ndim_out);

/* poly_realize with bindings in parallel arrays. Instead: poly_realize. 0 or -1. Since 1.0. */
POLY_API int poly_realize_flat(PolyCtx *ctx, PolyUOp *sink, PolyUOp **buffers, void **datas, int n);

/* poly_realize in three calls: remove the bindings of this context, add one (its memory
 * must stay valid until exec), run the SINK and remove the bindings. If a bind fails, exec
 * fails. Instead: poly_realize. Since 1.0. */
POLY_API void poly_realize_begin(PolyCtx *ctx);
POLY_API void poly_realize_bind(PolyCtx *ctx, PolyUOp *buffer, void *data);
POLY_API int poly_realize_exec(PolyCtx *ctx, PolyUOp *sink);

/* TENSORS WITH MEMORY. Float32 tensors that know their memory, a linear layer, gradients
 * and an optimizer. Instead: section "Arrays" and those that follow it.
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
 * A tensor is either persistent (zeros, ones, rand, from_data, the parameters of layers):
 * it belongs to no context and owns its memory. Or it belongs to a context: an input on
 * memory of the caller, or the result of an operation, which has memory once it is
 * realized. An operation wraps persistent operands into the context of its other operands;
 * if all are persistent, into a context that the library keeps for that. Tensors of two
 * contexts cannot be combined.
 *
 * Every PolyTensor that a function returns is freed with poly_tensor_free, before or after
 * its context. A pointer to a tensor or layer that is NULL or was freed is an error, not a
 * crash, unless its memory was reused for a new one. */

/* A float32 tensor. The fields are read-only; the memory may be written. */
typedef struct PolyTensor {
  PolyCtx *ctx;                      /* NULL if persistent */
  PolyUOp *uop;                      /* its node in ctx, for all other functions; released with the tensor */
  float *data;                       /* its memory in row-major order; NULL before a result is realized */
  int64_t numel;                     /* the number of elements */
  int64_t shape[POLY_MAX_OUT_DIMS];  /* the first ndim are used */
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

/* Stochastic gradient descent on n_params tensors. The record owns nothing: the array must
 * stay valid as long as the record is used. lr may be changed between steps. */
typedef struct PolySGD {
  PolyTensor **params;
  int32_t n_params;
  float lr;
} PolySGD;

/* Persistent tensors of at most POLY_MAX_OUT_DIMS dimensions: filled with 0; with 1; with
 * uniform numbers in +-sqrt(6 / elements), see poly_nn_seed; with a copy of data. NULL on
 * error. Since 1.0. */
POLY_API PolyTensor *poly_tensor_zeros(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_ones(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_rand(int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_from_data(const float *data, int64_t *shape, int ndim);

/* A tensor of a context on the caller's memory, which must stay valid until the tensor is
 * freed or the context destroyed. Since 1.0. */
POLY_API PolyTensor *poly_tensor_input(PolyCtx *ctx, float *data, int64_t *shape, int ndim);

/* A persistent tensor as one of a context, on the same memory; for a tensor of that context
 * another handle to it. Since 1.0. */
POLY_API PolyTensor *poly_tensor_wrap(PolyCtx *ctx, PolyTensor *persistent);

/* Frees a tensor, its memory if it owns it, and its reference to its node. NULL and freed
 * tensors are ignored. Since 1.0. */
POLY_API void poly_tensor_free(PolyTensor *t);

/* Elementwise operations; shapes broadcast. Since 1.0. */
POLY_API PolyTensor *poly_tensor_add(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_sub(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_mul(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_div(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_neg(PolyTensor *t);
POLY_API PolyTensor *poly_tensor_relu(PolyTensor *t);
POLY_API PolyTensor *poly_tensor_sigmoid(PolyTensor *t);

/* The product of two matrices; x @ w^T + bias (bias may be NULL); the mean of (pred -
 * target)^2 over all elements, a scalar. Since 1.0. */
POLY_API PolyTensor *poly_tensor_matmul(PolyTensor *a, PolyTensor *b);
POLY_API PolyTensor *poly_tensor_linear(PolyTensor *x, PolyTensor *w, PolyTensor *bias);
POLY_API PolyTensor *poly_tensor_mse(PolyTensor *pred, PolyTensor *target);

/* Reductions over one axis (from 0), which is removed, or, if axis is -1, over all axes.
 * Since 1.0. */
POLY_API PolyTensor *poly_tensor_sum(PolyTensor *t, int axis);
POLY_API PolyTensor *poly_tensor_mean(PolyTensor *t, int axis);
POLY_API PolyTensor *poly_tensor_max_reduce(PolyTensor *t, int axis);

/* As poly_reshape, poly_expand and poly_permute; a matrix transposed. Since 1.0. */
POLY_API PolyTensor *poly_tensor_reshape(PolyTensor *t, int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_expand(PolyTensor *t, int64_t *shape, int ndim);
POLY_API PolyTensor *poly_tensor_permute(PolyTensor *t, int64_t *perm, int ndim);
POLY_API PolyTensor *poly_tensor_transpose(PolyTensor *t);

/* Computes a result into t->data, each time it is called. Inputs and persistent tensors
 * have their data already. 0 or -1. Since 1.0. */
POLY_API int poly_tensor_realize(PolyTensor *t);

/* The first element, realized if necessary; 0 on error. Since 1.0. */
POLY_API float poly_tensor_item(PolyTensor *t);

/* The gradients of a loss of one element with respect to n_params tensors, of their shapes,
 * not realized; zeros for parameters that the loss does not depend on. A malloc'd array;
 * the caller frees it and each tensor. NULL on error. Since 1.0. */
POLY_API PolyTensor **poly_tensor_backward(PolyCtx *ctx, PolyTensor *loss, PolyTensor **params, int n_params);

/* A layer with weights uniform in +-sqrt(6 / n_in) and a bias of zeros. It owns its
 * tensors. NULL unless n_in and n_out are positive. Since 1.0. */
POLY_API PolyLinear *poly_nn_linear(int n_in, int n_out, bool bias);

/* Frees a layer and its tensors. NULL and freed layers are ignored. Since 1.0. */
POLY_API void poly_nn_linear_free(PolyLinear *l);

/* Writes the tensors of a layer, weight first, at most max, and returns their number; -1 on
 * error. Since 1.0. */
POLY_API int poly_nn_linear_params(PolyLinear *l, PolyTensor **out, int max);

/* The layer applied to x (..., n_in), in a context. Since 1.0. */
POLY_API PolyTensor *poly_nn_linear_forward(PolyLinear *l, PolyCtx *ctx, PolyTensor *x);

/* Restarts the random numbers of tensors and layers: the n-th tensor after this call
 * depends only on seed and n. The seed of a new process is 42. Since 1.0. */
POLY_API void poly_nn_seed(uint32_t seed);

/* The record of an optimizer. Since 1.0. */
POLY_API PolySGD poly_sgd_new(PolyTensor **params, int n_params, float lr);

/* One step: param = param - lr * gradient of the loss, for each parameter (persistent, or
 * an input of ctx), all computed from the values before. *loss_out (may be NULL) receives
 * the loss before the step. 0, or -1 and nothing has changed. Since 1.0. */
POLY_API int poly_sgd_step(PolySGD *opt, PolyCtx *ctx, PolyTensor *loss, float *loss_out);

#undef POLY_API

#ifdef __cplusplus
}
#endif

#endif /* POLYGRAD_H */
