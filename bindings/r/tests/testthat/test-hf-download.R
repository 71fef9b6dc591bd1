# Models of the Hub, which a folder or a server of our own stands for.

commit <- strrep("0123456789", 4)

# What the Hub has of a model: a folder with an answer of its interface, and files of the commit.
make_hub <- function(files, listed = names(files)) {
  hub <- tempfile("hub")
  dir.create(file.path(hub, "api/models/org/tiny/revision"), recursive = TRUE)
  dir.create(file.path(hub, "org/tiny/resolve", commit), recursive = TRUE)
  siblings <- paste0('{"rfilename": "', listed, '"}', collapse = ", ")
  about <- sprintf('{"id": "org/tiny", "sha": "%s", "siblings": [%s]}', commit, siblings)
  for (revision in c("main", commit)) writeLines(about, file.path(hub, "api/models/org/tiny/revision", revision))
  for (name in names(files)) {
    to <- file.path(hub, "org/tiny/resolve", commit, name)
    if (is.raw(files[[name]])) writeBin(files[[name]], to) else writeLines(files[[name]], to)
  }
  hub
}

# Evaluates with a hub and an empty cache.
with_hub <- function(hub, code, endpoint = paste0("file://", hub)) {
  home <- tempfile("home")
  before <- Sys.getenv(c("HF_ENDPOINT", "HF_HOME", "HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE"), NA)
  Sys.unsetenv(names(before))
  Sys.setenv(HF_ENDPOINT = endpoint, HF_HOME = home)
  on.exit({
    Sys.unsetenv(names(before))
    if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
    unlink(c(home, hub), recursive = TRUE)
  })
  force(code)
}

test_that("a model is downloaded once, whole, and loaded", {
  hub <- make_hub(list(
    config.json = gpt2_config, tokenizer.json = "{}", model.safetensors = gpt2_weights(), README.md = "",
    other.safetensors = "the same for other programs"
  ))
  with_hub(hub, {
    folder <- download_hf("org/tiny")
    expect_identical(sort(list.files(folder, all.files = TRUE, no.. = TRUE)), c("config.json", "model.safetensors", "tokenizer.json"))
    expect_identical(folder, file.path(Sys.getenv("HF_HOME"), "hub", "models--org--tiny", "snapshots", commit))
    expect_length(load_hf(folder)$notes, 0L)
    expect_identical(readLines(file.path(dirname(folder), "../refs/main"), warn = FALSE), commit)
    # What is there stays as it is.
    writeLines("kept", file.path(folder, "tokenizer.json"))
    expect_identical(download_hf("org/tiny"), folder)
    expect_identical(readLines(file.path(folder, "tokenizer.json")), "kept")
    other <- tempfile("cache")
    expect_identical(dirname(dirname(dirname(download_hf("org/tiny", cache_dir = other)))), other)
    unlink(other, recursive = TRUE)
    # Without the hub it is what it was.
    unlink(hub, recursive = TRUE)
    expect_identical(download_hf("org/tiny", commit), folder)
    Sys.setenv(HF_HUB_OFFLINE = "1")
    expect_identical(download_hf("org/tiny"), folder)
    expect_polygrad(download_hf("org/other"), "org/other: HF_HUB_OFFLINE is 1")
    Sys.unsetenv("HF_HUB_OFFLINE")
    expect_warning(expect_identical(download_hf("org/tiny"), folder), "is what was downloaded before")
    unlink(file.path(folder, "model.safetensors"))
    expect_polygrad(download_hf("org/tiny"), "download_hf: file://")
  })
})

test_that("of a sharded model the files of its index are downloaded", {
  index <- '{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}'
  files <- list(
    config.json = "{}", model.safetensors.index.json = index, one.safetensors = "1", two.safetensors = "2",
    three.safetensors = "3", model.safetensors = "4"
  )
  with_hub(make_hub(files), {
    folder <- download_hf("org/tiny")
    expect_identical(
      sort(list.files(folder), method = "radix"), c("config.json", "model.safetensors.index.json", "one.safetensors", "two.safetensors")
    )
  })
  files$model.safetensors.index.json <- '{"weight_map": {"a": "../../../../one.safetensors"}}'
  with_hub(make_hub(files), expect_polygrad(download_hf("org/tiny"), "expected a file beside the index"))
})

test_that("nothing is written outside of the folder, and no half of a file stays", {
  odd <- c("../config.json", "a/b.safetensors", "..", "c\\\\d.safetensors", "e.safetensors", "config.json")
  hub <- make_hub(list(config.json = "{}"), odd)
  with_hub(hub, {
    expect_polygrad(download_hf("org/tiny"), "e.safetensors")
    inside <- list.files(Sys.getenv("HF_HOME"), recursive = TRUE, all.files = TRUE)
    expect_identical(basename(inside), "config.json")
  })
  with_hub(make_hub(list(config.json = "{}")), expect_polygrad(download_hf("org/tiny"), "no .safetensors file"))
  with_hub(make_hub(list(model.safetensors = "")), expect_polygrad(download_hf("org/tiny"), "no config.json"))
  hub <- make_hub(list(config.json = "{}"))
  writeLines("<html>", file.path(hub, "api/models/org/tiny/revision/main"))
  with_hub(hub, expect_polygrad(download_hf("org/tiny"), "expected a commit and the names of its files"))
})

test_that("environment variables of download_hf are checked", {
  with_hub(make_hub(list()), {
    junk <- c(HF_HUB_OFFLINE = "abc", HF_ENDPOINT = "abc", HF_TOKEN = "a b", HF_TOKEN_PATH = tempdir())
    for (name in names(junk)) {
      before <- Sys.getenv(name, NA)
      do.call(Sys.setenv, as.list(junk[name]))
      expect_polygrad(download_hf("org/tiny"), paste0("^", name, ": .*expected "))
      if (is.na(before)) Sys.unsetenv(name) else do.call(Sys.setenv, as.list(stats::setNames(before, name)))
    }
  })
})

