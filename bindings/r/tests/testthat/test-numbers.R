# What R's numbers mean as data, sizes and positions.

# As the package bit64 makes them.
integer64 <- function(x) Tensor(x, dtype = "int64")$array(integer64 = TRUE)

test_that("integer64 are numbers of any type", {
  n <- integer64(c(5, 6, 7, -8))
  for (type in setdiff(dtypes, c("bool", "uint8", "uint16", "uint32", "uint64"))) {
    expect_equal(as.vector(Tensor(n, dtype = type)), c(5, 6, 7, -8), info = type)
    x <- Tensor(1:4, dtype = type)
    x$assign(n)
    expect_equal(as.vector(x), c(5, 6, 7, -8), info = type)
    x[2] <- integer64(10)
    expect_equal(as.vector(x), c(5, 10, 7, -8), info = type)
  }
  expect_polygrad(Tensor(n, dtype = "uint8"), "data[4]: -8, expected a value of uint8", fixed = TRUE)
  expect_polygrad(Tensor(n, dtype = "uint64"), "data[4]: -8, expected a value of uint64", fixed = TRUE)
  missing <- structure(-0, class = "integer64") # the bits of -2^63
  expect_identical(as.vector(Tensor(missing, dtype = "float32")), NA_real_)
  expect_polygrad(Tensor(missing, dtype = "int32"), "data[1]: NA", fixed = TRUE)
  expect_polygrad(Tensor$zeros(2)$sum(missing), "NA, expected a whole number")
  expect_identical(dtype(Tensor$full(2, integer64(7))), "int64")
})

test_that("integer64 are sizes, axes and positions", {
  x <- Tensor(m)
  expect_identical(dim(Tensor$zeros(integer64(c(2, 3)))), c(2L, 3L))
  expect_same(x$sum(integer64(2)), rowSums(m))
  expect_same(x[integer64(2), ], m[2, ])
  expect_same(x[integer64(c(1, 6))], m[c(1, 6)])
  frame <- data.frame(a = 1:2)
  frame$b <- integer64(3:4)
  expect_same(Tensor(frame), matrix(1:4, 2))
  model <- mlp_instance(c(2, 3))
  model$set_buffer("layers.0.bias", integer64(1:3))
  expect_equal(as.vector(model$params$layers.0.bias), 1:3)
  expect_equal(model$forward(x = integer64(1:2)), model$forward(x = c(1, 2)))
})

test_that("data types have other names", {
  for (name in c("half", "float", "double", "long", "int", "short")) {
    x <- Tensor(c(1, -2, 300), dtype = name)
    expect_true(dtype(x) %in% dtypes)
    expect_equal(as.vector(x), c(1, -2, 300), info = name)
  }
  expect_polygrad(Tensor(1, dtype = c("int32", "int8")), "dtype: a string, expected one string")
})

test_that("positions and classes that are none are errors", {
  x <- Tensor(m)
  expect_polygrad(x$index_select(1, c(0, 1)), "0, expected positions from 1")
  expect_polygrad(x$index_select(1, 1.5), "1.5, expected whole numbers")
  expect_polygrad(x[Tensor(0:1), ], "0, expected positions from 1")
  expect_polygrad(Embedding(3, 2)(Tensor(0:2)), "0, expected positions from 1")
  expect_polygrad(x$cross_entropy(c(0, 1)), "0, expected positions from 1")
  expect_polygrad(x$cross_entropy(c(1.5, 2)), "1.5, expected whole numbers")
  expect_polygrad(x$nll_loss(c(1, 2), ignore_index = 0), "ignore_index: 0, expected a class from 1")
  expect_polygrad(Tensor(integer())$one_hot(), "num_classes")
  expect_equal(as.vector(x$index_select(1, -1)), m[2, ])
  expect_equal(as.vector(x$cross_entropy(c(1, 3))), as.vector(x$cross_entropy(Tensor(c(1L, 3L)))))
  cube <- Tensor(array(a, c(2, 3, 4)))
  classes <- matrix(c(1, 2, 3, 1, 2, 3, 1, 2), 2)
  expect_equal(as.vector(cube$cross_entropy(classes)), as.vector(cube$cross_entropy(Tensor(classes, dtype = "int32"))))
})

test_that("wrong kinds of arguments have errors with names", {
  x <- Tensor(m)
  expect_polygrad(x$size(1.5), "axis: 1.5, expected a whole number")
  expect_polygrad(x$sum(factor("a")), "a factor, expected a whole number")
  expect_polygrad(x$cumsum(NULL), "axis: NULL")
  expect_polygrad(x$split("a"), "split: sizes: 'a'")
  expect_polygrad(x$split(NA), "split: sizes: NA")
  expect_polygrad(x$chunk(NA), "chunk: chunks")
  expect_polygrad(x$div(2, rounding_mode = 1), "div: rounding_mode: 1, expected one of 'floor', 'trunc'")
  expect_polygrad(Tensor$arange("a"), "arange: 'a', expected a number")
  expect_polygrad(Tensor$manual_seed("99999999999999999999"), "below 2^64", fixed = TRUE)
  expect_polygrad(x[1, , drop = NA], "drop: expected TRUE or FALSE")
  expect_polygrad(dim(x) <- NA, "dim<-: NA")
  expect_polygrad(Tensor$training <- 1, "training: expected TRUE or FALSE")
  expect_polygrad(x$assign(list(1, 2, 3, 4, 5, 6)), "list, expected numbers")
  expect_polygrad(x$replace(1), "replace: x: double, expected a Tensor")
  expect_polygrad(x$grad <- 1, "grad: double, expected a Tensor or NULL")
  expect_polygrad(device_available(NULL), "device: NULL")
  expect_polygrad(compile_step(3), "compile_step: f: 3, expected a function")
  expect_polygrad(get_state_dict(list(a = x, a = x)), "two tensors have the name 'a'")
  expect_polygrad(get_state_dict(list(x), prefix = NULL), "prefix: NULL")
  expect_polygrad(BatchNorm(2, momentum = "a"), "BatchNorm: momentum: 'a'")
  expect_polygrad(RMSNorm(2, eps = NA), "RMSNorm: eps: NA")
  optimizer <- SGD(list(x))
  expect_polygrad(MultiStepLR(optimizer, 2, gamma = c(0.1, 3)), "MultiStepLR: gamma: 0.1, 3, expected a number")
  expect_polygrad(StepLR(optimizer, NULL), "StepLR: step_size: NULL, expected a number")
  expect_polygrad(mlp_instance(c(2, 1), activaton = "relu"), "no argument 'activaton'")
  expect_polygrad(mlp_instance(c(2, 1), activation = "rule"), "activation: 'rule', expected one of 'relu'")
  expect_polygrad(nam_instance(2, loss = "l2"), "nam_instance: loss: 'l2'")
  model <- mlp_instance(c(2, 1))
  expect_polygrad(model$set_optimizer("sgd", lr = NA), "lr: NA, expected 0 or more")
  expect_polygrad(model$set_buffer(NULL, 1), "NULL is not a buffer")
})

test_that("a field that was added to a layer is one of its parameters", {
  layer <- Linear(2, 2)
  layer$scale <- Tensor(c(1, 2))
  expect_identical(names(get_state_dict(layer)), c("weight", "bias", "scale"))
})
