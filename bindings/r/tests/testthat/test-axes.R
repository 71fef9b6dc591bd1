# An axis that does not exist is named as R counts, from 1.

test_that("axes out of range are counted from 1", {
  x <- Tensor(m)
  range <- "3 is out of range for 2 dimensions, expected 1\\.\\.2 or -2\\.\\.-1"
  for (f in list(
    function() x$sum(3), function() x$sum(c(1, 3)), function() sum(x, axis = 3), function() x$sum(3, dtype = "float32"),
    function() x$mean(3), function() x$var(3), function() x$max(3), function() x$argmax(3), function() x$softmax(3),
    function() x$log_softmax(3), function() x$cumsum(3), function() x$cummax(3), function() x$logcumsumexp(3),
    function() x$layernorm(3), function() x$sort(3), function() x$topk(1, 3), function() x$transpose(1, 3),
    function() x$permute(1, 3), function() x$flip(3), function() x$squeeze(3), function() x$flatten(1, 3),
    function() x$unflatten(3, c(1, 2)), function() x$repeat_interleave(2, 3), function() x$unfold(3, 1, 1),
    function() x$roll(1, 3), function() x$diagonal(0, 1, 3), function() x$cat(x, dim = 3), function() Tensor$cat(x, x, dim = 3),
    function() x$gather(3, Tensor(matrix(1L, 1, 1)))
  )) {
    expect_polygrad(f(), range)
  }
  expect_polygrad(x$sum(-3), "-3 is out of range for 2 dimensions")
  expect_polygrad(x$sum(0), "0, expected a position from 1")
  expect_polygrad(x$unsqueeze(4), "4 is out of range for 3 dimensions, expected 1\\.\\.3 or -3\\.\\.-1")
  expect_polygrad(Tensor$stack(x, x, dim = 4), "4 is out of range for 3 dimensions")
  expect_polygrad(x$split(1, 3), "3 is out of range")
  expect_polygrad(x$sum()$sum(2), "2 is out of range for 0 dimensions, expected 1\\.\\.1")
})

test_that("the first and the last axis are in range", {
  x <- Tensor(m)
  expect_same(x$sum(-2), colSums(m))
  expect_same(x$sum(2), rowSums(m))
  expect_equal(x$unsqueeze(3)$shape, c(2, 3, 1))
  expect_equal(x$unsqueeze(-3)$shape, c(1, 2, 3))
  expect_equal(Tensor$stack(x, x, dim = 3)$shape, c(2, 3, 2))
  expect_equal(as.vector(x$sum()$sum(1)), sum(m))
})

test_that("errors of axes, positions and lists are in R's terms", {
  x <- Tensor(m)
  v <- Tensor(c(1, 2, 3))
  expect_polygrad(Tensor$cat(x, v), "cat: ..2: has shape (3), expected the shape (2,3)", fixed = TRUE)
  expect_polygrad(Tensor$stack(v, v, x), "stack: ..3: has shape", fixed = TRUE)
  expect_polygrad(numpy$stack(list(v, x)), "stack: arrays[2]: has shape", fixed = TRUE)
  expect_polygrad(v$gather(1, Tensor(9L)), "index: 9 is out of bounds for axis 1 of size 3")
  expect_polygrad(Tensor$zeros(2, -1), "axis 2 has the size -1")
  expect_polygrad(read_safetensors(as.raw(1:3)), "read_safetensors: data: 3 bytes, expected at least 8")
  expect_polygrad(read_gguf("/nowhere"), "read_gguf: data: the file '/nowhere' does not exist, expected")
})
