/* Random calls: fuzz SECONDS SEED [PROGRESS] makes rounds of calls with random
 * handles and arguments, round r with seed SEED + r, until the time is over (at
 * least one). A round is a pair of contexts; at its end everything is given back,
 * and no node may be left. Memory that is resident after the first rounds may not
 * grow. What a round does depends on nothing but its seed: fuzz 0 SEED repeats it.
 *
 * Sizes are kept small where kernels run, for what is fuzzed is the interface. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <time.h>

#include "calls_gen.h"

enum { CALLS = 300, MOST_NODES = 256, MOST_OTHERS = 6, CHEAP = 1024, SHALLOW = 10, CONTEXTS = 2 };

static struct fixture f;
static struct {
  uint64_t seed;
  int call;
  char text[200];
} *progress;
static uint64_t state, failures, total, errors, ran;

static uint64_t next(void) { /* splitmix64 */
  uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static int below(int n) { return (int)(next() % (uint64_t)n); }
static int chance(int percent) { return below(100) < percent; }

static void complain(const char *what) {
  failures++;
  fprintf(stderr, "seed %llu, call %d, %s: %s (last error: \"%s\")\n  repeat with: fuzz 0 %llu\n", (unsigned long long)progress->seed, progress->call,
          progress->text, what, poly_last_error(), (unsigned long long)progress->seed);
}

/* The nodes that a context has handed out, once for each reference. */
struct node {
  PolyUOp *h;
  int64_t cost; /* elements of the largest tensor below it */
  int depth, op;
};
static struct world {
  PolyCtx *ctx;
  struct node nodes[MOST_NODES];
  int n;
} worlds[CONTEXTS];

static void *others[NUMBER][MOST_OTHERS]; /* steps, instances and so on */
static void *dead[64];                    /* handles that were given back */
static int n_dead;

static void bury(void *h) { dead[n_dead++ % 64] = h; }

static void release_one(struct world *w, int i) {
  bury(w->nodes[i].h);
  poly_uop_release(w->ctx, w->nodes[i].h);
  w->nodes[i] = w->nodes[--w->n];
}

/* Sponges are 24 kernels for each block: they are not run. */
static int64_t cost_of(const struct function *fn) {
  return strcmp(fn->name, "poly_hash") == 0 || strcmp(fn->name, "poly_keccak") == 0 ? CHEAP + 1 : 0;
}

static void own_node(struct world *w, PolyUOp *h, int64_t cost, int depth) {
  if (w->n == MOST_NODES) release_one(w, below(w->n));
  int64_t n = poly_numel(w->ctx, h);
  w->nodes[w->n++] = (struct node){h, n > cost ? n : cost, depth, poly_uop_op(w->ctx, h)};
}

static void own_other(int kind, void *h) {
  int i = below(MOST_OTHERS);
  if (others[kind][i]) {
    bury(others[kind][i]);
    destroy[kind](others[kind][i]);
  }
  others[kind][i] = h;
}

static void *bad_handle(void) {
  switch (below(6)) {
    case 0: return NULL;
    case 1: return (void *)(uintptr_t)next();
    case 2: return &state;
    case 3: return worlds[below(CONTEXTS)].ctx;
    case 4: return (void *)((uintptr_t)(6 * 16 + below(16)) << 40 | (next() & 0xfffff0));
    default: return dead[below(64)];
  }
}

/* The operation that a parameter wants: a program where it is called sink. */
static int wanted(const char *name) {
  static const struct { const char *name; int op; } ops[] = {
      {"sink", POLY_OP_SINK}, {"store", POLY_OP_STORE}, {"stores", POLY_OP_STORE}, {"var", POLY_OP_DEFINE_VAR}, {"buf", POLY_OP_BUFFER},
      {"buffer", POLY_OP_BUFFER}, {"buffers", POLY_OP_BUFFER}, {"target", POLY_OP_BUFFER}, {"targets", POLY_OP_BUFFER}, {"binds", POLY_OP_BUFFER}};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    if (strcmp(name, ops[i].name) == 0) return ops[i].op;
  return 0;
}

