# Function transformations, loops and branches. The library's tests compare their values with JAX's; here are R's trees, axes and errors.

x <- Tensor(c(1, 2, 3))
cube <- function(x) sum(x^3)

test_that("gradients of lists, of some arguments, and with more results", {
  expect_equal(as.vector(func$grad(cube)(x)), c(3, 12, 27))
  expect_equal(as.vector(func$grad(cube)(c(1, 2))), c(3, 12))
  loss <- function(p, x, y) mean((x %*% p$w + p$b - y)^2)
  p <- list(w = Tensor(matrix(0.5, 2, 1)), b = Tensor(0))
  at <- list(p, Tensor(matrix(1:6, 3, 2) + 0), Tensor(matrix(1, 3, 1)))
  found <- do.call(func$value_and_grad(loss), at)
  expect_equal(found$value$item(), 83 / 12)
  expect_equal(lapply(found$gradients, as.vector), list(w = c(34, 79) / 3, b = 5))
  both <- func$grad(loss, argnums = c("p", "y"))(p = at[[1]], x = at[[2]], y = at[[3]])
  expect_named(both, c("p", "y"))
  expect_equal(as.vector(both$y), -c(3, 5, 7) / 3)
  with <- func$grad(function(x) list(sum(x), x * 2), has_aux = TRUE)(x)
  expect_equal(as.vector(with$aux), c(2, 4, 6))
})

test_that("tangents, cotangents and second derivatives", {
  expect_equal(as.vector(func$jvp(sin, list(x), list(x))$tangent), cos(1:3) * 1:3)
  line <- func$linearize(function(x) x^2, list(x))
  expect_equal(as.vector(line$change(c(1, 0, 1))), c(2, 0, 6))
  back <- func$vjp(function(a, b) list(product = a * b, n = 3), list(x, x + 1))
  grads <- back$pullback(list(product = c(1, 1, 1), n = 0))
  expect_equal(lapply(grads, as.vector), list(c(2, 3, 4), c(1, 2, 3)))
  quartic <- function(x) sum(x^4)
  expect_equal(as.array(func$hessian(quartic)(x)), diag(12 * (1:3)^2))
  expect_equal(as.vector(func$hvp(quartic, list(x), list(c(1, 0, 1)))), c(12, 0, 108))
  rows <- function(x) x * sum(x)
  expect_equal(as.array(func$jacfwd(rows)(x)), as.array(func$jacrev(rows)(x)))
})

test_that("batches lie along axes from 1", {
  m <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  expect_equal(as.vector(func$vmap(function(r) sum(r))(Tensor(m))), rowSums(m))
  expect_equal(as.vector(func$vmap(function(r) sum(r), in_axes = 2)(Tensor(m))), colSums(m))
  scaled <- func$vmap(function(r, k) r * k, in_axes = list(1, NULL), out_axes = 2)
  expect_equal(as.array(scaled(Tensor(m), Tensor(c(1, 10, 100)))), t(m) * c(1, 10, 100))
  expect_equal(as.vector(func$vmap(func$grad(function(x) x^3))(x)), 3 * (1:3)^2)
})

