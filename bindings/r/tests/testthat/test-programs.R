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

# The Tensors of nested lists.
program_leaves <- function(x) if (is.list(x) && !is_tensor(x)) unlist(lapply(x, program_leaves), recursive = FALSE) else list(x)

one_of <- function(results) if (length(results) == 1L) results[[1L]] else results

single <- function(f) function(...) one_of(program_leaves(f(...)))

# A function by a transformation of a function; arguments and axes count from 1 here.
program_transformed <- function(f, how, v) {
  kind <- setdiff(names(how), c("out", "name"))
  given <- how[[kind]]
  axes <- function(x) lapply(x, function(axis) if (is.null(axis)) NULL else axis + 1L)
  switch(kind,
    vmap = func$vmap(f, in_axes = axes(given), out_axes = one_of(axes(how[["out"]])), axis_name = how[["name"]]),
    jvp = function(...) func$jvp(f, list(...)[seq_len(given)], list(...)[-seq_len(given)]),
    vjp = function(...) func$vjp(f, list(...)[seq_len(given)])$pullback(one_of(list(...)[-seq_len(given)])),
    checkpoint = function(...) func$checkpoint(f, policy = given)(...),
    custom_jvp = func$custom_jvp(f, function(xs, ts) list(do.call(f, xs), do.call(v[[given]], c(xs, ts)))),
    custom_vjp = func$custom_vjp(f, function(...) {
      found <- v[[given[[1L]]]](...)
      list(found[[1L]], found[-1L])
    }, function(kept, g) list(do.call(v[[given[[2L]]]], c(kept, list(g))))),
    func[[kind]](f, argnums = unlist(given) + 1L)
  )
}

# The results of a loop or a branch of functions.
program_control <- function(s, v) {
  named <- function(names) lapply(unlist(names), function(name) v[[name]])
  fs <- lapply(named(s[["functions"]]), function(f) function(...) program_leaves(f(...)))
  carry <- named(s[["carry"]])
  over <- named(s[["over"]])
  n <- length(carry)
  f <- fs[[1L]]
  reverse <- isTRUE(s[["reverse"]])
  switch(s[["control"]],
    scan = lax$scan(function(c, x) {
      found <- do.call(f, base::c(c, x))
      list(found[seq_len(n)], found[-seq_len(n)])
    }, carry, over, reverse = reverse),
    while_loop = lax$while_loop(function(c) do.call(f, c)[[1L]], function(c) do.call(fs[[2L]], c), carry),
    # Both bounds are included.
    fori_loop = lax$fori_loop(s$between[[1L]], s$between[[2L]] - 1L, function(i, c) do.call(f, base::c(list(i), c)), carry),
    map = lax$map(function(x) do.call(f, x), over),
    associative_scan = lax$associative_scan(function(a, b) do.call(f, c(a, b)), over, reverse = reverse),
    cond = do.call(lax$cond, c(list(v[[s[["on"]]]], fs[[1L]], fs[[2L]]), named(s[["with"]]))),
    switch = do.call(lax$switch, c(list(v[[s[["on"]]]] + 1L, fs), named(s[["with"]])))
  )
}

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
    body <- function(...) {
      inner <- list2env(as.list(v), envir = new.env())
      given <- list(...)
      for (i in seq_along(given)) inner[[s[["params"]][[i]]]] <- given[[i]]
      for (statement in s[["do"]]) program_run(statement, inner)
      lapply(unlist(s[["returns"]]), function(name) inner[[name]])
    }
    transformed <- function(f, how) single(program_transformed(f, how, v))
    v[[s[["function"]]]] <- if (is.null(s[["as"]])) TinyJit(body) else Reduce(transformed, s[["as"]], single(body))
  } else if (!is.null(s[["run"]]) || !is.null(s[["control"]])) {
    found <- if (is.null(s[["run"]])) program_control(s, v) else do.call(v[[s[["run"]]]], named(s[["with"]]))
    results <- program_leaves(found)
    for (i in seq_along(s[["let"]])) v[[s[["let"]][[i]]]] <- results[[i]]
  } else if (!is.null(s[["along"]])) {
    v[[s[["let"]]]] <- lax[[s[["along"]]]](named(s[["of"]])[[1L]], s[["axis"]])
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
