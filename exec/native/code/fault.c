/* A fault in generated code is a defect of the code generator or a pointer of the caller's that points nowhere. The
 * process does not survive it, as it does not with other native code, but it says what happened before whoever
 * handled the signal so far (Go's runtime, the host) goes on. All here is safe in a signal handler: no locks, no
 * allocation; what describes a kernel lies in executable memory beside its code. */
#define _GNU_SOURCE
#include "fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { RANGES = 4096, FAULTS = 4 };

static struct {
  _Atomic uintptr_t start, end;
} ranges[RANGES];
static _Atomic int used; /* ranges from here on were never used */

static const struct {
  int number;
  const char *name;
} faults[FAULTS] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};
static struct sigaction before[FAULTS];

/* The caller holds a lock: there is one writer at a time. */
void poly_native_add_range(uintptr_t start, uintptr_t end) {
  for (int i = 0; i < RANGES; i++) {
    if (atomic_load(&ranges[i].start) != 0) continue;
    atomic_store(&ranges[i].end, end);
    atomic_store(&ranges[i].start, start);
    if (i >= atomic_load(&used)) atomic_store(&used, i + 1);
    return;
  }
}

void poly_native_remove_range(uintptr_t start) {
  for (int i = 0, n = atomic_load(&used); i < n; i++)
    if (atomic_load(&ranges[i].start) == start) {
      atomic_store(&ranges[i].start, 0);
      return;
    }
}

/* The header of the code that pc lies in, NULL if that is not ours. */
static const poly_native_header_t *code_at(uintptr_t pc) {
  for (int i = 0, n = atomic_load(&used); i < n; i++) {
    uintptr_t start = atomic_load(&ranges[i].start), end = atomic_load(&ranges[i].end);
    if (start == 0 || pc < start || pc >= end) continue;
    for (uintptr_t at = pc & ~(uintptr_t)(sizeof(poly_native_header_t) - 1); at >= start; at -= sizeof(poly_native_header_t)) {
      const poly_native_header_t *h = (const poly_native_header_t *)at;
      if (h->magic[0] == POLY_NATIVE_MAGIC0 && h->magic[1] == POLY_NATIVE_MAGIC1 && h->code == at + sizeof *h)
        return pc < h->code + h->bytes ? h : NULL;
    }
  }
  return NULL;
}

struct text {
  char bytes[512];
  size_t n;
};

static void add(struct text *t, const char *s, size_t n) {
  if (n > sizeof t->bytes - t->n) n = sizeof t->bytes - t->n;
  memcpy(t->bytes + t->n, s, n);
  t->n += n;
}

static void add_string(struct text *t, const char *s) { add(t, s, strlen(s)); }

static void add_hex(struct text *t, uint64_t v, int digits) {
  char s[16];
  int n = 0;
  while (v != 0 || n < digits) {
    s[15 - n++] = "0123456789abcdef"[v & 15];
    v >>= 4;
  }
  add(t, s + 16 - n, (size_t)n);
}

static void report(int fault, const siginfo_t *info, const poly_native_header_t *h, uintptr_t pc) {
  struct text t = {.n = 0};
  add_string(&t, "polygrad: ");
  add_string(&t, faults[fault].name);
  add_string(&t, " in kernel ");
  add(&t, (const char *)(h->code + h->bytes), h->name < 200 ? h->name : 200);
  add_string(&t, " at its instruction +0x");
  add_hex(&t, pc - h->code, 1);
  if (faults[fault].number == SIGSEGV || faults[fault].number == SIGBUS) {
    add_string(&t, ", which accesses address 0x");
    add_hex(&t, (uintptr_t)info->si_addr, 1);
  }
  add_string(&t, "; code:");
  for (uintptr_t i = 0; i < 16 && pc + i < h->code + h->bytes; i++) {
    add_string(&t, " ");
    add_hex(&t, *(const unsigned char *)(pc + i), 2);
  }
  add_string(&t, "\n");
  for (size_t done = 0; done < t.n;) {
    ssize_t n = write(STDERR_FILENO, t.bytes + done, t.n - done);
    if (n <= 0) return;
    done += (size_t)n;
  }
}

/* Goes on as if this handler were not there. */
static void pass_on(int fault, siginfo_t *info, void *context) {
  const struct sigaction *a = &before[fault];
  if (a->sa_flags & SA_SIGINFO) {
    a->sa_sigaction(faults[fault].number, info, context);
  } else if (a->sa_handler == SIG_DFL) {
    /* The instruction is executed again and ends the process; so does a signal that was sent. */
    sigaction(faults[fault].number, a, NULL);
    if (info->si_code <= 0) raise(faults[fault].number);
  } else if (a->sa_handler != SIG_IGN) {
    a->sa_handler(faults[fault].number);
  }
}

static void handle(int number, siginfo_t *info, void *context) {
  int fault = 0;
  while (fault < FAULTS - 1 && faults[fault].number != number) fault++;
  if (info->si_code > 0) {
    uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    const poly_native_header_t *h = code_at(pc);
    if (h != NULL) report(fault, info, h, pc);
  }
  pass_on(fault, info, context);
}

int poly_native_watch(void) {
  for (int i = 0; i < FAULTS; i++) {
    if (sigaction(faults[i].number, NULL, &before[i]) != 0) return -1;
    struct sigaction a = before[i];
    a.sa_sigaction = handle;
    a.sa_flags = (a.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
    if (sigaction(faults[i].number, &a, NULL) != 0) return -1;
  }
  return 0;
}

/* valgrind keeps translations of code and does not see that a file mapping changes. Its request is an instruction
 * sequence that does nothing elsewhere. */
void poly_native_forget_code(uintptr_t start, size_t bytes) {
  enum { DISCARD_TRANSLATIONS = 0x1002 };
  volatile uint64_t request[6] = {DISCARD_TRANSLATIONS, start, bytes, 0, 0, 0};
  uint64_t answer = 0;
  __asm__ volatile(
      "rolq $3, %%rdi\n rolq $13, %%rdi\n rolq $61, %%rdi\n rolq $51, %%rdi\n xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(&request[0])
      : "cc", "memory");
}
