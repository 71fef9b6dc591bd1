/* A pool of threads that Go knows nothing of: Go's collector does not wait for them, and they never wait for Go.
 *
 * A run is cut into parts, one for each thread, and parts into pieces. A thread takes the pieces of its own part
 * first, so that it meets the same memory in one run after the other, and then what is left of the others: a thread
 * that still sleeps or was stopped by the system delays a run by the one piece that it works on, if any. Pieces are
 * taken with one compare-and-swap on a word that also holds the number of the run: who is late fails there and
 * touches nothing. Every other run takes the pieces of a part from its end: what the run before has left in the caches, if that is
 * not all of its memory, is what it had last.
 *
 * Threads of a run keep to different processors. Linux wakes a thread on the processor of its waker if no other seems idle, and in a
 * virtual machine none does: to the guest an idle processor is one that the host has taken away. Two threads then share one for
 * seconds, beside an idle one. */
#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  LINE = 64,
  SPIN_NS = 50000,       /* how long a worker looks for the next run before it sleeps */
  WAIT_NS = 100000,      /* how long a caller looks for the end of a run before it sleeps */
  STACK = 256 << 10,     /* of a worker; generated code needs none, a signal handler of the host may */
  BIG = 4 << 20,         /* memory from this size on is asked to have large pages */
};

/* Generated code changes all registers but the stack pointer. Whatever the caller has set for floats (rounding, subnormal
 * numbers as zero, traps), the code runs as everywhere, and the caller finds it as it was. */
void poly_native_enter(uintptr_t code, uint64_t *args, uintptr_t frame) __attribute__((visibility("hidden")));
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden poly_native_enter\n"
    ".globl poly_native_enter\n"
    ".type poly_native_enter, @function\n"
    "poly_native_enter:\n"
    "  .cfi_startproc\n"
    "  push %rbx\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %rbx, 0\n"
    "  push %rbp\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %rbp, 0\n"
    "  push %r12\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %r12, 0\n"
    "  push %r13\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %r13, 0\n"
    "  push %r14\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %r14, 0\n"
    "  push %r15\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %r15, 0\n"
    "  sub $24, %rsp\n  .cfi_adjust_cfa_offset 24\n"
    "  mov %rdi, %rax\n"
    "  mov %rsi, %rdi\n"
    "  mov %rdx, %rsi\n"
    "  stmxcsr (%rsp)\n"
    "  mov (%rsp), %ecx\n"
    "  and $0xffc0, %ecx\n"
    "  cmp $0x1f80, %ecx\n"
    "  jne 1f\n"
    "  call *%rax\n"
    "  jmp 2f\n"
    "1: movl $0x1f80, 8(%rsp)\n"
    "  ldmxcsr 8(%rsp)\n"
    "  call *%rax\n"
    "  ldmxcsr (%rsp)\n"
    "2: add $24, %rsp\n  .cfi_adjust_cfa_offset -24\n"
    "  pop %r15\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %r15\n"
    "  pop %r14\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %r14\n"
    "  pop %r13\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %r13\n"
    "  pop %r12\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %r12\n"
    "  pop %rbp\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %rbp\n"
    "  pop %rbx\n  .cfi_adjust_cfa_offset -8\n  .cfi_restore %rbx\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size poly_native_enter, .-poly_native_enter\n");

uintptr_t poly_native_enter_address(void) { return (uintptr_t)poly_native_enter; }

/* The pieces of a part that nobody has taken: number of the run, end, next. */
#define WORD(run, end, next) ((uint64_t)(run) << 32 | (uint64_t)(end) << 16 | (uint64_t)(next))

struct part {
  _Alignas(LINE) _Atomic uint64_t pieces;
};

struct worker {
  _Alignas(LINE) uint64_t *args;
  size_t arg_bytes, memory_bytes;
  char *memory; /* its frame, then its scratch memory */
  int number;
  _Atomic pid_t id; /* 0 until it runs */
  _Atomic int processor; /* that it was last seen on, -1 if it is being moved */
};

static struct {
  _Alignas(LINE) _Atomic uint32_t run; /* the number of the last run: what workers wait for */
  _Alignas(LINE) _Atomic uint32_t sleepers;
  _Alignas(LINE) _Atomic uint32_t done; /* pieces of the run that are finished */
  _Atomic uint32_t waiting;             /* the caller sleeps until all are */
  _Alignas(LINE) _Atomic uint32_t busy; /* somebody's run has the pool */
  /* What a run is: written while busy is held and no piece is left, read after a piece was taken. */
  poly_native_kernel_t kernel;
  const uint64_t *args;
  uint32_t parts, pieces, descending;
  int workers; /* that were started; worker i has the number i + 1, the caller is 0 */
  _Atomic uint64_t woken, slept, alone;
  struct part part[POLY_MAX_THREADS];
  struct worker worker[POLY_MAX_THREADS];
} pool;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_a_little(void) { __builtin_ia32_pause(); }

