# Optimizers: they hold parameters and change them by their gradients. nn.R makes them.

#' A hyperparameter: a number in [0, below).
need_setting <- function(kind, name, value, below = Inf) {
  if (is.numeric(value) && length(value) == 1L && !is.na(value) && value >= 0 && value < below) return(invisible())
  limit <- if (below < Inf) sprintf(" and less than %g", below) else ""
  raise(sprintf("%s: %s: %s, expected 0 or more%s", kind, name, brief(value), limit))
}

#' Makes an optimizer. make(params) makes the library's optimizer; shared names its common state, states the state of each
#' parameter.
new_optimizer <- function(kind, params, settings, shared, states, make) {
  if (is_tensor(params)) raise(sprintf("%s: params is a tensor, expected a list of them", kind))
  if (!is.list(params) || !all(vapply(params, is_tensor, NA))) raise(sprintf("%s: params: expected a list of tensors", kind))
  # Integer tensors and tensors with requires_grad = FALSE are not parameters.
  params <- unname(Filter(may_learn, unique_tensors(params)))
  if (length(params) == 0L) raise(sprintf("%s: params is empty", kind))
  self <- list2env(settings, parent = emptyenv())
  made <- make(params)
  self$params <- params
  self$optim <- made[[1L]]
  state <- function(what, i) .Call(C_optim_state, self$optim, what, i)
  self$lr <- state(0L, 1L)
  for (i in seq_along(shared)) self[[shared[i]]] <- state(2L, i)
  for (i in seq_along(states)) {
    self[[states[i]]] <- if (i <= made[[2L]]) lapply(seq_along(params), function(k) state(i + 2L, k)) else list()
  }
  structure(list(self = self), class = c(kind, "Optimizer"))
}

need_betas <- function(kind, betas) {
  if (!is.numeric(betas) || length(betas) != 2L) raise(sprintf("%s: betas: %s, expected two numbers", kind, brief(betas)))
}

unique_tensors <- function(tensors) tensors[!duplicated(.Call(C_identities, tensors))]

`$.Optimizer` <- function(x, name) {
  self <- .subset2(x, "self")
  switch(name,
    step = function() invisible(optimizer_step(self)),
    zero_grad = function() optimizer_zero_grad(self),
    lr = if (!is.null(self$lr)) as.vector(r_values(self$lr)),
    params = self$params,
    get0(name, envir = self, inherits = FALSE)
  )
}

`$<-.Optimizer` <- function(x, name, value) {
  self <- .subset2(x, "self")
  if (identical(name, "lr") && !is.null(self$lr)) {
    need_setting(class(x)[1L], "lr", value)
    .Call(C_assign, self$lr, value)
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
  if (length(optimizers) == 1L && is.list(optimizers[[1L]]) && !inherits(optimizers[[1L]], "Optimizer")) optimizers <- optimizers[[1L]]
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

#' The parameters that have a gradient, each once.
with_gradients <- function(name, parameters) {
  if (is_tensor(parameters)) parameters <- list(parameters)
  if (!is.list(parameters) || !all(vapply(parameters, is_tensor, NA))) raise(sprintf("%s: parameters: expected a list of tensors", name))
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
  out <- .External(C_op, OP_CLIP_GRAD_NORM, grads, max_norm, norm_type)
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
