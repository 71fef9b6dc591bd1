/* Operations by name: R's arguments become those of poly_array_call, by the table that the descriptions of operations
 * give. R counts axes and positions from 1. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "glue.h"

/* The kinds of parameters. */
enum {
  TENSOR = 't',    /* a Tensor, or an array, which becomes one */
  OPERAND = 'o',   /* also a number, which takes its type from the first operand */
  TENSORS = 'T',   /* a list of Tensors */
  PLACES = 'p',    /* positions from 1 */
  CLASSES = 'c',   /* class numbers from 1, or probabilities */
  CLASS = 'C',     /* a class number from 1, or a negative number */
  INT = 'i',
  INTS = 'I',      /* sizes among them may be symbolic */
  WINDOW = 'K',    /* sizes of a window: one number stands for all axes but two */
  AXIS = 'x',
  AXES = 'X',
  FLOAT = 'f',
  FLOATS = 'F',
  NUMBER = 'n',
  FLAG = 'b',
  TEXT = 's',
  DTYPE = 'd',
  PAIRS = 'P',     /* two numbers for each axis, one after the other */
  ITEMS = 'm',     /* an index: see add_item */
  PADDING = 'G',   /* numbers, or a name */
  NAMED_INTS = 'N'      /* numbers with names */
};

typedef struct Param {
  const char *name;
  char kind, optional; /* optional: NULL leaves it out */
} Param;

typedef struct Method {
  const char *name, *first; /* of the operation and of its first operand */
  const Param *params;
  int n;
  char form;     /* 'm' of a Tensor, 'j' of a list of Tensors, 0 of neither */
  int results;   /* 0: as many as there are */
  int from_one;  /* bits of the results that are positions */
  int longer;    /* axes are those of a tensor with one more */
} Method;

#include "methods.h"

#define N_METHODS ((int)(sizeof methods / sizeof *methods))

/* The arguments of a call so far. */
typedef struct Pack {
  const char *function, *name;
  SEXP self;
  PolyCallArg *args;
  int n, room, kept; /* kept: R objects to unprotect */
  int used;          /* arguments without those that are left out at the end */
  int axes;          /* positions of axes that were given, for errors */
  struct {
    const char *name;
    int64_t at;
  } axis[8];
  PolyCallArg first[32];
} Pack;

static void begin_pack(Pack *p, const char *function) {
  p->function = p->name = function;
  p->self = R_NilValue;
  p->args = p->first;
  p->n = p->kept = p->axes = p->used = 0;
  p->room = (int)(sizeof p->first / sizeof *p->first);
}

static void wrong(Pack *p, const char *given, const char *expected) NORETURN;

static void wrong(Pack *p, const char *given, const char *expected) {
  raise_error("%s: %s: %s, expected %s", p->function, p->name, given, expected);
}

static void add(Pack *p, PolyCallArg arg) {
  if (p->n == p->room) {
    PolyCallArg *more = (PolyCallArg *)R_alloc(2 * (size_t)p->room, sizeof *more);
    memcpy(more, p->args, (size_t)p->n * sizeof *more);
    p->args = more;
    p->room *= 2;
  }
  p->args[p->n++] = arg;
}

static SEXP keep(Pack *p, SEXP x) {
  Rf_protect(x);
  p->kept++;
  return x;
}

static void add_list(Pack *p, R_xlen_t n) { add(p, (PolyCallArg){.kind = POLY_CALL_LIST, .n = (int32_t)n}); }

static PolyCallArg size_arg(SEXP size) { return (PolyCallArg){.kind = POLY_CALL_SIZE, .as = {.p = size_handle(size)}}; }

/* Element i of numbers, or of a list of numbers and sizes. */
static PolyCallArg integer(Pack *p, SEXP x, R_xlen_t i) {
  if (is_size(x)) return size_arg(x);
  if (TYPEOF(x) == VECSXP && is_size(VECTOR_ELT(x, i))) return size_arg(VECTOR_ELT(x, i));
  return POLY_PASS_I(whole_at(p->function, p->name, x, i));
}

/* One of several sizes; NULL keeps that of an axis. */
static PolyCallArg one_size(Pack *p, SEXP x, R_xlen_t i) {
  if (x == R_NilValue || (TYPEOF(x) == VECSXP && VECTOR_ELT(x, i) == R_NilValue)) return POLY_PASS_NONE;
  return integer(p, x, i);
}

