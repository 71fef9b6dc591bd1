/* What Python calls most, as functions of its own kind: a call through ctypes takes half a microsecond. The library is
 * not linked with Python: it looks up the functions that it needs. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../include/polygrad.h"
#include "guard.h"

typedef struct object object;
typedef intptr_t size;

/* The functions of Python's stable ABI. */
#define FUNCTIONS(X) \
  X(int, is_subtype, "PyType_IsSubtype", (object *, object *)) \
  X(object *, new, "PyType_GenericAlloc", (object *, size)) \
  X(object *, type_of, "PyObject_Type", (object *)) \
  X(void, retain, "Py_IncRef", (object *)) \
  X(void, release, "Py_DecRef", (object *)) \
  X(object *, attribute, "PyObject_GetAttr", (object *, object *)) \
  X(int, set_attribute, "PyObject_SetAttr", (object *, object *, object *)) \
  X(object *, call, "PyObject_CallObject", (object *, object *)) \
  X(int, discard, "PySet_Discard", (object *, object *)) \
  X(object *, int_of, "PyLong_FromUnsignedLongLong", (unsigned long long)) \
  X(unsigned long long, to_uint, "PyLong_AsUnsignedLongLong", (object *)) \
  X(long long, to_int, "PyLong_AsLongLongAndOverflow", (object *, int *)) \
  X(double, to_double, "PyFloat_AsDouble", (object *)) \
  X(double, real_of, "PyComplex_RealAsDouble", (object *)) \
  X(double, imag_of, "PyComplex_ImagAsDouble", (object *)) \
  X(object *, tuple, "PyTuple_New", (size)) \
  X(int, tuple_set, "PyTuple_SetItem", (object *, size, object *)) \
  X(size, length, "PySequence_Size", (object *)) \
  X(object *, item, "PySequence_GetItem", (object *, size)) \
  X(object *, utf8, "PyUnicode_AsUTF8String", (object *)) \
  X(int, bytes_in, "PyBytes_AsStringAndSize", (object *, char **, size *)) \
  X(object *, bytes_of, "PyBytes_FromStringAndSize", (const char *, size)) \
  X(object *, failed, "PyErr_Occurred", (void)) \
  X(void, forgive, "PyErr_Clear", (void)) \
  X(object *, no_memory, "PyErr_NoMemory", (void)) \
  X(void *, unlock, "PyEval_SaveThread", (void)) \
  X(void, lock, "PyEval_RestoreThread", (void *)) \
  X(int, ensure, "PyGILState_Ensure", (void)) \
  X(void, leave, "PyGILState_Release", (int)) \
  X(object *, import, "PyImport_ImportModule", (const char *)) \
  X(object *, field, "PyObject_GetAttrString", (object *, const char *)) \
  X(int, interrupted, "PyOS_InterruptOccurred", (void)) \
  X(void, interrupt, "PyErr_SetInterrupt", (void))

static struct {
#define POINTER(result, name, symbol, parameters) result(*name) parameters;
  FUNCTIONS(POINTER)
  /* Objects of Python and of the package, in the order of _calls.py. */
  struct {
    object *int_type, *float_type, *bool_type, *complex_type, *str_type, *tuple_type, *list_type, *range_type, *slice_type;
    object *none, *ellipsis, *yes, *not_implemented;
    object *tensor, *dtype, *symbol;                                /* classes */
    object *handle, *id, *node, *node_handle, *start, *stop, *step, *name; /* names of attributes */
    object *lent;        /* a set: handles of tensors on memory of the host, which is given back at once */
    object *fail;        /* raises the last error */
    object *plain;       /* (value): a value of a type that pack knows, or NotImplemented */
    object *beside;      /* (value, tensor): a tensor, a number, or NotImplemented */
    object *release_now; /* gives what the library is done with back */
    object *ends;        /* tells whether Python ends */
    PolyCtx *context;
  };
} py;
enum { OBJECTS = (sizeof py - offsetof(__typeof__(py), int_type)) / sizeof(object *) };

