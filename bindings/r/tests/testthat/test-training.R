# Optimizers, schedules, clipping, recurrent layers and attention against their formulas.

norm_of <- function(x) sqrt(sum(x^2))

# Runs an optimizer on sum(p^3), p of shape (2, 1), and compares p with what update makes of numbers.
follows <- function(make, update, tolerance = 1e-5) {
  p <- Tensor(matrix(c(1, -2)), dtype = "float32", requires_grad = TRUE)
  optimizer <- make(list(p))
  s <- list(p = c(1, -2), b = c(0, 0), m = c(0, 0), v = c(0, 0))
  for (t in 1:5) {
    optimizer$zero_grad()
    sum(p^3)$backward()
    optimizer$step()
    s <- update(s, 3 * s$p^2, t)
    expect_equal(as.vector(p), s$p, tolerance = tolerance)
  }
}

test_that("LARS, classic SGD, Nesterov's momentum, Muon and LAMB do what their formulas say", {
  follows(function(p) LARS(p, 0.1, weight_decay = 0.1, tcoef = 0.5), function(s, g, t) {
    r <- 0.5 * norm_of(s$p) / (norm_of(g) + 0.1 * norm_of(s$p))
    s$b <- 0.9 * s$b + 0.1 * r * (g + 0.1 * s$p)
    s$p <- s$p - s$b
    s
  })
  follows(function(p) SGD(p, 0.01, momentum = 0.9, classic = TRUE), function(s, g, t) {
    s$b <- 0.9 * s$b + 0.01 * g
    s$p <- s$p - s$b
    s
  })
  follows(function(p) SGD(p, 0.01, momentum = 0.9, nesterov = TRUE), function(s, g, t) {
    s$b <- 0.9 * s$b + g
    s$p <- s$p - 0.01 * (g + 0.9 * s$b)
    s
  })
  follows(function(p) Muon(p, 0.1, ns_steps = 2, ns_coefficients = c(1.5, -0.5)), function(s, g, t) {
    s$b <- 0.95 * s$b + g
    step <- g + 0.95 * s$b
    step <- step / norm_of(step)
    for (i in 1:2) step <- 1.5 * step - 0.5 * norm_of(step)^2 * step
    s$p <- s$p * (1 - 0.01) - 0.1 * step
    s
  }, 1e-4)
  follows(function(p) LAMB(p, 0.1, weight_decay = 0.1), function(s, g, t) {
    s$m <- 0.9 * s$m + 0.1 * g
    s$v <- 0.999 * s$v + 0.001 * g^2
    step <- s$m / (1 - 0.9^t) / (sqrt(s$v / (1 - 0.999^t)) + 1e-6) + 0.1 * s$p
    s$p <- s$p - 0.1 * norm_of(s$p) / norm_of(step) * step
    s
  })
})

test_that("a group steps in one program, and half precision keeps its state in float32", {
  a <- Tensor(c(1, 2), dtype = "float32")
  b <- Tensor(3, dtype = "float16")
  group <- OptimizerGroup(SGD(list(a), 0.5), Adam(list(b), 0.25))
  (sum(a * a) * sum(b))$backward()
  group$step()
  expect_equal(as.vector(a), c(-2, -4))
  expect_equal(as.vector(b), 2.75, tolerance = 1e-3)
  expect_identical(dtype(group$optimizers[[2L]]$m[[1L]]), "float32")
  expect_identical(dtype(b), "float16")
  group$zero_grad()
  group$step()
  expect_equal(as.vector(a), c(-2, -4))
  expect_output(print(group), "OptimizerGroup of 2 optimizers")
  expect_length(group$params, 2L)
  expect_polygrad(OptimizerGroup(), "no optimizers")
  expect_polygrad(OptimizerGroup(3), "expected optimizers")
})

half <- function(a, b, x) b + (a - b) * (1 + cos(pi * x)) / 2

