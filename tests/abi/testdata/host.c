/* A process that loads the library with dlopen, beside another Go library (OTHER),
 * in the order that the argument says, unloads it and loads it again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static void *load(const char *variable) {
  void *library = dlopen(getenv(variable), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s: %s\n", variable, dlerror());
    exit(2);
  }
  return library;
}

static long long (*other_sum)(int);

static void ours(void) {
  PolyCtx *ctx = poly_ctx_new();
  float in[64], out[64];
  for (int i = 0; i < 64; i++) in[i] = (float)i;
  CHECK(into(ctx, poly_square(ctx, host(ctx, in, 8, 8)), out) == 0 && out[63] == 63 * 63);
  CHECK(poly_exp(ctx, NULL) == NULL && strstr(poly_last_error(), "poly_exp: x: is NULL"));
  poly_ctx_destroy(ctx);
}

static void theirs(void) { CHECK(other_sum(1000) == 499500); }

static void *both(void *unused) {
  for (int i = 0; i < 200; i++) ours(), theirs();
  return unused;
}

int main(int argc, char **argv) {
  const char *order = argc > 1 ? argv[1] : "ours";
  void *other = NULL, *mine;
  if (strcmp(order, "theirs first") == 0) {
    other = load("OTHER");
    other_sum = (long long (*)(int))dlsym(other, "OtherSum");
    theirs();
    mine = load("LIBRARY");
    ours();
  } else {
    mine = load("LIBRARY");
    ours();
    other = load("OTHER");
    other_sum = (long long (*)(int))dlsym(other, "OtherSum");
    theirs();
  }
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, both, NULL);
  both(NULL);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  /* A Go library stays in the process; what dlclose leaves goes on working. */
  PolyCtx *ctx = poly_ctx_new();
  CHECK(dlclose(mine) == 0);
  mine = load("LIBRARY");
  CHECK(poly_ctx_live_nodes(ctx) == 0);
  ours(), theirs();
  poly_ctx_destroy(ctx);
  return report();
}