/* Arguments of a call, on their way from Python to C. */
struct args {
  PolyCallArg *at, first[24];
  int n, room;
};

static void begin(struct args *a) { a->at = a->first, a->n = 0, a->room = sizeof a->first / sizeof *a->first; }

static void end(struct args *a) {
  if (a->at != a->first) free(a->at);
}

/* Makes room for more arguments. */
static int reserve(struct args *a, size more) {
  if (a->n + more <= a->room) return 0;
  size room = 2 * (a->n + more);
  PolyCallArg *grown = room > INT32_MAX / 2 ? NULL : malloc((size_t)room * sizeof *grown);
  if (grown == NULL) {
    py.no_memory();
    return -1;
  }
  memcpy(grown, a->at, (size_t)a->n * sizeof *grown);
  end(a);
  a->at = grown, a->room = (int)room;
  return 0;
}

static int add(struct args *a, int kind, size n, int64_t word) {
  if (reserve(a, 1) < 0) return -1;
  a->at[a->n++] = (PolyCallArg){.kind = kind, .n = (int32_t)n, .as = {.i = word}};
  return 0;
}

/* The handle that an attribute of an object is; 0 on error. */
static uintptr_t handle_of(object *x, object *name) {
  object *number = py.attribute(x, name);
  if (number == NULL) return 0;
  uintptr_t h = (uintptr_t)py.to_uint(number);
  py.release(number);
  return h;
}

static int is_a(object *type, object *wanted) { return type == wanted || py.is_subtype(type, wanted); }

/* The type of an object, which lives as long as that. */
static object *type_of(object *x) {
  object *type = py.type_of(x);
  py.release(type);
  return type;
}

static object *call(object *function, object *x, object *y) {
  object *args = py.tuple((x != NULL) + (y != NULL));
  if (args == NULL) return NULL;
  if (x != NULL) py.retain(x), py.tuple_set(args, 0, x);
  if (y != NULL) py.retain(y), py.tuple_set(args, 1, y);
  object *result = py.call(function, args);
  py.release(args);
  return result;
}

/* Raises the last error of the library. */
static object *fail(void) {
  object *nothing = call(py.fail, NULL, NULL);
  if (nothing != NULL) py.release(nothing);
  return NULL;
}

static int pack(struct args *a, object *value, int depth);

static int pack_attribute(struct args *a, object *value, object *name, int depth) {
  object *part = py.attribute(value, name);
  if (part == NULL) return -1;
  int rc = pack(a, part, depth);
  py.release(part);
  return rc;
}

/* Adds a text, or (POLY_CALL_OTHER) the name of a type. */
static int pack_text(struct args *a, object *value, int kind) {
  object *bytes = py.utf8(value);
  char *text;
  size n;
  int rc = bytes == NULL ? -1 : py.bytes_in(bytes, &text, &n);
  size words = rc < 0 ? 0 : (n + (size)sizeof *a->at - 1) / (size)sizeof *a->at;
  if (rc == 0) rc = reserve(a, 1 + words);
  if (rc == 0) {
    add(a, kind, n, 0);
    memset(a->at + a->n, 0, (size_t)words * sizeof *a->at);
    memcpy(a->at + a->n, text, (size_t)n);
    a->n += (int)words;
  }
  if (bytes != NULL) py.release(bytes);
  return rc;
}

static int pack_list(struct args *a, object *value, int depth) {
  size n = py.length(value);
  if (n < 0 || reserve(a, n + 1) < 0 || add(a, POLY_CALL_LIST, n, 0) < 0) return -1;
  for (size i = 0; i < n; i++) {
    object *item = py.item(value, i);
    if (item == NULL) return -1;
    int rc = pack(a, item, depth + 1);
    py.release(item);
    if (rc < 0) return -1;
  }
  return 0;
}

