/* Files of models: bundles of the original, safetensors, gradients, memory of instances. */
#include <stddef.h>

#include "check.h"

static uint8_t *slurp(const char *path, int *len) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) return NULL;
  uint8_t *data = malloc(1 << 20);
  *len = (int)fread(data, 1, 1 << 20, f);
  fclose(f);
  return data;
}

static int find(PolyInstance *m, const char *name) {
  for (int i = 0; i < poly_instance_buf_count(m); i++)
    if (strcmp(poly_instance_buf_name(m, i), name) == 0) return i;
  return -1;
}

/* A file of the original loads, computes what it computed there, and is saved as the same bytes. */
static void original(void) {
  int len = 0, again = 0;
  uint8_t *data = slurp("../../model/testdata/mlp_4_8_3.bundle", &len);
  CHECK(data && len == 2449);
  PolyInstance *m = poly_instance_from_bundle(data, len);
  CHECK(m != NULL);
  float x[4] = {1.764052391052246f, 0.40015721321105957f, 0.978738009929657f, 2.2408931255340576f}, y[3] = {1, 2, 3};
  PolyIOBinding io[2] = {{"x", x}, {"y", y}};
  CHECK(poly_instance_forward(m, io, 1) == 0);
  float *o = poly_instance_buf_data(m, find(m, "output"), NULL);
  CHECK(near(o[0], -0.9194561243057251) && near(o[1], -3.746427059173584) && near(o[2], 1.774680495262146));
  double mse = ((o[0] - 1) * (o[0] - 1) + (o[1] - 2) * (o[1] - 2) + (o[2] - 3) * (o[2] - 3)) / 3;
  uint8_t *saved = poly_instance_save_bundle(m, &again);
  CHECK(saved && again == len && memcmp(saved, data, (size_t)len) == 0);
  free(saved);

  CHECK(poly_instance_call(m, "loss", io, 2) == 0);
  CHECK(near(poly_instance_buf_data(m, find(m, "loss"), NULL)[0], mse));
  FAILS(poly_instance_call(m, "nothing", io, 2) == 0, "poly_instance_call", "nothing");
  FAILS(poly_instance_call(m, NULL, io, 2) == 0, "poly_instance_call", "entry");

  int64_t n = 7;
  CHECK(poly_instance_param_grad(m, 3, &n) == NULL && n == 0);
  float loss = 0;
  CHECK(poly_instance_value_and_grad(m, "loss", io, 2, &loss) == 0 && near(loss, mse));
  float *grad = poly_instance_param_grad(m, 3, &n); /* of the last bias: 2 (o - y) / 3 */
  CHECK(grad && n == 3);
  for (int i = 0; i < 3; i++) CHECK(near(grad[i], 2 * (o[i] - y[i]) / 3));

  float copy[3] = {0}, bias[3] = {1, 2, 3};
  CHECK(poly_instance_upload_param(m, 3, bias, sizeof bias) == 0);
  CHECK(poly_instance_readback_param(m, 3, copy, sizeof copy) == 0 && copy[2] == 3);
  CHECK(poly_instance_upload_buf(m, find(m, "x"), bias, 8) == 0);
  CHECK(poly_instance_readback_buf(m, find(m, "x"), copy, 12) == 0 && copy[1] == 2 && near(copy[2], x[2]));
  FAILS(poly_instance_upload_param(m, 3, bias, 16) == 0, "poly_instance_upload_param", "len");
  FAILS(poly_instance_readback_buf(m, 99, copy, 4) == 0, "poly_instance_readback_buf", "out of range");

  PolyBundleSections s;
  CHECK(poly_bundle_decode(data, len, &s) == 0 && s.version == 1 && s.meta == NULL);
  CHECK(s.ir && memcmp(s.ir, "PGIR", 4) == 0 && s.weights_len == 560 && s.weights + s.weights_len == data + len);
  uint8_t *bundle = poly_bundle_encode(s.ir, s.ir_len, s.weights, s.weights_len, NULL, &again);
  CHECK(bundle && again == len && memcmp(bundle, data, (size_t)len) == 0);
  free(bundle);
  bundle = poly_bundle_encode(s.ir, s.ir_len, NULL, 0, "{\"a\":1}", &again);
  CHECK(poly_bundle_decode(bundle, again, &s) == 0 && s.weights == NULL && s.meta_len == 7);
  free(bundle);
  FAILS(poly_bundle_decode(data, 30, &s) == 0, "poly_bundle_decode", "data");
  FAILS(poly_bundle_encode(NULL, 0, NULL, 0, NULL, &again), "poly_bundle_encode", "ir");

  CHECK(strcmp(poly_instance_notes(m), "") == 0);
  uint8_t *weights = poly_instance_export_weights(m, &again);
  PolyInstance *small = poly_mlp_instance("{\"layers\":[4,8]}", 16);
  FAILS(poly_instance_load_weights(small, weights, again) == 0, "poly_instance_load_weights", "layers.1.bias");
  CHECK(poly_instance_import_weights(small, weights, again) == 0);
  CHECK(strstr(poly_instance_notes(small), "layers.1.weight") != NULL);
  CHECK(poly_instance_load_weights(m, weights, again) == 0);
  free(weights);
  poly_instance_free(small);
  poly_instance_free(m);
  free(data);
}

