/* Tracing: while a function is traced to be compiled, assignments are not
 * carried out. What is assigned stands for its new value until the end (see
 * become). Seeds of random tensors stand here too, since a program renews them. */
#include <R_ext/Random.h>
#include <errno.h>
#include <stdlib.h>

#include "glue.h"

/* A list that is kept for the life of the package: memory that was assigned,
 * gradients, what replaced variables stood for, seeds. */
enum { CHANGES = 0, GRADIENTS = 1, REPLACED = 2, SEEDS = 3, RECORDS = 4 };
static SEXP record;
static int active;
static char who[64];
static uint64_t began; /* how many nodes there were when the trace began */

int tracing(void) { return active; }

/* The function that traces. */
const char *tracer(void) { return who; }

int made_in_trace(const Node *n) { return n->born > began; }

static SEXP known(int what, SEXP key) {
  for (SEXP p = VECTOR_ELT(record, what); p != R_NilValue; p = CDR(p)) {
    if (CAR(p) == key) return p;
  }
  return R_NilValue;
}

/* Entries are pairlist cells: what changes, and what it was in the tag. */
static void add(int what, SEXP key, SEXP before) {
  if (known(what, key) != R_NilValue) return;
  SEXP cell = PROTECT(Rf_cons(key, VECTOR_ELT(record, what)));
  SET_TAG(cell, before);
  SET_VECTOR_ELT(record, what, cell);
  UNPROTECT(1);
}

/* Whether a cell is that of memory that was assigned. */
static int is_assigned(SEXP cell) {
  for (SEXP p = VECTOR_ELT(record, CHANGES); p != R_NilValue; p = CDR(p)) {
    if (extra(CAR(p), CELL) == cell) return 1;
  }
  return 0;
}

/* Lets a variable, and what it is a view of, stand for a value until the trace ends. */
void trace_assign(SEXP var, SEXP value) {
  SEXP node = current(var), base = root(node);
  Node *b = node_of(base);
  int memory = (extra(base, DATA) != R_NilValue || b->is_input) && (b->is_input || !made_in_trace(b));
  if (!memory && !made_in_trace(b)) {
    raise_error("%s: a tensor is assigned that was not computed before the trace", who);
  }
  PolyCtx *ctx = context();
  PolyUOp *cut = P.poly_detach(ctx, node_of(value)->handle);
  if (cut == NULL) fail();
  value = PROTECT(new_node(cut, value, 0));
  if (node != base) {
    PolyUOp *whole = P.poly_set_view(ctx, node_of(node)->handle, b->handle, cut);
    if (whole == NULL) fail();
    SEXP from = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(from, 0, node);
    SET_VECTOR_ELT(from, 1, value);
    value = new_node(whole, from, node_of(node)->tracked);
    UNPROTECT(1);
  }
  PROTECT(value);
  if (owner_of(base) != R_NilValue) pass_owner(base, value);
  if (memory) add(CHANGES, base, R_NilValue);
  become(base, value);
  UNPROTECT(2);
}

void trace_gradient(SEXP var) {
  if (active) add(GRADIENTS, var, R_ExternalPtrTag(var));
}

void trace_replace(SEXP var) {
  if (active) add(REPLACED, var, R_ExternalPtrProtected(var));
}

SEXP r_trace_begin(SEXP name);
SEXP r_trace_end(SEXP results);
SEXP r_tracing(void);

SEXP r_tracing(void) { return Rf_ScalarLogical(active); }

SEXP r_trace_begin(SEXP name) {
  Args a = begin("compile_step");
  if (record == NULL) {
    record = Rf_allocVector(VECSXP, RECORDS);
    R_PreserveObject(record);
  }
  const char *text = arg_string(&a, name, "name");
  if (active) raise_error("%s inside of %s", text, who);
  snprintf(who, sizeof who, "%s", text);
  for (int i = 0; i < RECORDS; i++) SET_VECTOR_ELT(record, i, R_NilValue);
  began = nodes_made();
  active = 1;
  return R_NilValue;
}

static SEXP as_list(SEXP cells) {
  int n = Rf_length(cells);
  SEXP out = Rf_allocVector(VECSXP, n);
  for (; n > 0; cells = CDR(cells)) SET_VECTOR_ELT(out, --n, CAR(cells));
  return out;
}

/* Puts everything back. Returns the memory that was assigned, the nodes of its new values, seeds, the
 * nodes of the Tensors in results, and which of them are memory, assigned or not, that the function
 * has found. */
