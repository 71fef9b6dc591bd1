# Products and decompositions of matrices, over the last two axes.

as_tensor <- function(x) if (is_tensor(x)) x else Tensor(x)

tensor_methods$matmul <- function(self, x, reverse = FALSE, dtype = NULL) {
  need_flag("matmul", "reverse", reverse)
  x <- as_tensor(x)
  a <- if (reverse) x else self
  b <- if (reverse) self else x
  if (is.null(dtype)) .Call(C_poly_matmul, a, b) else .Call(C_poly_matmul_as, a, b, dtype)
}
tensor_methods$dot <- function(self, w, dtype = NULL) tensor_methods$matmul(self, w, dtype = dtype)

tensor_methods$linear <- function(self, weight, bias = NULL, dtype = NULL) {
  .Call(C_poly_dense, in_type(self, dtype), in_type(weight, dtype), if (!is.null(bias)) in_type(bias, dtype))
}

tensor_statics$einsum <- function(formula, ..., dtype = NULL) {
  .Call(C_poly_einsum, formula, lapply(tensor_list(...), in_type, dtype))
}

tensor_methods$cholesky <- function(self, upper = FALSE) .Call(C_poly_cholesky, self, upper)
tensor_methods$triangular_solve <- function(self, b, upper = FALSE, transpose = FALSE, unit_diagonal = FALSE) {
  .Call(C_poly_triangular_solve, self, as_tensor(b), upper, transpose, unit_diagonal)
}
tensor_methods$solve <- function(self, b) .Call(C_poly_solve, self, as_tensor(b))
tensor_methods$inv <- function(self) .Call(C_poly_inv, self)
tensor_methods$det <- function(self) .Call(C_poly_det, self)
tensor_methods$slogdet <- function(self) .Call(C_poly_slogdet, self, 2L)
tensor_methods$qr <- function(self) .Call(C_poly_qr, self, 2L)
tensor_methods$svd <- function(self, full_matrices = TRUE) .Call(C_poly_svd, self, full_matrices, 3L)
tensor_methods$eigh <- function(self, upper = FALSE) .Call(C_poly_eigh, self, upper, 2L)
tensor_methods$lstsq <- function(self, b, rcond = NULL) {
  if (!is.null(rcond)) need_setting("lstsq", "rcond", rcond, 1)
  .Call(C_poly_lstsq, self, as_tensor(b), if (is.null(rcond)) -1 else rcond, 4L)
}
tensor_methods$newton_schulz <- function(self, steps, params, eps = 1e-7) {
  .Call(C_poly_newton_schulz, self, steps, params, eps)
}

solve.Tensor <- function(a, b, ...) {
  if (missing(b)) .Call(C_poly_inv, a) else .Call(C_poly_solve, a, as_tensor(b))
}
chol.Tensor <- function(x, ...) .Call(C_poly_cholesky, x, TRUE)
determinant.Tensor <- function(x, logarithm = TRUE, ...) {
  if (!logarithm) raise("determinant: logarithm: only TRUE; x$det() is the determinant itself")
  both <- .Call(C_poly_slogdet, x, 2L)
  structure(list(modulus = both[[2L]], sign = both[[1L]]), class = "det")
}

# The shape of query %*% t(key), of which heads that share a key have as many as the query.
scores <- function(query, key) {
  lead <- function(shape) rev(as.list(shape[seq_len(max(length(shape) - 2L, 0L))]))
  a <- lead(query)
  b <- lead(key)
  n <- max(length(a), length(b))
  one <- function(sizes, i) if (i <= length(sizes)) sizes[[i]] else 1
  wide <- lapply(seq_len(n), function(i) if (identical(as.numeric(one(a, i)), 1)) one(b, i) else one(a, i))
  fit <- all(vapply(seq_len(n), function(i) as.numeric(one(b, i)) %in% c(1, as.numeric(wide[[i]])), NA))
  c(rev(if (fit) wide else a), utils::tail(as.list(query), 2L)[1L], utils::tail(as.list(key), 2L)[1L])
}

tensor_methods$scaled_dot_product_attention <- function(self, key, value, attn_mask = NULL, dropout_p = 0,
                                                        is_causal = FALSE, enable_gqa = FALSE, scale = NULL) {
  need_probability("scaled_dot_product_attention", dropout_p)
  if (is.numeric(scale) && identical(as.numeric(scale), 0)) raise("scaled_dot_product_attention: scale: 0, expected another number")
  drop <- if (state$training) dropout_p else 0
  .Call(
    C_poly_attention, self, key, value, attn_mask, is_causal, enable_gqa, if (is.null(scale)) 0 else scale, drop,
    if (drop > 0) seed_for(scores(.Call(C_sizes, self), .Call(C_sizes, key)))
  )
}
