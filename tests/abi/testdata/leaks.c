/* leaks WARM ROUNDS: each round makes and frees an object of every kind and calls
 * every function of the header. After WARM rounds neither the C heap nor the memory
 * of the process grows. */
#include <malloc.h>

#include "calls_gen.h"

static long resident(void) { /* KiB */
  long pages = 0, rss = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &pages, &rss) != 2) rss = 0;
  if (file) fclose(file);
  return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

static void called(struct fixture *f) {
  static char nowhere[8];
  for (int i = 0; i < N_FUNCTIONS; i++) {
    const struct function *fn = &functions[i];
    union arg a[MAX_PARAMS], r = {0};
    if (fn->flags & (FINALIZER | MANUAL) || strncmp(fn->name, "poly_debug_", 11) == 0) continue;
    fn->good(f, a);
    fn->call(a, &r);
    if (fn->ret == NODE) poly_uop_release(f->ctx, r.p);
    else if (fn->ret < NUMBER && destroy[fn->ret]) destroy[fn->ret](r.p);
    else if (fn->flags & MALLOCED) free(r.p);
    /* And an error of each. */
    if (fn->n > 0 && fn->params[0].kind < NUMBER) {
      a[0].p = nowhere;
      fn->call(a, &r);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const int warm = atoi(argv[1]), rounds = atoi(argv[2]);
  static struct fixture f;
  size_t heap = 0;
  long rss = 0, most = 0;
  fixture_arrays(&f);
  for (int i = 0; i < warm + rounds; i++) {
    if (i == warm) heap = mallinfo2().uordblks;
    fixture_make(&f);
    called(&f);
    fixture_drop(&f);
    long now = resident();
    if (i < warm + rounds / 2) rss = now > rss ? now : rss;
    else most = now > most ? now : most;
  }
  long grown = (long)(mallinfo2().uordblks - heap);
  printf("C heap %+ld bytes in %d rounds, at most %ld MiB in the first half, %ld MiB in the second\n", grown, rounds, rss >> 10, most >> 10);
  /* Records of contexts wait for the collector before they are used again: some KB. */
  return grown > 12000 || most > rss + (16 << 10);
}
