# What several tests use.

m <- matrix(c(1.5, -2, 3, 0.25, 5, -6), 2)
a <- array(as.numeric(1:24), 2:4)

expect_same <- function(tensor, expected, ...) {
  expect_true(is_tensor(tensor))
  expect_equal(as.array(tensor), as.array(expected), ...)
}

expect_polygrad <- function(code, pattern, ...) expect_error(code, pattern, class = "polygrad_error", ...)

# The table of operations, which lies above the package in the project; NULL where it does not.
table_path <- function() {
  given <- Sys.getenv("POLYGRAD_TABLE")
  if (nzchar(given)) return(given)
  folder <- normalizePath(".")
  repeat {
    path <- file.path(folder, "tests", "ops.json")
    if (file.exists(path)) return(path)
    if (dirname(folder) == folder) return(NULL)
    folder <- dirname(folder)
  }
}
