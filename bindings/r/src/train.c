/* Optimizers and schedules of the library, and its functions of nodes that layers and training use. */
#include "glue.h"

static SEXP new_optim(PolyOptim *o) { return owned(o, RELEASE(poly_optim_release), R_NilValue); }

static PolyOptim *optim_of(SEXP optimizer) { return held(optimizer, RELEASE(poly_optim_release), "an optimizer"); }

/* numbers: momentum, weight_decay, tcoef, ns_steps; flags: nesterov, classic, decoupled. */
SEXP r_optim_lars(SEXP params, SEXP lr, SEXP numbers, SEXP flags, SEXP coefficients) {
  PolyArray **arrays = arrays_of("params", params);
  const double *v = REAL(numbers);
  const int *is = LOGICAL(flags);
  return new_optim(P.poly_optim_lars(arrays, (int)Rf_xlength(params), Rf_asReal(lr), v[0], v[1], v[2], is[0], is[1], is[2],
                                     (int)v[3], REAL(coefficients), (int)Rf_xlength(coefficients)));
}

/* numbers: the two betas, eps, weight_decay; flags: adam, coupled. */
SEXP r_optim_lamb(SEXP params, SEXP lr, SEXP numbers, SEXP flags) {
  PolyArray **arrays = arrays_of("params", params);
  const double *v = REAL(numbers);
  const int *is = LOGICAL(flags);
  return new_optim(P.poly_optim_lamb(arrays, (int)Rf_xlength(params), Rf_asReal(lr), v[0], v[1], v[2], v[3], is[0], is[1]));
}

SEXP r_optim_step(SEXP optimizers) {
  R_xlen_t n = Rf_xlength(optimizers);
  PolyOptim **list = (PolyOptim **)R_alloc((size_t)n + 1, sizeof *list);
  for (R_xlen_t i = 0; i < n; i++) list[i] = optim_of(VECTOR_ELT(optimizers, i));
  before_run();
  finish(P.poly_optim_step(list, (int)n));
  return R_NilValue;
}

/* i counts from 1. */
SEXP r_optim_state(SEXP optimizer, SEXP what, SEXP i) {
  SEXP out = wrap(P.poly_optim_state(optim_of(optimizer), Rf_asInteger(what), Rf_asInteger(i) - 1));
  R_SetExternalPtrProtected(out, Rf_ScalarLogical(0));
  return out;
}

/* Functions of nodes. Operands are Tensors, or NULL where a function takes that. */
#define MOST 8

typedef struct Operands {
  int n;
  PolyArray *arrays[MOST], *all[MOST];
  PolyUOp *nodes[MOST];
} Operands;

static Operands operands(const char *function, SEXP xs) {
  Operands o;
  o.n = (int)Rf_xlength(xs);
  if (o.n > MOST) raise_error("%s: %d tensors, expected at most %d", function, o.n, MOST);
  for (int i = 0; i < o.n; i++) {
    SEXP x = VECTOR_ELT(xs, i);
    if (x != R_NilValue && !is_tensor(x)) raise_error("%s: %s, expected a Tensor", function, kind_of(x));
    o.arrays[i] = x == R_NilValue ? NULL : array_of(x);
  }
  for (int i = 0; i < o.n; i++) o.nodes[i] = o.arrays[i] != NULL ? P.poly_array_node(o.arrays[i]) : NULL;
  return o;
}

static void release(PolyUOp **nodes, int n) {
  for (int i = 0; i < n; i++) {
    if (nodes[i] != NULL) P.poly_uop_release(context(), nodes[i]);
  }
}

/* The Tensors of n nodes that a function has made. */
static SEXP made(const char *function, Operands *o, int status, PolyUOp **out, int n) {
  if (status != 0) {
    release(o->nodes, o->n);
    fail_in(function, P.poly_last_error());
  }
  int from = 0;
  for (int i = 0; i < o->n; i++) {
    if (o->arrays[i] != NULL) o->all[from++] = o->arrays[i];
  }
  PolyArray *arrays[MOST];
  for (int i = 0; i < n; i++) arrays[i] = P.poly_array_of(context(), out[i], o->all, from);
  release(o->nodes, o->n);
  release(out, n);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) SET_VECTOR_ELT(list, i, wrap(arrays[i]));
  UNPROTECT(1);
  return list;
}

