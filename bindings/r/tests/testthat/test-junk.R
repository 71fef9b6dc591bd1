# Whatever a parameter is given, the call returns or raises an error of the package in the user's terms: no error of R's from inside, no
# name of a function of C, no warning of a conversion, and the session goes on.

junk <- list(
  NULL, NA, NA_integer_, -1L, 0L, 99L, -2147483648, 1e300, NaN, Inf, 1.5, "a", "", c("a", "b"), character(), numeric(), list(),
  list(1, "a"), list(NULL), mean, quote(x), quote(f(x)), globalenv(), 1i, as.raw(3), TRUE, c(1, NA), 1:20, matrix(1:4, 2),
  array(1, rep(1, 17)), structure(1, class = "integer64"), factor("a"), as.Date("2024-01-01"), data.frame(a = 1:2, b = c("x", "y")),
  Tensor(matrix(0, 0, 2)), Tensor(array(1, c(2, 1, 3))), y ~ x, list(zz = 1), getClass("numeric"), Variable("q", 1, 5)
)
# Numbers that would only show how much memory there is.
small <- Filter(function(value) !is.numeric(value) || !any(abs(value) > 1e6, na.rm = TRUE), junk[-31L])

# What R says of calls that cannot begin, and its own functions of the arguments that they are handed.
of_r <- "unused argument|is missing, with no default|invalid '(mode|times)' argument|arguments? passed to '"
of_inside <- "poly_|C_op|: arguments: |_handle\\b"

attempt <- function(where, f, args) {
  warned <- NULL
  result <- withCallingHandlers(
    tryCatch(do.call(f, args, quote = TRUE), error = function(e) e),
    warning = function(w) {
      warned <<- conditionMessage(w)
      invokeRestart("muffleWarning")
    }
  )
  wrong <- if (inherits(result, "error")) {
    text <- conditionMessage(result)
    if (!inherits(result, "polygrad_error") && !grepl(of_r, text) || grepl(of_inside, text)) text
  } else {
    warned
  }
  if (!is.null(wrong)) fail(sprintf("%s of %s: %s", where, paste(deparse(args, nlines = 2L), collapse = " "), wrong))
}

# Gives each parameter each value, with good values for those that have no default.
sweep_call <- function(where, f, good = list(), values = junk, skip = character()) {
  params <- formals(f)
  for (name in setdiff(names(params), skip)) {
    for (value in values) {
      args <- list()
      for (other in setdiff(names(params), "...")) {
        if (other == name) {
          args[other] <- list(value)
        } else if (!is.null(good[[other]])) {
          made <- good[[other]]
          args[other] <- list(if (is.function(made) && isTRUE(attr(made, "fresh"))) made() else made)
        }
      }
      if (name == "...") args <- c(args, good$dots, list(value))
      attempt(sprintf("%s, %s", where, name), f, args)
    }
  }
  succeed()
}
fresh <- function(f) structure(f, fresh = TRUE)
each <- function(where, f, values = junk) for (value in values) attempt(where, f, list(value))

package <- asNamespace("polygrad")
x <- fresh(function() Tensor(m))

test_that("methods of Tensor refuse junk", {
  good <- list(
    self = x, other = 2, dim = 1, axis = 1, index = Tensor(matrix(1L, 1, 1)), src = 1, x = 1, y = 2, weight = Tensor(matrix(1, 3, 4)),
    mask = TRUE, value = 1, key = x, functions = list(), formula = "a b -> b a", arg = list(NULL, NULL), padding = c(0, 0), b = 1,
    target = Tensor(c(1L, 2L)), repeats = 2, k = 1, dtype = "float32", reduce = "sum", values = Tensor(c(1, 2)),
    test_elements = 1, sorted_sequence = Tensor(c(1, 2)), mean = 0, invstd = 1, x2 = x, chunks = 2, kernel_size = 1, output_size = 2,
    fill_value = 1, groups = 1, size = 2, step = 1, steps = 1, params = c(1, 1, 1), q = 0.5, shifts = 1, w = Tensor(matrix(1, 3, 3)),
    indices = Tensor(matrix(1L, 1, 1)), targets = matrix(1, 1, 1), input_lengths = 1, target_lengths = 1
  )
  for (name in ls(package$tensor_methods)) {
    sweep_call(paste0("x$", name), package$tensor_methods[[name]], good, skip = "self")
  }
})