schedules <- list(
  StepLR = list(function(o) StepLR(o, 3, 0.5), function(t) 0.3 * 0.5^(t %/% 3)),
  MultiStepLR = list(function(o) MultiStepLR(o, c(2, 5)), function(t) 0.3 * 0.1^((t >= 2) + (t >= 5))),
  ExponentialLR = list(function(o) ExponentialLR(o, 0.9), function(t) 0.3 * 0.9^t),
  ConstantLR = list(function(o) ConstantLR(o, 0.25, 4), function(t) if (t < 4) 0.075 else 0.3),
  LinearLR = list(function(o) LinearLR(o, 0.1, 0.8, 4), function(t) 0.3 * (0.1 + 0.7 * min(t / 4, 1))),
  PolynomialLR = list(function(o) PolynomialLR(o, 6, 2), function(t) 0.3 * (1 - min(t / 6, 1))^2),
  CosineAnnealingLR = list(function(o) CosineAnnealingLR(o, 4, 0.1), function(t) half(0.3, 0.1, t / 4)),
  CosineAnnealingWarmRestarts = list(
    function(o) CosineAnnealingWarmRestarts(o, 2, 2),
    function(t) half(0.3, 0, if (t < 2) t / 2 else if (t < 6) (t - 2) / 4 else (t - 6) / 8)
  ),
  CosineAnnealingLRWithWarmup = list(
    function(o) CosineAnnealingLRWithWarmup(o, 0.5, 0.1, 3, 4),
    function(t) if (t < 3) 0.5 * (t + 1) / 3 else half(0.5, 0.1, min((t - 2) / 4, 1))
  ),
  OneCycleLR = list(
    function(o) OneCycleLR(o, 1, 8, pct_start = 0.5),
    function(t) if (t <= 3) half(0.04, 1, t / 3) else half(1, 0.04 / 1e4, min((t - 3) / 4, 1))
  ),
  LambdaLR = list(function(o) LambdaLR(o, function(t) 1 / (1 + t)), function(t) 0.3 / (1 + t)),
  SequentialLR = list(
    function(o) SequentialLR(o, list(LinearLR(o, 0.5, 1, 2), ExponentialLR(o, 0.5)), 2),
    function(t) if (t < 2) 0.3 * (0.5 + 0.25 * t) else 0.3 * 0.5^(t - 2)
  )
)

test_that("schedules do what they say, outside and inside of compiled steps", {
  for (name in names(schedules)) {
    optimizers <- lapply(1:2, function(i) SGD(list(Tensor(1, dtype = "float32")), 0.3))
    both <- lapply(optimizers, schedules[[name]][[1L]])
    expect_s3_class(both[[1L]], name)
    step <- compile_step(function() {
      both[[2L]]$step()
      NULL
    })
    for (t in 0:9) {
      want <- schedules[[name]][[2L]](t)
      rates <- c(optimizers[[1L]]$lr, optimizers[[2L]]$lr, both[[1L]]$get_lr()$item(), both[[1L]]$get_last_lr())
      expect_equal(rates, rep(want, 4), tolerance = 1e-6, info = name)
      both[[1L]]$step()
      step$run()
    }
    expect_equal(both[[2L]]$epoch_counter$item(), 10)
  }
  expect_output(print(both[[1L]]), "SequentialLR, lr = ")
})

test_that("plateaus lower the rate", {
  optimizers <- lapply(1:2, function(i) SGD(list(Tensor(1, dtype = "float32")), 1))
  both <- lapply(optimizers, ReduceLROnPlateau, "max", 0.5, 1, 0.5, "abs", 1, 0.2)
  metric <- Tensor(0, dtype = "float32")
  step <- compile_step(function() {
    both[[2L]]$step(metric * 1)
    NULL
  })
  rates <- vapply(c(1, 2, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 9), function(m) {
    both[[1L]]$step(m)
    metric$assign(m)
    step$run()
    expect_identical(optimizers[[1L]]$lr, optimizers[[2L]]$lr)
    optimizers[[1L]]$lr
  }, 0)
  expect_equal(rates, c(1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25))
})

