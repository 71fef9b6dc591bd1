# Training steps as one compiled program.

compile_step <- function(f, ...) {
  inputs <- unname(get_state_dict(list(...)))
  .Call(C_realize, inputs)
  .Call(C_trace_begin)
  traced <- NULL
  tryCatch(
    {
      result <- f(...)
      if (is_tensor(result)) result <- list(result)
      if (!is.list(result) && !is.null(result)) raise("compile_step: the function must return tensors or NULL")
      if (!all(vapply(result, is_tensor, NA))) raise("compile_step: the function must return tensors or NULL")
      result <- lapply(result, function(x) {
        if (dtype(x) %in% without_storage) .Call(C_poly_cast_by_id, x, "float32") else x
      })
    },
    finally = traced <- .Call(C_trace_end)
  )
  if (length(result) == 0L && length(traced[[1L]]) == 0L) {
    raise("compile_step: the function returns nothing and changes nothing")
  }
  step <- .Call(C_compile_step, result, traced[[1L]], traced[[2L]], traced[[3L]])
  structure(list(step = step), class = "CompiledTrainingStep")
}

`$.CompiledTrainingStep` <- function(x, name) {
  step <- .subset2(x, "step")
  counts <- .Call(C_step_counts, step)
  switch(name,
    run = function() invisible(.Call(C_step_run, step)),
    loss_value = function() {
      loss <- .Call(C_step_output, step, 1L)
      if (length(loss) != 1L) raise("loss_value: the function does not return a tensor with one element")
      as.vector(loss)
    },
    outputs = lapply(seq_len(counts[3L]), function(i) .Call(C_step_output, step, i)),
    n_kernels = counts[1L],
    n_intermediates = counts[2L],
    raise(sprintf("step$%s: a compiled step has run(), loss_value(), outputs, n_kernels and n_intermediates", name))
  )
}

names.CompiledTrainingStep <- function(x) c("run", "loss_value", "outputs", "n_kernels", "n_intermediates")

print.CompiledTrainingStep <- function(x, ...) {
  cat("<compiled step of ", x$n_kernels, " kernels>\n", sep = "")
  invisible(x)
}