static struct node *pick(struct world *w, int runs, int op) {
  for (int tries = 0; tries < 60 && w->n > 0; tries++) {
    struct node *x = &w->nodes[below(w->n)];
    if (runs && (x->cost > CHEAP || x->depth > SHALLOW)) continue;
    if (op ? x->op == op : x->op != POLY_OP_SINK && x->op != POLY_OP_STORE) return x;
  }
  return NULL;
}

/* An instance, whose buffers are not larger than the memory that is bound to them. */
static void *any_instance(void) {
  void *h = others[INSTANCE][below(MOST_OTHERS)];
  int64_t n;
  for (int i = 0; i < poly_instance_buf_count(h); i++)
    if (poly_instance_buf_data(h, i, &n) && n > (1 << 14)) return f.instance;
  return h;
}

/* One call is made of these. */
static struct {
  struct world *w;
  int64_t cost;
  int depth, runs;
} now;

static PolyUOp *any_node(const char *name) {
  if (chance(3)) return bad_handle();
  struct world *w = chance(2) ? &worlds[below(CONTEXTS)] : now.w;
  struct node *x = pick(w, now.runs, chance(95) ? wanted(name) : POLY_OP_SINK);
  if (!x) return NULL;
  if (x->cost > now.cost) now.cost = x->cost;
  if (x->depth > now.depth) now.depth = x->depth;
  return x->h;
}

static int64_t any_size(void) {
  static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT_MAX, INT_MIN, INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62, -2, 1000, 65536};
  if (chance(3)) return odd[below(10)];
  return chance(15) ? below(9) - 2 : below(5);
}

static double any_real(void) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e-310, 0, -1, 0.5, 3, 1e9};
  return chance(50) ? odd[below(10)] : below(9) / 4.0;
}

static const char *any_string(void) {
  static const char *const good[] = {"ij,jk->ik", "ij->ji", "ii->i", "i,i->", "a b -> b a", "(a b) c -> b a c", "... a -> a ...", "n", "x", "forward",
                                     "loss", "output", "layers.0.weight", "float32", "int8", "{}", MLP, NAM, HF_CONFIG};
  static char text[64];
  if (chance(80)) return good[below(19)];
  if (chance(10)) return NULL;
  int n = below(60);
  for (int i = 0; i < n; i++) text[i] = chance(50) ? "abij->,().{}[]\": 0"[below(18)] : (char)(1 + below(255));
  text[n] = 0;
  return text;
}

/* A file, often a damaged one, that ends where its memory ends. */
static int64_t file_len; /* of the file that is an argument, -1 if there is none */

static void *any_file(void) {
  enum { MOST = 1 << 16 };
  static char *memory;
  if (!memory) memory = tail(MOST);
  const uint8_t *from[] = {f.ir, f.weights, f.bundle, (const uint8_t *)MLP, (const uint8_t *)NAM, (const uint8_t *)HF_CONFIG};
  int sizes[] = {f.ir_len, f.weights_len, f.bundle_len, sizeof MLP - 1, sizeof NAM - 1, sizeof HF_CONFIG - 1}, k = below(6);
  int n = chance(85) ? sizes[k] : below(sizes[k]);
  char *p = memory + MOST - n;
  memcpy(p, from[k], (size_t)n);
  if (chance(60) && n > 0)
    for (int i = 1 + below(4); i > 0; i--) p[below(n)] = chance(50) ? (char)next() : "\0\377\x7f\x80"[below(4)];
  file_len = n;
  return p;
}

