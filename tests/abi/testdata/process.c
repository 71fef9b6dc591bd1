/* Threads, forks and foreign stacks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

static PolyCtx *shared;

static void *work(void *arg) {
  long k = (long)arg;
  PolyCtx *own = poly_ctx_new();
  for (int i = 0; i < 50; i++) {
    PolyCtx *ctx = i % 2 ? own : shared;
    float in[8], out[8];
    for (int j = 0; j < 8; j++) in[j] = (float)(k * 100 + j);
    PolyUOp *x = host(ctx, in, 0, 8);
    PolyUOp *y = poly_binary_float(ctx, POLY_MUL, x, 2, 0);
    CHECK(into(ctx, y, out) == 0);
    CHECK(out[0] == 2 * in[0] && out[7] == 2 * in[7]);
    /* The error of one thread is not that of another. */
    CHECK(poly_exp(ctx, (PolyUOp *)(uintptr_t)(16 * k + 16)) == NULL && strstr(poly_last_error(), "poly_exp"));
    CHECK(poly_square(ctx, x) != NULL && poly_last_error()[0] == 0);
    poly_uop_release(ctx, x);
    poly_uop_release(ctx, y);
  }
  poly_ctx_destroy(own);
  return NULL;
}

static void threads(void) {
  shared = poly_ctx_new();
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}

static void forks(void) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    PolyUOp *x = poly_buffer_f32(shared, 4);
    int ok = x == NULL && strstr(poly_last_error(), "poly_buffer_f32") && strstr(poly_last_error(), "spawn");
    ok = ok && poly_ndim(shared, x) == -1 && strstr(poly_last_error(), "forked");
    poly_uop_release(shared, x);
    poly_ctx_destroy(shared);
    _exit(ok ? 0 : 1);
  }
  int status;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(poly_buffer_f32(shared, 4) != NULL);
}

static ucontext_t caller, coroutine;
static double seconds;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_foreign_stack(void) {
  float in[2] = {1, 2}, out[2];
  CHECK(into(shared, poly_square(shared, host(shared, in, 0, 2)), out) == 0 && out[1] == 4);
  double start = now();
  for (int i = 0; i < 10000; i++) poly_op_count();
  seconds = now() - start;
}

/* Calls from a stack that is not the thread's own, as koffi and fibers make. */
static void stacks(void) {
  enum { SIZE = 1 << 20 };
  char *stack = malloc(SIZE);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = SIZE;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, on_foreign_stack, 0);
  swapcontext(&caller, &coroutine);
  free(stack);
  CHECK(seconds > 0 && seconds / 10000 < 10e-6);
}

int main(void) {
  threads();
  stacks();
  forks();
  return report();
}
