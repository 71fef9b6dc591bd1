# Symbolic sizes, which are known only when a program runs: variables, and expressions of them.

# PolySizeOp
size_ops <- c(`+` = 0L, `-` = 1L, `*` = 2L, `%/%` = 3L, `%%` = 4L, minimum = 5L, maximum = 6L)

Variable <- function(name, min_val, max_val) {
  if (!is.character(name) || length(name) != 1L || !grepl("^[A-Za-z_][A-Za-z0-9_]*$", name)) {
    raise(sprintf("Variable: name: %s, expected letters, digits and _", brief(name)))
  }
  .Call(C_variable, name, min_val, max_val)
}

is_size <- function(x) .Call(C_is_size, x)

#' Checks an operand of a size: a whole number or another size.
size_operand <- function(name, x) {
  if (is_size(x) || is.numeric(x) && length(x) == 1L && !is.na(x) && x == floor(x)) return(x)
  raise(sprintf("%s: %s, expected a whole number or a Variable", name, brief(x)))
}

size_op <- function(name, a, b) .Call(C_size_op, size_ops[[name]], size_operand(name, a), size_operand(name, b))

#' Whether a size is always (TRUE) or never (FALSE) above another one by more than `least`.
above <- function(name, a, b, least) {
  distance <- size_op("-", a, b)
  bounds <- if (is_size(distance)) .Call(C_size_info, distance) else list(distance, distance)
  if (bounds[[1L]] > least) return(TRUE)
  if (bounds[[2L]] <= least) return(FALSE)
  raise(sprintf("%s: the order of %s and %s depends on values: compare their $val, or bounds", name, format(a), format(b)))
}

ops_of_sizes <- function(name, e1, e2) {
  if (is.null(e2)) {
    if (name %in% c("+", "-")) return(if (name == "-") size_op("-", 0L, e1) else e1)
    raise(sprintf("%s is not an operator of Variables", name))
  }
  switch(name,
    `==` = size_equal(e1, e2),
    `!=` = !size_equal(e1, e2),
    `<` = above(name, e2, e1, 0),
    `<=` = above(name, e2, e1, -1),
    `>` = above(name, e1, e2, 0),
    `>=` = above(name, e1, e2, -1),
    {
      if (!name %in% names(size_ops)) raise(sprintf("%s is not an operator of Variables; %%/%% divides", name))
      size_op(name, e1, e2)
    }
  )
}

#' Whether two sizes are the same expression with the same values of variables.
size_equal <- function(a, b) {
  size_operand("==", a)
  size_operand("==", b)
  distance <- size_op("-", a, b)
  !is_size(distance) && distance == 0
}

#' Whether two shapes are the same, and a shape as text.
same_sizes <- function(a, b) length(a) == length(b) && all(unlist(Map(size_equal, a, b)))
written <- function(shape) paste(vapply(shape, format, ""), collapse = ", ")

#' The product of sizes: a number, or a size if one of them is.
size_product <- function(sizes) if (is.list(sizes)) Reduce(`*`, sizes) else prod(sizes)

size_methods <- list(
  bind = function(self, val) {
    if (!inherits(self, "Variable")) raise(sprintf("bind: %s is no Variable but made of one", format(self)))
    .Call(C_bind, self, val)
  },
  unbind = function(self) list(.Call(C_size_unbind, self), size_value(self)),
  minimum = function(self, other) size_op("minimum", self, other),
  maximum = function(self, other) size_op("maximum", self, other)
)

size_value <- function(x) {
  value <- .Call(C_size_info, x)[[3L]]
  if (is.null(value)) raise(sprintf("%s has no value: bind its variables", format(x)))
  value
}

size_properties <- list(
  val = size_value,
  min = function(self) .Call(C_size_info, self)[[1L]],
  max = function(self) .Call(C_size_info, self)[[2L]],
  name = function(self) format(self),
  unbound = function(self) .Call(C_size_unbind, self),
  variables = function(self) {
    values <- .Call(C_size_variables, self)
    attr(values, "variables") <- NULL
    values
  }
)

`$.SymInt` <- function(x, name) {
  method <- size_methods[[name]]
  if (!is.null(method)) return(function(...) method(x, ...))
  property <- size_properties[[name]]
  if (is.null(property)) raise(sprintf("n$%s: a Variable has no such method; see ?Variable", name))
  property(x)
}

.DollarNames.SymInt <- function(x, pattern = "") {
  grep(pattern, c(paste0(names(size_methods), "("), names(size_properties)), value = TRUE)
}

format.SymInt <- function(x, ...) sub("^\\(([A-Za-z0-9_=]*)\\)$", "\\1", .Call(C_size_text, x))
as.character.SymInt <- function(x, ...) format.SymInt(x)
as.integer.SymInt <- function(x, ...) as.integer(size_value(x))
as.double.SymInt <- function(x, ...) as.double(size_value(x))
as.numeric.SymInt <- as.double.SymInt
print.SymInt <- function(x, ...) {
  cat("<", format.SymInt(x), ">\n", sep = "")
  invisible(x)
}
c.SymInt <- function(...) unlist(lapply(list(...), function(x) if (is_size(x)) list(x) else as.list(x)), recursive = FALSE)

slc <- function(start = NA, end = NA, step = 1) {
  parts <- list(start = start, end = end, step = step)
  for (name in names(parts)) {
    x <- parts[[name]]
    if (!(name != "step" && is.atomic(x) && length(x) == 1L && is.na(x))) size_operand(paste0("slc: ", name), x)
  }
  if (!is_size(step) && step == 0) raise("slc: step: 0, expected another number")
  structure(unname(parts), class = "slc")
}

print.slc <- function(x, ...) {
  cat("<slc ", paste(vapply(unclass(x), format, ""), collapse = ", "), ">\n", sep = "")
  invisible(x)
}