static void sleep_while(_Atomic uint32_t *word, uint32_t value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }

static void wake(_Atomic uint32_t *word, int n) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0); }

/* Takes a piece of a part of a run: its number, or -1 if there is none. */
static int take(uint32_t part, uint32_t run) {
  _Atomic uint64_t *word = &pool.part[part].pieces;
  uint64_t v = atomic_load_explicit(word, memory_order_relaxed);
  for (;;) {
    uint32_t next = v & 0xffff, end = v >> 16 & 0xffff;
    if (v >> 32 != run || next >= end) return -1;
    if (atomic_compare_exchange_weak(word, &v, v + 1)) return (int)next;
  }
}

/* Where item number i of n equal shares of [first, first+count) begins; the first shares are longer by one. */
static int64_t share(int64_t first, int64_t count, int64_t n, int64_t i) {
  int64_t each = count / n, rest = count % n;
  return first + each * i + (i < rest ? i : rest);
}

/* Runs one piece. */
static void piece(uint64_t *args, uintptr_t frame, uint32_t part, uint32_t number) {
  uint32_t total = pool.parts * pool.pieces; /* once the last piece is done these belong to the next run */
  int64_t lo = share(0, pool.kernel.items, pool.parts, part), hi = share(0, pool.kernel.items, pool.parts, part + 1);
  if (pool.descending) number = pool.pieces - 1 - number;
  int64_t first = share(lo, hi - lo, pool.pieces, number), end = share(lo, hi - lo, pool.pieces, number + 1);
  if (first < end) {
    args[pool.kernel.args] = (uint64_t)first;
    args[pool.kernel.args + 1] = (uint64_t)(end - first);
    poly_native_enter(pool.kernel.entry, args, frame);
  }
  if (atomic_fetch_add(&pool.done, 1) + 1 == total && atomic_load(&pool.waiting)) wake(&pool.done, 1);
}

/* A worker's share of a run: its own part, then what is left of the others. */
static void work(struct worker *w, uint32_t run) {
  int prepared = 0;
  /* This may be the number of a later run already; then nothing can be taken. */
  uint32_t parts = *(volatile uint32_t *)&pool.parts;
  for (uint32_t i = 0; i < parts; i++) {
    uint32_t part = ((uint32_t)w->number + i) % parts;
    for (int n; (n = take(part, run)) >= 0;) {
      if (!prepared) {
        memcpy(w->args, pool.args, (size_t)pool.kernel.args * sizeof *w->args);
        w->args[pool.kernel.args + 2] = (uintptr_t)w->memory + pool.kernel.frame;
        prepared = 1;
      }
      piece(w->args, (uintptr_t)w->memory, part, (uint32_t)n);
    }
  }
}

static void *worker_main(void *arg) {
  struct worker *w = arg;
  atomic_store(&w->id, (pid_t)syscall(SYS_gettid));
  uint32_t seen = 0;
  int64_t since = now();
  for (unsigned spins = 0;; spins++) {
    if (spins % 16 == 0) atomic_store_explicit(&w->processor, sched_getcpu(), memory_order_relaxed);
    uint32_t run = atomic_load(&pool.run);
    if (run != seen) {
      seen = run;
      work(w, run);
      since = now();
      continue;
    }
    if (spins % 16 != 0 || now() - since < SPIN_NS) {
      pause_a_little();
      continue;
    }
    atomic_fetch_add(&pool.sleepers, 1);
    sleep_while(&pool.run, seen);
    atomic_fetch_sub(&pool.sleepers, 1);
    since = now();
  }
  return NULL;
}

/* Starts workers until there are n, or as many as the system lets us have. They take no signals but those of faults. */
static void start(int n) {
  if (pool.workers >= n) return;
  sigset_t all, before;
  sigfillset(&all);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&all, faults[i]);
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return;
  pthread_attr_setstacksize(&attr, STACK);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.workers < n) {
    struct worker *w = &pool.worker[pool.workers];
    pthread_t id;
    w->number = pool.workers + 1;
    if (pthread_create(&id, &attr, worker_main, w) != 0) break;
    pthread_setname_np(id, "polygrad");
    pool.workers++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}

/* Gives a worker memory for a run; it works on nothing meanwhile. */
static int equip(struct worker *w, const poly_native_kernel_t *k) {
  size_t args = (size_t)(k->args + POLY_OWN_WORDS) * sizeof *w->args;
  if (w->arg_bytes < args) {
    void *p = NULL;
    if (posix_memalign(&p, LINE, args + LINE) != 0) return -1;
    free(w->args);
    w->args = p;
    w->arg_bytes = args;
  }
  size_t need = (size_t)(k->frame + k->scratch);
  if (w->memory_bytes >= need) return 0;
  need = (need + need / 4 + 0xffff) & ~(size_t)0xffff;
  void *p = mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return -1;
  if (need >= BIG) madvise(p, need, MADV_HUGEPAGE);
  if (w->memory_bytes) munmap(w->memory, w->memory_bytes);
  w->memory = p;
  w->memory_bytes = need;
  return 0;
}

