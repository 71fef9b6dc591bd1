# Methods that reduce, normalise, multiply matrices and compare distributions.

# PolyReduceOp
reduce_ops <- c(
  max = 2L, min = 3L, mean = 4L, any = 5L, all = 6L, logsumexp = 7L
)

reduce_method <- function(op) {
  force(op)
  function(self, axis = NULL, keepdim = FALSE) .Call(C_poly_reduce, op, self, axis, keepdim, 0L)
}
for (name in names(reduce_ops)) tensor_methods[[name]] <- reduce_method(reduce_ops[[name]])
rm(name)

# dtype: the accumulator's type of sums and products.
tensor_methods$sum <- function(self, axis = NULL, keepdim = FALSE, dtype = NULL) {
  if (is.null(dtype)) return(.Call(C_poly_reduce, 0L, self, axis, keepdim, 0L))
  .Call(C_poly_reduce_as, 0L, self, axis, keepdim, dtype)
}
tensor_methods$prod <- function(self, axis = NULL, keepdim = FALSE, dtype = NULL) {
  if (is.null(dtype)) return(.Call(C_poly_reduce, 1L, self, axis, keepdim, 0L))
  .Call(C_poly_reduce_as, 1L, self, axis, keepdim, dtype)
}

tensor_methods$var <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  .Call(C_poly_reduce, 10L, self, axis, keepdim, correction)
}
tensor_methods$std <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  .Call(C_poly_reduce, 11L, self, axis, keepdim, correction)
}

#' Positions, or classes, as R's numbers; a fraction of one would be cut off.
need_whole <- function(positions) {
  if (is.data.frame(positions)) positions <- matrix_of(positions)
  if (is.double(positions) && !inherits(positions, "integer64") && any(positions != floor(positions), na.rm = TRUE)) {
    raise(sprintf("positions: %s, expected whole numbers", brief(positions[is.na(positions) | positions != floor(positions)])))
  }
  positions
}

# Positions are counted from 1 in R and from 0 in the library.
from_one <- function(positions) .Call(C_poly_binary_int, 0L, positions, 1L, FALSE)
from_zero <- function(positions) {
  if (!is_tensor(positions)) positions <- from_r(need_whole(positions), if (is.double(positions)) "int32")
  .Call(C_from_zero, positions)
}

tensor_methods$argmax <- function(self, axis = NULL, keepdim = FALSE) {
  from_one(.Call(C_poly_reduce, 8L, self, axis, keepdim, 0L))
}
tensor_methods$argmin <- function(self, axis = NULL, keepdim = FALSE) {
  from_one(.Call(C_poly_reduce, 9L, self, axis, keepdim, 0L))
}

tensor_methods$var_mean <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  list(tensor_methods$var(self, axis, keepdim, correction), tensor_methods$mean(self, axis, keepdim))
}
tensor_methods$std_mean <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  list(tensor_methods$std(self, axis, keepdim, correction), tensor_methods$mean(self, axis, keepdim))
}

# Scans and order; positions are counted from 1

tensor_methods$cumsum <- function(self, axis = 1) .Call(C_poly_cumsum, self, axis)
tensor_methods$cumprod <- function(self, axis = 1) .Call(C_poly_cumprod, self, axis)
tensor_methods$logcumsumexp <- function(self, axis = 1) .Call(C_poly_logcumsumexp, self, axis)

values_and_places <- function(both) list(both[[1L]], from_one(both[[2L]]))

tensor_methods$cummax <- function(self, axis = 1) values_and_places(.Call(C_poly_cummax, self, axis, 2L))
tensor_methods$cummin <- function(self, axis = 1) values_and_places(.Call(C_poly_cummin, self, axis, 2L))
tensor_methods$sort <- function(self, dim = -1, descending = FALSE) {
  values_and_places(.Call(C_poly_sort, self, dim, descending, 2L))
}
tensor_methods$argsort <- function(self, dim = -1, descending = FALSE) {
  from_one(.Call(C_poly_argsort, self, dim, descending))
}
tensor_methods$topk <- function(self, k, dim = -1, largest = TRUE, sorted_ = TRUE) {
  values_and_places(.Call(C_poly_topk, self, k, dim, largest, 2L))
}

# Softmax and norms

in_type <- function(x, dtype) if (is.null(dtype)) x else .Call(C_poly_cast_by_id, x, dtype)

tensor_methods$softmax <- function(self, axis = -1, dtype = NULL) .Call(C_poly_softmax, in_type(self, dtype), axis)
tensor_methods$log_softmax <- function(self, axis = -1, dtype = NULL) {
  .Call(C_poly_log_softmax, in_type(self, dtype), axis)
}
tensor_methods$layernorm <- function(self, axis = -1, eps = 1e-5, weight = NULL, bias = NULL) {
  .Call(C_poly_layernorm_axes, self, axis, eps, weight, bias)
}
tensor_methods$rmsnorm <- function(self, eps = 1e-5, weight = NULL) .Call(C_poly_rmsnorm, self, eps, weight)
tensor_methods$groupnorm <- function(self, groups, eps = 1e-5, weight = NULL, bias = NULL) {
  .Call(C_poly_groupnorm, self, groups, eps, weight, bias)
}
tensor_methods$batchnorm <- function(self, weight, bias, mean, invstd, axis = 2) {
  .Call(C_poly_batchnorm, self, weight, bias, mean, invstd, axis)
}
tensor_methods$batchnorm_stats <- function(self) .Call(C_poly_batchnorm_stats, self, 2L)
