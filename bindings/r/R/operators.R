# R's operators and group generics.

# One function for both classes: R requires it when operands of both classes meet.
Ops.Tensor <- function(e1, e2) {
  if (nargs() == 2L) return(.Call(C_ops, .Generic, e1, e2))
  if (is_tensor(e1)) .Call(C_ops_unary, .Generic, e1) else ops_of_sizes(.Generic, e1, NULL)
}
Ops.SymInt <- Ops.Tensor

methods::setMethod("%*%", methods::signature("Tensor", "Tensor"), function(x, y) matrix_product(x, y))
methods::setMethod("%*%", methods::signature("Tensor", "ANY"), function(x, y) matrix_product(x, Tensor(y)))
methods::setMethod("%*%", methods::signature("ANY", "Tensor"), function(x, y) matrix_product(Tensor(x), y))

#' R's rule: a vector is a row or a column, whichever fits, and the result is a matrix.
matrix_product <- function(x, y) {
  a <- .Call(C_sizes, x)
  b <- .Call(C_sizes, y)
  if (length(a) > 1L && length(b) > 1L) return(.External(C_op, OP_MATMUL, x, y))
  if (is.list(a) || is.list(b)) raise("%*%: a vector with a symbolic size: give it two axes with reshape")
  if (length(a) == 1L && length(b) == 1L) {
    b <- if (a == 1L && b != 1L) c(1L, b) else c(b, 1L)
    a <- c(1L, a)
  } else if (length(a) == 1L) {
    a <- if (a == b[length(b) - 1L]) c(1L, a) else c(a, 1L)
  } else if (length(b) == 1L) {
    b <- if (b == a[length(a)]) c(b, 1L) else c(1L, b)
  }
  if (length(a) != length(.Call(C_shape, x))) x <- .External(C_op, OP_RESHAPE, x, a)
  if (length(b) != length(.Call(C_shape, y))) y <- .External(C_op, OP_RESHAPE, y, b)
  .External(C_op, OP_MATMUL, x, y)
}

# Group generic Math: the operations of these functions, and those that R calls differently.
math_ops <- list2env(list(
  abs = OP_ABS, sign = OP_SIGN, sqrt = OP_SQRT, floor = OP_FLOOR, ceiling = OP_CEIL, trunc = OP_TRUNC, exp = OP_EXP,
  expm1 = OP_EXPM1, log1p = OP_LOG1P, log2 = OP_LOG2, log10 = OP_LOG10, cos = OP_COS, sin = OP_SIN, tan = OP_TAN,
  acos = OP_ACOS, asin = OP_ASIN, atan = OP_ATAN, cosh = OP_COSH, sinh = OP_SINH, tanh = OP_TANH, acosh = OP_ACOSH,
  asinh = OP_ASINH, atanh = OP_ATANH, lgamma = OP_LGAMMA, digamma = OP_DIGAMMA
))

Math.Tensor <- function(x, ...) {
  op <- math_ops[[.Generic]]
  if (!is.null(op)) return(.External(C_op, op, x))
  switch(.Generic,
    log = {
      base <- list(...)
      natural <- .External(C_op, OP_LOG, x)
      if (length(base) == 0L) natural else natural / log(base[[1L]])
    },
    round = {
      if (length(list(...)) > 0L && !identical(as.numeric(..1), 0)) raise("round: digits: tensors round to whole numbers only")
      .External(C_op, OP_ROUND, x)
    },
    cumsum = ,
    cumprod = ,
    cummax = ,
    cummin = {
      # R's functions run through the elements column by column and return a vector.
      flat <- if (length(.Call(C_shape, x)) > 1L) flat_columns(x) else x
      out <- tensor_methods[[.Generic]](flat, 1L)
      if (is_tensor(out)) out else out[[1L]]
    },
    raise(sprintf("%s is not available for tensors", .Generic))
  )
}

flat_columns <- function(x) .External(C_op, OP_RESHAPE, reversed(x), -1L)

