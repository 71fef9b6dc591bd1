/* What stands between a C caller and Go: the fork flag and the last error. */
#ifndef POLY_GUARD_H
#define POLY_GUARD_H

#include <stddef.h>
#include <time.h>

#define POLY_HIDDEN __attribute__((visibility("hidden")))

/* What is kept for each thread. failed: its last call set text, the last error.
 * before: failed as the current call found it, for calls that pass an error on.
 * looked: when a call of it last looked after the signals. */
struct poly_error {
  int failed;
  int before;
  long looked;
  char text[1008];
};

POLY_HIDDEN extern __thread struct poly_error poly_error;
POLY_HIDDEN extern int poly_forked;

/* Sets the last error to text of n bytes. */
POLY_HIDDEN void poly_fail(const char *text, size_t n);

/* Keeps the error that the previous call left; if it left none, sets text, and names the failure before. */
POLY_HIDDEN void poly_fail_keep(const char *text, size_t n);

/* Memory that is never freed, as checkers of leaks can see; NULL if there is none. */
POLY_HIDDEN void *poly_permanent(size_t n);

/* Says that fn cannot work in a forked child. */
POLY_HIDDEN void poly_refuse(const char *fn);

/* Makes signal handlers of the host run where there is room (signals.c). */
POLY_HIDDEN void poly_mind_signals(void);

/* Begins a call: 0 if Go may be entered. It looks after the signals if it is the first one since the coarse clock ticked
 * (4 ms): the first signal of a profiler comes later. */
static inline int poly_enter(const char *fn) {
  struct poly_error *e = &poly_error;
  e->before = e->failed;
  e->failed = 0;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (__builtin_expect(now.tv_nsec != e->looked, 0)) {
    e->looked = now.tv_nsec;
    poly_mind_signals();
  }
  if (__builtin_expect(poly_forked, 0)) {
    poly_refuse(fn);
    return -1;
  }
  return 0;
}

#endif
