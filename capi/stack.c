/* A hidden pthread_getattr_np for Go's runtime, which is linked to it here.
 *
 * When C calls Go on a stack that is not the thread's own (koffi, fibers,
 * coroutines), the runtime asks for the thread's stack bounds on every call,
 * and glibc answers for the main thread by reading /proc/self/maps: 50 us a
 * call. Bounds of a thread never change, so they are asked once; for a stack
 * pointer outside of them the answer is a window around it, which is all that
 * the runtime can use anyway. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "guard.h"

enum { PAGE = 4096, ROOM_BELOW = 96 * 1024, ROOM_ABOVE = 2 * PAGE };

static __thread struct {
  int known; /* 1: lo and hi are set, -1: the system would not say */
  uintptr_t lo, hi;
} own;

typedef int (*getattr_fn)(pthread_t, pthread_attr_t *);

static getattr_fn system_getattr(void) {
  void *f = dlsym(RTLD_NEXT, "pthread_getattr_np");
  return (getattr_fn)(uintptr_t)(f ? f : dlsym(RTLD_DEFAULT, "pthread_getattr_np"));
}

static void learn_own_stack(pthread_t thread) {
  pthread_attr_t attr;
  getattr_fn ask = system_getattr();
  own.known = -1;
  if (ask == NULL || ask(thread, &attr) != 0) return;
  void *low;
  size_t size;
  if (pthread_attr_getstack(&attr, &low, &size) == 0) {
    own.known = 1;
    own.lo = (uintptr_t)low;
    own.hi = own.lo + size;
  }
  pthread_attr_destroy(&attr);
}

POLY_HIDDEN int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
  if (!pthread_equal(thread, pthread_self())) {
    getattr_fn ask = system_getattr();
    return ask ? ask(thread, attr) : -1;
  }
  if (own.known == 0) learn_own_stack(thread);
  uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  uintptr_t lo = own.lo, hi = own.hi;
  if (own.known < 0 || sp <= lo || sp > hi) {
    lo = (sp - ROOM_BELOW) & ~(uintptr_t)(PAGE - 1);
    hi = (sp + ROOM_ABOVE) & ~(uintptr_t)(PAGE - 1);
  }
  int rc = pthread_attr_init(attr);
  return rc ? rc : pthread_attr_setstack(attr, (void *)lo, hi - lo);
}
