x4 <- matrix(c(0, 0, 1, 1, 0, 1, 0, 1), 4)
y4 <- matrix(c(0, 1, 1, 0))

test_that("families can be trained", {
  models <- list(
    mlp_instance(c(2, 8, 1), loss = "mse", batch_size = 4, seed = 1, activation = "tanh"),
    tabm_instance(c(2, 8, 1), loss = "mse", batch_size = 4, n_ensemble = 4),
    nam_instance(2, hidden_sizes = 8, loss = "mse", batch_size = 4, activation = "relu")
  )
  for (model in models) {
    model$set_optimizer("adam", lr = 0.03)
    losses <- vapply(1:80, function(i) model$train_step(x = x4, y = y4), 0)
    expect_lt(losses[80], losses[1])
    expect_equal(dim(model$forward(x = x4)$output), c(4L, 1L))
  }
})

test_that("a forward pass is what the parameters say", {
  model <- mlp_instance(c(2, 3), batch_size = 4, activation = "none")
  p <- model$params
  expect_named(p, c("layers.0.weight", "layers.0.bias"))
  expected <- x4 %*% t(p[["layers.0.weight"]]) + rep(p[["layers.0.bias"]], each = 4)
  expect_equal(model$forward(x = x4)$output, expected, tolerance = 1e-6)
  expect_equal(model$forward(x = x4[1:2, ])$output[1:2, ], expected[1:2, ], tolerance = 1e-6)
  model$set_buffer("layers.0.bias", c(1, 2, 3))
  expect_equal(model$buffers[["layers.0.bias"]], array(c(1, 2, 3)))
  expect_equal(unname(model$roles[c("x", "output")]), c("input", "output"))
  expect_output(print(model), "layers.0.weight \\(3, 2\\)")
})

test_that("gradients belong to parameters", {
  model <- mlp_instance(c(2, 1), loss = "mse", batch_size = 4)
  model$set_buffer("layers.0.weight", matrix(c(1, 2), 1))
  out <- model$value_and_grad(x = x4, y = y4)
  residual <- x4 %*% c(1, 2) - y4
  expect_equal(out$loss, mean(residual^2), tolerance = 1e-6)
  expect_equal(out$grads[["layers.0.weight"]], t(2 * t(x4) %*% residual / 4), tolerance = 1e-6)
  expect_equal(model$call("loss", x = x4, y = y4)$loss[1], out$loss, tolerance = 1e-6)
})

test_that("bundles keep the model, its optimizer and their bytes", {
  model <- mlp_instance(c(2, 8, 1), loss = "mse", batch_size = 4, seed = 5)
  model$set_optimizer("adam", lr = 0.05)
  for (i in 1:5) model$train_step(x = x4, y = y4)
  path <- tempfile(fileext = ".bundle")
  on.exit(unlink(path))
  bytes <- model$save_bundle(path)
  same <- instance_from_bundle(path)
  expect_identical(same$save_bundle(), bytes)
  expect_identical(same$forward(x = x4)$output, model$forward(x = x4)$output)
  expect_identical(
    vapply(1:5, function(i) same$train_step(x = x4, y = y4), 0),
    vapply(1:5, function(i) model$train_step(x = x4, y = y4), 0)
  )
  again <- instance_from_ir(model$export_ir(), model$export_weights())
  expect_identical(again$params, model$params)
  again$import_weights(same$export_weights())
  expect_length(again$notes, 0L)
})

test_that("training goes on in a fresh process", {
  model <- mlp_instance(c(2, 4, 1), loss = "mse", batch_size = 4, seed = 2)
  model$set_optimizer("adamw", lr = 0.05, weight_decay = 0.01)
  for (i in 1:3) model$train_step(x = x4, y = y4)
  folder <- tempfile("polygrad")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  model$save_bundle(file.path(folder, "m.bundle"))
  code <- c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
    "library(polygrad)",
    sprintf("model <- instance_from_bundle(%s)", deparse(file.path(folder, "m.bundle"))),
    "x <- matrix(c(0, 0, 1, 1, 0, 1, 0, 1), 4); y <- matrix(c(0, 1, 1, 0))",
    "losses <- vapply(1:3, function(i) model$train_step(x = x, y = y), 0)",
    sprintf("saveRDS(list(losses, model$params), %s)", deparse(file.path(folder, "out.rds")))
  )
  writeLines(code, file.path(folder, "run.R"))
  expect_equal(system2(file.path(R.home("bin"), "Rscript"), shQuote(file.path(folder, "run.R"))), 0L)
  there <- readRDS(file.path(folder, "out.rds"))
  expect_identical(there[[1]], vapply(1:3, function(i) model$train_step(x = x4, y = y4), 0))
  expect_identical(there[[2]], model$params)
})

