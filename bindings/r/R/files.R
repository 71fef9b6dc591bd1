# Safetensors files and bundles.

read_safetensors <- function(data) {
  found <- .Call(C_safetensors_read, bytes_of(data))
  structure(found[[1L]], metadata = found[[2L]])
}

write_safetensors <- function(tensors, path = NULL, metadata = NULL) {
  if (is.null(names(tensors)) || !all(nzchar(names(tensors)))) {
    raise("write_safetensors: tensors: expected a named list")
  }
  ready <- lapply(tensors, function(x) {
    if (!is_tensor(x)) return(Tensor(x, dtype = "float32"))
    if (dtype(x) == "float32") .Call(C_detach, x) else .Call(C_poly_cast_by_id, .Call(C_detach, x), "float32")
  })
  data <- .Call(C_safetensors_write, unname(ready), names(tensors), metadata)
  if (is.null(path)) return(data)
  writeBin(data, path)
  invisible(data)
}

read_bundle <- function(data) {
  found <- .Call(C_bundle_read, bytes_of(data))
  list(ir = found[[1L]], weights = found[[2L]], metadata = if (!is.null(found[[3L]])) rawToChar(found[[3L]]))
}

write_bundle <- function(ir, weights = NULL, metadata = NULL, path = NULL) {
  data <- .Call(C_bundle_write, bytes_of(ir), if (!is.null(weights)) bytes_of(weights), metadata)
  if (is.null(path)) return(data)
  writeBin(data, path)
  invisible(data)
}
