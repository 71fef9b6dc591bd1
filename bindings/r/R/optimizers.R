# Optimizers: they hold parameters and change them by their gradients.

#' A hyperparameter: a number in [0, below).
need_setting <- function(kind, name, value, below = Inf) {
  if (is.numeric(value) && length(value) == 1L && !is.na(value) && value >= 0 && value < below) return(invisible())
  limit <- if (below < Inf) sprintf(" and less than %g", below) else ""
  raise(sprintf("%s: %s: %s, expected 0 or more%s", kind, name, brief(value), limit))
}

new_optimizer <- function(kind, params, lr, fields, update, begin = NULL) {
  if (is_tensor(params)) raise(sprintf("%s: params is a tensor, expected a list of them", kind))
  if (!is.list(params) || !all(vapply(params, is_tensor, NA))) raise(sprintf("%s: params: expected a list of tensors", kind))
  # Integer tensors and tensors with requires_grad = FALSE are not parameters.
  params <- Filter(may_learn, unique_tensors(params))
  if (length(params) == 0L) raise(sprintf("%s: params is empty", kind))
  need_setting(kind, "lr", lr)
  for (p in params) {
    .Call(C_settle, p)
    if (!.Call(C_tracked, p)) .Call(C_set_tracked, p, TRUE)
  }
  self <- list2env(fields, parent = emptyenv())
  self$params <- params
  # A leaf, not a constant: another rate needs no other program.
  self$rate <- from_r(lr, "float32", scalar = TRUE)
  self$update <- update
  self$begin <- begin
  structure(list(self = self), class = c(kind, "Optimizer"))
}

unique_tensors <- function(tensors) {
  out <- list()
  for (x in tensors) {
    if (!any(vapply(out, function(y) .Call(C_same, x, y), NA))) out[[length(out) + 1L]] <- x
  }
  out
}

#' Zeros, of at least float32, for each parameter.
zeros_for <- function(params) {
  lapply(params, function(p) {
    zeros <- .Call(C_poly_cast_by_id, tensor_methods$zeros_like(p), if (dtype(p) == "float64") "float64" else "float32")
    tensor_methods$realize(tensor_methods$contiguous(zeros))
  })
}

`$.Optimizer` <- function(x, name) {
  self <- .subset2(x, "self")
  switch(name,
    step = function() optimizer_step(self),
    zero_grad = function() optimizer_zero_grad(self),
    lr = if (!is.null(self$rate)) as.vector(r_values(self$rate)),
    params = self$params,
    get0(name, envir = self, inherits = FALSE)
  )
}

`$<-.Optimizer` <- function(x, name, value) {
  self <- .subset2(x, "self")
  if (identical(name, "lr") && !is.null(self$rate)) {
    need_setting(class(x)[1L], "lr", value)
    .Call(C_write, self$rate, value)
  } else {
    raise(sprintf("optimizer$%s cannot be set; lr can", name))
  }
  x
}

names.Optimizer <- function(x) c("step", "zero_grad", "lr", "params")

print.Optimizer <- function(x, ...) {
  self <- .subset2(x, "self")
  cat("<", class(x)[1L], " of ", length(self$params), " tensors, lr = ", format(x$lr), ">\n", sep = "")
  invisible(x)
}

optimizer_zero_grad <- function(self) {
  for (p in self$params) .Call(C_set_gradient, p, NULL)
  invisible()
}

optimizer_step <- function(self) {
  updates <- optimizer_updates(self)
  if (length(updates$targets) > 0L) .Call(C_assign, updates$targets, updates$values, TRUE)
  invisible()
}

