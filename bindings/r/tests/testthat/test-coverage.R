# Every method of Tensor is an operation of the table that all languages share, or stands here.

# Methods that are no operation with a value of its own; other tests are about them.
not_operations <- list(
  "what a tensor is" = c("device", "dtype", "element_size", "is_floating_point", "is_realized", "nbytes", "ndim", "numel", "shape", "size"),
  values = c("array", "data", "item", "realize"),
  files = c("from_blob", "from_url"),
  memory = c("assign", "cpu", "cuda", "empty", "empty_like", "replace", "to", "to_"),
  "names of others" = c("const_like", "pad_to", "sequential", "short", "shrink_to"),
  slow = "hash",
  "of another type than the operand" = "complex",
  gradients = c("backward", "grad", "gradient", "requires_grad", "requires_grad_"),
  modes = "manual_seed",
  "two operations of the table in one call" = c("std_mean", "var_mean")
)
others <- unlist(not_operations, use.names = FALSE)

own <- asNamespace("polygrad")
methods_of <- unique(c(ls(own$tensor_methods), ls(own$tensor_statics), ls(own$tensor_properties)))

skip_without_table <- function() {
  skip_if_not_installed("jsonlite")
  skip_if(is.null(table_path()), "the table lies in the project, not in the package")
}
reached <- function() {
  unique(vapply(jsonlite::fromJSON(table_path(), simplifyVector = FALSE), function(case) case$op, ""))
}

test_that("every method is in the table, or is no operation", {
  skip_without_table()
  expect_identical(setdiff(methods_of, c(reached(), others)), character())
})

test_that("what is said to be no operation is a method, and not in the table", {
  skip_without_table()
  expect_identical(setdiff(others, methods_of), character())
  expect_identical(intersect(others, reached()), character())
})

test_that("every operation of the table is a method", {
  skip_without_table()
  expect_identical(setdiff(reached(), methods_of), character())
})
