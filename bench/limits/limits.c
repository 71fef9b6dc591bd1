/* The limits of this machine: float32 operations a second, those of narrow numbers where it has
 * instructions for them, and bytes a second from each level of its memory. Prints one JSON object:
 * {threads: {"gflops", "narrow": {type: billions a second}, "how": {type: which instructions},
 * "caches": {level: bytes}, "gbytes": {level: rate}}}.
 *
 * Compiled with gcc -O3 -march=native: the vectors are as wide as the processor's. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__AVX512F__)
enum { WIDTH = 64 };
#define STREAM(p, v) _mm512_stream_ps((float *)(p), (__m512)(v))
#elif defined(__AVX__)
enum { WIDTH = 32 };
#define STREAM(p, v) _mm256_stream_ps((float *)(p), (__m256)(v))
#else
enum { WIDTH = 16 };
#define STREAM(p, v) _mm_stream_ps((float *)(p), (__m128)(v))
#endif
typedef float Vector __attribute__((vector_size(WIDTH)));

enum { CHAINS = 12, LANES = WIDTH / 4, MAX_THREADS = 64, ROUNDS = 25 };
static const double SECONDS = 0.004;

typedef struct {
  char *memory;  /* of this thread */
  size_t bytes;  /* its working set */
  long times;    /* how often to go over it */
  double from, to;
  Vector result; /* so that no work is left out */
} Job;
typedef void (*Work)(Job *);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void multiply_add(Job *job) {
  Vector a[CHAINS], x = job->result + 1.0001f, y = job->result + 0.0001f;
  for (int i = 0; i < CHAINS; i++) a[i] = job->result + (float)i;
  for (long t = 0; t < job->times; t++) {
    for (int i = 0; i < CHAINS; i++) a[i] = a[i] * x + y;
  }
  for (int i = 0; i < CHAINS; i++) job->result += a[i];
}

/* Products of narrow numbers, added up in 32 bits: what computes them, and how many operations one
 * time is. The first of a type that may run counts. */
typedef struct {
  const char *type, *how;
  Work work;
  double units;
  int (*allowed)(void);
} Narrow;

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
enum { TILE_WORDS = 16 * 16 * 16, TILES = 8 };

