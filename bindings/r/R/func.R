# Transformations of functions: gradients, tangents, Jacobians and batches, in any order and depth. The library transforms the graphs; this
# file converts trees of arguments and results to lists of Tensors and back.

# Maps the leaves of a tree: nested lists are trees, everything else is a leaf. f gets each leaf and its path.
tree_walk <- function(tree, f, path) {
  if (is_tensor(tree) || !is.list(tree)) return(f(tree, path))
  keys <- names(tree)
  out <- lapply(seq_along(tree), function(i) {
    named <- !is.null(keys) && nzchar(keys[i])
    tree_walk(tree[[i]], f, if (named) paste0(path, "$", keys[i]) else sprintf("%s[[%d]]", path, i))
  })
  attributes(out) <- attributes(tree)
  out
}

# A placeholder for the n-th Tensor of a tree.
place <- function(n) structure(n, class = "polygrad_place")

# The Tensors of a tree, their paths, and the tree with placeholders (held). Numbers become Tensors, single ones only if alone is TRUE.
tree_tensors <- function(who, tree, path, alone = TRUE) {
  tensors <- list()
  paths <- character()
  held <- tree_walk(tree, function(leaf, path) {
    numbers <- is.numeric(leaf) || is.logical(leaf) || is.complex(leaf)
    if (!is_tensor(leaf) && !(numbers && (alone || length(leaf) != 1L))) return(leaf)
    tensors[[length(tensors) + 1L]] <<- if (is_tensor(leaf)) leaf else Tensor(leaf)
    paths[length(tensors)] <<- path
    place(length(tensors))
  }, path)
  list(tensors = tensors, paths = paths, held = held)
}

# Replaces the placeholders in a tree by Tensors.
tree_build <- function(held, tensors) {
  tree_walk(held, function(leaf, path) if (inherits(leaf, "polygrad_place")) tensors[[leaf]] else leaf, "")
}

# Expands a value to one for each Tensor of a tree: a single value for all, or a prefix tree. NULL becomes NA.
tree_spread <- function(who, what, value, held, n) {
  if (!is.list(value)) {
    if (is.null(value)) value <- NA
    if (length(value) != 1L || !(is.na(value) || is.numeric(value))) raise(sprintf("%s: %s: %s, expected a number, NULL or a list", who, what, brief(value)))
    return(rep(as.integer(value), n))
  }
  out <- rep(NA_integer_, n)
  visit <- function(value, held, path) {
    if (inherits(held, "polygrad_place") || (is.list(held) && !is.list(value))) {
      inside <- unlist(tree_walk(held, function(leaf, path) if (inherits(leaf, "polygrad_place")) unclass(leaf), ""))
      out[inside] <<- tree_spread(who, path, if (is.list(value)) raise(sprintf("%s: %s: a list, expected a number or NULL", who, path)) else value, held, length(inside))
    } else if (is.list(held)) {
      if (length(value) != length(held)) raise(sprintf("%s: %s has %d elements, expected %d", who, path, length(value), length(held)))
      for (i in seq_along(held)) visit(value[[i]], held[[i]], sprintf("%s[[%d]]", path, i))
    }
  }
  visit(value, held, what)
  out
}

# Reshapes a Tensor of one element to a scalar without axes: Tensor(1) has an axis. Other Tensors are returned unchanged.
as_scalar <- function(x) if (length(x$shape) > 0L && identical(as.integer(prod(unlist(x$shape))), 1L)) x$reshape(integer()) else x

sizes_text <- function(x) paste(x$shape, collapse = ", ")

need_function <- function(who, f, name = "f") {
  if (!is.function(f)) raise(sprintf("%s: %s: %s, expected a function", who, name, brief(f)))
}

# Calls a function with a list of arguments. The call refers to the arguments instead of holding their values, because errors print it.
called <- function(f, args) {
  parts <- lapply(seq_along(args), function(i) call("[[", quote(args), i))
  names(parts) <- names(args)
  eval(as.call(c(quote(f), parts)))
}