static void safetensors(void) {
  CHECK(sizeof(PolySafetensorEntry) == 32 && sizeof(PolySafetensorView) == 96 && sizeof(PolySafetensorViewEx) == 104);
  CHECK(sizeof(PolyBundleSections) == 56 && sizeof(GPT2Config) == 24 && offsetof(PolySafetensorViewEx, dtype) == 96);
  float b[6] = {1, 2, 3, 4, 5, 6}, a[1] = {7};
  int64_t shape[2] = {2, 3};
  PolySafetensorEntry list[2] = {{"b", b, shape, 2}, {"a", a, NULL, 0}};
  int len = 0, n = 0;
  uint8_t *file = poly_safetensors_encode(list, 2, "{\"made\":\"here\"}", &len);
  const char *want = "{\"__metadata__\":{\"made\":\"here\"},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                     "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[4,28]}}";
  CHECK(file && memcmp(file + 8, want, strlen(want)) == 0 && len == 8 + (int)(strlen(want) + 3) / 4 * 4 + 28);
  char *meta = NULL;
  PolySafetensorView *v = poly_safetensors_decode(file, len, &n, &meta);
  CHECK(v && n == 2 && strcmp(meta, "{\"made\":\"here\"}") == 0);
  CHECK(strcmp(v[1].name, "b") == 0 && v[1].ndim == 2 && v[1].shape[1] == 3 && v[1].numel == 6 && v[1].data[5] == 6);
  CHECK(strcmp(v[0].name, "a") == 0 && v[0].ndim == 0 && v[0].numel == 1 && v[0].data[0] == 7);
  free(v[0].name);
  free(v[1].name);
  free(v);
  free(meta);
  FAILS(poly_safetensors_decode(file, len - 1, &n, NULL), "poly_safetensors_decode", "data");
  free(file);
  const char half[] = "\x38\0\0\0\0\0\0\0{\"h\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}} \x80\x3f\x20\xc0";
  FAILS(poly_safetensors_decode((const uint8_t *)half, sizeof half - 1, &n, NULL), "poly_safetensors_decode", "BF16");
  PolySafetensorViewEx *e = poly_safetensors_decode_ex((const uint8_t *)half, sizeof half - 1, &n, &meta);
  CHECK(e && n == 1 && e->dtype == POLY_SAFETENSOR_BF16 && meta == NULL && poly_safetensor_dtype_size(e->dtype) == 2);
  float *f = poly_safetensors_to_f32(e);
  CHECK(f && f[0] == 1 && f[1] == -2.5f);
  free(f);
  free(e->name);
  free(e);
  FAILS(poly_safetensor_dtype_size(16) > 0, "poly_safetensor_dtype_size", "dtype");
}

