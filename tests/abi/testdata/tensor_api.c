/* Tensors with memory, layers, gradients, training. */
#include <pthread.h>

#include "check.h"

static int64_t two[2] = {2, 3}, three[1] = {3};

/* Realizes a tensor, compares it with n numbers and frees it. */
static int is(PolyTensor *t, int n, const double *want) {
  int ok = poly_tensor_realize(t) == 0 && t->numel == n && t->data != NULL;
  for (int i = 0; ok && i < n; i++) ok = near(t->data[i], want[i]);
  poly_tensor_free(t);
  return ok;
}
#define IS(t, ...) CHECK(is(t, (int)(sizeof((double[]){__VA_ARGS__}) / 8), (double[]){__VA_ARGS__}))

static void operations(PolyCtx *ctx) {
  float x[6] = {1, -2, 3, -4, 5, -6}, v[3] = {1, 2, 4};
  PolyTensor *a = poly_tensor_input(ctx, x, two, 2), *b = poly_tensor_from_data(v, three, 1);
  CHECK(a && a->ctx == ctx && a->data == x && a->ndim == 2 && a->shape[1] == 3 && a->numel == 6 && !a->owned);
  CHECK(b && b->ctx == NULL && b->data != v && b->data[2] == 4 && b->owned);
  IS(poly_tensor_add(a, b), 2, 0, 7, -3, 7, -2);
  IS(poly_tensor_sub(a, b), 0, -4, -1, -5, 3, -10);
  IS(poly_tensor_mul(b, a), 1, -4, 12, -4, 10, -24);
  IS(poly_tensor_div(a, b), 1, -1, 0.75, -4, 2.5, -1.5);
  IS(poly_tensor_neg(b), -1, -2, -4);
  IS(poly_tensor_relu(a), 1, 0, 3, 0, 5, 0);
  IS(poly_tensor_sigmoid(b), 0.7310585786300049, 0.8807970779778823, 0.9820137900379085);
  IS(poly_tensor_sum(a, -1), -3);
  IS(poly_tensor_sum(a, 0), -3, 3, -3);
  IS(poly_tensor_mean(a, 1), 2. / 3, -5. / 3);
  IS(poly_tensor_max_reduce(a, 0), 1, 5, 3);
  IS(poly_tensor_transpose(a), 1, -4, -2, 5, 3, -6);
  int64_t six[1] = {6}, swap[2] = {1, 0}, rows[2] = {2, 3};
  IS(poly_tensor_reshape(a, six, 1), 1, -2, 3, -4, 5, -6);
  IS(poly_tensor_permute(a, swap, 2), 1, -4, -2, 5, 3, -6);
  IS(poly_tensor_expand(b, rows, 2), 1, 2, 4, 1, 2, 4);
  PolyTensor *t = poly_tensor_transpose(a);
  IS(poly_tensor_matmul(a, t), 14, -32, -32, 77);
  IS(poly_tensor_linear(a, a, NULL), 14, -32, -32, 77);
  poly_tensor_free(t);
  PolyTensor *m = poly_tensor_mse(a, b);
  CHECK(m->ndim == 0 && m->data == NULL && near(poly_tensor_item(m), (0. + 16 + 1 + 25 + 9 + 100) / 6) && m->data);
  poly_tensor_free(m);
  CHECK(poly_tensor_item(b) == 1);
  x[0] = 10; /* inputs show the caller's memory */
  IS(poly_tensor_sum(a, -1), 6);
  CHECK(poly_uop_op(ctx, a->uop) == POLY_OP_RESHAPE);

  PolyTensor *w = poly_tensor_wrap(ctx, b);
  CHECK(w && w->ctx == ctx && w->data == b->data && poly_tensor_item(w) == 1);
  PolyTensor *later = poly_tensor_neg(b);
  poly_tensor_free(b);
  FAILS(poly_tensor_item(w), "poly_tensor_item", "stale");
  FAILS(poly_tensor_realize(later) == 0, "poly_tensor_realize", "not bound");
  FAILS(poly_tensor_neg(b), "poly_tensor_neg", "freed");
  poly_tensor_free(b);
  poly_tensor_free(w);
  poly_tensor_free(later);

  PolyTensor *one = poly_tensor_ones(three, 1), *zero = poly_tensor_zeros(three, 1);
  IS(poly_tensor_sub(zero, one), -1, -1, -1);
  PolyCtx *other = poly_ctx_new();
  PolyTensor *far = poly_tensor_input(other, v, three, 1);
  FAILS(poly_tensor_add(a, far), "poly_tensor_add", "another context");
  FAILS(poly_tensor_wrap(other, a), "poly_tensor_wrap", "another context");
  poly_ctx_destroy(other);
  FAILS(poly_tensor_add(far, one), "poly_tensor_add", "stale");
  poly_tensor_free(far);
  FAILS(poly_tensor_sum(a, 2), "poly_tensor_sum", "axis");
  FAILS(poly_tensor_matmul(one, one), "poly_tensor_matmul", "matrices");
  FAILS(poly_tensor_transpose(one), "poly_tensor_transpose", "matrix");
  FAILS(poly_tensor_add(NULL, one), "poly_tensor_add", "a: is NULL");
  FAILS(poly_tensor_item((PolyTensor *)x), "poly_tensor_item", "not a tensor");
  FAILS(poly_tensor_zeros(three, 9), "poly_tensor_zeros", "9 dimensions");
  FAILS(poly_tensor_zeros(three, -1), "poly_tensor_zeros", "-1");
  FAILS(poly_tensor_from_data(NULL, three, 1), "poly_tensor_from_data", "NULL");
  FAILS(poly_tensor_input(NULL, v, three, 1), "poly_tensor_input", "NULL");
  FAILS(poly_tensor_reshape(a, three, 1), "poly_tensor_reshape", "3");
  poly_tensor_free(NULL);
  poly_tensor_free(one);
  poly_tensor_free(zero);
  poly_tensor_free(a);
}

