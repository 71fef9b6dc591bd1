device_name <- function(device) {
  if (is.character(device) && length(device) == 1L) toupper(device) else raise(sprintf("device: %s, expected a name", brief(device)))
}
device_available <- function(device) isTRUE(.Call(C_devices)[device_name(device)][[1L]])
devices <- function() names(which(.Call(C_devices)))
default_device <- function(device = NULL) {
  if (is.null(device)) .Call(C_device, NULL) else invisible(.Call(C_to, NULL, device_number(device), TRUE))
}

device_number <- function(device) {
  known <- .Call(C_devices)
  number <- number_of("device", device_name(device), stats::setNames(seq_along(known) - 1L, names(known)))
  if (known[[number + 1L]]) number else raise(sprintf("device: %s is not available in this process", toupper(device)))
}