static void models(void) {
  float w[8] = {0};
  poly_init_param_kaiming(42, "layers.0.weight", w, 8, 4);
  CHECK(w[0] == 0.6729374527931213f && w[7] == 0.44082948565483093f);
  GPT2Config c = {11, 8, 2, 1, 5, 1e-5f};
  PolyInstance *m = poly_gpt2_build(&c, 2);
  CHECK(m && poly_instance_param_count(m) == 16 && poly_instance_buf_count(m) == 24);
  int64_t n = 0;
  float *at = poly_instance_buf_data(m, find(m, "vocab_arange"), &n);
  CHECK(n == 11 && at[10] == 10 && poly_instance_buf_role(m, find(m, "vocab_arange")) == POLY_ROLE_AUX);
  CHECK(poly_instance_buf_role(m, find(m, "positions")) == POLY_ROLE_INPUT && poly_instance_forward(m, NULL, 0) == 0);
  poly_instance_free(m);
  c.n_head = 3;
  FAILS(poly_gpt2_build(&c, 2), "poly_gpt2_build", "n_embd");
  FAILS(poly_gpt2_build(NULL, 2), "poly_gpt2_build", "config");
}
/* Tokens of texts: a vocabulary of bytes and one pair, and a tokenizer.json in a folder. */
static void tokenizers(void) {
  char ranks[8192] = "";
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int at = 0;
  for (int b = 0; b < 256; b++)
    at += snprintf(ranks + at, sizeof ranks - (size_t)at, "%c%c== %d\n", digits[b >> 2], digits[(b & 3) << 4], b);
  at += snprintf(ranks + at, sizeof ranks - (size_t)at, "YWI= 256\n"); /* ab */
  PolyTokenizer *t = poly_tokenizer_new(ranks, at, "cl100k_base");
  CHECK(t && poly_tokenizer_size(t) == 262 && poly_tokenizer_id(t, "ab", 2) == 256 && poly_tokenizer_id(t, "a", 1) == 97);
  FAILS(poly_tokenizer_id(t, "x?", 2) == 0, "poly_tokenizer_id", "no token");
  int64_t lengths[3] = {3, 0, 14}, counts[3], n = 0;
  static const char texts[] = "ab\0<|endofprompt|>";
  lengths[2] = (int64_t)sizeof texts - 1 - 3;
  int32_t *ids = poly_tokenizer_encode(t, texts, lengths, 3, 1, NULL, counts);
  CHECK(ids && counts[0] == 2 && counts[1] == 0 && counts[2] == 1 && ids[0] == 256 && ids[1] == 0 && ids[2] == 100276);
  uint8_t *text = poly_tokenizer_decode(t, ids, 3, 0, &n);
  CHECK(text && n == 3 && memcmp(text, "ab\0", 4) == 0);
  free(text);
  text = poly_tokenizer_decode(t, ids, 3, POLY_DECODE_SPECIAL, &n);
  CHECK(text && n == (int64_t)sizeof texts - 1 && memcmp(text, texts, sizeof texts) == 0);
  free(text), free(ids);
  FAILS(poly_tokenizer_encode(t, texts, lengths, 3, 1, "refuse", counts), "poly_tokenizer_encode", "<|endofprompt|>");
  FAILS(poly_tokenizer_encode(t, texts, lengths, 3, 1, "some", counts), "poly_tokenizer_encode", "allowed");
  FAILS(poly_tokenizer_encode(t, texts, lengths, 3, POLY_ENCODE_PAIRS, NULL, counts), "poly_tokenizer_encode", "pair");
  FAILS(poly_tokenizer_encode(t, texts, lengths, 3, 4, NULL, counts), "poly_tokenizer_encode", "flags");
  ids = poly_tokenizer_encode(t, texts, lengths, 2, POLY_ENCODE_PAIRS, "{\"padding\": {\"strategy\": {\"Fixed\": 3}, \"pad_id\": 9}}", counts);
  CHECK(ids && counts[0] == 3 && ids[0] == 256 && ids[1] == 0 && ids[2] == 9);
  free(ids);
  int32_t euro[3] = {0xe2, 0x82, 0xac}, wrong = 5000;
  text = poly_tokenizer_decode(t, euro, 2, POLY_DECODE_BYTES, &n);
  CHECK(text && n == 2 && text[0] == 0xe2);
  free(text);
  PolyTextStream *s = poly_text_stream_new(t, NULL, 0, 0);
  for (int i = 0; i < 3; i++) {
    text = poly_text_stream_push(s, euro + i, 1, &n);
    CHECK(text && n == (i < 2 ? 0 : 3));
    free(text);
  }
  text = poly_text_stream_push(s, NULL, 0, &n);
  CHECK(text && n == 0);
  free(text);
  FAILS(poly_text_stream_push(s, &wrong, 1, &n), "poly_text_stream_push", "no token");
  FAILS(poly_tokenizer_decode(t, &wrong, 1, 0, &n), "poly_tokenizer_decode", "no token");
  FAILS(poly_tokenizer_token(t, -1, &n), "poly_tokenizer_token", "no token");
  text = poly_tokenizer_special(t, &n);
  CHECK(text && strstr((char *)text, "endoftext"));
  free(text);
  text = poly_tokenizer_source("clip", &n);
  CHECK(text && n > 8 && strncmp((char *)text, "https://", 8) == 0);
  free(text);
  text = poly_tokenizer_source("owner/name", NULL);
  CHECK(text && strcmp((char *)text, "https://huggingface.co/owner/name/resolve/main/tokenizer.json") == 0);
  free(text);
  FAILS(poly_tokenizer_source("cl100k", &n), "poly_tokenizer_source", "cl100k_base");
  FAILS(poly_tokenizer_source(NULL, &n), "poly_tokenizer_source", "name");
  poly_tokenizer_free(t);
  poly_text_stream_free(s);
  FAILS(poly_tokenizer_size(t) == 0, "poly_tokenizer_size", "stale");
  FAILS(poly_tokenizer_new("{}", 2, NULL), "poly_tokenizer_new", "no model");
  FAILS(poly_tokenizer_open("/nowhere", NULL), "poly_tokenizer_open", "nowhere");
  FILE *out = fopen("tokenizer.json", "w");
  CHECK(out && fputs("{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 7}}}", out) >= 0 && fclose(out) == 0);
  t = poly_tokenizer_open(".", NULL);
  CHECK(remove("tokenizer.json") == 0);
  lengths[0] = 1;
  ids = poly_tokenizer_encode(t, "a", lengths, 1, 1, NULL, counts);
  CHECK(ids && counts[0] == 1 && ids[0] == 7);
  free(ids);
  poly_tokenizer_free(t);
}