static void any_argument(const struct function *fn, int i, union arg *a) {
  static union { PolyArg arg; PolyDType dtype; PolyShape shape; char bytes[256]; } records[MAX_PARAMS];
  static int64_t ints[MAX_PARAMS][ROOM];
  static PolyUOp *nodes[MAX_PARAMS][ROOM];
  static void *pointers[MAX_PARAMS][ROOM];
  static PolyBufferBinding bindings[ROOM];
  static struct { void *node, *data; } old[ROOM];
  const struct param *p = &fn->params[i];
  union arg good[MAX_PARAMS];
  fn->good(&f, good);
  switch (p->kind) {
    case CTX: a[i].p = chance(97) ? now.w->ctx : bad_handle(); return;
    case NODE: a[i].p = any_node(p->name); return;
    case NUMBER:
      if (p->flags & COUNT) {
        a[i].i = chance(70) ? good[i].i : chance(95) ? below(9) - 1 : fn->flags & TRUSTS ? 3 : below(ROOM);
      } else if (chance(40)) {
        a[i].i = good[i].i;
      } else {
        a[i].i = chance(60) ? below(20) - 2 : any_size();
      }
      return;
    case REAL: a[i].d = any_real(); return;
    case STRING: a[i].p = (void *)any_string(); return;
    case NODES:
      memset(nodes[i], 0, sizeof nodes[i]);
      if (!(p->flags & OUTPUT))
        for (int k = 0; k < 8; k++) nodes[i][k] = any_node(p->name);
      a[i].p = chance(95) ? (void *)nodes[i] : NULL;
      return;
    case POINTERS:
      for (int k = 0; k < ROOM; k++) pointers[i][k] = chance(97) && good[i].p == (void *)f.pointers ? f.memory : NULL;
      a[i].p = chance(95) ? (void *)pointers[i] : NULL;
      return;
    case INTS:
      if (p->size < 8 || fn->flags & SMALL) {
        for (int k = 0; k < ROOM; k++)
          if (p->size < 8) ((int32_t *)ints[i])[k] = below(5);
          else ints[i][k] = below(3);
      } else {
        int like = chance(50);
        for (int k = 0; k < ROOM; k++) ints[i][k] = like && !(p->flags & OUTPUT) && good[i].p && k < 8 ? ((int64_t *)good[i].p)[k] : any_size();
      }
      a[i].p = chance(90) ? (void *)ints[i] : NULL;
      return;
    case RECORDS:
      a[i].p = good[i].p;
      if (good[i].p == (void *)f.bindings) {
        int form = below(2);
        for (int k = 0; k < 8; k++) {
          PolyUOp *x = any_node(p->name);
          bindings[k] = (PolyBufferBinding){x, {chance(95) ? f.memory : NULL, 1 << 16, 0, false}};
          old[k].node = x, old[k].data = f.memory;
        }
        a[i].p = form ? (void *)bindings : (void *)old;
      }
      if (chance(5)) a[i].p = NULL;
      return;
    case MEMORY:
      a[i].p = f.memory;
      if (p->size == 1 && good[i].p != f.memory && i + 1 < fn->n && (fn->params[i + 1].flags & COUNT)) a[i].p = any_file();
      if (chance(5)) a[i].p = NULL;
      return;
    case RECORD:
      memcpy(&records[i], good[i].p, (size_t)p->size);
      if (chance(10)) memset(&records[i], chance(50) ? 0 : 0xff, sizeof records[i]);
      a[i].p = &records[i];
      return;
    case CALLBACK: a[i].p = NULL; return;
    case INSTANCE: a[i].p = chance(90) ? any_instance() : bad_handle(); return;
    default: a[i].p = chance(90) ? others[p->kind][below(MOST_OTHERS)] : bad_handle();
  }
}

/* Functions that end the life of a handle are called by release_one and own_other. */
static int callable(const struct function *fn) {
  if (fn->flags & (FINALIZER | MANUAL) || fn->ret == CTX) return 0;
  if (fn->ret < NUMBER && fn->ret != NODE && !destroy[fn->ret]) return 0;
  return strcmp(fn->name, "poly_debug_uop") != 0 && strcmp(fn->name, "poly_debug_opsets") != 0;
}