static R_xlen_t length_of(SEXP x) { return TYPEOF(x) == EXTPTRSXP ? 1 : Rf_xlength(x); }

static PolyCallArg axis(Pack *p, SEXP x, R_xlen_t i) {
  if (is_size(x)) wrong(p, "a Variable", "a position");
  int64_t v = whole_at(p->function, p->name, x, i);
  if (v == 0) wrong(p, "0", "a position from 1 (the first) or -1 (the last)");
  if (p->axes < (int)(sizeof p->axis / sizeof *p->axis)) {
    p->axis[p->axes].name = p->name;
    p->axis[p->axes++].at = v;
  }
  return POLY_PASS_I(v > 0 ? v - 1 : v);
}

static void one(Pack *p, SEXP x) {
  if (length_of(x) != 1) wrong(p, given_for_one(x), "one whole number");
}

/* Raises for a position of 0 where positions are known already: it would be taken for the first one. */
static void need_positions(PolyArray *array) {
  static const char zero[sizeof(int64_t)];
  Shape s = describe(array);
  int64_t count = 1, size = P.poly_dtype_id_size(s.dtype);
  for (int i = 0; i < s.ndim; i++) count *= s.dims[i];
  if (s.symbolic || is_float(s.dtype) || tracing() || count > 1 << 20 || P.poly_array_is_computed(array) != 1) return;
  const void *top = vmaxget();
  char *at = R_alloc((size_t)(count * size), 1);
  read_values(array, at, count * size);
  for (int64_t i = 0; i < count; i++, at += size) {
    if (memcmp(at, zero, (size_t)size) == 0) {
      raise_error("positions: 0, expected positions from 1 (the first), or from the end: -1 (the last)");
    }
  }
  vmaxset(top);
}

/* Positions from 1 as positions from 0; negative ones count from the end in both. */
SEXP from_zero(SEXP positions) {
  PolyArray *array = array_of(positions);
  need_positions(array);
  PolyCallArg zero = POLY_PASS_I(0);
  SEXP is_positive = PROTECT(wrap(P.poly_array_binary_number(POLY_GT, array, &zero, 0)));
  SEXP out = PROTECT(wrap(P.poly_array_binary(POLY_SUB, array, array_of(is_positive))));
  // The library checks positions that are in memory. While a function is traced nothing can be computed.
  PolyArray *computed = array_of(out);
  if (P.poly_array_is_computed(array) == 1) P.poly_array_realize(&computed, 1);
  UNPROTECT(2);
  return out;
}

static SEXP from_one(PolyArray *positions) {
  SEXP x = PROTECT(wrap(positions));
  PolyCallArg number = POLY_PASS_I(1);
  SEXP out = wrap(P.poly_array_binary_number(POLY_ADD, positions, &number, 0));
  UNPROTECT(1);
  return out;
}

/* A tensor of positions from 0, of a Tensor or of R's numbers. */
static SEXP places(SEXP x, const char *what) {
  if (is_tensor(x)) return from_zero(x);
  SEXP name = PROTECT(Rf_mkString(what));
  SEXP out = call_package("places", x, name);
  UNPROTECT(1);
  return out;
}

/* The function and the parameter, for errors. */
static const char *named(Pack *p) {
  char *text = R_alloc(strlen(p->function) + strlen(p->name) + 3, 1);
  sprintf(text, "%s: %s", p->function, p->name);
  return text;
}

/* Items of an index. NULL is all of an axis, a Tensor has positions from 1, a number takes the axis away, three numbers
 * c(first, last, step), or a list of them and of Variables, are a slice with NA for what is left out, "newaxis", "...". */

static PolyCallArg bound(Pack *p, SEXP item, int k) {
  SEXP part = TYPEOF(item) == VECSXP ? VECTOR_ELT(item, k) : item;
  if (is_size(part)) return size_arg(part);
  if (part != item && Rf_xlength(part) != 1) raise_error("%s: expected first, last and step as numbers", p->function);
  if (TYPEOF(part) != REALSXP && TYPEOF(part) != INTSXP && TYPEOF(part) != LGLSXP) {
    raise_error("%s: %s is not an index", p->function, Rf_type2char(TYPEOF(part)));
  }
  R_xlen_t i = part == item ? k : 0;
  return ISNAN(number_at(part, i)) ? POLY_PASS_NONE : POLY_PASS_I(whole_at(p->function, "slice", part, i));
}

