# Trains a network, whose state and data are in files that another language wrote, for so many steps, and writes both back.
library(polygrad)

arguments <- commandArgs(TRUE)
folder <- arguments[[1L]]
make <- list(
  sgd = function(p) SGD(p, lr = 0.5, momentum = 0.9), adam = function(p) Adam(p, lr = 0.5),
  adamw = function(p) AdamW(p, lr = 0.5, weight_decay = 0.1)
)[[arguments[[2L]]]]
Tensor$training <- TRUE
net <- list(layers = list(Linear(4, 8), GRUCell(8, 8), BatchNorm(8), Linear(8, 2)))
optimizer <- make(get_parameters(net))
everything <- list(net = net, optimizer = optimizer)
load_state_dict(everything, read_safetensors(file.path(folder, "state.safetensors")))
data <- read_safetensors(file.path(folder, "data.safetensors"))
losses <- vapply(seq_len(5), function(i) {
  optimizer$zero_grad()
  out <- net$layers[[4]](net$layers[[3]](net$layers[[2]](net$layers[[1]](data$x)))$relu())
  loss <- (out - data$y)$square()$mean()
  loss$backward()
  optimizer$step()
  loss$item()
}, 0)
write_safetensors(c(get_state_dict(everything), list(losses = losses)), file.path(folder, "back.safetensors"))
