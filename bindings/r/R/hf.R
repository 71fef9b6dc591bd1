# Models in Hugging Face's format: config.json and safetensors files. Model type: gpt2.

load_hf <- function(path, max_batch = 1, max_seq_len = 0) {
  config <- file.path(path, "config.json")
  if (!file.exists(config)) raise(sprintf("load_hf: %s does not exist", config))
  files <- list.files(path, pattern = "\\.safetensors$", full.names = TRUE)
  if (length(files) == 0L) raise(sprintf("load_hf: %s holds no .safetensors file", path))
  load_hf_bytes(bytes_of(config), lapply(sort(files, method = "radix"), bytes_of), max_batch, max_seq_len)
}

load_hf_bytes <- function(config, weights, max_batch = 1, max_seq_len = 0) {
  if (is.raw(config)) config <- rawToChar(config)
  if (is.raw(weights)) weights <- list(weights)
  model <- new_instance(.Call(C_instance_hf, config, weights, max_batch, max_seq_len))
  if (length(model$notes) > 0L) warning(paste(model$notes, collapse = "; "), call. = FALSE)
  model
}

generate <- function(model, tokens, max_new_tokens, temperature = 1, top_k = 0) {
  if (temperature < 0 || top_k < 0 || max_new_tokens < 0) {
    raise("generate: temperature, top_k and max_new_tokens must not be negative")
  }
  sequence <- if (is.matrix(tokens)) tokens else matrix(tokens, nrow = 1L)
  shape <- model$shapes[["x"]]
  room <- shape[2L]
  if (nrow(sequence) > shape[1L] || ncol(sequence) == 0L) {
    raise(sprintf("generate: tokens: %d rows of %d, expected up to %d rows", nrow(sequence), ncol(sequence), shape[1L]))
  }
  places <- intersect(c("positions", "arange"), names(model$shapes))
  places <- stats::setNames(lapply(places, function(name) array(seq_len(room) - 1, model$shapes[[name]])), places)
  for (step in seq_len(max_new_tokens)) {
    seen <- sequence[, seq.int(max(1L, ncol(sequence) - room + 1L), ncol(sequence)), drop = FALSE]
    outputs <- do.call(model$forward, c(list(x = seen), places))
    logits <- array(outputs$output, c(shape, length(outputs$output) / prod(shape)))
    chosen <- vapply(seq_len(nrow(sequence)), function(i) choose_token(logits[i, ncol(seen), ], temperature, top_k), 0L)
    sequence <- cbind(sequence, chosen, deparse.level = 0L)
  }
  sequence
}

#' A token, drawn by its probability from R's random numbers.
choose_token <- function(logits, temperature, top_k) {
  if (temperature == 0) return(which.max(logits) - 1L)
  scaled <- logits / temperature
  if (top_k > 0 && top_k < length(scaled)) scaled[scaled < sort(scaled, decreasing = TRUE)[top_k]] <- -Inf
  weights <- exp(scaled - max(scaled))
  sample.int(length(weights), 1L, prob = weights) - 1L
}
