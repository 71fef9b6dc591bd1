# Functions of tensors that are compiled once and then run without being called again.

TinyJit <- function(fxn, prune = FALSE) {
  if (!is.function(fxn)) raise(sprintf("TinyJit: fxn: %s, expected a function", brief(fxn)))
  need_flag("TinyJit", "prune", prune)
  self <- new.env(parent = emptyenv())
  self$fxn <- fxn
  self$prune <- prune
  jit_reset(self)
  structure(function(...) jit_call(self, ...), class = "TinyJit", self = self)
}

jit_reset <- function(self) {
  self$cnt <- 0L
  self$captured <- NULL
  invisible()
}

`$.TinyJit` <- function(x, name) {
  self <- attr(x, "self")
  switch(name,
    cnt = self$cnt,
    reset = function() jit_reset(self),
    fxn = self$fxn,
    prune = self$prune,
    n_kernels = if (!is.null(self$captured)) .Call(C_step_counts, self$captured$step)[1L],
    n_intermediates = if (!is.null(self$captured)) .Call(C_step_counts, self$captured$step)[2L],
    raise(sprintf("jit$%s: a captured function has cnt, reset(), fxn, prune, n_kernels and n_intermediates", name))
  )
}

.DollarNames.TinyJit <- function(x, pattern = "") {
  grep(pattern, c("cnt", "reset(", "fxn", "prune", "n_kernels", "n_intermediates"), value = TRUE)
}

print.TinyJit <- function(x, ...) {
  n <- x$n_kernels
  cat("<TinyJit, ", if (is.null(n)) "not captured yet" else sprintf("captured: %d %s", n, ngettext(n, "kernel", "kernels")), ">\n", sep = "")
  invisible(x)
}

# Whether functions are captured: what the environment variable JIT says.
jit_enabled <- function() {
  value <- Sys.getenv("JIT")
  if (!value %in% c("", "0", "1", "2")) raise(sprintf("JIT: got '%s', expected one of 0, 1, 2", value))
  value != "0"
}

jit_call <- function(self, ...) {
  if (.Call(C_tracing)) raise("TinyJit: a captured function is called while another one is traced")
  given <- jit_arguments(list(...))
  out <- if (!is.null(self$captured)) {
    jit_check(self$captured, given)
    jit_run(self$captured, given, .Call(C_jit_memory, given$tensors))
  } else if (self$cnt == 0L || !jit_enabled()) {
    result <- self$fxn(...)
    .Call(C_realize, jit_arguments(list(result))$tensors)
    result
  } else {
    captured <- jit_capture(self$fxn, self$prune, given, ...)
    result <- jit_run(captured, given, captured$memory)
    captured$memory <- NULL
    self$captured <- captured
    result
  }
  self$cnt <- self$cnt + 1L
  out
}

#' The arguments of a call: tensors, sizes, and all the rest with places held by those.
jit_arguments <- function(args) {
  tensors <- list()
  sizes <- list()
  walk <- function(value) {
    if (is_tensor(value)) {
      tensors[[length(tensors) + 1L]] <<- value
      quote(Tensor)
    } else if (is_size(value)) {
      sizes[[length(sizes) + 1L]] <<- value
      as.name(format(.Call(C_size_unbind, value)))
    } else if (is.list(value)) {
      held <- lapply(unclass(value), walk)
      attributes(held) <- attributes(value)
      held
    } else {
      value
    }
  }
  static <- walk(args)
  for (i in seq_along(tensors)) {
    for (other in tensors[seq_len(i - 1L)]) {
      if (.Call(C_same, other, tensors[[i]])) raise("TinyJit: one tensor is given more than once")
    }
  }
  list(tensors = tensors, sizes = sizes, static = static)
}

#' The variables in the sizes of the arguments, with their values.
jit_variables <- function(given) {
  values <- integer()
  variables <- list()
  for (size in c(given$sizes, do.call(c, lapply(given$tensors, function(x) Filter(is_size, .Call(C_sizes, x)))))) {
    found <- .Call(C_size_variables, size)
    for (i in seq_along(found)) {
      name <- names(found)[i]
      value <- found[[i]]
      if (is.na(value)) raise(sprintf("TinyJit: %s has no value: bind its variables", format(size)))
      if (!name %in% names(values)) {
        values[[name]] <- value
        variables[[name]] <- attr(found, "variables")[[i]]
      } else if (values[[name]] != value) {
        raise(sprintf("TinyJit: %s is both %d and %d", name, values[[name]], value))
      }
    }
  }
  sorted <- sort(as.character(names(values)), method = "radix")
  list(values = as.integer(values[sorted]), variables = unname(variables[sorted]), names = sorted)
}

