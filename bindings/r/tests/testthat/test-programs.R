# Runs the programs of variables that mean the same in all languages: see tests/programs/README.md of the project.

# The value of a statement: a number, or a variable's tensor.
value_of <- function(given, variables) if (is.list(given)) variables[[given$var]] else given

index_of <- function(items, variables) {
  lapply(items, function(entry) {
    if (!is.list(entry) || is.null(entry$var)) return(item(entry, NULL))
    # A copy of the positions, which count from 1 here.
    Tensor(as.vector(variables[[entry$var]]) + 1, dtype = "int32")
  })
}

program_compare <- function(tensor, s) {
  tolerance <- if (is.null(s$tolerance)) 1e-6 else s$tolerance
  values <- as.vector(tensor)
  expected <- as.vector(as_r(numbers(s$values), as.integer(unlist(if (is.null(s$shape)) tensor$shape else s$shape))))
  if (length(values) != length(expected)) stop("another number of elements")
  if (!all(abs(values - expected) <= tolerance * pmax(1, abs(expected)))) {
    stop(sprintf("(%s), expected (%s)", paste(values, collapse = ", "), paste(expected, collapse = ", ")))
  }
}

optimizers <- list(sgd = SGD, adam = Adam, adamw = AdamW)

# Runs a statement on variables, an environment.
program_run <- function(s, v) {
  # By [[ ]]: $ takes the beginning of a name for the name.
  named <- function(names) lapply(unlist(names), function(name) v[[name]])
  if (!is.null(s[["error"]])) {
    text <- tryCatch({
      program_run(s[["do"]], v)
      NULL
    }, error = conditionMessage)
    if (is.null(text)) stop("no error, expected one about ", s[["error"]])
    if (!grepl(s[["error"]], tolower(text), fixed = TRUE)) stop(text, ", expected ", s[["error"]])
  } else if (!is.null(s[["function"]])) {
    v[[s[["function"]]]] <- TinyJit(function(...) {
      inner <- list2env(as.list(v), envir = new.env())
      given <- list(...)
      for (i in seq_along(given)) inner[[s[["params"]][[i]]]] <- given[[i]]
      for (statement in s[["do"]]) program_run(statement, inner)
      lapply(unlist(s[["returns"]]), function(name) inner[[name]])
    })
  } else if (!is.null(s[["run"]])) {
    results <- do.call(v[[s[["run"]]]], named(s[["with"]]))
    for (i in seq_along(results)) v[[s[["let"]][[i]]]] <- results[[i]]
  } else if (!is.null(s[["data"]])) {
    shape <- as.integer(unlist(s[["shape"]]))
    x <- Tensor(as_r(numbers(s[["data"]]), shape), dtype = s[["dtype"]])
    if (isTRUE(s[["grad"]])) x$requires_grad <- TRUE
    v[[s[["let"]]]] <- x
  } else if (!is.null(s[["op"]])) {
    operands <- named(s[["of"]])
    if (!is.null(s[["with"]])) operands <- c(operands, s[["with"]])
    first <- operands[[1L]]
    v[[s[["let"]]]] <- if (s[["op"]] == "getitem") {
      do.call(first$getitem, index_of(s$args$items, v))
    } else {
      do.call(do.call("$", list(first, s[["op"]])), c(operands[-1L], arguments(s, list())))
    }
  } else if (!is.null(s[["gradients"]])) {
    results <- do.call(v[[s[["gradients"]]]]$gradient, named(s[["of"]]))
    if (is_tensor(results)) results <- list(results)
    for (i in seq_along(results)) v[[s[["let"]][[i]]]] <- results[[i]]
  } else if (!is.null(s[["size"]])) {
    v[[s[["size"]]]] <- Variable(s[["size"]], s[["min"]], s[["max"]])
  } else if (!is.null(s[["first"]])) {
    size <- v[[s[["first"]]]]
    v[[s[["let"]]]] <- named(s[["of"]])[[1L]][slc(1, size$bind(s[["is"]]))]
  } else if (!is.null(s[["seed"]])) {
    Tensor$manual_seed(s[["seed"]])
  } else if (!is.null(s[["same"]])) {
    values <- lapply(named(s[["same"]]), as.vector)
    if (identical(values[[1L]], values[[2L]]) != s[["is"]]) stop("same: another answer")
  } else if (!is.null(s[["read"]])) {
    as.vector(v[[s[["read"]]]])
  } else if (!is.null(s[["assign"]])) {
    x <- v[[s[["assign"]]]]
    value <- value_of(s[["value"]], v)
    x$assign(if (is_tensor(value)) value else x$full_like(value))
  } else if (!is.null(s[["set"]])) {
    # x[i] <- value gives the name x another value, as everywhere in R; a write in place goes through a view.
    x <- v[[s[["set"]]]]
    value <- value_of(s[["value"]], v)
    items <- index_of(s[["items"]], v)
    if (any(vapply(items, is_tensor, NA))) {
      v[[s[["set"]]]] <- do.call(x$setitem, c(items, list(value = value)))
    } else {
      part <- do.call(x$getitem, items)
      part$assign(if (is_tensor(value)) value else part$full_like(value))
    }
  } else if (!is.null(s[["realize"]])) {
    for (x in named(s[["realize"]])) x$realize()
  } else if (!is.null(s[["drop"]])) {
    rm(list = s[["drop"]], envir = v)
  } else if (!is.null(s[["backward"]])) {
    if (is.null(s[["gradient"]])) v[[s[["backward"]]]]$backward() else v[[s[["backward"]]]]$backward(v[[s[["gradient"]]]])
  } else if (!is.null(s[["zero_grad"]])) {
    x <- v[[s[["zero_grad"]]]]
    x$grad <- NULL
  } else if (!is.null(s[["optimizer"]])) {
    v[[s[["optimizer"]]]] <- do.call(optimizers[[s[["kind"]]]], c(list(named(s[["params"]]), lr = s[["lr"]]), s[["args"]]))
  } else if (!is.null(s[["step"]])) {
    v[[s[["step"]]]]$step()
  } else if (!is.null(s[["expect"]])) {
    x <- v[[s[["expect"]]]]
    shape <- as.numeric(unlist(s[["shape"]]))
    if (dtype(x) != s[["dtype"]]) stop("dtype ", dtype(x), ", expected ", s[["dtype"]])
    if (!identical(as.numeric(x$shape), shape)) stop("another shape")
    program_compare(x, s)
  } else if (!is.null(s[["expect_grad"]])) {
    grad <- v[[s[["expect_grad"]]]]$grad
    if (is.null(s[["values"]]) != is.null(grad)) stop("a gradient, or none")
    if (!is.null(grad)) program_compare(grad, s)
  } else {
    stop("unknown statement")
  }
  invisible()
}

program_problem <- function(program) {
  v <- new.env()
  tryCatch({
    for (s in program$do) program_run(s, v)
    NULL
  }, error = function(e) conditionMessage(e))
}

path <- table_path()
if (!is.null(path)) path <- file.path(dirname(path), "programs.json")
programs <- if (!is.null(path) && requireNamespace("jsonlite", quietly = TRUE)) jsonlite::fromJSON(path, simplifyVector = FALSE)

for (topic in unique(vapply(programs, function(p) p$topic, ""))) {
  test_that(paste("programs:", topic), {
    for (program in programs) {
      if (program$topic != topic) next
      problem <- program_problem(program)
      if (is.null(problem)) succeed() else fail(paste0(program$name, ": ", problem))
    }
  })
}
