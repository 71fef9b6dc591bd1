# Operations with R's calling conventions. methods.R has the generated ones, which their descriptions define completely.

tensor_methods$clip <- tensor_methods$clamp

tensor_methods$allclose <- function(self, other, rtol = 1e-5, atol = 1e-8, equal_nan = FALSE) {
  r_values(.External(C_op, OP_ALLCLOSE, self, other, rtol, atol, equal_nan))
}

#' Numbers take the type of the other operand; if both are numbers, the type of R's vectors.
tensor_methods$where <- function(self, x, y) {
  if (!is_tensor(x) && !is_tensor(y)) x <- from_r(x, scalar = length(x) == 1L && is.null(dim(x)), what = "where: x")
  if (!is_tensor(x)) x <- .Call(C_operand, x, y, "where: x")
  .External(C_op, OP_WHERE, self, x, .Call(C_operand, y, x, "where: y"))
}

# Positions are counted from 1 in R and from 0 in the library.

#' Checks that positions or classes, as R's numbers, are whole: fractions would be truncated.
need_whole <- function(positions, what) {
  if (is.data.frame(positions)) positions <- matrix_of(positions)
  if (is.object(positions) && !inherits(positions, c("integer64", "Tensor"))) {
    raise(sprintf("%s: %s, expected whole numbers", what, class(positions)[1L]))
  }
  if (is.double(positions) && !inherits(positions, "integer64") && any(positions != floor(positions), na.rm = TRUE)) {
    raise(sprintf("%s: %s, expected whole numbers", what, brief(positions[is.na(positions) | positions != floor(positions)])))
  }
  positions
}

#' Converts R's positions, from 1, to a tensor of positions from 0. Called from C, too.
places <- function(positions, what = "positions") {
  if (is.factor(positions)) positions <- as.integer(positions)
  positions <- plain(need_whole(positions, what))
  if (!is.numeric(positions)) raise(sprintf("%s: %s, expected whole numbers", what, brief(positions)))
  if (any(positions == 0, na.rm = TRUE)) {
    raise(sprintf("%s: 0, expected positions from 1 (the first), or from the end: -1 (the last)", what))
  }
  from_r(positions - (positions > 0), "int32")
}
from_zero <- function(positions) if (is_tensor(positions)) .Call(C_from_zero, positions) else places(positions)

#' Converts class numbers from 1 to class numbers from 0; probabilities, which have as many axes as logits, are unchanged. Called from C.
class_target <- function(target, logits, what) {
  if (!is_tensor(target)) {
    classes <- max(length(dim(target)), 1L) < length(.Call(C_shape, logits))
    if (classes) return(places(target, what))
    target <- from_r(target, what = what)
  }
  if (length(.Call(C_shape, target)) < length(.Call(C_shape, logits))) .Call(C_from_zero, target) else target
}

# Positions and lists of elements follow R's order, column by column: x[x$argmax()] is max(x).
tensor_methods$argmax <- function(self, axis = NULL, keepdim = FALSE) place_of(OP_ARGMAX, self, axis, keepdim)
tensor_methods$argmin <- function(self, axis = NULL, keepdim = FALSE) place_of(OP_ARGMIN, self, axis, keepdim)
place_of <- function(op, x, axis, keepdim) {
  need_flag(if (op == OP_ARGMAX) "argmax" else "argmin", "keepdim", keepdim)
  if (!is.null(axis)) return(.External(C_op, op, x, axis, keepdim))
  out <- .External(C_op, op, flat_columns(x), NULL, FALSE)
  if (keepdim) .External(C_op, OP_RESHAPE, out, rep(1L, length(.Call(C_sizes, x)))) else out
}
tensor_methods$masked_select <- function(self, mask) {
  mask <- .External(C_op, OP_EXPAND, as_tensor(mask), .Call(C_sizes, self))
  .External(C_op, OP_MASKED_SELECT, reversed(self), reversed(mask))
}
tensor_methods$nonzero <- function(self) {
  places <- .External(C_op, OP_NONZERO, reversed(self))
  .External(C_op, OP_FLIP, places, 2L)
}
tensor_methods$repeat_interleave <- function(self, repeats, dim = NULL) {
  .External(C_op, OP_REPEAT_INTERLEAVE, if (is.null(dim)) flat_columns(self) else self, repeats, dim)
}

tensor_methods$one_hot <- function(self, num_classes = NULL) {
  if (is.null(num_classes)) {
    if (length(self) == 0) raise("one_hot: num_classes: NULL for no classes at all, expected their number")
    num_classes <- max(r_values(self))
  }
  .External(C_op, OP_ONE_HOT, from_zero(self), num_classes)
}

# Shapes

tensor_methods$reshape <- function(self, ..., shape = NULL) .External(C_op_each, OP_RESHAPE, self, shape, ...)
tensor_methods$view <- tensor_methods$reshape
tensor_methods$expand <- function(self, ..., shape = NULL) .External(C_op_each, OP_EXPAND, self, shape, ...)
tensor_methods$permute <- function(self, ..., order = NULL) .External(C_op_each, OP_PERMUTE, self, order, ...)
tensor_methods$`repeat` <- function(self, ..., repeats = NULL) .External(C_op_each, OP_REPEAT, self, repeats, ...)
tensor_methods$rearrange <- function(self, formula, ..., sizes = NULL) {
  if (!is.null(sizes) && !is.numeric(sizes) && !is.list(sizes)) raise(sprintf("rearrange: sizes: %s, expected numbers with names", brief(sizes)))
  .External(C_op, OP_REARRANGE, self, formula, unlist(c(list(...), as.list(sizes))))
}

