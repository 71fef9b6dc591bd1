/* Models as nodes: kinds of the library against instances, and kinds of the caller. */
#include "check.h"

static PolyModelConfig *parse(const char *json) { return poly_model_config_from_json(json, (int)strlen(json)); }

static void configs(void) {
  PolyModelConfig *c = poly_model_config_new();
  CHECK(poly_model_config_get_int(c, "n", 7) == 7 && strcmp(poly_model_config_get_string(c, "s", "none"), "none") == 0);
  poly_model_config_set_int(c, "N", -3);
  poly_model_config_set_float(c, "rate", 0.5f);
  poly_model_config_set_string(c, "s", "text");
  CHECK(poly_model_config_get_int(c, "n", 7) == -3 && poly_model_config_get_float(c, "RATE", 1) == 0.5f);
  const char *text = poly_model_config_get_string(c, "s", NULL);
  CHECK(text && strcmp(text, "text") == 0 && poly_model_config_get_string(c, "s", NULL) == text);
  CHECK(poly_model_config_get_int(c, "s", 9) == 9 && poly_model_config_get_float(c, "n", 0) == -3);
  poly_model_config_set_int(c, NULL, 1);
  CHECK(strstr(poly_last_error(), "poly_model_config_set_int: key: is NULL"));
  poly_model_config_set_float(c, "bad", (float)NAN);
  CHECK(strstr(poly_last_error(), "poly_model_config_set_float: value"));
  poly_model_config_set_int(c, "fine", 1);
  CHECK(!*poly_last_error());
  FAILS(poly_model_config_get_int(NULL, "n", 5) != 5, "poly_model_config_get_int", "config: is NULL");
  poly_model_config_free(c);
  FAILS(poly_model_config_get_int(c, "n", 5) != 5, "poly_model_config_get_int", "stale");
  poly_model_config_free(c);
  poly_model_config_free(NULL);
  FAILS(parse("[1]"), "poly_model_config_from_json", "no JSON object");
  FAILS(poly_model_config_from_json(NULL, 3), "poly_model_config_from_json", "NULL");
}

/* A model and an instance of one configuration give the same bits; the model also for other batches. */
static void families(const char *kind, const char *json, PolyInstance *(*make)(const char *, int), int in, int out) {
  PolyCtx *ctx = poly_ctx_new();
  PolyModelConfig *c = parse(json);
  PolyModel *m = poly_model_create(ctx, kind, c);
  PolyInstance *same = make(json, (int)strlen(json));
  poly_model_config_free(c);
  CHECK(m && same && poly_model_parameter_count(m) == poly_instance_param_count(same));
  for (int i = 0; i < poly_model_parameter_count(m); i++) {
    const char *name = poly_model_parameter_name(m, i);
    int64_t n = 0, k = 0;
    float *data = poly_model_parameter_data(m, name, &n), *want = poly_instance_param_data(same, i, &k);
    CHECK(strcmp(name, poly_instance_param_name(same, i)) == 0 && n == k && memcmp(data, want, (size_t)n * 4) == 0);
    data[0] = want[0] = 0.25f; /* memory of the caller's, too */
  }
  float x[20], y[12];
  for (int i = 0; i < 20; i++) x[i] = sinf((float)i);
  int count = 0;
  PolyUOp *input = host(ctx, x, 1, in);
  PolyUOp **outputs = poly_model_forward(m, &input, 1, &count);
  CHECK(outputs && count == 1 && poly_ndim(ctx, outputs[0]) == 2 && poly_numel(ctx, outputs[0]) == out);
  CHECK(into(ctx, outputs[0], y) == 0);
  PolyIOBinding io = {"x", x};
  CHECK(poly_instance_forward(same, &io, 1) == 0);
  for (int i = 0; i < poly_instance_buf_count(same); i++)
    if (strcmp(poly_instance_buf_name(same, i), "output") == 0)
      CHECK(memcmp(poly_instance_buf_data(same, i, NULL), y, (size_t)out * 4) == 0);
  free(outputs);
  float first = y[0], both[12];
  input = host(ctx, x, 4, in);
  outputs = poly_model_forward(m, &input, 1, &count);
  CHECK(outputs && into(ctx, outputs[0], both) == 0 && near(both[0], first));

  const char *name = poly_model_parameter_name(m, 0); /* parameters have gradients */
  PolyUOp *w = poly_model_parameter(m, name), *loss = poly_reduce(ctx, POLY_REDUCE_SUM, outputs[0], NULL, -1, 0, 0);
  CHECK(w && poly_numel(ctx, poly_grad(ctx, loss, w)) == poly_numel(ctx, w));
  free(outputs);
  input = host(ctx, x, 2, in + 1);
  FAILS(poly_model_forward(m, &input, 1, &count), "poly_model_forward", "inputs");
  CHECK(count == 0);
  FAILS(poly_model_forward(m, NULL, 0, &count), "poly_model_forward", "0 nodes");
  FAILS(poly_model_parameter(m, "nobody"), "poly_model_parameter", "nobody");
  FAILS(poly_model_add_parameter(m, "more", w) == 0, "poly_model_add_parameter", "its own parameters");
  poly_model_free(m);
  FAILS(poly_model_parameter(m, name), "poly_model_parameter", "stale");
  FAILS(into(ctx, loss, both) == 0, "poly_realize_into", "not bound");
  poly_model_free(m);
  poly_instance_free(same);
  poly_ctx_destroy(ctx);
}

