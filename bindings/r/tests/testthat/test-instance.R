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
  config <- gpt2_config
  weights <- gpt2_weights()
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
  expect_identical(generate(model, Tensor(1:3), 5, temperature = 0), tokens)
  expect_polygrad(load_hf_bytes(as.raw(c(1, 0)), weights), "config: the bytes: no text")
  expect_polygrad(generate(model, "a", 1, tokenizer = 3), "expected functions encode and decode")
  expect_polygrad(generate(model, NA_character_, 1, tokenizer = list()), "tokens: NA, expected texts")
  odd <- list(encode = function(text) 1, decode = function(tokens) NULL)
  expect_polygrad(generate(model, "a", 1, tokenizer = odd), "decode returned NULL, expected a string")
  expect_polygrad(generate(model, 1, 2.5), "max_new_tokens: 2.5, expected a whole number")
  expect_polygrad(load_hf(tempfile()), "^load_hf: path: open .*config.json: no such file")
  expect_polygrad(load_hf(NULL), "^load_hf: path: ")
})

test_that("weights that are missing, of other shapes or damaged are errors", {
  weights <- gpt2_weights()
  load <- function(weights, ...) load_hf_bytes(gpt2_config, weights, ...)
  tensors <- read_safetensors(weights)
  for (broken in list(as.raw(1:50), head(weights, -1L), raw())) {
    expect_polygrad(load(list(weights, broken)), "^load_hf_bytes: weights\\[2\\]: ")
  }
  without <- tensors[names(tensors) != "ln_f.weight"]
  expect_polygrad(load(write_safetensors(without)), 'weights: parameter "ln_f.weight" is missing, expected one of shape \\[8\\]')
  wrong <- write_safetensors(c(without, list(ln_f.weight = Tensor$ones(7))))
  expect_polygrad(load(wrong), 'weights\\[1\\]: tensor "ln_f.weight": shape \\[7\\], expected \\[8\\]')
  expect_length(load(wrong, strict = FALSE)$notes, 1L)
  expect_polygrad(load(write_safetensors(c(tensors, list(odd = 1)))), '"odd": the model has no such parameter')
  expect_length(load(write_safetensors(c(tensors, list(score.weight = 1))))$notes, 0L)
  expect_polygrad(load(weights, strict = NA), "strict")
})

test_that("files that an index names are loaded, and no others", {
  folder <- tempfile("sharded")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  weights <- gpt2_weights()
  tensors <- read_safetensors(weights)
  half <- seq_len(length(tensors) %/% 2)
  writeLines(sub("}", ', "eos_token_id": [3, 9]}', gpt2_config, fixed = TRUE), file.path(folder, "config.json"))
  write_safetensors(tensors[half], file.path(folder, "a.safetensors"))
  write_safetensors(tensors[-half], file.path(folder, "b.safetensors"))
  writeLines("not a model", file.path(folder, "other.safetensors"))
  index <- file.path(folder, "model.safetensors.index.json")
  map <- paste0('"', names(tensors), '" : "', ifelse(seq_along(tensors) %in% half, "a", "b"), '.safetensors"', collapse = ",\n")
  writeLines(paste0('{"metadata": {"total_size": 1},\n "weight_map": {', map, "}}"), index)
  model <- load_hf(folder)
  expect_length(model$notes, 0L)
  expect_identical(attr(model, "eos_token_id"), c(3L, 9L))
  whole <- load_hf_bytes(gpt2_config, weights)
  expect_identical(generate(model, 1:3, 4, temperature = 0), generate(whole, 1:3, 4, temperature = 0))
  # The same weights once more, and no index: one file is the model.
  unlink(index)
  writeBin(weights, file.path(folder, "model.safetensors"))
  model <- load_hf(folder)
  expect_length(model$notes, 0L)
  expect_identical(generate(model, 1:3, 4, temperature = 0), generate(whole, 1:3, 4, temperature = 0))
  unlink(file.path(folder, c("model.safetensors", "other.safetensors")))
  expect_length(load_hf(folder)$notes, 0L)
  writeLines('{"weight_map": {"x": "../a.safetensors"}}', index)
  expect_polygrad(load_hf(folder), "expected the name of a file")
  writeLines("{}", index)
  expect_polygrad(load_hf(folder), "weight_map")
  writeLines('{"weight_map": {"x": "gone.safetensors"}}', index)
  expect_polygrad(load_hf(folder), "gone.safetensors: .*no such file")
})

