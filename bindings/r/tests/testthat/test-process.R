script <- function(lines) {
  path <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), lines), path)
  path
}

rscript <- file.path(R.home("bin"), "Rscript")

test_that("loading the package does not load the library", {
  path <- script(c("library(polygrad)", "cat(.Call(polygrad:::C_loaded))"))
  expect_equal(system2(rscript, path, stdout = TRUE), "FALSE")
})

test_that("any function may be the first to need the library", {
  firsts <- c(
    "Tensor(1)", "Tensor$rand(2)", "Tensor$zeros(2)", "Linear(2, 1)", "mlp_instance(c(2, 1))", "devices()",
    "compile_step(function() Tensor$rand(1))", "read_bundle(mlp_instance(2:1)$save_bundle())", "polygrad_info()",
    "write_safetensors(list(a = 1))", "Tensor$manual_seed(1)", "{Tensor$training <- TRUE; 1}", "Variable('n', 1, 8)", "training(1)"
  )
  for (first in firsts) {
    path <- script(c("library(polygrad)", sprintf("x <- %s", first), "cat(as.vector(Tensor(1) + 1))"))
    expect_equal(system2(rscript, path, stdout = TRUE), "2", info = first)
  }
  for (bad in c("read_bundle(as.raw(1))", "read_safetensors(as.raw(1))", "instance_from_ir(as.raw(1))", "load_hf_bytes('', list())")) {
    path <- script(c("library(polygrad)", sprintf("cat(tryCatch(%s, polygrad_error = function(e) 'error'))", bad)))
    expect_equal(system2(rscript, path, stdout = TRUE), "error", info = bad)
  }
})

test_that("a library that is not there is an error that says where it was looked for", {
  path <- script(c("library(polygrad)", "cat(tryCatch(Tensor(1), polygrad_error = conditionMessage))"))
  out <- system2(rscript, path, stdout = TRUE, env = "POLYGRAD_LIB=/nowhere/libpolygrad.so")
  expect_match(out, "libpolygrad.so not found \\(looked at /nowhere/libpolygrad.so\\)")
  other <- tempfile(fileext = ".so")
  writeLines("no library", other)
  out <- system2(rscript, path, stdout = TRUE, env = paste0("POLYGRAD_LIB=", other))
  expect_match(paste(out, collapse = " "), "cannot be loaded")
})

test_that("a wrong name of a processor is an error that says what can be", {
  path <- script(c("library(polygrad)", "cat(tryCatch(as.vector(Tensor(1) + 1), polygrad_error = conditionMessage))"))
  out <- system2(rscript, path, stdout = TRUE, env = c("POLY_DEVICE=native", "POLY_CPU=mmx"))
  expect_match(paste(out, collapse = " "), 'POLY_CPU: got "mmx", expected one of avx512, avx2, sse4, wasm', fixed = TRUE)
})

test_that("a forked child gets an error, not a hang", {
  skip_on_os("windows")
  as.vector(Tensor(1) + 1)
  job <- parallel::mcparallel(tryCatch(as.vector(Tensor(1) + 1), error = conditionMessage))
  out <- parallel::mccollect(job, wait = FALSE, timeout = 30)
  expect_match(out[[1]], "fork")
})

test_that("Ctrl-C stops a long computation and the session goes on", {
  done <- tempfile()
  path <- script(c(
    "library(polygrad)",
    "x <- Tensor$ones(1536, 1536)",
    "for (i in 1:3) x$realize()",
    "heavy <- function(n) { y <- x; for (i in seq_len(n)) y <- (y %*% x)$contiguous() / 1536; y }",
    "invisible(as.vector(heavy(2)[1, 1]))",
    "y <- heavy(400)",
    "cat('ready\\n')",
    sprintf("state <- tryCatch({ y$realize(); 'finished' }, interrupt = function(e) 'interrupted')"),
    sprintf("writeLines(c(state, as.vector(Tensor(1) + 1)), %s)", deparse(done))
  ))
  starter <- tempfile(fileext = ".py")
  writeLines(c(
    "import signal, subprocess, sys, time",
    "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))",
    "assert p.stdout.readline().strip() == b'ready'",
    "time.sleep(1.0)",
    "p.send_signal(signal.SIGINT)",
    "p.wait(timeout=60)"
  ), starter)
  skip_if(Sys.which("python3") == "", "nobody to press Ctrl-C")
  start <- Sys.time()
  system2("python3", c(starter, rscript, path))
  state <- readLines(done)
  expect_equal(state, c("interrupted", "2"))
  expect_lt(as.numeric(Sys.time() - start, units = "secs"), 60)
})

test_that("devices", {
  expect_true("CPU" %in% devices())
  expect_true(device_available("cpu"))
  expect_false(device_available("CUDA"))
  expect_false(device_available("quantum"))
  expect_equal(Tensor(1)$to("cpu")$device, "CPU")
  before <- default_device()
  default_device("interp")
  expect_equal(c(default_device(), (Tensor(1) + 1)$device), c("INTERP", "INTERP"))
  default_device(before)
  expect_polygrad(default_device("quantum"), "device: .QUANTUM., expected one of")
  x <- Tensor(c(1, 2))$to("interp")
  y <- (x * Tensor(c(3, 4)))$sum()
  expect_equal(c(x$device, y$device, y$item()), c("INTERP", "INTERP", 11))
  expect_polygrad(x$clone()$to_("cpu") + x, "operands are on the devices cpu and interp, expected one")
  z <- Tensor(1)
  expect_identical(z$to_("interp"), z)
  expect_equal(z$to_()$device, "CPU")
  expect_polygrad(Tensor(1)$to("quantum"), "QUANTUM.*expected one of")
  expect_polygrad(Tensor(1)$cuda(), "CUDA is not available")
  info <- polygrad_info()
  expect_match(info$version, "^[0-9]+\\.[0-9]+")
  expect_match(info$build, info$version, fixed = TRUE)
})