/* Whether the kernel lets this process use tiles. */
static int tiles_allowed(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static void begin_tiles(void) {
  struct {
    unsigned char palette, start, none[14];
    unsigned short columns[16];
    unsigned char rows[16];
  } config = {.palette = 1};
  for (int i = 0; i < TILES; i++) {
    config.columns[i] = 64;
    config.rows[i] = 16;
  }
  __asm__ volatile("" ::"r"(&config) : "memory"); /* gcc 12 thinks that only 8 bytes are read */
  _tile_loadconfig(&config);
}

#define MULTIPLY_TILES(name, multiply)              \
  static void name(Job *job) {                      \
    begin_tiles();                                  \
    for (long t = 0; t < job->times; t++) {         \
      multiply(0, 4, 6);                            \
      multiply(1, 4, 7);                            \
      multiply(2, 5, 6);                            \
      multiply(3, 5, 7);                            \
    }                                               \
    _tile_release();                                \
  }
MULTIPLY_TILES(tile_bfloat16, _tile_dpbf16ps)
MULTIPLY_TILES(tile_int8, _tile_dpbssd)
#endif

#define EACH(one) \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11)
#define REGISTERS                                                                              \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
/* A loop of CHAINS instructions that add products to a register each; gcc keeps none in memory. */
#define MULTIPLY_VECTORS(name, each)                                 \
  static void name(Job *job) {                                       \
    __asm__ volatile("vzeroall" ::: REGISTERS);                      \
    for (long t = 0; t < job->times; t++) {                          \
      __asm__ volatile(EACH(each) ::: REGISTERS);                    \
    }                                                                \
  }
#if defined(__AVX512BF16__)
#define ADD_BFLOAT16(n) "vdpbf16ps %%zmm12, %%zmm12, %%zmm" #n "\n"
MULTIPLY_VECTORS(vector_bfloat16, ADD_BFLOAT16)
#endif
#if defined(__AVX512VNNI__)
#define ADD_INT8(n) "vpdpbusd %%zmm12, %%zmm12, %%zmm" #n "\n"
MULTIPLY_VECTORS(vector_int8, ADD_INT8)
#elif defined(__AVXVNNI__)
#define ADD_INT8(n) "%{vex%} vpdpbusd %%ymm12, %%ymm12, %%ymm" #n "\n"
MULTIPLY_VECTORS(vector_int8, ADD_INT8)
#endif

static const Narrow narrow[] = {
#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
    {"bfloat16", "AMX", tile_bfloat16, 4 * 2 * 2 * TILE_WORDS, tiles_allowed},
    {"int8", "AMX", tile_int8, 4 * 2 * 4 * TILE_WORDS, tiles_allowed},
#endif
#if defined(__AVX512BF16__)
    {"bfloat16", "AVX512-BF16", vector_bfloat16, CHAINS * 2 * 2 * 16, NULL},
#endif
#if defined(__AVX512VNNI__)
    {"int8", "AVX512-VNNI", vector_int8, CHAINS * 2 * 4 * 16, NULL},
#elif defined(__AVXVNNI__)
    {"int8", "AVX-VNNI", vector_int8, CHAINS * 2 * 4 * 8, NULL},
#endif
    {NULL, NULL, NULL, 0, NULL},
};

/* Whether narrow[i] may run, and none before it for the same type. */
static int counts(int i) {
  if (narrow[i].allowed && !narrow[i].allowed()) return 0;
  for (int j = 0; j < i; j++) {
    if (!strcmp(narrow[j].type, narrow[i].type) && (!narrow[j].allowed || narrow[j].allowed())) return 0;
  }
  return 1;
}

static void read_all(Job *job) {
  for (long t = 0; t < job->times; t++) {
    const Vector *p = (const Vector *)job->memory, *end = (const Vector *)(job->memory + job->bytes);
    Vector sum[8] = {{0}};
    for (; p < end; p += 8)
      for (int i = 0; i < 8; i++) sum[i] += p[i];
    for (int i = 0; i < 8; i++) job->result += sum[i];
    __asm__ volatile("" ::: "memory");
  }
}

static void copy(Job *job) {
  for (long t = 0; t < job->times; t++) {
    size_t half = job->bytes / 2;
    const Vector *from = (const Vector *)job->memory, *end = (const Vector *)(job->memory + half);
    Vector *to = (Vector *)(job->memory + half);
    for (; from < end; from += 4, to += 4)
      for (int i = 0; i < 4; i++) to[i] = from[i] * 0.5f;
    __asm__ volatile("" ::: "memory");
  }
}

static void copy_past_caches(Job *job) {
  for (long t = 0; t < job->times; t++) {
    size_t half = job->bytes / 2;
    const Vector *from = (const Vector *)job->memory, *end = (const Vector *)(job->memory + half);
    Vector *to = (Vector *)(job->memory + half);
    for (; from < end; from += 4, to += 4)
      for (int i = 0; i < 4; i++) STREAM(to + i, from[i] * 0.5f);
    _mm_sfence();
  }
}

static pthread_barrier_t start, stop;
static Work current;
static Job jobs[MAX_THREADS];

static void *thread(void *number) {
  for (;;) {
    pthread_barrier_wait(&start);
    if (!current) return NULL;
    Job *job = &jobs[(long)number];
    job->from = now();
    current(job);
    job->to = now();
    pthread_barrier_wait(&stop);
  }
}

/* Seconds in which the threads have done their jobs. */
static double run(Work work, int threads) {
  current = work;
  pthread_barrier_wait(&start);
  pthread_barrier_wait(&stop);
  double from = jobs[0].from, to = jobs[0].to;
  for (int i = 1; i < threads; i++) {
    if (jobs[i].from < from) from = jobs[i].from;
    if (jobs[i].to > to) to = jobs[i].to;
  }
  return to - from;
}

static double best_of(int rounds, Work work, int threads) {
  double best = run(work, threads);
  for (int i = 1; i < rounds; i++) {
    double took = run(work, threads);
    if (took < best) best = took;
  }
  return best;
}

/* The most units a second, when every thread does units in one time. */
static double rate(Work work, int threads, double units) {
  long times = 1;
  for (;;) {
    for (int i = 0; i < threads; i++) jobs[i].times = times;
    if (best_of(3, work, threads) >= SECONDS || times > 1L << 40) break;
    times *= 2;
  }
  return units * threads * times / best_of(ROUNDS, work, threads);
}

static char *allocate(size_t bytes) {
  size_t page = 2 << 20, whole = (bytes + 2 * page) & ~(page - 1);
  char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  memory = (char *)(((size_t)memory + page - 1) & ~(page - 1));
  madvise(memory, whole - page, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return memory;
}

/* The size of a cache for data, or what it usually is where the kernel does not tell. (sysconf says
 * how much of the third level all sockets of a host have.) */
static size_t cache(int level, size_t usual) {
  for (int i = 0; i < 8; i++) {
    static const char *const folder = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[96], kind[16] = "";
    int found = 0;
    size_t kib = 0;
    snprintf(path, sizeof path, "%s%d/level", folder, i);
    FILE *f = fopen(path, "r");
    if (!f) break;
    if (fscanf(f, "%d", &found) != 1) found = 0;
    fclose(f);
    snprintf(path, sizeof path, "%s%d/type", folder, i);
    if ((f = fopen(path, "r"))) {
      if (fscanf(f, "%15s", kind) != 1) kind[0] = 0;
      fclose(f);
    }
    snprintf(path, sizeof path, "%s%d/size", folder, i);
    if ((f = fopen(path, "r"))) {
      if (fscanf(f, "%zuK", &kib) != 1) kib = 0;
      fclose(f);
    }
    if (found == level && kib && strcmp(kind, "Instruction")) return kib << 10;
  }
  return usual;
}

int main(int argc, char **argv) {
  /* What a level holds (a cache of each thread, or of all), and the working set to measure it with:
   * larger than the caches before it, and for memory than all of them. */
  size_t l1 = cache(1, 32 << 10), l2 = cache(2, 1 << 20);
  size_t l3 = cache(3, 32 << 20), most = (size_t)1 << 30;
  size_t beyond = 4 * l3 < most ? 4 * l3 : most;
  const struct {
    const char *name;
    size_t holds, each, all;
  } sets[] = {{"L1", l1, l1 * 3 / 4, 0},
              {"L2", l2, l2 * 3 / 4, 0},
              {"L3", l3, 0, l3 * 3 / 4},
              {"DRAM", 0, 0, beyond > 160 << 20 ? beyond : 160 << 20}};
  static const Work ways[] = {read_all, copy, copy_past_caches};
  printf("{");
  for (int a = 1; a < argc; a++) {
    int threads = atoi(argv[a]);
    if (threads < 1 || threads > MAX_THREADS) {
      fprintf(stderr, "limits: threads: %s, expected 1 to %d\n", argv[a], MAX_THREADS);
      return 1;
    }
    pthread_barrier_init(&start, NULL, threads + 1);
    pthread_barrier_init(&stop, NULL, threads + 1);
    pthread_t ids[MAX_THREADS];
    for (long i = 0; i < threads; i++) {
      pthread_create(&ids[i], NULL, thread, (void *)i);
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(i, &set);
      pthread_setaffinity_np(ids[i], sizeof set, &set);
    }
    double flops = rate(multiply_add, threads, 2.0 * CHAINS * LANES);
    printf("%s\"%d\": {\"gflops\": %.1f, \"narrow\": {", a > 1 ? ", " : "", threads, flops / 1e9);
    for (int i = 0, n = 0; narrow[i].type; i++) {
      if (!counts(i)) continue;
      double found = rate(narrow[i].work, threads, narrow[i].units);
      printf("%s\"%s\": %.1f", n++ ? ", " : "", narrow[i].type, found / 1e9);
    }
    printf("}, \"how\": {");
    for (int i = 0, n = 0; narrow[i].type; i++) {
      if (counts(i)) printf("%s\"%s\": \"%s\"", n++ ? ", " : "", narrow[i].type, narrow[i].how);
    }
    printf("}, \"caches\": {\"L1\": %zu, \"L2\": %zu, \"L3\": %zu}, \"gbytes\": {", l1, l2, l3);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
      size_t bytes = sets[s].each ? sets[s].each : sets[s].all / threads;
      for (int i = 0; i < threads; i++) {
        jobs[i].memory = allocate(bytes);
        jobs[i].bytes = bytes;
      }
      double best = 0;
      for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double found = rate(ways[w], threads, bytes);
        if (found > best) best = found;
      }
      printf("%s\"%s\": %.1f", s ? ", " : "", sets[s].name, best / 1e9);
      for (int i = 0; i < threads; i++) munmap(jobs[i].memory, bytes);
    }
    printf("}}");
    current = NULL;
    pthread_barrier_wait(&start);
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  }
  printf("}\n");
  return 0;
}
