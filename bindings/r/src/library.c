/* Finds and loads libpolygrad.so, and turns its errors into R's conditions. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "glue.h"

#include <R_ext/Altrep.h>

/* What load has found. Other code asks functions(), which loads it first. */
static struct poly_api api;

static PolyCtx *the_context;
static SEXP namespace_;

/* Remembers the namespace of the package, for functions that C calls. */
SEXP r_setup(SEXP package) {
  namespace_ = package;
  R_PreserveObject(package);
  return R_NilValue;
}

SEXP package_function(const char *name) {
  return Rf_findFun(Rf_install(name), namespace_);
}

void raise_error(const char *format, ...) {
  char text[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  SEXP message = PROTECT(Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)));
  SEXP call = PROTECT(Rf_lang2(package_function("raise"), message));
  Rf_eval(call, namespace_);
  UNPROTECT(2);
  Rf_error("%s", text); /* raise does not return */
}

/* Symbols and calls as they are, which R would evaluate as arguments. */
SEXP quoted(SEXP x) {
  return TYPEOF(x) == SYMSXP || TYPEOF(x) == LANGSXP ? Rf_lang2(Rf_install("quote"), x) : x;
}

SEXP call_package(const char *name, SEXP x, SEXP y) {
  x = PROTECT(quoted(x));
  if (y != NULL) y = PROTECT(quoted(y));
  SEXP function = PROTECT(package_function(name));
  SEXP call = PROTECT(y != NULL ? Rf_lang3(function, x, y) : Rf_lang2(function, x));
  SEXP out = Rf_eval(call, R_BaseEnv);
  UNPROTECT(y != NULL ? 4 : 3);
  return out;
}

/* How errors of functions of the library begin, and the name of the function of R, or what its name begins with. */
static const struct {
  const char *prefix, *name;
} names[] = {
    {"poly_array_", ""},
    {"poly_generator_new", "Generator"},
    {"poly_generator_", ""},
    {"poly_instance_from_", "instance_from_"},
    {"poly_instance_load_weights", "import_weights"},
    {"poly_instance_", ""},
    {"poly_mlp_instance: json", "mlp_instance"},
    {"poly_tabm_instance: json", "tabm_instance"},
    {"poly_nam_instance: json", "nam_instance"},
    {"poly_bundle_decode", "read_bundle"},
    {"poly_bundle_encode", "write_bundle"},
    {"poly_safetensors_save: meta", "write_safetensors: metadata"},
    {"poly_safetensors_save", "write_safetensors"},
    {"poly_bind_var", "bind"},
    {"poly_size_op", "Variable"},
    {"poly_seed", "manual_seed"},
    {"poly_", ""},
};

void fail(void) {
  static const char arguments[] = ": arguments: ";
  const char *text = api.poly_last_error(), *name = "";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t length = strlen(names[i].prefix);
    if (strncmp(text, names[i].prefix, length) != 0) continue;
    name = names[i].name;
    text += length;
    break;
  }
  size_t n = strcspn(text, ":");
  if (strncmp(text + n, arguments, sizeof arguments - 1) == 0)
    raise_error("%s%.*s: %s", name, (int)n, text, text + n + sizeof arguments - 1);
  int row, end = 0;
  if (sscanf(text, "feed: tokens: row %d%n", &row, &end) == 1 && end > 0)
    raise_error("feed: tokens: row %d%s", row + 1, text + end);
  raise_error("%s%s", name, *text ? text : "the library reported no error");
}

