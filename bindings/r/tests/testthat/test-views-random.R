# Random programs of views, writes, values that are read or not, and compiled steps, beside a model
# of what each variable shows.
# A model of what variables show: a root is an environment with values; a variable is a root and the
# places of its elements there.
variable <- function(tensor, root, places, dims) list(tensor = tensor, root = root, places = places, dims = dims)
root_of <- function(values) list2env(list(values = values), parent = emptyenv())
shown <- function(v) array(v$root$values[v$places], v$dims)

play <- function(seed, steps) {
  set.seed(seed)
  whole <- function(tensor, values) {
    variable(tensor, root_of(as.vector(values)), seq_along(values), dim(values) %||% length(values))
  }
  fresh <- function() {
    values <- matrix(as.numeric(sample(100, 6)), 2)
    whole(Tensor(values), values)
  }
  vars <- list(fresh(), fresh())
  pick <- function() sample(length(vars), 1)
  check <- function(i) {
    got <- as.array(vars[[i]]$tensor)
    if (!isTRUE(all.equal(as.vector(got), as.vector(shown(vars[[i]]))))) {
      stop(sprintf("seed %d: variable %d is (%s), expected (%s)", seed, i, toString(got), toString(shown(vars[[i]]))))
    }
  }
  programs <- list()
  for (step in seq_len(steps)) {
    i <- pick()
    v <- vars[[i]]
    kind <- sample(c("leaf", "sum", "view", "numbers", "tensor", "self", "read", "drop", "bracket", "gc", "step", "run"), 1,
                   prob = c(1, 4, 5, 3, 3, 2, 3, 2, 1, 0.3, 0.5, 1))
    if (kind == "leaf") {
      vars[[length(vars) + 1]] <- fresh()
    } else if (kind == "sum") {
      vars[[length(vars) + 1]] <- whole(v$tensor * 2 + 1, shown(v) * 2 + 1)
    } else if (kind == "view") {
      places <- array(v$places, v$dims)
      how <- sample(c("t", "row", "flat", "detach", "flip"), 1)
      made <- switch(how,
        t = if (length(v$dims) == 2) list(t(v$tensor), t(places)),
        row = if (length(v$dims) == 2) list(v$tensor[1, , drop = FALSE], places[1, , drop = FALSE]),
        flat = if (length(v$dims) == 2) list(v$tensor$reshape(length(places)), array(t(places))),
        detach = list(v$tensor$detach(), places),
        flip = list(v$tensor$flip(1), if (length(v$dims) == 2) places[rev(seq_len(nrow(places))), , drop = FALSE] else rev(places))
      )
      if (is.null(made)) next
      vars[[length(vars) + 1]] <- variable(made[[1]], v$root, as.vector(made[[2]]), dim(made[[2]]) %||% length(made[[2]]))
    } else if (kind %in% c("numbers", "tensor", "self")) {
      values <- array(as.numeric(sample(100, length(v$places))), v$dims)
      if (kind == "numbers") {
        v$tensor$assign(values)
      } else if (kind == "self") {
        values <- shown(v) * 2 - 5
        v$tensor$assign(v$tensor * 2 - 5)
      } else {
        other <- vars[[pick()]]
        if (!identical(other$dims, v$dims)) next
        values <- shown(other)
        v$tensor$assign(other$tensor)
      }
      v$root$values[v$places] <- as.vector(values)
    } else if (kind == "read") {
      check(i)
    } else if (kind == "drop" && length(vars) > 2) {
      vars[[i]] <- NULL
    } else if (kind == "bracket" && length(v$dims) == 2) {
      x <- v$tensor
      x[1, ] <- 7
      values <- shown(v)
      values[1, ] <- 7
      vars[[length(vars) + 1]] <- whole(x, values)
    } else if (kind == "step") {
      v$tensor$realize()
      x <- v$tensor
      programs[[length(programs) + 1]] <- list(step = compile_step(function() x$assign(x * 3 - 7)), v = v)
    } else if (kind == "run" && length(programs) > 0) {
      p <- programs[[sample(length(programs), 1)]]
      p$step$run()
      p$v$root$values[p$v$places] <- as.vector(shown(p$v) * 3 - 7)
    } else if (kind == "gc") {
      gc()
    }
    if (length(vars) > 14) vars[sample(length(vars), 6)] <- NULL
  }
  for (i in seq_along(vars)) check(i)
}
`%||%` <- function(a, b) if (is.null(a)) b else a

test_that("random programs show what they should", {
  for (seed in 1:40) expect_error(play(seed, 60), NA)
})
