# x[i, j, ...] and x[i, j, ...] <- value, with the semantics of R's arrays.

`[.Tensor` <- function(x, ..., drop = TRUE) {
  if (!isTRUE(drop)) need_flag("[", "drop", drop)
  given <- as.list(substitute(list(...)))[-1L]
  n <- length(given)
  blank <- tensors <- logical(n)
  for (i in seq_len(n)) {
    blank[i] <- identical(given[[i]], quote(expr = ))
    given[i] <- list(if (!blank[i]) ...elt(i))
  }
  if (n == 0L || n == 1L && blank) return(x)
  shape <- .Call(C_sizes, x)
  if (n == 1L && length(shape) != 1L) {
    places <- linear(given[[1L]], shape)
    # A single index counts elements in R's order, which is column-major.
    x <- flat_columns(x)
    shape <- length(x)
    given <- list(places)
  }
  if (n != length(shape)) raise(sprintf("[: %d indices, expected %d, one for each axis", n, length(shape)))
  for (i in which(!blank)) {
    item <- item_of(given[[i]], shape[[i]])
    given[[i]] <- item
    tensors[i] <- is_tensor(item)
  }
  x <- if (sum(tensors) < 2L) .External(C_op, OP_GETITEM, x, given) else each_item(x, given, which(tensors))
  if (!drop) return(x)
  shape <- .Call(C_sizes, x)
  one <- if (is.list(shape)) vapply(shape, identical, NA, 1L) else shape == 1L
  if (any(one)) .External(C_op, OP_SQUEEZE, x) else x
}

`[[.Tensor` <- function(x, ...) {
  out <- as.vector(x[...])
  if (length(out) != 1L) raise(sprintf("[[: %d elements are selected, expected one", length(out)))
  out
}

#' A single index of a matrix or array: positions, a logical array, or a matrix with a row for each element.
linear <- function(index, shape) {
  if (is_tensor(index)) {
    if (dtype(index) != "bool") return(index)
    index <- as.array.Tensor(index)
  }
  if (!is.matrix(index)) index <- plain(index)
  if (is.numeric(index) && is.matrix(index) && ncol(index) == length(shape)) {
    if (anyNA(index)) raise("[: NA in an index")
    if (any(index < 1) || any(t(index) > shape)) raise("[: subscript out of bounds")
    return(as.vector((index - 1) %*% c(1, cumprod(shape)[-length(shape)])) + 1)
  }
  index
}

#' One index as NULL (all), c(first, last, step), a Variable, or a Tensor of positions.
item_of <- function(index, size) {
  slice <- .Call(C_slice, index, size)
  if (!is.null(slice)) return(slice)
  if (is_size(index)) return(list(index, index, 1))
  if (inherits(index, "slc")) return(unclass(index))
  if (is_size(size)) {
    whole <- is.numeric(index) && length(index) == 1L && !is.na(index) && index >= 1
    if (!whole) raise("[: an axis of symbolic size takes a position, a Variable, slc() or nothing")
    return(c(index, index, 1))
  }
  if (is_tensor(index)) {
    if (dtype(index) != "bool") return(index)
    index <- as.vector(r_values(index))
  }
  if (is.factor(index)) index <- as.integer(index)
  index <- plain(index)
  if (is.character(index)) raise("[: a tensor has no names to index by")
  if (!is.numeric(index) && !is.logical(index)) raise(sprintf("[: %s is not an index", class(index)[1L]))
  if (anyNA(index)) raise("[: NA in an index")
  if (is.logical(index) && length(index) > size) raise(sprintf("[: %d logicals for an axis of %d", length(index), size))
  if (is.numeric(index) && any(index >= size + 1)) raise(sprintf("[: subscript out of bounds: %g for an axis of %g", max(index), size))
  if (is.numeric(index) && any(index < 0) && any(index > 0)) raise("[: positive and negative indices cannot be mixed")
  places <- if (is.numeric(index) && all(index > 0)) trunc(index) else seq_len(size)[index]
  if (length(places) == 0L) return(c(1, 0, 1))
  slice <- .Call(C_slice, places, size)
  if (is.null(slice)) from_r(as.integer(places), "int32") else slice
}

#' Selects the outer product of several tensors of positions, as R does, one axis after the other: the library would pair them up.
each_item <- function(x, items, tensors) {
  x <- .External(C_op, OP_GETITEM, x, replace(items, tensors, list(NULL)))
  for (i in rev(tensors)) {
    one <- vector("list", length(items))
    one[[i]] <- items[[i]]
    x <- .External(C_op, OP_GETITEM, x, one)
  }
  x
}

`[<-.Tensor` <- function(x, ..., value) {
  expressions <- eval(substitute(alist(...)))
  blank <- vapply(expressions, identical, NA, quote(expr = ))
  changed(x, with_items(x, lapply(seq_along(expressions), function(i) if (!blank[i]) ...elt(i)), value))
}

#' A changed copy of a parameter is a parameter.
changed <- function(x, copy) if (isTRUE(x$requires_grad)) wanting(.Call(C_clone, copy), TRUE) else copy

