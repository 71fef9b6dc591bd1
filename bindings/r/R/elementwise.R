# Methods that work element by element.

# PolyBinaryOp
binary_ops <- c(
  add = 0L, sub = 1L, mul = 2L, div = 3L, floordiv = 4L, mod = 5L, pow = 6L, maximum = 7L, minimum = 8L,
  lt = 9L, le = 10L, gt = 11L, ge = 12L, eq = 13L, ne = 14L, bitwise_and = 15L, bitwise_or = 16L,
  bitwise_xor = 17L, lshift = 18L, rshift = 19L, idiv = 20L, logaddexp = 21L, copysign = 22L,
  fmod = 23L, atan2 = 24L, hypot = 25L
)

# A closure in a loop would see the last value only; a function call keeps each number.
binary_method <- function(op) {
  force(op)
  function(self, x, reverse = FALSE) .Call(C_binary, op, self, x, reverse)
}
for (name in names(binary_ops)) tensor_methods[[name]] <- binary_method(binary_ops[[name]])
rm(name)

tensor_methods$div <- function(self, x, reverse = FALSE, rounding_mode = NULL) {
  op <- "div"
  if (!is.null(rounding_mode)) {
    need_choice("div", "rounding_mode", rounding_mode, c("floor", "trunc"))
    op <- if (rounding_mode == "floor") "floordiv" else "idiv"
  }
  .Call(C_binary, binary_ops[[op]], self, x, reverse)
}

tensor_methods$neg <- function(self) .Call(C_poly_neg, self)
tensor_methods$bitwise_not <- function(self) .Call(C_poly_bitwise_not, self)
tensor_methods$logical_not <- function(self) .Call(C_poly_logical_not, self)

tensor_methods$lerp <- function(self, end, weight) {
  .Call(C_poly_lerp, self, .Call(C_operand, end, self), .Call(C_operand, weight, self))
}

tensor_methods$where <- function(self, x, y) {
  if (is_tensor(x)) {
    y <- .Call(C_operand, y, x)
  } else if (is_tensor(y)) {
    x <- .Call(C_operand, x, y)
  } else {
    x <- from_r(x, scalar = length(x) == 1L && is.null(dim(x)))
    y <- .Call(C_operand, y, x)
  }
  .Call(C_poly_where_op, self, x, y)
}

tensor_methods$masked_fill <- function(self, mask, value) {
  .Call(C_poly_where_op, .Call(C_operand, mask, self), .Call(C_operand, value, self), self)
}

tensor_methods$isclose <- function(self, other, rtol = 1e-5, atol = 1e-8, equal_nan = FALSE) {
  .Call(C_poly_isclose, self, .Call(C_operand, other, self), rtol, atol, equal_nan)
}
tensor_methods$allclose <- function(self, other, rtol = 1e-5, atol = 1e-8, equal_nan = FALSE) {
  r_values(.Call(C_poly_allclose, self, .Call(C_operand, other, self), rtol, atol, equal_nan))
}

tensor_methods$clamp <- function(self, min_ = NULL, max_ = NULL) {
  bound <- function(x) if (!is.null(x)) .Call(C_operand, x, self)
  if (is_tensor(min_) || is_tensor(max_) || length(min_) > 1L || length(max_) > 1L) {
    return(.Call(C_poly_clip, self, bound(min_), bound(max_)))
  }
  if (is.null(min_) && is.null(max_)) raise("clamp: min_ and max_ are both NULL")
  .Call(C_poly_clamp, self, if (is.null(min_)) -Inf else min_, if (is.null(max_)) Inf else max_)
}
tensor_methods$clip <- tensor_methods$clamp

# Functions

