/* Compiled programs: steps, and functions that were captured. */
#include "glue.h"

/* A program is an external pointer whose protected field is a list:
 *   RESULTS  the nodes of its results
 *   TARGETS  the memory that it writes to, as nodes, and VALUES, the nodes of what it writes
 *   SEEDS    memory of seeds of random tensors, renewed in each run
 *   PLACES   numbers of buffers (from 0) that are memory which the program has found, and CELLS, the
 *            cells that hold what its variables stand for now
 *   MEMORY   raw vectors with the results of the last run */
enum { RESULTS, TARGETS, VALUES, STEP_SEEDS, PLACES, CELLS, MEMORY, STEP_FIELDS };

SEXP r_compile(SEXP results, SEXP before, SEXP after, SEXP seeds, SEXP inputs);
SEXP r_step_run(SEXP step);
SEXP r_step_output(SEXP step, SEXP which);
SEXP r_step_counts(SEXP step);
SEXP r_jit_memory(SEXP tensors);
SEXP r_jit_enter(SEXP tensors, SEXP memory);
SEXP r_jit_leave(SEXP tensors, SEXP before);
SEXP r_jit_run(SEXP step, SEXP tensors, SEXP memory, SEXP stand_ins, SEXP assigned, SEXP variables, SEXP values);
SEXP r_jit_kind(SEXP tensor);
SEXP r_is_view(SEXP tensor);

static void finalize(SEXP step) {
  if (is_asking()) {
    R_RegisterCFinalizerEx(step, finalize, FALSE);
    return;
  }
  PolyStep *s = R_ExternalPtrAddr(step);
  R_ClearExternalPtr(step);
  if (s != NULL) P.poly_step_destroy(s);
}

static PolyStep *step_of(SEXP step) {
  PolyStep *s = TYPEOF(step) == EXTPTRSXP ? R_ExternalPtrAddr(step) : NULL;
  if (s == NULL) raise_error("a compiled step of another session cannot be used");
  return s;
}

static SEXP field(SEXP step, int which) { return VECTOR_ELT(R_ExternalPtrProtected(step), which); }

PolyUOp **handles(SEXP nodes) {
  R_xlen_t n = Rf_xlength(nodes);
  PolyUOp **out = (PolyUOp **)R_alloc((size_t)n + 1, sizeof *out);
  for (R_xlen_t i = 0; i < n; i++) out[i] = node_of(VECTOR_ELT(nodes, i))->handle;
  return out;
}

/* Writes the memory below nodes that the function has found to found, as much as there is room for;
 * returns how much there is. */
static int memory_below(SEXP nodes, SEXP found, int n, unsigned mark) {
  R_xlen_t room = 64, depth = 0;
  SEXP *stack = (SEXP *)R_alloc((size_t)room, sizeof *stack);
  for (R_xlen_t i = 0; i < Rf_xlength(nodes); i++) {
    stack[depth++] = VECTOR_ELT(nodes, i);
    while (depth > 0) {
      SEXP node = stack[--depth];
      if (!first_visit(node, mark)) continue;
      if (extra(node, DATA) != R_NilValue && !made_in_trace(node_of(node))) {
        if (found != R_NilValue) SET_VECTOR_ELT(found, n, node);
        n++;
      }
      int below = n_sources(node);
      if (depth + below > room) {
        SEXP *more = (SEXP *)R_alloc((size_t)(2 * room + below), sizeof *more);
        memcpy(more, stack, (size_t)depth * sizeof *more);
        stack = more;
        room = 2 * room + below;
      }
      for (int k = 0; k < below; k++) {
        if (source(node, k) != R_NilValue) stack[depth++] = source(node, k);
      }
    }
  }
  return n;
}

static SEXP all_memory(SEXP results, SEXP targets, SEXP values) {
  SEXP found = R_NilValue;
  for (int pass = 0, n = 0; pass < 2; pass++) {
    unsigned mark = new_walk();
    if (pass == 1) found = PROTECT(Rf_allocVector(VECSXP, n));
    n = memory_below(results, found, 0, mark);
    n = memory_below(targets, found, n, mark);
    n = memory_below(values, found, n, mark);
  }
  UNPROTECT(1);
  return found;
}

