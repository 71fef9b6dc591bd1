# Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral, qwen2, qwen3; bert.

load_hf <- function(path, max_batch = 1, max_seq_len = 0, dtype = "float32", strict = TRUE) {
  need_flag("load_hf", "strict", strict)
  model <- new_instance(.Call(C_instance_open, path, max_batch, max_seq_len, dtype, strict))
  attr(model, "eos_token_id") <- .Call(C_instance_ends, .subset2(model, "pointer"))
  model
}

text_of <- function(file) as_text("data", bytes_of(file), file)

as_text <- function(name, bytes, file = "the bytes") {
  if (any(bytes == 0)) raise(sprintf("%s: %s: no text, since there is a byte of 0", name, file))
  rawToChar(bytes)
}

index_name <- "model.safetensors.index.json"

unindexed <- function(names) {
  if ("model.safetensors" %in% names) return("model.safetensors")
  sort(grep("\\.safetensors$", names, value = TRUE), method = "radix")
}

#' The files that an index names.
indexed <- function(caller, index) {
  # A map from names of tensors to names of files; neither needs anything else of JSON.
  map <- regmatches(text_of(index), regexpr('"weight_map"[[:space:]]*:[[:space:]]*\\{[^{}]*\\}', text_of(index)))
  if (length(map) == 0L) raise(sprintf("%s: %s has no weight_map, expected files by tensors", caller, index))
  map <- sub("[^{]*", "", map)
  pairs <- regmatches(map, gregexpr('"[^"]*"[[:space:]]*:[[:space:]]*"[^"]*"', map))[[1L]]
  names <- unique(sub('.*"([^"]*)"$', "\\1", pairs))
  # A downloaded index must not name files outside of its folder.
  for (name in names) {
    if (name %in% c("", ".", "..") || grepl("[/\\\\]", name)) {
      raise(sprintf("%s: %s: '%s', expected a file beside the index", caller, index, name))
    }
  }
  sort(names, method = "radix")
}

load_hf_bytes <- function(config, weights, max_batch = 1, max_seq_len = 0, dtype = "float32", strict = TRUE) {
  need_flag("load_hf_bytes", "strict", strict)
  if (is.raw(config)) config <- as_text("load_hf_bytes: config", config)
  if (is.raw(weights)) weights <- list(weights)
  if (!is.list(weights) || !all(vapply(weights, is.raw, NA))) {
    raise(sprintf("load_hf_bytes: weights: %s, expected a raw vector or a list of them", brief(weights)))
  }
  new_instance(.Call(C_instance_hf, config, weights, max_batch, max_seq_len, dtype, strict))
}
