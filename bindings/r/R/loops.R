# Loops and branches of functions that are transformed or compiled.

need_same_form <- function(who, what, held, like) {
  form <- function(tree) tree_walk(tree, function(leaf, path) if (inherits(leaf, "polygrad_place")) "Tensor" else leaf, "")
  if (!identical(form(held), form(like))) raise(sprintf("%s: %s has another form than %s", who, what[1L], what[2L]))
}

# What a loop carries has the form, the types and the shapes of what it began with.
need_carried <- function(who, what, t, like) {
  inner <- tree_tensors(who, tree_build(t$out[[1L]], t$results), what[1L])
  need_same_form(who, what, inner$held, like)
  for (i in seq_along(inner$tensors)) {
    x <- t$tensors[[i]]
    y <- inner$tensors[[i]]
    if (x$dtype != y$dtype || !identical(x$shape, y$shape)) {
      raise(sprintf("%s: %s is %s of shape (%s), and %s of shape (%s) after a step", who, t$paths[i], x$dtype, sizes_text(x), y$dtype, sizes_text(y)))
    }
  }
}

lax <- c(lax, list(
  scan = function(f, init, xs = NULL, length = NULL, reverse = FALSE) {
    who <- "lax$scan"
    need_function(who, f)
    need_flag(who, "reverse", reverse)
    carry <- tree_tensors(who, init, "init")
    items <- tree_tensors(who, xs, "xs")
    sizes <- vapply(items$tensors, function(x) if (length(x$shape)) as.integer(x$shape[[1L]]) else raise("lax$scan: xs: a Tensor without axes, expected one or more"), 1L)
    steps <- unique(c(sizes, if (!is.null(length)) as.integer(length)))
    if (base::length(steps) != 1L) raise(sprintf("%s: %s", who, if (base::length(steps)) sprintf("xs and length have %s steps, expected one number", paste(steps, collapse = ", ")) else "expected xs or length"))
    n <- base::length(carry$tensors)
    t <- traced(who, function(init, xs) {
      out <- f(init, xs)
      if (!is.list(out) || base::length(out) != 2L) raise(sprintf("%s: f returns %s, expected a list of the carry and an output", who, brief(out)))
      out
    }, list(init = init, xs = xs), axes = c(rep(NA_integer_, n), rep(1L, base::length(items$tensors))))
    need_carried(who, c("the carry that f returns", "init"), t, carry$held)
    found <- expr_run(who, t$expr, t$tensors, "scan", c(n, steps, as.integer(reverse)))
    out <- tree_build(t$out, found)
    list(carry = out[[1L]], ys = out[[2L]])
  },
  map = function(f, xs) {
    need_function("lax$map", f)
    lax$scan(function(carry, x) list(carry, f(x)), list(), xs)$ys
  },
  fori_loop = function(from, to, body, init) {
    who <- "lax$fori_loop"
    need_function(who, body, "body")
    if (!is.numeric(from) || !is.numeric(to) || from %% 1 != 0 || to %% 1 != 0) raise(sprintf("%s: from %s to %s, expected whole numbers", who, brief(from), brief(to)))
    if (to < from) return(init)
    lax$scan(function(carry, i) list(body(i, carry), list()), init, Tensor(as.integer(from):as.integer(to)))$carry
  },
  while_loop = function(cond, body, init) {
    who <- "lax$while_loop"
    need_function(who, cond, "cond")
    need_function(who, body, "body")
    t <- traced(who, function(init) {
      go <- cond(init)
      if (!is_tensor(go)) raise(sprintf("%s: cond returns %s, expected a Tensor of one bool", who, brief(go)))
      list(body(init), as_scalar(go))
    }, list(init = init))
    need_carried(who, c("what body returns", "init"), t, t$held[[1L]])
    tree_build(t$held[[1L]], expr_run(who, t$expr, t$tensors, "while"))
  },
  switch = function(index, branches, ...) {
    who <- "lax$switch"
    if (!is.list(branches) || !base::length(branches)) raise(sprintf("%s: branches: %s, expected a list of functions", who, brief(branches)))
    for (b in branches) need_function(who, b, "branches")
    number <- as_scalar((if (is_tensor(index)) index$cast("int32") else Tensor(as.integer(index))) - 1L)
    first <- NULL
    t <- traced(who, function(index, args) {
      lapply(branches, function(b) {
        out <- called(b, args)
        held <- tree_tensors(who, out, "the result")$held
        if (is.null(first)) first <<- held
        need_same_form(who, c("what a branch returns", "what the first one returns"), held, first)
        out
      })
    }, list(index = number, args = list(...)))
    tree_build(first, expr_run(who, t$expr, t$tensors, "switch", base::length(branches)))
  },
  cond = function(pred, true_fun, false_fun, ...) {
    chosen <- if (is_tensor(pred)) pred$cast("bool")$where(1L, 2L) else if (isTRUE(as.logical(pred))) 1L else 2L
    lax$switch(chosen, list(true_fun, false_fun), ...)
  }
))
