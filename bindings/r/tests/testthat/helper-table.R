# What the tables of operations and of programs share: arguments of the files as R's.

# Arguments that hold axes: counted from 0 in the file.
axis_names <- c("axis", "dim", "dim0", "dim1", "dim2", "start_dim", "end_dim", "dims", "order", "axes")

# Numbers of the file: NaN, infinities and large integers are strings.
numbers <- function(data) {
  special <- c(nan = NaN, inf = Inf, `-inf` = -Inf)
  vapply(data, function(v) {
    if (!is.character(v)) return(as.numeric(v))
    if (v %in% names(special)) special[[v]] else as.numeric(v)
  }, 0)
}

# Rows of the file become R's columns.
as_r <- function(values, shape) {
  if (length(shape) < 2L) return(values)
  aperm(array(values, rev(shape)), rev(seq_along(shape)))
}

up <- function(v) ifelse(v >= 0, v + 1, v)

pairs <- function(argument) lapply(argument, function(p) if (is.null(p)) NULL else as.numeric(unlist(p)))

shrink_pairs <- function(argument) lapply(argument, function(p) if (is.null(p)) NULL else as.numeric(unlist(p)) + c(1, 0))

item <- function(entry, inputs, size) {
  if (is.null(entry)) return("newaxis")
  if (is.character(entry)) return(entry)
  if (!is.list(entry)) return(up(entry))
  if (!is.null(entry$input)) return(inputs[[entry$input + 1L]])
  bounds <- entry$slice
  start <- bounds[[1L]]
  stop <- bounds[[2L]]
  step <- if (is.null(bounds[[3L]])) 1 else bounds[[3L]]
  first <- if (is.null(start)) NA else up(start)
  # The end is excluded in the file and included in R.
  last <- if (is.null(stop)) {
    NA
  } else if (step > 0) {
    if (stop >= 0) stop else stop - 1
  } else if (stop >= 0) {
    stop + 2
  } else {
    stop + 1
  }
  if (step > 0 && !is.null(stop) && stop == 0) last <- 0
  if (step < 0 && !is.null(stop) && stop == -1) return(c(1, 0, 1))
  c(first, last, step)
}

arguments <- function(case, inputs) {
  out <- list()
  for (name in names(case$args)) {
    value <- case$args[[name]]
    if (name == "items") next
    if (is.list(value) && !is.null(value$input)) {
      value <- inputs[[value$input + 1L]]
    } else if (name %in% c("arg", "padding") && case$op %in% c("shrink", "pad")) {
      nested <- any(vapply(value, function(v) is.list(v) || is.null(v), NA))
      value <- if (!nested) as.numeric(unlist(value)) else if (case$op == "shrink") shrink_pairs(value) else pairs(value)
    } else if (is.list(value) && is.null(names(value))) {
      value <- if (length(value) == 0L) integer() else numbers(value)
    } else if (is.character(value) && value %in% c("nan", "inf", "-inf")) {
      value <- numbers(list(value))
    }
    if (name %in% axis_names && !is.null(value)) value <- up(value)
    if (name %in% c("ignore_index", "blank") && !is.null(value)) value <- up(value)
    out[name] <- list(value)
  }
  out
}
