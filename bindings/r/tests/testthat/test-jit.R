test_that("a function is captured at its second call and then no longer called", {
  calls <- 0
  f <- TinyJit(function(x, y) {
    calls <<- calls + 1
    x * 2 + y
  })
  out <- lapply(1:4, function(i) f(Tensor(c(1, i)), Tensor(c(0.5, 0.5))))
  expect_equal(vapply(out, function(x) as.vector(x)[2], 0), c(2.5, 4.5, 6.5, 8.5))
  expect_equal(calls, 2)
  expect_equal(f$cnt, 4L)
  expect_gte(f$n_kernels, 1L)
  expect_output(print(f), "captured: [0-9]+ kernels?")
  f$reset()
  expect_equal(as.vector(f(Tensor(c(1, 1)), Tensor(c(0, 0)))), c(2, 2))
  expect_equal(calls, 3)
})

test_that("memory that the function finds is shared, and what it assigns is written", {
  w <- Tensor(c(1, 1))
  add <- TinyJit(function(x) {
    w$assign(w + x)
    w * 10
  })
  out <- lapply(1:4, function(i) as.vector(add(Tensor(c(i, 0)))))
  expect_equal(do.call(rbind, out), cbind(c(20, 40, 70, 110), 10))
  expect_equal(as.vector(w), c(11, 1))
  # What was made of it before a call keeps its value, and values from outside are seen.
  before <- w + 0
  w$assign(c(100, 100))
  expect_equal(as.vector(add(Tensor(c(1, 0)))), c(1010, 1000))
  expect_equal(as.vector(before), c(11, 1))
  seen <- w[2] * 1
  add(Tensor(c(0, 5)))
  expect_equal(as.vector(seen), 100)
  expect_equal(as.vector(w), c(101, 105))
})

test_that("a training step is captured as a whole", {
  losses <- lapply(list(identity, TinyJit), function(wrap) {
    Tensor$manual_seed(3)
    model <- Linear(2, 1)
    optimizer <- Adam(get_parameters(model), lr = 0.1)
    step <- wrap(function(x, y) {
      optimizer$zero_grad()
      loss <- mean((model(x) - y)^2)
      loss$backward()
      optimizer$step()
      loss
    })
    x <- Tensor(matrix(c(1, 3, 2, 4, 5, 7), 3), dtype = "float32")
    y <- Tensor(matrix(c(1, 2, 4)), dtype = "float32")
    vapply(1:8, function(i) step(x, y)$item(), 0)
  })
  expect_equal(losses[[1]], losses[[2]], tolerance = 1e-5)
  expect_lt(losses[[2]][8], losses[[2]][1])
})

test_that("sizes may be Variables, in arguments and as arguments", {
  n <- Variable("n", 1, 4)
  cache <- Tensor$zeros(4, 2)$contiguous()$realize()
  calls <- 0
  write <- TinyJit(function(cache, v, at) {
    calls <<- calls + 1
    cache$getitem(at)$assign(v)
    list(total = sum(cache), first = cache[slc(1, at), ] * 1)
  })
  out <- lapply(1:4, function(i) write(cache, Tensor(c(i, i), dtype = "float32"), n$bind(i)))
  expect_equal(calls, 2)
  expect_equal(as.matrix(cache), cbind(1:4, 1:4))
  expect_equal(vapply(out, function(o) o$total$item(), 0), c(2, 6, 12, 20))
  expect_equal(lapply(out, function(o) dim(o$first)), lapply(1:4, function(i) c(i, 2L)))
  expect_equal(as.matrix(out[[3]]$first), cbind(1:3, 1:3))
  sums <- TinyJit(function(x) sum(x))
  x <- Tensor(c(1, 2, 3, 4))
  expect_equal(vapply(c(1, 4, 2, 3), function(i) sums(x[slc(1, n$bind(i))])$item(), 0), c(1, 10, 3, 6))
})

test_that("results keep their form; arguments and what the function found come back as they are", {
  w <- Tensor(c(7, 8))
  f <- TinyJit(function(x, k) list(made = x + k, given = list(x), found = w, none = NULL))
  for (i in 1:3) {
    x <- Tensor(c(1, i))
    out <- f(x, 2)
  }
  expect_named(out, c("made", "given", "found", "none"))
  expect_equal(as.vector(out$made), c(3, 5))
  expect_length(polygrad:::unique_tensors(list(out$given[[1]], x)), 1L)
  expect_length(polygrad:::unique_tensors(list(out$found, w)), 1L)
  expect_null(out$none)
  random <- TinyJit(function() Tensor$rand(4))
  expect_false(identical(as.vector(random()), as.vector(random())))
  expect_false(identical(as.vector(random()), as.vector(random())))
})

