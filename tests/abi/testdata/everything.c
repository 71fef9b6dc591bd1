/* Every function, with good arguments and then with one argument at a time that
 * is bad: everything FIRST PROGRESS begins with function number FIRST and keeps
 * in the file PROGRESS what it is about to call, for whoever finds it dead. */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <time.h>

#include "calls_gen.h"

enum { LIMIT_S = 10 };

static struct fixture f;
static struct {
  int number;
  char text[1000];
} *progress;
static int failures, calls;

static void complain(const char *what) {
  failures++;
  fprintf(stderr, "%s: %s (last error: \"%s\")\n", progress->text, what, poly_last_error());
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A name stands in a text as a word. */
static int mentions(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
    if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) && !(isalnum((unsigned char)p[n]) || p[n] == '_')) return 1;
  return 0;
}

/* Gives back what a call returned. */
static void drop(const struct function *fn, const union arg *a, union arg r) {
  if (fn->ret == NODE) poly_uop_release(f.ctx, r.p);
  else if (fn->ret < NUMBER && destroy[fn->ret]) destroy[fn->ret](r.p);
  else if (fn->flags & MALLOCED) free(r.p);
  for (int i = 0; i < fn->n; i++)
    if (fn->params[i].kind == NODES && (fn->params[i].flags & OUTPUT) && a[i].p) {
      PolyUOp **out = a[i].p;
      for (int k = 0; k < ROOM; k++)
        if (out[k]) poly_uop_release(f.ctx, out[k]), out[k] = NULL;
    }
}

enum demand { ANYTHING, FAILURE, SUCCESS };

/* Calls a function; must says how it has to end, and which (if not -1) what argument the error has to name. */
static void check(const struct function *fn, const union arg *a, enum demand must, int which, const char *label) {
  union arg r = {0};
  char text[1100];
  snprintf(progress->text, sizeof progress->text, "%s(%s%s)", fn->name, which >= 0 ? fn->params[which].name : "", label);
  int64_t live = poly_ctx_live_nodes(f.ctx);
  double start = now();
  calls++;
  poly_clear_error();
  fn->call(a, &r);
  if (now() - start > LIMIT_S) complain("takes too long");
  snprintf(text, sizeof text, "%s", poly_last_error());
  int failed = text[0] != 0, quiet = fn->ret == NOTHING || (fn->flags & FINALIZER);
  if (failed) {
    size_t n = strlen(fn->name);
    if (strncmp(text, fn->name, n) != 0 || strncmp(text + n, ": ", 2) != 0) complain("the error does not begin with the function");
    if (strchr(text, '\n')) complain("the error has more than one line");
    if (strstr(text, "internal error") || strstr(text, "runtime error")) complain("a panic of the library");
    if (must == SUCCESS) complain("fails");
    if (!(fn->flags & OWN) && (fn->ret == NUMBER ? r.i != (fn->flags & ZERO ? 0 : -1) : fn->ret != REAL && fn->ret != RECORD && r.p != NULL))
      complain("there is an error, but not its value");
    if (must == FAILURE && which >= 0) {
      size_t k = strlen(fn->params[which].name);
      if (strncmp(text + n + 2, fn->params[which].name, k) != 0 || !strchr(":[", text[n + 2 + k])) complain("the error names another argument");
    }
    /* "operands" and "arguments" are several of them. */
    int named = fn->n == 0 || strncmp(text + n, ": operands: ", 12) == 0 || strncmp(text + n, ": arguments: ", 13) == 0;
    for (int i = 0; i < fn->n; i++) named |= mentions(text + n, fn->params[i].name);
    if (!named && !strstr(text, "memory")) complain("the error names no argument");
  } else {
    if (must == FAILURE && !quiet) complain("does not fail");
    if (!(fn->flags & EMPTY) && fn->ret != NOTHING && (fn->ret == NUMBER ? r.i == -1 : fn->ret != REAL && fn->ret != RECORD && r.p == NULL))
      complain("gives the value of an error, but no error");
    drop(fn, a, r);
  }
  if (!quiet && !(fn->flags & KEEPS) && poly_ctx_live_nodes(f.ctx) != live) complain("nodes are left");
  if (quiet || fn->flags & KEEPS) {
    fixture_drop(&f);
    fixture_make(&f);
  }
}

/* Calls fn with argument i replaced. */
static void with(const struct function *fn, int i, union arg v, enum demand must, const char *label) {
  union arg a[MAX_PARAMS];
  fn->good(&f, a);
  a[i] = v;
  check(fn, a, must, i, label);
}

