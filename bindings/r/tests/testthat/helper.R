# What several tests use.

m <- matrix(c(1.5, -2, 3, 0.25, 5, -6), 2)
a <- array(as.numeric(1:24), 2:4)

expect_same <- function(tensor, expected, ...) {
  expect_true(is_tensor(tensor))
  expect_equal(as.array(tensor), as.array(expected), ...)
}

expect_polygrad <- function(code, pattern, ...) expect_error(code, pattern, class = "polygrad_error", ...)

# The table of operations, which lies above the package in the project; NULL where it does not.
table_path <- function() {
  given <- Sys.getenv("POLYGRAD_TABLE")
  if (nzchar(given)) return(given)
  folder <- normalizePath(".")
  repeat {
    path <- file.path(folder, "tests", "ops.json")
    if (file.exists(path)) return(path)
    if (dirname(folder) == folder) return(NULL)
    folder <- dirname(folder)
  }
}

# A tiny GPT-2 with random weights: its configuration and its safetensors file.
gpt2_config <- '{"model_type": "gpt2", "vocab_size": 11, "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 6}'
gpt2_weights <- function() {
  shapes <- list(
    wte.weight = c(11, 8), wpe.weight = c(6, 8), h.0.ln_1.weight = 8, h.0.ln_1.bias = 8,
    h.0.attn.c_attn.weight = c(8, 24), h.0.attn.c_attn.bias = 24, h.0.attn.c_proj.weight = c(8, 8),
    h.0.attn.c_proj.bias = 8, h.0.ln_2.weight = 8, h.0.ln_2.bias = 8, h.0.mlp.c_fc.weight = c(8, 32),
    h.0.mlp.c_fc.bias = 32, h.0.mlp.c_proj.weight = c(32, 8), h.0.mlp.c_proj.bias = 8, ln_f.weight = 8, ln_f.bias = 8
  )
  Tensor$manual_seed(1)
  write_safetensors(lapply(shapes, function(s) Tensor$randn(shape = s)))
}
