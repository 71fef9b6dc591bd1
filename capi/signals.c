/* Signals belong to the host. Go's runtime handles those that it needs itself
 * (SIGSEGV and its like, SIGURG) and hands on what is not its own; for the
 * others a handler of the host may run on any thread and, without SA_ONSTACK, on
 * the stack of a goroutine, which has room for a few kilobytes only: the process
 * dies. Two things keep that from happening. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

#include "guard.h"

/* What hosts handle; not what the processor raises, nor what Go sends itself. */
static const int hosts[] = {SIGINT, SIGALRM, SIGCHLD, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGVTALRM, SIGPROF, SIGIO, SIGCONT, SIGTSTP};
enum { N = sizeof hosts / sizeof hosts[0] };

static sigset_t before;

/* First, Go's own threads do not take them (SIGCHLD excepted, which Go insists on). They inherit the mask of the one that
 * the library's initialisation starts, so they are blocked from before that (101:
 * before every constructor without a number, Go's among them) until after it. */
__attribute__((constructor(101))) static void block(void) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < N; i++) sigaddset(&set, hosts[i]);
  pthread_sigmask(SIG_BLOCK, &set, &before);
}

__attribute__((constructor)) static void unblock(void) { pthread_sigmask(SIG_SETMASK, &before, NULL); }

/* Second, handlers get SA_ONSTACK, as Go does it for those that it finds when it
 * starts; threads that call Go have an alternate stack. A handler that is installed
 * later is found by the first call after the next tick of a clock (guard.h). */
void poly_mind_signals(void) {
  for (int i = 0; i < N; i++) {
    struct sigaction a;
    if (sigaction(hosts[i], NULL, &a) != 0 || a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN || (a.sa_flags & SA_ONSTACK)) continue;
    a.sa_flags |= SA_ONSTACK;
    sigaction(hosts[i], &a, NULL);
  }
}
