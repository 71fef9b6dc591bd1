# Functions that make tensors: Tensor$zeros(2, 3) and so on. All are lazy.

#' The shape in a call f(2, 3), f(c(2, 3)) or f(shape = c(2, 3)).
sizes <- function(..., shape = NULL) {
  if (!is.null(shape) && !is.atomic(shape) && !is.list(shape) && !is_size(shape)) {
    raise(sprintf("shape: %s, expected whole numbers", class(shape)[1L]))
  }
  named <- names(list(...))
  if (any(nzchar(named))) raise(sprintf("%s: unknown argument", named[nzchar(named)][1L]))
  given <- if (is.null(shape)) list(...) else if (is_size(shape)) list(shape) else as.list(shape)
  if (length(given) == 0L) return(integer())
  given <- lapply(given, plain)
  if (any(vapply(given, function(x) is_size(x) || is.list(x), NA))) return(do.call(c.SymInt, unname(given)))
  out <- unlist(given, use.names = FALSE)
  if (is.null(out)) return(integer())
  if (!is.numeric(out)) raise(sprintf("shape: %s, expected whole numbers", class(out)[1L]))
  out
}

wanting <- function(tensor, requires_grad) {
  if (!is.null(requires_grad)) .Call(C_set_requires_grad, tensor, requires_grad)
  tensor
}

tensor_statics$full <- function(shape, fill_value, dtype = NULL, requires_grad = NULL) {
  val <- fill_value
  if (!is.numeric(val) && !is.logical(val) && !is.complex(val) || length(val) != 1L) raise("full: fill_value: expected one number")
  shape <- sizes(shape = shape)
  wide <- inherits(val, "integer64")
  if (is.null(dtype)) dtype <- switch(typeof(val), logical = "bool", integer = "int32", complex = "complex64", if (wide) "int64" else "float32")
  wanting(.External(C_op, OP_FULL, shape, val, dtype), requires_grad)
}

tensor_statics$empty <- tensor_statics$zeros
tensor_methods$empty_like <- tensor_methods$zeros_like
tensor_methods$const_like <- function(self, b) tensor_methods$full_like(self, b)

tensor_statics$arange <- function(start = 0, stop = NULL, step = 1, dtype = NULL, requires_grad = NULL) {
  if (is.null(stop)) {
    stop <- start
    start <- 0L
  }
  if (is_size(start) || is_size(stop) || is_size(step)) {
    return(wanting(.Call(C_arange_size, if (is.null(dtype)) "int32" else dtype, start, stop, step), requires_grad))
  }
  for (end in list(start, stop, step)) {
    if (!is.numeric(end) || length(end) != 1L || is.na(end)) raise(sprintf("arange: %s, expected a number", brief(end)))
  }
  if (is.null(dtype)) {
    whole <- all(c(start, stop, step) == floor(c(start, stop, step)))
    dtype <- if (isTRUE(whole)) "int32" else "float32"
  }
  wanting(.External(C_op, OP_ARANGE, start, stop, step, dtype), requires_grad)
}

tensor_statics$manual_seed <- function(seed = 0) invisible(.Call(C_manual_seed, seed))

tensor_statics$randint <- function(low = 0L, high = 10L, shape = 1L, dtype = "int32") {
  .Call(C_draw)
  .External(C_op, OP_RANDINT, sizes(shape = shape), low, high, dtype)
}

need_probability <- function(name, p) {
  if (!is.numeric(p) || length(p) != 1L || is.na(p) || p < 0 || p > 1) {
    raise(sprintf("%s: p: %s, expected 0 to 1", name, paste(format(p), collapse = ", ")))
  }
}

tensor_methods$dropout <- function(self, p = 0.5) {
  need_probability("dropout", p)
  if (p == 0 || !is_training()) return(self)
  .Call(C_draw)
  .External(C_op, OP_DROPOUT, self, p)
}

# Tensors of bytes

tensor_statics$from_blob <- function(data, shape, dtype = "float32", requires_grad = NULL) {
  if (!is.raw(data)) raise(sprintf("from_blob: data: %s, expected a raw vector", brief(data)))
  wanting(.Call(C_blob, data, sizes(shape = shape), dtype), requires_grad)
}

tensor_statics$from_url <- function(url, gunzip = FALSE, dtype = NULL, requires_grad = NULL) {
  if (!is.character(url) || length(url) != 1L || is.na(url)) raise(sprintf("from_url: url: %s, expected a string", brief(url)))
  need_flag("from_url", "gunzip", gunzip)
  bytes <- downloaded(url)
  if (gunzip) bytes <- gunzipped(bytes, url)
  tensor <- from_r(bytes)
  wanting(if (is.null(dtype)) tensor else tensor_methods$cast(tensor, dtype), requires_grad)
}

gunzipped <- function(bytes, url) {
  if (length(bytes) < 2L || !identical(bytes[1:2], as.raw(c(0x1f, 0x8b)))) raise(sprintf("from_url: %s is not compressed by gzip", url))
  from <- gzcon(rawConnection(bytes))
  on.exit(close(from))
  blocks <- list()
  repeat {
    block <- tryCatch(
      withCallingHandlers(readBin(from, "raw", 2^22), warning = function(w) stop(conditionMessage(w), call. = FALSE)),
      error = function(e) raise(sprintf("from_url: %s: %s", url, conditionMessage(e)))
    )
    if (length(block) == 0L) break
    blocks[[length(blocks) + 1L]] <- block
  }
  if (length(blocks) == 0L) raw() else do.call(c, blocks)
}
