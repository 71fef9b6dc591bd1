# As predict.c, with the R package polygrad.
library(polygrad)

arguments <- commandArgs(TRUE)
folder <- arguments[[1L]]
steps <- as.integer(arguments[[2L]])
path <- function(name) file.path(folder, name)

# Files hold arrays row by row, R column by column.
floats <- function(name, shape) {
  values <- readBin(path(name), "numeric", prod(shape), size = 4L, endian = "little")
  aperm(array(values, rev(shape)), rev(seq_along(shape)))
}
write <- function(name, x) {
  if (!is.null(dim(x))) x <- aperm(x, rev(seq_along(dim(x))))
  writeBin(as.numeric(x), path(name), size = 4L, endian = "little")
}

model <- instance_from_bundle(path("model.bundle"))
x <- floats("x", model$shapes$x)
write("output", model$forward(x = x)$output)
model$save_bundle(path("again.bundle"))
losses <- numeric()
for (step in seq_len(steps)) losses <- c(losses, model$train_step(x = x, y = floats("y", model$shapes$y)))
write("losses", losses)
