# Model files: written here by hand, and read from mapped memory.

u32 <- function(n) writeBin(as.integer(n), raw(), endian = "little")
u64 <- function(n) c(u32(n), u32(0))
text <- function(s) c(u64(nchar(s)), charToRaw(s))

test_that("tensors keep their types, names and shapes", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  path <- file.path(folder, "model.safetensors")
  types <- c("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "fp8e4m3", "fp8e5m2", "float16",
    "bfloat16", "float32", "float64")
  m <- matrix(c(0, 1, 1, 1, 0, 1), 2)
  tensors <- lapply(types, function(t) Tensor(m, dtype = t))
  names(tensors) <- types
  expect_identical(write_safetensors(tensors, path, metadata = '{"made":"here"}'), path)
  for (source in list(path, folder, readBin(path, "raw", file.size(path)))) {
    back <- read_safetensors(source)
    expect_identical(names(back), types)
    expect_identical(unname(vapply(back, dtype, "")), types)
    for (t in types) expect_equal(as.array(back[[t]]$cast("float32")), m)
    expect_identical(attr(back, "metadata"), '{"made":"here"}')
  }
})

test_that("shards are written and read", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  write_safetensors(list(a = c(1, 2), b = c(3, 4)), file.path(folder, "model.safetensors"), max_shard_size = 8)
  expect_length(list.files(folder), 3L)
  back <- read_safetensors(folder)
  expect_equal(as.array(back$b), array(c(3, 4)))
  expect_polygrad(write_safetensors(list(a = 1), max_shard_size = 8), "need a path")
})

test_that("GGUF files", {
  head <- c(
    charToRaw("GGUF"), u32(3), u64(1), u64(1), text("name"), u32(8), text("small"),
    text("w"), u32(2), u64(32), u64(1), u32(8), u64(0)
  )
  blocks <- as.raw(c(0, 0x40, 0:31)) # the scale 2
  data <- c(head, raw((32 - length(head) %% 32) %% 32), blocks)
  found <- read_gguf(data)
  expect_equal(as.array(found$w), matrix(2 * (0:31), 1))
  expect_identical(attr(found, "metadata"), '{"name":"small"}')
  expect_polygrad(read_gguf(data[-length(data)]), "tensor \"w\"")
})

latin <- function(...) {
  unlist(lapply(list(...), function(x) if (is.raw(x)) x else if (is.character(x)) charToRaw(x) else as.raw(x)))
}
pickled <- function(...) latin(0x80, 2, ..., ".")
X <- function(s) c(charToRaw("X"), u32(nchar(s)), charToRaw(s))

test_that("files of PyTorch", {
  magic <- as.raw(c(0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e))
  matrix_of <- latin(
    "ctorch._utils\n_rebuild_tensor_v2\n((", X("storage"), "ctorch\nFloatStorage\n", X("0"), X("cpu"), "K", 6, "NtQ",
    "K", 0, "K", 2, "K", 3, 0x86, "K", 3, "K", 1, 0x86, 0x89, "}tR"
  )
  saved <- function(...) {
    c(magic, pickled("M", 0xe9, 3), pickled("}"), pickled(...), pickled("]", X("0"), "a"), u64(6), writeBin(as.double(0:5), raw(), size = 4))
  }
  found <- read_torch(saved("}(", X("w"), matrix_of, X("epoch"), "K", 7, "u"))
  expect_equal(as.array(found$w), matrix(c(0, 3, 1, 4, 2, 5), 2))
  expect_identical(attr(found, "value"), '{"w":{"$tensor":0},"epoch":7}')
  expect_polygrad(read_torch(saved("}(", X("w"), matrix_of, X("x"), "cos\nsystem\n", X("true"), 0x85, "Ru")), "os.system")
})

test_that("what is wrong with a file is said", {
  path <- tempfile()
  on.exit(unlink(path))
  writeBin(as.raw(1:20), path)
  for (f in list(read_safetensors, read_gguf, read_torch)) {
    expect_polygrad(f(path), basename(path))
    expect_polygrad(f(tempfile()), "does not exist")
    expect_polygrad(f(1), "a raw vector or the path")
    expect_polygrad(f(raw()), "data")
  }
})

test_that("bytes become tensors and tensors bytes, row by row", {
  x <- Tensor(m, dtype = "float32")
  bytes <- x$data()
  expect_identical(bytes, writeBin(as.vector(t(m)), raw(), size = 4))
  expect_same(Tensor$from_blob(bytes, c(2, 3)), m)
  expect_identical(t(x)$data(), writeBin(as.vector(m), raw(), size = 4))
  half <- Tensor(c(1, 2), dtype = "float16")
  expect_equal(as.vector(Tensor$from_blob(half$data(), 2, "float16")), c(1, 2))
  expect_polygrad(Tensor$from_blob(bytes, c(2, 2)), "24 bytes, expected 16 for the shape and float32")
  expect_polygrad(Tensor$from_blob(1:4, 4), "expected a raw vector")
})

test_that("a URL is read, unpacked if that is wanted", {
  path <- tempfile()
  on.exit(unlink(path))
  writeBin(charToRaw("hello"), path)
  x <- Tensor$from_url(paste0("file://", path))
  expect_equal(dtype(x), "uint8")
  expect_equal(rawToChar(x$data()), "hello")
  expect_polygrad(Tensor$from_url(paste0("file://", path), gunzip = TRUE), "not compressed by gzip")
  packed <- gzfile(path, "wb")
  writeBin(as.raw(rep(1:250, 100)), packed)
  close(packed)
  expect_identical(Tensor$from_url(paste0("file://", path), gunzip = TRUE)$data(), as.raw(rep(1:250, 100)))
  expect_polygrad(Tensor$from_url(paste0("file://", path, "gone")), "from_url: file://.*gone: ")
  expect_polygrad(Tensor$from_url(7), "url: 7, expected a string")
})