test_that("loops and branches", {
  run <- lax$scan(function(total, a) list(total + a, total * a), Tensor(0), x)
  expect_equal(run$carry$item(), 6)
  expect_equal(as.vector(run$ys), c(0, 2, 9))
  back <- lax$scan(function(total, a) list(total + a, total), Tensor(0), x, reverse = TRUE)
  expect_equal(as.vector(back$ys), c(5, 3, 0))
  expect_equal(lax$fori_loop(1, 10, function(i, total) total + i, Tensor(0L))$item(), 55)
  expect_equal(lax$fori_loop(3, 2, function(i, total) total + i, Tensor(7))$item(), 7)
  doubled <- lax$while_loop(function(s) s$x < 100, function(s) list(x = s$x * 2, n = s$n + 1L), list(x = Tensor(1), n = Tensor(0L)))
  expect_equal(c(doubled$x$item(), doubled$n$item()), c(128, 7))
  step <- function(flag) lax$cond(flag, function(a) a + 1, function(a) a - 1, Tensor(5))$item()
  expect_equal(c(step(TRUE), step(FALSE), step(Tensor(FALSE))), c(6, 4, 4))
  expect_equal(lax$switch(Tensor(2L), list(function(a) a, function(a) a * 10), Tensor(5))$item(), 50)
  expect_equal(as.vector(lax$map(function(a) a^2, x)), c(1, 4, 9))
  grown <- function(x) sum(lax$scan(function(state, a) list(state * a, state), x, Tensor(c(2, 3)))$carry)
  expect_equal(func$grad(grown)(Tensor(1.5))$item(), 6)
  remade <- func$checkpoint(function(x) sum(tanh(x) * x))
  expect_equal(as.vector(func$grad(remade)(x)), tanh(1:3) + 1:3 / cosh(1:3)^2)
})

test_that("functions have a text, and inner gradients can be stopped", {
  expect_match(func$describe(function(x) sin(x) * 2, x), "sin a")
  expect_equal(as.vector(func$grad(function(x) sum(x * func$stop_gradient(x)))(x)), 1:3)
})

test_that("errors tell the argument and what was expected", {
  expect_error(func$grad(3), "func\\$grad: f: 3, expected a function")
  expect_error(func$grad(function(x) x * 2)(x), "expected a loss")
  expect_error(func$grad(cube)(1:3), "argument 1 is int32, expected a floating type")
  expect_error(func$grad(cube, argnums = 3)(x), "argnums: 3, expected numbers from 1 to 1")
  expect_error(func$grad(function(x) if (x > 0) x else -x)(Tensor(1)), "where or cond instead of if")
  expect_error(func$vmap(cube, in_axes = 3)(x), "argument 1 has shape \\(3\\), which has no axis 3")
  expect_error(func$jvp(cube, list(x), list(c(1, 2))), "tangents\\[\\[1\\]\\] has shape \\(2\\), expected \\(3\\)")
  expect_error(lax$scan(function(s, a) s, Tensor(0), x), "f returns a Tensor, expected a list of the carry and an output")
  expect_error(lax$scan(function(s, a) list(s * Tensor(c(1, 2)), a), Tensor(0), x), "init is float64 of shape \\(1\\), and float64 of shape \\(2\\)")
  expect_error(lax$while_loop(function(s) TRUE, function(s) s, x), "cond returns TRUE, expected a Tensor")
  expect_error(lax$cond(TRUE, function(a) a, function(a) list(a), x), "lax\\$cond: what false_fun returns is list\\(Tensor\\), expected Tensor as what true_fun")
  expect_error(lax$cond(TRUE, function(a) list(b = a), function(a) list(b = sum(a)), x), "false_fun\\$b returns has float64 of shape \\(\\), expected float64 of shape \\(3\\)")
  expect_error(lax$switch(1, list(sin, function(a) a$cast("int32")), x), "branches\\[\\[2\\]\\] returns has int32 of shape")
  expect_error(lax$scan(function(s, a) list(list(b = s$a), a), list(a = Tensor(0)), x), "the carry that f returns is list\\(b = Tensor\\), expected list\\(a = Tensor\\) as init")
  expect_error(lax$fori_loop(1.5, 3, function(i, s) s, x), "expected whole numbers")
  # A failed trace is over.
  expect_equal(as.vector(func$grad(cube)(x)), c(3, 12, 27))
})

test_that("the elements of a Tensor in a loop of R are no constants of a compiled function", {
  total <- function(a) {
    s <- 0
    for (v in a) s <- s + v
    a * s
  }
  run <- TinyJit(total)
  expect_equal(as.vector(run(x)), 6 * 1:3)
  expect_error(run(x), "a value is needed while TinyJit traces the function: compute with tensors")
  expect_error(func$jit(function(a) sum(a[a > 1]))(x), "a value is needed while func\\$jit traces")
  expect_error(func$jit(function(a) a$nonzero())(x), "the size of the result depends on it")
})

