# Whatever a method is called with, it returns or raises an error, and the session goes on.

odd <- list(
  NULL, NA, -1L, 0L, 99L, 2147483647, -2147483648, 1e300, NaN, Inf, 1.5, "a", "", character(), integer(), numeric(), list(),
  list(1, "a"), list(NULL), mean, quote(x), globalenv(), 1i, as.raw(3), TRUE, c(1, NA), c(0, 0), 1:20, matrix(1:4, 2),
  array(1, rep(1, 17)), structure(1, class = "integer64"), factor("a"), as.Date("2024-01-01"), Tensor(matrix(0, 0, 2)),
  Tensor(array(1, c(2, 1, 3))), Tensor(TRUE), Tensor("a" == "b")$sum()
)

methods <- ls(asNamespace("polygrad")$tensor_methods)
statics <- setdiff(ls(asNamespace("polygrad")$tensor_statics), "manual_seed")

survives <- function(f, ...) {
  result <- tryCatch(suppressWarnings(f(...)), error = function(e) e)
  if (is_tensor(result) && prod(dim(result)) < 1e4) tryCatch(result$realize(), error = function(e) e)
  invisible()
}

test_that("methods survive any argument", {
  x <- Tensor(m)
  for (name in methods) {
    f <- do.call("$", list(x, name))
    survives(f)
    for (value in odd) survives(f, value)
    for (value in odd) survives(f, 1L, value)
    if (!name %in% c("assign", "replace", "requires_grad_")) expect_identical(as.array(x), m, info = name)
    x <- Tensor(m)
  }
})

test_that("functions that make tensors survive any argument", {
  for (name in statics) {
    f <- do.call("$", list(Tensor, name))
    survives(f)
    for (value in odd) {
      # A huge shape is only a number until it is computed.
      survives(f, value)
      survives(f, value, 3)
      survives(f, 2, value)
    }
  }
  expect_equal(as.vector(Tensor(1) + 1), 2)
})

test_that("operators and brackets survive any operand", {
  x <- Tensor(m)
  for (op in c("+", "-", "*", "/", "^", "%%", "%/%", "%*%", "==", "<", "&", "|")) {
    for (value in odd) {
      survives(get(op), x, value)
      survives(get(op), value, x)
    }
  }
  for (value in odd) {
    survives(`[`, x, value)
    survives(`[`, x, value, 1)
    survives(`[`, x, 1, value)
    survives(function(v) x[1, 1] <- v, value)
    survives(function(v) x[v, 1] <- 1, value)
    survives(sum, x, axis = value)
    survives(`dim<-`, x, value)
  }
  expect_identical(as.array(x), m)
})

test_that("constructors, layers, optimizers and files survive any argument", {
  functions <- list(
    Tensor, Linear, LayerNorm, RMSNorm, GroupNorm, Embedding, Dropout, Conv1d, Conv2d, ConvTranspose1d,
    ConvTranspose2d, BatchNorm, InstanceNorm, Sequential, SGD, Adam, AdamW, get_parameters, get_state_dict,
    compile_step, mlp_instance, tabm_instance, nam_instance, instance_from_bundle, instance_from_ir, load_hf, load_hf_bytes,
    read_safetensors, write_safetensors, read_gguf, read_torch, read_bundle, write_bundle, device_available, dtype, is_tensor
  )
  layer <- Linear(2, 3)
  for (f in c(functions, layer, Embedding(3, 2), LayerNorm(3))) {
    for (value in odd) {
      # Sizes that would only show how much memory there is.
      if (is.numeric(value) && any(abs(value) > 1e6, na.rm = TRUE)) next
      survives(f, value)
      survives(f, value, 2)
      survives(f, 2, value)
    }
  }
  expect_equal(as.vector(Tensor(1) + 1), 2)
})
