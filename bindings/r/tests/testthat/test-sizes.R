test_that("Variables are numbers between bounds, with and without a value", {
  n <- Variable("n", 1, 8)
  expect_equal(c(n$min, n$max), c(1L, 8L))
  expect_polygrad(n$val, "n has no value: bind its variables")
  three <- n$bind(3)
  expect_identical(three$val, 3L)
  expect_identical((three * 2 + 1)$val, 7L)
  expect_true((10 - three) %/% 2 == (10 - n$bind(3)) %/% 2)
  expect_identical(((10 - three) %/% 2)$val, 3L)
  expect_identical((-three %% 5)$val, 2L)
  expect_identical(three$minimum(2)$val, 2L)
  expect_identical(three$maximum(2)$val, 3L)
  expect_identical(as.integer(three), 3L)
  expect_identical(as.double(three), 3)
  expect_identical((three * 2)$variables, c(n = 3L))
  expect_identical((n * Variable("m", 0, 2)$bind(1))$variables, c(m = 1L, n = NA))
  expect_identical(three$unbind()[[2]], 3L)
  expect_true(three$unbound == n)
  expect_identical(format(n * 2 + 1), "n*2+1")
  expect_output(print(three), "<n=3>", fixed = TRUE)
})

test_that("sizes are compared as expressions, and ordered where values do not matter", {
  n <- Variable("n", 1, 8)
  expect_true((n * 4) %/% 4 == n)
  expect_false(n == n + 1)
  expect_true(n != Variable("n", 1, 9))
  expect_true(n < 9)
  expect_false(n > 8)
  expect_true(0 < n)
  expect_true(n <= 8)
  expect_true(n + 1 > n)
  expect_polygrad(n < 5, "the order of 5 and n depends on values")
  expect_identical(n - n, 0L)
})

test_that("what Variables cannot do is an error", {
  n <- Variable("n", 1, 8)
  expect_polygrad(Variable("1x", 1, 8), "name: '1x', expected letters")
  expect_polygrad(Variable("n", 8, 1), "8 to 1, expected an interval")
  expect_polygrad(Variable("n", 1, 2^40), "interval of int32")
  expect_polygrad(n$bind(9), "9")
  expect_polygrad((n + 1)$bind(2), "no Variable")
  expect_polygrad(n / 2, "%/% divides")
  expect_polygrad(n + 1.5, "1.5, expected a whole number")
  expect_polygrad(n + "a", "expected a whole number")
  expect_polygrad(n$value, "no such method")
  expect_polygrad(Tensor(1)$sum(axis = n), "a Variable, expected")
  expect_polygrad(slc(1, "a"), "slc: end")
  expect_polygrad(slc(1, 2, 0), "step: 0")
})

