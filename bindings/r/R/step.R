# Training steps as one compiled program.

compile_step <- function(f, ...) {
  if (!is.function(f)) raise(sprintf("compile_step: f: %s, expected a function", brief(f)))
  .Call(C_realize, unname(get_state_dict(list(...))))
  traced <- trace_function("compile_step", function() f(...))
  if (length(traced$results) == 0L && length(traced$before) == 0L) {
    raise("compile_step: the function returns nothing and changes nothing")
  }
  step <- .Call(C_compile, traced$nodes, traced$before, traced$after, traced$seeds, NULL)
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