static void randomness(void) {
  int64_t shape[2] = {20, 30};
  poly_nn_seed(7);
  PolyTensor *a = poly_tensor_rand(shape, 2), *b = poly_tensor_rand(shape, 2);
  poly_nn_seed(7);
  PolyTensor *c = poly_tensor_rand(shape, 2);
  CHECK(memcmp(a->data, c->data, 600 * 4) == 0 && memcmp(a->data, b->data, 600 * 4) != 0);
  double sum = 0, most = 0, bound = sqrt(6. / 600);
  for (int i = 0; i < 600; i++) {
    sum += a->data[i];
    if (fabs(a->data[i]) > most) most = fabs(a->data[i]);
  }
  CHECK(fabs(sum / 600) < 0.1 * bound && most <= bound && most > 0.95 * bound);
  poly_tensor_free(a);
  poly_tensor_free(b);
  poly_tensor_free(c);
}

/* One step of y = w x + b by hand: both gradients are those before the step. */
static void one_step(PolyCtx *ctx) {
  float x[2] = {1, 2}, y[2] = {3, 7}, w0 = 0.5f, b0 = 0.25f, value = 0;
  int64_t n[1] = {2};
  PolyTensor *w = poly_tensor_from_data(&w0, NULL, 0), *b = poly_tensor_from_data(&b0, NULL, 0), *params[2] = {w, b};
  PolyTensor *in = poly_tensor_input(ctx, x, n, 1), *want = poly_tensor_input(ctx, y, n, 1);
  PolyTensor *wx = poly_tensor_mul(in, w), *h = poly_tensor_add(wx, b), *loss = poly_tensor_mse(h, want);
  PolyTensor **grads = poly_tensor_backward(ctx, loss, params, 2);
  double e0 = 0.5 + 0.25 - 3, e1 = 1 + 0.25 - 7, gw = e0 * 1 + e1 * 2, gb = e0 + e1;
  CHECK(grads && near(poly_tensor_item(grads[0]), gw) && near(poly_tensor_item(grads[1]), gb));
  PolySGD sgd = poly_sgd_new(params, 2, 0.1f);
  CHECK(sgd.params == params && sgd.n_params == 2 && sgd.lr == 0.1f);
  CHECK(poly_sgd_step(&sgd, ctx, loss, &value) == 0 && near(value, (e0 * e0 + e1 * e1) / 2));
  CHECK(near(w->data[0], 0.5 - 0.1 * gw) && near(b->data[0], 0.25 - 0.1 * gb));
  FAILS(poly_sgd_step(NULL, ctx, loss, NULL) == 0, "poly_sgd_step", "opt: is NULL");
  FAILS(poly_sgd_step(&sgd, ctx, h, NULL) == 0, "poly_sgd_step", "loss");
  FAILS(poly_sgd_step(&sgd, ctx, NULL, NULL) == 0, "poly_sgd_step", "loss: is NULL");
  PolyTensor *wrong[2] = {w, h};
  PolySGD bad = poly_sgd_new(wrong, 2, 0.1f);
  FAILS(poly_sgd_step(&bad, ctx, loss, NULL) == 0, "poly_sgd_step", "opt[1]");
  bad = poly_sgd_new(NULL, 2, 0.1f);
  FAILS(poly_sgd_step(&bad, ctx, loss, NULL) == 0, "poly_sgd_step", "NULL");
  FAILS(poly_tensor_backward(ctx, h, params, 2), "poly_tensor_backward", "one number");
  PolyTensor *all[9] = {grads[0], grads[1], loss, h, wx, want, in, b, w};
  free(grads);
  for (int i = 0; i < 9; i++) poly_tensor_free(all[i]);
}

