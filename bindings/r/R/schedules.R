# Learning rate schedules, with PyTorch's names and conventions. The rate and the number of steps are Tensors, so that a schedule
# can step inside and outside of a compiled step, and nothing is recompiled. nn.R makes most of them.

need_optimizer <- function(kind, optimizer) {
  if (inherits(optimizer, "OptimizerGroup")) raise(sprintf("%s: optimizer: a group; make a schedule for each of its optimizers", kind))
  if (!inherits(optimizer, "Optimizer")) raise(sprintf("%s: optimizer: expected an optimizer", kind))
  .subset2(optimizer, "self")
}

#' Makes a schedule; rate(base_lr, steps) returns the learning rate after some steps.
new_schedule <- function(kind, optimizer, rate) {
  own <- need_optimizer(kind, optimizer)
  # All schedules of an optimizer start from the rate that it had before the first schedule.
  if (is.null(own$initial_lr)) own$initial_lr <- .Call(C_clone, own$lr)
  self <- list2env(list(
    optimizer = optimizer, base_lr = own$initial_lr, epoch_counter = from_r(0L, "int32", scalar = TRUE), rate = rate
  ), parent = emptyenv())
  .Call(C_assign_all, list(own$lr), list(rate(self$base_lr, self$epoch_counter)))
  structure(list(self = self), class = c(kind, "LRScheduler"))
}

#' Sets the base rate of an optimizer, from which the next schedule starts.
restart <- function(optimizer, base_lr) {
  own <- need_optimizer("CosineAnnealingLRWithWarmup", optimizer)
  optimizer$lr <- base_lr
  own$initial_lr <- NULL
}

schedule_step <- function(self) {
  now <- self$epoch_counter + 1L
  rate <- .subset2(self$optimizer, "self")$lr
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

#' Makes a schedule that depends on a metric; next_state(...) returns the next rate, best metric and counters.
new_plateau <- function(optimizer, mode, next_state) {
  own <- need_optimizer("ReduceLROnPlateau", optimizer)
  self <- list2env(list(
    optimizer = optimizer, best = from_r(if (identical(mode, "max")) -Inf else Inf, "float32", scalar = TRUE),
    num_bad_epochs = from_r(0L, "int32", scalar = TRUE), cooldown_counter = from_r(0L, "int32", scalar = TRUE)
  ), parent = emptyenv())
  self$next_state <- function(metric) next_state(own$lr, metric, self$best, self$num_bad_epochs, self$cooldown_counter)
  self$next_state(self$best) # a trial call: invalid settings are an error here
  structure(list(self = self), class = c("ReduceLROnPlateau", "LRScheduler"))
}

LRSchedulerGroup <- function(...) {
  schedulers <- list(...)
  if (length(schedulers) == 1L && is.list(schedulers[[1L]]) && !inherits(schedulers[[1L]], "LRScheduler")) schedulers <- schedulers[[1L]]
  if (length(schedulers) == 0L || !all(vapply(schedulers, inherits, NA, "LRScheduler"))) raise("LRSchedulerGroup: expected schedules")
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
  state <- list(.subset2(self$optimizer, "self")$lr, self$best, self$num_bad_epochs, self$cooldown_counter)
  .Call(C_assign_all, state, self$next_state(.Call(C_detach, metric)))
  invisible()
}
