# Runs the table of operations that all languages share: see tests/table/README.md of the project.

shape_of <- function(record) as.integer(unlist(record$shape))

leaf <- function(record, wants) {
  if (!is.list(record)) return(if (is.character(record)) numbers(list(record)) else record)
  values <- numbers(record$data)
  if (isTRUE(record$index)) values <- values + (values >= 0)
  shape <- shape_of(record)
  text <- vapply(record$data, function(v) is.character(v) && grepl("^-?[0-9]{16,}$", v), NA)
  x <- if (any(text)) whole(unlist(record$data), record$dtype) else Tensor(as_r(values, shape), dtype = record$dtype)
  if (length(shape) != 1L && length(dim(x)) != length(shape)) x <- x$reshape(shape = shape)$realize()$detach()
  if (wants) {
    x <- x$contiguous()$realize()$detach()
    x$requires_grad <- TRUE
  }
  x
}

# Integers beyond 2^53 from their last nine digits and the rest.
whole <- function(text, dtype) {
  n <- nchar(text)
  sign <- ifelse(startsWith(text, "-"), -1, 1)
  part <- function(v) Tensor(ifelse(is.na(v), 0, v), dtype = dtype)
  front <- suppressWarnings(as.numeric(substr(text, 1, n - 9)))
  back <- as.numeric(sub("^-", "", substr(text, pmax(n - 8, 1), n)))
  if (dtype == "int64") back <- sign * back
  part(front) * Tensor(1e9, dtype = dtype) + part(back)
}

spread <- c(
  reshape = "shape", view = "shape", expand = "shape", permute = "order", `repeat` = "repeats", zeros = "shape",
  ones = "shape", empty = "shape", rand = "shape", randn = "shape", uniform = "shape", normal = "shape",
  scaled_uniform = "shape", glorot_uniform = "shape", kaiming_uniform = "shape", kaiming_normal = "shape"
)

seen <- function(x, record) {
  if (!is.list(record)) return(x)
  for (view in record$view) {
    movement <- view[[1L]]
    argument <- view[[2L]]
    x <- switch(movement,
      permute = x$permute(order = up(unlist(argument))),
      flip = x$flip(up(unlist(argument))),
      shrink = x$shrink(shrink_pairs(argument)),
      expand = x$expand(shape = unlist(argument)),
      reshape = x$reshape(shape = unlist(argument)),
      stop("view ", movement)
    )
  }
  x
}

run <- function(case, inputs) {
  args <- arguments(case, inputs)
  taken <- unlist(lapply(case$args, function(v) if (is.list(v) && !is.null(v$input)) v$input + 1L))
  operands <- if (length(taken) > 0L) inputs[-taken] else inputs
  op <- case$op
  if (case$kind == "index") {
    shape <- dim(inputs[[1L]])
    items <- lapply(seq_along(case$args$items), function(i) item(case$args$items[[i]], inputs))
    if (op == "getitem") return(list(do.call(inputs[[1L]]$getitem, items)))
    return(list(do.call(inputs[[1L]]$setitem, c(items, list(value = inputs[[2L]])))))
  }
  # R counts the elements of a whole tensor column by column, which are the rows with the axes reversed.
  whole <- op %in% c("masked_select", "nonzero") || op %in% c("argmax", "argmin") && is.null(args$axis) ||
    op == "repeat_interleave" && is.null(args$dim)
  turn <- function(x) if (is_tensor(x) && x$ndim > 1) x$permute(rev(seq_len(x$ndim))) else x
  if (whole) {
    operands <- lapply(operands, turn)
    args <- lapply(args, turn)
  }
  if (case$kind == "property") return(list(do.call("$", list(inputs[[1L]], op))))
  made <- if (case$kind == "static") {
    do.call(do.call("$", list(Tensor, op)), args)
  } else if (case$kind == "list" && op == "einsum") {
    formula <- args$formula
    args$formula <- NULL
    do.call(Tensor$einsum, c(list(formula), operands, args))
  } else if (case$kind == "list") {
    do.call(do.call("$", list(Tensor, op)), c(list(operands), args))
  } else {
    do.call(do.call("$", list(operands[[1L]], op)), c(operands[-1L], args))
  }
  if (op == "nonzero") made <- made$flip(2)
  if (is.list(made) && !is_tensor(made)) made else list(made)
}