test_that("what cannot be captured, or is called otherwise, is an error that changes nothing", {
  f <- TinyJit(function(x, k = 1) x * k)
  for (i in 1:2) f(Tensor(c(1, 2)), 3)
  expect_polygrad(f(Tensor(c(1, 2)), 4), "must\nbe a Tensor or a Variable|must be a Tensor or a Variable")
  expect_polygrad(f(Tensor(c(1, 2))), "not those that the function was captured with")
  expect_polygrad(f(Tensor(c(1, 2, 3)), 3), "tensor 1 of the arguments is float64 of shape \\(3\\), expected float64 of shape \\(2\\)")
  expect_polygrad(f(Tensor(c(1L, 2L)), 3), "int32")
  expect_equal(as.vector(f(Tensor(c(5, 6)), 3)), c(15, 18))
  expect_polygrad(TinyJit(1), "fxn: 1, expected a function")
  same <- TinyJit(function(x, y) x + y)
  x <- Tensor(c(1, 2))
  expect_polygrad(same(x, x), "given more than once")
  looks <- TinyJit(function(x) Tensor(as.vector(x) * 2))
  looks(x)
  expect_polygrad(looks(x), "a value is needed while TinyJit traces")
  number <- TinyJit(function(x) 5)
  number(x)
  expect_polygrad(number(x), "must return tensors or NULL, got 5")
  nothing <- TinyJit(function(x) x)
  nothing(x)
  expect_polygrad(nothing(x), "computes nothing")
  inner <- TinyJit(function(x) x * 2)
  outer <- TinyJit(function(x) inner(x))
  outer(x)
  expect_polygrad(outer(x), "inside another one")
  fails <- TinyJit(function(x) {
    x$assign(x * 5)
    if (fails$cnt == 1) stop("mine")
    x
  })
  fails(x)
  expect_error(fails(x), "mine")
  expect_equal(as.vector(x), c(5, 10))
  view <- TinyJit(function(v) v$assign(v + 1))
  m2 <- Tensor(m)
  for (i in 1:2) view(Tensor(c(1, 2)))
  expect_polygrad(view(m2[, 1]), "which is a view")
  expect_polygrad(f$value, "a captured function has")
})

test_that("nothing is captured where the environment says so", {
  calls <- 0
  f <- TinyJit(function(x) {
    calls <<- calls + 1
    x + calls
  })
  before <- Sys.getenv("JIT", NA)
  Sys.setenv(JIT = "0")
  out <- vapply(1:3, function(i) as.vector(f(Tensor(1))), 0)
  Sys.setenv(JIT = "off")
  expect_error(f(Tensor(1)), "JIT: got 'off', expected one of 0, 1, 2")
  if (is.na(before)) Sys.unsetenv("JIT") else Sys.setenv(JIT = before)
  expect_equal(out, c(2, 3, 4))
  expect_null(f$n_kernels)
  for (i in 1:3) expect_equal(as.vector(f(Tensor(1))), 5)
  expect_equal(calls, 4)
})

test_that("prune computes once what depends on no argument", {
  set.seed(1)
  random <- function(...) matrix(rnorm(prod(...)), ...)
  p <- random(c(8, 8))
  q <- random(c(8, 8))
  w <- Tensor(p)
  v <- Tensor(q)
  f <- function(x) x %*% (w %*% v) + sum(w)
  whole <- TinyJit(f)
  rest <- TinyJit(f, prune = TRUE)
  for (i in 1:4) {
    x <- random(c(3, 8))
    for (g in list(whole, rest)) expect_same(g(Tensor(x)), x %*% (p %*% q) + sum(p))
  }
  expect_lt(rest$n_kernels, whole$n_kernels)
  expect_identical(c(rest$prune, whole$prune), c(TRUE, FALSE))
  w$assign(0 * p)
  v$assign(0 * q)
  expect_same(rest(Tensor(x)), x %*% (p %*% q) + sum(p))
  expect_same(whole(Tensor(x)), 0 * x)
  expect_polygrad(TinyJit(f, prune = NA), "TinyJit: prune: NA, expected TRUE or FALSE")
})

test_that("prune leaves what changes", {
  n <- Variable("n", 1, 8)
  state <- Tensor(numeric(4))
  x <- Tensor(matrix(seq_len(32) / 8, 8))
  w <- Tensor(matrix(seq_len(16) / 4, 4))
  f <- TinyJit(function(x) {
    state$assign(state + 1)
    list(sum(x %*% (w %*% w)), sum(state), sum(Tensor$rand(4)), sum(w %*% w))
  }, prune = TRUE)
  square <- as.array(w) %*% as.array(w)
  noise <- numeric()
  for (i in 1:5) {
    out <- vapply(f(x[slc(1, n$bind(i)), ]), function(r) r$item(), 0)
    expect_equal(out[-3], c(sum(as.array(x)[seq_len(i), , drop = FALSE] %*% square), 4 * i, sum(square)))
    noise <- c(noise, out[3])
  }
  expect_length(unique(noise), 5L)
})