test_that("optimizers and schedules check what they get", {
  o <- SGD(list(Tensor(1, dtype = "float32")), 1)
  step <- StepLR(o, 1)
  expect_polygrad(StepLR(3, 1), "StepLR: optimizer")
  expect_polygrad(StepLR(OptimizerGroup(o), 1), "each of its optimizers")
  expect_polygrad(StepLR(o, 0), "step_size: is 0")
  expect_polygrad(StepLR(o, "a"), "StepLR: step_size: a string, expected one number")
  expect_polygrad(OneCycleLR(o, 1, 5, anneal_strategy = "no"), 'anneal_strategy: "no"')
  expect_polygrad(LambdaLR(o, 3), "lr_lambda")
  expect_polygrad(SequentialLR(o, list(step), 1), "milestones")
  expect_polygrad(SequentialLR(SGD(list(Tensor(1))), list(step), numeric()), "schedules of the optimizer")
  expect_polygrad(ReduceLROnPlateau(o, "least"), 'mode: "least"')
  expect_polygrad(ReduceLROnPlateau(o, factor = 2), "factor")
  expect_polygrad(step$lr <- 3, "cannot be set")
  expect_polygrad(SGD(list(Tensor(1)), momentum = -1), "SGD: momentum: -1, expected 0 or more")
  expect_polygrad(Adam(list(Tensor(1)), betas = c(0.9, 1)), "^Adam: b2: 1, expected 0 or more and less than 1")
  expect_polygrad(Muon(list(Tensor(1)$reshape(integer()))), "scalar")
  expect_polygrad(SGD(list(3)), "list of tensors")
})

gradients <- function() {
  p <- Tensor(c(1, 2), dtype = "float32", requires_grad = TRUE)
  q <- Tensor(matrix(2), dtype = "float32", requires_grad = TRUE)
  (sum(p * Tensor(c(1, 2))) - 2 * sum(q))$backward()
  list(p, q, Tensor(1, dtype = "float32", requires_grad = TRUE))
}

test_that("gradients are clipped", {
  for (case in list(c(2, 3), c(1, 5), c(Inf, 2))) {
    ps <- gradients()
    expect_equal(clip_grad_norm(ps, 1, case[1L])$item(), case[2L], tolerance = 1e-6)
    expect_equal(c(as.vector(ps[[1L]]$grad), as.vector(ps[[2L]]$grad)), c(1, 2, -2) / case[2L], tolerance = 1e-5)
    expect_null(ps[[3L]]$grad)
  }
  ps <- gradients()
  expect_equal(clip_grad_norm(ps, 10)$item(), 3)
  clip_grad_value(ps, 1.5)
  expect_equal(c(as.vector(ps[[1L]]$grad), as.vector(ps[[2L]]$grad)), c(1, 1.5, -1.5))
  ps <- gradients()
  (ps[[1L]] * Tensor(c(Inf, 1)))$sum()$backward()
  expect_polygrad(clip_grad_norm(ps, 1, error_if_nonfinite = TRUE), "norm of the gradients is Inf")
  expect_polygrad(clip_grad_norm(ps, -1), "max_norm")
  expect_polygrad(clip_grad_norm(3, 1), "list of tensors")
  expect_polygrad(clip_grad_value(ps, -1), "clip_value")
  expect_equal(clip_grad_norm(list(Tensor(1)), 1)$item(), 0)
})

test_that("a compiled step with clipping and a schedule does what an eager one does", {
  runs <- lapply(1:2, function(i) {
    Tensor$manual_seed(4)
    layer <- Linear(3, 2)
    optimizer <- LAMB(get_parameters(layer), 0.1)
    schedule <- StepLR(optimizer, 2, 0.5)
    x <- Tensor$rand(4, 3)$realize()
    step <- function() {
      optimizer$zero_grad()
      loss <- mean(layer(x)^2)
      loss$backward()
      size <- clip_grad_norm(optimizer$params, 0.1)
      optimizer$step()
      schedule$step()
      list(loss, size)
    }
    list(layer = layer, optimizer = optimizer, step = step)
  })
  program <- compile_step(runs[[1L]]$step)
  for (i in 1:5) {
    program$run()
    eager <- vapply(runs[[2L]]$step(), function(t) t$item(), 0)
    expect_equal(vapply(program$outputs, as.vector, 0), eager, tolerance = 1e-4)
  }
  expect_equal(c(runs[[1L]]$optimizer$lr, runs[[2L]]$optimizer$lr), c(0.025, 0.025))
  expect_equal(as.vector(runs[[1L]]$layer$weight), as.vector(runs[[2L]]$layer$weight), tolerance = 1e-4)
})