/* The model on rows of four tokens, and an instance that was made for four. */
static void gpt2(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyModelConfig *c = poly_model_config_new();
  poly_model_config_set_int(c, "vocab_size", 11);
  poly_model_config_set_int(c, "n_embd", 8);
  poly_model_config_set_int(c, "n_head", 2);
  poly_model_config_set_int(c, "n_layer", 1);
  poly_model_config_set_int(c, "max_seq_len", 6);
  poly_model_config_set_float(c, "norm_eps", 1e-5f);
  PolyModel *m = poly_model_create(ctx, "gpt2", c);
  GPT2Config shape = {11, 8, 2, 1, 4, 1e-5f};
  PolyInstance *same = poly_gpt2_build(&shape, 2);
  CHECK(m && same && poly_model_parameter_count(m) == 16 && poly_instance_param_count(same) == 16);
  for (int i = 0; i < 16; i++) {
    int64_t n = 0, k = 0;
    float *data = poly_model_parameter_data(m, poly_model_parameter_name(m, i), &n), *to = poly_instance_param_data(same, i, &k);
    CHECK(n == k || (i == 1 && n == 48 && k == 32));
    for (int j = 0; j < n; j++) data[j] = sinf((float)(13 * i + j)) * 0.3f;
    memcpy(to, data, (size_t)k * 4);
  }
  float tokens[8] = {1, 5, 10, 0, 2, 2, 7, 3}, positions[4] = {0, 1, 2, 3}, logits[88];
  PolyIOBinding io[2] = {{"x", tokens}, {"positions", positions}};
  CHECK(poly_instance_forward(same, io, 2) == 0);
  int32_t ids[8];
  for (int i = 0; i < 8; i++) ids[i] = (int32_t)tokens[i];
  int64_t two_four[2] = {2, 4};
  PolyUOp *input = poly_buffer_host(ctx, POLY_DTYPE_INT32, two_four, 2, ids, sizeof ids);
  int count = 0;
  PolyUOp **outputs = poly_model_forward(m, &input, 1, &count);
  CHECK(outputs && count == 1 && poly_numel(ctx, outputs[0]) == 88 && into(ctx, outputs[0], logits) == 0);
  for (int i = 0; i < poly_instance_buf_count(same); i++)
    if (strcmp(poly_instance_buf_name(same, i), "output") == 0)
      for (int k = 0; k < 88; k++) CHECK(near(poly_instance_buf_data(same, i, NULL)[k], logits[k]));
  free(outputs);
  PolyUOp *both[2] = {input, poly_arange_by_id(ctx, POLY_DTYPE_INT32, 0, 4, 1)};
  float again[88];
  outputs = poly_model_forward(m, both, 2, &count);
  CHECK(outputs && into(ctx, outputs[0], again) == 0 && near(again[87], logits[87]));
  free(outputs);
  int64_t one_eight[2] = {1, 8};
  input = poly_reshape(ctx, input, one_eight, 2);
  FAILS(poly_model_forward(m, &input, 1, &count), "poly_model_forward", "at most 6");
  poly_model_config_set_int(c, "n_head", 3);
  FAILS(poly_model_create(ctx, "gpt2", c), "poly_model_create", "n_embd");
  poly_model_config_free(c);
  poly_instance_free(same);
  poly_ctx_destroy(ctx);
  FAILS(poly_model_parameter_count(m) >= 0, "poly_model_parameter_count", "stale");
  poly_model_free(m);
}