test_that("wrong calls of instances are errors", {
  model <- mlp_instance(c(2, 1), batch_size = 4)
  expect_polygrad(model$forward(z = 1), "'z' is not an input")
  expect_polygrad(model$forward(x4), "must be named")
  expect_polygrad(model$forward(x = matrix(0, 5, 2)), "expected at most \\(4, 2\\)")
  expect_polygrad(model$train_step(x = x4), "optimizer|loss")
  expect_polygrad(model$set_optimizer("magic"), "magic")
  expect_polygrad(model$nothing(), "nothing")
  expect_polygrad(instance_from_bundle(as.raw(1:9)), "bundle")
  expect_polygrad(instance_from_bundle("no such file"), "does not exist")
  expect_polygrad(mlp_instance(3), "layers")
})

test_that("safetensors are written and read", {
  path <- tempfile(fileext = ".safetensors")
  on.exit(unlink(path))
  write_safetensors(list(b = Tensor(m, dtype = "float32"), a = c(1, 2)), path, metadata = '{"made":"here"}')
  back <- read_safetensors(path)
  expect_named(back, c("b", "a"))
  expect_same(back$b, m)
  expect_equal(dtype(back$b), "float32")
  expect_match(attr(back, "metadata"), "here")
  expect_polygrad(write_safetensors(list(1)), "named list")
  expect_polygrad(read_safetensors(as.raw(1:20)), "the header should have")
})

test_that("bundles are taken apart and put together", {
  model <- mlp_instance(c(2, 1))
  parts <- read_bundle(model$save_bundle())
  expect_identical(parts$ir, model$export_ir())
  expect_identical(parts$weights, model$export_weights())
  whole <- write_bundle(parts$ir, parts$weights, '{"k":1}')
  expect_equal(read_bundle(whole)$metadata, '{"k":1}')
  expect_identical(instance_from_bundle(whole)$params, model$params)
})

test_that("GPT-2 is loaded from bytes and generates", {
  shapes <- list(
    wte.weight = c(11, 8), wpe.weight = c(6, 8), h.0.ln_1.weight = 8, h.0.ln_1.bias = 8,
    h.0.attn.c_attn.weight = c(8, 24), h.0.attn.c_attn.bias = 24, h.0.attn.c_proj.weight = c(8, 8),
    h.0.attn.c_proj.bias = 8, h.0.ln_2.weight = 8, h.0.ln_2.bias = 8, h.0.mlp.c_fc.weight = c(8, 32),
    h.0.mlp.c_fc.bias = 32, h.0.mlp.c_proj.weight = c(32, 8), h.0.mlp.c_proj.bias = 8, ln_f.weight = 8, ln_f.bias = 8
  )
  config <- '{"model_type": "gpt2", "vocab_size": 11, "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 6}'
  Tensor$manual_seed(1)
  weights <- write_safetensors(lapply(shapes, function(s) Tensor$randn(shape = s)))
  folder <- tempfile("gpt2")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  writeLines(config, file.path(folder, "config.json"))
  writeBin(weights, file.path(folder, "model.safetensors"))
  model <- load_hf(folder)
  tokens <- generate(model, c(1, 2, 3), 5, temperature = 0)
  expect_equal(dim(tokens), c(1L, 8L))
  expect_identical(generate(load_hf_bytes(config, weights), c(1, 2, 3), 5, temperature = 0), tokens)
  set.seed(1)
  drawn <- generate(model, c(1, 2, 3), 5, top_k = 3)
  expect_true(all(drawn >= 0 & drawn < 11))
  set.seed(1)
  expect_identical(generate(model, c(1, 2, 3), 5, top_k = 3), drawn)
  expect_identical(generate(model, 1, 9, top_p = 0.8, seed = 3), generate(model, 1, 9, top_p = 0.8, seed = 3))
  rows <- generate(model, list(c(1, 2, 3), 4), 5, temperature = 0)
  expect_identical(rows[[1]], tokens[1, ])
  expect_length(rows[[2]], 6L)
  expect_identical(generate(model, c(1, 2, 3), 5, temperature = 0, eos_token_id = tokens[1, 4]), tokens[, 1:4, drop = FALSE])
  seen <- integer()
  stopped <- generate(model, c(1, 2, 3), 5, temperature = 0, on_token = function(t) {
    seen <<- c(seen, t)
    length(seen) == 2L
  })
  expect_identical(stopped, tokens[, 1:5, drop = FALSE])
  expect_identical(seen, tokens[1, 4:5])
  small <- load_hf_bytes(config, weights, dtype = "int8")
  expect_equal(dim(generate(small, c(1, 2, 3), 5)), c(1L, 8L))
  expect_polygrad(small$save_bundle(), "float32")
  expect_polygrad(load_hf_bytes(config, weights, dtype = "int4"), "int4")
  expect_polygrad(generate(model, 11, 1), "expected 0 to 10")
  expect_polygrad(generate(model, list(), 1), "rows")
  expect_polygrad(generate(model, 1, 1, top_p = 0), "top_p")
  expect_polygrad(generate(model, 1, -1), "negative")
  expect_warning(load_hf_bytes(config, write_safetensors(list(odd = 1))), "odd")
  expect_polygrad(load_hf(tempfile()), "config.json does not exist")
})
