# R's operators and group generics.

# One function for both classes: R requires it when operands of both classes meet.
Ops.Tensor <- function(e1, e2) {
  second <- if (missing(e2)) NULL else if (is.null(e2)) raise(sprintf("%s: NULL, expected a Tensor or numbers", .Generic)) else e2
  if (is_tensor(e1) || is_tensor(second)) .Call(C_ops, .Generic, e1, second) else ops_of_sizes(.Generic, e1, second)
}
Ops.SymInt <- Ops.Tensor

methods::setMethod("%*%", methods::signature("Tensor", "Tensor"), function(x, y) matrix_product(x, y))
methods::setMethod("%*%", methods::signature("Tensor", "ANY"), function(x, y) matrix_product(x, Tensor(y)))
methods::setMethod("%*%", methods::signature("ANY", "Tensor"), function(x, y) matrix_product(Tensor(x), y))

#' R's rule: a vector is a row or a column, whichever fits, and the result is a matrix.
matrix_product <- function(x, y) {
  a <- .Call(C_sizes, x)
  b <- .Call(C_sizes, y)
  if (length(a) > 1L && length(b) > 1L) return(.Call(C_poly_matmul, x, y))
  if (is.list(a) || is.list(b)) raise("%*%: a vector with a symbolic size: give it two axes with reshape")
  if (length(a) == 1L && length(b) == 1L) {
    b <- if (a == 1L && b != 1L) c(1L, b) else c(b, 1L)
    a <- c(1L, a)
  } else if (length(a) == 1L) {
    a <- if (a == b[length(b) - 1L]) c(1L, a) else c(a, 1L)
  } else if (length(b) == 1L) {
    b <- if (b == a[length(a)]) c(b, 1L) else c(1L, b)
  }
  if (length(a) != length(.Call(C_shape, x))) x <- .Call(C_poly_reshape, x, a)
  if (length(b) != length(.Call(C_shape, y))) y <- .Call(C_poly_reshape, y, b)
  .Call(C_poly_matmul, x, y)
}

# Group generic Math: the methods of these names, and those that R calls differently.
math_methods <- c(
  abs = "abs", sign = "sign", sqrt = "sqrt", floor = "floor", ceiling = "ceil", trunc = "trunc", exp = "exp",
  expm1 = "expm1", log1p = "log1p", log2 = "log2", log10 = "log10", cos = "cos", sin = "sin", tan = "tan",
  acos = "acos", asin = "asin", atan = "atan", cosh = "cosh", sinh = "sinh", tanh = "tanh", acosh = "acosh",
  asinh = "asinh", atanh = "atanh", lgamma = "lgamma", digamma = "digamma"
)

Math.Tensor <- function(x, ...) {
  name <- math_methods[.Generic]
  if (!is.na(name)) return(tensor_methods[[name]](x))
  switch(.Generic,
    log = {
      base <- list(...)
      natural <- .Call(C_poly_log, x)
      if (length(base) == 0L) natural else natural / log(base[[1L]])
    },
    round = {
      if (length(list(...)) > 0L && !identical(as.numeric(..1), 0)) raise("round: digits: tensors round to whole numbers only")
      .Call(C_poly_round_f, x)
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

flat_columns <- function(x) .Call(C_poly_reshape, reversed(x), -1L)

# Group generic Summary, with axis and keepdim beside R's arguments.
Summary.Tensor <- function(..., axis = NULL, keepdim = FALSE, na.rm = FALSE) {
  if (!isFALSE(na.rm)) no_missing(.Generic)
  values <- lapply(list(...), function(x) if (is_tensor(x)) x else Tensor(x))
  over <- function(name) Reduce(joining[[name]], lapply(values, function(x) tensor_methods[[name]](x, axis, keepdim)))
  if (.Generic == "range") .Call(C_poly_stack, list(over("min"), over("max")), 1L) else over(.Generic)
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

is.na.Tensor <- function(x) .Call(C_poly_isnan, x)
is.nan.Tensor <- function(x) .Call(C_poly_isnan, x)
is.infinite.Tensor <- function(x) .Call(C_poly_isinf, x)
is.finite.Tensor <- function(x) .Call(C_poly_isfinite, x)

rev.Tensor <- function(x) {
  flat <- if (length(.Call(C_shape, x)) > 1L) flat_columns(x) else x
  .Call(C_poly_flip, flat, 1L)
}

c.Tensor <- function(...) {
  parts <- lapply(Filter(Negate(is.null), list(...)), function(x) flat_columns(if (is_tensor(x)) x else Tensor(x)))
  .Call(C_poly_cat, parts, 1L)
}

sort.Tensor <- function(x, decreasing = FALSE, ...) {
  flat <- if (length(.Call(C_shape, x)) > 1L) flat_columns(x) else x
  .Call(C_poly_sort, flat, 1L, decreasing, 2L)[[1L]]
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
    v <- .Call(C_poly_reshape, v, if (axis == 2L) c(-1L, 1L) else c(1L, -1L))
    if (length(shape) == 1L && !identical(shape[[1L]], 1L)) return(v)
    .Call(C_poly_expand, v, if (axis == 2L) list(size, 1L) else list(1L, size))
  }, parts, shapes)
  .Call(C_poly_cat, unname(parts), axis)
}
cbind.Tensor <- function(..., deparse.level = 1) bind(list(...), 2L)
rbind.Tensor <- function(..., deparse.level = 1) bind(list(...), 1L)
methods::setMethod("cbind2", methods::signature("Tensor", "Tensor"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("rbind2", methods::signature("Tensor", "Tensor"), function(x, y, ...) bind(list(x, y), 1L))
methods::setMethod("cbind2", methods::signature("Tensor", "ANY"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("cbind2", methods::signature("ANY", "Tensor"), function(x, y, ...) bind(list(x, y), 2L))
methods::setMethod("rbind2", methods::signature("Tensor", "ANY"), function(x, y, ...) bind(list(x, y), 1L))
methods::setMethod("rbind2", methods::signature("ANY", "Tensor"), function(x, y, ...) bind(list(x, y), 1L))