/* Notes the buffers of a program that are memory of variables, which may get another one. */
static void follow(PolyStep *s, SEXP fields, SEXP found) {
  PROTECT(found);
  int n = (int)Rf_xlength(found);
  SEXP places = Rf_allocVector(INTSXP, n);
  SET_VECTOR_ELT(fields, PLACES, places);
  SEXP cells = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(fields, CELLS, cells);
  for (int i = 0; i < n; i++) {
    SEXP node = VECTOR_ELT(found, i);
    INTEGER(places)[i] = P.poly_step_buf_index(s, node_of(node)->handle);
    if (extra(node, CELL) == R_NilValue) become(node, node);
    SET_VECTOR_ELT(cells, i, extra(node, CELL));
  }
  UNPROTECT(1);
}

/* What changes from run to run beside what is written: inputs and seeds. */
static SEXP changing(SEXP inputs, SEXP seeds) {
  R_xlen_t n = Rf_xlength(inputs), more = Rf_xlength(seeds);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n + more));
  for (R_xlen_t i = 0; i < n; i++) SET_VECTOR_ELT(out, i, VECTOR_ELT(inputs, i));
  for (R_xlen_t i = 0; i < more; i++) SET_VECTOR_ELT(out, n + i, TAG(VECTOR_ELT(seeds, i)));
  UNPROTECT(1);
  return out;
}

/* Compiles what was traced; all but seeds are lists of nodes. With inputs, which may be NULL, what depends on
 * nothing that changes is computed at once. */
SEXP r_compile(SEXP results, SEXP before, SEXP after, SEXP seeds, SEXP inputs) {
  PolyCtx *ctx = context();
  int n = (int)Rf_xlength(results), changes = (int)Rf_xlength(before);
  SEXP fields = PROTECT(Rf_allocVector(VECSXP, STEP_FIELDS));
  SET_VECTOR_ELT(fields, RESULTS, results);
  SET_VECTOR_ELT(fields, TARGETS, before);
  SET_VECTOR_ELT(fields, VALUES, after);
  SET_VECTOR_ELT(fields, STEP_SEEDS, seeds);
  SEXP memory = Rf_allocVector(VECSXP, n);
  SET_VECTOR_ELT(fields, MEMORY, memory);
  void **data = (void **)R_alloc((size_t)n + 1, sizeof *data);
  for (int i = 0; i < n; i++) {
    SEXP block = Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(describe(VECTOR_ELT(results, i))));
    memset(RAW(block), 0, (size_t)Rf_xlength(block));
    SET_VECTOR_ELT(memory, i, block);
    data[i] = RAW(block);
  }
  PolyStep *s;
  if (inputs == R_NilValue) {
    NEED(poly_compile_update);
    s = P.poly_compile_update(ctx, handles(results), data, n, handles(before), handles(after), changes);
  } else {
    NEED(poly_compile_update_pruned);
    SEXP given = PROTECT(changing(inputs, seeds));
    s = P.poly_compile_update_pruned(ctx, handles(results), data, n, handles(before), handles(after), changes,
                                     handles(given), (int)Rf_xlength(given));
    UNPROTECT(1);
  }
  if (s == NULL) fail();
  SEXP step = PROTECT(R_MakeExternalPtr(s, R_NilValue, fields));
  R_RegisterCFinalizerEx(step, finalize, FALSE);
  follow(s, fields, all_memory(results, before, after));
  /* What is written in each run had better be memory that nothing else is computed from. */
  for (int i = 0; i < changes; i++) {
    if (!has_readers(VECTOR_ELT(before, i))) continue;
    R_gc();
    break;
  }
  UNPROTECT(2);
  return step;
}

static void *address(SEXP node) {
  SEXP data = extra(node, DATA);
  if (data == R_NilValue) raise_error("memory that the program uses is gone");
  return RAW(data);
}