#' Flattens pairs of numbers, one per axis; a NULL pair is replaced by that of missing.
pairs_of <- function(name, arg, missing) {
  if (is.matrix(arg)) return(as.vector(t(arg)))
  if (!is.list(arg)) raise(sprintf("%s: arg: expected a list with a pair of numbers for each axis", name))
  whole <- Map(function(pair, rest) if (is.null(pair)) rest else pair, arg, missing[seq_along(arg)])
  if (!all(lengths(whole) == 2L)) raise(sprintf("%s: arg: expected a pair of numbers for each axis", name))
  flat <- unlist(whole, use.names = FALSE)
  if (is.list(flat)) return(flat)
  if (!is.numeric(flat)) raise(sprintf("%s: arg: %s, expected pairs of numbers", name, brief(flat)))
  as.numeric(flat)
}

tensor_methods$shrink <- function(self, arg) {
  missing <- lapply(.Call(C_sizes, self), function(n) c(1, n))
  flat <- pairs_of("shrink", arg, missing)
  if (!is.numeric(flat) && !is.list(flat)) raise(sprintf("shrink: arg: %s, expected pairs of numbers", brief(flat)))
  first <- seq_along(flat) %% 2L == 1L
  flat[first] <- if (is.list(flat)) lapply(flat[first], function(n) n - 1) else flat[first] - 1
  .External(C_op, OP_SHRINK, self, flat)
}

tensor_methods$pad <- function(self, padding, mode = "constant", value = 0) {
  ndim <- length(.Call(C_sizes, self))
  if (!is.list(padding) && !is.matrix(padding)) {
    if (!is.numeric(padding)) raise(sprintf("pad: padding: %s, expected numbers, or a list of pairs", brief(padding)))
    # A plain vector has pairs, too, beginning with the last axis.
    if (length(padding) %% 2L || length(padding) > 2L * ndim) {
      raise(sprintf("pad: %d numbers, expected two for each of up to %d axes", length(padding), ndim))
    }
    given <- rev(split(padding, rep(seq_len(length(padding) / 2L), each = 2L)))
    padding <- c(rep(list(c(0, 0)), ndim - length(given)), unname(given))
  }
  .External(C_op, OP_PAD, self, pairs_of("pad", padding, rep(list(c(0, 0)), ndim)), mode, value)
}

tensor_methods$shrink_to <- function(self, ..., shape = NULL) .External(C_op_each, OP_SHRINK_TO, self, shape, ...)
tensor_methods$pad_to <- function(self, ..., shape = NULL) .External(C_op_each, OP_PAD_TO, self, shape, ...)

# Joining

as_tensor <- function(x) if (is_tensor(x)) x else Tensor(x)

join <- function(name, tensors) {
  if (length(tensors) == 0L) raise(sprintf("%s: no tensors to join", name))
  lapply(tensors, as_tensor)
}

tensor_methods$cat <- function(..., dim = 1) .External(C_op, OP_CAT, join("cat", tensor_list(...)), dim)
tensor_methods$stack <- function(..., dim = 1) .External(C_op, OP_STACK, join("stack", tensor_list(...)), dim)
tensor_methods$meshgrid <- function(..., indexing = "ij") {
  .External(C_op, OP_MESHGRID, join("meshgrid", tensor_list(...)), indexing)
}

# Products and windows

tensor_statics$einsum <- function(formula, ..., dtype = NULL) {
  .External(C_op, OP_EINSUM, tensor_list(...), formula, dtype)
}

tensor_methods$scaled_dot_product_attention <- function(self, key, value, attn_mask = NULL, dropout_p = 0,
                                                        is_causal = FALSE, enable_gqa = FALSE, scale = NULL) {
  need_probability("scaled_dot_product_attention", dropout_p)
  if (is.numeric(scale) && identical(as.numeric(scale), 0)) raise("scaled_dot_product_attention: scale: 0, expected another number")
  if (dropout_p > 0 && is_training()) .Call(C_draw)
  .External(
    C_op, OP_SCALED_DOT_PRODUCT_ATTENTION, self, key, value, attn_mask, dropout_p, is_causal, enable_gqa, scale
  )
}

tensor_methods$max_pool2d <- function(self, kernel_size = 2, stride = NULL, dilation = 1, padding = 0,
                                      ceil_mode = FALSE, return_indices = FALSE) {
  need_flag("max_pool2d", "return_indices", return_indices)
  op <- if (return_indices) OP_MAX_POOL2D_WITH_INDICES else OP_MAX_POOL2D
  .External(C_op, op, self, kernel_size, stride, dilation, padding, ceil_mode)
}

solve.Tensor <- function(a, b, ...) {
  if (missing(b)) .External(C_op, OP_INV, a) else .External(C_op, OP_SOLVE, a, as_tensor(b))
}
chol.Tensor <- function(x, ...) .External(C_op, OP_CHOLESKY, x, TRUE)
determinant.Tensor <- function(x, logarithm = TRUE, ...) {
  need_flag("determinant", "logarithm", logarithm)
  if (!logarithm) raise("determinant: logarithm: only TRUE; x$det() is the determinant itself")
  both <- .External(C_op, OP_SLOGDET, x)
  structure(list(modulus = both[[2L]], sign = both[[1L]]), class = "det")
}