static int pack_int(struct args *a, object *value, int *large) {
  int overflow = 0;
  long long n = py.to_int(value, &overflow);
  if (overflow == 0) return add(a, POLY_CALL_INT, 0, n);
  if (overflow > 0) {
    unsigned long long u = py.to_uint(value);
    if (py.failed() == NULL) return add(a, POLY_CALL_UINT, 0, (int64_t)u);
    py.forgive();
  }
  *large = 1;
  return 0;
}

static int pack_float(struct args *a, object *value) {
  if (add(a, POLY_CALL_FLOAT, 0, 0) < 0) return -1;
  a->at[a->n - 1].as.f = py.to_double(value);
  return 0;
}

/* Adds a complex number: its parts are stored behind its kind. */
static int pack_complex(struct args *a, object *value) {
  double parts[2] = {py.real_of(value), py.imag_of(value)};
  if (reserve(a, 2) < 0 || add(a, POLY_CALL_COMPLEX, 0, 0) < 0) return -1;
  memcpy(a->at + a->n++, parts, sizeof parts);
  return 0;
}

/* Adds a value, by the type that it has. */
static int pack(struct args *a, object *value, int depth) {
  enum { DEEP = 16 };
  object *type = type_of(value);
  int large = depth > DEEP;
  if (value == py.none) return add(a, POLY_CALL_NONE, 0, 0);
  if (type == py.int_type) {
    int rc = pack_int(a, value, &large);
    if (!large) return rc;
  } else if (type == py.float_type) {
    return pack_float(a, value);
  } else if (type == py.complex_type) {
    return pack_complex(a, value);
  } else if (type == py.bool_type) {
    return add(a, POLY_CALL_BOOL, 0, value == py.yes);
  } else if (!large && (is_a(type, py.tuple_type) || is_a(type, py.list_type) || type == py.range_type)) {
    return pack_list(a, value, depth);
  } else if (type == py.tensor || is_a(type, py.tensor)) {
    uintptr_t h = handle_of(value, py.handle);
    return h == 0 ? -1 : add(a, POLY_CALL_TENSOR, 0, (int64_t)h);
  } else if (type == py.dtype) {
    if (pack_attribute(a, value, py.id, depth) < 0) return -1;
    a->at[a->n - 1].kind = POLY_CALL_DTYPE;
    return 0;
  } else if (type == py.slice_type) {
    if (add(a, POLY_CALL_SLICE, 0, 0) < 0) return -1;
    return pack_attribute(a, value, py.start, depth) || pack_attribute(a, value, py.stop, depth) ||
                   pack_attribute(a, value, py.step, depth)
               ? -1
               : 0;
  } else if (value == py.ellipsis) {
    return add(a, POLY_CALL_ELLIPSIS, 0, 0);
  } else if (is_a(type, py.str_type)) {
    return pack_text(a, value, POLY_CALL_CHARS);
  } else if (is_a(type, py.symbol)) {
    object *node = py.attribute(value, py.node);
    uintptr_t h = node == NULL ? 0 : handle_of(node, py.node_handle);
    if (node != NULL) py.release(node);
    return h == 0 ? -1 : add(a, POLY_CALL_SIZE, 0, (int64_t)h);
  }
  object *simpler = call(py.plain, value, NULL);
  if (simpler == NULL) return -1;
  int rc;
  if (simpler == py.not_implemented) {
    object *name = py.attribute(type, py.name);
    rc = name == NULL ? -1 : pack_text(a, name, POLY_CALL_OTHER);
    if (name != NULL) py.release(name);
  } else {
    rc = pack(a, simpler, depth + 1);
  }
  py.release(simpler);
  return rc;
}