sigmoid <- function(x) 1 / (1 + exp(-x))

# An LSTM of one unit and one input in numbers: h and c after each step.
lstm_numbers <- function(xs, layer, end = "", h = 0, c = 0) {
  w <- lapply(paste0(c("weight_ih", "weight_hh", "bias_ih", "bias_hh"), end), function(name) as.vector(layer[[name]]))
  t(vapply(xs, function(x) {
    gates <- x * w[[1L]] + h * w[[2L]] + w[[3L]] + w[[4L]]
    c <<- sigmoid(gates[2L]) * c + sigmoid(gates[1L]) * tanh(gates[3L])
    h <<- sigmoid(gates[4L]) * tanh(c)
    c(h, c)
  }, c(0, 0)))
}

test_that("GRUCell and GRU do what they say", {
  sigmoid <- function(x) 1 / (1 + exp(-x))
  cell <- GRUCell(1, 1)
  p <- c(as.array(cell$weight_ih))
  q <- c(as.array(cell$weight_hh))
  step <- function(x, h) {
    z <- sigmoid(p[2] * x + q[2] * h)
    (1 - z) * tanh(p[3] * x + sigmoid(p[1] * x + q[1] * h) * q[3] * h) + z * h
  }
  expect_equal(c(as.array(cell(matrix(2), matrix(0.5)))), step(2, 0.5), tolerance = 1e-6)
  layer <- GRU(1, 1, batch_first = TRUE, bias = FALSE)
  layer$weight_ih_l0$assign(cell$weight_ih)
  layer$weight_hh_l0$assign(cell$weight_hh)
  out <- layer(array(c(2, 3), c(1, 2, 1)))
  expect_equal(out$outputs$shape, c(1, 2, 1))
  expect_equal(c(as.array(out$h)), step(3, step(2, 0)), tolerance = 1e-6)
})

test_that("LSTMCell and LSTM do what they say", {
  Tensor$manual_seed(1)
  cell <- LSTMCell(1, 1)
  cell$bias_ih$assign(c(0.1, -0.2, 0.3, 0.4))
  first <- cell(matrix(0.5))
  second <- cell(matrix(-1), first)
  want <- lstm_numbers(c(0.5, -1), cell)
  expect_equal(c(first$h$item(), first$c$item()), want[1L, ], tolerance = 1e-5)
  expect_equal(c(second$h$item(), second$c$item()), want[2L, ], tolerance = 1e-5)

  xs <- sin(0:19)
  layer <- LSTM(1, 1, bidirectional = TRUE, batch_first = TRUE)
  out <- layer(array(xs, c(1, 20, 1)))
  there <- lstm_numbers(xs, layer, "_l0")
  back <- lstm_numbers(rev(xs), layer, "_l0_reverse")
  expect_equal(as.array(out$outputs)[1L, , ], cbind(there[, 1L], rev(back[, 1L])), tolerance = 1e-5)
  expect_equal(as.vector(out$h), c(there[20L, 1L], back[20L, 1L]), tolerance = 1e-5)
  expect_equal(as.vector(out$c), c(there[20L, 2L], back[20L, 2L]), tolerance = 1e-5)

  deep <- LSTM(3, 2, num_layers = 2, bias = FALSE, dropout = 0.5)
  expect_length(get_parameters(deep), 4L)
  x <- Tensor$rand(4, 5, 3)$realize()
  all <- deep(x)
  expect_equal(dim(all$outputs), c(4L, 5L, 2L))
  rest <- deep(x[3:4, , ], deep(x[1:2, , ])[c("h", "c")])
  expect_equal(as.array(rest$outputs), as.array(all$outputs)[3:4, , ], tolerance = 1e-5)
  sum(all$outputs)$backward()
  expect_false(is.null(deep$weight_hh_l1$grad))
  expect_polygrad(deep(x, list(x, x)), "LSTM: h: shape \\(4,5,3\\), expected \\(2,5,2\\)")
  expect_polygrad(deep(matrix(1, 4, 3)), "3 dimensions")
  expect_polygrad(LSTM(3, 0), "hidden_size")
  expect_polygrad(cell(matrix(1, 2, 3)), "LSTMCell: x: shape \\(2,3\\), expected")
})