test_that("a generator takes and gives tokens step by step", {
  model <- load_hf_bytes(gpt2_config, gpt2_weights())
  rows <- Generator(model, rows = 2)
  expect_equal(c(rows$rows, rows$vocab, rows$room), c(2L, 11L, 6L))
  expect_output(print(rows), "<Generator of 2 texts, room for 6 of 11 tokens>", fixed = TRUE)
  rows$feed(list(c(1, 2, 3), 4))
  logits <- rows$logits
  expect_equal(dim(logits), c(2L, 11L))
  first <- rows$next_tokens()
  expect_equal(first, max.col(logits) - 1L)
  expect_equal(first[1], generate(model, 1:3, 1, temperature = 0)[1, 4])
  expect_equal(first[2], generate(model, 4, 1, temperature = 0)[1, 2])
  rows$reset()
  rows$sampling(temperature = 2, top_k = 3, top_p = 0.9, seed = 5)
  likely <- order(logits[1, ], decreasing = TRUE)[1:3] - 1
  for (i in 1:5) {
    rows$reset()
    rows$sampling(temperature = 2, top_k = 3, seed = i)
    rows$feed(list(c(1, 2, 3), 4))
    expect_true(rows$next_tokens()[1] %in% likely)
  }
  expect_polygrad(Generator(1), "expected an instance")
  expect_polygrad(rows$feed(list(1.5, 2)), "1.5, expected whole numbers")
  expect_polygrad(rows$sampling(temperature = -1), "temperature")
  expect_polygrad(rows$size, "a generator has sampling, feed")
})

test_that("texts are continued with a tokenizer, in pieces, until they end", {
  model <- load_hf_bytes(gpt2_config, gpt2_weights())
  tokenizer <- list(
    encode = function(text) match(strsplit(text, "")[[1]], letters) - 1L,
    decode = function(tokens) paste(letters[tokens + 1L], collapse = "")
  )
  tokens <- generate(model, c(1, 2), 3, temperature = 0)
  pieces <- character()
  text <- generate(model, "bc", 3, temperature = 0, tokenizer = tokenizer, on_token = function(piece) {
    pieces <<- c(pieces, piece)
    FALSE
  })
  expect_identical(text, tokenizer$decode(tokens[1, ]))
  expect_identical(paste0("bc", paste(pieces, collapse = "")), text)
  # Those of the package tok return objects with ids.
  like_tok <- list(encode = function(text) list(ids = tokenizer$encode(text)), decode = tokenizer$decode)
  expect_identical(generate(model, c("bc", "d"), 3, temperature = 0, tokenizer = like_tok)[1], text)
  end <- tokens[1, 4]
  expect_identical(
    generate(model, "bc", 3, temperature = 0, tokenizer = tokenizer, eos_token_id = end),
    tokenizer$decode(tokens[1, seq_len(match(end, tokens[1, -(1:2)]) + 1L)])
  )
  expect_polygrad(generate(model, "bc", 3), "no tokenizer")
  expect_polygrad(generate(model, "bc", 3, tokenizer = list()), "expected functions encode and decode")
})

test_that("generation shows its progress if asked", {
  model <- load_hf_bytes(gpt2_config, gpt2_weights())
  path <- tempfile()
  sink(file(path, "w") -> to, type = "message")
  tryCatch(generate(model, 1, 4, progress = TRUE, seed = 1), finally = {
    sink(type = "message")
    close(to)
  })
  shown <- paste(readLines(path, warn = FALSE), collapse = "\n")
  expect_match(shown, "100%", fixed = TRUE)
  expect_match(shown, "4 tokens in [0-9.]+ s, [0-9.]+ tokens/s")
  expect_silent(generate(model, 1, 4, seed = 1))
  expect_polygrad(generate(model, 1, 4, progress = 1), "progress: 1, expected TRUE or FALSE")
})

test_that("tokenizers of files", {
  file <- charToRaw('{"model": {"type": "WordLevel", "vocab": {"a": 0, "\u00e9": 7}}, "pre_tokenizer": {"type": "WhitespaceSplit"},
    "added_tokens": [{"id": 8, "content": "<s>", "special": true}]}')
  words <- Tokenizer(file)
  expect_identical(words$encode("a \u00e9 a<s>"), c(0L, 7L, 0L, 8L))
  expect_identical(words$encode(c("a", "", "\u00e9")), list(0L, integer(), 7L))
  expect_identical(words$decode(c(0, 7, 8)), "a \u00e9")
  expect_identical(words$decode(c(0, 8), special = TRUE), "a <s>")
  expect_polygrad(words$encode("<s>", allowed = "refuse"), "<s>")
  expect_polygrad(words$encode("b"), "not in the vocabulary")
  expect_polygrad(words$encode(3), "text: 3, expected texts")
  expect_polygrad(words$decode(3), "3 is no token")
  expect_equal(utf8ToInt(Tokenizer(charToRaw("AA== 0\nYQ== 1\n"), "r50k_base")$decode(c(1L, 0L))), c(97L, 26L)) # no zeros in texts
  expect_polygrad(Tokenizer(charToRaw("{}")), "no model")
  expect_polygrad(Tokenizer("/nowhere"), "/nowhere")
  expect_polygrad(Tokenizer(file, "gpt5"), "expected one of cl100k_base")
})
