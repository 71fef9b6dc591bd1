// Train a model on handwritten digits, save it, and classify with the saved one.
//
//     cmake -B build && cmake --build build
//     gunzip -c ../data/digits.csv.gz | build/train
//
// A row of the table is a digit: 64 pixels from 0 to 16, then the label. One in five is held back.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model.hpp"

namespace {

constexpr std::size_t kPixels = 64, kClasses = 10, kBatch = 64;
constexpr int kEpochs = 20;

struct Digits {
  std::vector<float> pixels;
  std::vector<std::size_t> labels;

  // Digits first, first + step, …: a batch of them, as pixels and as one-hot labels.
  void batch(std::size_t first, std::size_t step, std::vector<float> &x, std::vector<float> &y) const {
    std::fill(y.begin(), y.end(), 0.0f);
    for (std::size_t i = 0; i < kBatch; i++) {
      const std::size_t digit = (first + i * step) % labels.size();
      std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(digit * kPixels), kPixels,
                  x.begin() + static_cast<std::ptrdiff_t>(i * kPixels));
      y[i * kClasses + labels[digit]] = 1;
    }
  }
};

void read(std::istream &table, Digits &train, Digits &test) {
  std::string line, cell;
  for (int row = 0; std::getline(table, line); row++) {
    Digits &to = row % 5 == 4 ? test : train;
    std::istringstream cells(line);
    for (std::size_t i = 0; i < kPixels && std::getline(cells, cell, ','); i++)
      to.pixels.push_back(std::stof(cell) / 16);
    std::getline(cells, cell);
    to.labels.push_back(std::stoul(cell));
  }
  if (train.labels.size() < kBatch || test.labels.size() < kBatch) throw std::runtime_error("too few digits");
}

double accuracy(polygrad::Model &model, const Digits &digits) {
  std::vector<float> x(kBatch * kPixels), y(kBatch * kClasses);
  std::size_t right = 0;
  for (std::size_t first = 0; first < digits.labels.size(); first += kBatch) {
    digits.batch(first, 1, x, y);
    const std::vector<float> scores = model.forward(x);
    for (std::size_t i = 0; i < kBatch && first + i < digits.labels.size(); i++) {
      const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i * kClasses);
      const auto best = std::max_element(row, row + kClasses) - row;
      right += static_cast<std::size_t>(best) == digits.labels[first + i];
    }
  }
  return static_cast<double>(right) / static_cast<double>(digits.labels.size());
}

void run() {
  Digits train, test;
  read(std::cin, train, test);
  auto model = polygrad::Model::mlp(
      R"({"layers": [64, 96, 10], "activation": "relu", "loss": "cross_entropy", "batch_size": 64, "seed": 42})");
  model.use_adam(0.003f);

  std::vector<float> x(kBatch * kPixels), y(kBatch * kClasses);
  const std::size_t batches = train.labels.size() / kBatch;
  for (int epoch = 1; epoch <= kEpochs; epoch++) {
    double sum = 0;
    for (std::size_t b = 0; b < batches; b++) {
      train.batch(b, batches, x, y);
      sum += static_cast<double>(model.train_step(x, y));
    }
    if (epoch == 1 || epoch % 5 == 0) std::printf("epoch %2d  loss %.4f\n", epoch, sum / static_cast<double>(batches));
  }

  const auto bundle = model.save();
  auto copy = polygrad::Model::load(bundle);
  test.batch(0, 1, x, y);
  if (copy.forward(x) != model.forward(x)) throw std::runtime_error("the saved model reads differently");
  std::printf("the model as a bundle: %zu bytes\n", bundle.size());
  std::printf("test accuracy: %.4f\n", accuracy(copy, test));
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