/* A text with axes, arguments, positions and elements of ... as R counts them, from 1. */
static const char *from_one(const char *text) {
  char *out = R_alloc(2 * strlen(text) + 1, 1), *to = out;
  for (long long i; *text != 0;) {
    int end = 0;
    if ((sscanf(text, "axis %lld%n", &i, &end) == 1 || sscanf(text, "argument %lld%n", &i, &end) == 1) && end > 0 && i >= 0) {
      to += sprintf(to, "%.*s %lld", text[1] == 'x' ? 4 : 8, text, i + 1);
    } else if (sscanf(text, "tensors[%lld]%n", &i, &end) == 1 && end > 0) {
      to += sprintf(to, "..%lld", i + 1);
    } else if ((sscanf(text, "weights[%lld]%n", &i, &end) == 1 || sscanf(text, "arrays[%lld]%n", &i, &end) == 1) && end > 0) {
      to += sprintf(to, "%.*s[%lld]", text[0] == 'w' ? 7 : 6, text, i + 1);
    } else if (sscanf(text, "index: %lld is out of bounds%n", &i, &end) == 1 && end > 0) {
      to += sprintf(to, "index: %lld is out of bounds", i + (i >= 0));
    } else {
      end = 1;
      *to++ = *text;
    }
    text += end;
  }
  *to = 0;
  return out;
}

/* text begins with the name of a C function, and of the operation if that is another one. */
void fail_in(const char *function, const char *text) {
  static const char binary[] = "poly_array_binary";
  const char *args = strncmp(text, binary, sizeof binary - 1) == 0 ? ": arguments: " : ": args: ";
  const char *packed = strncmp(text, "poly_", 5) == 0 ? strstr(text, args) : NULL;
  int traced = packed != NULL && strncmp(text, "poly_expr_", 10) == 0; /* no name of an operation follows */
  if (packed != NULL) text = packed + strlen(args);
  const char *rest = traced ? NULL : strstr(text, ": ");
  rest = rest != NULL ? rest + 2 : text;
  /* The library calls a target Y, as tinygrad does. */
  if (strncmp(rest, "Y: ", 3) == 0) raise_error("%s: target: %s", function, rest + 3);
  raise_error("%s: %s", function, from_one(rest));
}

void missing(const char *name) {
  raise_error("%s: this libpolygrad.so (version %s) does not have it; the package needs a newer one", name,
              api.poly_version ? api.poly_version() : "unknown");
}

static void *symbol(void *library, const char *name) { return dlsym(library, name); }

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) raise_error("%s cannot be loaded: %s", path, dlerror());
#define FIND(name) *(void **)&api.name = symbol(library, #name);
  POLY_FUNCTIONS(FIND)
#undef FIND
  if (api.poly_abi_version == NULL || api.poly_last_error == NULL) {
    memset(&api, 0, sizeof api);
    raise_error("%s is not a libpolygrad.so that this package can use", path);
  }
  if (api.poly_abi_version() != POLY_ABI_VERSION) {
    int version = api.poly_abi_version();
    memset(&api, 0, sizeof api);
    raise_error("%s has interface version %d, expected %d", path, version, POLY_ABI_VERSION);
  }
}

static void after_fork(void);

/* The path is chosen by R code (R/library.R), once. */
static void start(void) {
  SEXP call = PROTECT(Rf_lang1(package_function("library_path")));
  SEXP path = PROTECT(Rf_eval(call, namespace_));
  if (api.poly_ctx_new == NULL) load(R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0))));
  the_context = api.poly_ctx_new();
  UNPROTECT(2);
  if (the_context == NULL) fail();
  pthread_atfork(NULL, NULL, after_fork);
  watch_interrupts();
}

/* The library does not work in a forked child; its first call there says so. */
static int forked;

static void after_fork(void) { forked = 1; }

/* Whether the library is waiting for R's answer: a call now would wait for itself. */
static int asking;

int is_asking(void) { return asking; }

struct poly_api *functions(void) {
  if (the_context == NULL) start();
  return &api;
}

PolyCtx *context(void) {
  if (the_context == NULL) start();
  if (forked && api.poly_ctx_live_nodes(the_context) < 0) fail();
  if (asking) raise_error("the library is computing; what R runs meanwhile cannot use it");
  return the_context;
}

/* For finalizers, which must not raise errors. */
PolyCtx *context_or_null(void) { return the_context; }

SEXP r_loaded(void) { return Rf_ScalarLogical(the_context != NULL); }

/* Objects of the library that R's collector releases. */