/* Moves workers that were last seen on the processor of the caller, or of another worker, to those that are left, if the caller may use any. */
static void keep_apart(int workers) {
  cpu_set_t taken, left, both;
  int here = sched_getcpu();
  CPU_ZERO(&taken);
  if (here >= 0) CPU_SET(here, &taken);
  for (int i = 0; i < workers; i++) {
    struct worker *w = &pool.worker[i];
    int at = atomic_load_explicit(&w->processor, memory_order_relaxed);
    pid_t id = atomic_load(&w->id);
    if (id == 0 || at < 0) continue;
    if (!CPU_ISSET(at, &taken)) {
      CPU_SET(at, &taken);
      continue;
    }
    if (sched_getaffinity(0, sizeof left, &left) != 0) return;
    CPU_AND(&both, &left, &taken);
    CPU_XOR(&left, &left, &both);
    if (CPU_COUNT(&left) == 0) return;
    atomic_store_explicit(&w->processor, -1, memory_order_relaxed);
    sched_setaffinity(id, sizeof left, &left);
  }
}

static void alone(const poly_native_kernel_t *k, uint64_t *args, uintptr_t memory, int pieces) {
  static _Thread_local unsigned run;
  int descending = ++run & 1;
  for (int i = 0; i < pieces; i++) {
    int number = descending ? pieces - 1 - i : i;
    int64_t first = share(0, k->items, pieces, number), end = share(0, k->items, pieces, number + 1);
    if (first == end) continue;
    args[k->args] = (uint64_t)first;
    args[k->args + 1] = (uint64_t)(end - first);
    poly_native_enter(k->entry, args, memory);
  }
}

/* Makes sure that there are workers, and that each has what it needs for a run. */
static int prepare(const poly_native_kernel_t *k, int threads) {
  start(threads - 1);
  /* All may take pieces, also where there are fewer parts. */
  for (int i = 0; i < pool.workers; i++)
    if (equip(&pool.worker[i], k) != 0) return 0;
  return pool.workers > 0;
}

/* Takes what is left of a run, then waits for the pieces that others work on. */
static void finish(uint32_t run, uint64_t *args, uintptr_t memory) {
  uint32_t total = pool.parts * pool.pieces;
  for (uint32_t part = 0; part < pool.parts; part++)
    for (int n; (n = take(part, run)) >= 0;) piece(args, memory, part, (uint32_t)n);
  int64_t since = now();
  for (unsigned spins = 1; atomic_load(&pool.done) != total; spins++) {
    if (spins % 16 != 0 || now() - since < WAIT_NS) {
      pause_a_little();
      continue;
    }
    pool.slept++;
    atomic_store(&pool.waiting, 1);
    for (uint32_t done; (done = atomic_load(&pool.done)) != total;) sleep_while(&pool.done, done);
    atomic_store(&pool.waiting, 0);
  }
}

void poly_native_run(const poly_native_kernel_t *k, uint64_t *args, uintptr_t memory, int threads, int pieces) {
  args[k->args + 2] = memory + k->frame;
  if (threads > k->items) threads = (int)k->items;
  if (threads > POLY_MAX_THREADS) threads = POLY_MAX_THREADS;
  uint32_t nobody = 0;
  if (threads < 2) {
    alone(k, args, memory, pieces);
    return;
  }
  /* Whoever finds the pool busy does the work alone: the cores are busy, too. */
  if (!atomic_compare_exchange_strong(&pool.busy, &nobody, 1)) {
    pool.alone++;
    alone(k, args, memory, pieces);
    return;
  }
  if (!prepare(k, threads)) {
    atomic_store(&pool.busy, 0);
    alone(k, args, memory, pieces);
    return;
  }
  pool.kernel = *k;
  pool.args = args;
  pool.parts = (uint32_t)(threads <= pool.workers ? threads : pool.workers + 1);
  keep_apart((int)pool.parts - 1);
  pool.pieces = (uint32_t)pieces;
  uint32_t run = atomic_load(&pool.run) + 1;
  pool.descending = run & 1;
  atomic_store(&pool.done, 0);
  for (uint32_t i = 0; i < pool.parts; i++) atomic_store(&pool.part[i].pieces, WORD(run, pieces, 0));
  atomic_store(&pool.run, run);
  if (atomic_load(&pool.sleepers) > 0) {
    pool.woken++;
    wake(&pool.run, (int)pool.parts - 1);
  }
  finish(run, args, memory);
  atomic_store(&pool.busy, 0);
}

void poly_native_counts(poly_native_counts_t *c) {
  c->woken = pool.woken;
  c->slept = pool.slept;
  c->alone = pool.alone;
}

void poly_native_settle(void) {
  while ((int)atomic_load(&pool.sleepers) < pool.workers) usleep(100);
}
