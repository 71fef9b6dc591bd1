test_that("backward adds to the gradients of leaves", {
  x <- Tensor(c(1, 2, 3), requires_grad = TRUE)
  loss <- sum(x^3)
  expect_true(loss$requires_grad)
  loss$backward()
  expect_same(x$grad, array(3 * c(1, 4, 9)))
  sum(x)$backward()
  expect_same(x$grad, array(3 * c(1, 4, 9) + 1))
  x$grad <- NULL
  expect_null(x$grad)
})

test_that("gradients cross computed tensors", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  y <- x * x
  expect_equal(as.vector(y), c(1, 4))
  z <- exp(y)
  as.vector(z)
  (sum(z) + sum(y))$backward()
  expect_equal(as.vector(x$grad), 2 * c(1, 2) * exp(c(1, 4)) + 2 * c(1, 2))
})

test_that("gradients can be weighted, taken lazily and taken again", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  (x * 3)$backward(c(10, 100))
  expect_same(x$grad, array(c(30, 300)))
  y <- Tensor(c(2, 3))
  first <- sum(y^3)$gradient(y)[[1]]
  expect_equal(as.vector(first), 3 * c(4, 9))
  expect_equal(as.vector(sum(first)$gradient(y)[[1]]), 6 * c(2, 3))
  other <- Tensor(1)
  expect_equal(as.vector(sum(y)$gradient(other)[[1]]), 0)
})

test_that("what backward cannot do is an error", {
  expect_polygrad(Tensor(c(1, 2), requires_grad = TRUE)$backward(), "2 elements")
  expect_polygrad(Tensor(1)$backward(), "requires a gradient")
  expect_polygrad(Tensor(1L, requires_grad = TRUE), "int32, expected a floating type")
})

test_that("detach cuts, and requires_grad can be taken back", {
  x <- Tensor(2, requires_grad = TRUE)
  expect_false(x$detach()$requires_grad)
  sum(x * x$detach())$backward()
  expect_equal(as.vector(x$grad), 2)
  x$requires_grad <- FALSE
  expect_false((x * 2)$requires_grad)
  y <- Tensor(x, requires_grad = TRUE)
  expect_false(x$requires_grad)
  expect_true(y$requires_grad)
})

test_that("gradients agree with differences", {
  set.seed(3)
  at <- matrix(rnorm(6), 2)
  functions <- list(
    function(x) sum(tanh(x) %*% t(x)), function(x) sum(x$softmax(2)[, 1]), function(x) mean(x$layernorm()^3),
    function(x) sum(max(x, axis = 2)), function(x) (x * x)$logsumexp(), function(x) sum(t(x)[2:3, ]^2)
  )
  for (f in functions) {
    x <- Tensor(at, requires_grad = TRUE)
    f(x)$backward()
    numeric <- at
    for (i in seq_along(at)) {
      step <- replace(at * 0, i, 1e-6)
      numeric[i] <- (as.vector(f(Tensor(at + step))) - as.vector(f(Tensor(at - step)))) / 2e-6
    }
    expect_same(x$grad, numeric, tolerance = 1e-6)
  }
})
