# Functions of tensors that are compiled once and then run without being called again.

TinyJit <- function(fxn, prune = FALSE) {
  need_function("TinyJit", fxn, "fxn")
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
    n_kernels = if (!is.null(self$captured)) .Call(C_function_counts, self$captured$program)[1L],
    n_intermediates = if (!is.null(self$captured)) .Call(C_function_counts, self$captured$program)[2L],
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

# Whether functions are captured, according to the environment variable JIT.
jit_enabled <- function() {
  value <- Sys.getenv("JIT")
  if (!value %in% c("", "0", "1", "2")) raise(sprintf("JIT: got '%s', expected one of 0, 1, 2", value))
  value != "0"
}

jit_call <- function(self, ...) {
  if (.Call(C_tracing)) raise("TinyJit: a captured function is called inside another one")
  args <- list(...)
  captured <- self$captured
  out <- if (!is.null(captured)) {
    if (captured$plain && is.null(names(args)) && .Call(C_are_kinds, args, captured$kinds)) {
      jit_run(captured, args, NULL, NULL)
    } else {
      given <- jit_arguments(args)
      jit_check(captured, given)
      variables <- jit_variables(given)
      if (!identical(variables$names, captured$names)) {
        raise(sprintf(
          "TinyJit: the variables of the arguments are (%s), expected (%s) as it was captured",
          paste(variables$names, collapse = ", "), paste(captured$names, collapse = ", ")
        ))
      }
      jit_run(captured, given$tensors, variables$variables, variables$values)
    }
  } else if (self$cnt == 0L || !jit_enabled()) {
    jit_arguments(args)
    result <- self$fxn(...)
    .Call(C_realize, jit_arguments(list(result))$tensors)
    result
  } else {
    given <- jit_arguments(args)
    captured <- jit_capture(self$fxn, self$prune, given, ...)
    variables <- jit_variables(given)
    result <- jit_run(captured, given$tensors, variables$variables, variables$values)
    self$captured <- captured
    result
  }
  self$cnt <- self$cnt + 1L
  out
}

#' The arguments of a call: tensors, sizes, and the static rest with placeholders for these.
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
  if (length(unique_tensors(tensors)) < length(tensors)) raise("TinyJit: one tensor is given more than once")
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
  kinds <- vapply(given$tensors, function(x) .Call(C_kind, x), "")
  variables <- jit_variables(given)
  traced <- trace_function("TinyJit", function() fxn(...), given$tensors, if (prune) 1L else 0L)
  args <- list(...)
  c(traced, list(
    static = given$static, kinds = kinds, names = variables$names,
    plain = length(variables$names) == 0L && is.null(names(args)) && all(vapply(args, is_tensor, NA))
  ))
}

jit_check <- function(captured, given) {
  if (!identical(given$static, captured$static)) {
    raise(paste(
      "TinyJit: the arguments are not those that the function was captured with: what changes from call to call must",
      "be a Tensor or a Variable"
    ))
  }
  for (i in seq_along(given$tensors)) {
    kind <- .Call(C_kind, given$tensors[[i]])
    if (kind != captured$kinds[i]) {
      raise(sprintf("TinyJit: tensor %d of the arguments is %s, expected %s as it was captured", i, kind, captured$kinds[i]))
    }
  }
}

jit_run <- function(captured, tensors, variables, values) {
  made <- .Call(C_function_run, captured$program, tensors, variables, values)
  if (is.null(captured$form)) return(made[[1L]])
  old <- !vapply(captured$same, is.null, NA)
  made[old] <- captured$same[old]
  results <- vector("list", length(captured$at))
  results[captured$at == 0L] <- made
  results[captured$at > 0L] <- tensors[captured$at[captured$at > 0L]]
  captured$form(results)
}

#' Traces a function and compiles its graph. Returns the program; form, which builds the value from the results; at, for each result
#' the index of the argument that it is, or 0; and same, for each of the others the older tensor that it is, or NULL.
trace_function <- function(name, f, tensors, flags) {
  before <- .Call(C_trace_begin, name, tensors)
  ended <- FALSE
  on.exit(if (!ended) .Call(C_trace_abandon, tensors, before))
  value <- ending(name, f)
  results <- list()
  walk <- function(x) {
    if (is_tensor(x)) {
      results[[length(results) + 1L]] <<- x
      at <- length(results)
      return(function(found) found[[at]])
    }
    if (is.null(x)) return(function(found) NULL)
    if (!is.list(x)) raise(sprintf("%s: the function must return tensors or NULL, got %s: other values would be frozen", name, brief(x)))
    parts <- lapply(unclass(x), walk)
    kept <- attributes(x)
    function(found) {
      out <- lapply(parts, function(part) part(found))
      attributes(out) <- kept
      out
    }
  }
  form <- walk(value)
  at <- match(.Call(C_identities, results), .Call(C_identities, tensors), 0L)
  made <- results[at == 0L]
  ended <- TRUE
  program <- .Call(C_trace_end, made, tensors, before, flags)
  same <- lapply(seq_along(made), function(i) .Call(C_function_same, program, i))
  one <- is_tensor(value) && identical(at, 0L) && is.null(same[[1L]])
  # A result that existed before the trace is returned itself.
  old <- !vapply(same, is.null, NA)
  if (flags != 2L) same[old] <- made[old]
  list(program = program, form = if (!one) form, at = at, same = same)
}

# Training steps as one compiled program.

compile_step <- function(f, ...) {
  need_function("compile_step", f)
  .Call(C_realize, unname(get_state_dict(list(...))))
  traced <- trace_function("compile_step", function() f(...), list(), 2L)
  structure(list(program = traced$program, results = traced$same), class = "CompiledTrainingStep")
}

`$.CompiledTrainingStep` <- function(x, name) {
  program <- .subset2(x, "program")
  results <- .subset2(x, "results")
  switch(name,
    run = function() invisible(.Call(C_function_rerun, program)),
    loss_value = function() {
      if (length(results) == 0L || length(results[[1L]]) != 1L) raise("loss_value: the function does not return a tensor with one element")
      as.vector(r_values(results[[1L]]))
    },
    outputs = lapply(results, r_values),
    n_kernels = .Call(C_function_counts, program)[1L],
    n_intermediates = .Call(C_function_counts, program)[2L],
    raise(sprintf("step$%s: a compiled step has run(), loss_value(), outputs, n_kernels and n_intermediates", name))
  )
}

names.CompiledTrainingStep <- function(x) c("run", "loss_value", "outputs", "n_kernels", "n_intermediates")

print.CompiledTrainingStep <- function(x, ...) {
  cat("<compiled step of ", x$n_kernels, " kernels>\n", sep = "")
  invisible(x)
}
