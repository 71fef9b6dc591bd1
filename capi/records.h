/* Records that C passes by value, for the files of this folder that need them. */
#ifndef POLY_RECORDS_H
#define POLY_RECORDS_H

#include "../include/polygrad.h"
#include "guard.h"

/* Asks a caller's function; false for a NULL one. */
POLY_HIDDEN bool poly_call_gate(void *gate, uintptr_t x);

#endif
