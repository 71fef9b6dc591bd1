test_that("layers compute what they say", {
  Tensor$manual_seed(1)
  layer <- Linear(3, 2)
  x <- matrix(rnorm(12), 4)
  expect_equal(dim(layer$weight), c(2L, 3L))
  expected <- x %*% t(as.matrix(layer$weight)) + rep(as.vector(layer$bias), each = 4)
  expect_same(layer(x), expected, tolerance = 1e-5)
  expect_null(Linear(3, 2, bias = FALSE)$bias)
  expect_output(print(layer), "weight: <Tensor 2 x 3 float32, requires_grad>")

  centred <- as.matrix(LayerNorm(3)(x))
  expect_equal(rowMeans(centred), rep(0, 4), tolerance = 1e-5)
  expect_equal(rowMeans(centred^2), rep(1, 4), tolerance = 1e-3)
  expect_polygrad(LayerNorm(4)(x), "LayerNorm: x: shape \\(4,3\\)")
  expect_same(RMSNorm(3)(x), x / sqrt(rowMeans(x^2) + 1e-6), tolerance = 1e-5)
  expect_null(RMSNorm(3, elementwise_affine = FALSE)$weight)
  images <- array(rnorm(2 * 3 * 4 * 5), c(2, 3, 4, 5))
  normal <- as.array(LayerNorm2d(3)(images))
  expect_equal(apply(normal, c(1, 3, 4), mean), array(0, c(2, 4, 5)), tolerance = 1e-5)
  expect_polygrad(LayerNorm2d(3)(x), "4 dimensions")
  groups <- as.array(GroupNorm(2, 4)(array(rnorm(24), c(1, 4, 6))))
  expect_equal(mean(groups[1, 1:2, ]), 0, tolerance = 1e-5)

  table <- Embedding(5, 2)
  expect_same(table(c(5L, 1L)), as.matrix(table$weight)[c(5, 1), ])
  expect_equal(dim(table(matrix(1:4, 2))), c(2L, 2L, 2L))
  expect_polygrad(Dropout(2), "expected 0 to 1")
})

test_that("dropout drops in training mode only", {
  x <- Tensor$ones(1000)
  layer <- Dropout(0.5)
  expect_equal(as.vector(layer(x)), rep(1, 1000))
  dropped <- as.vector(training(layer(x)))
  expect_setequal(dropped, c(0, 2))
  expect_lt(abs(mean(dropped) - 1), 0.2)
  expect_false(Tensor$training)
})

test_that("seeds make random tensors repeatable", {
  Tensor$manual_seed(42)
  first <- as.vector(Tensor$rand(3))
  Tensor$manual_seed(42)
  expect_identical(as.vector(Tensor$rand(3)), first)
  Tensor$manual_seed(NULL)
  set.seed(5)
  first <- as.vector(Tensor$randn(3))
  second <- as.vector(Tensor$randn(3))
  set.seed(5)
  expect_identical(as.vector(Tensor$randn(3)), first)
  expect_false(identical(first, second))
})

test_that("state is found and loaded", {
  net <- list(first = Linear(2, 3), inner = list(Linear(3, 1)))
  expect_named(get_state_dict(net), c("first.weight", "first.bias", "inner.0.weight", "inner.0.bias"))
  expect_length(get_parameters(list(net, net)), 4L)
  other <- list(first = Linear(2, 3), inner = list(Linear(3, 1)))
  load_state_dict(other, get_state_dict(net))
  expect_same(other$first$weight, as.array(net$first$weight))
  expect_polygrad(load_state_dict(other, list()), "missing \\(first.weight")
  expect_polygrad(
    load_state_dict(Linear(2, 3), get_state_dict(Linear(3, 3))),
    "Shape mismatch in layer `weight`: Expected shape \\(3, 2\\), but found \\(3, 3\\) in state dict."
  )
  expect_warning(load_state_dict(net, c(get_state_dict(other), list(extra = 1))), "the model has no extra")
  expect_no_warning(load_state_dict(net, c(get_state_dict(other), list(extra = 1)), verbose = FALSE))
})

