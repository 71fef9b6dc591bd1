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
  second <- sum(first)$gradient(y)[[1]]
  expect_equal(as.vector(first), 3 * c(4, 9))
  expect_equal(as.vector(second), 6 * c(2, 3))
  other <- Tensor(1)
  expect_polygrad(sum(y)$gradient(y, other), "does not depend on target 2")
  expect_equal(lapply(sum(y)$gradient(other, y, materialize_grads = TRUE), as.vector), list(0, c(1, 1)))
  expect_polygrad(y$gradient(y), "gradient: the tensor has shape (2), expected one element", fixed = TRUE)
  expect_polygrad(sum(y)$gradient(3), "targets: expected Tensors")
  expect_polygrad((x * 1)$backward(Tensor(1:3)), "backward: gradient: shape (3), expected that of the tensor, (2)", fixed = TRUE)
  z <- sum(x * 3)
  expect_equal(as.vector(z$gradient(x, gradient = Tensor(10))[[1]]), c(30, 30))
})

test_that("what backward cannot do is an error", {
  expect_polygrad(Tensor(c(1, 2), requires_grad = TRUE)$backward(), "shape (2), expected one element", fixed = TRUE)
  expect_polygrad(Tensor(1)$backward(), "requires a gradient")
  expect_polygrad(Tensor(1L, requires_grad = TRUE), "int32, expected a floating type")
})

test_that("detach cuts, and requires_grad can be taken back", {
  x <- Tensor(2, requires_grad = TRUE)
  expect_false(x$detach()$requires_grad)
  sum(x * x$detach())$backward()
  expect_equal(as.vector(x$grad), 2)
  x$requires_grad <- FALSE
  expect_null((x * 2)$requires_grad)
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

test_that("tensors on the way have gradients where they are asked for, whether they are computed or not", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  h <- x * 2
  k <- (h * 3)$realize()
  sum(k * h)$backward()
  expect_null(h$grad)
  x$grad <- NULL
  h$requires_grad <- TRUE
  k$requires_grad <- TRUE
  loss <- sum(k * h)
  loss$backward()
  expect_same(x$grad, array(24 * c(1, 2)))
  expect_same(k$grad, array(2 * c(1, 2)))
  expect_same(h$grad, array(12 * c(1, 2)))
  expect_null(loss$grad)
  expect_null((x * 2)$grad)
  # They add up, read or not, and can be forgotten and set.
  (sum(h) * 5)$backward()
  expect_same(h$grad, array(12 * c(1, 2) + 5))
  h$realize()
  sum(h)$backward()
  sum(h)$backward()
  expect_same(h$grad, array(12 * c(1, 2) + 7))
  h$grad <- NULL
  expect_null(h$grad)
  h$grad <- Tensor(c(10, 20))
  sum(h * h)$backward()
  expect_same(h$grad, array(c(10, 20) + 4 * c(1, 2)))
  expect_same(sum(h * h)$gradient(h, x)[[1]], array(4 * c(1, 2)))
})

test_that("a gradient on the way is that of the time of backward", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  h <- x * x
  row <- h[2:1]
  h$requires_grad <- TRUE
  row$requires_grad <- TRUE
  sum(row^3)$backward()
  SGD(list(x), lr = 1)$step()
  gc()
  expect_same(h$grad, array(3 * c(1, 16)))
  expect_same(row$grad, array(3 * c(16, 1)))
  as.vector(h) # which lets the view stand for a view of memory
  expect_same(row$grad, array(3 * c(16, 1)))
  for (computed in c(FALSE, TRUE)) {
    k <- x * 2
    if (computed) k$realize()
    k$requires_grad <- TRUE
    sum(k * x)$backward()
    k$assign(c(0, 0))
    expect_same(k$grad, as.array(x))
  }
  first <- Tensor(2, requires_grad = TRUE)
  y <- first * 3
  y$requires_grad <- TRUE
  (y^3)$backward()
  expect_equal(as.vector(sum(y$grad)$gradient(first)[[1]]), 6 * 6 * 3)
})

test_that("gradients on the way are there in compiled functions", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  f <- TinyJit(function(v) {
    h <- x * v
    h$requires_grad <- TRUE
    sum(h^3)$backward()
    out <- h$grad
    x$grad <- NULL
    out
  })
  for (i in 1:4) expect_same(f(Tensor(c(i, 1))), array(3 * c(i, 2)^2))
})

test_that("a graph that is used again and again does not keep the past", {
  x <- Tensor(c(1, 2), requires_grad = TRUE)
  h <- x * 2
  h$requires_grad <- TRUE
  for (i in 1:5) sum(h * i)$backward()
  live <- function() {
    gc()
    .Call(polygrad:::C_live_nodes)
  }
  before <- live()
  expect_same(h$grad, array(c(15, 15)))
  for (i in 1:30) {
    x$grad <- NULL
    h$grad <- NULL
    sum(h * 2)$backward()
  }
  expect_lte(live(), before + 20)
  expect_same(h$grad, array(c(2, 2)))
})

test_that("results of no_grad do not require gradients", {
  w <- Tensor(c(1, 2), requires_grad = TRUE)
  y <- no_grad(w * 2)
  expect_null(y$requires_grad)
  (y * w)$sum()$backward()
  expect_equal(as.vector(w$grad), c(2, 4))
  expect_error(no_grad(stop("inside")), "inside")
  expect_true((w * 2)$requires_grad)
})

test_that("a changed copy of a parameter is a parameter", {
  changes <- list(
    function(w) { w[1, 2] <- 5; w }, function(w) { w[3] <- 5; w }, function(w) { w[w == 3] <- 5; w },
    function(w) w$setitem(1L, 2L, value = 5)
  )
  for (change in changes) {
    before <- Tensor(matrix(c(1, 2, 3, 4), 2), requires_grad = TRUE)
    w <- change(before)
    (w * w)$sum()$backward()
    expect_equal(as.array(w$grad), matrix(c(2, 4, 10, 8), 2))
    SGD(list(w), lr = 0.5)$step()
    expect_equal(as.array(w), matrix(0, 2, 2))
    expect_equal(as.array(before), matrix(c(1, 2, 3, 4), 2))
  }
  x <- Tensor(c(1, 2))
  x[1] <- 3
  expect_null(x$requires_grad)
})
