# Layers: functions that hold parameters. layer(x) computes, layer$weight is a parameter.

new_layer <- function(kind, fields, forward) {
  own <- new.env(parent = emptyenv())
  for (name in names(fields)) assign(name, fields[[name]], envir = own)
  structure(
    function(x, ...) forward(own, x, ...),
    class = c(kind, "Layer"), fields = own, order = names(fields)
  )
}

`$.Layer` <- function(x, name) get0(name, envir = attr(x, "fields"), inherits = FALSE)

`$<-.Layer` <- function(x, name, value) {
  assign(name, value, envir = attr(x, "fields"))
  x
}

`[[.Layer` <- function(x, name) `$.Layer`(x, name)
`[[<-.Layer` <- function(x, name, value) `$<-.Layer`(x, name, value)

# Parameters of the constructor, and those added later.
names.Layer <- function(x) union(attr(x, "order"), ls(attr(x, "fields")))

print.Layer <- function(x, ...) {
  cat("<", class(x)[1L], ">\n", sep = "")
  for (name in names(x)) {
    field <- `$.Layer`(x, name)
    text <- if (is_tensor(field)) {
      headline(field)
    } else if (is.list(field)) {
      paste0("<", vapply(field, function(part) class(part)[1L], ""), ">", collapse = " ")
    } else {
      paste(format(field), collapse = " ")
    }
    if (!is.null(field)) cat("  ", name, ": ", text, "\n", sep = "")
  }
  invisible(x)
}

#' A whole number that a layer is made with.
need_size <- function(layer, name, value, least = 1) need_sizes(layer, name, value, least, 1L)

#' Whole numbers; counts says how many there may be, NULL some.
need_sizes <- function(layer, name, value, least = 1, counts = NULL) {
  known <- is.numeric(value) && !is.object(value) && length(value) > 0L && all(is.finite(value)) &&
    all(value == floor(value) & value >= least)
  if (known && (is.null(counts) || length(value) %in% counts)) return(invisible())
  several <- trimws(paste(paste(counts, collapse = " or "), "whole numbers"))
  expected <- if (identical(counts, 1L)) "a whole number" else several
  raise(sprintf("%s: %s: %s, expected %s from %d", layer, name, brief(value), expected, least))
}

#' A value as text for an error message.
brief <- function(value) {
  if (!is.atomic(value) || length(value) == 0L) return(class(value)[1L])
  text <- as.character(utils::head(value, 8L))
  if (is.character(value)) text <- paste0("'", text, "'")
  paste(c(text, if (length(value) > 8L) "..."), collapse = ", ")
}

need_flag <- function(layer, name, value) {
  if (!is.logical(value) || length(value) != 1L || is.na(value)) {
    raise(sprintf("%s: %s: expected TRUE or FALSE", layer, name))
  }
}

Linear <- function(in_features, out_features, bias = TRUE) {
  need_size("Linear", "in_features", in_features, 0)
  need_size("Linear", "out_features", out_features, 0)
  need_flag("Linear", "bias", bias)
  bound <- if (in_features > 0) 1 / sqrt(in_features) else 0
  fields <- list(
    weight = tensor_statics$uniform(out_features, in_features, low = -bound, high = bound, requires_grad = TRUE),
    bias = if (bias) tensor_statics$uniform(out_features, low = -bound, high = bound, requires_grad = TRUE)
  )
  new_layer("Linear", fields, function(self, x) .External(C_op, OP_LINEAR, as_input(x), .External(C_op, OP_T, self$weight), self$bias))
}

#' The input of a layer: a Tensor, or numbers, which become a float32 Tensor.
as_input <- function(x) if (is_tensor(x)) x else Tensor(x, dtype = if (is.double(x) || is.data.frame(x)) "float32")