#' The tensors that a step updates, and their new values as graphs of the old ones.
optimizer_updates <- function(self) {
  if (!is.null(self$optimizers)) {
    each <- lapply(self$optimizers, function(o) optimizer_updates(.subset2(o, "self")))
    return(list(
      targets = do.call(c, lapply(each, `[[`, "targets")), values = do.call(c, lapply(each, `[[`, "values"))
    ))
  }
  gradients <- lapply(self$params, function(p) .Call(C_gradient_of, p))
  chosen <- which(!vapply(gradients, is.null, NA))
  if (length(chosen) == 0L) return(list(targets = list(), values = list()))
  # Shared by all parameters; not part of the optimizer's state.
  common <- if (!is.null(self$begin)) self$begin(self) else list(targets = list(), values = list())
  each <- lapply(chosen, function(i) self$update(self, i, self$params[[i]], gradients[[i]], common$values))
  list(
    targets = c(common$targets, do.call(c, lapply(each, `[[`, "targets"))),
    values = c(common$values, do.call(c, lapply(each, `[[`, "values")))
  )
}

OptimizerGroup <- function(...) {
  optimizers <- list(...)
  if (length(optimizers) == 1L && is.list(optimizers[[1L]]) && !inherits(optimizers[[1L]], "Optimizer")) {
    optimizers <- optimizers[[1L]]
  }
  if (length(optimizers) == 0L) raise("OptimizerGroup: no optimizers, expected one or more")
  if (!all(vapply(optimizers, inherits, NA, "Optimizer"))) raise("OptimizerGroup: expected optimizers")
  self <- list2env(list(optimizers = optimizers), parent = emptyenv())
  self$params <- do.call(c, lapply(optimizers, function(o) o$params))
  structure(list(self = self), class = c("OptimizerGroup", "Optimizer"))
}

print.OptimizerGroup <- function(x, ...) {
  cat("<OptimizerGroup of ", length(x$optimizers), " optimizers>\n", sep = "")
  invisible(x)
}

lars <- function(kind, params, lr, momentum, weight_decay, ns_steps, ns_coefficients, nesterov, classic, pre_wd, tcoef) {
  for (name in c("momentum", "weight_decay", "tcoef")) need_setting(kind, name, get(name))
  for (name in c("nesterov", "classic", "pre_wd")) need_flag(kind, name, get(name))
  need_size(kind, "ns_steps", ns_steps, 0)
  if (!is.null(ns_coefficients) && !is.numeric(ns_coefficients)) {
    raise(sprintf("%s: ns_coefficients: %s, expected numbers", kind, brief(ns_coefficients)))
  }
  fields <- list(momentum = momentum, weight_decay = weight_decay, b = list())
  out <- new_optimizer(kind, params, lr, fields, function(self, i, param, grad, common) {
    targets <- list(param)
    if (self$momentum > 0) targets <- c(targets, self$b[[i]])
    buffer <- if (self$momentum > 0) self$b[[i]]
    values <- .Call(
      C_poly_lars, param, grad, self$rate, buffer, self$momentum, self$weight_decay, tcoef, nesterov, classic, !pre_wd,
      ns_steps, as.numeric(ns_coefficients), length(targets)
    )
    list(targets = targets, values = values)
  })
  self <- .subset2(out, "self")
  if (length(ns_coefficients) > 0L && any(vapply(self$params, function(p) length(.Call(C_shape, p)) == 0L, NA))) {
    raise(sprintf("%s: params: a scalar, expected 1 dimension or more", kind))
  }
  if (momentum > 0) self$b <- zeros_for(self$params)
  out
}

LARS <- function(params, lr = 0.001, momentum = 0.9, weight_decay = 1e-4, ns_steps = 0, ns_coefficients = NULL,
                 nesterov = FALSE, classic = TRUE, pre_wd = TRUE, tcoef = 0.001) {
  lars("LARS", params, lr, momentum, weight_decay, ns_steps, ns_coefficients, nesterov, classic, pre_wd, tcoef)
}

SGD <- function(params, lr = 0.001, momentum = 0, weight_decay = 0, nesterov = FALSE, classic = FALSE) {
  lars("SGD", params, lr, momentum, weight_decay, 0, NULL, nesterov, classic, TRUE, 0)
}

Muon <- function(params, lr = 0.001, momentum = 0.95, weight_decay = 0.1, ns_steps = 5,
                 ns_coefficients = c(3.4445, -4.775, 2.0315), nesterov = TRUE) {
  lars("Muon", params, lr, momentum, weight_decay, ns_steps, ns_coefficients, nesterov, FALSE, FALSE, 0)
}

