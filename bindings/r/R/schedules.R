# Schedules of learning rates, with PyTorch's names and conventions. The rate and the number of steps are Tensors, so
# that a schedule steps inside of a compiled step and outside of it, and nothing is compiled again.

rate_kinds <- c(
  step = 0L, multistep = 1L, exponential = 2L, constant = 3L, linear = 4L, polynomial = 5L, cosine = 6L, restarts = 7L,
  warmup = 8L, one_cycle = 9L
)

need_optimizer <- function(kind, optimizer) {
  if (inherits(optimizer, "OptimizerGroup")) {
    raise(sprintf("%s: optimizer: a group; make a schedule for each of its optimizers", kind))
  }
  if (!inherits(optimizer, "Optimizer")) raise(sprintf("%s: optimizer: expected an optimizer", kind))
  .subset2(optimizer, "self")
}

#' A schedule; rate makes the rate of one to begin with and the number of steps.
new_schedule <- function(kind, optimizer, rate) {
  own <- need_optimizer(kind, optimizer)
  # All schedules of an optimizer begin with the rate that it had before the first.
  if (is.null(own$initial)) own$initial <- .Call(C_clone, own$rate)
  self <- list2env(list(
    optimizer = optimizer, base_lr = own$initial, epoch_counter = from_r(0L, "int32", scalar = TRUE), rate = rate
  ), parent = emptyenv())
  .Call(C_assign_all, list(own$rate), list(rate(self$base_lr, self$epoch_counter)))
  structure(list(self = self), class = c(kind, "LRScheduler"))
}

#' One number or flag for each name, but for milestones as many as there are.
scheduled <- function(kind, optimizer, schedule, settings) {
  for (name in names(settings)) {
    value <- settings[[name]]
    known <- (is.numeric(value) || is.logical(value)) && !anyNA(value) && length(value) == 1L
    several <- name == "milestones" && (is.null(value) || is.numeric(value))
    if (!known && !several) raise(sprintf("%s: %s: %s, expected a number", kind, name, brief(value)))
  }
  numbers <- as.numeric(unlist(lapply(settings, plain)))
  new_schedule(kind, optimizer, function(lr, t) .Call(C_learning_rate, kind, list(lr, t), rate_kinds[[schedule]], numbers))
}

schedule_step <- function(self) {
  now <- self$epoch_counter + 1L
  rate <- .subset2(self$optimizer, "self")$rate
  .Call(C_assign_all, list(self$epoch_counter, rate), list(now, self$rate(self$base_lr, now)))
  invisible()
}

`$.LRScheduler` <- function(x, name) {
  self <- .subset2(x, "self")
  switch(name,
    step = function(...) if (is.null(self$next_state)) schedule_step(self) else plateau_step(self, ...),
    get_lr = function() self$rate(self$base_lr, self$epoch_counter),
    get_last_lr = function() self$optimizer$lr,
    get0(name, envir = self, inherits = FALSE)
  )
}

`$<-.LRScheduler` <- function(x, name, value) raise(sprintf("schedule$%s cannot be set", name))

names.LRScheduler <- function(x) c("step", "get_lr", "get_last_lr", "optimizer", "epoch_counter")

print.LRScheduler <- function(x, ...) {
  cat("<", class(x)[1L], ", lr = ", format(x$get_last_lr()), ">\n", sep = "")
  invisible(x)
}

StepLR <- function(optimizer, step_size, gamma = 0.1) scheduled("StepLR", optimizer, "step", list(step_size = step_size, gamma = gamma))

MultiStepLR <- function(optimizer, milestones, gamma = 0.1) {
  scheduled("MultiStepLR", optimizer, "multistep", list(gamma = gamma, milestones = milestones))
}

ExponentialLR <- function(optimizer, gamma) scheduled("ExponentialLR", optimizer, "exponential", list(gamma = gamma))

ConstantLR <- function(optimizer, factor = 1 / 3, total_iters = 5) {
  scheduled("ConstantLR", optimizer, "constant", list(factor = factor, total_iters = total_iters))
}

LinearLR <- function(optimizer, start_factor = 1 / 3, end_factor = 1, total_iters = 5) {
  settings <- list(start_factor = start_factor, end_factor = end_factor, total_iters = total_iters)
  scheduled("LinearLR", optimizer, "linear", settings)
}

PolynomialLR <- function(optimizer, total_iters = 5, power = 1) {
  scheduled("PolynomialLR", optimizer, "polynomial", list(total_iters = total_iters, power = power))
}

CosineAnnealingLR <- function(optimizer, T_max, eta_min = 0) {
  scheduled("CosineAnnealingLR", optimizer, "cosine", list(T_max = T_max, eta_min = eta_min))
}

CosineAnnealingWarmRestarts <- function(optimizer, T_0, T_mult = 1, eta_min = 0) {
  scheduled("CosineAnnealingWarmRestarts", optimizer, "restarts", list(T_0 = T_0, T_mult = T_mult, eta_min = eta_min))
}

CosineAnnealingLRWithWarmup <- function(optimizer, base_lr, end_lr, warmup_steps, decay_steps) {
  own <- need_optimizer("CosineAnnealingLRWithWarmup", optimizer)
  optimizer$lr <- base_lr
  own$initial <- NULL
  settings <- list(warmup_steps = warmup_steps, decay_steps = decay_steps, end_lr = end_lr)
  scheduled("CosineAnnealingLRWithWarmup", optimizer, "warmup", settings)
}

