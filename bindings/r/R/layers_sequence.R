# Recurrent layers, attention, and the block of a transformer.

uniform_in <- function(bound, ...) tensor_statics$uniform(shape = c(...), low = -bound, high = bound, requires_grad = TRUE)

zero_state <- function(shape, x) tensor_statics$zeros(shape, dtype = dtype(x))

#' The states h and c that a layer begins with.
need_states <- function(kind, hc) {
  if (!is.list(hc) || length(hc) != 2L) raise(sprintf("%s: hc: %s, expected a list of h and c", kind, brief(hc)))
  lapply(hc, as_input)
}

LSTMCell <- function(input_size, hidden_size, bias = TRUE) {
  need_size("LSTMCell", "input_size", input_size, 0)
  need_size("LSTMCell", "hidden_size", hidden_size)
  need_flag("LSTMCell", "bias", bias)
  bound <- 1 / sqrt(hidden_size)
  fields <- list(
    weight_ih = uniform_in(bound, 4 * hidden_size, input_size), weight_hh = uniform_in(bound, 4 * hidden_size, hidden_size),
    bias_ih = if (bias) tensor_statics$zeros(4 * hidden_size, requires_grad = TRUE),
    bias_hh = if (bias) tensor_statics$zeros(4 * hidden_size, requires_grad = TRUE)
  )
  new_layer("LSTMCell", fields, function(self, x, hc = NULL) {
    x <- as_input(x)
    shape <- .Call(C_sizes, x)
    if (is.null(hc)) {
      zeros <- zero_state(c(shape[-length(shape)], hidden_size), x)
      hc <- list(zeros, zeros)
    }
    hc <- need_states("LSTMCell", hc)
    out <- .Call(C_lstm_cell, c(list(x), hc, list(self$weight_ih, self$weight_hh, self$bias_ih, self$bias_hh)))
    list(h = out[[1L]], c = out[[2L]])
  })
}

lstm_parts <- c("weight_ih", "weight_hh", "bias_ih", "bias_hh")

LSTM <- function(input_size, hidden_size, num_layers = 1, bias = TRUE, batch_first = FALSE, dropout = 0,
                 bidirectional = FALSE) {
  need_size("LSTM", "input_size", input_size, 0)
  need_size("LSTM", "hidden_size", hidden_size)
  need_size("LSTM", "num_layers", num_layers)
  for (name in c("bias", "batch_first", "bidirectional")) need_flag("LSTM", name, get(name))
  need_probability("LSTM", dropout)
  ways <- if (bidirectional) c("", "_reverse") else ""
  fields <- list()
  for (layer in seq_len(num_layers) - 1L) {
    inputs <- if (layer > 0L) hidden_size * length(ways) else input_size
    sizes <- list(weight_ih = inputs, weight_hh = hidden_size)
    for (way in ways) {
      for (part in lstm_parts[seq_len(if (bias) 4L else 2L)]) {
        fields[[paste0(part, "_l", layer, way)]] <- uniform_in(1 / sqrt(hidden_size), 4 * hidden_size, sizes[[part]])
      }
    }
  }
  new_layer("LSTM", fields, function(self, x, hc = NULL) {
    x <- as_input(x)
    shape <- .Call(C_sizes, x)
    if (length(shape) != 3L) raise(sprintf("LSTM: x: shape (%s), expected 3 dimensions", written(shape)))
    expected <- c(num_layers * length(ways), shape[if (batch_first) 1L else 2L], hidden_size)
    if (is.null(hc)) {
      zeros <- zero_state(expected, x)
      hc <- list(zeros, zeros)
    }
    hc <- need_states("LSTM", hc)
    for (i in 1:2) {
      given <- .Call(C_sizes, hc[[i]])
      if (!same_sizes(given, expected)) {
        raise(sprintf("LSTM: %s: shape (%s), expected (%s)", c("h", "c")[i], written(given), written(expected)))
      }
    }
    ends <- list()
    for (layer in seq_len(num_layers) - 1L) {
      if (layer > 0L && dropout > 0) x <- tensor_methods$dropout(x, dropout)
      outs <- lapply(ways, function(way) {
        weights <- lapply(paste0(lstm_parts, "_l", layer, way), function(name) get0(name, envir = self, inherits = FALSE))
        at <- length(ends) + 1L
        start <- lapply(hc, function(state) tensor_methods$squeeze(state[at, , , drop = FALSE], 1))
        out <- .Call(C_lstm, c(list(x), start, weights), batch_first, nzchar(way))
        ends[[at]] <<- out[2:3]
        out[[1L]]
      })
      x <- if (length(outs) == 1L) outs[[1L]] else tensor_methods$cat(outs, dim = -1)
    }
    state <- lapply(1:2, function(i) tensor_methods$stack(lapply(ends, `[[`, i)))
    list(outputs = x, h = state[[1L]], c = state[[2L]])
  })
}

#' A count that must divide another one.
need_part <- function(kind, name, value, whole) {
  need_size(kind, name, value)
  if (whole %% value != 0) raise(sprintf("%s: %s: %g, expected a part of %g", kind, name, value, whole))
}

MultiHeadAttention <- function(embed_dim, num_heads, num_kv_heads = num_heads, bias = TRUE, dropout = 0) {
  kind <- "MultiHeadAttention"
  need_size(kind, "embed_dim", embed_dim)
  need_part(kind, "num_heads", num_heads, embed_dim)
  need_part(kind, "num_kv_heads", num_kv_heads, num_heads)
  need_probability(kind, dropout)
  head_dim <- embed_dim / num_heads
  fields <- list(
    q_proj = Linear(embed_dim, embed_dim, bias), k_proj = Linear(embed_dim, head_dim * num_kv_heads, bias),
    v_proj = Linear(embed_dim, head_dim * num_kv_heads, bias), o_proj = Linear(embed_dim, embed_dim, bias)
  )
  heads <- function(layer, x) {
    tensor_methods$transpose(tensor_methods$unflatten(layer(x), -1, c(-1, head_dim)), -3, -2)
  }
  new_layer(kind, fields, function(self, query, key = query, value = key, attn_mask = NULL, is_causal = FALSE) {
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
  need_size(kind, "ff_dim", ff_dim)
  for (name in c("causal", "pre_norm")) need_flag(kind, name, get(name))
  need_choice(kind, "norm", norm, c("layer", "rms"))
  if (!is.function(activation)) raise(sprintf("%s: activation: expected a function", kind))
  norm_of <- if (norm == "rms") RMSNorm else LayerNorm
  fields <- list(
    attn_norm = norm_of(embed_dim), attn = MultiHeadAttention(embed_dim, num_heads, num_kv_heads, bias, dropout),
    ff_norm = norm_of(embed_dim), up = Linear(embed_dim, ff_dim, bias), down = Linear(ff_dim, embed_dim, bias)
  )
  new_layer(kind, fields, function(self, x, attn_mask = NULL) {
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