test_that("functions are compiled once for each kind of arguments", {
  calls <- 0
  power <- func$jit(function(p, n, ...) {
    calls <<- calls + 1
    list(value = sum(p$a^n), twice = p$a * 2, n = NULL)
  }, static_argnums = "n")
  expect_equal(power(list(a = x), 2)$value$item(), 14)
  out <- power(list(a = Tensor(c(1, 1, 1))), n = 2)
  expect_equal(out$value$item(), 3)
  expect_equal(as.vector(out$twice), c(2, 2, 2))
  expect_identical(power$cache_info(), c(hits = 0L, misses = 2L, size = 2L)) # n by position, and by name
  expect_equal(power(list(a = x), 3)$value$item(), 36)
  expect_equal(power(list(a = Tensor(c(2, 0, 0))), 3)$value$item(), 8)
  expect_equal(power(list(a = Tensor(c(2, 0))), 3)$value$item(), 8)
  expect_identical(power$cache_info(), c(hits = 1L, misses = 4L, size = 4L))
  expect_equal(calls, 4)
  # A number that is not static is a Tensor; a Tensor that is given twice is one.
  product <- func$jit(function(a, b) a * b)
  expect_equal(as.vector(product(x, 2)), c(2, 4, 6))
  expect_equal(as.vector(product(x, 3)), c(3, 6, 9))
  expect_equal(as.vector(product(x, x)), c(1, 4, 9))
  expect_identical(product$cache_info(), c(hits = 1L, misses = 2L, size = 2L))
  product$clear_cache()
  expect_identical(product$cache_info(), c(hits = 0L, misses = 0L, size = 0L))
  product$compile(x, 2)
  expect_output(print(product), "<compiled function, 1 program>")
  # Transformations call the function as it is, and may be compiled.
  cubes <- func$jit(function(v) sum(v^3))
  expect_equal(as.vector(func$grad(cubes)(x)), c(3, 12, 27))
  expect_equal(as.vector(func$jit(func$grad(cubes))(x)), c(3, 12, 27))
  # The memory of a donated argument is that of the result.
  state <- Tensor(c(1, 2, 3))
  moved <- func$jit(function(s, v) list(s = s + v, total = sum(s)), donate_argnums = 1)
  for (k in 1:3) out <- moved(state, x)
  expect_equal(as.vector(state), 4 * 1:3)
  expect_length(polygrad:::unique_tensors(list(out$s, state)), 1L)
  expect_equal(out$total$item(), 18)
  expect_error(func$jit(cube, static_argnums = "z")(x), "static_argnums: 'z', expected names of parameters")
  expect_error(func$jit(cube, static_argnums = 0)(x), "static_argnums: 0, expected numbers from 1 on")
  expect_error(func$jit(function(v) list(v, "a"))(x), "the result\\[\\[2\\]\\] is 'a', expected Tensors")
  expect_error(product$cost, "cache_info")
})

test_that("a layer is called with other parameters", {
  layer <- Linear(3, 2)
  own <- get_state_dict(layer)
  before <- as.vector(layer(x))
  given <- list(weight = Tensor(matrix(1:6 / 10, 2)), bias = Tensor(c(1, -1)))
  given <- Map(function(new, old) new$cast(old$dtype), given, own[names(given)])
  v <- x$cast(own$weight$dtype)
  expected <- as.vector(matrix(1:6 / 10, 2) %*% 1:3) + c(1, -1)
  expect_equal(as.vector(func$functional_call(layer, given, v)), expected, tolerance = 1e-6)
  expect_equal(as.vector(layer(x)), before)
  slopes <- func$grad(function(p) sum(func$functional_call(layer, p, v)))(given)
  expect_equal(as.vector(slopes$bias), c(1, 1))
  expect_equal(as.array(slopes$weight), rbind(1:3, 1:3))
  expect_equal(as.vector(func$functional_call(layer, list(bias = given$bias), v)), before - as.vector(own$bias) + c(1, -1), tolerance = 1e-4)
  expect_error(func$functional_call(layer, list(w = x), v), "parameters: 'w', expected names of weight, bias")
  expect_error(func$functional_call(layer, 3, v), "parameters: 3, expected a list of Tensors with names")
  expect_error(func$functional_call(3, list(), v), "module: 3, expected a function")
})

