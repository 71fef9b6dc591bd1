/* Records that C passes by value, for the files of this folder that need them. */
#ifndef POLY_RECORDS_H
#define POLY_RECORDS_H

#include "../include/polygrad.h"
#include "guard.h"

/* Calls of functions that a caller gave. A NULL gate is never open. */
POLY_HIDDEN bool poly_call_gate(void *gate, uintptr_t x);
POLY_HIDDEN uintptr_t poly_call_create(void *create, uintptr_t ctx, uintptr_t config);
POLY_HIDDEN void *poly_call_forward(void *forward, uintptr_t model, void *user, void *inputs, int n, int *n_out);
POLY_HIDDEN void poly_call_release(void *release, void *user);

#endif
