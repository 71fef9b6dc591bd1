# Loops, branches and named axes in functions that are transformed or compiled.

need_same_form <- function(who, what, held, like) {
  form <- function(tree) tree_walk(tree, function(leaf, path) if (inherits(leaf, "polygrad_place")) quote(Tensor) else leaf, "")
  text <- function(tree) paste(deparse(form(tree), 500L), collapse = " ")
  if (!identical(form(held), form(like))) raise(sprintf("%s: %s is %s, expected %s as %s", who, what[1L], text(held), text(like), what[2L]))
}

# Checks that the carry of a loop has the form, types and shapes of the initial one after a step.
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

along <- function(who, operation, axis_name, x) {
  who <- paste0("lax$", who)
  need_axis_name(who, axis_name)
  .Call(C_expr_along, who, x, operation, axis_name)
}

# Maps the Tensors of a tree; numbers become Tensors.
tree_mapped <- function(tree, f) {
  found <- tree_tensors("lax", tree, "x")
  tree_build(found$held, lapply(found$tensors, f))
}

# An axis of n axes, checked and counted from the front; negative ones count from the end.
checked_axis <- function(who, axis, n) {
  whole <- is.numeric(axis) && length(axis) == 1L && !is.na(axis) && axis %% 1 == 0
  if (!whole || axis == 0 || abs(axis) > n) raise(sprintf("%s: axis: %s, expected 1 to %d, or -1 to -%d from the end", who, brief(axis), n, n))
  if (axis < 0) n + 1L + as.integer(axis) else as.integer(axis)
}

# Moves the axis from of a Tensor to the position to; the other axes keep their order.
axis_moved <- function(x, from, to) {
  order <- append(seq_along(x$shape)[-from], from, to - 1L)
  if (from == to) x else do.call(x$permute, as.list(order))
}

rows_between <- function(x, from, to) x$shrink(c(list(c(from, to)), vector("list", length(x$shape) - 1L)))

# The value of the branch with number index. names are the branches' names in errors.
branch <- function(who, index, branches, names, args) {
  for (i in seq_along(branches)) need_function(who, branches[[i]], names[i])
  number <- as_scalar((if (is_tensor(index)) index$cast("int32") else Tensor(as.integer(index))) - 1L)
  first <- NULL
  t <- traced(who, function(index, args) {
    lapply(seq_along(branches), function(i) {
      out <- called(branches[[i]], args)
      made <- tree_tensors(who, out, "")
      if (is.null(first)) first <<- made
      need_same_form(who, sprintf("what %s returns", names[c(i, 1L)]), made$held, first$held)
      for (k in seq_along(made$tensors)) {
        x <- made$tensors[[k]]
        y <- first$tensors[[k]]
        if (x$dtype == y$dtype && identical(x$shape, y$shape)) next
        raise(sprintf(
          "%s: what %s returns has %s of shape (%s), expected %s of shape (%s) as %s", who, paste0(names[i], made$paths[k]), x$dtype, sizes_text(x), y$dtype,
          sizes_text(y), names[1L]
        ))
      }
      out
    })
  }, list(index = number, args = args))
  tree_build(first$held, expr_run(who, t$expr, t$tensors, "switch", length(branches)))
}

