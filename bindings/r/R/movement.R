# Methods that rearrange and join elements. No data moves until a value is needed.

tensor_methods$reshape <- function(self, ..., shape = NULL) .Call(C_poly_reshape, self, sizes(..., shape = shape))
tensor_methods$view <- tensor_methods$reshape
tensor_methods$expand <- function(self, ..., shape = NULL) .Call(C_poly_expand, self, sizes(..., shape = shape))
tensor_methods$permute <- function(self, ..., order = NULL) .Call(C_poly_permute, self, sizes(..., shape = order))
tensor_methods$transpose <- function(self, dim0 = 2, dim1 = 1) .Call(C_poly_transpose, self, dim0, dim1)
tensor_methods$squeeze <- function(self, dim = NULL) {
  if (is.null(dim)) .Call(C_poly_squeeze_all, self) else .Call(C_poly_squeeze, self, dim)
}
tensor_methods$unsqueeze <- function(self, dim) .Call(C_poly_unsqueeze, self, dim)
tensor_methods$flatten <- function(self, start_dim = 1, end_dim = -1) .Call(C_poly_flatten, self, start_dim, end_dim)
tensor_methods$unflatten <- function(self, dim, sizes) .Call(C_poly_unflatten, self, dim, sizes)
tensor_methods$flip <- function(self, axis) .Call(C_poly_flip, self, axis)
tensor_methods$`repeat` <- function(self, ..., repeats = NULL) .Call(C_poly_repeat, self, sizes(..., shape = repeats))

#' Pairs of numbers, one an axis, in a row; NULL stands for what is missing.
pairs_of <- function(name, arg, missing) {
  if (is.matrix(arg)) return(as.vector(t(arg)))
  if (!is.list(arg)) raise(sprintf("%s: arg: expected a list with a pair of numbers for each axis", name))
  whole <- Map(function(pair, rest) if (is.null(pair)) rest else pair, arg, missing[seq_along(arg)])
  if (!all(lengths(whole) == 2L)) raise(sprintf("%s: arg: expected a pair of numbers for each axis", name))
  flat <- unlist(whole, use.names = FALSE)
  if (is.list(flat)) return(flat)
  if (!is.numeric(flat)) raise(sprintf("%s: arg: %s, expected pairs of numbers", name, brief(flat)))
  as.numeric(flat)
}

tensor_methods$shrink <- function(self, arg) {
  missing <- lapply(.Call(C_sizes, self), function(n) c(1, n))
  flat <- pairs_of("shrink", arg, missing)
  first <- seq_along(flat) %% 2L == 1L
  flat[first] <- if (is.list(flat)) lapply(flat[first], function(n) n - 1) else flat[first] - 1
  .Call(C_poly_shrink, self, flat)
}

# PolyPadMode
pad_modes <- c(reflect = 0L, replicate = 1L, circular = 2L)

tensor_methods$shrink_to <- function(self, ..., shape = list(...)) {
  tensor_methods$shrink(self, lapply(shape, function(n) if (!is.null(n)) c(1, n)))
}
tensor_methods$pad_to <- function(self, ..., shape = list(...)) {
  old <- .Call(C_shape, self)
  if (length(shape) != length(old)) {
    raise(sprintf("pad_to: %d sizes, expected one for each of %d axes", length(shape), length(old)))
  }
  tensor_methods$pad(self, Map(function(n, o) if (!is.null(n)) c(0, n - o), as.list(shape), old))
}
tensor_methods$pad <- function(self, padding, mode = "constant", value = 0) {
  ndim <- length(.Call(C_shape, self))
  if (!is.list(padding) && !is.matrix(padding)) {
    if (!is.numeric(padding)) raise(sprintf("pad: padding: %s, expected numbers, or a list of pairs", brief(padding)))
    # Numbers in a row are pairs too, those of the last axis first.
    if (length(padding) %% 2L || length(padding) > 2L * ndim) {
      raise(sprintf("pad: %d numbers, expected two for each of up to %d axes", length(padding), ndim))
    }
    given <- rev(split(padding, rep(seq_len(length(padding) / 2L), each = 2L)))
    padding <- c(rep(list(c(0, 0)), ndim - length(given)), unname(given))
  }
  flat <- pairs_of("pad", padding, rep(list(c(0, 0)), ndim))
  if (!identical(mode, "constant")) {
    return(.Call(C_poly_pad_mode, self, flat, number_of("pad: mode", mode, pad_modes)))
  }
  if (is.numeric(value) && identical(as.numeric(value), 0)) .Call(C_poly_pad, self, flat) else .Call(C_poly_pad_value, self, flat, value)
}

