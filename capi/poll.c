/* Calls the host's function for Go, which cannot call pointers. */
#include "guard.h"

#include "../include/polygrad.h"

POLY_HIDDEN int poly_ask(void *poll, void *data);

int poly_ask(void *poll, void *data) { return POLY_HOST(((PolyPollFn)poll)(data)); }
