# x[i, j, ...] and x[i, j, ...] <- value, which mean what they mean for R's arrays.

`[.Tensor` <- function(x, ..., drop = TRUE) {
  expressions <- eval(substitute(alist(...)))
  need_flag("[", "drop", drop)
  n <- length(expressions)
  given <- vector("list", n)
  for (i in seq_len(n)) {
    if (!identical(expressions[[i]], quote(expr = ))) given[i] <- list(...elt(i))
  }
  shape <- .Call(C_sizes, x)
  blank <- vapply(expressions, identical, NA, quote(expr = ))
  if (n == 0L || n == 1L && blank) return(x)
  if (n == 1L && length(shape) != 1L) {
    places <- linear(given[[1L]], shape)
    # One number for each element in R's order: as if the columns stood one after the other.
    x <- flat_columns(x)
    shape <- length(x)
    given <- list(places)
  }
  if (length(given) != length(shape)) {
    raise(sprintf("[: %d indices, expected %d, one for each axis", length(given), length(shape)))
  }
  items <- vector("list", length(shape))
  for (i in seq_along(shape)) {
    if (!blank[i]) items[i] <- list(item_of(given[[i]], shape[[i]]))
  }
  select(x, items, drop)
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
  if (is.numeric(index) && any(index >= size + 1)) {
    raise(sprintf("[: subscript out of bounds: %g for an axis of %g", max(index), size))
  }
  if (is.numeric(index) && any(index < 0) && any(index > 0)) raise("[: positive and negative indices cannot be mixed")
  places <- if (is.numeric(index) && all(index > 0)) trunc(index) else seq_len(size)[index]
  n <- length(places)
  if (n == 0L) return(c(1, 0, 1))
  if (n == 1L) return(c(places, places, 1))
  step <- places[2L] - places[1L]
  if (step != 0 && all(diff(places) == step)) return(c(places[1L], places[n], step))
  from_r(as.integer(places), "int32")
}

#' Applies items, then drops axes of one element as R does.
select <- function(x, items, drop) {
  tensors <- which(vapply(items, is_tensor, NA))
  first <- items
  first[tensors] <- list(NULL)
  # The library pairs index tensors up, R combines each with all: one call for each.
  if (length(tensors) == 1L) first <- items
  x <- .Call(C_poly_index, x, first)
  if (length(tensors) > 1L) {
    for (i in rev(tensors)) {
      one <- vector("list", length(.Call(C_shape, x)))
      one[[i]] <- items[[i]]
      x <- .Call(C_poly_index, x, one)
    }
  }
  if (drop && any(vapply(.Call(C_sizes, x), identical, NA, 1L))) .Call(C_poly_squeeze_all, x) else x
}

`[<-.Tensor` <- function(x, ..., value) {
  expressions <- eval(substitute(alist(...)))
  blank <- vapply(expressions, identical, NA, quote(expr = ))
  indices <- lapply(seq_along(expressions), function(i) if (!blank[i]) ...elt(i))
  symbolic <- any(vapply(c(indices, .Call(C_sizes, x)), function(i) is_size(i) || inherits(i, "slc"), NA))
  followed <- .Call(C_tracked, x) || is_tensor(value) && .Call(C_tracked, value) || .Call(C_tracing)
  # R's numbers do not hold all whole numbers of 64 bits.
  wide <- dtype(x) %in% c("int64", "uint64")
  if (followed || symbolic || wide) with_items(x, indices, value) else with_values(x, indices, blank, value)
}

#' A new tensor with other values, as R changes an array.
with_values <- function(x, indices, blank, value) {
  if (is_tensor(value)) value <- as.vector(r_values(value))
  indices <- lapply(indices, function(index) if (is_tensor(index)) r_values(index) else plain(index))
  indices[blank] <- list(quote(expr = ))
  own <- dtype(x)
  shape <- .Call(C_shape, x)
  values <- tryCatch(
    do.call("[<-", c(list(r_values(x)), indices, list(value = plain(value)))),
    error = function(e) raise(paste0("[<-: ", conditionMessage(e)))
  )
  if (length(values) != prod(shape)) raise("[<-: subscript out of bounds")
  if (length(shape) > 1L) dim(values) <- shape
  from_r(values, own, scalar = length(shape) == 0L)
}

