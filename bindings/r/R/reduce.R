# Methods that reduce, normalise, multiply matrices and compare distributions.

# PolyReduceOp
reduce_ops <- c(
  sum = 0L, prod = 1L, max = 2L, min = 3L, mean = 4L, any = 5L, all = 6L, logsumexp = 7L
)

reduce_method <- function(op) {
  force(op)
  function(self, axis = NULL, keepdim = FALSE) .Call(C_poly_reduce, op, self, axis, keepdim, 0L)
}
for (name in names(reduce_ops)) tensor_methods[[name]] <- reduce_method(reduce_ops[[name]])
rm(name)

tensor_methods$var <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  .Call(C_poly_reduce, 10L, self, axis, keepdim, correction)
}
tensor_methods$std <- function(self, axis = NULL, keepdim = FALSE, correction = 1) {
  .Call(C_poly_reduce, 11L, self, axis, keepdim, correction)
}

# Positions are counted from 1 in R and from 0 in the library.
from_one <- function(positions) .Call(C_poly_binary_int, 0L, positions, 1L, FALSE)
from_zero <- function(positions) {
  if (!is_tensor(positions)) positions <- from_r(positions, if (is.double(positions)) "int32")
  .Call(C_poly_binary_int, 1L, positions, 1L, FALSE)
}

tensor_methods$argmax <- function(self, axis = NULL, keepdim = FALSE) {
  from_one(.Call(C_poly_reduce, 8L, self, axis, keepdim, 0L))
}
tensor_methods$argmin <- function(self, axis = NULL, keepdim = FALSE) {
  from_one(.Call(C_poly_reduce, 9L, self, axis, keepdim, 0L))
}

tensor_methods$cumsum <- function(self, axis = 1) .Call(C_poly_cumsum, self, axis)
tensor_methods$softmax <- function(self, axis = -1) .Call(C_poly_softmax, self, axis)
tensor_methods$log_softmax <- function(self, axis = -1) .Call(C_poly_log_softmax, self, axis)
tensor_methods$layernorm <- function(self, axis = -1, eps = 1e-5) {
  .Call(C_poly_layernorm_axes, self, axis, eps, NULL, NULL)
}

# Products

tensor_methods$matmul <- function(self, other) .Call(C_poly_matmul, self, .Call(C_operand, other, self))
tensor_methods$dot <- tensor_methods$matmul
tensor_methods$linear <- function(self, weight, bias = NULL) .Call(C_poly_affine, self, weight, bias)

tensor_statics$einsum <- function(formula, ...) .Call(C_poly_einsum, formula, tensor_list(...))

tensor_methods$cholesky <- function(self, upper = FALSE) .Call(C_poly_cholesky, self, upper)
tensor_methods$triangular_solve <- function(self, b, upper = FALSE, transpose = FALSE, unit_diagonal = FALSE) {
  .Call(C_poly_triangular_solve, self, .Call(C_operand, b, self), upper, transpose, unit_diagonal)
}

tensor_methods$scaled_dot_product_attention <- function(self, key, value, attn_mask = NULL, is_causal = FALSE) {
  .Call(C_poly_attention, self, key, value, attn_mask, is_causal)
}

# Losses

#' Class numbers from 1 become class numbers from 0; probabilities stay.
class_target <- function(target, logits) {
  if (!is_tensor(target)) {
    target <- if (is.null(dim(target)) && is.double(target)) from_r(target, "int32") else from_r(target)
  }
  if (length(.Call(C_shape, target)) < length(.Call(C_shape, logits))) from_zero(target) else target
}

tensor_methods$cross_entropy <- function(self, target, axis = -1) {
  .Call(C_poly_cross_entropy, self, class_target(target, self), axis)
}
tensor_methods$sparse_categorical_crossentropy <- function(self, target) tensor_methods$cross_entropy(self, target, -1)
tensor_methods$binary_crossentropy <- function(self, target) {
  .Call(C_poly_binary_cross_entropy, self, .Call(C_operand, target, self))
}
tensor_methods$binary_crossentropy_logits <- function(self, target) {
  .Call(C_poly_binary_cross_entropy_logits, self, .Call(C_operand, target, self))
}
