# Rscript test_r.R LIBRARY TESTS REPORT [ONLY]: runs the tests of the installed R package in the
# folder TESTS, or the file test-ONLY.R, and writes one object for each to the JSON file REPORT:
# name, status, message.
arguments <- commandArgs(TRUE)
.libPaths(c(arguments[[1]], .libPaths()))
library(testthat)
library(polygrad)

status_of <- function(results) {
  kinds <- vapply(results, function(r) class(r)[[1]], "")
  bad <- kinds %in% c("expectation_failure", "expectation_error")
  if (any(bad)) {
    list("failed", paste(vapply(results[bad], conditionMessage, ""), collapse = "\n"))
  } else if (length(kinds) > 0 && all(kinds == "expectation_skip")) {
    list("skipped", conditionMessage(results[[1]]))
  } else {
    list("passed", "")
  }
}

results <- test_dir(
  arguments[[2]], package = "polygrad", load_package = "installed",
  filter = if (length(arguments) > 3) arguments[[4]],
  reporter = "silent", stop_on_failure = FALSE
)
report <- lapply(results, function(test) {
  status <- status_of(test$results)
  list(name = paste(test$file, test$test, sep = ": "), status = status[[1]], message = status[[2]])
})
jsonlite::write_json(report, arguments[[3]], auto_unbox = TRUE)
