/* Tracing: while a function is traced to be compiled, assignments are not
 * carried out. The variable stands for its new value until the end. Seeds of
 * random tensors stand here too, since a compiled step renews them. */
#include <R_ext/Random.h>
#include <stdlib.h>

#include "glue.h"

/* A list that is kept for the life of the package: changes, gradients, seeds. */
enum { CHANGES = 0, GRADIENTS = 1, SEEDS = 2 };
static SEXP record;
static int active;

int tracing(void) { return active; }

static void start_record(void) {
  if (record == NULL) {
    record = Rf_allocVector(VECSXP, 3);
    R_PreserveObject(record);
  }
}

static SEXP known(int what, SEXP var) {
  for (SEXP p = VECTOR_ELT(record, what); p != R_NilValue; p = CDR(p)) {
    if (CAR(p) == var) return p;
  }
  return R_NilValue;
}

/* Entries are pairlist cells: the variable, and what it was in the tag. */
static void add(int what, SEXP var, SEXP before) {
  SEXP cell = PROTECT(Rf_cons(var, VECTOR_ELT(record, what)));
  SET_TAG(cell, before);
  SET_VECTOR_ELT(record, what, cell);
  UNPROTECT(1);
}

void trace_change(SEXP var, SEXP node) {
  SEXP before = R_ExternalPtrProtected(var);
  if (known(CHANGES, var) == R_NilValue) {
    if (extra(before, DATA) == R_NilValue || R_ExternalPtrProtected(before) != R_NilValue ||
        extra(before, ORIGIN) != R_NilValue) {
      raise_error("compile_step: a tensor is assigned that was not computed before the trace");
    }
    add(CHANGES, var, before);
  }
  if (extra(before, OWNER) != R_NilValue) {
    set_owner(node, var);
    node_of(node)->tracked = 1;
  }
  set_node(var, node);
}

void trace_gradient(SEXP var) {
  if (active && known(GRADIENTS, var) == R_NilValue) add(GRADIENTS, var, R_ExternalPtrTag(var));
}

SEXP r_trace_begin(void);
SEXP r_trace_end(void);
SEXP r_tracing(void);

SEXP r_tracing(void) { return Rf_ScalarLogical(active); }

SEXP r_trace_begin(void) {
  start_record();
  if (active) raise_error("compile_step: inside of another compile_step");
  for (int i = 0; i < 3; i++) SET_VECTOR_ELT(record, i, R_NilValue);
  active = 1;
  return R_NilValue;
}

/* Puts all variables back; returns nodes before, nodes after, and seeds. */
SEXP r_trace_end(void) {
  active = 0;
  SEXP changes = VECTOR_ELT(record, CHANGES);
  int n = Rf_length(changes);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
  SEXP before = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 0, before);
  SEXP after = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 1, after);
  for (; n > 0; changes = CDR(changes)) {
    n--;
    SEXP var = CAR(changes);
    SET_VECTOR_ELT(before, n, TAG(changes));
    SET_VECTOR_ELT(after, n, R_ExternalPtrProtected(var));
    set_node(var, TAG(changes));
  }
  for (SEXP p = VECTOR_ELT(record, GRADIENTS); p != R_NilValue; p = CDR(p)) R_SetExternalPtrTag(CAR(p), TAG(p));
  SEXP seeds = VECTOR_ELT(record, SEEDS);
  n = Rf_length(seeds);
  SEXP words = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(out, 2, words);
  for (; n > 0; seeds = CDR(seeds)) SET_VECTOR_ELT(words, --n, CAR(seeds));
  for (int i = 0; i < 3; i++) SET_VECTOR_ELT(record, i, R_NilValue);
  UNPROTECT(1);
  return out;
}

/* Seeds. After manual_seed(s) random tensors use s, s + 1, …; before it each
 * takes its seed from R's generator, so that set.seed() makes them repeatable. */
static int manual;
static uint64_t next;

SEXP r_manual_seed(SEXP seed);
SEXP r_seed(void);

SEXP r_manual_seed(SEXP seed) {
  Args a = begin("manual_seed");
  manual = seed != R_NilValue;
  if (manual && TYPEOF(seed) == STRSXP) {
    /* Numbers beyond 2^53 come as decimal digits. */
    char *end;
    const char *digits = arg_string(&a, seed, "seed");
    next = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end != 0) {
      raise_error("manual_seed: seed: \"%.100s\", expected digits", digits);
    }
  } else if (manual) {
    next = (uint64_t)arg_int64(&a, seed, "seed");
  }
  return R_NilValue;
}

static void draw(uint32_t *words) {
  if (manual) {
    words[0] = (uint32_t)next;
    words[1] = (uint32_t)(next >> 32);
    next++;
    return;
  }
  GetRNGstate();
  for (int i = 0; i < 2; i++) words[i] = (uint32_t)(unif_rand() * 4294967296.0);
  PutRNGstate();
}

void trace_seed(SEXP words) {
  if (active) SET_VECTOR_ELT(record, SEEDS, Rf_cons(words, VECTOR_ELT(record, SEEDS)));
}

/* A Tensor of two uint32, the low and the high word of the next seed. */
SEXP r_seed(void) {
  int64_t two = 2;
  SEXP words = PROTECT(Rf_allocVector(RAWSXP, 8));
  uint32_t next_words[2];
  draw(next_words);
  memcpy(RAW(words), next_words, sizeof next_words);
  trace_seed(words);
  SEXP out = wrap(new_leaf(words, POLY_DTYPE_UINT32, 1, &two));
  UNPROTECT(1);
  return out;
}

void renew_seeds(SEXP seeds) {
  for (R_xlen_t i = 0; i < Rf_xlength(seeds); i++) {
    uint32_t words[2];
    draw(words);
    memcpy(RAW(VECTOR_ELT(seeds, i)), words, sizeof words);
  }
}
