/* A kernel that reads memory which is not there. The first argument says whose handler of faults there is: none, one
 * that was there before the library, or one that came after its first kernel and hands on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static struct sigaction theirs;

static void say(const char *s) {
  if (write(2, s, strlen(s)) < 0) _exit(9);
}

static void ends(int sig) {
  (void)sig;
  say("the host's handler\n");
  _exit(7);
}

static void hands_on(int sig, siginfo_t *info, void *context) {
  say("the host's handler\n");
  theirs.sa_sigaction(sig, info, context);
}

int main(int argc, char **argv) {
  enum { N = 1 << 20 };
  const char *whose = argc > 1 ? argv[1] : "";
  if (strcmp(whose, "before") == 0) signal(SIGSEGV, ends);
  if (!dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_GLOBAL)) return 2;
  float *in = mmap(NULL, N * sizeof *in, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *out = malloc(N * sizeof *out);
  int64_t shape[1] = {N};
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, N * sizeof *in), *y = poly_alu2(ctx, POLY_OP_ADD, x, x);
  void *data[1] = {out};
  PolyStep *step = poly_compile_update(ctx, &y, data, 1, NULL, NULL, 0);
  CHECK(step != NULL && poly_step_run(step, NULL, 0) == 0);
  if (strcmp(whose, "after") == 0) {
    struct sigaction ours = {.sa_sigaction = hands_on, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &ours, &theirs);
  }
  munmap(in, N * sizeof *in);
  poly_step_run(step, NULL, 0);
  say("nothing happened\n");
  return 0;
}
