# What calls cost in R. Prints one JSON object: {"r": {"node", "realize"}} in us.
# Rscript calls.R LIBRARY: the folder where the package is installed.
.libPaths(c(commandArgs(TRUE)[[1]], .libPaths()))
library(polygrad)

nodes <- 100L
rounds <- 500L
untimed <- 50L
size <- 10L

# The median of f(leaf()) in us, leaf() not included.
median_us <- function(leaf, f) {
  times <- vapply(seq_len(rounds + untimed), function(i) {
    x <- leaf()
    start <- as.numeric(Sys.time())
    f(x)
    as.numeric(Sys.time()) - start
  }, 0)
  median(times[-seq_len(untimed)]) * 1e6
}

numbers <- as.numeric(seq_len(size))
y <- Tensor(numbers)
chain <- function(x) for (i in seq_len(nodes)) x <- x + y
# New leaves, so that the sums are new too.
node <- median_us(function() Tensor(numbers), chain) / nodes
x <- Tensor(numbers)
result <- median_us(function() x, function(x) (x + y)$realize())
cat(sprintf('{"r": {"node": %.3f, "realize": %.3f}}\n', node, result))
