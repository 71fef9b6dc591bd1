# Convolution, pooling and interpolation of x of shape (N, C, spatial axes).

#' A number for each of n axes.
for_each <- function(value, n, name) {
  if (length(value) == 1L) return(rep(value, n))
  if (length(value) != n) raise(sprintf("%s: %d numbers, expected one or %d", name, length(value), n))
  value
}

#' Padding before and after each of n axes, from one number, one for each axis, or two for each axis,
#' before and after the last one first, as in pad.
padding_of <- function(value, n) {
  if (length(value) == 1L) return(rep(value, 2L * n))
  if (length(value) == n) return(rep(value, each = 2L))
  if (length(value) != 2L * n) raise(sprintf("padding: %d numbers, expected one, %d or %d", length(value), n, 2L * n))
  as.vector(matrix(value, 2L)[, rev(seq_len(n)), drop = FALSE])
}

spatial_axes <- function(name, weight) {
  if (!is_tensor(weight)) raise(sprintf("%s: weight: %s, expected a Tensor", name, brief(weight)))
  n <- length(.Call(C_shape, weight)) - 2L
  if (n < 1L) raise(sprintf("%s: weight: expected 3 dimensions or more", name))
  n
}

tensor_methods$conv2d <- function(self, weight, bias = NULL, groups = 1, stride = 1, dilation = 1, padding = 0,
                                  dtype = NULL) {
  n <- spatial_axes("conv2d", weight)
  .Call(
    C_poly_conv, in_type(self, dtype), in_type(weight, dtype), bias, groups, for_each(stride, n, "stride"), for_each(dilation, n, "dilation"),
    padding_of(padding, n), n
  )
}

tensor_methods$conv_transpose2d <- function(self, weight, bias = NULL, groups = 1, stride = 1, dilation = 1, padding = 0,
                                            output_padding = 0) {
  n <- spatial_axes("conv_transpose2d", weight)
  .Call(
    C_poly_conv_transpose, self, weight, bias, groups, for_each(stride, n, "stride"), for_each(dilation, n, "dilation"),
    padding_of(padding, n), for_each(output_padding, n, "output_padding"), n
  )
}

#' The kernel, stride, dilation and padding of a pool, and its number of axes.
window_of <- function(x, kernel_size, stride, dilation, padding) {
  n <- if (length(kernel_size) > 1L) length(kernel_size) else max(length(.Call(C_shape, x)) - 2L, 1L)
  kernel <- for_each(kernel_size, n, "kernel_size")
  list(
    kernel = kernel, stride = if (!is.null(stride)) for_each(stride, n, "stride"),
    dilation = for_each(dilation, n, "dilation"), padding = padding_of(padding, n), n = n
  )
}

tensor_methods$avg_pool2d <- function(self, kernel_size = 2, stride = NULL, dilation = 1, padding = 0,
                                      ceil_mode = FALSE, count_include_pad = TRUE) {
  w <- window_of(self, kernel_size, stride, dilation, padding)
  .Call(C_poly_avg_pool, self, w$kernel, w$stride, w$dilation, w$padding, w$n, ceil_mode, count_include_pad)
}

tensor_methods$max_pool2d <- function(self, kernel_size = 2, stride = NULL, dilation = 1, padding = 0,
                                      ceil_mode = FALSE, return_indices = FALSE) {
  w <- window_of(self, kernel_size, stride, dilation, padding)
  if (return_indices) {
    return(values_and_places(
      .Call(C_poly_max_pool_indices, self, w$kernel, w$stride, w$dilation, w$padding, w$n, ceil_mode, 2L)
    ))
  }
  .Call(C_poly_max_pool, self, w$kernel, w$stride, w$dilation, w$padding, w$n, ceil_mode)
}

tensor_methods$max_unpool2d <- function(self, indices, kernel_size = 2, stride = NULL, dilation = 1, padding = 0,
                                        output_size = NULL) {
  w <- window_of(self, kernel_size, stride, dilation, padding)
  if (!is.null(output_size)) output_size <- utils::tail(output_size, w$n)
  .Call(
    C_poly_max_unpool, self, from_zero(indices), w$kernel, w$stride, w$dilation, w$padding, w$n, output_size
  )
}

# PolyInterpolation
interpolations <- c(linear = 0L, nearest = 1L, `nearest-exact` = 2L)

tensor_methods$interpolate <- function(self, size, mode = "linear", align_corners = FALSE) {
  .Call(C_poly_interpolate, self, size, number_of("interpolate: mode", mode, interpolations), align_corners)
}
