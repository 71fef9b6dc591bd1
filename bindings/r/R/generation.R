# Text generation with language models, token by token.

Generator <- function(model, rows = 0) {
  if (!inherits(model, "Instance")) raise("Generator: model: expected an instance, as load_hf makes")
  structure(list(pointer = .Call(C_generator, .subset2(model, "pointer"), rows)), class = "Generator")
}

generator_methods <- list(
  sampling = function(pointer, temperature = 1, top_k = 0, top_p = 1, seed = 0) {
    invisible(.Call(C_generator_sampling, pointer, temperature, top_k, top_p, seed))
  },
  feed = function(pointer, tokens) invisible(.Call(C_generator_feed, pointer, rows_of("feed", tokens))),
  next_tokens = function(pointer) .Call(C_generator_next, pointer),
  reset = function(pointer) invisible(.Call(C_generator_reset, pointer))
)
generator_numbers <- c("rows", "vocab", "room")

`$.Generator` <- function(x, name) {
  pointer <- .subset2(x, "pointer")
  method <- generator_methods[[name]]
  if (!is.null(method)) return(function(...) method(pointer, ...))
  if (identical(name, "logits")) return(.Call(C_generator_logits, pointer))
  at <- match(name, generator_numbers)
  if (is.na(at)) raise(sprintf("generator$%s: a generator has %s", name, paste(names.Generator(x), collapse = ", ")))
  .Call(C_generator_info, pointer)[at]
}

names.Generator <- function(x) c(names(generator_methods), "logits", generator_numbers)

print.Generator <- function(x, ...) {
  cat("<Generator of ", x$rows, " texts, room for ", x$room, " of ", x$vocab, " tokens>\n", sep = "")
  invisible(x)
}

#' Tokens as a list of integer vectors: a vector, a matrix with a row for each text, or a list of vectors.
rows_of <- function(name, tokens) {
  rows <- if (is.list(tokens)) {
    tokens
  } else if (is.matrix(tokens)) {
    lapply(seq_len(nrow(tokens)), function(i) tokens[i, ])
  } else {
    list(tokens)
  }
  empty <- which(lengths(rows) == 0L)
  if (length(empty) > 0L) raise(sprintf("%s: tokens: row %d has none, expected at least one", name, empty[1L]))
  lapply(rows, whole_tokens, name = name)
}

whole_tokens <- function(tokens, name) {
  tokens <- plain(tokens)
  if (!is.numeric(tokens) || anyNA(tokens) || any(tokens != floor(tokens)) || any(abs(tokens) > .Machine$integer.max)) {
    raise(sprintf("%s: tokens: %s, expected whole numbers", name, brief(tokens)))
  }
  as.integer(tokens)
}

generate <- function(model, tokens, max_new_tokens, temperature = 1, top_k = 0, top_p = 1, seed = NULL,
                     eos_token_id = NULL, on_token = NULL, progress = FALSE, tokenizer = NULL) {
  for (name in c("temperature", "top_k", "max_new_tokens")) {
    value <- get(name)
    if (!is.numeric(value) || length(value) != 1L || is.na(value)) raise(sprintf("generate: %s: %s, expected a number", name, brief(value)))
  }
  if (max_new_tokens != floor(max_new_tokens)) {
    raise(sprintf("generate: max_new_tokens: %s, expected a whole number", brief(max_new_tokens)))
  }
  if (is.infinite(max_new_tokens)) raise("generate: max_new_tokens: Inf, expected a number")
  if (temperature < 0 || top_k < 0 || max_new_tokens < 0) raise("generate: temperature, top_k and max_new_tokens must not be negative")
  if (!inherits(model, "Instance")) raise("generate: model: expected an instance, as load_hf makes")
  if (!is.null(on_token) && !is.function(on_token)) raise("generate: on_token: expected a function")
  need_flag("generate", "progress", progress)
  if (is_tensor(tokens)) tokens <- r_values(tokens)
  if (is.array(tokens) && length(dim(tokens)) == 1L) tokens <- as.vector(tokens)
  texts <- if (is.character(tokens)) tokens
  if (anyNA(texts)) raise("generate: tokens: NA, expected texts")
  if (!is.null(texts)) {
    tokenizer <- tokenizer_of(tokenizer)
    tokens <- lapply(texts, tokenizer$encode)
    if (is.null(eos_token_id)) eos_token_id <- attr(model, "eos_token_id")
  }
  rows <- rows_of("generate", tokens)
  ends <- if (!is.null(eos_token_id)) whole_tokens(eos_token_id, "generate: eos_token_id")
  if (length(rows) == 0L) raise("generate: tokens: no rows, expected at least one")
  if (is.null(seed)) seed <- floor(stats::runif(1L) * 2^31) # depends on set.seed
  generator <- Generator(model, length(rows))
  generator$sampling(temperature, top_k, top_p, seed)
  generator$feed(rows)
  writer <- if (!is.null(texts)) text_writer(tokenizer, rows, ends)
  step <- function(last) if (is.null(writer)) last else writer(last)
  new <- draw(generator, max_new_tokens, ends, function(last) {
    piece <- step(last)
    !is.null(on_token) && isTRUE(on_token(piece))
  }, progress)
  if (!is.null(texts)) return(paste0(texts, writer()))
  rows <- lapply(seq_along(rows), function(i) c(rows[[i]], new[i, ]))
  if (is.list(tokens)) rows else do.call(rbind, rows)
}