# Group generic Summary, with axis and keepdim beside R's arguments.
Summary.Tensor <- function(..., axis = NULL, keepdim = FALSE, na.rm = FALSE) {
  if (!isFALSE(na.rm)) no_missing(.Generic)
  values <- lapply(list(...), function(x) if (is_tensor(x)) x else Tensor(x))
  over <- function(name) Reduce(joining[[name]], lapply(values, function(x) tensor_methods[[name]](x, axis, keepdim)))
  if (.Generic == "range") .External(C_op, OP_STACK, list(over("min"), over("max")), 1L) else over(.Generic)
}

#' Combines the results of several tensors into one.
joining <- list(
  sum = `+`, prod = `*`, any = `|`, all = `&`, max = function(a, b) tensor_methods$maximum(a, b),
  min = function(a, b) tensor_methods$minimum(a, b)
)

mean.Tensor <- function(x, axis = NULL, keepdim = FALSE, ...) {
  others <- list(...)
  if (!isFALSE(others$na.rm) && !is.null(others$na.rm)) no_missing("mean")
  if (length(others) > sum(names(others) == "na.rm")) raise("mean: a tensor takes no arguments but axis and keepdim")
  tensor_methods$mean(x, axis, keepdim)
}

no_missing <- function(name) {
  raise(sprintf("%s: na.rm: missing values of a tensor cannot be left out; replace them first: is.na(x)$where(0, x)", name))
}

anyNA.Tensor <- function(x, recursive = FALSE) anyNA(r_values(x))

is.na.Tensor <- function(x) .External(C_op, OP_ISNAN, x)
is.nan.Tensor <- is.na.Tensor
is.infinite.Tensor <- function(x) .External(C_op, OP_ISINF, x)
is.finite.Tensor <- function(x) .External(C_op, OP_ISFINITE, x)

rev.Tensor <- function(x) {
  flat <- if (length(.Call(C_shape, x)) > 1L) flat_columns(x) else x
  .External(C_op, OP_FLIP, flat, 1L)
}

c.Tensor <- function(...) {
  parts <- lapply(Filter(Negate(is.null), list(...)), function(x) flat_columns(if (is_tensor(x)) x else Tensor(x)))
  .External(C_op, OP_CAT, parts, 1L)
}

sort.Tensor <- function(x, decreasing = FALSE, ...) {
  flat <- if (length(.Call(C_shape, x)) > 1L) flat_columns(x) else x
  .External(C_op, OP_SORT, flat, 1L, decreasing)[[1L]]
}

# cbind() and rbind(): a vector is a column or a row, a number is repeated.
bind <- function(parts, axis) {
  parts <- lapply(Filter(Negate(is.null), parts), function(v) if (is_tensor(v)) v else Tensor(v))
  shapes <- lapply(parts, function(v) .Call(C_sizes, v))
  matrices <- Filter(function(shape) length(shape) > 1L, shapes)
  if (length(matrices) > 0L) {
    size <- matrices[[1L]][[3L - axis]]
  } else {
    size <- Find(function(n) !identical(n, 1L), lapply(Filter(length, shapes), `[[`, 1L))
    if (is.null(size)) size <- 1L
  }
  parts <- Map(function(v, shape) {
    if (length(shape) > 1L) return(v)
    v <- .External(C_op, OP_RESHAPE, v, if (axis == 2L) c(-1L, 1L) else c(1L, -1L))
    if (length(shape) == 1L && !identical(shape[[1L]], 1L)) return(v)
    .External(C_op, OP_EXPAND, v, if (axis == 2L) list(size, 1L) else list(1L, size))
  }, parts, shapes)
  .External(C_op, OP_CAT, unname(parts), axis)
}
cbind.Tensor <- function(..., deparse.level = 1) bind(list(...), 2L)
rbind.Tensor <- function(..., deparse.level = 1) bind(list(...), 1L)
methods::setMethod("cbind2", methods::signature("Tensor", "Tensor"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("rbind2", methods::signature("Tensor", "Tensor"), function(x, y, ...) bind(list(x, y), 1L))
methods::setMethod("cbind2", methods::signature("Tensor", "ANY"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("cbind2", methods::signature("ANY", "Tensor"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("rbind2", methods::signature("Tensor", "ANY"), function(x, y, ...) bind(list(x, y), 1L))
methods::setMethod("rbind2", methods::signature("ANY", "Tensor"), function(x, y, ...) bind(list(x, y), 1L))