test_that("elements are selected", {
  yes <- Tensor(c(1, 2, 3))
  expect_equal(as.vector(lax$select(yes > 1.5, yes, -yes)), c(-1, 2, 3))
  expect_equal(as.vector(func$grad(function(v) sum(lax$select(v > 1.5, v * 3, v)))(yes)), c(1, 3, 3))
})

test_that("functions have tangents and gradients by rules", {
  # log(1 + exp(x)), whose derivative does not overflow by its rule.
  softplus <- func$custom_jvp(function(x) log(1 + exp(x)), function(primals, tangents) {
    at <- primals[[1]]
    list(softplus(at), tangents[[1]] / (1 + exp(-at)))
  })
  p <- plogis(1:3)
  expect_equal(as.vector(softplus(x)), log1p(exp(1:3)))
  expect_equal(as.vector(func$grad(function(x) sum(softplus(x)))(x)), p)
  expect_equal(as.vector(func$jvp(softplus, list(x), list(c(1, 0, 2)))$tangent), p * c(1, 0, 2))
  expect_equal(as.array(func$hessian(function(x) sum(softplus(x)))(x)), diag(p * (1 - p)))
  expect_equal(func$grad(softplus)(Tensor(1000))$item(), 1)

  scaled <- func$custom_vjp(function(p, k) p$a * p$b * k,
    function(p, k) list(p$a * p$b * k, list(p = p, k = k)),
    function(kept, g) list(list(a = 10 * g * kept$p$b * kept$k, b = g * kept$p$a * kept$k), NULL))
  at <- list(list(a = Tensor(c(1, 2)), b = Tensor(c(3, 4))), Tensor(c(5, 6)))
  expect_equal(as.vector(do.call(scaled, at)), c(15, 48))
  found <- do.call(func$grad(function(p, k) sum(scaled(p, k)), argnums = 1:2), at)
  expect_equal(lapply(found[[1]], as.vector), list(a = c(150, 240), b = c(5, 12)))
  expect_equal(as.vector(found[[2]]), c(0, 0))
  each <- func$vmap(func$grad(function(p, k) scaled(p, k)))(at[[1]], at[[2]])
  expect_equal(as.vector(each$a), c(150, 240))

  expect_error(func$custom_jvp(sin, 3), "func\\$custom_jvp: rule: 3, expected a function")
  expect_error(func$custom_jvp(sin, function(primals, tangents) primals[[1]])(x), "rule returns a Tensor, expected a list of a value and its tangent")
  expect_error(func$custom_vjp(sin, function(x) list(x, x), function(kept, g) g)(x), "backward returns a Tensor, expected a list of 1 gradients")
  expect_error(func$custom_vjp(sin, function(x) list(x, x), function(kept, g) list(sum(g)))(x), "gradient 1 has shape \\(\\), expected \\(3\\)")
})

