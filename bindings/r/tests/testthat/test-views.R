test_that("what was made of memory before it is written keeps its value", {
  x <- Tensor(c(1, 2, 3))
  y <- x + 1
  z <- sum(x$reshape(3, 1) * 2)
  x$assign(c(10, 20, 30))
  expect_equal(as.vector(y), c(2, 3, 4))
  expect_equal(as.vector(z), 12)
  w <- y * x
  x$assign(x * 2)
  expect_equal(as.vector(w), c(20, 60, 120))
  expect_equal(as.vector(x), c(20, 40, 60))
})

test_that("views show the memory, whoever writes to it", {
  x <- Tensor(m)
  row <- x[2, ]
  turned <- t(x)
  flat <- x$reshape(6)
  x$assign(m * 2)
  expect_equal(as.vector(row), m[2, ] * 2)
  expect_same(turned, t(m * 2))
  row$assign(c(7, 8, 9))
  expect_same(x, rbind(m[1, ] * 2, c(7, 8, 9)))
  expect_same(turned, cbind(m[1, ] * 2, c(7, 8, 9)))
  reads <- turned * 1
  turned[, 1]$assign(0)
  expect_equal(as.vector(x[1, ]), c(0, 0, 0))
  expect_equal(as.vector(flat), c(0, 0, 0, 7, 8, 9))
  expect_same(reads, cbind(m[1, ] * 2, c(7, 8, 9)))
  x[2, 3]$assign(5)
  expect_equal(x[[2, 3]], 5)
  detached <- x$detach()
  x$assign(m)
  expect_same(detached, m)
})

test_that("a view is written although nobody has the tensor any more, and after it was read", {
  x <- Tensor(m)
  left <- x[, 1]
  same <- x[, 1]
  rm(x)
  gc()
  expect_equal(as.vector(left), m[, 1])
  left$assign(c(3, 4))
  expect_equal(as.vector(same), c(3, 4))
  # A view of a lazy tensor shows it, and so what is written to it.
  lazy <- Tensor(m) * 2
  top <- lazy[1, ]
  top$assign(0)
  expect_same(lazy, rbind(0, m[2, ] * 2))
  lazy$assign(m)
  expect_equal(as.vector(top), m[1, ])
})

test_that("views that are no regular steps through memory are read and written too", {
  x <- Tensor(array(1:24 + 0, 2:4))
  odd <- x$permute(3, 1, 2)$reshape(8, 3)
  expect_same(odd, as.array(Tensor(aperm(array(1:24 + 0, 2:4), c(3, 1, 2)))$contiguous()$reshape(8, 3)))
  flipped <- x$flip(1)
  x[1, , ]$assign(-1)
  expect_true(all(as.array(flipped)[2, , ] == -1))
  odd$assign(0)
  expect_true(all(as.array(x) == 0))
})

test_that("assign broadcasts, and checks what it is given", {
  x <- Tensor(m)
  x$assign(Tensor(c(1, 2, 3)))
  expect_same(x, rbind(1:3, 1:3) + 0)
  x$assign(4)
  expect_same(x, matrix(4, 2, 3))
  x[, 2]$assign(c(8, 9))
  expect_equal(as.vector(x[, 2]), c(8, 9))
  expect_polygrad(x[, 2]$assign(1:3), "3 numbers, expected the 2")
  expect_polygrad(x$assign(Tensor(1:2)), "shape \\(2\\), expected the tensor's \\(2, 3\\)")
  h <- Tensor(matrix(c(1, 2, 3, 4), 2), dtype = "float16")
  h[1, ]$assign(c(5, 6))
  expect_same(h, rbind(c(5, 6), c(2, 4)))
})

test_that("gradients are those of the values that were used", {
  w <- Tensor(c(1, 2), requires_grad = TRUE)
  loss <- sum(w * w)
  w$assign(c(100, 100))
  # The elements that it was computed from are no parameter any more.
  expect_polygrad(loss$backward(), "no tensor that this one depends on requires a gradient")
  expect_equal(as.vector(loss), 5)
  (sum(w * w) + sum(w * 3))$backward()
  expect_equal(as.vector(w$grad), c(203, 203))
  # Both versions in one graph.
  w$grad <- NULL
  first <- sum(w * 2)
  w$assign(c(1, 1))
  (first + sum(w * w))$backward()
  expect_equal(as.vector(w$grad), c(2, 2))
  optimizer <- SGD(list(w), lr = 0.5)
  model <- w * 10
  w$grad <- NULL
  sum(w)$backward()
  optimizer$step()
  expect_equal(as.vector(model), c(10, 10))
  expect_equal(as.vector(w), c(0.5, 0.5))
})

