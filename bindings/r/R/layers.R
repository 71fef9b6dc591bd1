# Layers: functions that hold parameters. layer(x) computes, layer$weight is a parameter. nn.R makes most of them.

#' Makes a layer. The last weights, as many as buffers says, are not parameters; a NULL weight is left out.
new_layer <- function(kind, weights, buffers, settings, forward) {
  here <- !vapply(weights, is.null, NA)
  learned <- seq_along(weights) <= length(weights) - buffers
  for (weight in weights[here & learned]) .Call(C_set_requires_grad, weight, TRUE)
  for (weight in weights[here & !learned]) .Call(C_set_requires_grad, weight, FALSE)
  .Call(C_realize, weights[here & !learned])
  fields <- c(weights, settings)
  own <- list2env(fields, parent = emptyenv())
  structure(function(x, ...) forward(own, x, ...), class = c(kind, "Layer"), fields = own, order = names(fields))
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

#' The input of a layer: a Tensor, or numbers, which become a float32 Tensor.
as_input <- function(x) if (is_tensor(x)) x else Tensor(x, dtype = if (is.double(x) || is.data.frame(x)) "float32")

#' The initial states h and c of a layer.
states_of <- function(hc) if (is.list(hc)) lapply(hc, as_input) else hc

#' The initial state h of a layer.
state_of <- function(h) if (is.null(h)) NULL else as_input(h)

#' The names of the weights of a recurrent layer, in their order.
sequence_weights <- function(num_layers, bias, bidirectional) {
  parts <- c("weight_ih", "weight_hh", if (bias) c("bias_ih", "bias_hh"))
  layers <- paste0("_l", rep(seq_len(num_layers[[1L]]) - 1L, each = 1L + bidirectional), c("", if (bidirectional) "_reverse"))
  paste0(parts, rep(layers, each = length(parts)))
}

sequence_weights_of <- function(self) unname(mget(sequence_weights(self$num_layers, self$bias, self$bidirectional), envir = self))

# Layers of layers

Sequential <- function(...) {
  layers <- tensor_list(...)
  if (!all(vapply(layers, is.function, NA))) raise("Sequential: expected layers and functions of one tensor")
  new_layer("Sequential", list(), 0L, list(layers = layers), function(self, x) {
    for (layer in self$layers) x <- layer(x)
    x
  })
}

#' Checks that a count divides whole.
need_part <- function(kind, name, value, whole) {
  need_size(kind, name, value)
  if (whole %% value != 0) raise(sprintf("%s: %s: %g, expected a part of %g", kind, name, value, whole))
}

MultiHeadAttention <- function(embed_dim, num_heads, num_kv_heads = num_heads, bias = TRUE, dropout = 0) {
  kind <- "MultiHeadAttention"
  need_size(kind, "embed_dim", embed_dim)
  if (embed_dim > 2^31) raise(sprintf("%s: embed_dim: %g, expected at most 2^31", kind, embed_dim))
  need_part(kind, "num_heads", num_heads, embed_dim)
  need_part(kind, "num_kv_heads", num_kv_heads, num_heads)
  need_probability(kind, dropout)
  head_dim <- embed_dim / num_heads
  projections <- list(
    q_proj = Linear(embed_dim, embed_dim, bias), k_proj = Linear(embed_dim, head_dim * num_kv_heads, bias),
    v_proj = Linear(embed_dim, head_dim * num_kv_heads, bias), o_proj = Linear(embed_dim, embed_dim, bias)
  )
  heads <- function(layer, x) {
    tensor_methods$transpose(tensor_methods$unflatten(layer(x), -1, c(-1, head_dim)), -3, -2)
  }
  new_layer(kind, list(), 0L, projections, function(self, query, key = query, value = key, attn_mask = NULL, is_causal = FALSE) {
    out <- tensor_methods$scaled_dot_product_attention(
      heads(self$q_proj, query), heads(self$k_proj, key), heads(self$v_proj, value), attn_mask, dropout, is_causal,
      num_kv_heads != num_heads
    )
    self$o_proj(tensor_methods$flatten(tensor_methods$transpose(out, -3, -2), -2))
  })
}

TransformerBlock <- function(embed_dim, num_heads, ff_dim = 4 * embed_dim, num_kv_heads = num_heads, bias = TRUE,
                             dropout = 0, causal = FALSE, pre_norm = TRUE, norm = "layer",
                             activation = function(x) x$gelu()) {
  kind <- "TransformerBlock"
  need_size(kind, "embed_dim", embed_dim)
  need_size(kind, "ff_dim", ff_dim)
  for (name in c("causal", "pre_norm")) need_flag(kind, name, get(name))
  need_choice(kind, "norm", norm, c("layer", "rms"))
  if (!is.function(activation)) raise(sprintf("%s: activation: expected a function", kind))
  norm_of <- if (norm == "rms") RMSNorm else LayerNorm
  layers <- list(
    attn_norm = norm_of(embed_dim), attn = MultiHeadAttention(embed_dim, num_heads, num_kv_heads, bias, dropout),
    ff_norm = norm_of(embed_dim), up = Linear(embed_dim, ff_dim, bias), down = Linear(ff_dim, embed_dim, bias)
  )
  new_layer(kind, list(), 0L, layers, function(self, x, attn_mask = NULL) {
    x <- as_input(x)
    attend <- function(y) tensor_methods$dropout(self$attn(y, attn_mask = attn_mask, is_causal = causal), dropout)
    feed <- function(y) tensor_methods$dropout(self$down(activation(self$up(y))), dropout)
    if (!pre_norm) {
      x <- self$attn_norm(x + attend(x))
      return(self$ff_norm(x + feed(x)))
    }
    x <- x + attend(self$attn_norm(x))
    x + feed(self$ff_norm(x))
  })
}
