# Installs the compiled glue, and libpolygrad.so with it if the package carries it (tools/). If not,
# writes down where it lies: in the checkout, or where pkg-config knows of it.

folder <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
dir.create(folder, recursive = TRUE, showWarnings = FALSE)
file.copy(Sys.glob(paste0("*", SHLIB_EXT)), folder, overwrite = TRUE)
if (file.exists("symbols.rds")) file.copy("symbols.rds", folder, overwrite = TRUE)

carried <- file.path(R_PACKAGE_SOURCE, "tools", "libpolygrad.so.gz")
checkout <- file.path(R_PACKAGE_SOURCE, "..", "..")
built <- file.path(checkout, "build", "libpolygrad.so")
known <- tryCatch(
  suppressWarnings(system2("pkg-config", "--variable=libdir polygrad", stdout = TRUE, stderr = FALSE)),
  error = function(e) character()
)

if (file.exists(carried)) {
  lib <- file.path(R_PACKAGE_DIR, "lib")
  dir.create(lib, showWarnings = FALSE)
  from <- gzfile(carried, "rb")
  to <- file(file.path(lib, "libpolygrad.so"), "wb")
  while (length(block <- readBin(from, "raw", 2^22)) > 0) writeBin(block, to)
  close(from)
  close(to)
} else {
  path <- if (file.exists(file.path(checkout, "include", "polygrad.h")) && file.exists(built)) {
    normalizePath(built)
  } else if (length(known) == 1 && nzchar(known)) {
    file.path(known, "libpolygrad.so")
  }
  if (!is.null(path)) {
    message("using ", path)
    writeLines(path, file.path(R_PACKAGE_DIR, "library-path"))
  } else {
    message(
      "libpolygrad.so is not here: build it (make build) and install again, ",
      "or set POLYGRAD_LIB to its path when the package is used"
    )
  }
}
