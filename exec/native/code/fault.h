/* Faults in generated code: which kernel, which instruction. */
#ifndef POLY_NATIVE_FAULT_H
#define POLY_NATIVE_FAULT_H

#include <stddef.h>
#include <stdint.h>

/* What lies before every piece of code in executable memory, on a multiple of its size. The name follows the code. */
typedef struct {
  uint64_t magic[2];
  uint64_t code;     /* the address behind this header: the header is one only if that is so */
  uint32_t bytes;    /* of the code */
  uint32_t name;     /* bytes of the name */
  uint64_t unused[4];
} poly_native_header_t;

#define POLY_NATIVE_MAGIC0 0xd6a9f3b1c05e7724u
#define POLY_NATIVE_MAGIC1 0x91c4e80d3b7a52efu

/* Handles SIGSEGV, SIGBUS, SIGILL and SIGFPE, before whoever does so now. */
int poly_native_watch(void);

/* Says that [start, end) is executable memory, or no more. Of more than some thousand ranges the others are not known. */
void poly_native_add_range(uintptr_t start, uintptr_t end);
void poly_native_remove_range(uintptr_t start);

/* Tells valgrind that code at an address is gone. */
void poly_native_forget_code(uintptr_t start, size_t bytes);

#endif