/* The world of a node that a call made: the context may have been another one's. */
static struct world *world_of(const struct function *fn, const union arg *a, const void *node) {
  for (int k = 0; k < CONTEXTS; k++)
    if (fn->n > 0 && fn->params[0].kind == CTX ? worlds[k].ctx == a[0].p : poly_ctx_owns_ptr(worlds[k].ctx, node)) return &worlds[k];
  return now.w;
}

static void call(void) {
  const struct function *fn;
  int runs = chance(12) ? RUNS : 0;
  do fn = &functions[below(N_FUNCTIONS)];
  while (!callable(fn) || (fn->flags & RUNS) != runs);
  union arg a[MAX_PARAMS], r = {0};
  now.w = &worlds[below(CONTEXTS)], now.cost = cost_of(fn), now.depth = 0, now.runs = (fn->flags & RUNS) != 0;
  memset(a, 0, sizeof a);
  file_len = -1;
  for (int i = 0; i < fn->n; i++) {
    int file = i > 0 && (fn->params[i - 1].kind == MEMORY || fn->params[i - 1].kind == STRING) && (fn->params[i].flags & COUNT);
    any_argument(fn, i, a);
    if (!file) continue;
    /* How long memory is, the caller has to say rightly. */
    if (fn->params[i - 1].kind == STRING) a[i].i = a[i - 1].p ? (int64_t)strlen(a[i - 1].p) : 0;
    else if (file_len >= 0) a[i].i = a[i - 1].p ? file_len : 0, file_len = -1;
    else if (a[i].i > 4096) a[i].i = 4096;
  }
  snprintf(progress->text, sizeof progress->text, "%s", fn->name);
  poly_clear_error();
  fn->call(a, &r);
  total++;
  char text[300];
  snprintf(text, sizeof text, "%s", poly_last_error());
  size_t n = strlen(fn->name);
  if (text[0]) {
    errors++;
    if (strncmp(text, fn->name, n) != 0 || strncmp(text + n, ": ", 2) != 0) complain("the error does not begin with the function");
    if (strstr(text, "internal error") || strstr(text, "runtime error")) complain("a panic of the library");
    if (!(fn->flags & OWN) && (fn->ret == NUMBER ? r.i != (fn->flags & ZERO ? 0 : -1) : fn->ret != REAL && fn->ret != RECORD && fn->ret != NOTHING && r.p != NULL)) complain("there is an error, but not its value");
  } else if (now.runs) {
    ran++;
  }
  for (int i = 0; i < fn->n; i++)
    if (fn->params[i].kind == NODES && (fn->params[i].flags & OUTPUT) && a[i].p)
      for (int k = 0; k < ROOM; k++) {
        PolyUOp *h = ((PolyUOp **)a[i].p)[k];
        if (h && text[0]) complain("a call that failed has written a node");
        if (h) own_node(world_of(fn, a, h), h, now.cost, now.depth + 1);
      }
  if (!r.p) return;
  if (fn->ret == NODE) {
    own_node(world_of(fn, a, r.p), r.p, now.cost, now.depth + 1);
  } else if (fn->ret < NUMBER) {
    own_other(fn->ret, r.p);
  } else if (fn->flags & MALLOCED) {
    free(r.p);
  }
}