# Traces a function of the Tensors in args, a list. Single numbers become Tensors only in the arguments by. axes are the batch axes of the
# Tensors, or NA; they may have a name, and then a size, NA to take it from the Tensors.
traced <- function(who, f, args, by = seq_along(args), axes = NULL, axis_name = NULL, axis_size = NA_integer_) {
  found <- lapply(seq_along(args), function(k) {
    name <- if (!is.null(names(args)) && nzchar(names(args)[k])) names(args)[k] else sprintf("argument %d", k)
    tree_tensors(who, args[[k]], name, k %in% by)
  })
  tensors <- do.call(c, lapply(found, `[[`, "tensors"))
  paths <- do.call(c, lapply(found, `[[`, "paths"))
  counts <- vapply(found, function(x) length(x$tensors), 1L)
  of <- split(seq_along(tensors), factor(rep(seq_along(found), counts), seq_along(found)))
  for (i in which(!is.na(axes))) {
    if (axes[i] < 1L || axes[i] > length(tensors[[i]]$shape)) raise(sprintf("%s: %s has shape (%s), which has no axis %d", who, paths[i], sizes_text(tensors[[i]]), axes[i]))
  }
  given <- .Call(C_expr_begin, who, as.list(tensors), axes, axis_name, axis_size)
  out <- NULL
  made <- expressed(who, function() {
    now <- lapply(seq_along(found), function(k) tree_build(found[[k]]$held, given[of[[k]]]))
    names(now) <- names(args)
    out <<- tree_tensors(who, called(f, now), "the result")
    tree_walk(out$held, function(leaf, path) {
      if (!inherits(leaf, "polygrad_place") && !is.null(leaf)) raise(sprintf("%s: %s is %s, expected Tensors", who, path, brief(leaf)))
    }, "the result")
    out$tensors
  })
  list(who = who, tensors = as.list(tensors), paths = paths, held = lapply(found, `[[`, "held"), of = of, expr = made$expr, rules = made$rules, out = out$held,
    names = names(args), results = out$tensors)
}

# rules: the batching rules that the function being traced has used, by number; NULL outside of a trace.
batching <- new.env(parent = emptyenv())
batching$rules <- NULL
batching$count <- 0L
batching$depth <- 0L # the nesting depth of traces

# Calls the function being traced; endless recursion becomes an error. Only the outermost trace catches it: tryCatch itself takes stack.
ending <- function(who, f) {
  if (batching$depth > 1L) return(f())
  tryCatch(f(), stackOverflowError = function(e) {
    raise(sprintf("%s: the function calls itself without an end: what depends on a Tensor ends nothing while it is traced; use lax$while_loop, lax$fori_loop or lax$scan", who))
  })
}

# Completes a trace that has begun: call() calls the function on the placeholders and returns the results.
expressed <- function(who, call) {
  batching$depth <- batching$depth + 1L
  on.exit(batching$depth <- batching$depth - 1L)
  if (batching$depth > 32L) {
    .Call(C_expr_abandon)
    raise(sprintf("%s: 32 functions are traced in one another: the function transforms itself without an end, or calls itself in a branch, which is traced whether it is taken or not; lax$while_loop and lax$scan are loops", who))
  }
  rules <- new.env(parent = emptyenv())
  outer <- batching$rules
  batching$rules <- rules
  done <- FALSE
  on.exit({
    batching$rules <- outer
    if (!is.null(outer)) for (key in ls(rules)) assign(key, rules[[key]], outer)
    if (!done) .Call(C_expr_abandon)
  }, add = TRUE)
  results <- ending(who, call)
  done <- TRUE
  list(expr = .Call(C_expr_end, who, results), rules = rules)
}

# Transforms a traced function with make(), and repeats that with more batching rules until none is missing.
transformed <- function(t, make) {
  out <- make()
  while (add_rule(t)) {
    while (add_rule(t)) NULL
    out <- make()
  }
  out
}

# Traces and adds the next missing batching rule; FALSE if none is missing.
add_rule <- function(t) {
  rules <- mget(ls(t$rules), t$rules)
  if (length(rules) == 0L) return(FALSE)
  who <- "func$custom_vmap"
  begun <- expr_run(who, t$expr, list(), "missing_rule", max(vapply(rules, `[[`, 1L, "room")))
  if (is.null(begun)) return(FALSE)
  batched <- NULL
  made <- expressed(who, function() {
    found <- rules[[as.character(begun[[1L]][1L])]]$compute(begun[[1L]][2L], begun[[2L]], begun[[3L]])
    batched <<- found$batched
    found$results
  })
  for (key in ls(made$rules)) assign(key, made$rules[[key]], t$rules)
  expr_run(who, t$expr, list(), "add_rule", list(made$expr, batched))
  TRUE
}