static void generators(void) {
  GPT2Config c = {11, 8, 2, 1, 6, 1e-5f};
  PolyInstance *m = poly_gpt2_build(&c, 2);
  float *wte = poly_instance_buf_data(m, find(m, "wte.weight"), NULL);
  float *wpe = poly_instance_buf_data(m, find(m, "wpe.weight"), NULL);
  float *last = poly_instance_buf_data(m, find(m, "ln_f.weight"), NULL);
  for (int i = 0; i < 88; i++) wte[i] = (float)(i * 37 % 19) / 19 - 0.5f;
  for (int i = 0; i < 48; i++) wpe[i] = (float)(i * 31 % 17) / 17 - 0.5f;
  for (int i = 0; i < 8; i++) last[i] = 1;
  PolyGenerator *g = poly_generator_new(m, 0);
  CHECK(g && poly_generator_rows(g) == 2 && poly_generator_vocab(g) == 11 && poly_generator_room(g) == 6);
  int32_t prompt[5] = {1, 2, 3, 4, 5}, lengths[2] = {3, 2}, token[2], again[2];
  FAILS(poly_generator_logits(g, NULL), "poly_generator_logits", "no tokens");
  FAILS(poly_generator_next(g, token, 1) == 0, "poly_generator_next", "rows");
  CHECK(poly_generator_feed(g, prompt, lengths, 2) == 0);
  int64_t n = 0;
  const float *logits = poly_generator_logits(g, &n);
  CHECK(logits && n == 22);
  int best = 0;
  for (int i = 1; i < 11; i++) best = logits[i] > logits[best] ? i : best;
  CHECK(poly_generator_next(g, token, 2) == 0 && token[0] == best);
  for (int i = 0; i < 8; i++) CHECK(poly_generator_next(g, token, 2) == 0); /* past the room */
  CHECK(poly_generator_sampling(g, 1.5, 0, 1, 7) == 0 && poly_generator_reset(g) == 0);
  CHECK(poly_generator_feed(g, prompt, lengths, 2) == 0 && poly_generator_next(g, token, 2) == 0);
  CHECK(poly_generator_reset(g) == 0 && poly_generator_feed(g, prompt, lengths, 2) == 0);
  CHECK(poly_generator_next(g, again, 2) == 0 && again[0] == token[0] && again[1] == token[1]);
  CHECK(poly_generator_reset(g) == 0 && poly_generator_ends(g, token, 1) == 0 && poly_generator_feed(g, prompt, lengths, 2) == 0);
  int ended = poly_generator_next(g, again, 2); /* the second text goes on, unless it drew the same */
  CHECK(ended == (token[0] == token[1]) && again[0] == token[0]);
  CHECK(poly_generator_next(g, again, 2) >= 0 && again[0] == token[0]);
  CHECK(poly_generator_ends(g, NULL, 0) == 0);
  FAILS(poly_generator_ends(g, NULL, 1) == 0, "poly_generator_ends", "tokens");
  CHECK(poly_instance_ends(m, NULL, 0) == 0);
  FAILS(poly_hf_open("/nowhere", 1, 0, NULL, 1), "poly_hf_open", "path");
  FAILS(poly_generator_feed(g, prompt, lengths, 2) == 0, "poly_generator_feed", "row 1");
  FAILS(poly_generator_sampling(g, -1, 0, 1, 7) == 0, "poly_generator_sampling", "temperature");
  prompt[0] = 11;
  CHECK(poly_generator_reset(g) == 0);
  FAILS(poly_generator_feed(g, prompt, lengths, 2) == 0, "poly_generator_feed", "11");
  poly_instance_free(m);
  FAILS(poly_generator_next(g, token, 2) == 0, "poly_generator_next", "freed");
  poly_generator_free(g);
  poly_generator_free(g);
  FAILS(poly_generator_rows(g) == 0, "poly_generator_rows", "stale");
}

