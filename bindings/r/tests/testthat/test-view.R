# Graphs and kernels as text.

y <- function() Tensor(m)$softmax()

test_that("graphs are shown in each form", {
  expect_match(view_graph(y()), "EXP2 float64 (2,3)", fixed = TRUE)
  expect_match(view_graph(y(), format = "dot"), "^digraph \\{\n.*->.*\\}\n$")
  expect_match(view_graph(y(), format = "svg"), "^<svg .*</svg>\n$")
  expect_match(view_graph(y(), format = "code"), "UNIQUE")
  expect_match(view_graph(y(), Tensor(1L), format = "json"), "\"roots\":\\[[0-9]+,[0-9]+\\]")
  expect_output(print(view_graph(y())), "EXP2")
})

test_that("kernels are shown and timed", {
  expect_match(view_kernels(y()), "^[0-9]+ kernels? on [a-z]+")
  expect_false(grepl("GFLOP/s", view_kernels(y())))
  expect_match(view_kernels(y(), runs = 3), "GFLOP/s")
  expect_match(view_kernels(y(), format = "code"), "^--- kernel 0: ")
})

test_that("looking at a step changes nothing", {
  w <- Tensor(c(1, 2))$realize()
  step <- compile_step(function() {
    w$assign(w * 2)
    NULL
  })
  expect_match(view_kernels(step, runs = 2), "updated")
  expect_equal(as.vector(w), c(1, 2))
  step$run()
  expect_equal(as.vector(w), c(2, 4))
})

test_that("bad arguments are errors", {
  expect_polygrad(view_graph(), "no tensors")
  expect_polygrad(view_graph(1), "expected Tensors")
  expect_polygrad(view_graph(y(), format = "png"), "format: \"png\", expected one of text")
  expect_polygrad(view_kernels(y(), format = NA), "format: NA")
  expect_polygrad(view_kernels(y(), runs = -1), "runs: -1")
  expect_polygrad(view_kernels(y(), run = 1), "no argument run")
})
