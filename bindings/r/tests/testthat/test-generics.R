# Functions of R with methods for tensors give what they give for matrices.

test_that("decompositions have R's names and values", {
  set.seed(1)
  for (dim in list(c(4, 3), c(3, 3), c(2, 5))) {
    m <- matrix(rnorm(prod(dim)), dim[1])
    s <- svd(Tensor(m))
    expect_named(s, c("d", "u", "v"))
    expect_true(all(vapply(s, is_tensor, TRUE)))
    expect_equal(as.array(s$d), array(svd(m)$d), tolerance = 1e-10)
    expect_equal(as.matrix(s$u %*% diag(as.vector(as.array(s$d))) %*% t(s$v)), m, tolerance = 1e-10)
    for (type in c("O", "I", "F", "M", "2")) {
      expect_equal(as.numeric(norm(Tensor(m), type)), norm(m, type), tolerance = 1e-10)
    }
    expect_equal(as.matrix(scale(Tensor(m))), scale(m), ignore_attr = TRUE, tolerance = 1e-10)
    expect_equal(as.matrix(scale(Tensor(m), scale = FALSE)), scale(m, scale = FALSE), ignore_attr = TRUE)
    expect_equal(as.matrix(scale(Tensor(m), FALSE)), scale(m, FALSE), ignore_attr = TRUE, tolerance = 1e-10)
  }
  m <- crossprod(matrix(rnorm(16), 4))
  e <- eigen(Tensor(m))
  expect_equal(as.vector(as.array(e$values)), eigen(m)$values, tolerance = 1e-10)
  expect_equal(abs(as.matrix(e$vectors)), abs(eigen(m)$vectors), tolerance = 1e-8)
  expect_null(eigen(Tensor(m), only.values = TRUE)$vectors)
  m[1, 2] <- 9
  e <- eigen(Tensor(m))
  values <- as.vector(as.array(e$values))
  expect_equal(values, as.complex(eigen(m)$values), tolerance = 1e-10)
  vectors <- as.array(e$vectors)
  expect_equal(m %*% vectors, vectors %*% diag(values), tolerance = 1e-10)
  expect_equal(as.vector(as.array(eigen(Tensor(m), only.values = TRUE)$values)), values, tolerance = 1e-10)
  roots <- polyroot(Tensor(c(6, -5, 1)))
  expect_true(inherits(roots, "Tensor"))
  expect_equal(sort(Re(as.vector(as.array(roots)))), c(2, 3), tolerance = 1e-10)
  expect_equal(as.numeric(norm(Tensor(m))), norm(m))
  expect_error(norm(Tensor(m), "x"), "norm: type: .*expected O, I, F, M or 2")
  expect_error(svd(Tensor(m), nu = 2), "svd: nu, nv")
  expect_error(scale(Tensor(m), center = 3), "scale: center: 3, expected TRUE or FALSE")
})

test_that("outer products have R's shapes", {
  a <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  b <- c(7, 8, 9)
  expect_equal(as.array(outer(Tensor(a), Tensor(b))), outer(a, b))
  expect_equal(as.array(outer(Tensor(b), a)), outer(b, a))
  expect_equal(as.array(outer(b, Tensor(a), "-")), outer(b, a, "-"))
  expect_equal(as.array(outer(Tensor(b), Tensor(b), function(x, y) x / y)), outer(b, b, "/"))
  expect_equal(as.array(kronecker(Tensor(a), a)), kronecker(a, a))
  expect_equal(kronecker(Tensor(a), a, "+"), kronecker(a, a, "+"))
  expect_true(is_tensor(outer(b, Tensor(b))))
  expect_true(is_tensor(kronecker(a, Tensor(a))))
})

test_that("methods have gradients", {
  x <- Tensor(matrix(c(2, 1, 1, 3), 2))
  slope <- func$grad(function(y) sum(svd(y)$d))(x)
  expect_equal(as.matrix(slope), diag(2), tolerance = 1e-10)
  expect_equal(as.matrix(func$grad(function(y) sum(outer(y, y)))(x)), matrix(14, 2, 2))
})

test_that("qr, quantile and apply are R's", {
  set.seed(2)
  m <- matrix(rnorm(12), 4)
  parts <- qr(Tensor(m))
  expect_equal(as.matrix(parts$Q %*% parts$R), m, tolerance = 1e-10)
  expect_equal(abs(as.matrix(parts$R)), abs(qr.R(qr(m))), tolerance = 1e-10)
  expect_equal(as.vector(as.array(quantile(Tensor(m)))), unname(quantile(m)), tolerance = 1e-10)
  expect_equal(as.vector(as.array(quantile(Tensor(m), c(0.1, 0.9)))), unname(quantile(m, c(0.1, 0.9))), tolerance = 1e-10)
  m[2] <- NaN
  expect_equal(as.vector(as.array(quantile(Tensor(m), 0.3, na.rm = TRUE))), unname(quantile(m, 0.3, na.rm = TRUE)))
  probs <- c(0, 0.05, 0.25, 1 / 3, 0.5, 0.9, 1)
  for (type in 1:9) {
    for (n in c(1, 2, 3, 10)) {
      v <- round(rnorm(n) * 3)
      expect_equal(as.vector(quantile(Tensor(v), probs, type = type)), quantile(v, probs, names = FALSE, type = type), tolerance = 1e-12)
    }
    expect_equal(as.vector(quantile(Tensor(m), 0.3, TRUE, type = type)), quantile(m, 0.3, TRUE, FALSE, type))
    expect_true(is.nan(as.vector(quantile(Tensor(m), 0.3, type = type))))
  }
  expect_error(quantile(Tensor(m), type = 10), "quantile: type: 10, expected 1 to 9")
  expect_error(quantile(Tensor(m), 2, type = 6), "quantile: probs: ")
  a <- array(rnorm(24), c(2, 3, 4))
  for (margin in list(1, 2, 3, c(1, 3), c(3, 1), 1:3)) {
    expect_equal(as.array(apply(Tensor(a), margin, sum)), as.array(apply(a, margin, sum)), tolerance = 1e-10)
    expect_equal(as.array(apply(Tensor(a), margin, function(x) x * 2 + 1)), as.array(apply(a, margin, function(x) x * 2 + 1)))
  }
  expect_error(apply(Tensor(a), 4, sum), "apply: MARGIN: 4, expected axes from 1 to 3")
  expect_equal(apply(a, 1, sum), base::apply(a, 1, sum))
  expect_equal(apply(Tensor(m), 2, function(x) paste(sign(x), collapse = "")), apply(m, 2, function(x) paste(sign(x), collapse = "")))
  expect_error(apply(Tensor(m), 2, function(x) stop("not this")), "not this")
  expect_equal(apply(Tensor(m), 2, function(x) "text"), rep("text", ncol(m)))
  for (margin in list(1, 1:2)) {
    summed <- function(x) sum(apply(x, margin, function(row) stop("boom")))
    expect_error(func$grad(summed)(Tensor(diag(2))), "^boom$")
  }
  if_positive <- function(row) if (as.array(sum(row)) > 0) sum(row) else 0
  expect_equal(as.array(apply(Tensor(diag(2)), 1, if_positive)), c(1, 1), ignore_attr = TRUE)
  expect_error(func$grad(function(x) sum(apply(x, 1, if_positive)))(Tensor(diag(2))), "a value is needed while func\\$grad")
  slope <- func$grad(function(x) sum(apply(x, 1, function(row) sum(row)^2)))(Tensor(diag(2)))
  expect_equal(as.matrix(slope), matrix(2, 2, 2))
})
