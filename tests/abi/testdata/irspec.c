/* Graphs as files: read into a context, run there, written again. */
#include "check.h"

static int place(const PolyIrSpec *s, const char *name) {
  for (int i = 0; i < s->n_buffers; i++)
    if (strcmp(s->buffers[i].name, name) == 0) return i;
  return -1;
}

/* The graph of an instance runs in a context on the instance's parameters. */
static void from_instance(void) {
  const char *json = "{\"layers\":[4,8,3],\"activation\":\"tanh\",\"loss\":\"mse\",\"batch_size\":2}";
  PolyInstance *m = poly_mlp_instance(json, (int)strlen(json));
  int len = 0, again = 0;
  uint8_t *ir = poly_instance_export_ir(m, &len);
  PolyIrSpec spec;
  CHECK(poly_ir_import(ir, len, &spec) == 0 && spec.ctx && spec.n_buffers == 8 && spec.n_entries == 2);
  CHECK(strcmp(spec.entries[0].name, "forward") == 0 && strcmp(spec.buffers[0].name, "layers.0.weight") == 0);
  CHECK(spec.buffers[0].ndim == 2 && spec.buffers[0].shape[0] == 8 && spec.buffers[0].role == POLY_ROLE_PARAM);
  float x[8], out[6] = {0};
  for (int i = 0; i < 8; i++) x[i] = cosf((float)i);
  PolyUOp *buffers[8];
  void *data[8];
  for (int i = 0; i < 8; i++) {
    buffers[i] = spec.buffers[i].buffer;
    data[i] = poly_instance_buf_data(m, i, NULL);
    CHECK(poly_uop_op(spec.ctx, buffers[i]) == POLY_OP_BUFFER);
  }
  data[place(&spec, "x")] = x;
  data[place(&spec, "output")] = out;
  CHECK(poly_realize_flat(spec.ctx, spec.entries[0].sink, buffers, data, 8) == 0);
  PolyIOBinding io = {"x", x};
  CHECK(poly_instance_forward(m, &io, 1) == 0);
  CHECK(memcmp(out, poly_instance_buf_data(m, place(&spec, "output"), NULL), sizeof out) == 0);

  uint8_t *written = poly_ir_export(&spec, &again);
  CHECK(written && again == len && memcmp(written, ir, (size_t)len) == 0);
  free(written);

  PolyIrSpec part = spec; /* what a caller may get wrong */
  part.n_buffers = 3;
  FAILS(poly_ir_export(&part, &again), "poly_ir_export", "no name");
  CHECK(again == 0);
  part = spec;
  part.entries = NULL;
  FAILS(poly_ir_export(&part, &again), "poly_ir_export", "NULL");
  part = spec;
  PolyIrBuffer wrong = spec.buffers[0];
  wrong.shape[0] = 7;
  part.buffers = &wrong;
  part.n_buffers = 1;
  FAILS(poly_ir_export(&part, &again), "poly_ir_export", "elements");
  wrong = spec.buffers[0];
  wrong.role = 9;
  FAILS(poly_ir_export(&part, &again), "poly_ir_export", "role 9");
  PolyIrEntry entry = {"forward", spec.buffers[0].buffer};
  part = spec;
  part.entries = &entry;
  part.n_entries = 1;
  FAILS(poly_ir_export(&part, &again), "poly_ir_export", "expected a SINK");
  FAILS(poly_ir_export(NULL, &again), "poly_ir_export", "spec: is NULL");

  PolyIrSpec bad;
  FAILS(poly_ir_import(ir, len / 2, &bad) == 0, "poly_ir_import", "data");
  CHECK(bad.ctx == NULL && bad.buffers == NULL && bad.n_entries == 0);
  FAILS(poly_ir_import(ir, len, NULL) == 0, "poly_ir_import", "out: is NULL");
  for (int i = 0; i < len; i++) { /* damaged bytes are read as another graph or refused */
    ir[i] ^= 0x55;
    if (poly_ir_import(ir, len, &bad) == 0) {
      poly_ctx_destroy(bad.ctx);
      poly_ir_spec_free(&bad);
    }
    ir[i] ^= 0x55;
  }
  PolyCtx *ctx = spec.ctx;
  poly_ir_spec_free(&spec);
  CHECK(spec.buffers == NULL && spec.n_buffers == 0 && poly_ctx_live_nodes(ctx) > 0);
  poly_ir_spec_free(&spec);
  poly_ir_spec_free(NULL);
  poly_ctx_destroy(ctx);
  free(ir);
  poly_instance_free(m);
}

/* A graph of one's own becomes an instance that can be trained. */
static void to_instance(void) {
  PolyCtx *ctx = poly_ctx_new();
  int64_t two_three[2] = {2, 3}, three[1] = {3};
  PolyUOp *x = poly_buffer_f32(ctx, 6), *w = poly_buffer_f32(ctx, 3), *y = poly_buffer_f32(ctx, 6), *l = poly_buffer_f32(ctx, 1);
  PolyUOp *xs = poly_reshape(ctx, x, two_three, 2), *ws = poly_reshape(ctx, w, three, 1);
  PolyUOp *product = poly_binary(ctx, POLY_MUL, xs, ws);
  PolyUOp *loss = poly_reduce(ctx, POLY_REDUCE_MEAN, poly_square(ctx, poly_binary_float(ctx, POLY_SUB, product, 1, 0)), NULL, -1, 0, 0);
  PolyIrBuffer buffers[4] = {{"w", POLY_ROLE_PARAM, 1, {3}, w}, {"x", POLY_ROLE_INPUT, 2, {2, 3}, x},
                             {"output", POLY_ROLE_OUTPUT, 2, {2, 3}, y}, {"loss", POLY_ROLE_OUTPUT, 1, {1}, l}};
  PolyIrEntry entries[2] = {{"forward", poly_sink1(ctx, poly_store_val(ctx, y, product))},
                            {"loss", poly_sink1(ctx, poly_store_val(ctx, l, loss))}};
  PolyIrSpec spec = {ctx, buffers, entries, 4, 2};
  int len = 0;
  uint8_t *ir = poly_ir_export(&spec, &len);
  PolyInstance *m = poly_instance_from_ir(ir, len, NULL, 0);
  CHECK(ir && m && poly_instance_param_count(m) == 1);
  free(ir);
  float in[6] = {1, 2, 4, 1, 2, 4}, last = 9;
  PolyIOBinding io = {"x", in};
  CHECK(poly_instance_set_optimizer(m, POLY_OPTIMIZER_ADAM, 0.05f, 0.9f, 0.999f, 1e-8f, 0) == 0);
  for (int i = 0; i < 200; i++) CHECK(poly_instance_train_step(m, &io, 1, &last) == 0);
  float *trained = poly_instance_param_data(m, 0, NULL);
  CHECK(last < 1e-3 && fabsf(trained[0] - 1) < 0.05f && fabsf(trained[2] - 0.25f) < 0.05f);
  poly_instance_free(m);
  poly_ctx_destroy(ctx);
  FAILS(poly_ir_export(&spec, &len), "poly_ir_export", "stale");
}

int main(void) {
  from_instance();
  to_instance();
  return report();
}
