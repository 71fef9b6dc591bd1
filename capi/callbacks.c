/* Calls of functions that a caller gave. */
#include "records.h"

bool poly_call_gate(void *gate, uintptr_t x) { return gate && POLY_HOST(((PolyGateFn)gate)((PolyUOp *)x)); }

uintptr_t poly_call_create(void *create, uintptr_t ctx, uintptr_t config) {
  return (uintptr_t)POLY_HOST(((PolyModelCreateFn)create)((PolyCtx *)ctx, (PolyModelConfig *)config));
}

void *poly_call_forward(void *forward, uintptr_t model, void *user, void *inputs, int n, int *n_out) {
  return POLY_HOST(((PolyModelForwardFn)forward)((PolyModel *)model, user, (PolyUOp **)inputs, n, n_out));
}

void poly_call_release(void *release, void *user) { POLY_HOST(((PolyModelReleaseFn)release)(user)); }