/* A tensor of a class by its handle, which it owns; where there is none, an error. */
static object *wrap(object *class, PolyArray *h) {
  if (h == NULL) return fail();
  object *number = py.int_of((uintptr_t)h), *x = number == NULL ? NULL : py.new(class, 0);
  if (x == NULL || py.set_attribute(x, py.handle, number) < 0) {
    poly_array_release(h);
    if (x != NULL) py.release(x);
    x = NULL;
  }
  if (number != NULL) py.release(number);
  return x;
}

/* Packs the operand of a call, if it has one, and its parameters, of which the last ones may be None. */
static int given(struct args *a, object *operand, object *const *values, size n) {
  begin(a);
  while (n > 0 && values[n - 1] == py.none) n--;
  int rc = operand == NULL ? 0 : pack(a, operand, 0);
  for (size i = 0; i < n && rc == 0; i++) rc = pack(a, values[i], 0);
  return rc;
}

/* Calls an operation with one result. */
static object *one(object *class, object *operand, object *const *values, size n) {
  struct args a;
  PolyArray *result = NULL;
  object *x = NULL;
  if (given(&a, operand, values + 1, n - 1) == 0) {
    int op = (int)py.to_uint(values[0]);
    void *state = py.unlock();
    if (poly_array_call(py.context, op, a.at, a.n, &result, 1) < 0) result = NULL;
    py.lock(state);
    x = wrap(class, result);
  }
  end(&a);
  return x;
}

/* Calls an operation with any number of results. */
static object *several(object *class, object *operand, object *const *values, size n) {
  enum { FEW = 16 };
  struct args a;
  PolyArray *few[FEW], **results = few;
  int room = FEW, count = 0;
  object *all = NULL;
  int rc = given(&a, operand, values + 1, n - 1);
  while (rc == 0) {
    int op = (int)py.to_uint(values[0]);
    void *state = py.unlock();
    count = poly_array_call(py.context, op, a.at, a.n, results, room);
    py.lock(state);
    if (count <= room) break;
    if (results != few) free(results);
    results = malloc((size_t)(room = count) * sizeof *results);
    count = 0;
    if (results == NULL) py.no_memory(), rc = -1;
  }
  end(&a);
  if (count < 0) fail();
  if (rc == 0 && count >= 0) all = py.tuple(count);
  for (int i = 0; i < count; i++) {
    if (all == NULL) {
      poly_array_release(results[i]);
      continue;
    }
    object *x = py.none;
    if (results[i] != NULL) x = wrap(class, results[i]);
    else py.retain(x); /* an operation left it out */
    if (x != NULL) py.tuple_set(all, i, x);
    else py.release(all), all = NULL;
  }
  if (results != few) free(results);
  return all;
}

/* The methods of a tensor (operation, parameters...), and the same of a class (class, operation, parameters...). */
static object *call1(object *self, object *const *args, size n) { return one(type_of(self), self, args, n); }
static object *calls(object *self, object *const *args, size n) { return several(type_of(self), self, args, n); }
static object *make(object *self, object *const *args, size n) { return (void)self, one(args[0], NULL, args + 1, n - 1); }
static object *made(object *self, object *const *args, size n) { return (void)self, several(args[0], NULL, args + 1, n - 1); }

/* x._binary(operator, y, swapped): y is a tensor or a number. */
static object *binary(object *self, object *const *args, size n) {
  int op = (int)py.to_uint(args[0]), swapped = n > 2 && args[2] == py.yes;
  object *class = type_of(self), *y = args[1];
  PolyArray *x = (PolyArray *)handle_of(self, py.handle), *result;
  if (x == NULL) return NULL;
  py.retain(y);
  for (;;) {
    object *type = type_of(y);
    struct args number;
    int large = 0;
    begin(&number);
    if (type == class || is_a(type, py.tensor)) {
      PolyArray *other = (PolyArray *)handle_of(y, py.handle);
      void *state = py.unlock();
      result = other == NULL ? NULL : swapped ? poly_array_binary(op, other, x) : poly_array_binary(op, x, other);
      py.lock(state);
      object *made = other == NULL ? NULL : wrap(class, result);
      py.release(y); /* behind wrap, which reads the error that releasing a tensor clears */
      return made;
    }
    if (type == py.float_type) pack_float(&number, y);
    if (type == py.int_type) pack_int(&number, y, &large);
    if (type == py.complex_type) pack_complex(&number, y);
    if (type == py.bool_type) add(&number, POLY_CALL_BOOL, 0, y == py.yes);
    if (number.n > 0) {
      void *state = py.unlock();
      result = poly_array_binary_number(op, x, number.at, swapped);
      py.lock(state);
      py.release(y);
      return wrap(class, result);
    }
    object *other = call(py.beside, y, self);
    py.release(y);
    if (other == NULL || other == py.not_implemented) return other;
    y = other;
  }
}