#' Draws tokens until all rows have ended or `see` says so; a matrix with a column for each step.
draw <- function(generator, count, ends, see, progress) {
  n <- generator$rows
  drawn <- list()
  done <- logical(n)
  last <- integer(n)
  show <- if (progress && count > 0) progress_of(count)
  if (!is.null(show)) on.exit(show$end())
  steps <- 0L
  while (steps < count) {
    last <- ifelse(done, last, generator$next_tokens())
    steps <- steps + 1L
    drawn[[steps]] <- last
    done <- done | last %in% ends
    if (!is.null(show)) show$at(steps)
    if (see(last) || all(done)) break
  }
  matrix(as.integer(unlist(drawn)), n, steps)
}

#' A progress bar on stderr, with the speed at its end.
progress_of <- function(count) {
  bar <- utils::txtProgressBar(max = count, style = 3, file = stderr())
  begun <- proc.time()[[3L]]
  done <- 0L
  list(
    at = function(i) utils::setTxtProgressBar(bar, done <<- i),
    end = function() {
      close(bar)
      seconds <- proc.time()[[3L]] - begun
      cat(sprintf("%d tokens in %.1f s, %.1f tokens/s\n", done, seconds, done / max(seconds, 1e-3)), file = stderr())
    }
  )
}

#' encode(text) and decode(tokens) of a tokenizer: functions in a list, or those of the package tok.
tokenizer_of <- function(tokenizer) {
  if (is.null(tokenizer)) raise("generate: tokens is a text, and there is no tokenizer to read it")
  holds <- is.list(tokenizer) || is.environment(tokenizer)
  if (!holds || !is.function(tokenizer$encode) || !is.function(tokenizer$decode)) {
    raise("generate: tokenizer: expected functions encode and decode")
  }
  encode <- function(text) {
    made <- tokenizer$encode(text)
    if (is.numeric(made)) made else made$ids
  }
  decode <- function(tokens) {
    if (length(tokens) == 0L) return("")
    text <- tokenizer$decode(tokens)
    if (!is.character(text) || length(text) != 1L) raise(sprintf("generate: tokenizer: decode returned %s, expected a string", brief(text)))
    text
  }
  list(encode = encode, decode = decode)
}

#' Incremental decoding: a function of the next tokens that returns the new piece of each text; without tokens, the whole texts.
text_writer <- function(tokenizer, rows, ends) {
  n <- length(rows)
  begin <- vapply(rows, tokenizer$decode, "")
  ended <- logical(n)
  written <- character(n)
  # The text of a token depends on the tokens before it.
  added <- function(i) {
    whole <- tokenizer$decode(rows[[i]])
    if (startsWith(whole, begin[i])) substring(whole, nchar(begin[i]) + 1L) else whole
  }
  function(last = NULL) {
    if (is.null(last)) return(vapply(seq_len(n), added, ""))
    vapply(seq_len(n), function(i) {
      ended[i] <<- ended[i] || last[i] %in% ends
      if (ended[i]) return("")
      rows[[i]] <<- c(rows[[i]], last[i])
      text <- added(i)
      # Bytes of an incomplete UTF-8 character wait for the rest of it.
      if (endsWith(text, "\ufffd") || !startsWith(text, written[i])) return("")
      piece <- substring(text, nchar(written[i]) + 1L)
      written[i] <<- text
      piece
    }, "")
  }
}

Tokenizer <- function(file, name = "") {
  pointer <- .Call(C_tokenizer, file, name)
  list(
    encode = function(text, special = TRUE, allowed = "all", pair = NULL, truncation = NULL, padding = NULL) {
      need_flag("encode", "special", special)
      need_texts("encode: text", text)
      need_texts("encode: allowed", allowed)
      if (!is.null(pair)) need_texts("encode: pair", pair, length(text))
      texts <- if (is.null(pair)) text else c(rbind(text, pair))
      if (length(allowed) != 1L || !allowed %in% c("all", "none", "refuse")) allowed <- as.list(allowed)
      mode <- list(allowed = allowed, truncation = truncation, padding = padding)
      mode <- to_json(mode[lengths(mode) > 0L | names(mode) == "allowed"])
      ids <- .Call(C_tokenizer_encode, pointer, enc2utf8(texts), special + 2L * !is.null(pair), mode)
      if (length(ids) == 1L) ids[[1L]] else ids
    },
    decode = function(tokens, special = FALSE) {
      need_flag("decode", "special", special)
      .Call(C_tokenizer_decode, pointer, whole_tokens(tokens, "decode"), special)
    }
  )
}

need_texts <- function(name, x, n = length(x)) {
  if (!is.character(x) || anyNA(x) || length(x) != n) raise(sprintf("%s: %s, expected texts, as many as others", name, brief(x)))
}

# The tokenizer of a vocabulary by name, of a model on the Hub, or at a URL.
load_tokenizer <- function(name, progress = interactive()) {
  need_flag("load_tokenizer", "progress", progress)
  url <- .Call(C_tokenizer_source, name)
  Tokenizer(downloaded(url, "load_tokenizer", progress), if (grepl("[/:]", name)) "" else name)
}