#' A copy of x with elements replaced, with R's rules for arrays.
with_items <- function(x, indices, value) {
  x <- as_wide(x, value)
  shape <- .Call(C_sizes, x)
  if (length(indices) == 1L && length(shape) != 1L && !is.null(indices[[1L]])) {
    mask <- mask_of(indices[[1L]], shape)
    if (!is.null(mask) && length(value) == 1L) {
      return(.External(C_op, OP_WHERE, mask, .External(C_op, OP_CAST, .Call(C_operand, value, x, "[<-: value"), dtype(x)), x))
    }
    # A single index counts elements in column-major order, as for `[`.
    columns <- with_items(flat_columns(x), list(linear(indices[[1L]], shape)), value)
    return(reversed(.External(C_op, OP_RESHAPE, columns, rev(shape))))
  }
  if (length(indices) == 1L && is.null(indices[[1L]])) indices <- vector("list", length(shape))
  if (length(indices) != length(shape)) raise(sprintf("[<-: %d indices, expected %d, one for each axis", length(indices), length(shape)))
  items <- Map(function(index, size) if (!is.null(index)) item_of(index, size), indices, shape)
  if (sum(vapply(items, is_tensor, NA)) > 1L) items <- crossed(items, shape)
  by <- replacement(value, .Call(C_sizes, .External(C_op, OP_GETITEM, x, items)), x)
  .Call(C_set_item, .Call(C_clone, x), items, by)
}

#' Casts x to the type of a value if that is of a higher kind, as R does; kinds are bool, integer, floating and complex.
as_wide <- function(x, value) {
  kind <- function(type) if (type == "bool") 0L else if (grepl("complex", type)) 3L else if (grepl("float|fp8", type)) 2L else 1L
  type <- if (is_tensor(value)) {
    dtype(value)
  } else if (is.logical(value)) {
    "bool"
  } else if (is.complex(value)) {
    "complex128"
  } else {
    if (!is.numeric(value)) raise(sprintf("[<-: value: %s, expected a Tensor or numbers", brief(value)))
    value <- plain(value)
    if (all(value == floor(value), na.rm = TRUE) && !anyNA(value)) "int32" else default_dtype(1)
  }
  if (kind(type) > kind(dtype(x))) .External(C_op, OP_CAST, x, type) else x
}

#' A logical index that covers all elements as a Tensor; NULL for any other index.
mask_of <- function(index, shape) {
  if (is_tensor(index)) return(if (dtype(index) == "bool" && identical(.Call(C_sizes, index), shape)) index)
  if (!is.logical(index) || anyNA(index) || is.list(shape) || length(index) != prod(shape)) return(NULL)
  base::dim(index) <- shape
  from_r(index)
}

#' Reshapes items so that they broadcast to all combinations of positions, as in R: the library would pair them up.
crossed <- function(items, shape) {
  n <- length(shape)
  lapply(seq_len(n), function(i) {
    item <- items[[i]]
    places <- if (is.null(item)) {
      from_r(seq_len(shape[[i]]), "int32")
    } else if (is_tensor(item)) {
      item
    } else if (any(vapply(item, is_size, NA))) {
      raise("[<-: a Variable beside several axes that are indexed irregularly; change one after the other")
    } else {
      from_r(if (item[3L] == 1 && item[2L] < item[1L]) integer() else as.integer(seq(item[1L], item[2L], item[3L])), "int32")
    }
    if (length(.Call(C_shape, places)) != 1L) raise("[<-: several Tensors of positions must be vectors")
    .External(C_op, OP_RESHAPE, places, replace(rep(1L, n), i, length(places)))
  })
}

#' A value in the shape of the elements that it replaces. Vectors of R are recycled, in column-major order.
replacement <- function(value, shape, x) {
  if (is.list(shape)) return(.Call(C_operand, value, x, "[<-: value"))
  n <- prod(shape)
  if (is_tensor(value)) {
    same <- function(dims) dims[dims != 1]
    fits <- identical(as.numeric(same(.Call(C_shape, value))), as.numeric(same(shape)))
    value <- if (fits) .External(C_op, OP_RESHAPE, value, shape) else value
    return(.External(C_op, OP_CAST, value, dtype(x)))
  }
  if (length(value) == 1L) return(from_r(value, dtype(x), scalar = TRUE))
  if (n > 0 && (length(value) == 0L || n %% length(value) != 0)) {
    raise(sprintf("[<-: %d values, expected 1, or a number that %g is a multiple of", length(value), n))
  }
  filled <- rep_len(value, n)
  if (inherits(value, "integer64")) class(filled) <- "integer64"
  if (length(shape) > 0L) base::dim(filled) <- shape
  from_r(filled, dtype(x), scalar = length(shape) == 0L)
}

`[[<-.Tensor` <- function(x, ..., value) {
  if (length(value) != 1L) raise(sprintf("[[<-: %d values, expected one", length(value)))
  `[<-`(x, ..., value = value)
}

# Index expressions of the library, for what R's brackets cannot express: new axes, and an ellipsis.
tensor_methods$getitem <- function(self, ...) .External(C_op, OP_GETITEM, self, items_of(...))
tensor_methods$setitem <- function(self, ..., value) {
  changed(self, .Call(C_set_item, .Call(C_clone, self), items_of(...), value))
}
items_of <- function(...) lapply(list(...), function(item) if (inherits(item, "slc")) unclass(item) else item)
