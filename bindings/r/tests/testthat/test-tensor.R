test_that("R's types become data types and come back", {
  expect_equal(dtype(Tensor(1.5)), "float64")
  expect_equal(dtype(Tensor(1L)), "int32")
  expect_equal(dtype(Tensor(TRUE)), "bool")
  expect_equal(dtype(Tensor(as.raw(1:3))), "uint8")
  expect_identical(as.vector(Tensor(c(1.5, -2))), c(1.5, -2))
  expect_identical(as.vector(Tensor(1:3)), 1:3)
  expect_identical(as.vector(Tensor(c(TRUE, FALSE))), c(TRUE, FALSE))
  expect_equal(as.vector(Tensor(factor(c("b", "a", "b")))), c(2, 1, 2))
  withr_options <- options(polygrad.dtype = "float32")
  on.exit(options(withr_options))
  expect_equal(dtype(Tensor(1.5)), "float32")
})

test_that("every data type can be made from numbers and read back", {
  for (type in dtypes) {
    x <- Tensor(c(0, 1, 1), dtype = type)
    expect_equal(dtype(x), type)
    expect_equal(as.numeric(x), c(0, 1, 1), info = type)
    y <- Tensor(matrix(c(0, 1, 1, 0, 1, 1), 2), dtype = type)
    expect_equal(matrix(as.numeric(y), 2), matrix(c(0, 1, 1, 0, 1, 1), 2), info = type)
  }
})

test_that("arrays keep R's order", {
  expect_identical(as.array(Tensor(m)), m)
  expect_identical(as.array(Tensor(a)), a)
  big <- array(rnorm(70 * 3 * 45), c(70, 3, 45))
  expect_identical(as.array(Tensor(big)), big)
  expect_equal(as.array(Tensor(big, dtype = "float32")), big, tolerance = 1e-6)
  i <- matrix(1:1200, 40)
  expect_identical(as.array(Tensor(i)), i)
  expect_identical(as.array(Tensor(i > 5)), i > 5)
  expect_equal(as.array(Tensor(i, dtype = "int16")), i)
  expect_equal(as.array(Tensor(i, dtype = "int64")), i)
})

test_that("tensors may be empty and may be scalars", {
  expect_equal(dim(Tensor(matrix(0, 0, 3))), c(0L, 3L))
  expect_equal(length(Tensor(numeric())), 0L)
  expect_identical(as.array(Tensor(matrix(0, 0, 3))), matrix(0, 0, 3))
  expect_null(dim(sum(Tensor(1:3))))
  expect_equal(as.vector(sum(Tensor(numeric()))), 0)
  expect_equal(dim(Tensor(5)), 1L)
})

test_that("NA is kept in float64 and float32", {
  x <- c(1, NA, NaN, Inf, -Inf)
  for (type in c("float64", "float32")) {
    back <- as.vector(Tensor(x, dtype = type))
    expect_identical(is.na(back) & !is.nan(back), c(FALSE, TRUE, FALSE, FALSE, FALSE), info = type)
    expect_identical(is.nan(back), c(FALSE, FALSE, TRUE, FALSE, FALSE))
    moved <- as.vector(rev(Tensor(x, dtype = type)))
    expect_identical(is.na(moved) & !is.nan(moved), c(FALSE, FALSE, FALSE, TRUE, FALSE))
    added <- as.vector(Tensor(x, dtype = type) + 1)
    expect_identical(is.na(added) & !is.nan(added), c(FALSE, TRUE, FALSE, FALSE, FALSE))
  }
  expect_identical(as.vector(Tensor(c(1L, NA), dtype = "float64")), c(1, NA))
  expect_polygrad(Tensor(c(1L, NA)), "data\\[2\\]: NA, expected a value of int32")
  expect_polygrad(Tensor(c(TRUE, NA)), "NA")
  expect_identical(as.vector(is.na(Tensor(x))), is.na(x))
  expect_identical(as.vector(is.finite(Tensor(x))), is.finite(x))
})

