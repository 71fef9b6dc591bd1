/* Copies of the library in one process, as hosts of several languages load them: each computes and has its own last error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { COPIES = 4, N = 1000, ROUNDS = 50 };

/* The function of a copy, under its name with a line behind it. */
#define FIND(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(copy, #name)

/* Sums the squares of numbers, which no two copies share. */
static void *compute(void *copy) {
  FIND(poly_ctx_new);
  FIND(poly_ctx_destroy);
  FIND(poly_array_share);
  FIND(poly_array_release);
  FIND(poly_array_read);
  FIND(poly_array_call);
  FIND(poly_op);
  FIND(poly_last_error);
  float in[N], sum;
  int64_t shape[1] = {N};
  PolyCtx *ctx = poly_ctx_new_();
  for (int round = 0; round < ROUNDS; round++) {
    float want = 0;
    for (int i = 0; i < N; i++) {
      in[i] = (float)((i + round) % 7);
      want += in[i] * in[i];
    }
    PolyArray *x = poly_array_share_(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, sizeof in, 0), *square = NULL, *total = NULL;
    CHECK(poly_array_call_(ctx, poly_op_("square"), (PolyCallArg[]){POLY_PASS_T(x)}, 1, &square, 1) == 1);
    CHECK(poly_array_call_(ctx, poly_op_("sum"), (PolyCallArg[]){POLY_PASS_T(square)}, 1, &total, 1) == 1);
    CHECK(poly_array_read_(total, &sum, sizeof sum) == 0 && sum == want);
    poly_array_release_(total);
    poly_array_release_(square);
    poly_array_release_(x);
  }
  CHECK(strcmp(poly_last_error_(), "") == 0);
  poly_ctx_destroy_(ctx);
  CHECK(poly_array_read_(NULL, &sum, sizeof sum) != 0);
  CHECK(strstr(poly_last_error_(), "poly_array_read") != NULL);
  return NULL;
}

/* The paths of the copies are the arguments. */
int main(int n, char **paths) {
  void *copies[COPIES];
  pthread_t threads[COPIES];
  if (n != COPIES + 1) return 2;
  for (int k = 0; k < COPIES; k++) {
    copies[k] = dlopen(paths[k + 1], RTLD_NOW | RTLD_LOCAL);
    if (copies[k] == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    compute(copies[k]);
  }
  for (int k = 0; k < COPIES; k++) CHECK(pthread_create(&threads[k], NULL, compute, copies[k]) == 0);
  for (int k = 0; k < COPIES; k++) CHECK(pthread_join(threads[k], NULL) == 0);
  return report();
}