test_that("functions that make tensors, layers, optimizers and schedules refuse junk", {
  good <- list(shape = c(2, 3), fill_value = 1, stop = 3, n = 2, data = as.raw(1:24), url = "file:///nowhere", formula = "ij->ji")
  for (name in setdiff(ls(package$tensor_statics), "manual_seed")) {
    sweep_call(paste0("Tensor$", name), package$tensor_statics[[name]], good, small)
  }
  good <- list(
    in_features = 2, out_features = 3, normalized_shape = 4, dim = 4, num_groups = 2, num_channels = 4, num_features = 4, vocab_size = 5,
    embed_size = 4, in_channels = 2, out_channels = 2, kernel_size = 1, input_size = 2, hidden_size = 3, embed_dim = 4, num_heads = 2
  )
  layers <- c(
    "Linear", "LayerNorm", "LayerNorm2d", "RMSNorm", "GroupNorm", "Embedding", "Dropout", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "BatchNorm", "InstanceNorm", "LSTMCell", "GRUCell", "LSTM", "GRU", "MultiHeadAttention", "TransformerBlock",
    "Sequential"
  )
  for (name in layers) sweep_call(name, get(name, package), good, small)
  for (layer in list(Linear(2, 3), LayerNorm(3), Embedding(3, 2), Conv2d(2, 2, 1), LSTM(2, 3), BatchNorm(4), TransformerBlock(4, 2))) {
    each(class(layer)[1L], layer, small)
  }
  params <- function() list(Tensor(c(1, 2), requires_grad = TRUE))
  optimizer <- fresh(function() SGD(params(), lr = 0.1))
  good <- list(
    params = fresh(params), optimizer = optimizer, step_size = 2, milestones = c(1, 2), total_steps = 5, T_0 = 2, T_max = 3, max_lr = 1,
    warmup_steps = 1, warmup_epochs = 1, epochs = 3, initial_div_factor = 10, final_div_factor = 10, pct_start = 0.3, gamma = 0.1,
    total_iters = 4, max_norm = 1, clip_value = 1, lr_lambda = function(e) 1, schedulers = fresh(function() list(StepLR(optimizer(), 2)))
  )
  names <- c(
    "SGD", "LARS", "Muon", "Adam", "AdamW", "LAMB", "OptimizerGroup", "StepLR", "MultiStepLR", "ExponentialLR", "ConstantLR", "LinearLR",
    "PolynomialLR", "CosineAnnealingLR", "CosineAnnealingLRWithWarmup", "CosineAnnealingWarmRestarts", "OneCycleLR", "LambdaLR",
    "SequentialLR", "ReduceLROnPlateau", "LRSchedulerGroup", "clip_grad_norm", "clip_grad_value"
  )
  for (name in names) sweep_call(name, get(name, package), good)
  each("optimizer$lr <-", function(value) {
    o <- optimizer()
    o$lr <- value
  })
})

test_that("operators, brackets and R's generics refuse junk", {
  x <- Tensor(m)
  for (op in c("+", "/", "^", "%%", "%*%", "==", "<", "&")) {
    f <- get(op)
    each(paste("x", op), function(value) f(x, value))
    each(paste(op, "x"), function(value) f(value, x))
  }
  for (name in c("sum", "max", "range", "mean")) {
    for (param in c("axis", "keepdim", "na.rm")) {
      each(name, function(value) do.call(name, c(list(x), stats::setNames(list(value), param)), quote = TRUE))
    }
  }
  for (name in c("round", "log", "cbind", "rbind", "crossprod", "atan2")) {
    f <- get(name)
    each(name, function(value) do.call(f, list(x, value), quote = TRUE))
  }
  for (name in c("rowSums", "colMeans")) {
    f <- get(name)
    each(name, function(value) f(x, na.rm = value))
    each(name, function(value) f(x, dims = value))
  }
  each("ifelse", function(value) ifelse(x > 1, value, 0))
  each("diff", function(value) diff(x, value))
  each("diff", function(value) diff(x, 1, value))
  each("as.array", function(value) as.array(x, value))
  each("determinant", function(value) determinant(Tensor(diag(2)), value))
  each("dim<-", function(value) dim(x) <- value)
  each("x[v]", function(value) x[value])
  each("x[v, 1]", function(value) x[value, 1])
  each("x[[v, 1]]", function(value) x[[value, 1]])
  each("x[1, 1] <- v", function(value) x[1, 1] <- value)
  each("x[v, 1] <- 1", function(value) x[value, 1] <- 1)
  each("x[x > 1] <- v", function(value) x[x > 1] <- value)
  each("x$grad <- v", function(value) x$grad <- value)
  each("x$requires_grad <- v", function(value) x$requires_grad <- value)
  expect_identical(as.array(x), m)
  n <- Variable("n", 1, 5)
  # R itself refuses objects of its classes beside those of another class.
  plain <- Filter(function(value) !is.object(value) || inherits(value, c("Tensor", "SymInt", "integer64")), junk)
  for (op in c("+", "*", "%/%", "%%", "<", "==")) {
    f <- get(op)
    each(paste("n", op), function(value) f(n, value), plain)
    each(paste(op, "n"), function(value) f(value, n), plain)
  }
  each("bind", n$bind)
  for (name in c("Variable", "slc")) sweep_call(name, get(name, package), list(name = "n", min_val = 1, max_val = 5))
})

