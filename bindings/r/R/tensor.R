# The Tensor: a variable that stands for a node of the graph.

# A Tensor is an external pointer, which C makes.
methods::setClass("Tensor", representation("VIRTUAL"))

# Methods by name, called as x$name(...). A property is a method without parentheses.
tensor_methods <- new.env(parent = emptyenv())
tensor_properties <- new.env(parent = emptyenv())
tensor_statics <- new.env(parent = emptyenv())

Tensor <- structure(function(data, dtype = NULL, requires_grad = NULL) {
  tensor <- if (is_tensor(data)) {
    made <- if (is.null(dtype) || identical(dtype, dtype(data))) data else tensor_methods$cast(data, dtype)
    # A new variable: requires_grad is not inherited.
    if (is.null(requires_grad)) made else if (isTRUE(requires_grad)) .Call(C_clone, made) else .Call(C_detach, made)
  } else if (is_size(data)) {
    made <- .Call(C_size_tensor, data)
    if (is.null(dtype)) made else tensor_methods$cast(made, dtype)
  } else if (is.list(data) && length(data) > 0L && all(vapply(data, is_tensor, NA))) {
    made <- .External(C_op, OP_STACK, data, 1L)
    if (is.null(dtype)) made else tensor_methods$cast(made, dtype)
  } else {
    from_r(data, dtype)
  }
  wanting(tensor, requires_grad)
}, class = "tensor_class")

#' The data type of a tensor of R's numbers.
default_dtype <- function(data, what = "Tensor: data") {
  kind <- if (is.object(data) && !inherits(data, "integer64") && !is_tensor(data)) "object" else typeof(data)
  switch(kind,
    logical = "bool",
    integer = "int32",
    double = if (inherits(data, "integer64")) "int64" else getOption("polygrad.dtype", "float64"),
    complex = "complex128",
    raw = "uint8",
    # Numbers that have kept the class of a Tensor: C raises the error.
    if (inherits(data, "Tensor")) .Call(C_shape, data) else raise(sprintf("%s: %s, expected numbers or logicals", what, if (is.array(data)) typeof(data) else class(data)[1L]))
  )
}

#' Converts integer64 of the package bit64, whose integers are stored in the bits of doubles, to doubles; returns others unchanged.
plain <- function(x) {
  if (!inherits(x, "integer64")) return(x)
  numbers <- r_values(.Call(C_leaf, x, "float64", FALSE))
  if (is.null(dim(x))) as.vector(numbers) else numbers
}

matrix_of <- function(frame) {
  frame[] <- lapply(frame, plain)
  as.matrix(frame)
}

from_r <- function(data, dtype = NULL, scalar = FALSE, what = "Tensor: data") {
  if (is.data.frame(data)) data <- matrix_of(data)
  if (is.factor(data)) data <- as.integer(data)
  own <- default_dtype(data, what)
  .Call(C_leaf, data, if (is.null(dtype)) own else dtype, scalar)
}

#' Numbers as an operand; what is named in errors. Called from C.
operand_of <- function(data, what) {
  if (is.factor(data)) raise(sprintf("%s: factor, expected numbers or logicals", what))
  from_r(data, what = what)
}

dtypes <- c(
  "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
  "fp8e4m3", "fp8e5m2", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"
)

is_tensor <- function(x) .Call(C_is_tensor, x)

dtype <- function(x) .Call(C_dtype, x)

print.tensor_class <- function(x, ...) {
  cat("<Tensor: call it with numbers, or Tensor$zeros(2, 3); see ?Tensor>\n")
  invisible(x)
}

`$.tensor_class` <- function(x, name) {
  if (identical(name, "training")) return(is_training())
  found <- tensor_statics[[name]]
  if (is.null(found)) {
    # Tensor$cat(a, b) and a$cat(b) are the same.
    found <- tensor_methods[[name]]
    if (is.null(found)) raise(sprintf("Tensor$%s: there is no such function; see ?Tensor", name))
  }
  found
}

`$<-.tensor_class` <- function(x, name, value) {
  if (!identical(name, "training")) raise(sprintf("Tensor$%s cannot be set; Tensor$training can", name))
  need_flag("Tensor", "training", value)
  .Call(C_training, value)
  x
}

.DollarNames.tensor_class <- function(x, pattern = "") {
  grep(pattern, c("training", ls(tensor_statics)), value = TRUE)
}

is_training <- function() .Call(C_training, NULL)

