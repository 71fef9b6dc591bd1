# Operations of XLA: positions and axes count from 1.

x <- Tensor(matrix(c(1, 4, 2, 5, 3, 6), 2))

test_that("slices begin at positions from 1", {
  expect_equal(as.array(lax$dynamic_slice(x, c(1L, 2L), c(2L, 2L))), matrix(c(2, 5, 3, 6), 2))
  expect_equal(as.array(lax$dynamic_slice_in_dim(x, 2L, 2L, axis = 2L)), matrix(c(2, 5, 3, 6), 2))
  expect_equal(as.vector(lax$dynamic_index_in_dim(x, 2L, keepdims = FALSE)), c(4, 5, 6))
  new <- lax$dynamic_update_index_in_dim(x, Tensor(c(7, 8, 9)), 1L, 1L)
  expect_equal(as.array(new), matrix(c(7, 4, 8, 5, 9, 6), 2))
})

test_that("gathers and scatters count from 1", {
  at <- matrix(c(2L, 9L), 2)
  rows <- lax$gather(x, at, 2L, 1L, 1L, c(1L, 3L), fill_value = -1)
  expect_equal(as.array(rows), matrix(c(4, -1, 5, -1, 6, -1), 2))
  more <- lax$scatter_add(x, at, Tensor(matrix(10, 2, 3)), 2L, 1L, 1L)
  expect_equal(as.array(more), matrix(c(1, 14, 2, 15, 3, 16), 2))
})

test_that("reductions, windows and sorts", {
  expect_equal(as.vector(lax$reduce(x, 1, "mul", 2L)), c(6, 120))
  expect_equal(as.array(lax$cumsum(x, 2L, reverse = TRUE)), matrix(c(6, 15, 5, 11, 3, 6), 2))
  expect_equal(as.vector(lax$reduce_window(Tensor(c(1, 2, 3)), 0, "add", 2L)), c(3, 5))
  top <- lax$top_k(Tensor(c(3, 1, 2)), 2L)
  expect_equal(as.vector(top[[2]]), c(1, 3))
  expect_error(lax$dynamic_slice_in_dim(x, 1L, 4L, axis = 2L), "slice_size")
})
