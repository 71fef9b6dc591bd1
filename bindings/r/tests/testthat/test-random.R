test_that("random numbers by key are those of jax.random", {
  key <- random$key(42)
  expect_equal(as.vector(key), c(0, 42))
  expect_equal(as.vector(random$fold_in(key, 7)), c(2547012911, 1371500959))
  expect_equal(as.vector(random$uniform(key, 3)), c(0.4887096, 0.6797972, 0.6162715), tolerance = 1e-6)
  expect_equal(as.vector(random$randint(key, 5, 3, 100)), c(38, 79, 89, 54, 28))
  expect_equal(as.vector(random$choice(key, 10, 5, replace = FALSE)), c(8, 5, 3, 6, 4))
})

test_that("functions of a key give the same numbers, and others of other keys", {
  keys <- random$split(random$key(1), 3)
  expect_equal(dim(keys), c(3L, 2L))
  first <- as.vector(random$normal(keys[1, ], 4))
  expect_equal(as.vector(random$normal(keys[1, ], 4)), first)
  expect_false(any(as.vector(random$normal(keys[2, ], 4)) == first))
})

test_that("positions and choices count from 1", {
  key <- random$key(3)
  expect_setequal(as.vector(random$permutation(key, 8)), 1:8)
  expect_setequal(as.vector(random$permutation(key, c(2, 5, 9))), c(2, 5, 9))
  expect_equal(range(as.vector(random$choice(key, 4, 200))), c(1, 4))
  logits <- Tensor(rbind(c(0, 50, 0), c(0, 0, 50)))
  expect_equal(as.vector(random$categorical(key, logits)), c(2, 3))
  expect_equal(dim(random$permutation(key, Tensor(matrix(1:6, 2)), axis = 2)), c(2L, 3L))
})

test_that("every distribution has samples of its parameters' shape", {
  key <- random$key(5)
  samples <- list(
    random$exponential(key, 200), random$gumbel(key, 200), random$laplace(key, 200), random$logistic(key, 200), random$cauchy(key, 200),
    random$lognormal(key, 0.5, 200), random$pareto(key, 2, 200), random$rayleigh(key, 2, 200), random$maxwell(key, 200),
    random$double_sided_maxwell(key, 0, 1, 200), random$weibull_min(key, 1, 2, 200), random$triangular(key, 0, 1, 2, 200),
    random$truncated_normal(key, -1, 1, 200), random$wald(key, 1, 200),
    random$gamma(key, 2, 200), random$loggamma(key, 0.01, 200), random$beta(key, 1, 2, 200), random$chisquare(key, 3, 200),
    random$f(key, 3, 4, 200), random$t(key, 3, 200), random$generalized_normal(key, 1.5, 200), random$dirichlet(key, c(1, 2, 3), 200),
    random$ball(key, 3, shape = 200)
  )
  for (x in samples) expect_true(all(is.finite(as.vector(x))) && length(unique(as.vector(x))) > 150)
  expect_true(all(abs(as.vector(random$truncated_normal(key, -1, 1, 200))) < 1))
  expect_equal(dim(random$multivariate_normal(key, c(0, 1), diag(2), 5)), c(5L, 2L))
  q <- as.array(random$orthogonal(key, 4))
  expect_equal(t(q) %*% q, diag(4), tolerance = 1e-5)
  expect_setequal(as.vector(random$rademacher(key, 50)), c(-1, 1))
  expect_true(all(as.vector(random$geometric(key, 0.5, 50)) >= 1))
  expect_equal(mean(as.vector(random$poisson(key, 20, 5000))), 20, tolerance = 0.02)
  expect_equal(mean(as.vector(random$binomial(key, 50, 0.4, 5000))), 20, tolerance = 0.02)
  expect_equal(sum(as.vector(random$multinomial(key, 9, c(0.2, 0.8)))), 9)
  expect_equal(mean(as.vector(random$bernoulli(key, 0.3, 5000))), 0.3, tolerance = 0.1)
  expect_equal(dtype(random$bits(key, 2)), "uint32")
})

test_that("errors name the function and the argument", {
  expect_polygrad(random$uniform(Tensor(1)), "random$uniform: key: is float64 of shape (1), expected a key", fixed = TRUE)
  expect_polygrad(random$randint(random$key(1), 5, 1.5, 3), "random$randint: minval: is 1.5, expected an integer", fixed = TRUE)
  expect_polygrad(random$normal(3), "random$normal: key: ", fixed = TRUE)
})
