# Layers: functions that hold parameters. layer(x) computes, layer$weight is a parameter.

new_layer <- function(kind, fields, forward) {
  own <- new.env(parent = emptyenv())
  for (name in names(fields)) assign(name, fields[[name]], envir = own)
  structure(
    function(x) forward(own, x),
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

names.Layer <- function(x) attr(x, "order")

print.Layer <- function(x, ...) {
  cat("<", class(x)[1L], ">\n", sep = "")
  for (name in names(x)) {
    field <- `$.Layer`(x, name)
    text <- if (is_tensor(field)) headline(field) else paste(format(field), collapse = " ")
    if (!is.null(field)) cat("  ", name, ": ", text, "\n", sep = "")
  }
  invisible(x)
}

Linear <- function(in_features, out_features, bias = TRUE) {
  bound <- if (in_features > 0) 1 / sqrt(in_features) else 0
  fields <- list(
    weight = tensor_statics$uniform(out_features, in_features, low = -bound, high = bound, requires_grad = TRUE),
    bias = if (bias) tensor_statics$uniform(out_features, low = -bound, high = bound, requires_grad = TRUE)
  )
  new_layer("Linear", fields, function(self, x) .Call(C_poly_affine, as_input(x), self$weight, self$bias))
}

#' What a layer is called with: a Tensor, or numbers, which become one of float32.
as_input <- function(x) if (is_tensor(x)) x else Tensor(x, dtype = if (is.double(x) || is.data.frame(x)) "float32")

LayerNorm <- function(normalized_shape, eps = 1e-5, elementwise_affine = TRUE) {
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
    .Call(C_poly_layernorm_axes, x, -rev(seq_len(n)), self$eps, self$weight, self$bias)
  })
}

RMSNorm <- function(dim, eps = 1e-5) {
  fields <- list(weight = tensor_statics$ones(dim, requires_grad = TRUE), eps = eps)
  new_layer("RMSNorm", fields, function(self, x) .Call(C_poly_rmsnorm, as_input(x), self$eps, self$weight))
}

GroupNorm <- function(num_groups, num_channels, eps = 1e-5, affine = TRUE) {
  fields <- list(
    weight = if (affine) tensor_statics$ones(num_channels, requires_grad = TRUE),
    bias = if (affine) tensor_statics$zeros(num_channels, requires_grad = TRUE),
    num_groups = num_groups, eps = eps
  )
  new_layer("GroupNorm", fields, function(self, x) {
    .Call(C_poly_groupnorm, as_input(x), self$num_groups, self$eps, self$weight, self$bias)
  })
}

Embedding <- function(vocab_size, embed_size) {
  fields <- list(weight = tensor_statics$glorot_uniform(vocab_size, embed_size, requires_grad = TRUE))
  new_layer("Embedding", fields, function(self, x) .Call(C_poly_gather, self$weight, from_zero(x)))
}

Dropout <- function(p = 0.5) {
  need_probability("Dropout", p)
  new_layer("Dropout", list(p = p), function(self, x) tensor_methods$dropout(as_input(x), self$p))
}