/* A size less one. */
static PolyCallArg before(Pack *p, SEXP size) {
  SEXP less = keep(p, call_package("-", size, Rf_ScalarInteger(1)));
  return is_size(less) ? size_arg(less) : POLY_PASS_I(Rf_asInteger(less));
}

/* Start, stop (excluded) and step, counted from 0. */
static void add_slice(Pack *p, SEXP item) {
  if (Rf_xlength(item) != 3) {
    raise_error("%s: a slice of %d numbers, expected first, last and step", p->function, (int)Rf_xlength(item));
  }
  PolyCallArg first = bound(p, item, 0), last = bound(p, item, 1), step = bound(p, item, 2);
  int down = step.kind == POLY_CALL_INT && step.as.i < 0;
  if (step.kind == POLY_CALL_SIZE || (down && (first.kind == POLY_CALL_SIZE || last.kind == POLY_CALL_SIZE))) {
    raise_error("%s: the step of a slice with a Variable must be a positive number", p->function);
  }
  if (first.kind == POLY_CALL_SIZE) {
    first = before(p, VECTOR_ELT(item, 0));
  } else if (first.kind == POLY_CALL_INT && first.as.i > 0) {
    first.as.i--;
  }
  if (last.kind == POLY_CALL_INT) {
    int64_t v = last.as.i;
    if (down) {
      /* The place before the first element cannot be named: nothing goes there. */
      last = v < 0 ? POLY_PASS_I(v - 1) : v >= 2 ? POLY_PASS_I(v - 2) : POLY_PASS_NONE;
    } else if (v < 0) {
      last = v == -1 ? POLY_PASS_NONE : POLY_PASS_I(v + 1);
    }
  }
  add(p, (PolyCallArg){.kind = POLY_CALL_SLICE});
  add(p, first);
  add(p, last);
  add(p, step);
}

static void add_item(Pack *p, SEXP item) {
  if (item == R_NilValue) {
    add(p, (PolyCallArg){.kind = POLY_CALL_SLICE});
    for (int i = 0; i < 3; i++) add(p, POLY_PASS_NONE);
  } else if (is_tensor(item)) {
    add(p, POLY_PASS_T(array_of(keep(p, from_zero(item)))));
  } else if (TYPEOF(item) == STRSXP) {
    Args a = {p->function};
    const char *word = arg_string(&a, item, "item");
    if (strcmp(word, "newaxis") != 0 && strcmp(word, "...") != 0) {
      raise_error("%s: \"%.100s\", expected \"newaxis\" or \"...\"", p->function, word);
    }
    add(p, *word == 'n' ? POLY_PASS_NONE : (PolyCallArg){.kind = POLY_CALL_ELLIPSIS});
  } else if (is_size(item)) {
    add(p, before(p, item));
  } else if (Rf_xlength(item) == 1) {
    int64_t at = whole_at(p->function, "index", item, 0);
    if (at == 0) raise_error("%s: 0, expected a position from 1 (the first) or -1 (the last)", p->function);
    add(p, POLY_PASS_I(at > 0 ? at - 1 : at));
  } else {
    add_slice(p, item);
  }
}

/* Class numbers from 1 as those from 0. */
static SEXP targets(SEXP x, Pack *p) {
  SEXP function = PROTECT(package_function("class_target")), what = PROTECT(Rf_mkString(named(p)));
  x = PROTECT(quoted(x));
  SEXP call = PROTECT(Rf_lang4(function, x, p->self, what));
  SEXP out = Rf_eval(call, R_BaseEnv);
  UNPROTECT(4);
  return out;
}

static void add_named(Pack *p, SEXP x) {
  SEXP names = Rf_getAttrib(x, R_NamesSymbol);
  R_xlen_t n = Rf_xlength(x);
  if (Rf_isFunction(x) || (n > 0 && names == R_NilValue)) wrong(p, kind_of(x), "numbers with names");
  add_list(p, 2 * n);
  for (R_xlen_t i = 0; i < n; i++) {
    add(p, POLY_PASS_TEXT(Rf_translateCharUTF8(STRING_ELT(names, i))));
    add(p, POLY_PASS_I(whole_at(p->function, p->name, x, i)));
  }
}

