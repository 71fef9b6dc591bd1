# Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral, qwen2, qwen3; bert.

load_hf <- function(path, max_batch = 1, max_seq_len = 0, dtype = "float32") {
  config <- file.path(path, "config.json")
  if (!file.exists(config)) raise(sprintf("load_hf: %s does not exist", config))
  files <- list.files(path, pattern = "\\.safetensors$", full.names = TRUE)
  if (length(files) == 0L) raise(sprintf("load_hf: %s holds no .safetensors file", path))
  load_hf_bytes(bytes_of(config), lapply(sort(files, method = "radix"), bytes_of), max_batch, max_seq_len, dtype)
}

load_hf_bytes <- function(config, weights, max_batch = 1, max_seq_len = 0, dtype = "float32") {
  if (is.raw(config)) config <- rawToChar(config)
  if (is.raw(weights)) weights <- list(weights)
  model <- new_instance(.Call(C_instance_hf, config, weights, max_batch, max_seq_len, dtype))
  if (length(model$notes) > 0L) warning(paste(model$notes, collapse = "; "), call. = FALSE)
  model
}

generate <- function(model, tokens, max_new_tokens, temperature = 1, top_k = 0, top_p = 1, seed = NULL,
                     eos_token_id = NULL, on_token = NULL) {
  if (temperature < 0 || top_k < 0 || max_new_tokens < 0) {
    raise("generate: temperature, top_k and max_new_tokens must not be negative")
  }
  if (!inherits(model, "Instance")) raise("generate: model: expected an instance, as load_hf makes")
  if (!is.null(on_token) && !is.function(on_token)) raise("generate: on_token: expected a function")
  rows <- if (is.list(tokens)) {
    lapply(tokens, as.integer)
  } else if (is.matrix(tokens)) {
    lapply(seq_len(nrow(tokens)), function(i) as.integer(tokens[i, ]))
  } else {
    list(as.integer(tokens))
  }
  if (is.null(seed)) seed <- floor(stats::runif(1L) * 2^31) # as set.seed says
  generator <- .Call(C_generator, .subset2(model, "pointer"), rows)
  .Call(C_generator_sampling, generator, temperature, top_k, top_p, seed)
  done <- logical(length(rows))
  last <- integer(length(rows))
  for (step in seq_len(max_new_tokens)) {
    drawn <- .Call(C_generator_next, generator, length(rows))
    last <- ifelse(done, last, drawn)
    rows <- Map(c, rows, last)
    done <- done | last %in% eos_token_id
    if (!is.null(on_token) && isTRUE(on_token(last))) break
    if (all(done)) break
  }
  if (is.list(tokens)) rows else do.call(rbind, rows)
}
