/* What stands between a C caller and Go: the fork flag, the floating-point modes and the last error. */
#ifndef POLY_GUARD_H
#define POLY_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define POLY_HIDDEN __attribute__((visibility("hidden")))

/* What is kept for each thread. failed: its last call set text, the last error; text is NULL before the first one.
 * before: failed as the current call found it, for calls that pass an error on.
 * looked: when a call of it last looked after the signals.
 * odd_modes: how the floating-point modes of the host differ from the usual ones while it calls Go: those of functions of
 * the host that Go calls. The text is not inline, since the loader has little memory for what is kept for each thread: 1.6 KB
 * for all libraries that a program loads (glibc's optional static TLS). */
struct poly_error {
  int failed;
  int before;
  long looked;
  uint32_t odd_modes;
  char *text;
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

/* Floating-point modes of a thread: on x86-64 MXCSR, whose low six bits are flags of what has happened, not modes. A host
 * may round in another way, take subnormal numbers for zero, or let exceptions trap. Go's collector and allocator compute
 * with floats and expect none of that. Elsewhere there is one mode. */
enum { POLY_MODES = 0xffc0, POLY_USUAL_MODES = 0x1f80 };

#ifdef __x86_64__
static inline uint32_t poly_get_modes(void) { return __builtin_ia32_stmxcsr(); }
static inline void poly_set_modes(uint32_t modes) { __builtin_ia32_ldmxcsr(modes); }
#else
static inline uint32_t poly_get_modes(void) { return POLY_USUAL_MODES; }
static inline void poly_set_modes(uint32_t modes) { (void)modes; }
#endif

static inline int poly_usual(uint32_t modes) { return __builtin_expect((modes & POLY_MODES) == POLY_USUAL_MODES, 1); }

struct poly_modes {
  uint32_t host, outer;
};

/* Most processors load modes more slowly than they store them, so they are loaded where they differ only. */
static inline struct poly_modes poly_enter_modes(void) {
  struct poly_modes m = {poly_get_modes(), 0};
  if (!poly_usual(m.host)) {
    m.outer = poly_error.odd_modes;
    poly_error.odd_modes = m.host ^ POLY_USUAL_MODES;
    poly_set_modes(POLY_USUAL_MODES);
  }
  return m;
}

static inline void poly_leave_modes(const struct poly_modes *m) {
  if (poly_usual(m->host)) return;
  poly_error.odd_modes = m->outer;
  poly_set_modes(m->host);
}

static inline uint32_t poly_enter_host(void) {
  uint32_t odd = poly_error.odd_modes;
  if (__builtin_expect(odd != 0, 0)) {
    poly_error.odd_modes = 0;
    poly_set_modes(odd ^ POLY_USUAL_MODES);
  }
  return odd;
}

/* It may have changed the modes. */
static inline void poly_leave_host(const uint32_t *odd) {
  if (!poly_usual(poly_get_modes())) poly_set_modes(POLY_USUAL_MODES);
  if (*odd) poly_error.odd_modes = *odd;
}

/* The value of a call of Go, which runs in the usual modes: all calls of Go are written so. */
#define POLY_GO(call) \
  ({ struct poly_modes poly_m __attribute__((cleanup(poly_leave_modes), unused)) = poly_enter_modes(); call; })

/* The value of a call of the host's function by Go, which runs in the modes of the host. */
#define POLY_HOST(call) \
  ({ uint32_t poly_odd __attribute__((cleanup(poly_leave_host), unused)) = poly_enter_host(); call; })

#endif