test_that("batches are computed by rules", {
  asked <- list()
  product <- func$custom_vmap(function(a, b) list(v = sum(a * b$b), b = b$b), function(axis_size, in_batched, args) {
    asked[[length(asked) + 1L]] <<- c(axis_size, in_batched[[1]], in_batched[[2]]$b)
    # 10 times, to see that it is used
    list(list(v = (args[[1]] * args[[2]]$b)$sum(-1L) * 10, b = args[[2]]$b), list(TRUE, in_batched[[2]]$b))
  })
  x <- Tensor(matrix(c(1, 3, 2, 4), 2))
  y <- Tensor(c(1, 10))
  expect_equal(product(y, list(b = y))$v$item(), 101)
  out <- func$vmap(product, in_axes = list(1L, NULL), out_axes = list(v = 1L, b = NULL))(x, list(b = y))
  expect_equal(lapply(out, as.vector), list(v = c(210, 430), b = c(1, 10)))
  expect_equal(asked, list(c(2, 1, 0)))
  numbers <- function(f) as.array(func$vmap(f)(x))
  expect_equal(numbers(function(r) func$vmap(function(s) product(r, list(b = s))$v)(x)), matrix(c(50, 110, 110, 250), 2))
  expect_equal(numbers(func$grad(function(r) product(r, list(b = y))$v)), matrix(c(1, 1, 10, 10), 2))
  expect_equal(c(numbers(function(v) func$jvp(function(r) product(r, list(b = y))$v, list(v), list(v))$tangent)), c(210, 430))
  expect_equal(numbers(function(r) lax$scan(function(c, e) list(c, product(e, list(b = c))$v), r, x)[[2]]), matrix(c(50, 110, 110, 250), 2))

  one <- func$sequential_vmap(function(a, b) sum(a * b))
  expect_equal(as.vector(func$vmap(one, in_axes = list(1L, NULL))(x, y)), c(21, 43))
  expect_equal(numbers(func$grad(function(r) one(r, r))), matrix(c(2, 6, 4, 8), 2))

  wrong <- function(rule) func$vmap(func$custom_vmap(function(v) v, rule))(x)
  expect_error(wrong(function(n, b, a) a[[1]]), "func\\$custom_vmap: rule returns a Tensor, expected a list of the value and whether it is batched")
  expect_error(wrong(function(n, b, a) list(a[[1]], 1)), "what is batched: 1, expected TRUE or FALSE for each of 1 Tensors")
  expect_error(wrong(function(n, b, a) list(sum(a[[1]]), TRUE)), "rule: result 0 is float64 of shape \\(\\), expected float64 of shape \\(2,2\\)")
  expect_error(wrong(3), "rule: 3, expected a function")
})

test_that("linear functions are transposed, and shapes are known without values", {
  m <- Tensor(matrix(1:6 + 0, 2))
  back <- func$linear_transpose(function(v) m$matmul(v), list(Tensor(c(0, 0, 0))))
  expect_equal(as.vector(back(Tensor(c(1, 10)))[[1]]), c(21, 43, 65))
  expect_error(func$linear_transpose(function(v) v * v, list(m)), "func$linear_transpose: f: the function is not linear in argument 1", fixed = TRUE)
  found <- func$eval_shape(function(a, b) list(out = a$matmul(b), flag = sum(a) > 0), m, Tensor(matrix(0, 3, 5)))
  expect_equal(as.integer(found$out$shape), c(2L, 5L))
  expect_equal(c(found$out$dtype, found$flag$dtype), c("float64", "bool"))
})

test_that("errors count arguments from 1 and end functions that transform themselves", {
  expect_error(func$vmap(function(a, b) a + b)(x, Tensor(c(1, 2))), "argument 2 has size 2 along axis 1, expected 3 as argument 1 along axis 1")
  endless <- function(a) func$grad(function(b) endless(b))(a)
  expect_error(endless(x), "32 functions are traced in one another: the function transforms itself without an end")
  down <- function(a) down(a - 1) + a
  expect_error(func$grad(down)(x), "grad: the function calls itself without an end: .* use lax.while_loop")
  expect_equal(as.vector(func$grad(function(a) sum(a))(x)), c(1, 1, 1))
  expect_error(func$grad(function(a) NULL)(x), "the function returns NULL, expected a loss")
})