`$.Tensor` <- function(x, name) {
  method <- tensor_methods[[name]]
  if (!is.null(method)) return(function(...) method(x, ...))
  property <- tensor_properties[[name]]
  if (is.null(property)) raise(sprintf("x$%s: a Tensor has no such method; see ?Tensor", name))
  property(x)
}

`$<-.Tensor` <- function(x, name, value) {
  switch(name,
    requires_grad = .Call(C_set_requires_grad, x, value),
    grad = .Call(C_set_gradient, x, value),
    raise(sprintf("x$%s cannot be set; requires_grad and grad can", name))
  )
  x
}

.DollarNames.Tensor <- function(x, pattern = "") {
  names <- c(paste0(ls(tensor_methods), "("), ls(tensor_properties))
  grep(pattern, names, value = TRUE)
}

tensor_properties$shape <- function(self) .Call(C_sizes, self)
tensor_properties$ndim <- function(self) length(.Call(C_sizes, self))
tensor_properties$dtype <- dtype
tensor_properties$device <- function(self) .Call(C_device, self)
tensor_properties$is_realized <- function(self) .Call(C_is_realized, self)
tensor_properties$grad <- function(self) .Call(C_gradient_of, self)
tensor_properties$requires_grad <- function(self) .Call(C_requires_grad, self)
tensor_properties$T <- function(self) .External(C_op, OP_T, self)

tensor_methods$numel <- function(self) size_product(.Call(C_sizes, self))
tensor_methods$size <- function(self, dim = NULL) {
  shape <- .Call(C_sizes, self)
  if (is.null(dim)) shape else shape[[axis_of(dim, length(shape))]]
}
tensor_methods$is_floating_point <- function(self) .Call(C_is_floating_point, self) && !is.complex(self)
tensor_methods$element_size <- function(self) {
  as.integer(gsub("[^0-9]", "", sub("bool", "8", sub("^fp8.*", "8", dtype(self))))) %/% 8L
}
tensor_methods$nbytes <- function(self) tensor_methods$numel(self) * tensor_methods$element_size(self)

#' An axis counted from 1, whether it was given from the front or from the end.
axis_of <- function(axis, ndim) {
  whole <- is.numeric(axis) && length(axis) == 1L && !is.na(axis) && axis == floor(axis)
  if (!whole) raise(sprintf("axis: %s, expected a whole number", brief(axis)))
  if (axis == 0 || abs(axis) > ndim) raise(sprintf("axis: %s is out of range for %d axes", format(axis), ndim))
  if (axis > 0) as.integer(axis) else as.integer(ndim + 1L + axis)
}

# Values

tensor_methods$realize <- function(self, ...) {
  .Call(C_realize, list(self, ...))
  self
}

#' The values of a tensor as R's array, or as its vector.
r_values <- function(x, integer64 = FALSE) {
  if (!isFALSE(integer64)) need_flag("as.array", "integer64", integer64)
  .Call(C_values, x, integer64)
}

as.array.Tensor <- function(x, integer64 = FALSE, ...) r_values(x, integer64)

as.matrix.Tensor <- function(x, ...) {
  values <- r_values(x)
  n <- length(dim(values))
  if (n > 2L) raise(sprintf("as.matrix: a tensor of %d axes, expected 2", n))
  if (n < 2L) dim(values) <- c(length(values), 1L)
  values
}

as.vector.Tensor <- function(x, mode = "any") as.vector(r_values(x), mode)
as.double.Tensor <- function(x, ...) as.double(r_values(x))
as.numeric.Tensor <- as.double.Tensor
as.integer.Tensor <- function(x, ...) as.integer(r_values(x))
as.logical.Tensor <- function(x, ...) as.logical(r_values(x))
as.character.Tensor <- function(x, ...) as.character(as.vector(r_values(x)))
as.data.frame.Tensor <- function(x, ...) as.data.frame(as.matrix.Tensor(x), ...)

tensor_methods$array <- function(self, integer64 = FALSE) r_values(self, integer64)
tensor_methods$data <- function(self) .Call(C_bytes, self)
tensor_methods$item <- function(self) {
  values <- r_values(self)
  if (length(values) != 1L) raise(sprintf("item: the tensor has %d elements, expected one", length(values)))
  as.vector(values)
}

dim.Tensor <- function(x) {
  shape <- .Call(C_shape, x)
  if (length(shape) == 0L) NULL else shape
}

length.Tensor <- function(x) {
  n <- prod(.Call(C_shape, x))
  if (n <= .Machine$integer.max) as.integer(n) else n
}