test_that("training goes on from loaded state", {
  x <- Tensor(matrix(c(1, 3, 2, 4), 2), dtype = "float32")
  target <- Tensor(matrix(c(5, 11)), dtype = "float32")
  train <- function(state) {
    vapply(1:4, function(i) {
      state$optimizer$zero_grad()
      loss <- mean((state$model(x) - target)^2)
      loss$backward()
      state$optimizer$step()
      loss$item()
    }, 0)
  }
  for (kind in list(function(p) SGD(p, lr = 0.01, momentum = 0.9), function(p) Adam(p, lr = 0.1), function(p) AdamW(p, lr = 0.1))) {
    make <- function() {
      model <- Linear(2, 1)
      list(model = model, optimizer = kind(get_parameters(model)))
    }
    first <- make()
    train(first)
    saved <- lapply(get_state_dict(first), as.array)
    second <- make()
    load_state_dict(second, saved)
    expect_identical(train(second), train(first))
  }
})

line <- function(optimizer_of) {
  Tensor$manual_seed(42)
  model <- Linear(2, 1)
  optimizer <- optimizer_of(get_parameters(model))
  x <- Tensor(matrix(c(1, 3, 2, 4), 2), dtype = "float32")
  target <- Tensor(matrix(c(5, 11)), dtype = "float32")
  losses <- numeric(60)
  for (i in seq_along(losses)) {
    optimizer$zero_grad()
    loss <- mean((model(x) - target)^2)
    loss$backward()
    optimizer$step()
    losses[i] <- loss$item()
  }
  losses
}

test_that("optimizers lower the loss", {
  for (make in list(
    function(p) SGD(p, lr = 0.02), function(p) SGD(p, lr = 0.005, momentum = 0.9), function(p) Adam(p, lr = 0.2),
    function(p) AdamW(p, lr = 0.2), function(p) SGD(p, lr = 0.02, weight_decay = 0.01)
  )) {
    losses <- line(make)
    expect_lt(losses[60], losses[1] / 10)
  }
})

test_that("optimizers do what their formulas say", {
  p <- Tensor(c(1, 2), requires_grad = TRUE)
  optimizer <- SGD(list(p), lr = 0.1, momentum = 0.5, weight_decay = 0.2)
  value <- c(1, 2)
  b <- c(0, 0)
  for (i in 1:3) {
    optimizer$zero_grad()
    sum(p * p)$backward()
    optimizer$step()
    b <- 0.5 * b + 2 * value + 0.2 * value
    value <- value - 0.1 * b
  }
  expect_equal(as.vector(p), value, tolerance = 1e-6)

  p <- Tensor(c(1, 2), requires_grad = TRUE)
  optimizer <- AdamW(list(p), lr = 0.1, weight_decay = 0.2)
  value <- c(1, 2)
  first <- second <- c(0, 0)
  for (t in 1:3) {
    optimizer$zero_grad()
    sum(p * p)$backward()
    optimizer$step()
    g <- 2 * value
    first <- 0.9 * first + 0.1 * g
    second <- 0.999 * second + 0.001 * g^2
    value <- value * (1 - 0.1 * 0.2) - 0.1 * (first / (1 - 0.9^t)) / (sqrt(second / (1 - 0.999^t)) + 1e-8)
  }
  expect_equal(as.vector(p), value, tolerance = 1e-5)
})

test_that("optimizers check what they get", {
  expect_polygrad(SGD(Tensor(1)), "expected a list")
  expect_polygrad(SGD(list()), "empty")
  expect_polygrad(SGD(list(Tensor(1)), lr = -1), "^SGD: lr: -1, expected 0 or more")
  expect_polygrad(AdamW(list(Tensor(1)), betas = c(0.9, 1)), "^AdamW: b2: 1, expected 0 or more and less than 1")
  expect_polygrad(AdamW(list(Tensor(1)), betas = 0.9), "betas: 0.9, expected two numbers")
  expect_polygrad(Muon(list(Tensor(matrix(1)), Tensor$zeros())), "Muon: params\\[\\[2\\]\\]: a scalar")
  optimizer <- SGD(list(Tensor(1)), lr = 0.5)
  optimizer$lr <- 0.25
  expect_equal(optimizer$lr, 0.25)
  expect_output(print(optimizer), "SGD of 1 tensors, lr = 0.25")
})