differs <- function(got, want, rtol, atol, random) {
  if (!is_tensor(got)) {
    return(if (isTRUE(all.equal(as.numeric(got), numbers(want$data)))) NULL else "another value")
  }
  shape <- shape_of(want)
  if (dtype(got) != want$dtype) return(sprintf("dtype %s, expected %s", dtype(got), want$dtype))
  if (!identical(as.numeric(got$shape), as.numeric(shape))) {
    return(sprintf("shape (%s), expected (%s)", paste(got$shape, collapse = ","), paste(shape, collapse = ",")))
  }
  values <- as.vector(got)
  # The numbers of random tensors are those of a seed, which R takes from the stream: test-random.R has those.
  if (random) return(NULL)
  if (isTRUE(want$index)) values <- values - 1
  expected <- as.vector(as_r(numbers(want$data), shape))
  if (want$dtype == "float32") expected <- readBin(writeBin(expected, raw(), size = 4), "double", length(expected), size = 4)
  close(values, expected, rtol, atol)
}

close <- function(values, expected, rtol, atol) {
  same <- is.nan(expected) & is.nan(values) | values == expected | abs(values - expected) <= atol + rtol * abs(expected)
  same[is.na(same)] <- FALSE
  if (all(same)) return(NULL)
  i <- which(!same)[1L]
  sprintf("element %d is %.9g, expected %.9g", i, values[i], expected[i])
}

# The second result holds positions; so does the target of these losses.
with_places <- c("sort", "topk", "cummax", "cummin")
with_classes <- c("sparse_categorical_crossentropy", "nll_loss")

check <- function(case) {
  if (case$op %in% with_classes) case$inputs[[2L]]$index <- TRUE
  wants <- lapply(seq_along(case$inputs), function(i) !is.null(case$grads) && !is.null(case$grads[[i]]))
  leaves <- Map(leaf, case$inputs, wants)
  inputs <- unname(Map(seen, leaves, case$inputs))
  go <- function() run(case, inputs)
  results <- if (isTRUE(case$training)) training(go()) else go()
  if (length(results) != length(case$outputs)) return(sprintf("%d results, expected %d", length(results), length(case$outputs)))
  tolerance <- function(name) if (is.null(case[[name]])) 0 else case[[name]]
  for (i in seq_along(results)) {
    if (is.null(case$outputs[[i]])) next
    case$outputs[[i]]$index <- isTRUE(case$outputs[[i]]$index) || i == 2L && case$op %in% with_places
    problem <- differs(results[[i]], case$outputs[[i]], tolerance("rtol"), tolerance("atol"), !is.null(case$seed))
    if (!is.null(problem)) return(problem)
  }
  if (is.null(case$grads) || !is.null(case$seed)) return(NULL)
  loss <- 0
  for (i in seq_along(results)) {
    if (is.null(case$weights[[i]])) next
    weight <- Tensor(numbers(case$weights[[i]]))$reshape(shape = results[[i]]$shape)
    loss <- loss + (results[[i]] * weight)$sum()
  }
  loss$backward()
  for (i in seq_along(leaves)) {
    if (!wants[[i]]) next
    if (is.null(leaves[[i]]$grad)) return(sprintf("input %d has no gradient", i))
    expected <- as.vector(as_r(numbers(case$grads[[i]]), leaves[[i]]$shape))
    problem <- close(as.vector(leaves[[i]]$grad), expected, case$grad_tol, case$grad_tol)
    if (!is.null(problem)) return(paste("gradient", i, problem))
  }
  NULL
}

# What is wrong with a case, NULL if nothing is.
problem_of <- function(case) {
  wanted <- function(e) !is.null(case$error) && grepl(tolower(case$error), tolower(conditionMessage(e)), fixed = TRUE)
  tryCatch(
    if (is.null(case$error)) {
      check(case)
    } else {
      inputs <- unname(Map(seen, lapply(case$inputs, leaf, FALSE), case$inputs))
      for (x in training(run(case, inputs))) x$realize()
      "no error"
    },
    polygrad_error = function(e) if (!wanted(e)) conditionMessage(e),
    error = function(e) paste("R:", conditionMessage(e))
  )
}

path <- table_path()
cases <- if (!is.null(path) && requireNamespace("jsonlite", quietly = TRUE)) jsonlite::fromJSON(path, simplifyVector = FALSE)
by_op <- split(cases, vapply(cases, function(case) case$op, ""))

# make test asks for a part: 2/3 is each third case, from the third on.
part <- as.integer(strsplit(Sys.getenv("POLY_PART", "0/1"), "/")[[1L]])
today <- cases[(seq_along(cases) - 1L) %% part[[2L]] == part[[1L]]]
today <- split(today, vapply(today, function(case) case$op, ""))

for (op in names(today)) {
  test_that(paste("table:", op), {
    for (case in today[[op]]) {
      problem <- problem_of(case)
      if (is.null(problem)) succeed() else fail(paste0(case$name, ": ", problem))
    }
  })
}

test_that("the table is whole", {
  skip_if_not_installed("jsonlite")
  skip_if(is.null(path), "the table lies in the project, not in the package")
  expect_gt(length(cases), 1000L)
  expect_gt(length(by_op), 150L)
})
