/* Steps that C runs without entering Go (quick.c). */
#ifndef POLY_QUICK_H
#define POLY_QUICK_H

#include <stdint.h>

#include "guard.h"

/* What C knows of a context. It is used again after the context, but never freed: whoever looks at it late finds memory. Go holds it
 * where no checker of leaks looks, so C has a list of all. */
typedef struct poly_quick_context {
  uint32_t lock;    /* 1: somebody works in the context, in Go or here */
  uint32_t jobs;    /* 1: jobs of it may run */
  uint64_t unbound; /* how often a buffer of it lost its memory */
  struct poly_quick_context *next, *older; /* free; of all */
} poly_quick_context;

/* A step as calls of generated code with all their arguments. */
typedef struct poly_quick_step poly_quick_step;

/* Makes such a step of n calls with so many words of arguments, and memory of so many bytes that arena points to. NULL if there is no memory. */
POLY_HIDDEN poly_quick_step *poly_quick_new(int n, int64_t words, size_t bytes, uintptr_t *arena);
/* Sets call i; the arguments of the calls follow each other. */
POLY_HIDDEN void poly_quick_call(poly_quick_step *q, int i, uintptr_t entry, const uint64_t *args, int64_t n);
/* Lets poly_step_run find it; the context is locked. enter is the function that calls the code. */
POLY_HIDDEN void poly_quick_publish(poly_quick_step *q, uintptr_t token, poly_quick_context *of, uintptr_t memory, uintptr_t enter);
/* Ends it; the context is locked. */
POLY_HIDDEN void poly_quick_drop(poly_quick_step *q);

POLY_HIDDEN poly_quick_context *poly_quick_context_new(void);
POLY_HIDDEN void poly_quick_context_free(poly_quick_context *c);

#endif
