/* A step whose kernels are short costs more on the way to Go and back than in its kernels. Once it has run a few times
 * on host buffers alone, Go leaves its calls here, with all arguments, and poly_step_run makes them: it takes the lock
 * of the context, which Go takes too, and looks whether all is as it was. */
#include "quick.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../include/polygrad.h"
#include "_cgo_export.h"

struct call {
  uintptr_t entry;
  uint64_t *args;
};

typedef void enter_fn(uintptr_t entry, uint64_t *args, uintptr_t memory);

struct poly_quick_step {
  /* These are read by who has no lock, and once more by who has. */
  uintptr_t token;
  poly_quick_context *of;
  /* These belong to who holds the lock of the context. */
  enter_fn *enter;
  uintptr_t memory;
  uint64_t unbound; /* that of the context when the arguments were right */
  int n;
  struct call *calls;
  uint64_t *words, *next_word;
  void *arena;
  poly_quick_step *next, *older; /* free; of all */
};

/* Steps by some bits of their token. A step that finds its place taken takes it. */
enum { PLACES = 4096, SLOT_SHIFT = 18 };
static poly_quick_step *places[PLACES];

static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static poly_quick_context *free_contexts, *all_contexts;
static poly_quick_step *free_steps, *all_steps;

static poly_quick_step **place(uintptr_t token) { return &places[token >> SLOT_SHIFT & (PLACES - 1)]; }

/* Runs a step if it is here and nothing speaks against it. */
static int run(uintptr_t token) {
  poly_quick_step *q = __atomic_load_n(place(token), __ATOMIC_ACQUIRE);
  if (q == NULL || __atomic_load_n(&q->token, __ATOMIC_ACQUIRE) != token) return 0;
  poly_quick_context *c = __atomic_load_n(&q->of, __ATOMIC_ACQUIRE);
  uint32_t nobody = 0;
  if (!__atomic_compare_exchange_n(&c->lock, &nobody, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
  int ready = q->token == token && q->of == c && !c->jobs && q->unbound == c->unbound;
  if (ready)
    for (int i = 0; i < q->n; i++) q->enter(q->calls[i].entry, q->calls[i].args, q->memory);
  __atomic_store_n(&c->lock, 0, __ATOMIC_RELEASE);
  return ready;
}

int poly_step_run(PolyStep *step, PolyBufferBinding *binds, int n_binds) {
  if (poly_enter("poly_step_run")) return -1;
  if (n_binds == 0 && run((uintptr_t)step)) return 0;
  return POLY_GO(go_poly_step_run((uintptr_t)step, (void *)binds, n_binds));
}

int poly_function_rerun(PolyFunction *f) {
  if (poly_enter("poly_function_rerun")) return -1;
  return run((uintptr_t)f) ? 0 : POLY_GO(go_poly_function_rerun((uintptr_t)f));
}

poly_quick_step *poly_quick_new(int n, int64_t words, size_t bytes, uintptr_t *arena) {
  enum { LINE = 64 };
  void *calls = calloc((size_t)n + 1, sizeof(struct call)), *w = calloc((size_t)words + 1, sizeof(uint64_t)), *memory = NULL;
  if (calls == NULL || w == NULL || posix_memalign(&memory, LINE, bytes + LINE) != 0) {
    free(calls), free(w);
    return NULL;
  }
  pthread_mutex_lock(&lists);
  poly_quick_step *q = free_steps;
  if (q != NULL) free_steps = q->next;
  if (q == NULL && (q = calloc(1, sizeof *q)) != NULL) q->older = all_steps, all_steps = q;
  pthread_mutex_unlock(&lists);
  if (q == NULL) {
    free(calls), free(w), free(memory);
    return NULL;
  }
  q->n = n;
  q->calls = calls;
  q->words = q->next_word = w;
  q->arena = memory;
  *arena = (uintptr_t)memory;
  return q;
}

void poly_quick_call(poly_quick_step *q, int i, uintptr_t entry, const uint64_t *args, int64_t n) {
  q->calls[i] = (struct call){entry, q->next_word};
  memcpy(q->next_word, args, (size_t)n * sizeof *args);
  q->next_word += n;
}

void poly_quick_publish(poly_quick_step *q, uintptr_t token, poly_quick_context *of, uintptr_t memory, uintptr_t enter) {
  q->enter = (enter_fn *)enter;
  q->memory = memory;
  q->unbound = of->unbound;
  __atomic_store_n(&q->of, of, __ATOMIC_RELEASE);
  __atomic_store_n(&q->token, token, __ATOMIC_RELEASE);
  __atomic_store_n(place(token), q, __ATOMIC_RELEASE);
}

void poly_quick_drop(poly_quick_step *q) {
  poly_quick_step *self = q;
  __atomic_compare_exchange_n(place(q->token), &self, NULL, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  __atomic_store_n(&q->token, 0, __ATOMIC_RELEASE);
  free(q->calls), free(q->words), free(q->arena);
  q->calls = NULL, q->words = NULL, q->arena = NULL;
  pthread_mutex_lock(&lists);
  q->next = free_steps;
  free_steps = q;
  pthread_mutex_unlock(&lists);
}

poly_quick_context *poly_quick_context_new(void) {
  pthread_mutex_lock(&lists);
  poly_quick_context *c = free_contexts;
  if (c != NULL) free_contexts = c->next;
  if (c == NULL && (c = calloc(1, sizeof *c)) != NULL) c->older = all_contexts, all_contexts = c;
  pthread_mutex_unlock(&lists);
  if (c != NULL) c->jobs = 0;
  return c;
}

void poly_quick_context_free(poly_quick_context *c) {
  pthread_mutex_lock(&lists);
  c->next = free_contexts;
  free_contexts = c;
  pthread_mutex_unlock(&lists);
}
