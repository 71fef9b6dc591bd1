# Model files and bundles.

# PolyFileFormat
file_formats <- list(safetensors = 1L, gguf = 2L, torch = 3L)

read_file <- function(data, format, name) {
  if (!is.raw(data)) {
    expected <- "expected a raw vector or the path of a file"
    if (!is.character(data) || length(data) != 1L) raise(sprintf("read_%s: data: a %s, %s", format, typeof(data), expected))
    if (!file.exists(data)) raise(sprintf("read_%s: data: the file '%s' does not exist, %s", format, data, expected))
  }
  found <- .Call(C_file_read, data, file_formats[[format]])
  result <- found[[1L]]
  attr(result, name) <- found[[2L]]
  result
}

read_safetensors <- function(data) read_file(data, "safetensors", "metadata")

read_gguf <- function(data) read_file(data, "gguf", "metadata")

read_torch <- function(data) read_file(data, "torch", "value")

write_safetensors <- function(tensors, path = NULL, metadata = NULL, max_shard_size = NULL) {
  if (length(tensors) > 0L && (is.null(names(tensors)) || !all(nzchar(names(tensors))))) {
    raise("write_safetensors: tensors: expected a named list")
  }
  if (is.null(path) && !is.null(max_shard_size)) raise("write_safetensors: max_shard_size: shards need a path")
  if (!is.null(path)) need_file("write_safetensors", path)
  ready <- lapply(tensors, function(x) if (is_tensor(x)) .Call(C_detach, x) else Tensor(x, dtype = "float32"))
  to <- if (is.null(path)) tempfile(fileext = ".safetensors") else path
  .Call(C_safetensors_save, to, unname(ready), as.character(names(tensors)), metadata, max_shard_size)
  if (!is.null(path)) return(invisible(path))
  on.exit(unlink(to))
  readBin(to, "raw", file.size(to))
}

read_bundle <- function(data) {
  found <- .Call(C_bundle_read, bytes_of(data))
  list(ir = found[[1L]], weights = found[[2L]], metadata = if (!is.null(found[[3L]])) as_text("read_bundle: metadata", found[[3L]]))
}

write_bundle <- function(ir, weights = NULL, metadata = NULL, path = NULL) {
  data <- .Call(C_bundle_write, bytes_of(ir), if (!is.null(weights)) bytes_of(weights), metadata)
  if (is.null(path)) return(data)
  need_file("write_bundle", path)
  writeBin(data, path)
  invisible(data)
}