static void bad_handles(const struct function *fn, int i) {
  const struct param *p = &fn->params[i];
  void *stale[OTHER] = {f.stale_ctx, f.stale, f.stale_step, f.stale_instance, NULL};
  void *good[OTHER] = {f.ctx, f.x, f.step, f.instance, f.plan};
  enum demand must = FAILURE;
  union arg a[MAX_PARAMS];
  fn->good(&f, a);
  with(fn, i, (union arg){.p = NULL}, p->flags & OPTIONAL ? SUCCESS : FAILURE, " NULL");
  with(fn, i, (union arg){.p = (void *)1}, must, " 1");
  with(fn, i, (union arg){.p = &must}, must, " on the stack");
  with(fn, i, (union arg){.p = (void *)0x6fffffffff0}, must, " far");
  with(fn, i, (union arg){.p = (void *)-16}, must, " -16");
  with(fn, i, (union arg){.p = (char *)a[i].p + 16 * 4096}, must, " never issued");
  with(fn, i, (union arg){.p = (char *)a[i].p + 1}, must, " off by one");
  if (p->kind < OTHER && stale[p->kind]) with(fn, i, (union arg){.p = stale[p->kind]}, must, " stale");
  for (int k = 0; k < OTHER; k++)
    if (k != (int)p->kind) with(fn, i, (union arg){.p = good[k]}, must, " of another kind");
  if (p->kind == NODE && fn->params[0].kind == CTX) with(fn, i, (union arg){.p = f.foreign}, must, " foreign");
  if (p->kind == NODE) {
    PolyUOp *odd[] = {f.sink, f.store, f.var, f.bound, f.scalar, f.row, f.index, f.mask, f.seed, poly_const_float(f.ctx, NAN)};
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
      char label[40];
      snprintf(label, sizeof label, " odd node %zu", k);
      with(fn, i, (union arg){.p = odd[k]}, ANYTHING, label);
    }
    poly_uop_release(f.ctx, odd[9]);
  }
}

/* Arrays before a huge count: the first element ends the reading. */
static void poison(const struct function *fn, union arg *a) {
  static void *nothing[ROOM];
  static int64_t huge[512];
  for (int k = 0; k < 512; k++) huge[k] = INT64_MAX;
  for (int k = 0; k < fn->n; k++)
    if (fn->params[k].flags & OUTPUT || !a[k].p) continue;
    else if (fn->params[k].kind == NODES || fn->params[k].kind == POINTERS || fn->params[k].kind == RECORDS) a[k].p = nothing;
    else if (fn->params[k].kind == INTS) a[k].p = huge;
}

static void bad_numbers(const struct function *fn, int i) {
  const struct param *p = &fn->params[i];
  static const int64_t values[] = {INT_MIN, -17, -2, -1, 0, 1, 2, 3, 7, 8, 9, 16, 17, 33, 64, 99, 300, INT_MAX - 1, INT_MAX,
                                   INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX / 2, INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(1) << 40, INT64_C(1) << 62};
  size_t n = sizeof values / sizeof values[0];
  for (size_t k = 0; k < (p->size == 8 ? n : 19); k++) {
    union arg a[MAX_PARAMS];
    char label[60];
    fn->good(&f, a);
    /* What lies behind a block of bytes that is shorter than its caller says, nobody can know. */
    int bytes = i > 0 && (p->flags & COUNT) && (fn->params[i - 1].kind == STRING || fn->params[i - 1].kind == MEMORY);
    if ((bytes || fn->flags & TRUSTS) && (uint64_t)values[k] > (uint64_t)a[i].i && values[k] > 0) continue;
    a[i].i = values[k];
    if ((p->flags & COUNT) && values[k] > 16) poison(fn, a);
    snprintf(label, sizeof label, " %lld", (long long)values[k]);
    check(fn, a, ANYTHING, i, label);
    for (int j = 0; j < fn->n; j++)
      if ((p->flags & COUNT) && (fn->params[j].kind >= NODES && fn->params[j].kind <= MEMORY)) a[j].p = NULL;
    snprintf(label, sizeof label, " %lld, arrays NULL", (long long)values[k]);
    if (p->flags & COUNT) check(fn, a, ANYTHING, i, label);
  }
}

static void bad_reals(const struct function *fn, int i) {
  static const double values[] = {NAN, INFINITY, -INFINITY, 0, -0.5, 2, -1e9, 1e308, 1e-320};
  for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
    char label[40];
    snprintf(label, sizeof label, " %g", values[k]);
    with(fn, i, (union arg){.d = values[k]}, ANYTHING, label);
  }
}

static void bad_strings(const struct function *fn, int i) {
  static const char *const texts[] = {"", "(", ")", "->", "a->", "->a", "a b -> b a (", "...", "%s%n%d", "\xff\xfe\x80", "\xc3", "i,j,k->", "((a))->a", "a a -> a",
                                      "1 1 -> 1", "{", "[", "{\"layers\": 3}", "{\"layers\": [1e300, -5]}", "{\"layers\": [4000000000, 4000000000]}",
                                      "{\"layers\": [], \"batch_size\": -1}", "{\"n_features\": 1e9, \"hidden_sizes\": [1e9]}", "null", "\"x\"",
                                      "{\"model_type\": \"gpt2\", \"n_embd\": -4}", "{\"model_type\": \"gpt2\", \"n_layer\": 2000000000}", "float", "FLOAT32"};
  static char *longest;
  enum { LONG = 1 << 18 };
  size_t n = sizeof texts / sizeof texts[0];
  union arg a[MAX_PARAMS];
  char label[60];
  if (!longest) longest = tail(LONG);
  for (size_t k = 0; k < n + 4; k++) {
    char *s = longest;
    if (k < n)
      s = longest + LONG - strlen(texts[k]) - 1, strcpy(s, texts[k]);
    else
      memset(s, "([a,"[k - n], LONG - 1), longest[LONG - 1] = 0;
    fn->good(&f, a);
    a[i].p = s;
    if (i + 1 < fn->n && (fn->params[i + 1].flags & COUNT)) a[i + 1].i = (int64_t)strlen(s);
    snprintf(label, sizeof label, " text %zu: %.20s", k, s);
    check(fn, a, ANYTHING, i, label);
  }
  with(fn, i, (union arg){.p = NULL}, fn->params[i].flags & OPTIONAL ? SUCCESS : FAILURE, " NULL");
}