expr_run <- function(who, expr, tensors, way = "apply", with = NULL) .Call(C_expr_run, who, expr, tensors, way, with)

expr_derive <- function(t, derivative, by) transformed(t, function() .Call(C_expr_derive, t$who, t$expr, derivative, as.integer(by)))

# The indices of the Tensors of an argument, which must have floating types.
floats_of <- function(t, k) {
  for (i in t$of[[k]]) {
    type <- t$tensors[[i]]$dtype
    if (!is_float_type(type)) raise(sprintf("%s: %s is %s, expected a floating type to differentiate by", t$who, t$paths[i], type))
  }
  t$of[[k]]
}

is_float_type <- function(type) grepl("float|fp8|complex", type)

float_results <- function(t) Filter(function(i) is_float_type(t$results[[i]]$dtype), seq_along(t$results))

all_floats <- function(t) Filter(function(i) is_float_type(t$tensors[[i]]$dtype), seq_along(t$tensors))

# The positions of arguments that are given by position or name.
argument_numbers <- function(who, argnums, args) {
  numbers <- if (is.character(argnums)) match(argnums, names(args)) else argnums
  if (length(numbers) == 0L || !is.numeric(numbers) || anyNA(numbers) || any(numbers < 1L | numbers > length(args))) {
    raise(sprintf("%s: argnums: %s, expected numbers from 1 to %d, or names of arguments", who, brief(argnums), length(args)))
  }
  as.integer(numbers)
}

# Builds the trees of some arguments from a flat list of their Tensors; for a single argument the tree itself.
by_argument <- function(t, numbers, tensors) {
  trees <- lapply(numbers, function(k) {
    n <- length(t$of[[k]])
    own <- tensors[seq_len(n)]
    tensors <<- tensors[-seq_len(n)]
    tree_build(t$held[[k]], own)
  })
  names(trees) <- t$names[numbers]
  if (length(numbers) == 1L) trees[[1L]] else trees
}

# Builds the list of all arguments with other values in place of their Tensors.
argument_trees <- function(t, values) {
  out <- lapply(seq_along(t$held), function(k) tree_build(t$held[[k]], values[t$of[[k]]]))
  names(out) <- t$names
  out
}

# A function that returns list(value, gradients) of a loss; with has_aux f returns a list of the loss and auxiliary output.
loss_gradients <- function(who, f, argnums, has_aux) {
  need_function(who, f)
  need_flag(who, "has_aux", has_aux)
  function(...) {
    args <- list(...)
    numbers <- argument_numbers(who, argnums, args)
    t <- traced(who, function(...) {
      out <- f(...)
      if (has_aux && !(is.list(out) && length(out) == 2L)) raise(sprintf("%s: has_aux: the function returns %s, expected a list of a loss and more", who, brief(out)))
      if (!has_aux) out <- list(out)
      if (is_tensor(out[[1L]])) out[[1L]] <- as_scalar(out[[1L]])
      out
    }, args, numbers)
    if (!inherits(t$out[[1L]], "polygrad_place")) {
      raise(sprintf("%s: the function returns %s, expected a loss: one Tensor of one element", who, if (is.null(t$out[[1L]])) "NULL" else "a list"))
    }
    flat <- unlist(lapply(numbers, function(k) floats_of(t, k)))
    found <- expr_run(who, expr_derive(t, 2L, flat), t$tensors)
    value <- tree_build(t$out, found[-seq_along(flat)])
    list(value = if (has_aux) value else value[[1L]], gradients = by_argument(t, numbers, found[seq_along(flat)]))
  }
}

# Traces a function for linearization at primals, a list, with respect to all arguments; also computes its value.
linearized <- function(who, f, primals) {
  need_function(who, f)
  if (!is.list(primals)) raise(sprintf("%s: primals: %s, expected a list of the arguments", who, brief(primals)))
  t <- traced(who, f, primals)
  t$by <- all_floats(t)
  t$found <- expr_run(who, t$expr, t$tensors)
  t$value <- tree_build(t$out, t$found)
  t
}

