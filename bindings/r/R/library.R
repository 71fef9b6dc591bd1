# Where the library is, and how its errors become R's conditions.

#' The paths searched for libpolygrad.so, in order.
library_candidates <- function() {
  chosen <- Sys.getenv("POLYGRAD_LIB")
  if (nzchar(chosen)) return(chosen)
  name <- "libpolygrad.so"
  own <- system.file("lib", name, package = "polygrad")
  places <- if (nzchar(own)) own
  # Written down when the package was installed: the checkout, or what pkg-config knew.
  recorded <- system.file("library-path", package = "polygrad")
  if (nzchar(recorded)) places <- c(places, readLines(recorded, warn = FALSE))
  c(places, file.path(c("/usr/local/lib", "/usr/lib", "/usr/lib64"), name))
}

library_path <- function() {
  places <- library_candidates()
  found <- places[file.exists(places)]
  if (length(found) == 0L) {
    raise(paste0(
      "libpolygrad.so not found (looked at ", paste(places, collapse = ", "),
      "): set the environment variable POLYGRAD_LIB to its path"
    ))
  }
  normalizePath(found[1L])
}

raise <- function(message) {
  # The user's call: the outermost call of the package on the stack, also if R's own functions are in between.
  call <- NULL
  for (i in rev(seq_len(sys.nframe() - 1L))) {
    home <- environmentName(topenv(environment(sys.function(i))))
    if (home == "polygrad") {
      call <- sys.call(i)
      generic <- get0(".Generic", sys.frame(i), inherits = FALSE)
      if (!is.null(generic)) call[[1L]] <- as.name(generic)
    } else if (!home %in% c("base", "methods")) {
      break
    }
  }
  # Tensors in the call are replaced by x: printing it would compute and print their values.
  for (i in seq_along(call)) if (is_tensor(call[[i]])) call[[i]] <- quote(x)
  stop(structure(list(message = message, call = call), class = c("polygrad_error", "error", "condition")))
}

#' A value as text for an error message.
brief <- function(value) {
  if (is_tensor(value)) return("a Tensor") # a placeholder has no values
  if (!is.atomic(value) || length(value) == 0L) return(class(value)[1L])
  text <- as.character(utils::head(value, 8L))
  if (is.character(value)) text <- paste0("'", text, "'")
  paste(c(text, if (length(value) > 8L) "..."), collapse = ", ")
}

need_flag <- function(kind, name, value) {
  if (!is.logical(value) || length(value) != 1L || is.na(value)) {
    raise(sprintf("%s: %s: %s, expected TRUE or FALSE", kind, name, brief(value)))
  }
}

#' A file to write to.
need_file <- function(kind, path) {
  if (!is.character(path) || length(path) != 1L || is.na(path) || !nzchar(path)) {
    raise(sprintf("%s: path: %s, expected the path of a file", kind, brief(path)))
  }
}

#' A whole number of at least 1.
need_size <- function(kind, name, value) {
  known <- is.numeric(value) && length(value) == 1L && is.finite(value) && value == floor(value) && value >= 1
  if (!known) raise(sprintf("%s: %s: %s, expected a whole number from 1", kind, name, brief(value)))
}

#' The number of a name, which must be one of the known ones.
number_of <- function(what, name, known) {
  if (!is.character(name) || length(name) != 1L) raise(sprintf("%s: %s, expected one of %s", what, brief(name), paste(names(known), collapse = ", ")))
  at <- match(name, names(known))
  if (length(at) != 1L || is.na(at)) raise(sprintf("%s: '%s', expected one of %s", what, name, paste(names(known), collapse = ", ")))
  known[[at]]
}

#' Raises an interrupt that arrived during a call of the library.
interrupt <- function() {
  signalCondition(structure(list(message = "", call = NULL), class = c("interrupt", "condition")))
  invokeRestart("abort")
}

.onLoad <- function(libname, pkgname) {
  .Call(C_setup, parent.env(environment()))
  .Call(C_set_class, structure("Tensor", package = "polygrad"))
}

polygrad_info <- function() {
  about <- .Call(C_library_info)
  list(version = about[1L], path = library_path(), build = about[2L])
}