tensor_methods$exp <- function(self) .Call(C_poly_exp, self)
tensor_methods$exp2 <- function(self) .Call(C_poly_exp2, self)
tensor_methods$expm1 <- function(self) .Call(C_poly_expm1, self)
tensor_methods$log <- function(self) .Call(C_poly_log, self)
tensor_methods$log2 <- function(self) .Call(C_poly_log2, self)
tensor_methods$log10 <- function(self) .Call(C_poly_log10, self)
tensor_methods$log1p <- function(self) .Call(C_poly_log1p, self)
tensor_methods$sqrt <- function(self) .Call(C_poly_sqrt, self)
tensor_methods$rsqrt <- function(self) .Call(C_poly_rsqrt, self)
tensor_methods$reciprocal <- function(self) .Call(C_poly_reciprocal, self)
tensor_methods$square <- function(self) .Call(C_poly_square, self)
tensor_methods$abs <- function(self) .Call(C_poly_abs, self)
tensor_methods$sign <- function(self) .Call(C_poly_sign, self)
tensor_methods$sin <- function(self) .Call(C_poly_sin, self)
tensor_methods$cos <- function(self) .Call(C_poly_cos, self)
tensor_methods$tan <- function(self) .Call(C_poly_tan, self)
tensor_methods$asin <- function(self) .Call(C_poly_asin, self)
tensor_methods$acos <- function(self) .Call(C_poly_acos, self)
tensor_methods$atan <- function(self) .Call(C_poly_atan, self)
tensor_methods$sinh <- function(self) .Call(C_poly_sinh, self)
tensor_methods$cosh <- function(self) .Call(C_poly_cosh, self)
tensor_methods$tanh <- function(self) .Call(C_poly_tanh_act, self)
tensor_methods$asinh <- function(self) .Call(C_poly_asinh, self)
tensor_methods$acosh <- function(self) .Call(C_poly_acosh, self)
tensor_methods$atanh <- function(self) .Call(C_poly_atanh, self)
tensor_methods$ceil <- function(self) .Call(C_poly_ceil, self)
tensor_methods$floor <- function(self) .Call(C_poly_floor, self)
tensor_methods$trunc <- function(self) .Call(C_poly_trunc, self)
tensor_methods$round <- function(self) .Call(C_poly_round_f, self)
tensor_methods$isnan <- function(self) .Call(C_poly_isnan, self)
tensor_methods$isinf <- function(self, detect_positive = TRUE, detect_negative = TRUE) {
  need_flag("isinf", "detect_positive", detect_positive)
  need_flag("isinf", "detect_negative", detect_negative)
  if (detect_positive && detect_negative) return(.Call(C_poly_isinf, self))
  .Call(C_binary, binary_ops[["eq"]], self, if (detect_positive) Inf else if (detect_negative) -Inf else NaN, FALSE)
}
tensor_methods$isfinite <- function(self) .Call(C_poly_isfinite, self)
tensor_methods$erf <- function(self) .Call(C_poly_erf, self)
tensor_methods$erfc <- function(self) .Call(C_poly_erfc, self)
tensor_methods$erfinv <- function(self) .Call(C_poly_erfinv, self)
tensor_methods$ndtri <- function(self) .Call(C_poly_ndtri, self)
tensor_methods$lgamma <- function(self) .Call(C_poly_lgamma, self)
tensor_methods$digamma <- function(self) .Call(C_poly_digamma, self)

# Activations

tensor_methods$relu <- function(self) .Call(C_poly_relu, self)
tensor_methods$relu6 <- function(self) .Call(C_poly_relu6, self)
tensor_methods$leaky_relu <- function(self, neg_slope = 0.01) .Call(C_poly_leaky_relu, self, neg_slope)
tensor_methods$sigmoid <- function(self) .Call(C_poly_sigmoid, self)
tensor_methods$logsigmoid <- function(self) .Call(C_poly_logsigmoid, self)
tensor_methods$gelu <- function(self) .Call(C_poly_gelu, self)
tensor_methods$quick_gelu <- function(self) .Call(C_poly_quick_gelu, self)
tensor_methods$silu <- function(self) .Call(C_poly_silu, self)
tensor_methods$swish <- tensor_methods$silu
tensor_methods$elu <- function(self, alpha = 1) .Call(C_poly_elu, self, alpha)
tensor_methods$celu <- function(self, alpha = 1) .Call(C_poly_celu, self, alpha)
tensor_methods$selu <- function(self, alpha = 1.67326, gamma = 1.0507) .Call(C_poly_selu, self, alpha, gamma)
tensor_methods$softplus <- function(self, beta = 1) .Call(C_poly_softplus, self, beta)
tensor_methods$mish <- function(self) .Call(C_poly_mish, self)
tensor_methods$softsign <- function(self) .Call(C_poly_softsign, self)
tensor_methods$hardtanh <- function(self, min_val = -1, max_val = 1) .Call(C_poly_hardtanh, self, min_val, max_val)
tensor_methods$hardswish <- function(self) .Call(C_poly_hardswish, self)
tensor_methods$hardsigmoid <- function(self, alpha = 1 / 6, beta = 0.5) {
  .Call(C_poly_hardsigmoid_by, self, alpha, beta)
}

# Types

tensor_methods$cast <- function(self, dtype) .Call(C_poly_cast_by_id, self, dtype)
tensor_methods$bitcast <- function(self, dtype) .Call(C_poly_bitcast_by_id, self, dtype)
tensor_methods$float <- function(self) .Call(C_poly_cast_by_id, self, "float32")
tensor_methods$double <- function(self) .Call(C_poly_cast_by_id, self, "float64")
tensor_methods$short <- function(self) .Call(C_poly_cast_by_id, self, "int16")
tensor_methods$half <- function(self) .Call(C_poly_cast_by_id, self, "float16")
tensor_methods$bfloat16 <- function(self) .Call(C_poly_cast_by_id, self, "bfloat16")
tensor_methods$int <- function(self) .Call(C_poly_cast_by_id, self, "int32")
tensor_methods$long <- function(self) .Call(C_poly_cast_by_id, self, "int64")
tensor_methods$bool <- function(self) .Call(C_poly_cast_by_id, self, "bool")