lamb <- function(kind, params, lr, betas, eps, weight_decay, adam, coupled) {
  if (!is.numeric(betas) || length(betas) != 2L) raise(sprintf("%s: betas: %s, expected two numbers", kind, brief(betas)))
  for (beta in betas) need_setting(kind, "betas", beta, 1)
  need_setting(kind, "eps", eps)
  need_setting(kind, "weight_decay", weight_decay)
  need_flag(kind, "adam", adam)
  fields <- list(
    betas = betas, eps = eps, weight_decay = weight_decay,
    # The powers beta^t, in float64 because they come close to 1 and are subtracted from it.
    powers = list(from_r(1, "float64", scalar = TRUE), from_r(1, "float64", scalar = TRUE))
  )
  begin <- function(self) list(targets = self$powers, values = Map(`*`, self$powers, self$betas))
  update <- function(self, i, param, grad, powers) {
    values <- .Call(
      C_poly_lamb, param, grad, self$rate, self$m[[i]], self$v[[i]], powers[[1L]], powers[[2L]], self$betas[1L],
      self$betas[2L], self$eps, self$weight_decay, adam, coupled, 3L
    )
    list(targets = list(param, self$m[[i]], self$v[[i]]), values = values)
  }
  out <- new_optimizer(kind, params, lr, fields, update, begin)
  self <- .subset2(out, "self")
  self$m <- zeros_for(self$params)
  self$v <- zeros_for(self$params)
  out
}

LAMB <- function(params, lr = 0.001, betas = c(0.9, 0.999), eps = 1e-6, weight_decay = 0, adam = FALSE) {
  lamb("LAMB", params, lr, betas, eps, weight_decay, adam, FALSE)
}

Adam <- function(params, lr = 0.001, betas = c(0.9, 0.999), eps = 1e-8, weight_decay = 0) {
  lamb("Adam", params, lr, betas, eps, weight_decay, TRUE, TRUE)
}

AdamW <- function(params, lr = 0.001, betas = c(0.9, 0.999), eps = 1e-8, weight_decay = 0.01) {
  lamb("AdamW", params, lr, betas, eps, weight_decay, TRUE, FALSE)
}

#' The parameters that have a gradient, each once.
with_gradients <- function(name, parameters) {
  if (is_tensor(parameters)) parameters <- list(parameters)
  if (!is.list(parameters) || !all(vapply(parameters, is_tensor, NA))) {
    raise(sprintf("%s: parameters: expected a list of tensors", name))
  }
  Filter(function(p) !is.null(.Call(C_gradient_of, p)), unique_tensors(parameters))
}

replace_gradients <- function(parameters, grads) {
  if (!.Call(C_tracing)) .Call(C_realize, grads)
  Map(function(p, g) .Call(C_set_gradient, p, g), parameters, grads)
  invisible()
}

clip_grad_norm <- function(parameters, max_norm, norm_type = 2, error_if_nonfinite = FALSE) {
  need_flag("clip_grad_norm", "error_if_nonfinite", error_if_nonfinite)
  chosen <- with_gradients("clip_grad_norm", parameters)
  if (length(chosen) == 0L) return(from_r(0, "float32", scalar = TRUE))
  grads <- lapply(chosen, function(p) .Call(C_gradient_of, p))
  out <- .Call(C_poly_clip_grad_norm, grads, max_norm, norm_type, length(grads) + 1L)
  if (!.Call(C_tracing)) .Call(C_realize, out)
  norm <- out[[1L]]
  if (error_if_nonfinite && !is.finite(as.vector(r_values(norm)))) {
    raise(sprintf("clip_grad_norm: the norm of the gradients is %s", format(as.vector(r_values(norm)))))
  }
  replace_gradients(chosen, out[-1L])
  norm
}

clip_grad_value <- function(parameters, clip_value) {
  need_setting("clip_grad_value", "clip_value", clip_value)
  chosen <- with_gradients("clip_grad_value", parameters)
  replace_gradients(chosen, lapply(chosen, function(p) {
    tensor_methods$clamp(.Call(C_gradient_of, p), -clip_value, clip_value)
  }))
}
