/* Instances: families from JSON, training, bytes, bad input. */
#include "check.h"

static PolyInstance *mlp(const char *json) { return poly_mlp_instance(json, (int)strlen(json)); }

static int find(PolyInstance *m, const char *name) {
  for (int i = 0; i < poly_instance_buf_count(m); i++)
    if (strcmp(poly_instance_buf_name(m, i), name) == 0) return i;
  return -1;
}

static void families(void) {
  PolyInstance *m = mlp("{\"layers\":[4,8,3],\"activation\":\"relu\",\"loss\":\"mse\",\"seed\":42}");
  CHECK(m && poly_instance_param_count(m) == 4 && poly_instance_buf_count(m) == 8);
  int64_t n = 0, dims[8];
  float *w = poly_instance_param_data(m, 0, &n);
  CHECK(w && n == 32 && w[0] == 0.6729374527931213f && w[1] == -0.7829083204269409f);
  CHECK(strcmp(poly_instance_param_name(m, 0), "layers.0.weight") == 0);
  CHECK(poly_instance_param_shape(m, 0, dims, 8) == 2 && dims[0] == 8 && dims[1] == 4);
  dims[0] = -1;
  CHECK(poly_instance_param_shape(m, 0, dims, 0) == 2 && dims[0] == -1);
  int out = find(m, "output"), loss = find(m, "loss");
  CHECK(poly_instance_buf_role(m, find(m, "x")) == 1 && poly_instance_buf_role(m, find(m, "y")) == 2);
  CHECK(poly_instance_buf_role(m, out) == 3 && poly_instance_buf_role(m, 99) == -1);
  float x[4] = {1.764052391052246f, 0.40015721321105957f, 0.978738009929657f, 2.2408931255340576f}, y[3] = {1, 0, 0};
  PolyIOBinding io[3] = {{"x", x}, {"y", y}, {"nobody", NULL}};
  CHECK(poly_instance_forward(m, io, 3) == 0);
  float *o = poly_instance_buf_data(m, out, &n);
  CHECK(n == 3 && near(o[0], -0.9194561243057251) && near(o[1], -3.746427059173584) && near(o[2], 1.774680495262146));
  double mse = ((o[0] - 1) * (o[0] - 1) + o[1] * o[1] + o[2] * o[2]) / 3;
  float first = 0, last = 0;
  FAILS(poly_instance_train_step(m, io, 2, &first) == 0, "poly_instance_train_step", "optimizer");
  CHECK(poly_instance_set_optimizer(m, 2, 0.05f, 0.9f, 0.999f, 1e-8f, 0) == 0);
  CHECK(poly_instance_train_step(m, io, 2, &first) == 0 && near(first, mse));
  CHECK(near(poly_instance_buf_data(m, loss, NULL)[0], mse));
  for (int i = 0; i < 50; i++) CHECK(poly_instance_train_step(m, io, 2, &last) == 0);
  CHECK(last < 0.1 * first && w == poly_instance_param_data(m, 0, NULL));
  int length = 0;
  uint8_t *bundle = poly_instance_save_bundle(m, &length);
  CHECK(bundle && length > 100 && memcmp(bundle, "POLYBNDL", 8) == 0);
  PolyInstance *same = poly_instance_from_bundle(bundle, length);
  FAILS(poly_instance_from_bundle(bundle, length / 2), "poly_instance_from_bundle", ":");
  free(bundle);
  CHECK(same && memcmp(poly_instance_param_data(same, 0, NULL), w, 128) == 0);
  int ir_len = 0, w_len = 0;
  uint8_t *ir = poly_instance_export_ir(same, &ir_len), *weights = poly_instance_export_weights(same, &w_len);
  CHECK(ir && weights && memcmp(ir, "PGIR", 4) == 0);
  PolyInstance *third = poly_instance_from_ir(ir, ir_len, NULL, 0);
  CHECK(third && poly_instance_param_data(third, 0, NULL)[0] == 0);
  CHECK(poly_instance_import_weights(third, weights, w_len) == 0);
  CHECK(poly_instance_param_data(third, 0, NULL)[0] == w[0]);
  CHECK(poly_instance_forward(m, io, 1) == 0 && poly_instance_forward(third, io, 1) == 0);
  CHECK(near(poly_instance_buf_data(third, find(third, "output"), NULL)[0], o[0]));
  free(ir);
  free(weights);
  poly_instance_free(third);
  poly_instance_free(same);
  poly_instance_free(m);
  poly_instance_free(m);
  poly_instance_free(NULL);
  FAILS(poly_instance_forward(m, io, 1) == 0, "poly_instance_forward", "stale");
  CHECK(poly_instance_param_count(m) == 0 && poly_instance_param_count(NULL) == 0);
}