static void begin(void) {
  fixture_make(&f);
  for (int k = 0; k < CONTEXTS; k++) {
    struct world *w = &worlds[k];
    contexts[2 + k] = w->ctx = poly_ctx_new(), w->n = 0;
    for (int i = 0; i < 12; i++) {
      static const int types[] = {POLY_DTYPE_FLOAT32, POLY_DTYPE_FLOAT64, POLY_DTYPE_INT32, POLY_DTYPE_BOOL, POLY_DTYPE_INT64, POLY_DTYPE_FLOAT16, POLY_DTYPE_UINT32};
      int64_t shape[3];
      int ndim = below(4), dtype = i < 5 ? POLY_DTYPE_FLOAT32 : types[below(7)];
      for (int j = 0; j < ndim; j++) shape[j] = chance(5) ? 0 : 1 + below(4);
      own_node(w, poly_buffer_host(w->ctx, dtype, shape, ndim, f.memory, 1 << 15), 0, 0);
    }
    own_node(w, poly_buffer_f32(w->ctx, 4), 0, 0);
    own_node(w, poly_define_var(w->ctx, "n", 1, 4), 0, 0);
    PolyUOp *store = poly_store_val(w->ctx, w->nodes[12].h, w->nodes[12].h);
    own_node(w, store, 0, 0);
    own_node(w, poly_sink1(w->ctx, store), 0, 0);
  }
}

static void end(void) {
  for (int kind = OTHER; kind < NUMBER; kind++)
    for (int i = 0; i < MOST_OTHERS; i++)
      if (others[kind][i]) destroy[kind](others[kind][i]), others[kind][i] = NULL;
  /* Persistent tensors hold nodes in the contexts in which they were used. */
  poly_nn_linear_free(f.layer);
  poly_tensor_free(f.persistent);
  for (int k = 0; k < CONTEXTS; k++) {
    struct world *w = &worlds[k];
    int half = chance(30); /* sometimes a context dies first, and what it has is given back afterwards */
    while (!half && w->n > 0) release_one(w, w->n - 1);
    if (!half && poly_ctx_live_nodes(w->ctx) != 0) complain("nodes are left when all was released");
    bury(w->ctx);
    poly_ctx_destroy(w->ctx);
    while (w->n > 0) release_one(w, w->n - 1);
  }
  for (int kind = STEP; kind < OTHER; kind++)
    for (int i = 0; i < MOST_OTHERS; i++)
      if (others[kind][i]) destroy[kind](others[kind][i]), others[kind][i] = NULL;
  fixture_drop(&f);
}

static long resident(void) { /* KiB */
  long pages = 0, rss = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &rss) != 2) return 0;
  fclose(file);
  return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Memory that the process may have more at the end, in KiB: what Go has not given back yet. */
enum { MOST_GROWTH = 32 << 10 };

int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 1;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int file = argc > 3 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1;
  if (file >= 0 && ftruncate(file, sizeof *progress) != 0) return 2;
  progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
  fixture_arrays(&f);
  struct timespec t0, t;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  long first = 0, last = 0, rss = 0;
  double past = 0, end_at = seconds;
  for (uint64_t r = 0; r == 0 || past < end_at; r++) {
    state = progress->seed = seed + r;
    begin();
    for (progress->call = 0; progress->call < CALLS; progress->call++) call();
    end();
    if (failures > 20) break;
    clock_gettime(CLOCK_MONOTONIC, &t);
    past = (double)(t.tv_sec - t0.tv_sec) + 1e-9 * (double)(t.tv_nsec - t0.tv_nsec);
    if (r % 20 == 19) { /* compiled kernels are no leak */
      poly_cpu_cache_flush();
      rss = resident();
      if (!first || past < seconds / 3) first = rss > first ? rss : first;
      /* Go gives memory back some time after it was used: a leak shows in every look. */
      if (past > end_at - seconds / 3) last = last && last < rss ? last : rss;
    }
    /* On a busy machine there are few looks: growth is a leak if it stays for three times the time. */
    if (past >= end_at && last > first + MOST_GROWTH && end_at < 3 * seconds) end_at += seconds, last = 0;
  }
  printf("%llu calls, %llu errors, %llu runs, resident %ld MiB after a third, %ld MiB at the end\n", (unsigned long long)total,
         (unsigned long long)errors, (unsigned long long)ran, first >> 10, last >> 10);
  if (last > first + MOST_GROWTH) complain("the memory of the process grows");
  return failures != 0;
}