static void finalize(SEXP x) {
  void *object = R_ExternalPtrAddr(x);
  if (object == NULL) return;
  if (asking) {
    R_RegisterCFinalizerEx(x, finalize, FALSE);
    return;
  }
  R_ClearExternalPtr(x);
  Release release = (Release)R_ExternalPtrAddrFn(R_ExternalPtrTag(x));
  if (release != NULL) release(object);
}

/* What R would write of a pointer is an error of saveRDS, not one of whoever reads it. */
static SEXP unsaved;

static SEXP refuse_method(SEXP x) {
  (void)x;
  raise_error("saveRDS: save get_state_dict(x) of an optimizer, model$save_bundle() of a model; programs are compiled again");
}

static R_xlen_t one_method(SEXP x) {
  (void)x;
  return 1;
}

void make_unsaved(DllInfo *dll) {
  R_altrep_class_t class = R_make_altraw_class("unsaved", "polygrad", dll);
  R_set_altrep_Length_method(class, one_method);
  R_set_altrep_Serialized_state_method(class, refuse_method);
  unsaved = R_new_altrep(class, R_NilValue, R_NilValue);
  R_PreserveObject(unsaved);
}

SEXP owned(void *object, Release release, SEXP kept) {
  if (object == NULL) fail();
  SEXP tag = PROTECT(R_MakeExternalPtrFn((DL_FUNC)release, R_NilValue, unsaved));
  SEXP x = PROTECT(R_MakeExternalPtr(object, tag, kept));
  R_RegisterCFinalizerEx(x, finalize, TRUE);
  UNPROTECT(2);
  return x;
}

void *held(SEXP x, Release release, const char *what) {
  context();
  void *object = TYPEOF(x) == EXTPTRSXP ? R_ExternalPtrAddr(x) : NULL;
  SEXP tag = object != NULL ? R_ExternalPtrTag(x) : R_NilValue;
  if (TYPEOF(tag) != EXTPTRSXP || R_ExternalPtrAddrFn(tag) != (DL_FUNC)release) {
    raise_error("%s of another session cannot be used", what);
  }
  return object;
}

void let_go(SEXP x) { finalize(x); }

/* What the library says about itself. */
SEXP r_library_info(void) {
  SEXP out = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(out, 0, Rf_mkCharCE(P.poly_version ? P.poly_version() : "", CE_UTF8));
  SET_STRING_ELT(out, 1, Rf_mkCharCE(P.poly_build_info ? P.poly_build_info() : "", CE_UTF8));
  UNPROTECT(1);
  return out;
}

/* The names of all devices, and which of them can run kernels. */
SEXP r_devices(void) {
  int n = P.poly_device_count();
  SEXP out = PROTECT(Rf_allocVector(LGLSXP, n));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++) {
    LOGICAL(out)[i] = P.poly_device_available(i) == 1;
    SET_STRING_ELT(names, i, Rf_mkCharCE(P.poly_device_name(i), CE_UTF8));
  }
  Rf_setAttrib(out, R_NamesSymbol, names);
  UNPROTECT(2);
  return out;
}

/* Interrupts. The library asks between kernels whether to go on. R's own check
 * would jump over the library's frames, so it runs under R_ToplevelExec, and the
 * interrupt is raised again when the library has returned. */
static int interrupted;
static pthread_t main_thread;

static void check(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

/* Others in this process may run the library in threads, where R must not be called. */
static int poll(void *unused) {
  (void)unused;
  if (!pthread_equal(pthread_self(), main_thread)) return 0;
  asking = 1;
  if (!R_ToplevelExec(check, NULL)) interrupted = 1;
  asking = 0;
  return interrupted;
}

void watch_interrupts(void) {
  main_thread = pthread_self();
  if (api.poly_set_poll != NULL) api.poly_set_poll(poll, NULL);
}

void finish(int status) {
  int stop = interrupted;
  interrupted = 0;
  if (stop) {
    SEXP call = PROTECT(Rf_lang1(package_function("interrupt")));
    Rf_eval(call, namespace_);
    UNPROTECT(1);
  }
  if (status != 0) fail();
}
