# Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral, qwen2, qwen3; bert.

load_hf <- function(path, max_batch = 1, max_seq_len = 0, dtype = "float32") {
  if (!is.character(path) || length(path) != 1L || is.na(path)) {
    raise(sprintf("load_hf: path: %s, expected the path of a folder", brief(path)))
  }
  config <- file.path(path, "config.json")
  if (!file.exists(config)) raise(sprintf("load_hf: %s does not exist", config))
  files <- weight_files(path)
  if (length(files) == 0L) raise(sprintf("load_hf: %s holds no .safetensors file", path))
  model <- load_hf_bytes(bytes_of(config), as.list(files), max_batch, max_seq_len, dtype)
  attr(model, "eos_token_id") <- ends_in(path)
  model
}

text_of <- function(file) as_text("data", bytes_of(file), file)

as_text <- function(name, bytes, file = "the bytes") {
  if (any(bytes == 0)) raise(sprintf("%s: %s: no text, since there is a byte of 0", name, file))
  rawToChar(bytes)
}

index_name <- "model.safetensors.index.json"

#' The files that the index names, or model.safetensors, or else all of them: folders may have the same
#' weights once more, in one file for other programs.
weight_files <- function(path) {
  names <- if (file.exists(file.path(path, index_name))) {
    indexed("load_hf", file.path(path, index_name))
  } else {
    unindexed(list.files(path))
  }
  file.path(path, names)
}

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

#' The tokens that end a text, as the model's files say.
ends_in <- function(path) {
  for (name in c("generation_config.json", "config.json")) {
    file <- file.path(path, name)
    if (!file.exists(file)) next
    text <- text_of(file)
    found <- regmatches(text, regexpr('"eos_token_id"[[:space:]]*:[[:space:]]*(\\[[^]]*\\]|-?[0-9]+)', text))
    if (length(found) == 0L) next
    numbers <- sub('"[^"]*"', "", found)
    return(as.integer(regmatches(numbers, gregexpr("-?[0-9]+", numbers))[[1L]]))
  }
  NULL
}

load_hf_bytes <- function(config, weights, max_batch = 1, max_seq_len = 0, dtype = "float32") {
  if (is.raw(config)) config <- as_text("load_hf_bytes: config", config)
  if (is.raw(weights)) weights <- list(weights)
  if (!is.list(weights)) raise(sprintf("load_hf_bytes: weights: %s, expected a raw vector or a list of them", brief(weights)))
  model <- new_instance(.Call(C_instance_hf, config, weights, max_batch, max_seq_len, dtype))
  broken <- startsWith(model$notes, "files[")
  if (any(broken)) raise(sprintf("load_hf_bytes: weights: %s", paste(model$notes[broken], collapse = "; ")))
  if (length(model$notes) > 0L) warning(paste(model$notes, collapse = "; "), call. = FALSE)
  model
}
