# Optimizers: they hold parameters and change them by their gradients.

new_optimizer <- function(kind, params, lr, fields, update, begin = NULL) {
  if (is_tensor(params)) raise(sprintf("%s: params is a tensor, expected a list of them", kind))
  params <- unique_tensors(params)
  if (length(params) == 0L) raise(sprintf("%s: params is empty", kind))
  if (!is.numeric(lr) || length(lr) != 1L || is.na(lr) || lr < 0) raise(sprintf("%s: lr: %s, expected 0 or more", kind, format(lr)))
  for (p in params) {
    .Call(C_settle, p)
    if (!.Call(C_tracked, p)) .Call(C_set_tracked, p, TRUE)
  }
  self <- list2env(fields, parent = emptyenv())
  self$params <- params
  # A leaf rather than a constant: another rate needs no other program.
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

zeros_for <- function(params) {
  lapply(params, function(p) tensor_methods$realize(tensor_methods$contiguous(tensor_methods$zeros_like(p))))
}

`$.Optimizer` <- function(x, name) {
  self <- .subset2(x, "self")
  switch(name,
    step = function() optimizer_step(self),
    zero_grad = function() optimizer_zero_grad(self),
    lr = as.vector(r_values(self$rate)),
    params = self$params,
    get0(name, envir = self, inherits = FALSE)
  )
}

`$<-.Optimizer` <- function(x, name, value) {
  self <- .subset2(x, "self")
  if (identical(name, "lr")) {
    if (!is.numeric(value) || length(value) != 1L || is.na(value) || value < 0) raise("lr: expected 0 or more")
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
  updates <- new.env(parent = emptyenv())
  updates$targets <- list()
  updates$values <- list()
  set <- function(target, value) {
    updates$targets[[length(updates$targets) + 1L]] <- target
    updates$values[[length(updates$values) + 1L]] <- value
  }
  gradients <- lapply(self$params, function(p) .Call(C_gradient_of, p))
  chosen <- which(!vapply(gradients, is.null, NA))
  if (length(chosen) == 0L) return(invisible())
  # What all parameters need; it is no state of the optimizer.
  common <- if (!is.null(self$begin)) self$begin(self, set)
  for (i in chosen) {
    self$update(self, i, .Call(C_detach, self$params[[i]]), .Call(C_detach, gradients[[i]]), set, common)
  }
  .Call(C_assign, updates$targets, updates$values)
  invisible()
}

SGD <- function(params, lr = 0.01, momentum = 0, weight_decay = 0) {
  fields <- list(momentum = momentum, weight_decay = weight_decay, b = list())
  out <- new_optimizer("SGD", params, lr, fields, function(self, i, param, grad, set, common) {
    if (self$weight_decay != 0) grad <- grad + param * self$weight_decay
    if (self$momentum != 0) {
      grad <- self$b[[i]] * self$momentum + grad
      set(self$b[[i]], grad)
    }
    set(self$params[[i]], param - self$rate * grad)
  })
  self <- .subset2(out, "self")
  if (momentum != 0) self$b <- zeros_for(self$params)
  out
}

adam <- function(kind, params, lr, betas, eps, weight_decay, decoupled) {
  fields <- list(
    betas = betas, eps = eps, weight_decay = weight_decay,
    # The powers beta^t, in float64 because they come close to 1 and are subtracted from it.
    powers = list(from_r(1, "float64", scalar = TRUE), from_r(1, "float64", scalar = TRUE))
  )
  begin <- function(self, set) {
    powers <- Map(`*`, self$powers, self$betas)
    Map(set, self$powers, powers)
    lapply(powers, function(p) tensor_methods$float(1 / (1 - p)))
  }
  update <- function(self, i, param, grad, set, common) {
    if (self$weight_decay != 0 && !decoupled) grad <- grad + param * self$weight_decay
    m <- self$m[[i]] * self$betas[1L] + grad * (1 - self$betas[1L])
    v <- self$v[[i]] * self$betas[2L] + tensor_methods$square(grad) * (1 - self$betas[2L])
    new <- param
    if (self$weight_decay != 0 && decoupled) new <- new * (1 - self$rate * self$weight_decay)
    new <- new - self$rate * (m * common[[1L]]) / (tensor_methods$sqrt(v * common[[2L]]) + self$eps)
    set(self$params[[i]], new)
    set(self$m[[i]], m)
    set(self$v[[i]], v)
  }
  out <- new_optimizer(kind, params, lr, fields, update, begin)
  self <- .subset2(out, "self")
  self$m <- zeros_for(self$params)
  self$v <- zeros_for(self$params)
  out
}

Adam <- function(params, lr = 0.001, betas = c(0.9, 0.999), eps = 1e-8, weight_decay = 0) {
  adam("Adam", params, lr, betas, eps, weight_decay, decoupled = FALSE)
}

AdamW <- function(params, lr = 0.001, betas = c(0.9, 0.999), eps = 1e-8, weight_decay = 0.01) {
  adam("AdamW", params, lr, betas, eps, weight_decay, decoupled = TRUE)
}