test_that("compiled steps equal steps", {
  run <- function(compiled) {
    Tensor$manual_seed(3)
    net <- list(Linear(2, 4), Linear(4, 1))
    optimizer <- Adam(get_parameters(net), lr = 0.05)
    x <- Tensor(matrix(c(0, 0, 1, 1, 0, 1, 0, 1), 4), dtype = "float32")
    y <- Tensor(matrix(c(0, 1, 1, 0)), dtype = "float32")
    train <- function(x, y) {
      optimizer$zero_grad()
      loss <- mean((net[[2]](tanh(net[[1]](x))) - y)^2)
      loss$backward()
      if (!compiled) loss$realize()
      optimizer$step()
      loss
    }
    losses <- numeric(10)
    if (compiled) {
      step <- compile_step(train, x, y)
      for (i in 1:10) {
        step$run()
        losses[i] <- step$loss_value()
      }
      expect_gt(step$n_kernels, 0)
      expect_output(print(step), "compiled step")
    } else {
      for (i in 1:10) losses[i] <- train(x, y)$item()
    }
    c(losses, as.vector(net[[1]]$weight))
  }
  expect_equal(run(TRUE), run(FALSE), tolerance = 1e-6)
})

test_that("compiled steps take new inputs and new seeds", {
  x <- Tensor(c(1, 2, 3))
  step <- compile_step(function(x) list(sum(x * 2), x + 1), x)
  step$run()
  expect_equal(step$loss_value(), 12)
  x$assign(c(10, 20, 30))
  step$run()
  expect_equal(step$loss_value(), 120)
  expect_equal(as.vector(step$outputs[[2]]), c(11, 21, 31))
  noise <- compile_step(function() Tensor$rand(4))
  noise$run()
  first <- noise$outputs[[1]]
  noise$run()
  expect_false(identical(first, noise$outputs[[1]]))
})

test_that("a trace that cannot be compiled is an error and leaves everything as it was", {
  x <- Tensor(c(1, 2))
  expect_polygrad(compile_step(function(x) as.vector(x * 2), x), "a value is needed")
  expect_polygrad(compile_step(function(x) "a", x), "must return tensors")
  expect_polygrad(compile_step(function() NULL), "computes nothing")
  expect_error(compile_step(function(x) {
    x$assign(x * 5)
    stop("mine")
  }, x), "mine")
  expect_equal(as.vector(x), c(1, 2))
  expect_equal(as.vector(x * 2), c(2, 4))
})

test_that("iris is learned", {
  Tensor$manual_seed(1)
  net <- list(Linear(4, 16), Linear(16, 3))
  optimizer <- Adam(get_parameters(net), lr = 0.05)
  x <- Tensor(scale(as.matrix(iris[1:4])), dtype = "float32")
  for (i in 1:60) {
    optimizer$zero_grad()
    loss <- net[[2]](net[[1]](x)$relu())$cross_entropy(iris$Species)
    loss$backward()
    optimizer$step()
  }
  predicted <- as.vector(net[[2]](net[[1]](x)$relu())$argmax(2))
  expect_gt(mean(predicted == as.integer(iris$Species)), 0.95)
})

test_that("a loss that is read after the step is the loss before it", {
  w <- Tensor(c(3, 4), requires_grad = TRUE)
  optimizer <- SGD(list(w), lr = 0.5)
  loss <- sum(w^2)
  loss$backward()
  optimizer$step()
  expect_equal(loss$item(), 25)
  expect_same(w, c(0, 0))
})

test_that("parts without names are counted as in the files of other languages", {
  net <- Sequential(Linear(2, 3), function(x) x$relu(), Linear(3, 1, bias = FALSE))
  expect_identical(names(get_state_dict(net)), c("layers.0.weight", "layers.0.bias", "layers.2.weight"))
  expect_identical(names(get_state_dict(list(Tensor(1), b = Tensor(2), Tensor(3)))), c("0", "b", "2"))
})
