# The tensors that an object holds, by name.

get_state_dict <- function(object, prefix = "") {
  if (!is.character(prefix) || length(prefix) != 1L || is.na(prefix)) {
    raise(sprintf("get_state_dict: prefix: %s, expected a string", brief(prefix)))
  }
  found <- seen <- list()
  collect <- function(x, name) {
    if (is_tensor(x)) {
      if (name %in% names(found)) raise(sprintf("get_state_dict: object: two tensors have the name '%s'", name))
      found[[name]] <<- x
      return(invisible())
    }
    join <- function(part) if (nzchar(name)) paste(name, part, sep = ".") else part
    if (inherits(x, "Layer")) {
      for (part in names(x)) collect(`$.Layer`(x, part), join(part))
    } else if (inherits(x, "Optimizer") || inherits(x, "LRScheduler")) {
      collect(.subset2(x, "self"), name)
    } else if (is.list(x)) {
      parts <- names(x)
      if (is.null(parts)) parts <- rep("", length(x))
      # Counted from 0: the names are written to files, which other languages read.
      parts[!nzchar(parts)] <- (seq_along(x) - 1L)[!nzchar(parts)]
      x <- unclass(x)
      for (i in seq_along(x)) collect(x[[i]], join(parts[i]))
    } else if (is.environment(x)) {
      # An environment is visited once, also if it contains itself or occurs several times.
      if (any(vapply(seen, identical, NA, x))) return(invisible())
      seen[[length(seen) + 1L]] <<- x
      for (part in sort(ls(x))) if (!is.environment(x[[part]])) collect(x[[part]], join(part))
    }
  }
  collect(object, prefix)
  found
}

get_parameters <- function(object) {
  found <- Filter(may_learn, unname(get_state_dict(object)))
  unique_tensors(found)
}

#' Whether a tensor may be a parameter: a floating type, and requires_grad is not FALSE.
may_learn <- function(x) {
  !identical(.Call(C_requires_grad, x), FALSE) && tensor_methods$is_floating_point(x)
}

load_state_dict <- function(model, state_dict, strict = TRUE, verbose = TRUE) {
  need_flag("load_state_dict", "strict", strict)
  need_flag("load_state_dict", "verbose", verbose)
  own <- get_state_dict(model)
  missing <- setdiff(names(own), names(state_dict))
  if (strict && length(missing) > 0L) raise(sprintf("load_state_dict: missing (%s)", paste(missing, collapse = ", ")))
  unknown <- setdiff(names(state_dict), names(own))
  if (verbose && length(unknown) > 0L) {
    warning(sprintf("load_state_dict: the model has no %s", paste(unknown, collapse = ", ")), call. = FALSE)
  }
  shared <- intersect(names(own), names(state_dict))
  shape_of <- function(x) if (is_tensor(x)) .Call(C_shape, x) else if (is.null(dim(x))) length(x) else dim(x)
  for (name in shared) {
    given <- shape_of(state_dict[[name]])
    expected <- .Call(C_shape, own[[name]])
    if (length(expected) == 0L && identical(as.numeric(given), 1)) given <- expected # R has no scalars
    if (!identical(as.numeric(given), as.numeric(expected))) {
      raise(sprintf(
        "Shape mismatch in layer `%s`: Expected shape (%s), but found (%s) in state dict.", name,
        paste(expected, collapse = ", "), paste(given, collapse = ", ")
      ))
    }
  }
  for (name in shared) tensor_methods$assign(own[[name]], state_dict[[name]])
  invisible(model)
}
