# Layers of convolution, and norms over channels and batches.

#' A number for each of n axes.
for_each <- function(value, n, name) {
  if (length(value) == 1L) return(rep(value, n))
  if (length(value) != n) raise(sprintf("%s: %d numbers, expected one or %d", name, length(value), n))
  value
}

#' Weight and bias, uniform in 1/sqrt(fan_in), as torch.nn begins with.
kernel_fields <- function(shape, out_channels, fan_in, bias) {
  bound <- 1 / sqrt(fan_in)
  uniform <- function(shape) tensor_statics$uniform(shape = shape, low = -bound, high = bound, requires_grad = TRUE)
  list(weight = uniform(shape), bias = if (bias) uniform(out_channels))
}

need_convolution <- function(kind, n, in_channels, out_channels, kernel_size, stride, dilation, groups, bias) {
  need_size(kind, "in_channels", in_channels)
  need_size(kind, "out_channels", out_channels)
  need_sizes(kind, "kernel_size", kernel_size, 1, unique(c(1L, n)))
  need_sizes(kind, "stride", stride, 1, unique(c(1L, n)))
  need_sizes(kind, "dilation", dilation, 1, unique(c(1L, n)))
  need_size(kind, "groups", groups)
  need_flag(kind, "bias", bias)
  for (name in c("in_channels", "out_channels")) {
    if (get(name) %% groups != 0) raise(sprintf("%s: %s: %g, expected a multiple of groups, %g", kind, name, get(name), groups))
  }
}

#' Padding that keeps sizes, two numbers an axis, the last axis first.
same_padding <- function(kind, kernel, dilation, stride) {
  if (any(stride != 1)) raise(sprintf("%s: padding: 'same' with the stride %s, expected a stride of 1", kind, toString(stride)))
  reach <- rev(dilation * (kernel - 1))
  as.vector(rbind(reach %/% 2, reach - reach %/% 2))
}

convolution <- function(kind, n, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias) {
  need_convolution(kind, n, in_channels, out_channels, kernel_size, stride, dilation, groups, bias)
  kernel <- for_each(kernel_size, n, "kernel_size")
  if (identical(padding, "same")) {
    padding <- same_padding(kind, kernel, for_each(dilation, n, "dilation"), stride)
  } else if (is.character(padding)) {
    raise(sprintf("%s: padding: '%s', expected numbers or 'same'", kind, toString(padding)))
  } else {
    need_sizes(kind, "padding", padding, 0, unique(c(1L, n, 2L * n)))
  }
  shape <- c(out_channels, in_channels / groups, kernel)
  fields <- c(
    kernel_fields(shape, out_channels, prod(shape[-1L]), bias),
    list(stride = stride, padding = padding, dilation = dilation, groups = groups)
  )
  new_layer(kind, fields, function(self, x) {
    tensor_methods$conv2d(as_input(x), self$weight, self$bias, self$groups, self$stride, self$dilation, self$padding)
  })
}

