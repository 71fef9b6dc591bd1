/* What the programs that call everything know about the functions of the header.
 * calls_gen.h, which is made from the header when the tests run, includes this
 * file and defines functions[]. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "polygrad.h"

enum kind {
  CTX, NODE, STEP, INSTANCE, PLAN, /* handles */
  OTHER,                           /* from here on, other opaque types of the header */
  NUMBER = 32,                     /* int, int64_t, size_t, bool: in .i */
  REAL,                            /* double, float: in .d */
  STRING,                          /* const char * */
  NODES,                           /* PolyUOp ** */
  POINTERS,                        /* void ** and other pointers to pointers */
  INTS,                            /* integers, pairs of them */
  RECORDS,                         /* pointer to a struct */
  MEMORY,                          /* any other pointer: bytes, floats */
  RECORD,                          /* a record by value: .p points to it */
  CALLBACK,                        /* a function */
  NOTHING
};

enum { MAX_PARAMS = 24 };

/* Flags of a parameter and of a function. */
enum {
  OPTIONAL = 1,  /* NULL has a meaning */
  COUNT = 2,     /* a number that says how long an array is */
  OUTPUT = 4,    /* the function writes here */
  FINALIZER = 8, /* ignores bad handles without an error */
  ZERO = 16,     /* says 0 where it fails */
  MALLOCED = 32, /* what it returns is for free() */
  EMPTY = 64,    /* NULL need not be an error */
  RUNS = 128,    /* compiles kernels or runs them on memory of the caller */
  SMALL = 4096,  /* only small random sizes: what it makes is made at once, or of memory of unknown size */
  OWN = 2048,    /* says what its caller gave where it fails */
  KEEPS = 512,   /* references that belong to the handle of an argument */
  MANUAL = 1024, /* not for random calls: it has a life of its own */
  TRUSTS = 256,  /* a count cannot be checked against anything */
  HOSTED = 8192, /* fails without the language or the device that it is for */
};

union arg {
  void *p;
  int64_t i;
  double d;
};

struct param {
  const char *name;
  enum kind kind;
  int flags;
  int size; /* of a RECORD, of what a MEMORY points to; bits of a NUMBER */
};

struct fixture;

struct function {
  const char *name;
  enum kind ret;
  int flags, n;
  const struct param *params;
  void (*good)(const struct fixture *f, union arg *a);
  void (*call)(const union arg *a, union arg *r);
};

/* Memory that ends where a page begins that nobody may touch. */
struct region {
  char *page;
  size_t size;
};

static inline struct region region(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
  char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + room, page, PROT_NONE) != 0) {
    perror("mmap");
    exit(2);
  }
  return (struct region){p, room};
}

/* The last n bytes of a region. */
static inline void *last(struct region r, size_t n) { return r.page + r.size - n; }

#endif