static void add_number(Pack *p, SEXP x) {
  PolyCallArg parts[2];
  int n = number_args(x, parts);
  for (int i = 0; i < n; i++) add(p, parts[i]);
}

/* Adds an argument of a kind. */
static void add_given(Pack *p, const Param *param, SEXP x) {
  Args a = {p->function};
  R_xlen_t n = length_of(x);
  switch (param->kind) {
    case TENSOR:
    case OPERAND:
      if (is_tensor(x)) {
        add(p, POLY_PASS_T(array_of(x)));
      } else if (param->kind == OPERAND && is_number(x)) {
        add_number(p, x);
      } else if (param->kind == OPERAND && is_size(x)) {
        add(p, size_arg(x));
      } else if (((is_plain(x) && (Rf_isNumeric(x) || TYPEOF(x) == LGLSXP || TYPEOF(x) == CPLXSXP)) || Rf_inherits(x, "data.frame")) && !is_number(x)) {
        add(p, POLY_PASS_T(array_of(keep(p, tensor_of(x, p->self, named(p))))));
      } else if (is_number(x)) {
        add(p, POLY_PASS_T(array_of(keep(p, operand(x, p->self, named(p))))));
      } else {
        wrong(p, kind_of(x), param->kind == OPERAND ? "a Tensor or numbers" : "a Tensor");
      }
      return;
    case PLACES: add(p, POLY_PASS_T(array_of(keep(p, places(x, named(p)))))); return;
    case CLASSES: add(p, POLY_PASS_T(array_of(keep(p, targets(x, p))))); return;
    case TENSORS: {
      if (TYPEOF(x) != VECSXP) wrong(p, kind_of(x), "a list of Tensors");
      add_list(p, n);
      for (R_xlen_t i = 0; i < n; i++) {
        if (!is_tensor(VECTOR_ELT(x, i))) wrong(p, kind_of(VECTOR_ELT(x, i)), "Tensors only");
        add(p, POLY_PASS_T(array_of(VECTOR_ELT(x, i))));
      }
      return;
    }
    case INT:
      one(p, x);
      add(p, integer(p, x, 0));
      return;
    case AXIS:
      one(p, x);
      add(p, axis(p, x, 0));
      return;
    case CLASS: {
      one(p, x);
      int64_t v = whole_at(p->function, p->name, x, 0);
      if (v == 0) wrong(p, "0", "a class from 1, or a negative number");
      add(p, POLY_PASS_I(v > 0 ? v - 1 : v));
      return;
    }
    case PADDING:
      if (TYPEOF(x) == STRSXP || (TYPEOF(x) == REALSXP && n == 1 && isinf(REAL(x)[0]))) { /* or an order of a norm */
        add(p, TYPEOF(x) == STRSXP ? POLY_PASS_TEXT(arg_string(&a, x, p->name)) : POLY_PASS_F(REAL(x)[0]));
        return;
      } /* FALLTHROUGH */
    case INTS:
    case AXES:
      if (x == R_NilValue || (n == 0 && TYPEOF(x) == STRSXP)) wrong(p, kind_of(x), "whole numbers");
      add_list(p, n);
      for (R_xlen_t i = 0; i < n; i++) add(p, param->kind == AXES ? axis(p, x, i) : one_size(p, x, i));
      return;
    case WINDOW: {
      int axes = n == 1 && is_tensor(p->self) ? describe(array_of(p->self)).ndim - 2 : 1;
      if (axes < 1) axes = 1;
      add_list(p, n * axes);
      for (R_xlen_t i = 0; i < n * axes; i++) add(p, integer(p, x, n == 1 ? 0 : i));
      return;
    }
    case FLOAT: add(p, POLY_PASS_F(arg_double(&a, x, p->name))); return;
    case FLOATS: {
      int count;
      double *numbers = arg_doubles(&a, x, p->name, &count);
      add(p, (PolyCallArg){.kind = POLY_CALL_FLOATS, .n = count, .as = {.p = numbers}});
      return;
    }
    case NUMBER:
      if (n != 1 || !is_plain(x) || (!Rf_isNumeric(x) && TYPEOF(x) != LGLSXP && TYPEOF(x) != CPLXSXP)) wrong(p, kind_of(x), "one number");
      add_number(p, x);
      return;
    case FLAG: {
      int flag = n == 1 && TYPEOF(x) == LGLSXP ? LOGICAL(x)[0] : NA_LOGICAL;
      if (flag == NA_LOGICAL) wrong(p, given_for_one(x), "TRUE or FALSE");
      add(p, POLY_PASS_B(flag));
      return;
    }
    case TEXT: add(p, POLY_PASS_TEXT(arg_string(&a, x, p->name))); return;
    case DTYPE: add(p, POLY_PASS_DTYPE(arg_dtype(&a, x, p->name))); return;
    case PAIRS:
      add_list(p, n / 2);
      for (R_xlen_t i = 0; i + 1 < n; i += 2) {
        add_list(p, 2);
        add(p, integer(p, x, i));
        add(p, integer(p, x, i + 1));
      }
      return;
    case ITEMS:
      add_list(p, n);
      for (R_xlen_t i = 0; i < n; i++) add_item(p, VECTOR_ELT(x, i));
      return;
    default: add_named(p, x);
  }
}