Conv1d <- function(in_channels, out_channels, kernel_size, stride = 1, padding = 0, dilation = 1, groups = 1, bias = TRUE) {
  convolution("Conv1d", 1L, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
}

Conv2d <- function(in_channels, out_channels, kernel_size, stride = 1, padding = 0, dilation = 1, groups = 1, bias = TRUE) {
  convolution("Conv2d", 2L, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
}

Conv3d <- function(in_channels, out_channels, kernel_size, stride = 1, padding = 0, dilation = 1, groups = 1, bias = TRUE) {
  convolution("Conv3d", 3L, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
}

transposed <- function(kind, n, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups,
                       bias) {
  need_convolution(kind, n, in_channels, out_channels, kernel_size, stride, dilation, groups, bias)
  need_sizes(kind, "padding", padding, 0, unique(c(1L, n, 2L * n)))
  need_sizes(kind, "output_padding", output_padding, 0, unique(c(1L, n)))
  shape <- c(in_channels, out_channels / groups, for_each(kernel_size, n, "kernel_size"))
  fields <- c(
    kernel_fields(shape, out_channels, prod(shape[-1L]), bias),
    list(stride = stride, padding = padding, output_padding = output_padding, dilation = dilation, groups = groups)
  )
  new_layer(kind, fields, function(self, x) {
    tensor_methods$conv_transpose2d(
      as_input(x), self$weight, self$bias, self$groups, self$stride, self$dilation, self$padding, self$output_padding
    )
  })
}

ConvTranspose1d <- function(in_channels, out_channels, kernel_size, stride = 1, padding = 0, output_padding = 0,
                            dilation = 1, groups = 1, bias = TRUE) {
  transposed(
    "ConvTranspose1d", 1L, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias
  )
}

ConvTranspose2d <- function(in_channels, out_channels, kernel_size, stride = 1, padding = 0, output_padding = 0,
                            dilation = 1, groups = 1, bias = TRUE) {
  transposed(
    "ConvTranspose2d", 2L, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias
  )
}

BatchNorm <- function(num_features, eps = 1e-5, affine = TRUE, track_running_stats = TRUE, momentum = 0.1) {
  need_size("BatchNorm", "num_features", num_features)
  need_setting("BatchNorm", "eps", eps)
  need_setting("BatchNorm", "momentum", momentum)
  need_flag("BatchNorm", "affine", affine)
  need_flag("BatchNorm", "track_running_stats", track_running_stats)
  fields <- list(
    weight = if (affine) tensor_statics$ones(num_features, requires_grad = TRUE),
    bias = if (affine) tensor_statics$zeros(num_features, requires_grad = TRUE),
    num_batches_tracked = from_r(0, "int64", scalar = TRUE),
    running_mean = if (track_running_stats) wanting(from_r(rep(0, num_features), "float32"), FALSE),
    running_var = if (track_running_stats) wanting(from_r(rep(1, num_features), "float32"), FALSE),
    eps = eps, momentum = momentum
  )
  new_layer("BatchNorm", fields, function(self, x) {
    x <- as_input(x)
    tracked <- !is.null(self$running_mean) && !is.null(self$running_var)
    # The statistics are computed at once, for the running ones, but what x is computed of only once: so are the
    # gradients, which come to x from all three.
    computed <- is_training() && tracked && !.Call(C_tracing)
    if (computed) .Call(C_realize, list(x))
    if (is_training() || !tracked) {
      stats <- tensor_methods$batchnorm_stats(x)
    } else {
      stats <- list(self$running_mean, self$running_var)
    }
    if (computed) .Call(C_realize, stats)
    if (is_training() && tracked) track_batch(self, x, stats[[1L]], stats[[2L]])
    tensor_methods$batchnorm(x, self$weight, self$bias, stats[[1L]], tensor_methods$rsqrt(stats[[2L]] + self$eps))
  })
}

#' Moves the running statistics towards those of a batch.
track_batch <- function(self, x, mean, variance) {
  n <- size_product(.Call(C_sizes, x)[-2L])
  unbiased <- if (is_size(n)) {
    variance * (Tensor(n, "float32") / Tensor((n - 1)$maximum(1), "float32"))
  } else if (n > 1) {
    variance * (n / (n - 1))
  } else {
    variance
  }
  move <- function(running, now) {
    now <- .External(C_op, OP_CAST, .Call(C_detach, now), .Call(C_dtype, running))
    tensor_methods$assign(running, tensor_methods$lerp(running, now, self$momentum))
  }
  move(self$running_mean, mean)
  move(self$running_var, unbiased)
  tensor_methods$assign(self$num_batches_tracked, self$num_batches_tracked + 1L)
}

InstanceNorm <- function(num_features, eps = 1e-5, affine = TRUE) {
  need_size("InstanceNorm", "num_features", num_features)
  group_norm("InstanceNorm", num_features, num_features, eps, affine)
}
