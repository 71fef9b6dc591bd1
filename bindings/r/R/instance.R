# Models with memory of their own: forward, training and saving without Tensors.

new_instance <- function(pointer) {
  about <- .Call(C_instance_buffers, pointer)
  structure(list(
    pointer = pointer, names = about[[1L]], roles = stats::setNames(about[[2L]], about[[1L]]),
    shapes = stats::setNames(about[[3L]], about[[1L]])
  ), class = "Instance")
}

mlp_instance <- function(layers, ...) from_config("mlp", list(layers = layers, ...))
tabm_instance <- function(layers, ...) from_config("tabm", list(layers = layers, ...))
nam_instance <- function(n_features, ...) from_config("nam", list(n_features = n_features, ...))

# The settings of a model; the library's names of the defaults differ.
config_names <- list(
  mlp = c("layers", "activation", "bias", "loss", "batch_size", "seed"),
  tabm = c("layers", "activation", "n_ensemble", "loss", "batch_size", "seed"),
  nam = c("n_features", "hidden_sizes", "n_outputs", "activation", "loss", "batch_size", "seed")
)
config_words <- list(
  activation = list(
    mlp = c("relu", "gelu", "silu", "tanh", "sigmoid", "none"), tabm = c("relu", "gelu", "silu", "none"),
    nam = c("exu", "relu", "gelu", "silu")
  ),
  loss = c("mse", "cross_entropy", "none")
)

from_config <- function(family, config) {
  kind <- paste0(family, "_instance")
  known <- config_names[[family]]
  unknown <- setdiff(names(config), known)
  if (length(unknown) > 0L) {
    raise(sprintf("%s: there is no argument '%s', expected some of %s", kind, unknown[1L], paste(known, collapse = ", ")))
  }
  for (name in intersect(names(config), names(config_words))) {
    words <- config_words[[name]]
    need_choice(kind, name, config[[name]], if (is.list(words)) words[[family]] else words)
  }
  for (name in names(config)) {
    value <- config[[name]]
    if (!(is.numeric(value) && all(is.finite(value)) || is.logical(value) && !anyNA(value) || is.character(value)) || length(value) == 0L) {
      raise(sprintf("%s: %s: %s, expected numbers, TRUE, FALSE or a name", kind, name, brief(value)))
    }
  }
  new_instance(.Call(C_instance_config, family, to_json(config)))
}

instance_from_bundle <- function(data) new_instance(.Call(C_instance_from_bundle, bytes_of(data)))
instance_from_ir <- function(ir, weights = NULL) {
  new_instance(.Call(C_instance_from_ir, bytes_of(ir), if (!is.null(weights)) bytes_of(weights)))
}

#' The bytes of a raw vector or of the file at a path.
bytes_of <- function(data) {
  if (is.raw(data)) return(data)
  if (!is.character(data) || length(data) != 1L) raise("data: expected a raw vector or the path of a file")
  if (!file.exists(data)) raise(sprintf("data: the file '%s' does not exist", data))
  if (dir.exists(data)) raise(sprintf("data: '%s' is a folder, expected a file", data))
  readBin(data, "raw", file.size(data))
}

#' A list as JSON; lists without names are arrays, and so are sizes, also if there is one of them.
to_json <- function(config) {
  value <- function(name, x) {
    if (is.list(x) && !is.null(names(x))) return(to_json(x))
    if (is.list(x)) return(paste0("[", paste(vapply(x, value, "", name = ""), collapse = ", "), "]"))
    text <- if (is.logical(x)) {
      tolower(as.character(x))
    } else if (is.numeric(x)) {
      format(x, digits = 17, trim = TRUE)
    } else {
      encodeString(enc2utf8(as.character(x)), quote = '"')
    }
    several <- length(x) != 1L || name %in% c("layers", "hidden_sizes")
    if (several) paste0("[", paste(text, collapse = ", "), "]") else text
  }
  if (length(config) == 0L) return("{}")
  fields <- Map(function(name, x) paste0('"', name, '": ', value(name, x)), names(config), config)
  paste0("{", paste(unlist(fields), collapse = ", "), "}")
}

instance_methods <- new.env(parent = emptyenv())

`$.Instance` <- function(x, name) {
  switch(name,
    params = with_role(x, "param"),
    buffers = get_buffers(x, .subset2(x, "names")),
    roles = .subset2(x, "roles"),
    shapes = .subset2(x, "shapes"),
    notes = {
      text <- .Call(C_instance_notes, .subset2(x, "pointer"))
      if (nzchar(text)) strsplit(text, "\n", fixed = TRUE)[[1L]] else character()
    },
    {
      method <- instance_methods[[name]]
      if (is.null(method)) raise(sprintf("instance$%s: there is no such method; see ?instance", name))
      function(...) method(x, ...)
    }
  )
}

names.Instance <- function(x) c("params", "buffers", "roles", "shapes", "notes", sort(ls(instance_methods)))

print.Instance <- function(x, ...) {
  roles <- .subset2(x, "roles")
  cat("<Instance>\n")
  for (name in .subset2(x, "names")) {
    shape <- paste(.subset2(x, "shapes")[[name]], collapse = ", ")
    cat("  ", format(roles[[name]], width = 6), " ", name, " (", shape, ")\n", sep = "")
  }
  invisible(x)
}