test_that("Variables are sizes, bounds and indices of tensors", {
  n <- Variable("n", 1, 4)
  x <- Tensor(c(1, 2, 3, 4))
  expect_equal(vapply(1:4, function(i) sum(x[slc(1, n$bind(i))])$item(), 0), cumsum(1:4))
  expect_equal(vapply(1:4, function(i) as.vector(x[n$bind(i)]), 0), c(1, 2, 3, 4))
  expect_equal(as.vector(x[slc(n$bind(2), NA)]), c(2, 3, 4))
  part <- x[slc(1, n$bind(3))]
  expect_identical(dim(part), 3L)
  expect_identical(part$shape[[1]]$val, 3L)
  expect_equal(as.vector(part * 2), c(2, 4, 6))
  expect_equal(as.vector(part[2]), 2)
  expect_equal(as.vector(part$getitem(slc(2, 3))), c(2, 3))
  y <- Tensor(matrix(1:12 + 0, 3))
  expect_equal(as.matrix(y[, slc(1, n$bind(2))]), matrix(1:6 + 0, 3))
  expect_equal(as.matrix(y[, slc(1, n$bind(2))] %*% Tensor$ones(n$bind(2), 2, dtype = "float64")), matrix(c(5, 7, 9), 3, 2))
  expect_equal(as.matrix(Tensor$zeros(n$bind(2), 3) + 1), matrix(1, 2, 3))
  expect_equal(as.matrix(y[, slc(1, n$bind(2))]$zeros_like() + y[, slc(1, n$bind(2))]), matrix(1:6 + 0, 3))
  expect_equal(as.vector(Tensor$arange(0, n$bind(3))), 0:2)
  expect_equal(as.vector(x * n$bind(2)), c(2, 4, 6, 8))
  expect_equal(Tensor(n$bind(2))$item(), 2L)
  expect_equal(as.vector(x$shrink(list(c(2, n$bind(3))))), c(2, 3))
  expect_output(print(x[slc(1, n)]), "<Tensor n float64>", fixed = TRUE)
  expect_polygrad(as.array(x[slc(1, n)]), "n has no value")
  expect_polygrad(part[-1], "symbolic size takes a position")
  expect_polygrad(x[slc(1, n, -1)], "positive number")
  # What is written to a part with a Variable leaves the rest.
  z <- Tensor(c(1, 2, 3, 4))
  z[slc(1, n$bind(2))] <- 0
  expect_equal(as.vector(z), c(0, 0, 3, 4))
})

test_that("slices without Variables are slices", {
  x <- Tensor(c(5, 6, 7, 8))
  expect_equal(as.vector(x[slc(2, 3)]), c(6, 7))
  expect_equal(as.vector(x[slc(step = 2)]), c(5, 7))
  expect_equal(as.vector(x[slc(3)]), c(7, 8))
  expect_output(print(slc(1, Variable("n", 1, 2))), "<slc 1, n, 1>", fixed = TRUE)
})

test_that("layers take symbolic sizes", {
  n <- Variable("n", 1, 6)
  set.seed(1)
  Tensor$manual_seed(1)
  x <- Tensor(array(rnorm(48), c(2, 6, 4)), dtype = "float32")
  images <- Tensor(array(rnorm(6 * 3 * 5 * 5), c(6, 3, 5, 5)), dtype = "float32")
  first <- function(f) function(x) {
    out <- f(x)
    if (is_tensor(out)) out else out[[1]]
  }
  layers <- list(
    Linear(4, 3), LayerNorm(4), RMSNorm(4), MultiHeadAttention(4, 2), TransformerBlock(4, 2), first(LSTM(4, 3)),
    first(LSTM(4, 3, batch_first = FALSE, bidirectional = TRUE)), first(LSTMCell(4, 3))
  )
  for (layer in layers) {
    expect_equal(as.array(layer(x[, slc(1, n$bind(3)), ])), as.array(layer(x[, 1:3, ])), tolerance = 1e-5)
  }
  for (layer in list(Conv2d(3, 2, 3), GroupNorm(1, 3), InstanceNorm(3), BatchNorm(3))) {
    expect_equal(as.array(layer(images[slc(1, n$bind(3)), , , ])), as.array(layer(images[1:3, , , ])), tolerance = 1e-5)
  }
  words <- Embedding(5, 4)
  ids <- Tensor(matrix(1:4, 2))
  expect_equal(as.array(words(ids[, slc(1, n$bind(1))])), as.array(words(ids[, 1, drop = FALSE])))
  # Running statistics in a captured function are those of each batch's size.
  norms <- list(BatchNorm(3), BatchNorm(3))
  step <- TinyJit(function(x) norms[[1]](x))
  training(for (k in c(2, 3, 5)) {
    step(images[slc(1, n$bind(k)), , , ])
    norms[[2]](images[seq_len(k), , , ])
  })
  expect_equal(as.array(norms[[1]]$running_var), as.array(norms[[2]]$running_var), tolerance = 1e-5)
  expect_true(x[, slc(1, n), ]$numel() == n * 8)
})