test_that("elements of a batch know each other by the name of its axis", {
  along <- function(f, x, ...) as.array(func$vmap(f, axis_name = "i", ...)(x))
  expect_equal(c(along(function(a) a / lax$psum(a, "i"), x)), 1:3 / 6)
  expect_equal(c(along(function(a) a - lax$pmean(a, "i"), x)), c(-1, 0, 1))
  expect_equal(c(along(function(a) lax$pmax(a, "i") - lax$pmin(a, "i"), x)), c(2, 2, 2))
  expect_equal(c(along(function(a) lax$axis_index("i") * a, x)), c(1, 4, 9))
  expect_equal(along(function(a) lax$all_gather(a, "i"), x), matrix(1:3 + 0, 3, 3, byrow = TRUE))
  m <- matrix(c(1, 2, 3, 4), 2)
  expect_equal(along(function(r) lax$all_gather(r, "i", axis = 2), Tensor(m))[1, , ], t(m))
  expect_equal(along(function(r) lax$all_gather(r, "i", tiled = TRUE), Tensor(m))[2, ], c(t(m)))
  expect_equal(c(along(function(a) lax$ppermute(a, "i", list(c(1, 2), c(2, 3))), x)), c(0, 1, 2))
  both <- func$vmap(function(r) func$vmap(function(a) a / lax$psum(a, c("i", "j")), axis_name = "j")(r), axis_name = "i")
  expect_equal(as.array(both(Tensor(m))), m / 10)
  # The gradient of sum(x / sum(x) * w), where the sum is over the batch.
  share <- function(x) sum(func$vmap(function(a, w) a / lax$psum(a, "i") * w, axis_name = "i")(x, Tensor(c(1, 0, 0))))
  expect_equal(as.vector(func$grad(share)(x)), c(5, -1, -1) / 36)

  expect_error(func$vmap(sin, axis_name = 1)(x), "func\\$vmap: axis_name: 1, expected a name")
  expect_error(along(function(a) lax$psum(a, "k"), x), "lax\\$psum.*k")
  expect_error(along(function(a) lax$ppermute(a, "i", list(c(0, 1))), x), "of numbers from 1 to 3")
  expect_error(along(function(a) lax$all_gather(a, "i", axis = 3), x), "lax\\$all_gather: axis: 3, expected 1 to 1")
  # A failed trace is over.
  expect_equal(as.vector(func$grad(cube)(x)), c(3, 12, 27))
})

test_that("associative scans have the results of loops", {
  add <- function(a, b) a + b
  for (n in c(1, 2, 3, 64, 65, 70, 200)) {
    expect_equal(as.vector(lax$associative_scan(add, Tensor(sqrt(1:n)))), cumsum(sqrt(1:n)))
  }
  expect_equal(as.vector(lax$associative_scan(add, x, reverse = TRUE)), c(6, 5, 3))
  m <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  expect_equal(as.array(lax$associative_scan(function(a, b) a * b, Tensor(m), axis = 2)), t(apply(m, 1, cumprod)))
  expect_equal(as.array(lax$associative_scan(add, Tensor(m), axis = -2)), apply(m, 2, cumsum))
  # s[t] = a[t] * s[t - 1] + b[t]: the maps that these pairs are do not commute.
  a <- cos(1:100)
  b <- sin(1:100)
  after <- function(p, q) list(a = p$a * q$a, b = p$b * q$a + q$b)
  want <- Reduce(function(s, t) a[t] * s + b[t], 1:100, 0, accumulate = TRUE)[-1]
  expect_equal(as.vector(lax$associative_scan(after, list(a = Tensor(a), b = Tensor(b)))$b), want)
  slope <- func$grad(function(x) sum(lax$associative_scan(function(a, b) a * b, x)))(Tensor(c(2, 3, 5)))
  expect_equal(as.vector(slope), c(1 + 3 + 15, 2 + 10, 6))

  expect_error(lax$associative_scan(add, x, axis = 2), "axis: 2, expected 1 to 1")
  expect_error(lax$associative_scan(function(a, b) list(a, b), x), "what f returns is list\\(Tensor, Tensor\\), expected Tensor as elems")
  expect_error(lax$associative_scan(add, list(x, Tensor(c(1, 2)))), "elems\\[\\[2\\]\\] has 2 elements along the axis, expected 3")
})