# Elements are reshaped in R's order, which is column-major.
`dim<-.Tensor` <- function(x, value) {
  columns <- reversed(x)
  if (is.null(value)) value <- length(x)
  if (!is.numeric(value) || anyNA(value)) raise(sprintf("dim<-: %s, expected whole numbers", brief(value)))
  if (prod(value) != length(x)) {
    raise(sprintf("dim<-: dims [product %g] do not match the length of object [%g]", prod(value), length(x)))
  }
  reversed(.External(C_op, OP_RESHAPE, columns, rev(value)))
}

#' Reverses the order of the axes.
reversed <- function(x) {
  n <- length(.Call(C_sizes, x))
  if (n < 2L) x else .External(C_op, OP_PERMUTE, x, rev(seq_len(n)))
}

t.Tensor <- function(x) {
  n <- length(.Call(C_shape, x))
  if (n > 2L) raise(sprintf("t: a tensor of %d axes, expected a matrix; x$transpose(dim0, dim1) swaps two of them", n))
  if (n == 2L) return(.External(C_op, OP_TRANSPOSE, x, 1L, 2L))
  .External(C_op, OP_RESHAPE, x, c(1L, length(x)))
}

aperm.Tensor <- function(a, perm = NULL, ...) {
  if (is.null(perm)) reversed(a) else .External(C_op, OP_PERMUTE, a, perm)
}

# Printing

headline <- function(x) {
  shape <- .Call(C_sizes, x)
  size <- if (length(shape) == 0L) "scalar" else paste(vapply(shape, format, ""), collapse = " x ")
  paste0("<Tensor ", size, " ", dtype(x), if (isTRUE(.Call(C_requires_grad, x))) ", requires_grad", ">")
}

format.Tensor <- function(x, ...) {
  values <- r_values(x)
  out <- format(as.vector(values), ...)
  if (length(dim(values)) > 1L) dim(out) <- dim(values)
  out
}

print.Tensor <- function(x, ...) {
  cat(headline(x), "\n", sep = "")
  unbound <- Filter(function(n) is_size(n) && is.null(.Call(C_size_info, n)[[3L]]), as.list(.Call(C_sizes, x)))
  if (.Call(C_tracing) || length(unbound) > 0L) return(invisible(x))
  shape <- .Call(C_shape, x)
  # The first elements of a large tensor.
  most <- if (length(shape) < 2L) 100 else c(10, 6, rep(2, length(shape) - 2L))
  large <- prod(shape) > getOption("polygrad.max_print", 1000)
  values <- r_values(if (large) .External(C_op, OP_GETITEM, x, lapply(pmin(shape, most), function(n) c(1, n, 1))) else x)
  if (length(dim(values)) < 2L) values <- as.vector(values)
  print(values, ...)
  if (large) cat("... the first ", paste(pmin(shape, most), collapse = " x "), "; as.array(x) has all\n", sep = "")
  invisible(x)
}

methods::setMethod("show", "Tensor", function(object) print.Tensor(object))

summary.Tensor <- function(object, ...) {
  structure(
    list(
      shape = .Call(C_shape, object), dtype = dtype(object), requires_grad = isTRUE(.Call(C_requires_grad, object)),
      values = summary(as.vector(r_values(object)), ...)
    ),
    class = "summary.Tensor"
  )
}

print.summary.Tensor <- function(x, ...) {
  size <- if (length(x$shape) == 0L) "scalar" else paste(x$shape, collapse = " x ")
  cat("Tensor ", size, " ", x$dtype, if (x$requires_grad) ", requires_grad", "\n", sep = "")
  print(x$values, ...)
  invisible(x)
}

all.equal.Tensor <- function(target, current, ...) {
  all.equal(r_values(target), if (is_tensor(current)) r_values(current) else current, ...)
}

str.Tensor <- function(object, ...) {
  cat(" ", headline(object), "\n", sep = "")
}

# Changing a tensor

