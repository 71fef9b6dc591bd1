// Records by value, callbacks and tensors from C++.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "polygrad.h"

namespace {

int failures;

#define CHECK(cond)                                                                                       \
  do {                                                                                                    \
    if (!(cond)) {                                                                                        \
      failures++;                                                                                         \
      std::fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #cond, poly_last_error()); \
    }                                                                                                     \
  } while (0)

struct Free {
  void operator()(PolyCtx *p) const { poly_ctx_destroy(p); }
  void operator()(PolyTensor *p) const { poly_tensor_free(p); }
  void operator()(PolyModel *p) const { poly_model_free(p); }
  void operator()(char *p) const { std::free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

PolyArg number(double f) {
  PolyArg a{};
  a.kind = POLY_ARG_FLOAT;
  a.u.f = f;
  return a;
}

void nodes(PolyCtx *ctx) {
  PolyDType f32 = POLY_FLOAT32;
  PolyUOp *a = poly_uop0(ctx, POLY_OP_CONST, f32, number(1.5)), *b = poly_const_typed(ctx, f32, 2);
  PolyUOp *sum = poly_uop2(ctx, POLY_OP_ADD, f32, a, b, PolyArg{});
  CHECK(poly_dtype_eq(poly_uop_dtype(ctx, sum), f32) && poly_shape_numel(poly_uop_shape(ctx, sum)) == 1);
  float out = 0;
  void *to = &out;
  CHECK(poly_realize_into(ctx, &sum, &to, 1, nullptr) == 0 && out == 3.5f);
  int n = 0;
  CHECK(poly_toposort_ex(ctx, sum, &n, [](PolyUOp *x) { return x != nullptr; }, true) != nullptr && n >= 3);
  CHECK(Owned<char>(poly_uop_str(sum)) != nullptr);
}

void tensors(PolyCtx *ctx) {
  std::vector<float> data{1, 2, 3, 4};
  int64_t shape[2] = {2, 2};
  Owned<PolyTensor> a(poly_tensor_input(ctx, data.data(), shape, 2)), b(poly_tensor_ones(shape, 2));
  Owned<PolyTensor> product(poly_tensor_matmul(a.get(), b.get()));
  CHECK(poly_tensor_realize(product.get()) == 0 && product->data[0] == 3 && product->data[3] == 7);
}

void models(PolyCtx *ctx) {
  auto forward = [](PolyModel *, void *user, PolyUOp **inputs, int, int *n_out) {
    auto **out = static_cast<PolyUOp **>(std::malloc(sizeof(PolyUOp *)));
    out[0] = poly_square(static_cast<PolyCtx *>(user), inputs[0]);
    *n_out = 1;
    return out;
  };
  Owned<PolyModel> m(poly_model_new(ctx, forward, ctx, nullptr));
  PolyUOp *x = poly_const_float(ctx, 3);
  int n = 0;
  PolyUOp **y = poly_model_forward(m.get(), &x, 1, &n);
  float out = 0;
  void *to = &out;
  CHECK(y != nullptr && n == 1 && poly_realize_into(ctx, y, &to, 1, nullptr) == 0 && out == 9);
  std::free(y);
}

}  // namespace

int main() {
  Owned<PolyCtx> ctx(poly_ctx_new());
  nodes(ctx.get());
  tensors(ctx.get());
  models(ctx.get());
  return failures != 0;
}
