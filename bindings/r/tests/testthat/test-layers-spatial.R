# The numbers are those of the Python binding for the same weights and inputs.

# A row by row tensor of some shape, with numbers that are easy to make in both languages.
sequence <- function(..., k = 1) {
  shape <- c(...)
  numbers <- ((seq_len(prod(shape)) - 1) * 7) %% 11 - 5
  Tensor(numbers / 8 * k, dtype = "float32")$reshape(shape = shape)
}

with_weights <- function(layer) {
  layer$weight$assign(sequence(dim(layer$weight)))
  if (!is.null(layer$bias)) layer$bias$assign(sequence(dim(layer$bias)))
  layer
}

expect_numbers <- function(tensor, shape, numbers) {
  expect_equal(tensor$shape, shape)
  expect_equal(as.vector(tensor$flatten()), numbers, tolerance = 1e-5)
}

test_that("convolutions compute what Python's do", {
  layer <- with_weights(Conv1d(2, 2, 3, stride = 2, padding = 1))
  expect_numbers(layer(sequence(1, 2, 5)), c(1, 2, 3), c(-1.078125, -0.5, -1.25, -0.140625, 0.5625, 0.328125))
  layer <- with_weights(Conv1d(2, 1, 2, padding = "same", dilation = 3))
  expect_numbers(layer(sequence(1, 2, 5)), c(1, 1, 5), c(-0.6875, -0.296875, -0.640625, -0.46875, -0.890625))
  layer <- with_weights(Conv2d(2, 2, c(2, 3), groups = 2, padding = "same"))
  expect_numbers(layer(sequence(1, 2, 2, 3)), c(1, 2, 2, 3), c(
    -0.8125, 0.4375, -0.8125, -0.5, -0.890625, -0.796875, 0.28125, 1.296875, 0.28125, 0.3125, 0.75, 0.1875
  ))
  layer <- with_weights(ConvTranspose1d(2, 1, 3, stride = 2, output_padding = 1, padding = 1))
  expect_numbers(
    layer(sequence(1, 2, 3)), c(1, 1, 6), c(-0.703125, -0.78125, -0.546875, -0.8125, -0.734375, -0.421875)
  )
  layer <- with_weights(ConvTranspose2d(1, 2, 2, stride = 2, bias = FALSE))
  expect_numbers(layer(sequence(1, 1, 2, 2)), c(1, 2, 4, 4), c(
    0.390625, -0.15625, -0.15625, 0.0625, 0.15625, -0.390625, -0.0625, 0.15625, 0.15625, -0.0625, -0.390625, 0.15625,
    0.0625, -0.15625, -0.15625, 0.390625, -0.078125, 0.234375, 0.03125, -0.09375, -0.3125, 0, 0.125, 0, -0.03125,
    0.09375, 0.078125, -0.234375, -0.125, 0, 0.3125, 0
  ))
  expect_null(layer$bias)
})

test_that("convolutions begin as Python's do", {
  Tensor$manual_seed(3)
  layer <- Conv2d(2, 2, 2)
  expect_numbers(layer$weight, c(2, 2, 2, 2), c(
    0.260602, -0.277378, -0.209751, -0.344516, -0.009286, 0.11555, 0.0834, -0.091288, -0.348848, 0.01604, -0.125118,
    -0.140883, 0.101966, 0.074427, -0.287222, -0.294065
  ))
  expect_numbers(layer$bias, 2, c(-0.132632, 0.185916))
  Tensor$manual_seed(NULL)
  expect_length(get_parameters(layer), 2L)
})

test_that("norms compute what Python's do", {
  expect_numbers(with_weights(InstanceNorm(2))(sequence(1, 2, 4)), c(1, 2, 4), c(
    0.195647, -0.953259, -0.296741, -1.445647, 0.299997, -0.099982, 0.599982, 0.200003
  ))
  layer <- with_weights(BatchNorm(2))
  expect_numbers(training(layer(sequence(2, 2, 3))), c(2, 2, 3), c(
    0.192824, -1.18112, -0.396009, 0.615952, 0.323191, 0.030429, -1.573676, -0.788565, -0.003454, 0.469571, 0.17681,
    -0.115952
  ))
  expect_numbers(training(layer(sequence(2, 2, 3, k = 2))), c(2, 2, 3), c(
    0.192843, -1.181134, -0.396004, 0.61596, 0.323192, 0.030424, -1.573698, -0.788569, -0.003439, 0.469576, 0.176808,
    -0.11596
  ))
  expect_numbers(layer$running_mean, 2, c(-0.0302083, 0))
  expect_numbers(layer$running_var, 2, c(0.903151, 0.917188))
  expect_equal(as.vector(layer$num_batches_tracked), 2)
  evaluated <- layer(sequence(2, 2, 3))
  expect_numbers(evaluated, c(2, 2, 3), c(
    -0.233833, -0.80928, -0.480453, 0.413151, 0.28263, 0.15211, -0.973694, -0.644867, -0.31604, 0.34789, 0.21737, 0.086849
  ))
  state <- get_state_dict(layer)
  expect_named(state, c("weight", "bias", "num_batches_tracked", "running_mean", "running_var"))
  other <- load_state_dict(BatchNorm(2), state)
  expect_same(other(sequence(2, 2, 3)), as.array(evaluated), tolerance = 1e-6)
  expect_length(get_parameters(layer), 2L)
  free <- BatchNorm(2, affine = FALSE, track_running_stats = FALSE)
  expect_named(get_state_dict(free), "num_batches_tracked")
  expect_equal(as.vector(free(sequence(2, 2, 3))$mean(c(1, 3))), c(0, 0), tolerance = 1e-6)
})