/* Adds the argument of a parameter. */
static void add_param(Pack *p, const Param *param, SEXP x) {
  p->name = param->name;
  if (x == R_NilValue && param->optional) {
    add(p, POLY_PASS_NONE);
    return;
  }
  add_given(p, param, x);
  p->used = p->n;
}

/* Raises the library's error in R's terms: what it was given counts from 1. */
static void failed(const Method *m, Pack *p) NORETURN;

static void failed(const Method *m, Pack *p) {
  const char *text = P.poly_last_error(), *at;
  int n = m->form == 'm' && is_tensor(p->self) ? P.poly_array_describe(array_of(p->self), NULL, 0, NULL) : -1;
  if (m->form == 'j' && TYPEOF(p->self) == VECSXP && Rf_xlength(p->self) > 0) {
    n = P.poly_array_describe(array_of(VECTOR_ELT(p->self, 0)), NULL, 0, NULL);
  }
  if (n >= 0) n += m->longer;
  int most = n > 0 ? n : 1;
  for (int i = 0; n >= 0 && i < p->axes; i++) {
    if (p->axis[i].at > most || p->axis[i].at < -most) {
      raise_error("%s: %s: %lld is out of range for %d dimensions, expected 1..%d or -%d..-1", p->function,
                  p->axis[i].name, (long long)p->axis[i].at, n, most, most);
    }
  }
  int param, end = 0;
  if (sscanf(text, "poly_optim_new: args: %*[^:]: params[%d]%n", &param, &end) == 1 && end > 0) {
    raise_error("%s: params[[%d]]%s", p->function, param + 1, text + end);
  }
  long long class, last;
  at = strstr(text, ": class ");
  if (at != NULL && sscanf(at, ": class %lld is out of range, expected 0 to %lld", &class, &last) == 2) {
    raise_error("%s: target: class %lld is out of range, expected 1 to %lld", p->function, class + (class >= 0),
                last + 1);
  }
  fail_in(p->function, text);
}

static int numbers[N_METHODS]; /* of the library, plus 1 */

static int number_of(const Method *m) {
  int *number = &numbers[m - methods];
  if (*number == 0 && (*number = P.poly_op(m->name) + 1) == 0) fail();
  return *number - 1;
}

static SEXP run(const Method *m, Pack *p) {
  int number = number_of(m);
  PolyArray *few[8], **out = few;
  PolyCtx *ctx = context();
  int count = P.poly_array_call(ctx, number, p->args, p->used, out, 8);
  if (count > 8) {
    out = (PolyArray **)R_alloc((size_t)count, sizeof *out);
    count = P.poly_array_call(ctx, number, p->args, p->used, out, count);
  }
  if (count < 0) failed(m, p);
  if (m->results == 1) {
    SEXP x = m->from_one ? from_one(out[0]) : wrap(out[0]);
    UNPROTECT(p->kept);
    return x;
  }
  SEXP list = PROTECT(Rf_allocVector(VECSXP, count));
  for (int i = 0; i < count; i++) {
    if (out[i] != NULL) SET_VECTOR_ELT(list, i, m->from_one >> i & 1 ? from_one(out[i]) : wrap(out[i]));
  }
  UNPROTECT(p->kept + 1);
  return list;
}