test_that("numbers that do not fit are errors", {
  expect_polygrad(Tensor(c(1, 300), dtype = "uint8"), "data\\[2\\]: 300, expected a value of uint8")
  expect_polygrad(Tensor(-1, dtype = "uint32"), "uint32")
  expect_polygrad(Tensor(3e9, dtype = "int32"), "int32")
  expect_polygrad(Tensor("a"), "character, expected numbers")
  expect_polygrad(Tensor(1i, "float32"), "complex, expected real numbers")
  expect_polygrad(Tensor(1, dtype = "float31"), "float31")
  expect_polygrad(Tensor(array(0, rep(1, 17))), "17 dimensions")
})

test_that("the smallest integer is no NA", {
  x <- Tensor(c(-2147483648, 5), dtype = "int32")
  expect_identical(as.vector(x), c(-2147483648, 5))
})

test_that("integer64 keeps 64 bits without its package", {
  bits <- Tensor(c(1, 2^40), dtype = "int64")
  x <- as.array(bits, integer64 = TRUE)
  expect_s3_class(x, "integer64")
  expect_equal(dtype(Tensor(structure(as.vector(unclass(x)), class = "integer64"))), "int64")
  expect_identical(as.vector(Tensor(structure(as.vector(unclass(x)), class = "integer64"))), c(1, 2^40))
})

test_that("tensors print what they hold", {
  expect_output(print(Tensor(matrix(1:4, 2))), "<Tensor 2 x 2 int32>")
  expect_output(print(sum(Tensor(1:4))), "<Tensor scalar int64>")
  expect_output(show(Tensor(1, requires_grad = TRUE)), "requires_grad")
  expect_output(print(summary(Tensor(m))), "Median")
  expect_output(str(Tensor(m)), "2 x 3 float64")
  expect_equal(format(Tensor(c(1, 10))), format(c(1, 10)))
  expect_output(print(Tensor), "Tensor\\$zeros")
})

test_that("properties and unknown names", {
  x <- Tensor(m)
  expect_equal(x$shape, c(2L, 3L))
  expect_equal(x$ndim, 2L)
  expect_equal(x$dtype, "float64")
  expect_equal(x$device, "CPU")
  expect_equal(x$numel(), 6)
  expect_equal(x$size(-1), 3L)
  expect_equal(x$nbytes(), 48)
  expect_equal(Tensor(1L)$element_size(), 4L)
  expect_equal(Tensor(1, dtype = "bfloat16")$element_size(), 2L)
  expect_same(x$T, t(m))
  expect_polygrad(x$no_such_thing, "no_such_thing")
  expect_polygrad(x$shape <- 1, "shape")
  expect_polygrad(Tensor$no_such_thing, "no_such_thing")
  expect_true("softmax(" %in% utils::.DollarNames(x, "^softm"))
})

test_that("conversions", {
  x <- Tensor(m)
  expect_identical(as.matrix(x), m)
  expect_identical(as.matrix(Tensor(1:3)), matrix(1:3))
  expect_identical(as.numeric(x), as.numeric(m))
  expect_identical(as.integer(Tensor(c(1.9, -1.9))), c(1L, -1L))
  expect_identical(as.logical(Tensor(c(0, 2))), c(FALSE, TRUE))
  expect_identical(as.character(Tensor(1:2)), c("1", "2"))
  expect_equal(as.data.frame(x), as.data.frame(m))
  expect_equal(sum(Tensor(1:3))$item(), 6)
  expect_polygrad(x$item(), "6 elements")
  expect_polygrad(as.matrix(Tensor(a)), "3 axes")
  expect_equal(dim(Tensor(iris[1:4])), c(150L, 4L))
  expect_same(Tensor(list(Tensor(1:2), Tensor(3:4))), rbind(1:2, 3:4))
})

test_that("all.equal compares values", {
  expect_true(all.equal(Tensor(m), Tensor(m)))
  expect_true(all.equal(Tensor(m, dtype = "float32"), m + 1e-9))
  expect_match(all.equal(Tensor(m), m + 1), "difference")
})