test_that("sequences train, in a compiled step as outside", {
  make <- function() {
    Tensor$manual_seed(7)
    net <- Sequential(conv = Conv1d(2, 3, 3, padding = "same"), BatchNorm(3), function(x) x$relu()$mean(3), out = Linear(3, 1))
    Tensor$manual_seed(NULL)
    net
  }
  x <- sequence(4, 2, 5)
  plain <- make()
  expect_named(get_state_dict(plain), c(
    "layers.conv.weight", "layers.conv.bias", "layers.1.weight", "layers.1.bias", "layers.1.num_batches_tracked",
    "layers.1.running_mean", "layers.1.running_var", "layers.out.weight", "layers.out.bias"
  ))
  expect_output(print(plain), "layers: <Conv1d> <BatchNorm> <function> <Linear>")
  train <- function(net, optimizer) {
    loss <- (net(x) - 1)$square()$mean()
    loss$backward()
    optimizer$step()
    optimizer$zero_grad()
    loss
  }
  optimizer <- SGD(get_parameters(plain), lr = 0.1)
  losses <- vapply(1:3, function(i) as.vector(training(train(plain, optimizer))), 0)
  expect_lt(losses[3], losses[1])

  compiled <- make()
  optimizer <- SGD(get_parameters(compiled), lr = 0.1)
  step <- training(compile_step(function(...) train(compiled, optimizer), compiled, optimizer, x))
  stepped <- vapply(1:3, function(i) {
    step$run()
    step$loss_value()
  }, 0)
  expect_equal(stepped, losses, tolerance = 1e-5)
  for (name in c("layers.1.running_mean", "layers.1.running_var", "layers.conv.weight")) {
    expect_same(get_state_dict(compiled)[[name]], as.array(get_state_dict(plain)[[name]]), tolerance = 1e-5)
  }
  expect_equal(as.vector(get_state_dict(compiled)[["layers.1.num_batches_tracked"]]), 3)
  expect_equal(Sequential(list(function(x) x + 1, function(x) x * 2))(3), 8)
})

test_that("layers name a wrong argument", {
  expect_polygrad(Linear("x", 2), "Linear: in_features: a string, expected a whole number")
  expect_polygrad(Linear(2, 1.5), "Linear: out_features: 1.5")
  expect_polygrad(Linear(2, -1), "Linear: out_features: -1")
  expect_polygrad(Linear(2, NULL), "Linear: out_features: NULL")
  expect_polygrad(Linear(2, 3, bias = "no"), "Linear: bias: a string, expected TRUE or FALSE")
  expect_polygrad(LayerNorm(NA), "LayerNorm: normalized_shape: NA, expected a whole number")
  expect_polygrad(RMSNorm(TRUE + 0.5), "RMSNorm: dim: 1.5")
  expect_polygrad(GroupNorm(2, "a"), "GroupNorm: num_channels: a string")
  expect_polygrad(Embedding(c(1, 2), 3), "Embedding: vocab_size: a number of length 2, expected one whole number")
  expect_polygrad(Conv1d(2, 2, c(3, 3)), "Conv1d: kernel_size: 2 numbers, expected 1$")
  expect_polygrad(Conv2d(2, 2, c(3, 3, 3)), "Conv2d: kernel_size: 3 numbers, expected 1 or 2")
  expect_polygrad(Conv2d(3, 4, 3, groups = 2), "Conv2d: groups: 2, expected a divisor of in_channels, 3")
  expect_polygrad(Conv2d(2, 2, 3, padding = "valid"), 'Conv2d: padding: "valid", expected "same" or numbers')
  expect_polygrad(Conv2d(2, 2, 3, padding = "same", stride = 2), "stride of 1")
  expect_polygrad(ConvTranspose2d(2, 2, 3, output_padding = -1), "ConvTranspose2d: output_padding: -1")
  expect_polygrad(BatchNorm(-1), "BatchNorm: num_features: -1, expected 0 or more")
  expect_polygrad(InstanceNorm(2, affine = NA), "InstanceNorm: affine: NA, expected TRUE or FALSE")
  expect_polygrad(Sequential(3), "Sequential: expected layers and functions")
})

test_that("volumes are convolved", {
  layer <- Conv3d(2, 4, 3, padding = "same")
  x <- array(rnorm(2 * 5 * 5 * 5), c(1, 2, 5, 5, 5))
  expect_equal(dim(layer(x)), c(1L, 4L, 5L, 5L, 5L))
  w <- as.array(layer$weight)
  expect_equal(as.array(layer(x))[1, 2, 3, 3, 3], sum(w[2, , , , ] * x[1, , 2:4, 2:4, 2:4]) + as.vector(layer$bias)[2], tolerance = 1e-5)
})