/* Weights go to a file and come back as nodes on its memory. */
static void of_tensors(void) {
  char path[] = "/tmp/polygrad-files.XXXXXX";
  int made = mkstemp(path);
  CHECK(made >= 0 && close(made) == 0);
  float w[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, dims[2], len = 0;
  PolyFileTensor list[2] = {{"b", "\x01\x02\x03", shape + 1, 1, POLY_DTYPE_UINT8}, {"w", w, shape, 2, POLY_DTYPE_FLOAT32}};
  CHECK(poly_safetensors_save(path, list, 2, "{\"made\":\"here\"}", 0) == 1);
  PolyFile *file = poly_file_open(path, POLY_FILE_AUTO);
  unlink(path);
  int dtype = 0;
  CHECK(file && poly_file_count(file) == 2 && poly_file_format(file) == POLY_FILE_SAFETENSORS);
  CHECK(strcmp(poly_file_name(file, 0), "b") == 0 && strcmp(poly_file_type(file, 1), "F32") == 0 && poly_file_quant(file, 0) == 0);
  CHECK(poly_file_describe(file, 1, dims, 2, &dtype) == 2 && dims[0] == 2 && dims[1] == 3 && dtype == POLY_DTYPE_FLOAT32);
  CHECK(strcmp(poly_file_value(file), "{\"made\":\"here\"}") == 0);
  PolyCtx *ctx = poly_ctx_new();
  void *data = poly_file_data(file, 1, &len);
  CHECK(data && len == 24);
  PolyUOp *x = poly_buffer_host(ctx, dtype, dims, 2, data, (size_t)len);
  float out[6];
  CHECK(poly_copy_to_host(ctx, poly_binary(ctx, POLY_ADD, x, x), out, sizeof out) == 0 && out[0] == 2 && out[5] == 12);
  poly_ctx_destroy(ctx);
  FAILS(poly_file_name(file, 2), "poly_file_name", "out of range");
  FAILS(poly_file_data(file, -1, NULL), "poly_file_data", "out of range");
  poly_file_free(file);
  poly_file_free(file);
  FAILS(poly_file_count(file) >= 0, "poly_file_count", "stale");
  FAILS(poly_file_open("/none", POLY_FILE_AUTO), "poly_file_open", "no such file");
  FAILS(poly_file_open("/none", 99), "poly_file_open", "format");
  list[0].dtype = -1;
  FAILS(poly_safetensors_save(path, list, 2, NULL, 0) >= 0, "poly_safetensors_save", "tensors[0]");
  FAILS(poly_safetensors_save(path, list, 0, "[]", 0) >= 0, "poly_safetensors_save", "meta");
}

int main(void) {
  original();
  of_tensors();
  safetensors();
  models();
  generators();
  tokenizers();
  return report();
}