tensor_methods$assign <- function(self, x) {
  if (!is_tensor(x)) {
    shape <- .Call(C_shape, self)
    given <- dim(x)
    fits <- identical(as.numeric(given), as.numeric(shape)) || is.null(given) && length(x) == prod(shape)
    if (!fits && length(x) != 1L) {
      have <- if (is.null(given)) paste(length(x), "numbers") else sprintf("numbers of dim (%s)", paste(given, collapse = ", "))
      raise(sprintf("assign: %s, expected the %d of the tensor's shape (%s)", have, prod(shape), paste(shape, collapse = ", ")))
    }
    if (!is.atomic(x) && !is.data.frame(x)) raise(sprintf("assign: x: %s, expected a Tensor or numbers", brief(x)))
    if (fits && is.null(given) && length(shape) > 1L) base::dim(x) <- shape
    x <- from_r(x, dtype(self), scalar = length(x) == 1L, what = "assign: x")
  } else if (!broadcasts(.Call(C_sizes, x), .Call(C_sizes, self))) {
    raise(sprintf(
      "assign: a value of shape (%s), expected the tensor's (%s), or one that broadcasts to it",
      written(.Call(C_sizes, x)), written(.Call(C_sizes, self))
    ))
  }
  invisible(.Call(C_assign, self, x))
}

#' Whether a shape broadcasts to another one.
broadcasts <- function(from, to) {
  n <- length(to) - length(from)
  n >= 0 && all(vapply(seq_along(from), function(i) {
    a <- from[[i]]
    b <- to[[i + n]]
    if (is_size(a) || is_size(b)) identical(a, 1L) || size_equal(a, b) else a == 1 || a == b
  }, NA))
}

tensor_methods$replace <- function(self, x) .Call(C_replace, self, x)
tensor_methods$detach <- function(self) .Call(C_detach, self)
tensor_methods$clone <- function(self) .Call(C_clone, self)

tensor_methods$to <- function(self, device = NULL) .Call(C_to, self, if (!is.null(device)) device_number(device), FALSE)
tensor_methods$to_ <- function(self, device = NULL) .Call(C_to, self, if (!is.null(device)) device_number(device), TRUE)
tensor_methods$sequential <- function(self, functions) {
  if (!is.list(functions) || !all(vapply(functions, is.function, NA))) {
    raise(sprintf("sequential: functions: %s, expected a list of functions", brief(functions)))
  }
  Reduce(function(x, fn) fn(x), functions, self)
}

tensor_methods$cpu <- function(self) tensor_methods$to(self, "cpu")
tensor_methods$cuda <- function(self) tensor_methods$to(self, "cuda")

# Gradients

tensor_methods$requires_grad_ <- function(self, requires_grad = TRUE) .Call(C_set_requires_grad, self, requires_grad)

tensor_methods$backward <- function(self, gradient = NULL) {
  if (!is.null(gradient)) gradient <- seed_gradient("backward", gradient, self)
  invisible(.Call(C_backward, self, gradient))
}

tensor_methods$gradient <- function(self, ..., gradient = NULL, materialize_grads = FALSE) {
  need_flag("gradient", "materialize_grads", materialize_grads)
  targets <- tensor_list(...)
  if (!all(vapply(targets, is_tensor, NA))) raise("gradient: targets: expected Tensors")
  if (!is.null(gradient)) {
    gradient <- seed_gradient("gradient", gradient, self)
  } else if (!identical(as.numeric(size_product(.Call(C_sizes, self))), 1)) {
    raise(sprintf("gradient: the tensor has shape (%s), expected one element or a gradient", written(.Call(C_sizes, self))))
  }
  .Call(C_gradient, self, targets, gradient, materialize_grads)
}

#' The incoming gradient of a tensor, in its shape.
seed_gradient <- function(name, gradient, self) {
  gradient <- .Call(C_operand, gradient, self, paste0(name, ": gradient"))
  own <- .Call(C_sizes, self)
  given <- .Call(C_sizes, gradient)
  if (same_sizes(own, given)) return(gradient)
  if (identical(as.numeric(size_product(given)), 1) && identical(as.numeric(size_product(own)), 1)) {
    return(.External(C_op, OP_RESHAPE, gradient, own))
  }
  raise(sprintf("%s: gradient: shape (%s), expected that of the tensor, (%s)", name, written(given), written(own)))
}

#' f(a, b) or f(list(a, b)) as a list.
tensor_list <- function(...) {
  given <- list(...)
  if (length(given) == 1L && is.list(given[[1L]]) && !is_tensor(given[[1L]])) given[[1L]] else given
}

no_grad <- function(expr) {
  .Call(C_no_grad, TRUE)
  on.exit(.Call(C_no_grad, FALSE))
  expr
}

training <- function(expr, mode = TRUE) {
  need_flag("training", "mode", mode)
  before <- .Call(C_training, mode)
  on.exit(.Call(C_training, before))
  expr
}