static void bad_input(void) {
  FAILS(mlp("{"), "poly_mlp_instance", ":");
  FAILS(mlp("{\"layers\":[4]}"), "poly_mlp_instance", "layers");
  FAILS(poly_mlp_instance(NULL, 10), "poly_mlp_instance", "json");
  FAILS(poly_mlp_instance("{}", -1), "poly_mlp_instance", "json");
  FAILS(poly_tabm_instance("[]", 2), "poly_tabm_instance", ":");
  FAILS(poly_nam_instance("{}", 2), "poly_nam_instance", "n_features");
  const char *endless = "{\"n_features\":1000000000}";
  FAILS(poly_nam_instance(endless, (int)strlen(endless)), "poly_nam_instance", "n_features: 1000000000");
  FAILS(poly_hf_load("{\"model_type\":\"t5\"}", 19, NULL, NULL, 0, 1, 0), "poly_hf_load", "model_type");
  FAILS(poly_hf_load("{}", 2, NULL, NULL, 3, 1, 0), "poly_hf_load", "weights");
  const char *config = "{\"model_type\":\"gpt2\",\"vocab_size\":2,\"n_embd\":2,\"n_head\":1,\"n_layer\":1,\"n_positions\":2}";
  const uint8_t *junk[1] = {(const uint8_t *)"no safetensors file"};
  const int64_t junk_len[1] = {19};
  FAILS(poly_hf_load_as(config, (int)strlen(config), junk, junk_len, 1, 1, 0, NULL, 1), "poly_hf_load_as", "weights[0]");
  FAILS(poly_hf_load_as(config, (int)strlen(config), NULL, NULL, 0, 1, 0, NULL, 1), "poly_hf_load_as", "parameter \"wte.weight\" is missing, expected one of shape [2 2]");
  PolyInstance *zeros = poly_hf_load_as(config, (int)strlen(config), junk, junk_len, 1, 1, 0, NULL, 0);
  CHECK(zeros != NULL && strstr(poly_instance_notes(zeros), "weights[0]") != NULL);
  poly_instance_free(zeros);
  PolyInstance *m = mlp("{\"layers\":[2,1]}");
  CHECK(m != NULL);
  FAILS(poly_instance_param_name(m, 5), "poly_instance_param_name", "out of range");
  FAILS(poly_instance_param_data(m, -1, NULL), "poly_instance_param_data", "out of range");
  FAILS(poly_instance_import_weights(m, NULL, 9) == 0, "poly_instance_import_weights", "data");
  FAILS(poly_instance_import_weights(m, (const uint8_t *)"12345678", 8) == 0, "poly_instance_import_weights", ":");
  FAILS(poly_instance_set_optimizer(m, 9, 0, 0, 0, 0, 0) == 0, "poly_instance_set_optimizer", "kind");
  FAILS(poly_instance_set_device(m, 99) == 0, "poly_instance_set_device", "device");
  FAILS(poly_instance_set_device(m, POLY_DEVICE_CUDA) == 0, "poly_instance_set_device", "CUDA");
  CHECK(poly_instance_set_device(m, POLY_DEVICE_AUTO) == 0 && poly_instance_set_device(m, POLY_DEVICE_INTERP) == 0);
  PolyIOBinding io[1] = {{"x", NULL}};
  FAILS(poly_instance_forward(m, io, 1) == 0, "poly_instance_forward", "no data");
  io[0].name = NULL;
  FAILS(poly_instance_forward(m, io, 1) == 0, "poly_instance_forward", "no name");
  FAILS(poly_instance_forward(m, NULL, 1) == 0, "poly_instance_forward", "NULL");
  FAILS(poly_instance_forward((PolyInstance *)(uintptr_t)64, io, 0) == 0, "poly_instance_forward", "handle");
  poly_instance_free(m);
}

int main(void) {
  families();
  bad_input();
  return report();
}
