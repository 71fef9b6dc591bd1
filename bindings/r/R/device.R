device_available <- function(device) {
  known <- .Call(C_devices)
  isTRUE(known[toupper(device)][[1L]])
}

devices <- function() {
  known <- .Call(C_devices)
  names(known)[known]
}

device_number <- function(device) {
  known <- .Call(C_devices)
  at <- match(toupper(device), names(known))
  if (is.na(at)) raise(sprintf("device: '%s' is unknown, expected one of %s", device, paste(names(known), collapse = ", ")))
  if (!known[[at]]) raise(sprintf("device: %s is not available in this process", names(known)[at]))
  at - 1L
}