static const Method *begin_call(Pack *p, SEXP *args) {
  *args = CDR(*args);
  const Method *m = &methods[INTEGER(CAR(*args))[0]];
  *args = CDR(*args);
  begin_pack(p, m->name);
  const char *dot = strchr(m->name, '.');
  if (dot != NULL) { /* Linear.forward is the call of a Linear, random.uniform that of random$uniform */
    char *called = strcpy(R_alloc(strlen(m->name) + 1, 1), m->name);
    called[dot - m->name] = islower((unsigned char)*called) ? '$' : 0;
    p->function = called;
  }
  context();
  if (m->form == 0) return m;
  p->self = CAR(*args);
  *args = CDR(*args);
  p->name = m->first;
  if (m->form == 'j') {
    static const Param list = {"tensors", TENSORS, 0};
    add_param(p, &list, p->self);
  } else {
    if (!is_tensor(p->self)) wrong(p, kind_of(p->self), "a Tensor");
    add(p, POLY_PASS_T(array_of(p->self)));
  }
  p->used = p->n;
  return m;
}

/* .External(C_op, number, operand if there is one, arguments in the order of the parameters). */
SEXP x_op(SEXP args) {
  Pack p;
  const void *top = vmaxget();
  const Method *m = begin_call(&p, &args);
  for (int i = 0; i < m->n && args != R_NilValue; i++, args = CDR(args)) add_param(&p, &m->params[i], CAR(args));
  SEXP out = run(m, &p);
  vmaxset(top);
  return out;
}

/* .External(C_optim_new, number, parameters, settings): the optimizer, and how many tensors of state each parameter has. */
SEXP x_optim_new(SEXP args) {
  Pack p;
  const void *top = vmaxget();
  const Method *m = begin_call(&p, &args);
  for (int i = 0; i < m->n; i++, args = CDR(args)) add_param(&p, &m->params[i], CAR(args));
  int states;
  PolyOptim *optim = P.poly_optim_new(context(), number_of(m), p.args, p.used, &states);
  if (optim == NULL) failed(m, &p);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(list, 0, owned(optim, RELEASE(poly_optim_release), R_NilValue));
  SET_VECTOR_ELT(list, 1, Rf_ScalarInteger(states));
  UNPROTECT(p.kept + 1);
  vmaxset(top);
  return list;
}

/* The same for a method with one list of numbers, which are given together, or NULL and one by one. */
SEXP x_op_each(SEXP args) {
  Pack p;
  const void *top = vmaxget();
  const Method *m = begin_call(&p, &args);
  SEXP given = CAR(args);
  if (given != R_NilValue || CDR(args) == R_NilValue) {
    add_param(&p, &m->params[0], given == R_NilValue ? Rf_allocVector(INTSXP, 0) : given);
  } else {
    p.name = m->params[0].name;
    int at = p.n, n = 0;
    add_list(&p, 0);
    for (args = CDR(args); args != R_NilValue; args = CDR(args)) {
      SEXP x = CAR(args);
      if (TAG(args) != R_NilValue) raise_error("%s: %s: unknown argument", p.function, CHAR(PRINTNAME(TAG(args))));
      for (R_xlen_t i = 0; i < (x == R_NilValue ? 1 : length_of(x)); i++, n++) {
        add(&p, m->params[0].kind == AXES ? axis(&p, x, i) : one_size(&p, x, i));
      }
    }
    p.args[at].n = n;
    p.used = p.n;
  }
  SEXP out = run(m, &p);
  vmaxset(top);
  return out;
}

/* Writes elements of a Tensor. */
SEXP r_set_item(SEXP x, SEXP items, SEXP value) {
  static const Param number = {"value", OPERAND, 0};
  Pack p, to;
  const void *top = vmaxget();
  begin_pack(&p, "setitem");
  begin_pack(&to, "setitem");
  to.self = x;
  for (R_xlen_t i = 0; i < Rf_xlength(items); i++) add_item(&p, VECTOR_ELT(items, i));
  add_param(&to, &number, value);
  PolyArray *array = array_of(x);
  before_run();
  written();
  finish(P.poly_array_set(array, p.args, p.n, to.args));
  UNPROTECT(p.kept + to.kept);
  vmaxset(top);
  return x;
}

SEXP r_from_zero(SEXP positions) { return from_zero(positions); }

SEXP r_from_one(SEXP positions) {
  PolyCallArg number = POLY_PASS_I(1);
  return wrap(P.poly_array_binary_number(POLY_ADD, array_of(positions), &number, 0));
}