jit_capture <- function(fxn, prune, given, ...) {
  tensors <- given$tensors
  memory <- .Call(C_jit_memory, tensors)
  kinds <- vapply(tensors, function(x) .Call(C_jit_kind, x), "")
  variables <- jit_variables(given)
  before <- .Call(C_jit_enter, tensors, memory)
  entered <- TRUE
  on.exit(if (entered) .Call(C_jit_leave, tensors, before))
  traced <- trace_function("TinyJit", function() fxn(...))
  stand_ins <- .Call(C_jit_leave, tensors, before)
  entered <- FALSE

  # Results computed by each call; the other results are arguments or captured tensors.
  results <- traced$results
  at <- vapply(results, function(x) {
    same <- which(vapply(tensors, function(y) .Call(C_same, x, y), NA))
    if (length(same) > 0L) same[1L] else 0L
  }, 0L)
  made <- at == 0L & !traced$found
  if (!any(made) && length(traced$before) == 0L) {
    raise("TinyJit: the function computes nothing: it returns and assigns no tensor")
  }
  step <- .Call(C_compile, traced$nodes[made], traced$before, traced$after, traced$seeds, if (prune) stand_ins)
  list(
    step = step, static = given$static, kinds = kinds, variables = variables, stand_ins = stand_ins, memory = memory,
    assigned = which(vapply(stand_ins, function(node) any(vapply(traced$before, identical, NA, node)), NA)) - 1L,
    form = traced$form, results = results, at = at, made = made
  )
}

jit_check <- function(captured, given) {
  if (!identical(given$static, captured$static)) {
    raise(paste(
      "TinyJit: the arguments are not those that the function was captured with: what changes from call to call must",
      "be a Tensor or a Variable"
    ))
  }
  for (i in seq_along(given$tensors)) {
    kind <- .Call(C_jit_kind, given$tensors[[i]])
    if (kind != captured$kinds[i]) {
      raise(sprintf("TinyJit: tensor %d of the arguments is %s, expected %s as it was captured", i, kind, captured$kinds[i]))
    }
  }
}

jit_run <- function(captured, given, memory) {
  for (i in captured$assigned + 1L) {
    if (.Call(C_is_view, given$tensors[[i]])) {
      raise(sprintf("TinyJit: the function assigns tensor %d of the arguments, which is a view", i))
    }
  }
  variables <- jit_variables(given)
  if (!identical(variables$names, captured$variables$names)) {
    raise(sprintf(
      "TinyJit: the variables of the arguments are (%s), expected (%s) as it was captured",
      paste(variables$names, collapse = ", "), paste(captured$variables$names, collapse = ", ")
    ))
  }
  made <- .Call(
    C_jit_run, captured$step, given$tensors, memory, captured$stand_ins, as.integer(captured$assigned),
    captured$variables$variables, variables$values
  )
  results <- captured$results
  results[captured$made] <- made
  results[captured$at > 0L] <- given$tensors[captured$at[captured$at > 0L]]
  captured$form(results)
}

#' Runs a function without computing: its results and their nodes, what it assigns, and how the
#' results make up its value.
trace_function <- function(name, f) {
  .Call(C_trace_begin, name)
  ended <- FALSE
  on.exit(if (!ended) .Call(C_trace_end, list()))
  value <- f()
  results <- list()
  walk <- function(x) {
    if (is_tensor(x)) {
      results[[length(results) + 1L]] <<- if (dtype(x) %in% without_storage && name == "compile_step") {
        .Call(C_poly_cast_by_id, x, "float32")
      } else {
        x
      }
      at <- length(results)
      return(function(found) found[[at]])
    }
    if (is.null(x)) return(function(found) NULL)
    if (!is.list(x)) {
      raise(sprintf("%s: the function must return tensors or NULL, got %s: other values would be frozen", name, brief(x)))
    }
    parts <- lapply(unclass(x), walk)
    kept <- attributes(x)
    function(found) {
      out <- lapply(parts, function(part) part(found))
      attributes(out) <- kept
      out
    }
  }
  form <- walk(value)
  traced <- .Call(C_trace_end, results)
  ended <- TRUE
  list(
    results = results, form = form, before = traced[[1L]], after = traced[[2L]], seeds = traced[[3L]],
    nodes = traced[[4L]], found = traced[[5L]]
  )
}