test_that("variables are shared, clones are not", {
  x <- Tensor(c(1, 2))
  y <- x
  z <- x$clone()
  x$assign(c(5, 6))
  expect_equal(as.vector(y), c(5, 6))
  expect_equal(as.vector(z), c(1, 2))
  x$assign(x * 10)
  expect_equal(as.vector(y), c(50, 60))
  expect_polygrad(x$assign(1:3), "3 numbers, expected the 2")
  expect_polygrad(x$assign(Tensor(1:3)), "shape \\(3\\)")
  b <- Tensor(m)
  b$assign(m + 1)
  expect_identical(as.array(b), m + 1)
  h <- Tensor(c(1, 2), dtype = "float16")
  h$assign(c(3, 4))
  expect_equal(as.vector(h), c(3, 4))
  expect_equal(as.vector(x$replace(Tensor(1:3))), 1:3)
})

test_that("memory is given back", {
  gc()
  before <- .Call(polygrad:::C_live_nodes)
  for (i in 1:200) {
    x <- Tensor(rnorm(10))
    as.vector(exp(x) + i)
  }
  rm(x)
  gc()
  expect_lt(.Call(polygrad:::C_live_nodes), before + 20)
})

test_that("a tensor says whether it is computed, and which infinity it holds", {
  x <- Tensor(c(-Inf, 1, Inf))
  expect_identical(c(x$is_realized, x[2:3]$is_realized, (x + 1)$is_realized, (x + 1)$realize()$is_realized), c(TRUE, TRUE, FALSE, TRUE))
  expect_same(x$isinf(), array(c(TRUE, FALSE, TRUE)))
  expect_same(x$isinf(detect_negative = FALSE), array(c(FALSE, FALSE, TRUE)))
  expect_same(x$isinf(detect_positive = FALSE), array(c(TRUE, FALSE, FALSE)))
  expect_same(x$isinf(FALSE, FALSE), array(c(FALSE, FALSE, FALSE)))
  expect_polygrad(x$isinf(NA), "isinf: detect_positive")
})

test_that("a large tensor prints its first elements", {
  out <- capture.output(print(Tensor$arange(1000 * 1000)$reshape(1000, 1000)))
  expect_lt(length(out), 20L)
  expect_match(out[length(out)], "the first 10 x 6; as.array")
  expect_lt(length(capture.output(print(Tensor$zeros(100000)))), 20L)
  expect_lt(length(capture.output(print(Tensor$zeros(20, 20, 20, 20)))), 70L)
})

test_that("conditions have the call of the user", {
  call_of <- function(code) deparse(conditionCall(tryCatch(code, error = identity)))
  x <- Tensor(m)
  f <- function(v) v$reshape(5)
  environment(call_of) <- environment(f) <- globalenv() # functions of the tests would be the package's
  expect_identical(call_of(f(x)), "v$reshape(5)")
  expect_identical(call_of(x + Tensor(1:5)), "x + Tensor(1:5)")
  expect_identical(call_of(sum(x, axis = 9)), "sum(x, axis = 9, na.rm = FALSE)")
  expect_identical(call_of(x[9, 9]), "x[9, 9]")
  expect_identical(call_of(Linear("a", 1)), 'Linear("a", 1)')
  expect_match(call_of(Linear(2, 1)(x)), "Linear(2, 1)(x)", fixed = TRUE)
})

test_that("tensors and models are saved by saveRDS", {
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  again <- function(x) {
    saveRDS(x, path)
    readRDS(path)
  }
  for (type in c("bool", "int32", "uint8", "int64", "float16", "bfloat16", "float32", "float64")) {
    y <- again(Tensor(matrix(0:5, 2), dtype = type))
    expect_identical(dtype(y), type)
    expect_same(y, as.array(Tensor(matrix(0:5, 2), dtype = type)))
  }
  x <- Tensor(m, requires_grad = TRUE)
  y <- again(list(x, x$detach(), (x * 2)[1, ]))
  sum(y[[1L]]^2)$backward()
  expect_same(y[[1L]]$grad, 2 * m)
  expect_false(y[[2L]]$requires_grad)
  expect_same(y[[3L]], array(2 * m[1, ]))
  model <- Sequential(Linear(3, 4), BatchNorm(4), function(x) x$relu())
  expect_same(again(model)(m), as.array(model(m)))
  expect_polygrad(again(SGD(get_parameters(model))), "saveRDS: save get_state_dict")
})