/* xs: lr, t; kind is the name of the schedule. */
SEXP r_learning_rate(SEXP kind, SEXP xs, SEXP schedule, SEXP numbers) {
  NEED(poly_learning_rate);
  const char *name = CHAR(STRING_ELT(kind, 0));
  Operands o = operands(name, xs);
  PolyUOp *out = P.poly_learning_rate(context(), o.nodes[0], o.nodes[1], Rf_asInteger(schedule), REAL(numbers),
                                      (int)Rf_xlength(numbers));
  return VECTOR_ELT(made(name, &o, out == NULL, &out, 1), 0);
}

/* xs: lr, metric, best, bad, cooling; numbers: threshold, factor, min_lr, eps, patience, cooldown. */
SEXP r_plateau(SEXP xs, SEXP flags, SEXP numbers) {
  NEED(poly_plateau);
  Args a = begin("ReduceLROnPlateau");
  static const char *names[] = {"threshold", "factor", "min_lr", "eps"};
  double v[4];
  for (int i = 0; i < 4; i++) v[i] = arg_double(&a, VECTOR_ELT(numbers, i), names[i]);
  int64_t patience = arg_int64(&a, VECTOR_ELT(numbers, 4), "patience"), cooldown = arg_int64(&a, VECTOR_ELT(numbers, 5), "cooldown");
  Operands o = operands(a.function, xs);
  PolyUOp *out[4], **x = o.nodes;
  int status = P.poly_plateau(context(), x[0], x[1], x[2], x[3], x[4], LOGICAL(flags)[0], LOGICAL(flags)[1], v[0], v[1], v[2],
                              v[3], patience, cooldown, out);
  return made(a.function, &o, status, out, 4);
}

/* xs: x, h, c, w_ih, w_hh, b_ih, b_hh. */
SEXP r_lstm_cell(SEXP xs) {
  NEED(poly_lstm_cell);
  Operands o = operands("LSTMCell", xs);
  PolyUOp *out[2], **x = o.nodes;
  return made("LSTMCell", &o, P.poly_lstm_cell(context(), x[0], x[1], x[2], x[3], x[4], x[5], x[6], out), out, 2);
}

SEXP r_lstm(SEXP xs, SEXP batch_first, SEXP reverse) {
  NEED(poly_lstm);
  Operands o = operands("LSTM", xs);
  PolyUOp *out[3], **x = o.nodes;
  int status = P.poly_lstm(context(), x[0], x[1], x[2], x[3], x[4], x[5], x[6], Rf_asLogical(batch_first),
                           Rf_asLogical(reverse), out);
  return made("LSTM", &o, status, out, 3);
}

SEXP r_keccak(SEXP xs, SEXP rate, SEXP suffix) {
  NEED(poly_keccak);
  Args a = begin("keccak");
  int bytes = arg_int(&a, rate, "cfg"), end = arg_int(&a, suffix, "cfg");
  Operands o = operands(a.function, xs);
  PolyUOp *out = P.poly_keccak(context(), o.nodes[0], bytes, end);
  return VECTOR_ELT(made(a.function, &o, out == NULL, &out, 1), 0);
}

SEXP r_hash(SEXP xs) {
  NEED(poly_hash);
  Operands o = operands("hash", xs);
  PolyUOp *out = P.poly_hash(context(), o.nodes[0]);
  return VECTOR_ELT(made("hash", &o, out == NULL, &out, 1), 0);
}

/* The norm of gradients, and they themselves so that it is at most max_norm. */
SEXP r_clip_grad_norm(SEXP grads, SEXP max_norm, SEXP norm_type) {
  NEED(poly_clip_grad_norm);
  Args a = begin("clip_grad_norm");
  double most = arg_double(&a, max_norm, "max_norm"), kind = arg_double(&a, norm_type, "norm_type");
  int n = (int)Rf_xlength(grads);
  PolyArray **arrays = arrays_of("clip_grad_norm", grads);
  PolyUOp **nodes = (PolyUOp **)R_alloc(2 * (size_t)n + 1, sizeof *nodes), **out = nodes + n;
  for (int i = 0; i < n; i++) nodes[i] = P.poly_array_node(arrays[i]);
  int status = P.poly_clip_grad_norm(context(), nodes, n, most, kind, out);
  release(nodes, n);
  if (status != 0) fail_in(a.function, P.poly_last_error());
  PolyArray **made = (PolyArray **)R_alloc((size_t)n + 1, sizeof *made);
  for (int i = 0; i <= n; i++) made[i] = P.poly_array_of(context(), out[i], arrays, n);
  release(out, n + 1);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n + 1));
  for (int i = 0; i <= n; i++) SET_VECTOR_ELT(list, i, wrap(made[i]));
  UNPROTECT(1);
  return list;
}