test_that("steps, states, files and models refuse junk", {
  good <- list(
    model = fresh(function() Linear(2, 3)), state_dict = get_state_dict(Linear(2, 3)), data = raw(3), ir = raw(3), weights = raw(3),
    tensors = list(a = Tensor(1)), config = gpt2_config, path = file.path(tempdir(), "nowhere"), f = function() Tensor(1), dots = list(x())
  )
  names <- c(
    "get_parameters", "get_state_dict", "compile_step", "TinyJit", "view_graph", "view_kernels", "Tensor", "training", "dtype", "is_tensor",
    "device_available", "instance_from_bundle", "instance_from_ir", "read_safetensors", "read_gguf", "read_torch", "read_bundle",
    "load_hf", "load_hf_bytes"
  )
  for (name in names) sweep_call(name, get(name, package), good)
  sweep_call("load_state_dict", load_state_dict, good, skip = "model")
  # A text would be a file.
  sweep_call("write_safetensors", write_safetensors, good, Filter(Negate(is.character), junk))
  sweep_call("write_bundle", write_bundle, good, Filter(Negate(is.character), junk))
  each("step", function(value) compile_step(function() value)$run())
  each("jit", function(value) for (i in 1:3) TinyJit(function(a) 1)(value))
  for (param in c("activation", "bias", "loss", "batch_size", "seed")) {
    each("mlp_instance", function(value) do.call(mlp_instance, c(list(c(2, 1)), stats::setNames(list(value), param)), quote = TRUE), small)
  }
  for (f in list(mlp_instance, tabm_instance, nam_instance)) each("an instance of sizes", f, small)
  net <- mlp_instance(c(2, 1), loss = "mse")
  good <- list(name = "x", value = 1, entry = "forward", kind = "sgd", data = raw(3), self = net)
  for (name in ls(package$instance_methods)) sweep_call(name, package$instance_methods[[name]], good, skip = c("self", "path"))
  each("forward", function(value) net$forward(x = value))
  each("train_step", function(value) net$train_step(x = matrix(1, 1, 2), y = value))
  model <- load_hf_bytes(gpt2_config, gpt2_weights(), max_seq_len = 6)
  good <- list(model = model, tokens = c(1, 2), max_new_tokens = 1)
  sweep_call("generate", generate, good, small, skip = c("max_new_tokens", "progress"))
  each("generate", function(value) generate(model, 1, value), small)
  for (name in c("sampling", "feed")) each(name, do.call("$", list(Generator(model), name)))
  expect_equal(as.vector(Tensor(1) + 1), 2)
})

test_that("errors name function, argument, what was given and what is expected", {
  x <- Tensor(m)
  expect_polygrad(x + factor(c("a", "b")), "^\\+: factor, expected numbers or logicals$")
  expect_polygrad(x$add(1:2), "^add: x: a vector of 2 numbers beside a tensor of 2 axes")
  expect_polygrad(x$cross_entropy("a"), "^cross_entropy: target: 'a', expected whole numbers$")
  expect_polygrad(x$gather(1, quote(stop("evaluated"))), "^gather: index: call, expected whole numbers$")
  expect_polygrad(x$assign("a"), "^assign: x: character, expected numbers or logicals$")
  expect_polygrad(x$sum(keepdim = 2), "^sum: keepdim: a number, expected TRUE or FALSE$")
  expect_polygrad(x$leaky_relu(as.Date("2024-01-01")), "^leaky_relu: neg_slope: Date, expected one number$")
  expect_polygrad(rowSums(x, dims = 3), "^rowSums: dims: 3, expected at most the 2 axes")
  expect_polygrad(mlp_instance(c(2, NA)), "^mlp_instance: layers: 2, NA, expected numbers")
  expect_polygrad(Variable("n", 1, 5)$bind(9), "^bind: value: 9 is outside of")
  expect_polygrad(LSTM(2, 3, num_layers = 1e9), "^LSTM: num_layers: 1e\\+09, expected 1 to 1000$")
  expect_equal(as.array(x + as.data.frame(m)), m + m, ignore_attr = TRUE)
})
