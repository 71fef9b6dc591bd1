# Files from the network.

#' Downloads a URL to a file atomically: another process may look for the file at the same time.
fetch <- function(caller, url, to, headers = NULL, progress = FALSE) {
  dir.create(dirname(to), recursive = TRUE, showWarnings = FALSE)
  part <- tempfile("part", tmpdir = dirname(to))
  # R's timeout of 60 s covers the whole download.
  before <- options(timeout = max(getOption("timeout"), 24 * 3600))
  on.exit({
    options(before)
    unlink(part)
  })
  said <- character()
  status <- tryCatch(
    withCallingHandlers(
      utils::download.file(url, part, mode = "wb", quiet = !progress, headers = headers, method = "auto"),
      warning = function(w) {
        said <<- c(said, conditionMessage(w))
        invokeRestart("muffleWarning")
      }
    ),
    error = function(e) {
      said <<- c(said, conditionMessage(e))
      1L
    }
  )
  # R only warns about a truncated download.
  if (status != 0L || length(said) > 0L || !file.rename(part, to)) {
    status <- grep("HTTP status was", said, fixed = TRUE, value = TRUE)
    raise(sprintf("%s: %s: %s", caller, url, c(status, said, "it cannot be downloaded")[1L]))
  }
  invisible(to)
}

#' The contents of a URL, kept in the user's cache folder unless it is a file.
downloaded <- function(url, caller = "from_url", progress = FALSE) {
  named <- tempfile()
  on.exit(unlink(named))
  if (startsWith(tolower(url), "file:")) return(bytes_of(fetch(caller, url, named)))
  writeLines(url, named)
  kept <- file.path(tools::R_user_dir("polygrad", "cache"), "downloads", tools::md5sum(named))
  if (!file.exists(kept)) fetch(caller, url, kept, NULL, progress)
  bytes_of(kept)
}