/* scale * mlp(x): a constructor of the caller that uses one of the library. */
struct scaled {
  PolyCtx *ctx;
  PolyModel *inner;
  PolyUOp *scale;
  int ended;
};
static struct scaled mine;

static PolyUOp **scaled_forward(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out) {
  struct scaled *s = user;
  PolyUOp **out = poly_model_forward(s->inner, inputs, n, n_out);
  if (out) out[0] = poly_binary(s->ctx, POLY_MUL, out[0], poly_model_parameter(model, "scale"));
  return out;
}

static void scaled_release(void *user) { ((struct scaled *)user)->ended++; }

static PolyModel *scaled_create(PolyCtx *ctx, PolyModelConfig *config) {
  static float two = 2;
  mine.ctx = ctx;
  mine.inner = poly_model_create(ctx, "mlp", config);
  mine.scale = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, NULL, 0, &two, sizeof two);
  PolyModel *m = poly_model_new(ctx, scaled_forward, &mine, scaled_release);
  if (!mine.inner || poly_model_add_parameter(m, "scale", mine.scale) != 0) {
    poly_model_free(m);
    return NULL;
  }
  return m;
}

static void registered(void) {
  PolyCtx *ctx = poly_ctx_new();
  FAILS(poly_model_create(ctx, "scaled", NULL), "poly_model_create", "\"scaled\"");
  poly_model_register("scaled", scaled_create);
  FAILS(poly_model_create(ctx, "scaled", NULL), "poly_model_create", "no model");
  CHECK(mine.ended == 1);
  PolyModelConfig *c = poly_model_config_new();
  int64_t layers[3] = {3, 5, 2};
  poly_model_config_set_ints(c, "layers", layers, 3);
  poly_model_config_set_string(c, "activation", "tanh");
  PolyModel *m = poly_model_create(ctx, "scaled", c);
  float x[3] = {1, -1, 0.5f}, plain[2], scaled[2];
  PolyUOp *input = host(ctx, x, 1, 3);
  int n = 0;
  PolyUOp **a = poly_model_forward(m, &input, 1, &n), **b = poly_model_forward(mine.inner, &input, 1, &n);
  CHECK(a && b && n == 1 && into(ctx, a[0], scaled) == 0 && into(ctx, b[0], plain) == 0);
  CHECK(near(scaled[0], 2 * plain[0]) && near(scaled[1], 2 * plain[1]));
  free(a);
  free(b);
  CHECK(poly_model_parameter_count(m) == 1 && strcmp(poly_model_parameter_name(m, 0), "scale") == 0);
  CHECK(poly_model_parameter(m, "scale") == mine.scale);
  FAILS(poly_model_parameter_data(m, "scale", NULL), "poly_model_parameter_data", "caller");
  FAILS(poly_model_add_parameter(m, "scale", mine.scale) == 0, "poly_model_add_parameter", "already");
  FAILS(poly_model_add_parameter(m, "other", NULL) == 0, "poly_model_add_parameter", "NULL");
  FAILS(poly_model_new(ctx, NULL, NULL, NULL), "poly_model_new", "forward");
  PolyModel *second = poly_model_create(ctx, "scaled", c);
  poly_model_free(m);
  CHECK(second && mine.ended == 2);
  poly_model_register("scaled", NULL);
  FAILS(poly_model_create(ctx, "scaled", c), "poly_model_create", "\"scaled\"");
  poly_model_config_free(c);
  poly_ctx_destroy(ctx);
  CHECK(mine.ended == 3);
  poly_model_free(second);
  CHECK(mine.ended == 3);
}

int main(void) {
  configs();
  families("mlp", "{\"layers\":[5,8,3],\"activation\":\"gelu\",\"loss\":\"mse\",\"seed\":3}", poly_mlp_instance, 5, 3);
  families("tabm", "{\"layers\":[5,4,2],\"n_ensemble\":3}", poly_tabm_instance, 5, 2);
  families("nam", "{\"n_features\":5,\"hidden_sizes\":[4],\"n_outputs\":2}", poly_nam_instance, 5, 2);
  gpt2();
  registered();
  return report();
}