/* arguments(values...): PolyCallArg as bytes. */
static object *arguments(object *self, object *const *args, size n) {
  (void)self;
  struct args a;
  begin(&a);
  object *bytes = NULL;
  size i = 0;
  while (i < n && pack(&a, args[i], 0) == 0) i++;
  if (i == n) bytes = py.bytes_of((char *)a.at, (size)((size_t)a.n * sizeof *a.at));
  end(&a);
  return bytes;
}

/* Handles of tensors that are gone. */
static pthread_mutex_t grave = PTHREAD_MUTEX_INITIALIZER;
enum { AT_ONCE = 256 };
static PolyArray *gone[4 * AT_ONCE];
static int gone_n;

/* bury(): releases them; their number. */
static object *bury(object *self, object *unused) {
  (void)self, (void)unused;
  PolyArray *now[4 * AT_ONCE];
  pthread_mutex_lock(&grave);
  int count = gone_n;
  memcpy(now, gone, (size_t)count * sizeof *now);
  gone_n = 0;
  pthread_mutex_unlock(&grave);
  if (count > 0) {
    void *state = py.unlock();
    poly_array_release_n(now, count);
    py.lock(state);
  }
  return py.int_of((unsigned long long)count);
}

/* Tensor.__del__: the finalizer. */
static object *finalize(object *self, object *unused) {
  (void)unused;
  object *number = py.attribute(self, py.handle);
  if (number == NULL) { /* its constructor has failed */
    py.forgive();
    py.retain(py.none);
    return py.none;
  }
  PolyArray *h = (PolyArray *)(uintptr_t)py.to_uint(number);
  pthread_mutex_lock(&grave);
  int full = gone_n == 4 * AT_ONCE;
  if (!full) gone[gone_n++] = h;
  int now = gone_n % AT_ONCE == 0;
  pthread_mutex_unlock(&grave);
  if (full) { /* a run may hold the context, and poll */
    void *state = py.unlock();
    poly_array_release(h);
    py.lock(state);
  }
  if (py.discard(py.lent, number) == 1) now = 1;
  py.release(number);
  if (now) {
    object *over = call(py.ends, NULL, NULL);
    if (over == NULL) return NULL;
    int ends = over == py.yes;
    py.release(over);
    if (!ends) return call(py.release_now, NULL, NULL);
  }
  py.retain(py.none);
  return py.none;
}

/* Pin.__del__: in C no interrupt of the host comes between, which would be lost with the pin. */
static object *unpin(object *self, object *unused) {
  (void)unused;
  object *number = py.attribute(self, py.handle);
  if (number != NULL) {
    poly_array_unpin((PolyPin *)(uintptr_t)py.to_uint(number));
    py.release(number);
  } else { /* its constructor has failed */
    py.forgive();
  }
  py.retain(py.none);
  return py.none;
}

/* A run in the thread that has loaded the package ends when Ctrl-C is pressed, if that raises KeyboardInterrupt; Python raises it when the
 * call returns. Other handlers run then, too: they may call the library, whose context the run holds. */
static struct {
  pthread_t thread;
  object *getsignal, *number, *raises; /* getsignal(*number) is raises */
  struct timespec last;
} signals;

