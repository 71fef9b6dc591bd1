/* Signal handlers of the host: kept, called, and harmless wherever they strike. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t handled;
static volatile char last_byte;

/* More than a small stack of a goroutine has room for. */
static void handler(int sig) {
  volatile char room[6000];
  for (int i = 0; i < 6000; i += 100) room[i] = (char)sig;
  last_byte = room[5900];
  handled++;
}

/* Handlers that were there before the library are there afterwards. LIBRARY is the
 * path of the library, which is loaded here. */
static void *load(void) {
  static const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGWINCH, SIGPROF};
  enum { N = sizeof signals / sizeof signals[0] };
  for (int i = 0; i < N; i++) signal(signals[i], i % 3 ? handler : SIG_IGN);
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int i = 0; i < N; i++) {
    struct sigaction now;
    sigaction(signals[i], NULL, &now);
    CHECK(now.sa_handler == (i % 3 ? handler : SIG_IGN));
    CHECK(sigismember(&before, signals[i]) == 0 && sigismember(&after, signals[i]) == 0);
  }
  CHECK(handled == 0);
  raise(SIGTERM), raise(SIGALRM), raise(SIGINT);
  CHECK(handled == 2);
  signal(SIGPIPE, handler), raise(SIGPIPE);
  CHECK(handled == 3);
  return library;
}

/* The signals that a thread blocks, -1 if it is gone. */
static long long blocked_by(const char *task) {
  char path[300], line[200];
  long long blocked = -1;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "SigBlk: %llx", (unsigned long long *)&blocked);
  if (f) fclose(f);
  return blocked;
}

static int blocks(long long set, int sig) { return set >> (sig - 1) & 1; }

/* Threads of the library leave these signals to the host. A thread that is just being
 * made has another mask for a moment. */
static void threads_of_the_library(void) {
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *d; (d = readdir(tasks));) {
    int right = 0;
    if (d->d_name[0] == '.' || atoi(d->d_name) == getpid()) continue;
    for (int tries = 0; tries < 100 && !right; tries++) {
      long long set = blocked_by(d->d_name);
      right = set < 0 || (blocks(set, SIGINT) && blocks(set, SIGTERM) && blocks(set, SIGALRM) && !blocks(set, SIGSEGV) && !blocks(set, SIGURG));
      if (!right) usleep(10000);
    }
    CHECK(right);
  }
  closedir(tasks);
}

static pthread_t caller;
static volatile int over;

static void *strike(void *unused) {
  while (!over) pthread_kill(caller, SIGUSR1), kill(getpid(), SIGALRM), kill(getpid(), SIGPROF), usleep(50);
  return unused;
}

/* A handler without an alternate stack, installed late, strikes in the middle of calls. */
static void storm(void) {
  struct sigaction a = {0};
  a.sa_handler = handler;
  sigaction(SIGUSR1, &a, NULL);
  sigaction(SIGALRM, &a, NULL);
  sigaction(SIGPROF, &a, NULL);
  PolyCtx *ctx = poly_ctx_new();
  usleep(20000);
  poly_op_count(); /* finds the handlers */
  caller = pthread_self();
  pthread_t t;
  pthread_create(&t, NULL, strike, NULL);
  int was = handled;
  for (int r = 0; r < 6000; r++) {
    float in[8] = {1, 2}, out[8];
    PolyUOp *x = host(ctx, in, 0, 8), *y = poly_exp(ctx, poly_binary_float(ctx, POLY_ADD, x, r % 40, 0));
    CHECK(into(ctx, y, out) == 0 && near(out[0], exp(1 + r % 40)));
    poly_uop_release(ctx, x), poly_uop_release(ctx, y);
  }
  over = 1;
  pthread_join(t, NULL);
  CHECK(handled > was + 20);
  poly_ctx_destroy(ctx);
}

static sigjmp_buf back;
static void recover(int sig) { siglongjmp(back, sig); }

/* A fault of the host's own code is the host's. */
static void faults(void) {
  struct sigaction a = {0}, old;
  a.sa_handler = recover;
  a.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &a, &old);
  char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int caught = sigsetjmp(back, 1);
  if (!caught) *(volatile char *)nothing = 1;
  CHECK(caught == SIGSEGV);
  sigaction(SIGSEGV, &old, NULL);
}

int main(void) {
  load();
  PolyCtx *ctx = poly_ctx_new();
  float in[4] = {1}, out[4];
  CHECK(into(ctx, poly_exp(ctx, host(ctx, in, 0, 4)), out) == 0);
  threads_of_the_library();
  storm();
  faults();
  CHECK(into(ctx, poly_square(ctx, host(ctx, in, 0, 4)), out) == 0 && out[0] == 1);
  poly_ctx_destroy(ctx);
  return report();
}