/* Two layers learn x0 * x1 on a grid; each step has a context of its own. */
static void training(void) {
  enum { N = 64, HIDDEN = 16 };
  float xs[2 * N], ys[N], first = 0, last = 0;
  for (int i = 0; i < N; i++) {
    xs[2 * i] = (float)(i / 8) / 4 - 0.875f;
    xs[2 * i + 1] = (float)(i % 8) / 4 - 0.875f;
    ys[i] = xs[2 * i] * xs[2 * i + 1];
  }
  poly_nn_seed(1);
  PolyLinear *a = poly_nn_linear(2, HIDDEN, true), *b = poly_nn_linear(HIDDEN, 1, true);
  CHECK(a->weight->shape[0] == HIDDEN && a->weight->shape[1] == 2 && a->n_in == 2 && a->n_out == HIDDEN && a->bias->data[3] == 0);
  PolyTensor *params[4];
  CHECK(poly_nn_linear_params(a, params, 2) == 2 && poly_nn_linear_params(b, params + 2, 1) == 1 && params[2] == b->weight);
  CHECK(poly_nn_linear_params(b, params + 2, 2) == 2);
  PolySGD sgd = poly_sgd_new(params, 4, 0.5f);
  int64_t in[2] = {N, 2}, out[2] = {N, 1};
  for (int i = 0; i < 2000; i++) {
    if (i == 1500) sgd.lr = 0.1f;
    PolyCtx *ctx = poly_ctx_new();
    PolyTensor *x = poly_tensor_input(ctx, xs, in, 2), *y = poly_tensor_input(ctx, ys, out, 2);
    PolyTensor *h = poly_nn_linear_forward(a, ctx, x), *r = poly_tensor_relu(h), *p = poly_nn_linear_forward(b, ctx, r);
    PolyTensor *loss = poly_tensor_mse(p, y);
    if (poly_sgd_step(&sgd, ctx, loss, i == 0 ? &first : &last) != 0) {
      CHECK(!"poly_sgd_step");
      break;
    }
    PolyTensor *all[6] = {x, y, h, r, p, loss};
    if (i % 2) poly_ctx_destroy(ctx); /* in either order */
    for (int k = 0; k < 6; k++) poly_tensor_free(all[k]);
    if (i % 2 == 0) poly_ctx_destroy(ctx);
  }
  CHECK(first > 0.05 && last < 1e-3 && last > 0);
  FAILS(poly_nn_linear(0, 1, true), "poly_nn_linear", "n_in");
  FAILS(poly_nn_linear_forward(a, NULL, params[0]), "poly_nn_linear_forward", "ctx: is NULL");
  poly_nn_linear_free(a);
  FAILS(poly_nn_linear_params(a, params, 2) >= 0, "poly_nn_linear_params", "not a layer");
  FAILS(poly_tensor_item(params[0]), "poly_tensor_item", "not a tensor");
  poly_nn_linear_free(a);
  poly_nn_linear_free(NULL);
  poly_nn_linear_free(b);
  PolyLinear *plain = poly_nn_linear(3, 2, false);
  CHECK(plain->bias == NULL && poly_nn_linear_params(plain, params, 4) == 1);
  poly_nn_linear_free(plain);
}

/* Threads use one layer in contexts of their own, and tensors of no context in the one of the library. */
static void *thread(void *arg) {
  PolyLinear *layer = arg;
  float xs[6] = {1, 2, 3, 4, 5, 6};
  long wrong = 0;
  for (int i = 0; i < 100; i++) {
    PolyCtx *ctx = poly_ctx_new();
    PolyTensor *x = poly_tensor_input(ctx, xs, two, 2), *h = poly_nn_linear_forward(layer, ctx, x);
    PolyTensor *one = poly_tensor_ones(three, 1), *sum = poly_tensor_sum(one, -1);
    wrong += poly_tensor_realize(h) != 0 || h->data[0] != 6 || h->data[1] != 15 || poly_tensor_item(sum) != 3;
    poly_tensor_free(one);
    poly_tensor_free(h);
    poly_ctx_destroy(ctx);
    poly_tensor_free(x);
    poly_tensor_free(sum);
  }
  return (void *)wrong;
}

static void threads(void) {
  PolyLinear *layer = poly_nn_linear(3, 1, false);
  for (int i = 0; i < 3; i++) layer->weight->data[i] = 1;
  pthread_t ids[8];
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&ids[i], NULL, thread, layer) == 0);
  for (int i = 0; i < 8; i++) {
    void *wrong = NULL;
    pthread_join(ids[i], &wrong);
    CHECK(wrong == NULL);
  }
  poly_nn_linear_free(layer);
}

int main(void) {
  PolyCtx *ctx = poly_ctx_new();
  threads();
  operations(ctx);
  randomness();
  one_step(ctx);
  CHECK(poly_ctx_live_nodes(ctx) == 0);
  poly_ctx_destroy(ctx);
  training();
  return report();
}