test_that("attention and blocks of transformers do what they say", {
  Tensor$manual_seed(2)
  layer <- MultiHeadAttention(8, 4, num_kv_heads = 2)
  x <- Tensor$randn(2, 5, 8)$realize()
  heads <- function(part, n) part(x)$reshape(2, 5, n, 2)$permute(1, 3, 2, 4)
  shared <- function(part) heads(part, 2)$repeat_interleave(2, 2)
  mask <- Tensor$ones(5, 5)$tril()
  scores <- heads(layer$q_proj, 4)$matmul(shared(layer$k_proj)$transpose(-2, -1)) / sqrt(2)
  weights <- (mask != 0)$where(scores, -Inf)$softmax(-1)
  want <- layer$o_proj(weights$matmul(shared(layer$v_proj))$permute(1, 3, 2, 4)$reshape(2, 5, 8))
  expect_same(layer(x, is_causal = TRUE), as.array(want), tolerance = 1e-5)
  expect_same(layer(x, x, x, mask != 0), as.array(want), tolerance = 1e-5)

  block <- TransformerBlock(8, 2, 12, causal = TRUE, norm = "rms", activation = function(t) t$relu())
  y <- x + block$attn(block$attn_norm(x), is_causal = TRUE)
  expect_same(block(x), as.array(y + block$down(block$up(block$ff_norm(y))$relu())), tolerance = 1e-5)
  post <- TransformerBlock(8, 2, pre_norm = FALSE, dropout = 0.5)
  z <- post$attn_norm(x + post$attn(x))
  plain <- as.array(post$ff_norm(z + post$down(post$up(z)$gelu())))
  expect_same(post(x), plain, tolerance = 1e-5)
  expect_gt(max(abs(as.array(training(post(x))) - plain)), 1e-3)
  expect_length(get_parameters(block), 14L)
  expect_polygrad(MultiHeadAttention(8, 3), "num_heads: 3, expected a part of 8")
  expect_polygrad(MultiHeadAttention(8, 4, 3), "num_kv_heads")
  expect_polygrad(TransformerBlock(8, 2, norm = "batch"), "norm: 'batch'")
})

test_that("schedules of several optimizers step together, and a cycle is counted in epochs", {
  one <- SGD(list(Tensor(1)), lr = 1)
  two <- SGD(list(Tensor(1)), lr = 1)
  group <- LRSchedulerGroup(StepLR(one, 1), ExponentialLR(two, 0.5))
  group$step()
  expect_equal(c(one$lr, two$lr), c(0.1, 0.5), tolerance = 1e-6)
  LRSchedulerGroup(group$schedulers)$step()
  expect_equal(c(one$lr, two$lr), c(0.01, 0.25), tolerance = 1e-6)
  expect_output(print(group), "2 schedules")
  expect_polygrad(LRSchedulerGroup(), "expected schedules")
  expect_polygrad(LRSchedulerGroup(one), "expected schedules")
  rates <- function(...) {
    optimizer <- SGD(list(Tensor(1)))
    schedule <- OneCycleLR(optimizer, 1, ...)
    vapply(1:6, function(i) {
      schedule$step()
      optimizer$lr
    }, 0)
  }
  expect_identical(rates(epochs = 3, steps_per_epoch = 2), rates(6))
  expect_polygrad(OneCycleLR(one, 1, epochs = 3), "expected total_steps, or epochs and steps_per_epoch")
  expect_polygrad(OneCycleLR(one, 1, epochs = 1.5, steps_per_epoch = 2), "epochs: 1.5")
})
