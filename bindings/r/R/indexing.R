# x[i, j, ...] and x[i, j, ...] <- value, which mean what they mean for R's arrays.

`[.Tensor` <- function(x, ..., drop = TRUE) {
  expressions <- eval(substitute(alist(...)))
  n <- length(expressions)
  given <- vector("list", n)
  for (i in seq_len(n)) {
    if (!identical(expressions[[i]], quote(expr = ))) given[i] <- list(...elt(i))
  }
  shape <- .Call(C_shape, x)
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
    if (!blank[i]) items[i] <- list(item_of(given[[i]], shape[i]))
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
  if (is.numeric(index) && is.matrix(index) && ncol(index) == length(shape)) {
    if (anyNA(index)) raise("[: NA in an index")
    if (any(index < 1) || any(t(index) > shape)) raise("[: subscript out of bounds")
    return(as.vector((index - 1) %*% c(1, cumprod(shape)[-length(shape)])) + 1)
  }
  index
}

#' One index as NULL (all), c(first, last, step), or a Tensor of positions.
item_of <- function(index, size) {
  if (is_tensor(index)) {
    if (dtype(index) != "bool") return(index)
    index <- as.vector(r_values(index))
  }
  if (is.factor(index)) index <- as.integer(index)
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
  if (drop && any(.Call(C_shape, x) == 1)) .Call(C_poly_squeeze_all, x) else x
}

`[<-.Tensor` <- function(x, ..., value) {
  if (.Call(C_tracked, x)) {
    raise("[<-: a tensor with a gradient cannot be changed; build a new one with $where() or $scatter()")
  }
  if (is_tensor(value)) value <- as.vector(r_values(value))
  expressions <- eval(substitute(alist(...)))
  indices <- vector("list", length(expressions))
  for (i in seq_along(expressions)) {
    if (identical(expressions[[i]], quote(expr = ))) {
      indices[i] <- expressions[i]
    } else {
      index <- ...elt(i)
      indices[i] <- list(if (is_tensor(index)) r_values(index) else index)
    }
  }
  own <- dtype(x)
  values <- r_values(x, integer64 = FALSE)
  shape <- .Call(C_shape, x)
  values <- tryCatch(
    do.call("[<-", c(list(values), indices, list(value = value))),
    error = function(e) raise(paste0("[<-: ", conditionMessage(e)))
  )
  if (length(values) != prod(shape)) raise("[<-: subscript out of bounds")
  if (length(shape) > 1L) dim(values) <- shape
  from_r(values, own, scalar = length(shape) == 0L)
}

`[[<-.Tensor` <- function(x, ..., value) {
  if (length(value) != 1L) raise(sprintf("[[<-: %d values, expected one", length(value)))
  x[...] <- value
  x
}

# Items as the library has them, for what R's brackets cannot say: new axes, and all axes that
# are not named.

tensor_methods$getitem <- function(self, ...) .Call(C_poly_index, self, list(...))
