// A C++ owner of a polygrad model: the handle is freed with the object, errors are exceptions.
#pragma once

#include <polygrad.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace polygrad {

struct Error : std::runtime_error {
  Error() : std::runtime_error(poly_last_error()) {}
};

// A multi-layer perceptron, or any other model that an instance holds. It moves, but does not copy.
class Model {
 public:
  // From the settings of poly_mlp_instance.
  static Model mlp(const std::string &json) {
    return Model(poly_mlp_instance(json.data(), static_cast<int>(json.size())));
  }

  // From the bytes that save() returned.
  static Model load(const std::vector<std::uint8_t> &bundle) {
    return Model(poly_instance_from_bundle(bundle.data(), static_cast<int>(bundle.size())));
  }

  std::vector<std::uint8_t> save() const {
    int size = 0;
    // The library's block came from malloc.
    const std::unique_ptr<std::uint8_t, decltype(&std::free)> bytes(
        poly_instance_save_bundle(handle_.get(), &size), &std::free);
    if (!bytes) throw Error();
    return {bytes.get(), bytes.get() + size};
  }

  void use_adam(float learning_rate) {
    check(poly_instance_set_optimizer(handle_.get(), POLY_OPTIMIZER_ADAM, learning_rate, 0.9f, 0.999f, 1e-8f, 0));
  }

  // One step on inputs x and targets y; returns the loss before it.
  float train_step(std::vector<float> &x, std::vector<float> &y) {
    std::array<PolyIOBinding, 2> io{{{"x", x.data()}, {"y", y.data()}}};
    float loss = 0;
    check(poly_instance_train_step(handle_.get(), io.data(), static_cast<int>(io.size()), &loss));
    return loss;
  }

  // The outputs for inputs x, row by row.
  std::vector<float> forward(std::vector<float> &x) {
    PolyIOBinding io{"x", x.data()};
    check(poly_instance_forward(handle_.get(), &io, 1));
    for (int i = 0; i < poly_instance_buf_count(handle_.get()); i++) {
      if (poly_instance_buf_role(handle_.get(), i) != POLY_ROLE_OUTPUT ||
          poly_instance_buf_name(handle_.get(), i) != std::string("output"))
        continue;
      std::int64_t n = 0;
      const float *data = poly_instance_buf_data(handle_.get(), i, &n);
      return {data, data + n};
    }
    throw std::runtime_error("the model has no output");
  }

 private:
  struct Free {
    void operator()(PolyInstance *handle) const { poly_instance_free(handle); }
  };

  explicit Model(PolyInstance *handle) : handle_(handle) {
    if (!handle_) throw Error();
  }

  static void check(int rc) {
    if (rc != 0) throw Error();
  }

  std::unique_ptr<PolyInstance, Free> handle_;
};

}  // namespace polygrad