# The Tensors of a tree, checked to have the same form as another tree and the shapes of its Tensors, and cast to their types.
fitting <- function(who, what, tree, like, tensors) {
  given <- tree_tensors(who, tree, what)
  if (length(given$tensors) != length(tensors)) raise(sprintf("%s: %s has %d Tensors, expected %d", who, what, length(given$tensors), length(tensors)))
  lapply(seq_along(tensors), function(i) {
    x <- given$tensors[[i]]
    if (!is_float_type(tensors[[i]]$dtype)) return(x)
    if (x$dtype != tensors[[i]]$dtype) x <- x$cast(tensors[[i]]$dtype)
    if (!identical(x$shape, tensors[[i]]$shape)) raise(sprintf("%s: %s has shape (%s), expected (%s)", who, given$paths[i], sizes_text(x), sizes_text(tensors[[i]])))
    x
  })
}

# The value and the pullback (from cotangents to gradients) of func$vjp, or of the transpose of a linear function.
pulled <- function(who, derivative, f, primals) {
  t <- linearized(who, f, primals)
  expr <- expr_derive(t, derivative, t$by)
  list(value = t$value, pullback = function(cotangent) {
    given <- fitting(who, "the cotangent", cotangent, t$out, t$found)
    grads <- vector("list", length(t$tensors))
    grads[t$by] <- expr_run(who, expr, c(t$tensors, given))
    trees <- lapply(seq_along(t$held), function(k) by_argument(t, k, grads[t$of[[k]]]))
    names(trees) <- t$names
    trees
  })
}

change <- function(t, expr, tangents) {
  given <- fitting(t$who, "tangents", tangents, t$held, t$tensors)
  found <- expr_run(t$who, expr, c(t$tensors, given[t$by]))
  tree_build(t$out, found[-seq_along(t$results)])
}

jacobian_by <- function(who, derivative, f, argnums) {
  need_function(who, f)
  function(...) {
    args <- list(...)
    numbers <- argument_numbers(who, argnums, args)
    t <- traced(who, f, args, numbers)
    flat <- unlist(lapply(numbers, function(k) floats_of(t, k)))
    found <- expr_run(who, expr_derive(t, derivative, flat), t$tensors)
    rows <- lapply(seq_along(t$results), function(i) by_argument(t, numbers, found[(i - 1L) * length(flat) + seq_along(flat)]))
    tree_build(t$out, rows)
  }
}

# Wraps f, which has a custom rule: calls go to call(list of arguments). The rule may call the function again, so that higher derivatives
# use the rule, too; at a nesting depth of 3 the plain f is called instead.
ruled <- function(f, call) {
  depth <- 0L
  function(...) {
    if (depth == 3L) return(f(...))
    depth <<- depth + 1L
    on.exit(depth <<- depth - 1L)
    call(list(...))
  }
}

need_pair <- function(who, what, out, expected) {
  if (!is.list(out) || length(out) != 2L) raise(sprintf("%s: %s returns %s, expected a list of %s", who, what, brief(out), expected))
  out
}

# The arguments of a call of a compiled function: its distinct Tensors, and the key by which its program is found.
jit_given <- function(f, args, static_argnums) {
  who <- "func$jit"
  fixed <- named_arguments(who, "static_argnums", static_argnums, f, args)
  found <- lapply(seq_along(args), function(k) if (!k %in% fixed) tree_tensors(who, args[[k]], sprintf("argument %d", k)))
  tensors <- as.list(do.call(c, lapply(found, `[[`, "tensors")))
  counts <- vapply(found, function(x) length(x$tensors), 1L)
  # A Tensor that is given twice is a single argument of the program.
  ids <- .Call(C_identities, tensors)
  places <- match(ids, unique(ids))
  tensors <- tensors[!duplicated(ids)]
  held <- lapply(seq_along(args), function(k) if (k %in% fixed) args[[k]] else found[[k]]$held)
  names(held) <- names(args)
  list(
    args = args, fixed = fixed, held = held, tensors = tensors, of = split(places, factor(rep(seq_along(found), counts), seq_along(found))),
    key = list(fixed = fixed, held = held, places = places, kinds = vapply(tensors, function(x) .Call(C_kind, x), ""))
  )
}