test_that("a compiled step goes on with what a tensor was given since", {
  w <- Tensor(c(1, 2))
  step <- compile_step(function() {
    w$assign(w * 2)
    sum(w)
  })
  step$run()
  expect_equal(as.vector(w), c(2, 4))
  before <- w + 0
  view <- w[1]
  w$assign(c(10, 10))
  step$run()
  expect_equal(as.vector(w), c(20, 20))
  expect_equal(step$loss_value(), 40)
  expect_equal(as.vector(before), c(2, 4))
  expect_equal(as.vector(view), 20)
})

test_that("views are written in compiled steps", {
  x <- Tensor(m)
  row <- x[1, ]
  step <- compile_step(function() {
    row$assign(row + 1)
    x * 1
  })
  step$run()
  step$run()
  expect_same(x, rbind(m[1, ] + 2, m[2, ]))
  expect_equal(step$outputs[[1]], rbind(m[1, ] + 2, m[2, ]))
})

test_that("requires_grad is TRUE, FALSE, or NULL where nobody has said", {
  x <- Tensor(c(1, 2))
  expect_null(x$requires_grad)
  w <- Tensor(c(1, 2), requires_grad = TRUE)
  expect_true((x * w)$requires_grad)
  expect_null((x * 2)$requires_grad)
  expect_false(w$detach()$requires_grad)
  off <- Tensor(c(1, 2), requires_grad = FALSE)
  expect_false(off$requires_grad)
  expect_null((off * off)$requires_grad)
  expect_null((off * x)$requires_grad)
  expect_false(Tensor(w, requires_grad = FALSE)$requires_grad)
  expect_polygrad(x$requires_grad <- 1, "expected TRUE, FALSE or NULL")
  optimizer <- SGD(list(x, off, w), lr = 0.1)
  expect_length(optimizer$params, 2)
  expect_true(x$requires_grad)
  expect_false(off$requires_grad)
  expect_polygrad(SGD(list(off), lr = 0.1), "params is empty")
  expect_length(get_parameters(list(x, off, Tensor(1L), Tensor(1))), 2)
  x$requires_grad <- NULL
  expect_null(x$requires_grad)
})

test_that("brackets replace elements of a tensor with a gradient in every way", {
  w <- Tensor(m, requires_grad = TRUE)
  changed <- function(change) {
    y <- w
    n <- m
    g <- matrix(0, 2, 3) + 2
    both <- change(list(y = y, n = n, g = g))
    expect_same(both$y, both$n)
    w$grad <- NULL
    sum(both$y * 2)$backward()
    expect_same(w$grad, both$g)
    expect_same(w, m)
  }
  changed(function(l) {
    l$y[m > 1] <- 9
    l$n[m > 1] <- 9
    l$g[m > 1] <- 0
    l
  })
  changed(function(l) {
    l$y[w > 1] <- -1
    l$n[m > 1] <- -1
    l$g[m > 1] <- 0
    l
  })
  changed(function(l) {
    l$y[c(6, 1, 2)] <- c(7, 8, 9)
    l$n[c(6, 1, 2)] <- c(7, 8, 9)
    l$g[c(6, 1, 2)] <- 0
    l
  })
  changed(function(l) {
    l$y[c(2, 1, 2), c(3, 1)] <- 1:6
    l$n[c(2, 1, 2), c(3, 1)] <- 1:6
    l$g[, c(3, 1)] <- 0
    l
  })
  changed(function(l) {
    l$y[cbind(1:2, c(3, 1))] <- c(5, 6)
    l$n[cbind(1:2, c(3, 1))] <- c(5, 6)
    l$g[cbind(1:2, c(3, 1))] <- 0
    l
  })
  changed(function(l) {
    l$y[, 2] <- Tensor(c(5, 6))
    l$n[, 2] <- c(5, 6)
    l$g[, 2] <- 0
    l
  })
  changed(function(l) {
    l$y[, -2] <- c(5, 6)
    l$n[, -2] <- c(5, 6)
    l$g[, -2] <- 0
    l
  })
  changed(function(l) {
    l$y[] <- 1:6
    l$n[] <- 1:6
    l$g[] <- 0
    l
  })
  y <- w
  expect_polygrad(y[, 1] <- 1:3, "3 values, expected 1, or a number that 2 is a multiple of")
  expect_polygrad(y[1, 2, 3] <- 1, "3 indices, expected 2")
})