LayerNorm <- function(normalized_shape, eps = 1e-5, elementwise_affine = TRUE) {
  need_sizes("LayerNorm", "normalized_shape", normalized_shape, 0)
  need_setting("LayerNorm", "eps", eps)
  need_flag("LayerNorm", "elementwise_affine", elementwise_affine)
  fields <- list(
    weight = if (elementwise_affine) tensor_statics$ones(normalized_shape, requires_grad = TRUE),
    bias = if (elementwise_affine) tensor_statics$zeros(normalized_shape, requires_grad = TRUE),
    normalized_shape = normalized_shape, eps = eps
  )
  new_layer("LayerNorm", fields, function(self, x) {
    x <- as_input(x)
    shape <- .Call(C_shape, x)
    n <- length(self$normalized_shape)
    if (!identical(as.numeric(utils::tail(shape, n)), as.numeric(self$normalized_shape))) {
      raise(sprintf(
        "LayerNorm: x: shape (%s), expected the last axes to be (%s)",
        paste(shape, collapse = ", "), paste(self$normalized_shape, collapse = ", ")
      ))
    }
    .External(C_op, OP_LAYERNORM, x, -rev(seq_len(n)), self$eps, self$weight, self$bias)
  })
}

LayerNorm2d <- function(normalized_shape, eps = 1e-5, elementwise_affine = TRUE) {
  need_size("LayerNorm2d", "normalized_shape", normalized_shape, 0)
  layer <- LayerNorm(normalized_shape, eps, elementwise_affine)
  fields <- lapply(stats::setNames(nm = names(layer)), function(name) `$.Layer`(layer, name))
  new_layer("LayerNorm2d", fields, function(self, x) {
    x <- as_input(x)
    shape <- .Call(C_shape, x)
    if (length(shape) != 4L) {
      raise(sprintf("LayerNorm2d: x: shape (%s), expected 4 dimensions", paste(shape, collapse = ", ")))
    }
    last <- tensor_methods$permute(x, c(1, 3, 4, 2))
    tensor_methods$permute(.External(C_op, OP_LAYERNORM, last, -1L, self$eps, self$weight, self$bias), c(1, 4, 2, 3))
  })
}

RMSNorm <- function(dim, eps = 1e-6, elementwise_affine = TRUE) {
  need_size("RMSNorm", "dim", dim, 0)
  need_setting("RMSNorm", "eps", eps)
  need_flag("RMSNorm", "elementwise_affine", elementwise_affine)
  fields <- list(weight = if (elementwise_affine) tensor_statics$ones(dim, requires_grad = TRUE), eps = eps)
  new_layer("RMSNorm", fields, function(self, x) .External(C_op, OP_RMSNORM, as_input(x), self$eps, self$weight))
}

GroupNorm <- function(num_groups, num_channels, eps = 1e-5, affine = TRUE) {
  need_size("GroupNorm", "num_groups", num_groups)
  need_size("GroupNorm", "num_channels", num_channels)
  group_norm("GroupNorm", num_groups, num_channels, eps, affine)
}

group_norm <- function(kind, num_groups, num_channels, eps, affine) {
  need_setting(kind, "eps", eps)
  need_flag(kind, "affine", affine)
  fields <- list(
    weight = if (affine) tensor_statics$ones(num_channels, requires_grad = TRUE),
    bias = if (affine) tensor_statics$zeros(num_channels, requires_grad = TRUE),
    num_groups = num_groups, eps = eps
  )
  new_layer(kind, fields, function(self, x) {
    .External(C_op, OP_GROUPNORM, as_input(x), self$num_groups, self$eps, self$weight, self$bias)
  })
}

Embedding <- function(vocab_size, embed_size) {
  need_size("Embedding", "vocab_size", vocab_size)
  need_size("Embedding", "embed_size", embed_size)
  fields <- list(weight = tensor_statics$glorot_uniform(vocab_size, embed_size, requires_grad = TRUE))
  new_layer("Embedding", fields, function(self, x) .External(C_op, OP_EMBEDDING, self$weight, x))
}

Dropout <- function(p = 0.5) {
  need_probability("Dropout", p)
  new_layer("Dropout", list(p = p), function(self, x) tensor_methods$dropout(as_input(x), self$p))
}

Sequential <- function(...) {
  layers <- tensor_list(...)
  if (!all(vapply(layers, is.function, NA))) raise("Sequential: expected layers and functions of one tensor")
  new_layer("Sequential", list(layers = layers), function(self, x) {
    for (layer in self$layers) x <- layer(x)
    x
  })
}
