# Graphs and kernels as text.

view_formats <- c("text", "json", "dot", "svg", "code")

view_graph <- function(..., format = "text") {
  view <- .Call(C_view_graph, viewed("view_graph", list(...)), view_format("view_graph", format))
  structure(view, class = "polygrad_view")
}

view_kernels <- function(..., runs = 0L, format = "text") {
  what <- list(...)
  number <- view_format("view_kernels", format)
  what <- if (length(what) == 1L && inherits(what[[1L]], "CompiledTrainingStep")) {
    .subset2(what[[1L]], "program")
  } else {
    viewed("view_kernels", what)
  }
  structure(.Call(C_view_kernels, what, runs, number), class = "polygrad_view")
}

print.polygrad_view <- function(x, ...) {
  cat(unclass(x))
  invisible(x)
}

view_format <- function(name, format) {
  if (!is.character(format) || length(format) != 1L || !format %in% view_formats) {
    raise(sprintf("%s: format: %s, expected one of %s", name, deparse(format)[1L], paste(view_formats, collapse = ", ")))
  }
  match(format, view_formats) - 1L
}

#' Checks tensors to be shown. They must not have names: a name would be a mistyped argument.
viewed <- function(name, tensors) {
  if (!is.null(names(tensors))) raise(sprintf("%s: there is no argument %s", name, names(tensors)[nzchar(names(tensors))][1L]))
  if (length(tensors) == 0L) raise(sprintf("%s: no tensors, expected at least one", name))
  if (!all(vapply(tensors, is_tensor, NA))) raise(sprintf("%s: expected Tensors", name))
  tensors
}