test_that("whole numbers of 64 bits stay what they are when others are replaced", {
  x <- Tensor(rep(2^53, 3), dtype = "int64") + Tensor(2:4, dtype = "int64")
  x[2] <- 5
  expect_equal(as.vector(x - Tensor(c(2^53, 0, 2^53), dtype = "int64")), c(2, 5, 4))
  x[c(1, 3)] <- c(7, 8)
  expect_equal(as.vector(x), c(7, 5, 8))
})

test_that("views that were made before there was memory show it", {
  x <- Tensor(1:3)
  z <- x * 2L
  column <- z$reshape(3, 1)
  tail <- z[2:3]
  z$realize()
  z$assign(c(10L, 20L, 30L))
  expect_equal(as.vector(column + 1L), c(11, 21, 31))
  z[2]$assign(100L)
  expect_equal(as.vector(tail * 1L), c(100, 30))
  expect_equal(as.vector(tail), c(100, 30))
  w <- Tensor(matrix(0, 3, 2)) + 1
  row <- w[1, ]
  w$realize()
  w[1, ]$assign(c(5, 6))
  expect_equal(as.vector(sum(row * c(1, 1))), 11)
})

test_that("views of lazy readers keep their root", {
  x <- Tensor(1:3)
  y <- x * 2L
  column <- y$reshape(3, 1)
  x$assign(x + x)
  y[3]$assign(9L)
  expect_equal(as.vector(column), c(2, 4, 9))
  column[1, 1]$assign(7L)
  expect_equal(as.vector(y), c(7, 4, 9))
  a <- Tensor(matrix(c(1, 3, 2, 4), 2))
  b <- a + 10
  turned <- t(b)
  a$assign(b)
  turned[1, ]$assign(c(5, 5))
  expect_same(b, matrix(c(5, 5, 12, 14), 2))
  expect_same(a, matrix(c(11, 13, 12, 14), 2))
})

test_that("masks that are what is changed", {
  for (n in c(3, 5, 8)) {
    mask <- outer(1:n, 1:n, function(i, k) (i * 7 + k * k * 3) %% 5 < 2)
    y <- t(Tensor(mask))
    y[Tensor(mask)] <- FALSE
    expected <- t(mask)
    expected[mask] <- FALSE
    expect_same(y, expected)
  }
})

test_that("results are views of each other", {
  a <- -Tensor(1:2)
  b <- a$contiguous()
  column <- b$reshape(2, 1)
  greater <- b$maximum(a)
  column$realize(greater)
  expect_equal(as.vector(column), c(-1, -2))
  expect_equal(as.vector(greater), c(-1, -2))
})

test_that("irregular views that were read are views still", {
  x <- Tensor(matrix(1:12 + 0, 3))
  flat <- t(x)$reshape(12)
  before <- as.vector(flat)
  flat$realize()
  x$assign(x + 10)
  expect_equal(as.vector(flat), before + 10)
  flat$assign(0)
  expect_equal(as.vector(sum(x)), 0)
})

test_that("pads are not cut down to the type in front of a cast, and unsigned numbers wrap", {
  padded <- function(x, type, value) as.vector(x$cast(type)$pad(list(c(1, 1)), value = value))
  expect_equal(padded(Tensor(c(TRUE, FALSE)), "float32", 2), c(2, 1, 0, 2))
  expect_equal(padded(Tensor(1:2), "float32", 1.5), c(1.5, 1, 2, 1.5))
  expect_equal(padded(Tensor(1:2, dtype = "int8"), "int32", 300), c(300, 1, 2, 300))
  expect_equal(padded(Tensor(1:2, dtype = "uint8"), "float32", -1), c(-1, 1, 2, -1))
  expect_equal(padded(Tensor(1:2), "float32", -Inf), c(-Inf, 1, 2, -Inf))
  expect_equal(padded(Tensor(1:2, dtype = "float16"), "float32", 1e6), c(1e6, 1, 2, 1e6))
  expect_equal(padded(Tensor(c(1, 2)), "float64", 0.1), c(0.1, 1, 2, 0.1))
  x <- Tensor(c(3, 6, 2, 4, 0, 5, 9), dtype = "uint32")
  expect_equal(as.vector((x - 3L)$clip(1, 3)), c(1, 3, 3, 1, 3, 2, 3))
  y <- -Tensor(c(7, 0, 1, 2), dtype = "uint8")
  expect_equal(as.vector(max(y)), 255)
  z <- Tensor(3, dtype = "uint32") %% 4L
  expect_equal(as.vector(z %% (z + 1L)), 3)
})
