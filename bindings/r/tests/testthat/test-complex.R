# Complex tensors against R's own complex numbers.

m <- matrix(complex(real = c(1, -2, 0.5, 3, 0, -1), imaginary = c(2, 0, -1.5, 1, 4, -3)), 2)

test_that("complex vectors and matrices go there and back", {
  expect_identical(as.array(Tensor(m)), m)
  expect_identical(dtype(Tensor(m)), "complex128")
  expect_true(is.complex(Tensor(m)))
  expect_identical(as.array(Tensor(m, "complex64")), m)
  expect_identical(as.vector(Tensor(c(1, NA), "complex128")), complex(real = c(1, NA), imaginary = 0))
  expect_true(is.na(as.vector(Tensor(c(1i, NA)))[2L]))
  expect_identical(as.array(Tensor$full(c(2L, 2L), 3 - 1i, "complex128")), matrix(3 - 1i, 2, 2))
  expect_identical(as.vector(Tensor(complex(0))), complex(0))
  large <- complex(real = seq_len(1e5), imaginary = -seq_len(1e5))
  expect_identical(as.vector(Tensor(large)), large)
  file <- tempfile()
  saveRDS(Tensor(m), file)
  expect_identical(as.array(readRDS(file)), m)
})

test_that("arithmetic and functions are R's", {
  x <- Tensor(m)
  expect_equal(as.array(x * 2i + 1), m * 2i + 1)
  expect_equal(as.array((1 - 1i) / x), (1 - 1i) / m)
  expect_equal(as.array(x^2), m^2)
  expect_equal(as.array(x == -2), m == -2)
  for (name in c("Re", "Im", "Mod", "Arg", "Conj", "exp", "sqrt", "sin", "cosh", "log", "atan")) {
    f <- get(name)
    expect_equal(as.array(f(x)), f(m), info = name)
  }
  expect_equal(as.vector(sum(x)), sum(m))
  expect_equal(as.vector(mean(x)), mean(m))
  expect_equal(as.vector(prod(x)), prod(m))
  expect_equal(as.array(x %*% t(x)), m %*% t(m))
  square <- m[, 1:2]
  expect_equal(as.array(solve(Tensor(square))), solve(square))
})

test_that("numbers take the type of the tensor beside them", {
  expect_identical(dtype(Tensor(1, "float32") * 1i), "complex64")
  expect_identical(dtype(Tensor(1) * 1i), "complex128")
  expect_identical(dtype(Tensor(1L) * 1i), "complex128")
  expect_identical(as.vector(Tensor(0.1) * 0.1i), 0.1 * 0.1i)
})

test_that("elements are replaced", {
  x <- Tensor(c(1i, 2))
  x[1] <- 5 - 2i
  x[2] <- 7
  expect_identical(as.vector(x), c(5 - 2i, 7 + 0i))
  y <- Tensor(c(1, 2))
  y[2] <- 1i
  expect_identical(as.vector(y), c(1 + 0i, 1i))
})

test_that("gradients are conjugates of the direction of growth", {
  expect_equal(as.vector(func$grad(function(z) sum(Mod(z)^2))(Tensor(c(1 + 2i, -3i)))), c(2 - 4i, 6i))
  x <- Tensor(1 + 2i, requires_grad = TRUE)
  Re(sum(x * x))$backward()
  expect_equal(as.vector(x$grad), 2 + 4i)
})

test_that("Fourier transforms are R's", {
  z <- complex(real = c(1, 2, -1, 0.5, 3), imaginary = c(0, 1, 2, -2, 1))
  expect_equal(as.vector(fft$fft(Tensor(z))), stats::fft(z))
  expect_equal(as.vector(fft$ifft(Tensor(z))) * 5, stats::fft(z, inverse = TRUE))
  expect_equal(as.array(fft$fft2(Tensor(m))), stats::fft(m))
  expect_equal(as.array(fft(Tensor(m))), stats::fft(m))
  expect_equal(as.array(fft(Tensor(m), inverse = TRUE)), stats::fft(m, inverse = TRUE))
  expect_equal(as.vector(fft(Tensor(c(1, 2, 4)))), stats::fft(c(1, 2, 4)), tolerance = 1e-6)
  expect_identical(fft(z), stats::fft(z))
  expect_true("rfft" %in% names(fft))
  expect_equal(as.vector(fft$irfft(fft$rfft(Tensor(c(1, 2, 3, 4))))), c(1, 2, 3, 4))
})

test_that("what complex numbers lack is an error", {
  expect_polygrad(Tensor(1i) < 2, "no order")
  expect_polygrad(max(Tensor(1i)), "no order")
  expect_polygrad(fft$rfft(Tensor(c(1i, 2))), "expected real numbers")
})
