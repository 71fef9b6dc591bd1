#include "guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/polygrad.h"

enum { TEXT_SIZE = 1024 };

__thread struct poly_error poly_error;
int poly_forked;
static pthread_key_t text_key;

static void in_child(void) { poly_forked = 1; }

static void free_text(void *text) {
  free(text);
  poly_error.text = NULL;
}

/* Go's runtime has threads of its own, and fork() copies only the thread that
 * calls it: entering Go in the child may wait for ever. The flag has to be
 * read before Go is entered, so it lives here. */
__attribute__((constructor)) static void begin(void) {
  pthread_atfork(NULL, NULL, in_child);
  pthread_key_create(&text_key, free_text);
}

/* Threads inherit the modes of the one that starts them. Go's first threads are started by the library's initialisation, between
 * these two (101: before every constructor without a number, Go's among them). */
static struct poly_modes loading;

__attribute__((constructor(101))) static void begin_loading(void) { loading = poly_enter_modes(); }

__attribute__((constructor)) static void end_loading(void) { poly_leave_modes(&loading); }

void poly_fail(const char *text, size_t n) {
  struct poly_error *e = &poly_error;
  e->failed = 1;
  if (e->text == NULL) {
    e->text = malloc(TEXT_SIZE);
    if (e->text == NULL) return;
    pthread_setspecific(text_key, e->text);
  }
  if (n >= TEXT_SIZE) {
    n = TEXT_SIZE - 1;
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--; /* whole characters only */
  }
  memcpy(e->text, text, n);
  e->text[n] = 0;
}

static const char since[] = "; the last call that failed: ";

/* The operand is NULL: the last failure of this thread made it so, most likely,
 * even where calls have succeeded since. */
void poly_fail_keep(const char *text, size_t n) {
  struct poly_error *e = &poly_error;
  if (e->before) {
    e->failed = 1;
    return;
  }
  const char *last = e->text ? e->text : "", *cause = strstr(last, since);
  cause = cause ? cause + sizeof since - 1 : last;
  size_t m = strlen(cause);
  char both[TEXT_SIZE];
  if (m == 0 || n + sizeof since + m > sizeof both) {
    poly_fail(text, n);
    return;
  }
  memcpy(both, text, n);
  memcpy(both + n, since, sizeof since - 1);
  memcpy(both + n + sizeof since - 1, cause, m);
  poly_fail(both, n + sizeof since - 1 + m);
}

void poly_refuse(const char *fn) {
  char text[200];
  int n = snprintf(text, sizeof text,
                   "%s: the process forked after the library was loaded, which it does not survive; "
                   "start workers with spawn, or load the library in the child only",
                   fn);
  poly_fail(text, (size_t)n);
}

const char *poly_last_error(void) {
  if (!poly_error.failed) return "";
  return poly_error.text ? poly_error.text : "there is no memory for the text of an error";
}

void poly_clear_error(void) {
  poly_error.failed = poly_error.before = 0;
  if (poly_error.text) poly_error.text[0] = 0;
}

int poly_abi_version(void) { return POLY_ABI_VERSION; }

/* What is only known to Go looks lost to who looks through the memory of C. */
static struct permanent {
  struct permanent *older;
} *all_permanent;

void *poly_permanent(size_t n) {
  struct permanent *p = malloc(sizeof *p + n);
  if (p == NULL) return NULL;
  p->older = __atomic_load_n(&all_permanent, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&all_permanent, &p->older, p, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return p + 1;
}