#' The same as a node of the graph, so that gradients and compiled steps see the change.
with_items <- function(x, indices, value) {
  shape <- .Call(C_sizes, x)
  if (length(indices) == 1L && length(shape) != 1L && !is.null(indices[[1L]])) {
    mask <- mask_of(indices[[1L]], shape)
    if (!is.null(mask) && length(value) == 1L) {
      return(.Call(C_poly_where_op, mask, .Call(C_poly_cast_by_id, .Call(C_operand, value, x), dtype(x)), x))
    }
    # One number for each element in R's order, as for `[`.
    changed <- with_items(flat_columns(x), list(linear(indices[[1L]], shape)), value)
    return(reversed(.Call(C_poly_reshape, changed, rev(shape))))
  }
  if (length(indices) == 1L && is.null(indices[[1L]])) indices <- vector("list", length(shape))
  if (length(indices) != length(shape)) {
    raise(sprintf("[<-: %d indices, expected %d, one for each axis", length(indices), length(shape)))
  }
  items <- Map(function(index, size) if (!is.null(index)) item_of(index, size), indices, shape)
  if (sum(vapply(items, is_tensor, NA)) > 1L) items <- crossed(items, shape)
  taken <- .Call(C_poly_index, x, items)
  by <- replacement(value, .Call(C_sizes, taken), x)
  if (any(vapply(Filter(is.list, items), function(item) any(vapply(item, is_size, NA)), NA))) return(.Call(C_poly_set_view, taken, x, by))
  .Call(C_poly_setitem, x, items, by)
}

#' A logical index of all elements as a Tensor; NULL for another one.
mask_of <- function(index, shape) {
  if (is_tensor(index)) {
    return(if (dtype(index) == "bool" && identical(.Call(C_sizes, index), shape)) index)
  }
  if (!is.logical(index) || anyNA(index) || is.list(shape) || length(index) != prod(shape)) return(NULL)
  base::dim(index) <- shape
  from_r(index)
}

#' Items that take each combination of positions, as R does: the library pairs them up.
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
    .Call(C_poly_reshape, places, replace(rep(1L, n), i, length(places)))
  })
}

#' A value in the shape of what it replaces. R's numbers are repeated in R's order.
replacement <- function(value, shape, x) {
  if (is.list(shape)) return(.Call(C_operand, value, x))
  n <- prod(shape)
  if (is_tensor(value)) {
    same <- function(dims) dims[dims != 1]
    fits <- identical(as.numeric(same(.Call(C_shape, value))), as.numeric(same(shape)))
    return(if (fits) .Call(C_poly_reshape, value, shape) else value)
  }
  if (length(value) == 1L) return(.Call(C_operand, value, x))
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
  x[...] <- value
  x
}

# Items as the library has them, for what R's brackets cannot say: new axes, and all axes that
# are not named.

tensor_methods$getitem <- function(self, ...) .Call(C_poly_index, self, items_of(...))
tensor_methods$setitem <- function(self, ..., value) {
  .Call(C_poly_setitem, self, items_of(...), .Call(C_operand, value, self))
}
items_of <- function(...) lapply(list(...), function(item) if (inherits(item, "slc")) unclass(item) else item)

# Selecting by tensors of positions, which are counted from 1

tensor_methods$gather <- function(self, dim, index) .Call(C_poly_gather_axis, self, dim, from_zero(index))
tensor_methods$index_select <- function(self, dim, index) .Call(C_poly_index_select, self, dim, from_zero(index))

tensor_methods$scatter <- function(self, dim, index, src, reduce = NULL) {
  if (!is.null(reduce)) need_choice("scatter", "reduce", reduce, c("add", "multiply"))
  if (is_tensor(src) || length(src) > 1L) {
    if (!is.null(reduce)) raise("scatter: reduce is for a number as src: see scatter_reduce")
    src <- .Call(C_operand, src, self)
  } else {
    shape <- if (is_tensor(index)) .Call(C_shape, index) else if (is.array(index)) base::dim(index) else length(index)
    src <- tensor_statics$full(shape, src, .Call(C_dtype, self))
  }
  if (!is.null(reduce)) {
    return(tensor_methods$scatter_reduce(self, dim, index, src, if (reduce == "add") "sum" else "prod"))
  }
  .Call(C_poly_scatter, self, dim, from_zero(index), src)
}

# PolyReduceOp by the names that scatter_reduce gives them.
scatter_ops <- c(sum = 0L, prod = 1L, mean = 4L, amax = 2L, amin = 3L)

tensor_methods$scatter_reduce <- function(self, dim, index, src, reduce, include_self = TRUE) {
  op <- number_of("scatter_reduce: reduce", reduce, scatter_ops)
  .Call(C_poly_scatter_reduce, self, dim, from_zero(index), .Call(C_operand, src, self), op, include_self)
}

tensor_methods$masked_select <- function(self, mask) {
  wide <- .Call(C_poly_expand, mask, .Call(C_sizes, self))
  .Call(C_poly_masked_select, self, mask, sum(r_values(tensor_methods$bool(wide))))
}

tensor_methods$nonzero <- function(self) {
  from_one(.Call(C_poly_nonzero, self, sum(r_values(tensor_methods$bool(self)))))
}

tensor_methods$one_hot <- function(self, num_classes = NULL) {
  if (is.null(num_classes)) {
    if (length(self) == 0) raise("one_hot: num_classes: NULL for no classes at all, expected their number")
    num_classes <- max(r_values(self))
  }
  .Call(C_poly_one_hot, from_zero(self), num_classes)
}