SEXP r_trace_end(SEXP results) {
  int n = (int)Rf_xlength(results);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 5));
  SET_VECTOR_ELT(out, 3, Rf_allocVector(VECSXP, n));
  SET_VECTOR_ELT(out, 4, Rf_allocVector(LGLSXP, n));
  for (int i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(results, i)), cell = extra(node, CELL);
    SET_VECTOR_ELT(VECTOR_ELT(out, 3), i, node);
    int found = extra(node, DATA) != R_NilValue && !made_in_trace(node_of(node));
    LOGICAL(VECTOR_ELT(out, 4))[i] = found || (cell != R_NilValue && is_assigned(cell));
  }
  active = 0;
  SET_VECTOR_ELT(out, 0, as_list(VECTOR_ELT(record, CHANGES)));
  n = (int)Rf_xlength(VECTOR_ELT(out, 0));
  SET_VECTOR_ELT(out, 1, Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    SEXP base = VECTOR_ELT(VECTOR_ELT(out, 0), i), cell = extra(base, CELL);
    SET_VECTOR_ELT(VECTOR_ELT(out, 1), i, CAR(cell));
    SETCAR(cell, base);
  }
  for (SEXP p = VECTOR_ELT(record, REPLACED); p != R_NilValue; p = CDR(p)) set_node(CAR(p), TAG(p));
  for (SEXP p = VECTOR_ELT(record, GRADIENTS); p != R_NilValue; p = CDR(p)) R_SetExternalPtrTag(CAR(p), TAG(p));
  SET_VECTOR_ELT(out, 2, as_list(VECTOR_ELT(record, SEEDS)));
  for (int i = 0; i < RECORDS; i++) SET_VECTOR_ELT(record, i, R_NilValue);
  UNPROTECT(1);
  return out;
}

/* Seeds: three words that say where in a stream the random words of a tensor begin. After
 * manual_seed(s) that is the stream of the library, whose numbers are tinygrad's; before it each
 * tensor begins anywhere, by R's generator, so that set.seed() makes them repeatable. */
enum { SEED_WORDS = 3 };
static int manual;

SEXP r_manual_seed(SEXP seed);
SEXP r_seed(SEXP words);
SEXP r_type_bytes(SEXP dtype);

SEXP r_manual_seed(SEXP seed) {
  Args a = begin("manual_seed");
  manual = seed != R_NilValue;
  uint64_t first = 0;
  if (manual && TYPEOF(seed) == STRSXP) {
    /* Numbers beyond 2^53 come as decimal digits. */
    char *end;
    const char *digits = arg_string(&a, seed, "seed");
    errno = 0;
    first = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end != 0 || errno != 0) {
      raise_error("manual_seed: seed: \"%.100s\", expected digits of a number below 2^64", digits);
    }
  } else if (manual) {
    first = (uint64_t)arg_int64(&a, seed, "seed");
  }
  if (manual) P.poly_random_seed(first);
  return R_NilValue;
}

static void draw(uint32_t *words, int64_t count) {
  if (manual) {
    if (P.poly_random_take(count, words) != 0) fail();
    return;
  }
  GetRNGstate();
  for (int i = 0; i < SEED_WORDS - 1; i++) words[i] = (uint32_t)(unif_rand() * 4294967296.0);
  PutRNGstate();
  words[SEED_WORDS - 1] = 0;
}

void trace_seed(SEXP words) {
  if (active) SET_VECTOR_ELT(record, SEEDS, Rf_cons(words, VECTOR_ELT(record, SEEDS)));
}

/* The seed of a tensor that takes a number of words. A cell of its memory, that number and its node stays for
 * the seeds of later runs. */
SEXP r_seed(SEXP count) {
  Args a = begin("seed");
  int64_t n = arg_int64(&a, count, "count"), size = SEED_WORDS;
  SEXP words = PROTECT(Rf_allocVector(RAWSXP, SEED_WORDS * sizeof(uint32_t)));
  uint32_t next_words[SEED_WORDS];
  draw(next_words, n);
  memcpy(RAW(words), next_words, sizeof next_words);
  SEXP cell = PROTECT(Rf_cons(words, Rf_ScalarReal((double)n)));
  SEXP node = PROTECT(new_leaf(words, POLY_DTYPE_UINT32, 1, &size));
  SET_TAG(cell, node);
  trace_seed(cell);
  SEXP out = wrap(node);
  UNPROTECT(3);
  return out;
}

void renew_seeds(SEXP seeds) {
  for (R_xlen_t i = 0; i < Rf_xlength(seeds); i++) {
    SEXP cell = VECTOR_ELT(seeds, i);
    uint32_t words[SEED_WORDS];
    draw(words, (int64_t)REAL(CDR(cell))[0]);
    memcpy(RAW(CAR(cell)), words, sizeof words);
  }
}

SEXP r_type_name(SEXP dtype);

/* The name of a data type that may be given by another one, such as "half". */
SEXP r_type_name(SEXP dtype) {
  Args a = begin("Tensor");
  return Rf_mkString(P.poly_dtype_id_name(arg_dtype(&a, dtype, "dtype")));
}

SEXP r_type_bytes(SEXP dtype) {
  Args a = begin("dtype");
  return Rf_ScalarReal(P.poly_dtype_id_size(arg_dtype(&a, dtype, "dtype")));
}
