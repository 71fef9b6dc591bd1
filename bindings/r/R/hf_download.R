# Models of the Hugging Face Hub, in the cache that its own client uses: models--OWNER--NAME with refs, which
# say what commit a revision is, and snapshots, a folder for each commit.

download_hf <- function(repo_id, revision = "main", cache_dir = NULL, token = NULL, progress = interactive()) {
  need_flag("download_hf", "progress", progress)
  need_path("repo_id", repo_id, "owner/name")
  # Two hyphens stand for the slash in names of folders.
  if (lengths(strsplit(repo_id, "/", fixed = TRUE)) > 2L || grepl("--", repo_id, fixed = TRUE)) {
    raise(sprintf("download_hf: repo_id: '%s', expected owner/name", repo_id))
  }
  need_path("revision", revision, "a branch, a tag or a commit")
  headers <- token_header(token)
  if (is.null(cache_dir)) cache_dir <- hub_cache()
  if (!is.character(cache_dir) || length(cache_dir) != 1L || is.na(cache_dir)) {
    raise(sprintf("download_hf: cache_dir: %s, expected the path of a folder", brief(cache_dir)))
  }
  own <- file.path(path.expand(cache_dir), paste0("models--", gsub("/", "--", repo_id, fixed = TRUE)))
  kept <- kept_snapshot(own, revision)
  offline <- hub_offline()
  if (!is.null(kept) && (offline || basename(kept) == revision)) return(kept)
  if (offline) raise(sprintf("download_hf: %s: HF_HUB_OFFLINE is 1, and the model is not in the cache", repo_id))
  found <- tryCatch(
    hub_commit(repo_id, revision, headers),
    polygrad_error = function(e) {
      # A file that the hub refuses counts as missing, whatever the cache holds.
      if (is.null(kept) || grepl("HTTP status was", conditionMessage(e), fixed = TRUE)) raise(conditionMessage(e))
      warning(sprintf("%s; %s is what was downloaded before", conditionMessage(e), kept), call. = FALSE)
      kept
    }
  )
  if (is.character(found)) return(found)
  folder <- file.path(own, "snapshots", found$commit)
  get_file <- function(name) {
    to <- file.path(folder, name)
    if (!file.exists(to)) {
      if (progress) message(name)
      fetch("download_hf", hub_url(repo_id, "resolve", found$commit, name), to, headers, progress)
    }
    to
  }
  names <- found$files
  if (!"config.json" %in% names) raise(sprintf("download_hf: repo_id: %s has no config.json", repo_id))
  weights <- if (index_name %in% names) indexed("download_hf", get_file(index_name)) else unindexed(names)
  if (length(weights) == 0L) raise(sprintf("download_hf: repo_id: %s has no .safetensors file", repo_id))
  # Weights are downloaded last: a folder that has them all is complete.
  for (name in c(intersect(small_files, names), weights)) get_file(name)
  if (found$commit != revision) keep_ref(file.path(own, "refs", revision), found$commit)
  folder
}

small_files <- c("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")

#' Names that are part of paths and URLs.
need_path <- function(name, value, expected) {
  known <- is.character(value) && length(value) == 1L && grepl("^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$", value)
  if (!known || grepl("..", value, fixed = TRUE)) raise(sprintf("download_hf: %s: %s, expected %s", name, brief(value), expected))
}

hub_url <- function(...) {
  endpoint <- sub("/+$", "", set_or("HF_ENDPOINT", "https://huggingface.co"))
  if (!grepl("^(https?://[^/]|file://)", endpoint)) raise(sprintf("HF_ENDPOINT: got '%s', expected an http or https URL", endpoint))
  paste(c(endpoint, ...), collapse = "/")
}

#' An environment variable, or default if it is unset or empty.
set_or <- function(name, default) {
  value <- Sys.getenv(name)
  if (nzchar(value)) path.expand(value) else default
}

hub_home <- function() set_or("HF_HOME", file.path(set_or("XDG_CACHE_HOME", path.expand("~/.cache")), "huggingface"))

# Whether downloads are off: HF_HUB_OFFLINE, with the values that huggingface_hub accepts.
hub_offline <- function() {
  value <- tolower(Sys.getenv("HF_HUB_OFFLINE"))
  if (value %in% c("1", "on", "yes", "true")) return(TRUE)
  if (value %in% c("", "0", "off", "no", "false")) return(FALSE)
  raise(sprintf("HF_HUB_OFFLINE: got '%s', expected 1 or 0", value))
}

hub_cache <- function() set_or("HF_HUB_CACHE", file.path(hub_home(), "hub"))

#' The HTTP header for a token; FALSE: none. NULL: the token of the environment, or else the one that the hub's client has stored.
token_header <- function(token) {
  if (isFALSE(token)) return(NULL)
  name <- "download_hf: token"
  expected <- "NULL, FALSE or a string without spaces"
  if (is.null(token)) {
    name <- "HF_TOKEN"
    expected <- "a string without spaces"
    token <- Sys.getenv(name)
    kept <- set_or("HF_TOKEN_PATH", file.path(hub_home(), "token"))
    if (!nzchar(token) && file.exists(kept)) {
      name <- kept
      if (dir.exists(kept)) raise(sprintf("HF_TOKEN_PATH: '%s' is a folder, expected a file", kept))
      token <- trimws(text_of(kept))
    }
    if (!nzchar(token)) return(NULL)
  }
  if (!is.character(token) || length(token) != 1L || !grepl("^[!-~]+$", token)) raise(sprintf("%s: expected %s", name, expected))
  c(Authorization = paste("Bearer", token))
}

#' The commit of a revision and the names of its files, from the hub.
hub_commit <- function(repo_id, revision, headers) {
  url <- hub_url("api/models", repo_id, "revision", gsub("/", "%2F", revision, fixed = TRUE))
  to <- tempfile()
  on.exit(unlink(to))
  text <- text_of(fetch("download_hf", url, to, headers))
  commit <- regmatches(text, regexpr('"sha"[[:space:]]*:[[:space:]]*"[0-9a-f]{40}"', text))
  names <- regmatches(text, gregexpr('"rfilename"[[:space:]]*:[[:space:]]*"[^"]*"', text))[[1L]]
  if (length(commit) == 0L || length(names) == 0L) raise(sprintf("download_hf: %s: expected a commit and the names of its files", url))
  value <- function(pair) sub('.*"([^"]*)"$', "\\1", pair)
  names <- value(names)
  # Only files of the folder itself are loaded, and nothing is written outside of it.
  list(commit = value(commit), files = names[grepl("^[^/\\\\]+$", names) & !names %in% c(".", "..")])
}

#' The folder of a revision that was downloaded before, or NULL.
kept_snapshot <- function(own, revision) {
  ref <- file.path(own, "refs", revision)
  commit <- if (file.exists(ref)) trimws(text_of(ref)) else revision
  folder <- file.path(own, "snapshots", commit)
  if (!grepl("^[0-9a-f]{40}$", commit) || !file.exists(file.path(folder, "config.json"))) return(NULL)
  index <- file.path(folder, index_name)
  files <- file.path(folder, if (file.exists(index)) indexed("download_hf", index) else unindexed(list.files(folder)))
  if (length(files) > 0L && all(file.exists(files))) folder
}

keep_ref <- function(ref, commit) {
  dir.create(dirname(ref), recursive = TRUE, showWarnings = FALSE)
  part <- tempfile("part", tmpdir = dirname(ref))
  cat(commit, file = part)
  file.rename(part, ref)
}
