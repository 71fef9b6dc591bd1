# Optimizers: they hold parameters and change them by their gradients.

#' A hyperparameter: a number in [0, below).
need_setting <- function(kind, name, value, below = Inf) {
  if (is.numeric(value) && length(value) == 1L && !is.na(value) && value >= 0 && value < below) return(invisible())
  limit <- if (below < Inf) sprintf(" and less than %g", below) else ""
  raise(sprintf("%s: %s: %s, expected 0 or more%s", kind, name, brief(value), limit))
}

#' make makes the optimizer of the library for the parameters.
new_optimizer <- function(kind, params, lr, make, fields = list()) {
  if (is_tensor(params)) raise(sprintf("%s: params is a tensor, expected a list of them", kind))
  if (!is.list(params) || !all(vapply(params, is_tensor, NA))) raise(sprintf("%s: params: expected a list of tensors", kind))
  # Integer tensors and tensors with requires_grad = FALSE are not parameters.
  params <- Filter(may_learn, unique_tensors(params))
  if (length(params) == 0L) raise(sprintf("%s: params is empty", kind))
  need_setting(kind, "lr", lr)
  self <- list2env(fields, parent = emptyenv())
  self$params <- unname(params)
  self$optim <- make(self$params, lr)
  self$rate <- .Call(C_optim_state, self$optim, 0L, 1L)
  structure(list(self = self), class = c(kind, "Optimizer"))
}

#' The state of each parameter: the momentum, or the first (3) or the second moment (4).
state_of <- function(self, what) lapply(seq_along(self$params), function(i) .Call(C_optim_state, self$optim, what, i))

unique_tensors <- function(tensors) {
  out <- list()
  for (x in tensors) {
    if (!any(vapply(out, function(y) .Call(C_same, x, y), NA))) out[[length(out) + 1L]] <- x
  }
  out
}

`$.Optimizer` <- function(x, name) {
  self <- .subset2(x, "self")
  switch(name,
    step = function() invisible(optimizer_step(self)),
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
    .Call(C_assign, self$rate, value)
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

optimizer_step <- function(self) .Call(C_optim_step, members_of(self))

#' The optimizers of the library that step together.
members_of <- function(self) {
  if (is.null(self$optimizers)) return(list(self$optim))
  do.call(c, lapply(self$optimizers, function(o) members_of(.subset2(o, "self"))))
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
  if (length(ns_coefficients) > 0L && is.list(params)) {
    scalar <- vapply(params, function(p) is_tensor(p) && length(.Call(C_sizes, p)) == 0L, NA)
    if (any(scalar)) raise(sprintf("%s: params: a scalar, expected 1 dimension or more", kind))
  }
  out <- new_optimizer(kind, params, lr, function(params, lr) {
    .Call(
      C_optim_lars, params, lr, as.numeric(c(momentum, weight_decay, tcoef, ns_steps)), c(nesterov, classic, !pre_wd),
      as.numeric(ns_coefficients)
    )
  }, list(momentum = momentum, weight_decay = weight_decay))
  self <- .subset2(out, "self")
  self$b <- if (momentum > 0) state_of(self, 3L) else list()
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
  out <- new_optimizer(kind, params, lr, function(params, lr) {
    .Call(C_optim_lamb, params, lr, as.numeric(c(betas, eps, weight_decay)), c(adam, coupled))
  }, list(betas = betas, eps = eps, weight_decay = weight_decay))
  self <- .subset2(out, "self")
  # The powers beta^t, in float64 because they come close to 1 and are subtracted from it.
  self$powers <- lapply(1:2, function(i) .Call(C_optim_state, self$optim, 2L, i))
  self$m <- state_of(self, 3L)
  self$v <- state_of(self, 4L)
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
  out <- .Call(C_clip_grad_norm, grads, max_norm, norm_type)
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