get_buffers <- function(x, names) {
  places <- match(names, .subset2(x, "names"))
  stats::setNames(lapply(places, function(i) .Call(C_instance_get, .subset2(x, "pointer"), i)), names)
}

with_role <- function(x, role) {
  roles <- .subset2(x, "roles")
  get_buffers(x, names(roles)[roles == role])
}

instance_methods$set_buffer <- function(self, name, value) {
  at <- if (is.character(name)) match(name, .subset2(self, "names"))
  if (length(at) != 1L || is.na(at)) raise(sprintf("set_buffer: %s is not a buffer of the model", brief(name)))
  .Call(C_instance_set, .subset2(self, "pointer"), at, value)
  invisible(self)
}

#' Arrays by name, reshaped to the model's inputs and targets; with partial, smaller ones are padded with zeros at the end of each axis.
inputs_for <- function(self, arrays, partial = FALSE) {
  roles <- .subset2(self, "roles")
  takes <- names(roles)[roles %in% c("input", "target")]
  if (length(arrays) > 0L && (is.null(names(arrays)) || !all(nzchar(names(arrays))))) {
    raise(sprintf("arguments must be named; the model takes %s", paste(takes, collapse = ", ")))
  }
  unknown <- setdiff(names(arrays), takes)
  if (length(unknown) > 0L) {
    raise(sprintf("'%s' is not an input of the model, expected one of %s", unknown[1L], paste(takes, collapse = ", ")))
  }
  Map(function(name, value) {
    if (is_tensor(value)) value <- r_values(value)
    if (is.data.frame(value)) value <- matrix_of(value)
    value <- plain(value)
    if (!is.numeric(value) && !is.logical(value)) raise(sprintf("%s: %s, expected numbers", name, brief(value)))
    fit(name, value, .subset2(self, "shapes")[[name]], partial)
  }, names(arrays), arrays)
}

fit <- function(name, value, shape, partial) {
  own <- if (is.null(dim(value))) length(value) else dim(value)
  if (identical(as.numeric(own), as.numeric(shape))) return(value)
  # A vector counts as a row or a column if the input has a single row or column.
  in_line <- is.null(dim(value)) && sum(shape != 1) <= 1L
  if (length(value) == prod(shape) && (in_line || identical(own[own != 1], shape[shape != 1]))) return(array(value, shape))
  given <- paste(own, collapse = ", ")
  expected <- paste(shape, collapse = ", ")
  if (!partial) raise(sprintf("%s: shape (%s), expected (%s)", name, given, expected))
  if (length(own) != length(shape) || any(own > shape)) raise(sprintf("%s: shape (%s), expected at most (%s)", name, given, expected))
  filled <- array(0, shape)
  do.call("[<-", c(list(filled), lapply(own, seq_len), list(value = value)))
}

run_entry <- function(self, entry, arrays) {
  .Call(C_instance_call, .subset2(self, "pointer"), entry, arrays)
  with_role(self, "output")
}

instance_methods$forward <- function(self, ...) run_entry(self, "forward", inputs_for(self, list(...), partial = TRUE))
instance_methods$call <- function(self, entry, ...) run_entry(self, entry, inputs_for(self, list(...)))

instance_methods$train_step <- function(self, ...) {
  .Call(C_instance_train, .subset2(self, "pointer"), inputs_for(self, list(...)))
}

instance_methods$value_and_grad <- function(self, ..., entry = "loss") {
  out <- .Call(C_instance_value_and_grad, .subset2(self, "pointer"), entry, inputs_for(self, list(...)))
  roles <- .subset2(self, "roles")
  list(loss = out[[1L]], grads = stats::setNames(out[[2L]], names(roles)[roles == "param"]))
}

# PolyOptimizer
instance_optimizers <- c(none = 0L, sgd = 1L, adam = 2L, adamw = 3L)

instance_methods$set_optimizer <- function(self, kind, lr = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8,
                                           weight_decay = 0) {
  number <- number_of("kind", kind, instance_optimizers)
  for (name in c("lr", "beta1", "beta2", "eps", "weight_decay")) need_setting("set_optimizer", name, get(name))
  .Call(C_instance_optimizer, .subset2(self, "pointer"), number, c(lr, beta1, beta2, eps, weight_decay))
  invisible(self)
}

instance_methods$set_device <- function(self, name) {
  .Call(C_instance_device, .subset2(self, "pointer"), device_number(name))
  invisible(self)
}

instance_methods$export_ir <- function(self) .Call(C_instance_bytes, .subset2(self, "pointer"), "ir")
instance_methods$export_weights <- function(self) .Call(C_instance_bytes, .subset2(self, "pointer"), "weights")

instance_methods$save_bundle <- function(self, path = NULL) {
  data <- .Call(C_instance_bytes, .subset2(self, "pointer"), "bundle")
  if (is.null(path)) return(data)
  need_file("save_bundle", path)
  writeBin(data, path)
  invisible(data)
}

instance_methods$import_weights <- function(self, data, strict = TRUE) {
  need_flag("import_weights", "strict", strict)
  .Call(C_instance_weights, .subset2(self, "pointer"), bytes_of(data), strict)
  invisible(self)
}
