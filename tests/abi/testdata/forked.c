/* After fork() every function fails in the child, at once and with an error that
 * says why; the parent goes on. Other threads call the library meanwhile. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "calls_gen.h"

static struct fixture f;
static volatile int over;

static void *busy(void *unused) {
  while (!over) {
    PolyCtx *ctx = poly_ctx_new();
    float in[4] = {1, 2, 3, 4}, out[4];
    PolyUOp *y = poly_exp(ctx, leaf(ctx, POLY_DTYPE_FLOAT32, 0, 4, in, 16));
    void *data[1] = {out};
    poly_realize_into(ctx, &y, data, 1, NULL);
    poly_ctx_destroy(ctx);
  }
  return unused;
}

/* Functions that need nothing but their arguments answer in a child as well. */
static int answers(const struct function *fn) {
  return strcmp(fn->name, "poly_abi_version") == 0 || strncmp(fn->name, "poly_dtype_", 11) == 0 || strcmp(fn->name, "poly_arg_eq") == 0 ||
         strncmp(fn->name, "poly_shape_", 11) == 0 || strcmp(fn->name, "poly_sgd_new") == 0 || strcmp(fn->name, "poly_last_error") == 0;
}

static int child(void) {
  int wrong = 0;
  alarm(30); /* what hangs is killed */
  for (int i = 0; i < N_FUNCTIONS; i++) {
    const struct function *fn = &functions[i];
    union arg a[MAX_PARAMS], r = {0};
    fn->good(&f, a);
    poly_clear_error();
    fn->call(a, &r);
    const char *text = poly_last_error();
    int said = strstr(text, "forked") && strstr(text, "spawn") && strncmp(text, fn->name, strlen(fn->name)) == 0;
    int value = fn->ret == NUMBER ? r.i == (fn->flags & ZERO ? 0 : -1) || r.i == -1 : fn->ret == REAL || fn->ret == RECORD || r.p == NULL;
    if (fn->ret == NOTHING || answers(fn)) continue;
    if (!said || !value) wrong++, fprintf(stderr, "%s in a forked child: value %lld, error \"%s\"\n", fn->name, (long long)r.i, text);
  }
  return wrong != 0;
}

int main(void) {
  pthread_t t[2];
  int failed = 0;
  fixture_arrays(&f);
  fixture_make(&f);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, busy, NULL);
  for (int i = 0; i < 5; i++) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) failed = 1, fprintf(stderr, "child: status %x\n", status);
    if (failed) break;
    void *data[1] = {f.memory};
    if (poly_realize_into(f.ctx, &f.y, data, 1, NULL) != 0) failed = 1, fprintf(stderr, "parent: %s\n", poly_last_error());
  }
  over = 1;
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  fixture_drop(&f);
  return failed;
}
