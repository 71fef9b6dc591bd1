# Functions that make tensors: Tensor$zeros(2, 3) and so on. All are lazy.

#' The sizes of f(2, 3), f(c(2, 3)) or f(shape = c(2, 3)).
sizes <- function(..., shape = NULL) {
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
  if (!is.null(requires_grad)) .Call(C_set_tracked, tensor, requires_grad)
  tensor
}

tensor_statics$full <- function(shape, fill_value, dtype = NULL, requires_grad = NULL) {
  val <- fill_value
  if (!is.numeric(val) && !is.logical(val) || length(val) != 1L) raise("full: fill_value: expected one number")
  shape <- sizes(shape = shape)
  wide <- inherits(val, "integer64")
  if (is.null(dtype)) dtype <- switch(typeof(val), logical = "bool", integer = "int32", if (wide) "int64" else default_float())
  whole <- is.integer(val) || is.logical(val) || wide
  tensor <- if (whole && !is.na(val)) {
    .Call(C_poly_full_int_by_id, dtype, shape, val)
  } else {
    .Call(C_poly_full_by_id, dtype, shape, as.double(val))
  }
  wanting(tensor, requires_grad)
}

#' The data type of tensors created without a value.
default_float <- function() "float32"

tensor_statics$zeros <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  wanting(.Call(C_poly_full_by_id, dtype, sizes(..., shape = shape), 0), requires_grad)
}
tensor_statics$ones <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  wanting(.Call(C_poly_full_by_id, dtype, sizes(..., shape = shape), 1), requires_grad)
}
tensor_statics$empty <- tensor_statics$zeros

tensor_methods$full_like <- function(self, fill_value, dtype = NULL) {
  tensor_statics$full(.Call(C_sizes, self), fill_value, if (is.null(dtype)) .Call(C_dtype, self) else dtype)
}
tensor_methods$zeros_like <- function(self, dtype = NULL) tensor_methods$full_like(self, 0, dtype)
tensor_methods$empty_like <- tensor_methods$zeros_like
tensor_methods$const_like <- function(self, b) tensor_methods$full_like(self, b)
tensor_methods$ones_like <- function(self, dtype = NULL) tensor_methods$full_like(self, 1, dtype)

tensor_statics$arange <- function(start = 0, stop = NULL, step = 1, dtype = NULL, requires_grad = NULL) {
  if (is.null(stop)) {
    stop <- start
    start <- 0L
  }
  if (is_size(start) || is_size(stop) || is_size(step)) {
    return(wanting(.Call(C_poly_arange_size, if (is.null(dtype)) "int32" else dtype, start, stop, step), requires_grad))
  }
  for (end in list(start, stop, step)) {
    if (!is.numeric(end) || length(end) != 1L || is.na(end)) raise(sprintf("arange: %s, expected a number", brief(end)))
  }
  if (is.null(dtype)) {
    whole <- all(c(start, stop, step) == floor(c(start, stop, step)))
    dtype <- if (isTRUE(whole)) "int32" else default_float()
  }
  wanting(.Call(C_poly_arange_by_id, dtype, start, stop, step), requires_grad)
}

tensor_statics$linspace <- function(start, stop, steps, dtype = default_float(), requires_grad = NULL) {
  wanting(.Call(C_poly_linspace_by_id, dtype, start, stop, steps), requires_grad)
}

tensor_statics$eye <- function(n, m = n, dtype = default_float(), requires_grad = NULL) {
  wanting(.Call(C_poly_eye_by_id, dtype, n, m), requires_grad)
}

# Random numbers

tensor_statics$manual_seed <- function(seed = 0) invisible(.Call(C_manual_seed, seed))

# The seed of a tensor, for as many random words as its numbers of 4, 8 or fewer bytes take. An axis of
# symbolic size takes those of the largest; sizes that are refused later take none.
seed_for <- function(shape, each = 4) {
  most <- vapply(as.list(shape), function(size) {
    if (is_size(size)) as.numeric(size$max) else if (is.numeric(size)) as.numeric(size)[1L] else NA_real_
  }, 0)
  .Call(C_seed, if (anyNA(most) || any(most < 0)) 0 else min(ceiling(prod(most) * each / 4), 2^32))
}
type_bytes <- function(dtype) .Call(C_type_bytes, dtype)
# Up to a range of 2^23 one word makes an integer, beyond it two.
range_bytes <- function(low, high) {
  if (is.numeric(low) && is.numeric(high) && isTRUE(as.numeric(high) - as.numeric(low) > 2^23)) 8 else 4
}