static int poll_python(void *data) {
  (void)data;
  struct timespec now;
  if (!pthread_equal(pthread_self(), signals.thread) || clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  if ((now.tv_sec - signals.last.tv_sec) * 1000 + (now.tv_nsec - signals.last.tv_nsec) / 1000000 < 50) return 0;
  signals.last = now; /* other threads of Python may keep this one waiting */
  int state = py.ensure(), stop = 0;
  object *handler = py.call(signals.getsignal, signals.number);
  if (handler == NULL) {
    py.forgive();
  } else {
    /* To ask takes the interrupt. It is given back to no other handler, which would be called, and woken up, each time. */
    if (handler == signals.raises && (stop = py.interrupted())) py.interrupt();
    py.release(handler);
  }
  py.leave(state);
  return stop;
}

static void poll_signals(void) {
  int state = py.ensure(); /* ctypes has left it */
  object *module = py.import("_signal");
  signals.thread = pthread_self();
  if (module != NULL) {
    signals.getsignal = py.field(module, "getsignal"), signals.raises = py.field(module, "default_int_handler");
    py.release(module);
  }
  if ((signals.number = py.tuple(1)) != NULL) py.tuple_set(signals.number, 0, py.int_of(SIGINT));
  if (signals.getsignal != NULL && signals.raises != NULL && signals.number != NULL) poly_set_poll(poll_python, NULL);
  else py.forgive();
  py.leave(state);
}

/* PyMethodDef. */
static const struct method {
  const char *name;
  void *function;
  int flags;
  const char *doc;
} methods[] = {
#define FAST 0x80
#define NO_ARGS 0x04
    /* Of Base. */
    {"_call1", (void *)call1, FAST, "_call1($self, op, /, *args)\n--\n\nCall an operation with one result."},
    {"_call", (void *)calls, FAST, "_call($self, op, /, *args)\n--\n\nCall an operation with any number of results, in a tuple."},
    {"_binary", (void *)binary, FAST, "_binary($self, op, other, swapped=False, /)\n--\n\nCombine the tensor and an operand."},
    {"__del__", (void *)finalize, NO_ARGS, "__del__($self, /)\n--\n\nGive the handle back."},
    /* Of Pin. */
    {"unpin", (void *)unpin, NO_ARGS, "unpin($self, /)\n--\n\nEnd the use of the memory."},
    /* Of the module. */
    {"make", (void *)make, FAST, "Make a tensor of a class by an operation."},
    {"make_all", (void *)made, FAST, "Make tensors of a class by an operation, in a tuple."},
    {"arguments", (void *)arguments, FAST, "Return values as PolyCallArg."},
    {"bury", (void *)bury, NO_ARGS, "Release the handles of tensors that are gone; return their number."},
    {0},
};

const void *poly_python_methods(void *python, void *const *objects, int n) {
  char text[200];
  int length = 0;
  if (poly_enter("poly_python_methods")) return NULL;
  if (python == NULL) length = snprintf(text, sizeof text, "poly_python_methods: python: NULL, expected the handle of Python's library");
  else if (objects == NULL) length = snprintf(text, sizeof text, "poly_python_methods: objects: NULL, expected %d objects", OBJECTS);
  else if (n != OBJECTS) length = snprintf(text, sizeof text, "poly_python_methods: n: %d, expected %d", n, OBJECTS);
#define FIND(result, name, symbol, parameters) \
  if (length == 0 && (*(void **)&py.name = dlsym(python, symbol)) == NULL) \
    length = snprintf(text, sizeof text, "poly_python_methods: python: has no function %s", symbol);
  FUNCTIONS(FIND)
  if (length > 0) {
    poly_fail(text, (size_t)length);
    return NULL;
  }
  memcpy(&py.int_type, objects, (size_t)n * sizeof *objects);
  poll_signals();
  return methods;
}
