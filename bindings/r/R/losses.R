# Losses. Class numbers are counted from 1.

# PolyLossReduction
reductions <- c(mean = 0L, sum = 1L, none = 2L)

reduction_of <- function(name) number_of("reduction", name, reductions)

#' Class numbers from 1 become class numbers from 0; probabilities, which have as many axes as logits, stay.
class_target <- function(target, logits) {
  if (!is_tensor(target)) {
    classes <- max(length(dim(target)), 1L) < length(.Call(C_shape, logits))
    if (classes) return(from_zero(target))
    target <- from_r(target)
  }
  if (length(.Call(C_shape, target)) < length(.Call(C_shape, logits))) from_zero(target) else target
}

#' ignore_index counted from 0; a negative number ignores no class.
class_from_zero <- function(name, class) {
  whole <- is.numeric(class) && length(class) == 1L && !is.na(class) && class == floor(class) && class != 0
  if (!whole) raise(sprintf("%s: ignore_index: %s, expected a class from 1, or a negative number", name, brief(class)))
  if (class > 0) class - 1 else class
}

tensor_methods$cross_entropy <- function(self, target, reduction = "mean", label_smoothing = 0, axis = NULL) {
  if (is.null(axis)) axis <- min(2, length(.Call(C_shape, self)))
  .Call(C_poly_cross_entropy_loss, self, class_target(target, self), axis, label_smoothing, reduction_of(reduction))
}

tensor_methods$sparse_categorical_crossentropy <- function(self, target, ignore_index = NULL, label_smoothing = 0,
                                                           reduction = "mean") {
  ignored <- if (is.null(ignore_index)) -1 else class_from_zero("sparse_categorical_crossentropy", ignore_index)
  .Call(
    C_poly_sparse_cross_entropy_loss, self, class_target(target, self), ignored, label_smoothing,
    reduction_of(reduction)
  )
}

tensor_methods$nll_loss <- function(self, target, weight = NULL, ignore_index = NULL, reduction = "mean") {
  ignored <- if (is.null(ignore_index)) 0 else class_from_zero("nll_loss", ignore_index)
  .Call(
    C_poly_nll_loss, self, class_target(target, self), weight, !is.null(ignore_index), ignored, reduction_of(reduction)
  )
}

tensor_methods$mse_loss <- function(self, target, reduction = "mean") {
  .Call(C_poly_mse_loss, self, .Call(C_operand, target, self), reduction_of(reduction))
}
tensor_methods$l1_loss <- function(self, target, reduction = "mean") {
  .Call(C_poly_l1_loss, self, .Call(C_operand, target, self), reduction_of(reduction))
}
tensor_methods$huber_loss <- function(self, target, delta = 1, reduction = "mean") {
  .Call(C_poly_huber_loss, self, .Call(C_operand, target, self), delta, reduction_of(reduction))
}
tensor_methods$binary_crossentropy <- function(self, target, reduction = "mean") {
  .Call(C_poly_binary_cross_entropy, self, .Call(C_operand, target, self), reduction_of(reduction))
}
tensor_methods$binary_crossentropy_logits <- function(self, target, reduction = "mean", pos_weight = NULL) {
  .Call(C_poly_binary_cross_entropy_logits, self, .Call(C_operand, target, self), pos_weight, reduction_of(reduction))
}