OneCycleLR <- function(optimizer, max_lr, total_steps = NULL, epochs = NULL, steps_per_epoch = NULL, pct_start = 0.3,
                       anneal_strategy = "cos", div_factor = 25, final_div_factor = 1e4, three_phase = FALSE) {
  if (is.null(total_steps)) {
    if (is.null(epochs) || is.null(steps_per_epoch)) raise("OneCycleLR: expected total_steps, or epochs and steps_per_epoch")
    need_size("OneCycleLR", "epochs", epochs)
    need_size("OneCycleLR", "steps_per_epoch", steps_per_epoch)
    total_steps <- epochs * steps_per_epoch
  }
  need_choice("OneCycleLR", "anneal_strategy", anneal_strategy, c("cos", "linear"))
  scheduled("OneCycleLR", optimizer, "one_cycle", list(
    max_lr = max_lr, total_steps = total_steps, pct_start = pct_start, linear = anneal_strategy == "linear",
    div_factor = div_factor, final_div_factor = final_div_factor, three_phase = three_phase
  ))
}

need_choice <- function(kind, name, value, choices) {
  if (is.character(value) && length(value) == 1L && value %in% choices) return(invisible())
  raise(sprintf("%s: %s: %s, expected one of '%s'", kind, name, brief(value), paste(choices, collapse = "', '")))
}

LambdaLR <- function(optimizer, lr_lambda) {
  if (!is.function(lr_lambda)) raise("LambdaLR: lr_lambda: expected a function")
  new_schedule("LambdaLR", optimizer, function(lr, t) {
    lr * lr_lambda(if (.Call(C_tracing)) t else as.vector(r_values(t)))
  })
}

SequentialLR <- function(optimizer, schedulers, milestones) {
  if (length(schedulers) != length(milestones) + 1L || is.unsorted(milestones)) {
    raise(sprintf(
      "SequentialLR: milestones: %s for %d schedules, expected the steps, in their order, at which the ones after the first begin",
      brief(milestones), length(schedulers)
    ))
  }
  of_this <- function(s) inherits(s, "LRScheduler") && identical(.subset2(s$optimizer, "self"), .subset2(optimizer, "self"))
  if (!all(vapply(schedulers, of_this, NA))) raise("SequentialLR: schedulers: expected schedules of the optimizer")
  parts <- lapply(schedulers, .subset2, "self")
  new_schedule("SequentialLR", optimizer, function(lr, t) {
    rate <- parts[[1L]]$rate(parts[[1L]]$base_lr, t)
    for (i in seq_along(milestones)) {
      part <- parts[[i + 1L]]
      begin <- as.integer(milestones[i])
      rate <- tensor_methods$where(t >= begin, part$rate(part$base_lr, t - begin), rate)
    }
    rate
  })
}

ReduceLROnPlateau <- function(optimizer, mode = "min", factor = 0.1, patience = 10, threshold = 1e-4,
                              threshold_mode = "rel", cooldown = 0, min_lr = 0, eps = 1e-8) {
  kind <- "ReduceLROnPlateau"
  need_choice(kind, "mode", mode, c("min", "max"))
  need_choice(kind, "threshold_mode", threshold_mode, c("rel", "abs"))
  own <- need_optimizer(kind, optimizer)
  self <- list2env(list(
    optimizer = optimizer, best = from_r(if (mode == "max") -Inf else Inf, "float32", scalar = TRUE),
    num_bad_epochs = from_r(0L, "int32", scalar = TRUE), cooldown_counter = from_r(0L, "int32", scalar = TRUE)
  ), parent = emptyenv())
  self$next_state <- function(metric) {
    .Call(
      C_plateau, list(own$rate, metric, self$best, self$num_bad_epochs, self$cooldown_counter),
      c(mode == "max", threshold_mode == "rel"), list(threshold, factor, min_lr, eps, patience, cooldown)
    )
  }
  self$next_state(self$best) # arguments that do not fit are an error here
  structure(list(self = self), class = c(kind, "LRScheduler"))
}

LRSchedulerGroup <- function(...) {
  schedulers <- list(...)
  if (length(schedulers) == 1L && is.list(schedulers[[1L]]) && !inherits(schedulers[[1L]], "LRScheduler")) {
    schedulers <- schedulers[[1L]]
  }
  if (length(schedulers) == 0L || !all(vapply(schedulers, inherits, NA, "LRScheduler"))) {
    raise("LRSchedulerGroup: expected schedules")
  }
  structure(list(
    schedulers = schedulers, step = function() for (scheduler in schedulers) scheduler$step()
  ), class = "LRSchedulerGroup")
}

print.LRSchedulerGroup <- function(x, ...) {
  cat("<LRSchedulerGroup of ", length(x$schedulers), " schedules>\n", sep = "")
  invisible(x)
}

plateau_step <- function(self, metric) {
  if (!is_tensor(metric)) metric <- from_r(metric, "float32")
  state <- list(.subset2(self$optimizer, "self")$rate, self$best, self$num_bad_epochs, self$cooldown_counter)
  .Call(C_assign_all, state, self$next_state(.Call(C_detach, metric)))
  invisible()
}
