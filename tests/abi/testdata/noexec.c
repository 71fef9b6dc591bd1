/* A process that may make no memory executable any more, as under SELinux or a hardened system: kernels are run all the
 * same. The argument says what is refused: "all" ways there are, or that memory that can be written "gains" it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* Refuses mmap and mprotect with PROT_EXEC, in all threads. */
static int refuse_all(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int main(int argc, char **argv) {
  enum { N = 37 };
  if (!dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_GLOBAL)) return 2;
  int refused = argc > 1 && strcmp(argv[1], "all") == 0 ? refuse_all() : prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
  if (refused != 0) {
    printf("this system cannot refuse it\n");
    return 0;
  }
  CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  static float in[N], out[N];
  for (int i = 0; i < N; i++) in[i] = (float)i;
  int64_t shape[1] = {N};
  for (int round = 0; round < 2; round++) {
    PolyCtx *ctx = poly_ctx_new();
    CHECK(ctx != NULL);
    PolyUOp *x = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, shape, 1, in, sizeof in), *y = poly_alu2(ctx, POLY_OP_ADD, x, x);
    void *data[1] = {out};
    PolyStep *step = poly_compile_update(ctx, &y, data, 1, NULL, NULL, 0);
    CHECK(step != NULL && poly_step_run(step, NULL, 0) == 0);
    for (int i = 0; i < N; i++) CHECK(out[i] == (float)(2 * i));
    poly_ctx_destroy(ctx);
  }
  return failures > 0;
}