tensor_methods$repeat_interleave <- function(self, repeats, dim = NULL) {
  .Call(C_poly_repeat_interleave, self, repeats, dim)
}
tensor_methods$unfold <- function(self, dim, size, step) .Call(C_poly_unfold, self, dim, size, step)
tensor_methods$roll <- function(self, shifts, dims = NULL) {
  if (!is.null(dims) && length(dims) != length(shifts)) {
    raise(sprintf("roll: %d shifts for %d axes", length(shifts), length(dims)))
  }
  .Call(C_poly_roll, self, shifts, dims, length(shifts))
}
tensor_methods$diagonal <- function(self, offset = 0, dim1 = 1, dim2 = 2) {
  .Call(C_poly_diagonal, self, offset, dim1, dim2)
}
tensor_methods$diag <- function(self) .Call(C_poly_diag, self)

tensor_methods$rearrange <- function(self, formula, ..., sizes = NULL) {
  known <- c(list(...), as.list(sizes))
  names <- if (length(known) == 0L) "" else paste(names(known), collapse = " ")
  .Call(C_poly_rearrange, formula, self, names, unlist(known))
}

# Joining

join <- function(name, tensors) {
  if (length(tensors) == 0L) raise(sprintf("%s: no tensors to join", name))
  lapply(tensors, function(x) if (is_tensor(x)) x else Tensor(x))
}

tensor_methods$cat <- function(..., dim = 1) .Call(C_poly_cat, join("cat", tensor_list(...)), dim)
tensor_methods$stack <- function(..., dim = 1) .Call(C_poly_stack, join("stack", tensor_list(...)), dim)

tensor_methods$meshgrid <- function(..., indexing = "ij") {
  need_choice("meshgrid", "indexing", indexing, c("ij", "xy"))
  tensors <- join("meshgrid", tensor_list(...))
  .Call(C_poly_meshgrid, tensors, indexing == "xy", length(tensors))
}

tensor_methods$split <- function(self, sizes, dim = 1) {
  shape <- .Call(C_shape, self)
  n <- shape[axis_of(dim, length(shape))]
  if (!is.numeric(sizes) || anyNA(sizes)) raise(sprintf("split: sizes: %s, expected whole numbers", brief(sizes)))
  if (length(sizes) == 1L && sizes < n) {
    if (sizes <= 0) raise(sprintf("split: sizes: %s, expected a positive size", format(sizes)))
    sizes <- c(rep(sizes, n %/% sizes), if (n %% sizes > 0) n %% sizes)
  } else if (length(sizes) == 1L) {
    sizes <- n
  }
  .Call(C_poly_split, self, sizes, dim, length(sizes))
}

tensor_methods$chunk <- function(self, chunks, dim = 1) {
  if (!is.numeric(chunks) || length(chunks) != 1L || !isTRUE(chunks > 0)) raise("chunk: chunks: expected a positive number")
  shape <- .Call(C_shape, self)
  size <- shape[axis_of(dim, length(shape))]
  if (size == 0) list(self) else tensor_methods$split(self, max(1, ceiling(size / chunks)), dim)
}

tensor_methods$tril <- function(self, diagonal = 0) .Call(C_poly_tril, self, diagonal)
tensor_methods$triu <- function(self, diagonal = 0) .Call(C_poly_triu, self, diagonal)