/* Runs a program on the memory that its variables have now; ptrs has room for all of its buffers. */
static void run(SEXP step, void **ptrs, PolyVarBinding *vars, int n_vars) {
  PolyStep *s = step_of(step);
  renew_seeds(field(step, STEP_SEEDS));
  SEXP targets = field(step, TARGETS), cells = field(step, CELLS), places = field(step, PLACES);
  for (R_xlen_t i = 0; i < Rf_xlength(targets); i++) {
    SEXP cell = extra(VECTOR_ELT(targets, i), CELL);
    if (extra(CAR(cell), DATA) != R_NilValue) own_memory(CAR(cell));
  }
  for (R_xlen_t i = 0; i < Rf_xlength(cells); i++) {
    int place = INTEGER(places)[i];
    if (place >= 0) ptrs[place] = address(CAR(VECTOR_ELT(cells, i)));
  }
  int n = P.poly_step_n_bindable_buffers(s);
  finish(n > 0 ? P.poly_step_run_indexed_ex(s, ptrs, n, vars, n_vars) : P.poly_step_run_ex(s, NULL, 0, vars, n_vars));
}

static void **no_pointers(SEXP step) {
  size_t n = (size_t)P.poly_step_n_bindable_buffers(step_of(step)) + 1;
  void **ptrs = (void **)R_alloc(n, sizeof *ptrs);
  memset(ptrs, 0, n * sizeof *ptrs);
  return ptrs;
}

SEXP r_step_run(SEXP step) {
  const void *top = vmaxget();
  run(step, no_pointers(step), NULL, 0);
  vmaxset(top);
  return R_NilValue;
}

/* What a step computes and changes: its results, and targets with their new values. */
void step_program(SEXP step, SEXP *results, SEXP *targets, SEXP *values) {
  step_of(step);
  *results = field(step, RESULTS);
  *targets = field(step, TARGETS);
  *values = field(step, VALUES);
}

/* A result of the last run; types that R lacks were cast while tracing. */
SEXP r_step_output(SEXP step, SEXP which) {
  step_of(step);
  Args a = begin("outputs");
  int i = arg_int(&a, which, "which") - 1;
  SEXP memory = field(step, MEMORY);
  if (i < 0 || i >= Rf_xlength(memory)) return R_NilValue;
  const Node *n = describe(VECTOR_ELT(field(step, RESULTS), i));
  return from_storage(RAW(VECTOR_ELT(memory, i)), n->dtype, n->ndim, n->dims, 0);
}

SEXP r_step_counts(SEXP step) {
  PolyStep *s = step_of(step);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, 3));
  INTEGER(out)[0] = P.poly_step_n_kernels(s);
  INTEGER(out)[1] = P.poly_step_n_intermediates(s);
  INTEGER(out)[2] = (int)Rf_xlength(field(step, MEMORY));
  UNPROTECT(1);
  return out;
}

/* Arguments of a captured function as memory of their own: what is none is computed or copied. */
SEXP r_jit_memory(SEXP tensors) {
  realize(tensors);
  R_xlen_t n = Rf_xlength(tensors);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP node = node_in(VECTOR_ELT(tensors, i));
    SET_VECTOR_ELT(out, i, extra(node, DATA) == R_NilValue ? compute_one(node, 0) : node);
  }
  UNPROTECT(1);
  return out;
}

SEXP r_is_view(SEXP tensor) { return Rf_ScalarLogical(node_of(node_in(tensor))->view); }

/* Lets the arguments stand for nodes like those of their memory, without values. Returns what they
 * stood for. */
SEXP r_jit_enter(SEXP tensors, SEXP memory) {
  R_xlen_t n = Rf_xlength(tensors);
  SEXP before = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP var = variable(VECTOR_ELT(tensors, i)), node = current(var), own = VECTOR_ELT(memory, i);
    PolyUOp *handle = P.poly_uop_retain(context(), node_of(own)->handle);
    if (handle == NULL) fail();
    SEXP other = PROTECT(new_node(handle, R_NilValue, node_of(node)->tracked));
    node_of(other)->refused = node_of(node)->refused;
    node_of(other)->is_input = 1;
    if (owner_of(node) != R_NilValue) set_owner(other, owner_of(node));
    SET_VECTOR_ELT(before, i, node);
    set_node(var, other);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return before;
}

