test_that("brackets select as R does", {
  x <- Tensor(m)
  y <- Tensor(a)
  v <- Tensor(c(5, 6, 7))
  expect_same(x[1, ], array(m[1, ]))
  expect_same(x[, 2], array(m[, 2]))
  expect_same(x[1, , drop = FALSE], m[1, , drop = FALSE])
  expect_equal(as.vector(x[2, 3]), m[2, 3])
  expect_null(dim(x[2, 3]))
  expect_same(x[, c(3, 1)], m[, c(3, 1)])
  expect_same(x[, c(1, 1, 2, 3)], m[, c(1, 1, 2, 3)])
  expect_same(x[2:1, 3:1], m[2:1, 3:1])
  expect_same(x[-1, ], array(m[-1, ]))
  expect_same(x[, -(1:2)], array(m[, -(1:2)]))
  expect_same(x[, c(TRUE, FALSE, TRUE)], m[, c(TRUE, FALSE, TRUE)])
  expect_same(x[c(TRUE, FALSE), ], array(m[c(TRUE, FALSE), ]))
  expect_same(x[, c(0, 2)], array(m[, c(0, 2)]))
  expect_equal(dim(x[, integer(), drop = FALSE]), c(2L, 0L))
  expect_same(x[c(1, 2, 1), c(3, 1, 1)], m[c(1, 2, 1), c(3, 1, 1)])
  expect_same(y[2, , ], a[2, , ])
  expect_same(y[, 2, 3], array(a[, 2, 3]))
  expect_same(y[, c(3, 1, 1), c(4, 4, 2)], a[, c(3, 1, 1), c(4, 4, 2)])
  expect_same(v[2:3], array(c(6, 7)))
  expect_same(v[-2], array(c(5, 7)))
  expect_same(v[], array(c(5, 6, 7)))
  expect_same(x[], m)
  expect_same(Tensor(iris$Sepal.Length)[iris$Species == "virginica"], array(iris$Sepal.Length[101:150]))
})

test_that("single indices of matrices count column by column", {
  x <- Tensor(m)
  expect_same(x[c(1, 4, 6)], array(m[c(1, 4, 6)]))
  expect_same(x[m > 1], array(m[m > 1]))
  expect_same(x[x > 1], array(m[m > 1]))
  expect_same(x[cbind(c(1, 2), c(3, 1))], array(m[cbind(c(1, 2), c(3, 1))]))
  expect_equal(x[[2, 3]], m[2, 3])
  expect_equal(x[[4]], m[4])
})

test_that("tensors of positions count from 1", {
  x <- Tensor(m)
  expect_same(x[, Tensor(c(3L, 1L))], m[, c(3, 1)])
  expect_same(Tensor(c(5, 6, 7))[Tensor(c(3L, 1L))], array(c(7, 5)))
  expect_same(x[, Tensor(c(TRUE, FALSE, TRUE))], m[, c(TRUE, FALSE, TRUE)])
  expect_equal(dim(x[, Tensor(matrix(c(1L, 2L, 3L, 1L), 2))]), c(2L, 2L, 2L))
})

test_that("bad indices are errors", {
  x <- Tensor(m)
  expect_polygrad(x[3, ], "out of bounds: 3 for an axis of 2")
  expect_polygrad(x[1, 2, 3], "3 indices, expected 2")
  expect_polygrad(x["a", ], "no names")
  expect_polygrad(x[NA, ], "NA")
  expect_polygrad(x[c(-1, 1), ], "mixed")
  expect_polygrad(x[c(TRUE, FALSE, TRUE), ], "3 logicals")
  expect_polygrad(x[7], "out of bounds")
  expect_polygrad(x[[1:2]], "2 elements")
  expect_polygrad(x[cbind(3, 1)], "out of bounds")
})

test_that("brackets replace as R does, in a copy", {
  x <- Tensor(m)
  y <- x
  n <- m
  x[1, ] <- 0
  n[1, ] <- 0
  expect_same(x, n)
  expect_same(y, m)
  x[, 2] <- c(7, 8)
  n[, 2] <- c(7, 8)
  expect_same(x, n)
  x[m > 2] <- -1
  n[m > 2] <- -1
  expect_same(x, n)
  x[[2, 1]] <- 99
  n[[2, 1]] <- 99
  expect_same(x, n)
  x[x > 50] <- Tensor(1)
  n[n > 50] <- 1
  expect_same(x, n)
  x[] <- 3
  expect_same(x, matrix(3, 2, 3))
  i <- Tensor(1:3)
  i[2] <- 7
  expect_equal(dtype(i), "int32")
  expect_polygrad(i[5] <- 1, "out of bounds")
  expect_polygrad(x[1, 9] <- 1, "out of bounds")
  expect_polygrad(x[[1]] <- 1:2, "2 values")
})

test_that("gradients flow through brackets", {
  x <- Tensor(m, requires_grad = TRUE)
  sum(x[1, c(1, 3)] * c(2, 3))$backward()
  expect_same(x$grad, matrix(c(2, 0, 0, 0, 3, 0), 2))
  x$grad <- NULL
  y <- x
  y[1, ] <- 0
  sum(y * 2)$backward()
  expect_same(x$grad, matrix(c(0, 2, 0, 2, 0, 2), 2))
  expect_same(x, m)
})

test_that("gather, scatter and their relatives count from 1", {
  x <- Tensor(m)
  expect_same(x$gather(2, matrix(c(3L, 1L), 2)), matrix(c(m[1, 3], m[2, 1]), 2))
  expect_same(x$index_select(2, c(3L, 3L)), m[, c(3, 3)])
  expect_same(Tensor(c(0, 0, 0))$scatter(1, c(3L, 1L), c(5, 6)), array(c(6, 0, 5)))
  expect_same(Tensor(c(1, 1, 1))$scatter(1, c(2L, 2L), 3, reduce = "add"), array(c(1, 7, 1)))
  expect_same(Tensor(c(1, 1))$scatter_reduce(1, c(1L, 1L), c(5, 6), "amax"), array(c(6, 1)))
  expect_same(Tensor(c(2L, 1L))$one_hot(3), rbind(c(0, 1, 0), c(1, 0, 0)))
  expect_same(Tensor(c(0, 3, 4))$nonzero(), matrix(2:3))
  expect_same(Tensor(c(5, 6, 7))$masked_select(Tensor(c(TRUE, FALSE, TRUE))), array(c(5, 7)))
  expect_equal(x$argmax()$item(), which.max(m))
  expect_same(x$argmax(2), array(apply(m, 1, which.max)))
  expect_same(x$argsort(2), rbind(order(m[1, ]), order(m[2, ])))
  sorted <- Tensor(c(3, 1, 2))$sort()
  expect_same(sorted[[1]], array(c(1, 2, 3)))
  expect_same(sorted[[2]], array(c(2L, 3L, 1L)))
  expect_setequal(as.vector(Tensor$randperm(5)), 1:5)
  expect_equal(as.vector(Tensor(c(0, 0, 2))$multinomial(4, replacement = TRUE)), rep(3, 4))
  expect_polygrad(x$getitem("nowhere"), "newaxis")
  expect_equal(dim(x$getitem("newaxis", "...", 1)), c(1L, 2L))
  expect_same(x$getitem(NULL, c(NA, NA, 2)), m[, c(1, 3)])
})