test_that("arguments of download_hf are checked", {
  for (bad in list(NULL, 1, NA, "", "a/b/c", "../a", "a/..", "a b", "a?b", c("a", "b"))) {
    expect_polygrad(download_hf(bad), "repo_id")
  }
  for (bad in list(NULL, 1, "../main", "a//b", "/a")) expect_polygrad(download_hf("org/tiny", bad), "revision")
  for (bad in list(1, c("a", "b"), "a\nHost: b", "")) expect_polygrad(download_hf("org/tiny", token = bad), "token")
  expect_polygrad(download_hf("org/tiny", cache_dir = 1), "cache_dir: 1")
  expect_polygrad(download_hf("org/tiny", progress = NA), "progress")
})

# Serves a folder to those who have the token, and writes its port to a file.
server <- '
import functools, http.server, os, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.headers.get("Authorization") != "Bearer secret":
            return self.send_error(401)
        super().do_GET()
    def log_message(self, *_):
        pass
made = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1]))
with open(sys.argv[2] + ".part", "w") as f:
    f.write(f"{made.server_port} {os.getpid()}")
os.rename(sys.argv[2] + ".part", sys.argv[2])
made.serve_forever()
'

test_that("a token opens a server", {
  python <- Sys.which("python3")
  skip_if(!nzchar(python), "there is no Python to serve files")
  hub <- make_hub(list(config.json = gpt2_config, model.safetensors = gpt2_weights()))
  script <- tempfile(fileext = ".py")
  ready <- tempfile("port")
  writeLines(server, script)
  system2(python, c(script, hub, ready), wait = FALSE, stdout = FALSE, stderr = FALSE)
  for (i in 1:600) if (file.exists(ready)) break else Sys.sleep(0.05)
  if (!file.exists(ready)) stop("the server does not start")
  at <- scan(ready, integer(), quiet = TRUE)
  on.exit(tools::pskill(at[2]))
  with_hub(hub, endpoint = sprintf("http://127.0.0.1:%d/", at[1]), {
    expect_polygrad(download_hf("org/tiny"), "HTTP status was '401")
    expect_polygrad(download_hf("org/tiny", token = "wrong"), "HTTP status was '401")
    folder <- download_hf("org/tiny", token = "secret")
    expect_length(load_hf(folder)$notes, 0L)
    # What the hub refuses is not taken from the cache.
    expect_polygrad(download_hf("org/tiny"), "HTTP status was '401")
    expect_polygrad(download_hf("org/none", token = "secret"), "HTTP status was '404")
    expect_polygrad(download_hf("org--tiny", token = "secret"), "repo_id: 'org--tiny', expected owner/name")
    expect_polygrad(download_hf("org/tiny", "v1/x", token = "secret"), "revision/v1%2Fx: .*404")
    Sys.setenv(HF_TOKEN = "secret")
    expect_identical(download_hf("org/tiny"), folder)
    expect_identical(download_hf("org/tiny", commit), folder)
  })
})

test_that("the language model of README.md continues a text", {
  page <- "../../README.md"
  skip_if_not(file.exists(page), "README.md is not beside the tests")
  text <- paste(readLines(page, encoding = "UTF-8"), collapse = "\n")
  blocks <- regmatches(text, gregexpr("(?s)```r\n.*?```", text, perl = TRUE))[[1]]
  program <- gsub("```r\n|```", "", grep("download_hf", blocks, value = TRUE))
  program <- sub("openai-community/gpt2", "org/tiny", program, fixed = TRUE)
  # One letter a token, others are the first.
  vocab <- paste(sprintf('"%s": %d', letters[1:11], 0:10), collapse = ", ")
  words <- sprintf('{"model": {"type": "BPE", "vocab": {%s}, "unk_token": "a"}, "decoder": {"type": "Fuse"}}', vocab)
  with_hub(make_hub(list(config.json = gpt2_config, tokenizer.json = words, model.safetensors = gpt2_weights())), {
    capture.output(said <- eval(parse(text = program)), type = "message")
  })
  expect_match(said, "^The meaning of life is[a-k]{50}$")
})

test_that("tokenizers come from the hub and from URLs; options are JSON", {
  file <- tempfile()
  writeLines('{"model": {"type": "WordLevel", "vocab": {"a": 7, "b": 8, "<s>": 9}, "unk_token": "b"}, "pre_tokenizer": {"type": "Whitespace"}}', file)
  words <- load_tokenizer(paste0("file://", normalizePath(file)))
  expect_identical(words$encode("a"), 7L)
  expect_identical(words$encode("a b", pair = "b"), c(7L, 8L, 8L))
  expect_identical(words$encode(c("a", "b b"), pair = c("b", "a")), list(c(7L, 8L), c(8L, 8L, 7L)))
  expect_identical(words$encode(c("a b a", "a"), truncation = list(max_length = 2), padding = list(pad_id = 1)), list(c(7L, 8L), c(7L, 1L)))
  expect_identical(words$encode("a", allowed = "<s>"), 7L)
  expect_polygrad(words$encode("a", special = NA), "special")
  expect_polygrad(words$decode(7L, special = NA), "special")
  expect_polygrad(words$encode("a", pair = c("a", "b")), "pair")
  expect_polygrad(words$encode("a", truncation = list(max_length = -1)), "max_length")
  expect_polygrad(load_tokenizer("cl100k"), "cl100k_base")
  expect_polygrad(load_tokenizer("http://127.0.0.1:1/x"), "127.0.0.1:1")
})