/* Returns the stand-ins. */
SEXP r_jit_leave(SEXP tensors, SEXP before) {
  R_xlen_t n = Rf_xlength(tensors);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP var = variable(VECTOR_ELT(tensors, i));
    SET_VECTOR_ELT(out, i, current(var));
    set_node(var, VECTOR_ELT(before, i));
  }
  UNPROTECT(1);
  return out;
}

/* Runs a captured function on the memory of its arguments; assigned are those that it assigns, from
 * 0. Returns new Tensors. */
SEXP r_jit_run(SEXP step, SEXP tensors, SEXP memory, SEXP stand_ins, SEXP assigned, SEXP variables, SEXP values) {
  PolyStep *s = step_of(step);
  const void *top = vmaxget();
  void **ptrs = no_pointers(step);
  memory = PROTECT(Rf_shallow_duplicate(memory));
  for (R_xlen_t i = 0; i < Rf_xlength(assigned); i++) {
    int k = INTEGER(assigned)[i];
    SET_VECTOR_ELT(memory, k, own_memory(VECTOR_ELT(memory, k)));
  }
  for (R_xlen_t i = 0; i < Rf_xlength(memory); i++) {
    int place = P.poly_step_buf_index(s, node_of(VECTOR_ELT(stand_ins, i))->handle);
    if (place >= 0) ptrs[place] = address(VECTOR_ELT(memory, i));
  }
  int n_vars = (int)Rf_xlength(variables);
  PolyVarBinding *vars = (PolyVarBinding *)R_alloc((size_t)n_vars + 1, sizeof *vars);
  for (int i = 0; i < n_vars; i++) {
    vars[i].var = node_of(VECTOR_ELT(variables, i))->handle;
    vars[i].value = INTEGER(values)[i];
  }
  SEXP results = field(step, RESULTS);
  R_xlen_t n = Rf_xlength(results);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP data = Rf_allocVector(RAWSXP, (R_xlen_t)bytes_of(describe(VECTOR_ELT(results, i))));
    SET_VECTOR_ELT(out, i, data);
    int place = P.poly_step_value_index(s, (int)i);
    if (place >= 0) ptrs[place] = RAW(data);
  }
  run(step, ptrs, vars, n_vars);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP leaf = PROTECT(leaf_like(VECTOR_ELT(results, i), VECTOR_ELT(out, i), vars, n_vars));
    SET_VECTOR_ELT(out, i, wrap(leaf));
    UNPROTECT(1);
  }
  vmaxset(top);
  UNPROTECT(2);
  return out;
}

/* Type and shape of a tensor as text, without the values of variables. */
SEXP r_jit_kind(SEXP tensor) {
  const Node *n = describe(node_in(tensor));
  char text[1024];
  size_t used = (size_t)snprintf(text, sizeof text, "%s of shape (", P.poly_dtype_id_name(n->dtype));
  for (int i = 0; i < n->ndim && used < sizeof text; i++) {
    const char *comma = i > 0 ? ", " : "";
    PolyUOp *size = n->symbolic ? P.poly_size_of(context(), n->handle, i) : NULL;
    PolyUOp *open = size != NULL ? P.poly_size_unbind(context(), size) : NULL;
    if (n->symbolic && open == NULL) fail();
    int64_t lo = n->dims[i], hi = lo;
    if (open != NULL) P.poly_size_info(context(), open, &lo, &hi, NULL);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", comma, (long long)hi);
    if (lo != hi && used < sizeof text) {
      char name[256];
      P.poly_size_text(context(), open, name, sizeof name);
      used += (size_t)snprintf(text + used, sizeof text - used, " at most: %s", name);
    }
    if (size != NULL) P.poly_uop_release(context(), size);
    if (open != NULL) P.poly_uop_release(context(), open);
  }
  if (used < sizeof text) snprintf(text + used, sizeof text - used, ")");
  return Rf_mkString(text);
}