# The positions of arguments that are chosen by number or by the name of a parameter of f; arguments absent in the call are left out.
named_arguments <- function(who, what, chosen, f, args) {
  if (length(chosen) == 0L) return(integer())
  known <- names(formals(args(f)))
  names <- names(args)
  if (is.null(names)) names <- rep("", length(args))
  names[!nzchar(names)] <- setdiff(known, c(names, "..."))[seq_len(sum(!nzchar(names)))]
  if (is.character(chosen)) {
    other <- setdiff(chosen, c(known, names))
    if (length(other)) raise(sprintf("%s: %s: '%s', expected names of parameters: %s", who, what, other[1L], paste(known, collapse = ", ")))
    numbers <- match(chosen, names)
  } else {
    numbers <- chosen
    if (!is.numeric(numbers) || anyNA(numbers) || any(numbers < 1 | numbers %% 1 != 0)) {
      raise(sprintf("%s: %s: %s, expected numbers from 1 on, or names of parameters", who, what, brief(chosen)))
    }
  }
  as.integer(sort(numbers[!is.na(numbers) & numbers <= length(args)]))
}

# Compiles f for arguments.
jit_compiled <- function(f, given, donated) {
  who <- "func$jit"
  out <- NULL
  free <- given$tensors[unique(unlist(given$of[donated]))]
  traced <- trace_function(who, function() {
    now <- given$held
    for (k in setdiff(seq_along(now), given$fixed)) now[k] <- list(tree_build(given$held[[k]], given$tensors[given$of[[k]]]))
    out <<- tree_tensors(who, called(f, now), "the result")
    tree_walk(out$held, function(leaf, path) {
      if (!inherits(leaf, "polygrad_place") && !is.null(leaf)) raise(sprintf("%s: %s is %s, expected Tensors", who, path, brief(leaf)))
    }, "the result")
    results <- out$tensors
    writes <- list()
    for (i in seq_along(results)) {
      if (.Call(C_identities, results[i]) %in% .Call(C_identities, given$tensors)) next
      fit <- Find(function(k) .Call(C_kind, free[[k]]) == .Call(C_kind, results[[i]]), seq_along(free))
      if (is.null(fit)) next
      writes[[length(writes) + 1L]] <- list(target = free[[fit]], value = results[[i]])
      results[[i]] <- free[[fit]]
      free <- free[-fit]
    }
    for (w in writes) w$target$assign(w$value)
    results
  }, given$tensors, 0L)
  list(key = given$key, traced = traced, held = out$held)
}

#' Methods of a compiled function: cache statistics, clearing the cache, and compiling without running.
`$.polygrad_jit` <- function(x, name) {
  self <- attr(x, "self")
  switch(name,
    cache_info = function() c(hits = self$hits, misses = self$misses, size = length(self$programs)),
    clear_cache = function() {
      self$programs <- list()
      self$hits <- self$misses <- 0L
      invisible()
    },
    compile = function(...) invisible(self$find(list(...))),
    raise(sprintf("jit$%s: a compiled function has cache_info(), clear_cache() and compile(...)", name))
  )
}

print.polygrad_jit <- function(x, ...) {
  self <- attr(x, "self")
  cat(sprintf("<compiled function, %d %s>\n", length(self$programs), ngettext(length(self$programs), "program", "programs")))
  invisible(x)
}

need_axis_name <- function(who, name) {
  if (!is.character(name) || length(name) != 1L || is.na(name) || !nzchar(name)) raise(sprintf("%s: axis_name: %s, expected a name", who, brief(name)))
}

