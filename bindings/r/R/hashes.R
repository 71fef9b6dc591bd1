# Hashes of the memory of elements.

# Bytes a block and the bits behind the message, as FIPS 202 has them.
sponges <- list(
  sha3_224 = c(144, 6), sha3_256 = c(136, 6), sha3_384 = c(104, 6), sha3_512 = c(72, 6), shake_128 = c(168, 31),
  shake_256 = c(136, 31)
)

tensor_methods$keccak <- function(self, cfg = "sha3_256") {
  if (is.character(cfg)) {
    if (length(cfg) != 1L || !cfg %in% names(sponges)) {
      raise(sprintf("keccak: cfg: '%s', expected one of %s or two numbers", paste(cfg, collapse = ", "),
        paste(names(sponges), collapse = ", ")))
    }
    cfg <- sponges[[cfg]]
  }
  if (!is.numeric(cfg) || length(cfg) != 2L) raise("keccak: cfg: expected a name or two numbers, rate and suffix")
  .Call(C_poly_keccak, self, cfg[[1L]], cfg[[2L]])
}
tensor_methods$hash <- function(self) .Call(C_poly_hash, self)