lax <- c(lax, list(
  select = function(pred, on_true, on_false) lax$select_n(list(pred, on_false, on_true)),
  psum = function(x, axis_name) tree_mapped(x, function(t) {
    for (name in as.list(axis_name)) t <- along("psum", "psum", name, t)
    t
  }),
  axis_size = function(axis_name) {
    sizes <- vapply(as.list(axis_name), function(name) as.integer(along("axis_size", "all_gather", name, Tensor(0L))$shape[1L]), 1L)
    as.integer(prod(sizes))
  },
  pmean = function(x, axis_name) {
    count <- lax$axis_size(axis_name)
    tree_mapped(lax$psum(x, axis_name), function(t) t / count)
  },
  pmax = function(x, axis_name) tree_mapped(x, function(t) along("pmax", "all_gather", axis_name, t)$max(1L)),
  pmin = function(x, axis_name) tree_mapped(x, function(t) along("pmin", "all_gather", axis_name, t)$min(1L)),
  axis_index = function(axis_name) as_scalar(along("axis_index", "axis_index", axis_name, Tensor(0L))) + 1L,
  all_gather = function(x, axis_name, axis = 1L, tiled = FALSE) {
    need_flag("lax$all_gather", "tiled", tiled)
    tree_mapped(x, function(t) {
      at <- checked_axis("lax$all_gather", axis, length(t$shape) + !tiled)
      every <- along("all_gather", "all_gather", axis_name, t)
      moved <- axis_moved(every, 1L, at)
      if (!tiled) return(moved)
      shape <- t$shape
      shape[at] <- shape[at] * every$shape[1L]
      moved$reshape(shape)
    })
  },
  ppermute = function(x, axis_name, perm) {
    count <- lax$axis_size(axis_name)
    pairs <- if (is.list(perm)) do.call(rbind, perm) else perm
    if (!is.numeric(pairs) || !is.matrix(pairs) || ncol(pairs) != 2L || !all(pairs %in% seq_len(count))) {
      raise(sprintf("lax$ppermute: perm: %s, expected a matrix or a list of pairs, from and to, of numbers from 1 to %d", brief(perm), count))
    }
    if (anyDuplicated(pairs[, 2L])) raise(sprintf("lax$ppermute: perm: two pairs to %d, expected one", pairs[anyDuplicated(pairs[, 2L]), 2L]))
    tree_mapped(x, function(t) {
      every <- along("ppermute", "all_gather", axis_name, t)
      zero <- t$zeros_like()
      moved <- lapply(seq_len(count), function(to) {
        from <- pairs[pairs[, 2L] == to, 1L]
        if (length(from)) rows_between(every, from, from)$reshape(t$shape) else zero
      })
      along("ppermute", "own", axis_name, Tensor$stack(moved))
    })
  },
  associative_scan = function(f, elems, reverse = FALSE, axis = 1L) {
    who <- "lax$associative_scan"
    need_function(who, f)
    need_flag(who, "reverse", reverse)
    given <- tree_tensors(who, elems, "elems")
    if (!length(given$tensors)) raise(sprintf("%s: elems: %s, expected Tensors", who, brief(elems)))
    at <- vapply(given$tensors, function(x) checked_axis(who, axis, length(x$shape)), 1L)
    sizes <- mapply(function(x, k) x$shape[k], given$tensors, at)
    other <- which(sizes != sizes[1L])
    if (length(other)) raise(sprintf("%s: %s has %d elements along the axis, expected %d as %s has", who, given$paths[other[1L]], sizes[other[1L]], sizes[1L], given$paths[1L]))
    # The scanned axis becomes the first one, and f sees an axis of size 1 in its place.
    xs <- Map(function(x, k) axis_moved(x, k, 1L)$unsqueeze(k + 1L), given$tensors, at)
    places <- tree_build(given$held, xs)
    t <- traced(who, function(a, b) {
      out <- tree_tensors(who, f(a, b), "what f returns")
      need_same_form(who, c("what f returns", "elems"), out$held, given$held)
      for (i in seq_along(xs)) {
        if (out$tensors[[i]]$dtype != xs[[i]]$dtype || !identical(out$tensors[[i]]$shape, xs[[i]]$shape[-1L])) {
          raise(sprintf("%s: %s is %s, and what f returns is %s of another shape or type", who, given$paths[i], xs[[i]]$dtype, out$tensors[[i]]$dtype))
        }
      }
      tree_build(out$held, out$tensors)
    }, list(a = places, b = places), axes = rep(1L, 2L * length(xs)))
    found <- expr_run(who, t$expr, t$tensors[seq_along(xs)], "associative_scan", as.integer(reverse))
    tree_build(given$held, Map(function(x, k) axis_moved(x$squeeze(k + 1L), 1L, k), found, at))
  },
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
    lax$scan(function(carry, i) list(body(i, carry), list()), init, Tensor$arange(from, to + 1, dtype = "int32"))$carry
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
    if (!is.list(branches) || !base::length(branches)) raise(sprintf("lax$switch: branches: %s, expected a list of functions", brief(branches)))
    branch("lax$switch", index, branches, sprintf("branches[[%d]]", seq_along(branches)), list(...))
  },
  cond = function(pred, true_fun, false_fun, ...) {
    chosen <- if (is_tensor(pred)) pred$cast("bool")$where(1L, 2L) else if (isTRUE(as.logical(pred))) 1L else 2L
    branch("lax$cond", chosen, list(true_fun, false_fun), c("true_fun", "false_fun"), list(...))
  }
))