func <- list(
  grad = function(f, argnums = 1L, has_aux = FALSE) {
    both <- loss_gradients("func$grad", f, argnums, has_aux)
    function(...) {
      out <- both(...)
      if (has_aux) list(gradients = out$gradients, aux = out$value[[2L]]) else out$gradients
    }
  },
  value_and_grad = function(f, argnums = 1L, has_aux = FALSE) loss_gradients("func$value_and_grad", f, argnums, has_aux),
  jvp = function(f, primals, tangents) {
    t <- linearized("func$jvp", f, primals)
    list(value = t$value, tangent = change(t, expr_derive(t, 0L, t$by), tangents))
  },
  linearize = function(f, primals) {
    t <- linearized("func$linearize", f, primals)
    expr <- expr_derive(t, 0L, t$by)
    list(value = t$value, change = function(...) change(t, expr, list(...)))
  },
  vjp = function(f, primals) pulled("func$vjp", 1L, f, primals),
  vmap = function(f, in_axes = 1L, out_axes = 1L, axis_size = NULL, axis_name = NULL) {
    need_function("func$vmap", f)
    if (!is.null(axis_name)) need_axis_name("func$vmap", axis_name)
    size <- if (is.null(axis_size)) NA_integer_ else as.integer(axis_size)
    function(...) {
      args <- list(...)
      found <- tree_tensors("func$vmap", args, "args", FALSE)
      starts <- tree_spread("func$vmap", "in_axes", in_axes, found$held, length(found$tensors))
      t <- traced("func$vmap", f, args, integer(), starts, axis_name, size)
      ends <- tree_spread("func$vmap", "out_axes", out_axes, t$out, length(t$results))
      batch <- transformed(t, function() .Call(C_expr_batch, "func$vmap", t$expr, size, starts, ends))
      tree_build(t$out, expr_run("func$vmap", batch, t$tensors))
    }
  },
  linear_transpose = function(f, primals) pulled("func$linear_transpose", 8L, f, primals)$pullback,
  eval_shape = function(f, ...) {
    need_function("func$eval_shape", f)
    t <- traced("func$eval_shape", f, list(...))
    tree_build(t$out, lapply(t$results, function(x) list(shape = x$shape, dtype = x$dtype)))
  },
  jacfwd = function(f, argnums = 1L) jacobian_by("func$jacfwd", 3L, f, argnums),
  jacrev = function(f, argnums = 1L) jacobian_by("func$jacrev", 4L, f, argnums),
  hessian = function(f, argnums = 1L) jacobian_by("func$hessian", 3L, jacobian_by("func$hessian", 4L, f, argnums), argnums),
  hvp = function(f, primals, vectors) {
    slope <- loss_gradients("func$hvp", f, seq_along(primals), FALSE)
    t <- linearized("func$hvp", function(...) slope(...)$gradients, primals)
    change(t, expr_derive(t, 0L, t$by), vectors)
  },
  checkpoint = function(f, policy = "nothing_saveable") {
    need_function("func$checkpoint", f)
    function(...) {
      t <- traced("func$checkpoint", f, list(...))
      tree_build(t$out, expr_run("func$checkpoint", t$expr, t$tensors, "checkpoint", as.character(policy)))
    }
  },
  custom_jvp = function(f, rule) {
    who <- "func$custom_jvp"
    need_function(who, f)
    need_function(who, rule, "rule")
    ruled(f, function(args) {
      t <- traced(who, f, args)
      by <- all_floats(t)
      n <- length(t$tensors)
      tangent <- traced(who, function(...) {
        given <- list(...)
        primals <- given[seq_len(n)]
        tangents <- lapply(primals, function(x) x$zeros_like())
        tangents[by] <- given[-seq_len(n)]
        out <- need_pair(who, "rule", rule(argument_trees(t, primals), argument_trees(t, tangents)), "a value and its tangent")
        fitting(who, "the tangent", out[[2L]], t$out, t$results)[float_results(t)]
      }, c(t$tensors, t$tensors[by]))
      tree_build(t$out, expr_run(who, t$expr, t$tensors, "custom_jvp", tangent$expr))
    })
  },
  custom_vjp = function(f, forward, backward) {
    who <- "func$custom_vjp"
    need_function(who, f)
    need_function(who, forward, "forward")
    need_function(who, backward, "backward")
    ruled(f, function(args) {
      t <- traced(who, f, args)
      first <- traced(who, function(...) {
        out <- need_pair(who, "forward", forward(...), "a value and what backward needs")
        fitting(who, "the value of forward", out[[1L]], t$out, t$results)
        out
      }, args)
      found <- expr_run(who, first$expr, first$tensors)
      n <- length(t$results)
      kept <- found[-seq_len(n)]
      second <- traced(who, function(...) {
        given <- list(...)
        # Placeholders of residuals are numbered after those of the value.
        residuals <- tree_build(first$out[[2L]], c(vector("list", n), given[seq_along(kept)]))
        cotangent <- tree_build(t$out, given[length(kept) + seq_len(n)])
        grads <- backward(residuals, cotangent)
        if (!is.list(grads) || length(grads) != length(args)) {
          raise(sprintf("%s: backward returns %s, expected a list of %d gradients, one for each argument", who, brief(grads), length(args)))
        }
        unlist(lapply(seq_along(args), function(k) {
          own <- t$tensors[t$of[[k]]]
          made <- if (is.null(grads[[k]])) lapply(own, function(x) x$zeros_like()) else fitting(who, sprintf("gradient %d", k), grads[[k]], t$held[[k]], own)
          made[vapply(own, function(x) is_float_type(x$dtype), NA)]
        }), recursive = FALSE)
      }, c(kept, found[seq_len(n)]))
      tree_build(t$out, expr_run(who, t$expr, t$tensors, "custom_vjp", list(first$expr, second$expr)))
    })
  },
  custom_vmap = function(f, rule) {
    who <- "func$custom_vmap"
    need_function(who, f)
    need_function(who, rule, "rule")
    ruled(f, function(args) {
      t <- traced(who, f, args)
      compute <- function(size, batched, tensors) {
        out <- need_pair(who, "rule", rule(size, argument_trees(t, as.list(batched)), argument_trees(t, tensors)), "the value and whether it is batched")
        found <- tree_tensors(who, out[[1L]], "the value of the rule")$tensors
        flags <- unlist(out[[2L]], use.names = FALSE)
        if (length(found) != length(t$results)) raise(sprintf("%s: rule returns %d Tensors, expected %d", who, length(found), length(t$results)))
        if (!is.logical(flags) || length(flags) != length(found) || anyNA(flags)) {
          raise(sprintf("%s: what is batched: %s, expected TRUE or FALSE for each of %d Tensors", who, brief(out[[2L]]), length(found)))
        }
        list(results = found, batched = flags)
      }
      number <- batching$count
      batching$count <- number + 1L
      if (!is.null(batching$rules)) assign(as.character(number), list(compute = compute, room = length(t$tensors)), batching$rules)
      tree_build(t$out, expr_run(who, t$expr, t$tensors, "custom_vmap", number))
    })
  },
  sequential_vmap = function(f) {
    each <- func$custom_vmap(f, function(axis_size, in_batched, args) {
      found <- tree_tensors("func$sequential_vmap", args, "args")
      moving <- unlist(in_batched, use.names = FALSE)
      value <- lax$map(function(own) {
        now <- found$tensors
        now[moving] <- own
        called(each, tree_build(found$held, now))
      }, found$tensors[moving])
      list(value, tree_walk(value, function(leaf, path) TRUE, ""))
    })
    each
  },
  jit = function(f, static_argnums = integer(), donate_argnums = integer()) {
    need_function("func$jit", f)
    self <- list2env(list(programs = list(), hits = 0L, misses = 0L), parent = emptyenv())
    self$find <- function(args, given = jit_given(f, args, static_argnums)) {
      at <- Find(function(i) identical(self$programs[[i]]$key, given$key), seq_along(self$programs))
      if (!is.null(at)) {
        self$hits <- self$hits + 1L
        return(self$programs[[at]])
      }
      donated <- named_arguments("func$jit", "donate_argnums", donate_argnums, f, args)
      made <- jit_compiled(f, given, setdiff(donated, given$fixed))
      self$misses <- self$misses + 1L
      self$programs[[length(self$programs) + 1L]] <- made
      made
    }
    structure(function(...) {
      # A trace calls the function itself.
      if (batching$depth > 0L || .Call(C_tracing)) return(f(...))
      args <- list(...)
      given <- jit_given(f, args, static_argnums)
      program <- self$find(args, given)
      tree_build(program$held, jit_run(program$traced, given$tensors, NULL, NULL))
    }, class = "polygrad_jit", self = self)
  },
  functional_call = function(module, parameters, ...) {
    who <- "func$functional_call"
    need_function(who, module, "module")
    own <- get_state_dict(module)
    if (!is.list(parameters) || is.null(names(parameters)) || !all(vapply(parameters, is_tensor, NA))) {
      raise(sprintf("%s: parameters: %s, expected a list of Tensors with names", who, brief(parameters)))
    }
    unknown <- setdiff(names(parameters), names(own))
    if (length(unknown)) raise(sprintf("%s: parameters: '%s', expected names of %s", who, unknown[1L], paste(names(own), collapse = ", ")))
    own <- unname(own[names(parameters)])
    before <- .Call(C_stand_in, own, unname(parameters))
    on.exit(.Call(C_stand_in, own, before))
    module(...)
  },
  stop_gradient = function(tree) tree_walk(tree, function(leaf, path) if (is_tensor(leaf)) leaf$detach() else leaf, "tree"),
  describe = function(f, ...) {
    need_function("func$describe", f)
    .Call(C_expr_text, traced("func$describe", f, list(...))$expr)
  }
)
