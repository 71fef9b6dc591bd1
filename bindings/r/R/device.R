device_available <- function(device) {
  if (!is.character(device) || length(device) != 1L) raise(sprintf("device_available: device: %s, expected a name", brief(device)))
  known <- .Call(C_devices)
  isTRUE(known[toupper(device)][[1L]])
}

devices <- function() {
  known <- .Call(C_devices)
  names(known)[known]
}

device_number <- function(device) {
  if (!is.character(device) || length(device) != 1L) raise(sprintf("device: %s, expected a name", brief(device)))
  known <- .Call(C_devices)
  number <- number_of("device", toupper(device), stats::setNames(seq_along(known) - 1L, names(known)))
  if (!known[[number + 1L]]) raise(sprintf("device: %s is not available in this process", toupper(device)))
  number
}