static void bad_node_arrays(const struct function *fn, int i) {
  static PolyUOp *array[ROOM];
  PolyUOp *bad[] = {NULL, (PolyUOp *)1, (PolyUOp *)(void *)array, f.stale, f.foreign, (PolyUOp *)(void *)f.step};
  if (fn->params[i].flags & OUTPUT) {
    with(fn, i, (union arg){.p = NULL}, fn->params[i].flags & OPTIONAL ? SUCCESS : FAILURE, " NULL");
    return;
  }
  with(fn, i, (union arg){.p = NULL}, fn->params[i].flags & OPTIONAL ? SUCCESS : FAILURE, " NULL");
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
    char label[40];
    for (int j = 0; j < ROOM; j++) array[j] = bad[k];
    snprintf(label, sizeof label, " of bad nodes %zu", k);
    with(fn, i, (union arg){.p = array}, fn->params[i].flags & OPTIONAL ? ANYTHING : FAILURE, label);
  }
}

static void bad_memory(const struct function *fn, int i) {
  static const int64_t values[] = {0, 1, 3, 5, -1, -2, INT64_MIN, INT64_MAX, INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(1) << 62};
  const struct param *p = &fn->params[i];
  static int64_t *array, *zeros;
  if (!array) array = tail(16 * 16), zeros = tail(4096);
  with(fn, i, (union arg){.p = NULL}, p->flags & OPTIONAL ? SUCCESS : p->flags & OUTPUT ? ANYTHING : FAILURE, " NULL");
  if (p->flags & OUTPUT) return;
  if (p->kind == INTS && p->size >= 8) {
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
      char label[60];
      for (int j = 0; j < 32; j++) array[j] = values[k];
      snprintf(label, sizeof label, " of %lld", (long long)values[k]);
      with(fn, i, (union arg){.p = p->size == 8 ? array + 16 : array}, ANYTHING, label);
      for (int j = 0; j < 32; j++) array[j] = j % 2 ? values[k] : 4;
      snprintf(label, sizeof label, " of 4 and %lld", (long long)values[k]);
      with(fn, i, (union arg){.p = p->size == 8 ? array + 16 : array}, ANYTHING, label);
    }
    return;
  }
  memset(zeros, 0, 4096);
  if (p->size > 1) with(fn, i, (union arg){.p = zeros}, ANYTHING, " of zeros");
  if (p->kind == INTS) {
    memset(zeros, 0xff, 4096);
    with(fn, i, (union arg){.p = zeros}, ANYTHING, " of -1");
  }
}

static void bad_records(const struct function *fn, int i) {
  static char record[4096];
  memset(record, 0, sizeof record);
  with(fn, i, (union arg){.p = record}, ANYTHING, " of zeros");
  memset(record, 0xff, sizeof record);
  with(fn, i, (union arg){.p = record}, ANYTHING, " of ones");
}

static void all_of(const struct function *fn) {
  union arg a[MAX_PARAMS];
  fn->good(&f, a);
  check(fn, a, fn->flags & HOSTED ? FAILURE : SUCCESS, -1, "good");
  for (int i = 0; i < fn->n; i++) switch (fn->params[i].kind) {
      case NUMBER: bad_numbers(fn, i); break;
      case REAL: bad_reals(fn, i); break;
      case STRING: bad_strings(fn, i); break;
      case NODES: bad_node_arrays(fn, i); break;
      case RECORD: bad_records(fn, i); break;
      case CALLBACK: break;
      case POINTERS:
      case INTS:
      case RECORDS:
      case MEMORY: bad_memory(fn, i); break;
      default: bad_handles(fn, i);
    }
  /* Nothing at all. */
  memset(a, 0, sizeof a);
  for (int i = 0; i < fn->n; i++)
    if (fn->params[i].kind == RECORD) a[i].p = f.zeros;
  check(fn, a, ANYTHING, -1, "nothing");
}

int main(int argc, char **argv) {
  int first = argc > 1 ? atoi(argv[1]) : 0;
  int file = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
  if (file >= 0 && ftruncate(file, sizeof *progress) != 0) return 2;
  progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
  fixture_arrays(&f);
  for (int i = first; i < N_FUNCTIONS; i++) {
    progress->number = i;
    fixture_make(&f);
    all_of(&functions[i]);
    fixture_drop(&f);
  }
  printf("%d functions, %d calls\n", N_FUNCTIONS, calls);
  return failures != 0;
}