tensor_statics$rand <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  shape <- sizes(..., shape = shape)
  wanting(.Call(C_poly_rand_seeded, dtype, shape, seed_for(shape, type_bytes(dtype))), requires_grad)
}
tensor_statics$randn <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  shape <- sizes(..., shape = shape)
  wanting(.Call(C_poly_randn_seeded, dtype, shape, seed_for(shape, 8)), requires_grad)
}
tensor_statics$randint <- function(low = 0L, high = 10L, shape = 1L, dtype = "int32") {
  shape <- sizes(shape = shape)
  .Call(C_poly_randint_seeded, dtype, shape, low, high, seed_for(shape, range_bytes(low, high)))
}
tensor_statics$uniform <- function(..., shape = NULL, low = 0, high = 1, dtype = default_float(),
                                   requires_grad = NULL) {
  shape <- sizes(..., shape = shape)
  each <- if (grepl("int|char|short|long", dtype[1L])) range_bytes(low, high) else max(4, type_bytes(dtype))
  wanting(.Call(C_poly_uniform_seeded, dtype, shape, low, high, seed_for(shape, each)), requires_grad)
}
tensor_statics$normal <- function(..., shape = NULL, mean = 0, std = 1, dtype = default_float(),
                                  requires_grad = NULL) {
  shape <- sizes(..., shape = shape)
  wanting(.Call(C_poly_normal_seeded, dtype, shape, mean, std, seed_for(shape, 8)), requires_grad)
}

# PolyInit: ways to begin weights of shape (out, in, ...)
initial <- function(scheme, shape, a, dtype, requires_grad) {
  each <- if (scheme == 3L) 8 else max(4, type_bytes(dtype))
  wanting(.Call(C_poly_init_seeded, scheme, dtype, shape, a, seed_for(shape, each)), requires_grad)
}
tensor_statics$scaled_uniform <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  initial(0L, sizes(..., shape = shape), 0, dtype, requires_grad)
}
tensor_statics$glorot_uniform <- function(..., shape = NULL, dtype = default_float(), requires_grad = NULL) {
  initial(1L, sizes(..., shape = shape), 0, dtype, requires_grad)
}
tensor_statics$kaiming_uniform <- function(..., shape = NULL, a = 0.01, dtype = default_float(),
                                           requires_grad = NULL) {
  initial(2L, sizes(..., shape = shape), a, dtype, requires_grad)
}
tensor_statics$kaiming_normal <- function(..., shape = NULL, a = 0.01, dtype = default_float(),
                                          requires_grad = NULL) {
  initial(3L, sizes(..., shape = shape), a, dtype, requires_grad)
}

tensor_statics$randperm <- function(n, dtype = "int32") {
  from_one(.Call(C_poly_randperm_seeded, dtype, n, seed_for(n)))
}
tensor_methods$multinomial <- function(self, num_samples = 1, replacement = FALSE) {
  shape <- as.list(self$shape)
  once <- isTRUE(as.logical(replacement)) || isTRUE(num_samples == 1)
  drawn <- if (once) c(shape[-length(shape)], list(num_samples)) else shape
  from_one(.Call(C_poly_multinomial, self, num_samples, replacement, seed_for(drawn)))
}

tensor_methods$rand_like <- function(self, dtype = NULL) {
  tensor_statics$rand(shape = .Call(C_sizes, self), dtype = if (is.null(dtype)) .Call(C_dtype, self) else dtype)
}
tensor_methods$randn_like <- function(self, dtype = NULL) {
  tensor_statics$randn(shape = .Call(C_sizes, self), dtype = if (is.null(dtype)) .Call(C_dtype, self) else dtype)
}

need_probability <- function(name, p) {
  if (!is.numeric(p) || length(p) != 1L || is.na(p) || p < 0 || p > 1) {
    raise(sprintf("%s: p: %s, expected 0 to 1", name, paste(format(p), collapse = ", ")))
  }
}

tensor_methods$dropout <- function(self, p = 0.5) {
  need_probability("dropout", p)
  if (!state$training || p == 0) return(self)
  .Call(C_poly_dropout, self, p, seed_for(self$shape))
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
  if (length(bytes) < 2L || !identical(bytes[1:2], as.raw(c(0x1f, 0x8b)))) {
    raise(sprintf("from_url: %s is not compressed by gzip", url))
  }
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
