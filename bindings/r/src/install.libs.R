# Installs the compiled glue. In a checkout it writes down where libpolygrad.so was built; a source
# package carries the library (tools/), which is installed; else pkg-config may know of one.

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

if (file.exists(file.path(checkout, "include", "polygrad.h")) && file.exists(built)) {
  path <- normalizePath(built)
} else if (file.exists(carried)) {
  path <- NULL
  lib <- file.path(R_PACKAGE_DIR, "lib")
  dir.create(lib, showWarnings = FALSE)
  from <- gzfile(carried, "rb")
  to <- file(file.path(lib, "libpolygrad.so"), "wb")
  while (length(block <- readBin(from, "raw", 2^22)) > 0) writeBin(block, to)
  close(from)
  close(to)
} else if (length(known) == 1 && nzchar(known)) {
  path <- file.path(known, "libpolygrad.so")
} else {
  path <- NULL
  message(
    "libpolygrad.so is not here: build it (make build) and install again, ",
    "or set POLYGRAD_LIB to its path when the package is used"
  )
}
if (!is.null(path)) {
  message("using ", path)
  writeLines(path, file.path(R_PACKAGE_DIR, "library-path"))
}
