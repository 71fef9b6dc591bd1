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

static PolyArray *op(PolyCtx *ctx, const char *name, PolyArray *a, PolyCallArg b) {
  PolyCallArg args[] = {POLY_PASS_T(a), b};
  PolyArray *out = NULL;
  CHECK(poly_array_call(ctx, poly_op(name), args, b.kind == POLY_CALL_NONE ? 1 : 2, &out, 1) == 1);
  return out;
}

static const float weights[4] = {0.5f, -0.25f, 0.75f, 0.5f};

/* What the graph of loops gives for x and s: the last state of h = tanh(w h + s), x doubled until its squares have the sum 100 at
 * least, and sin or exp of x as its sum is positive or not. */
static void expected(const float *x, const float *s, float *last, float *doubled, float *chosen) {
  last[0] = x[0], last[1] = x[1];
  for (int i = 0; i < 3; i++) {
    float a = tanhf(weights[0] * last[0] + weights[1] * last[1] + s[2 * i]), b = tanhf(weights[2] * last[0] + weights[3] * last[1] + s[2 * i + 1]);
    last[0] = a, last[1] = b;
  }
  doubled[0] = x[0], doubled[1] = x[1];
  while (doubled[0] * doubled[0] + doubled[1] * doubled[1] < 100) doubled[0] *= 2, doubled[1] *= 2;
  for (int i = 0; i < 2; i++) chosen[i] = x[0] + x[1] > 0 ? sinf(x[i]) : expf(x[i]);
}

static int close_to(const float *a, const float *b) { return fabsf(a[0] - b[0]) < 1e-5f * fmaxf(1, fabsf(b[0])) && fabsf(a[1] - b[1]) < 1e-5f * fmaxf(1, fabsf(b[1])); }

/* Loops and branches are parts of compiled steps and of files, and of bundles in them. */
static void loops(const char *file) {
  PolyCtx *ctx = poly_ctx_new();
  int64_t two[2] = {2, 2}, three[2] = {3, 2};
  PolyUOp *leaf[3] = {poly_buffer_f32(ctx, 4), poly_buffer_f32(ctx, 2), poly_buffer_f32(ctx, 6)};
  PolyArray *w = poly_array_of(ctx, poly_reshape(ctx, leaf[0], two, 2), NULL, 0), *x = poly_array_of(ctx, leaf[1], NULL, 0);
  PolyArray *s = poly_array_of(ctx, poly_reshape(ctx, leaf[2], three, 2), NULL, 0), *args[2] = {x, s}, *given[2], *results[2], *out[3] = {0};
  PolyCallArg none = POLY_PASS_NONE, to_bool = POLY_PASS_DTYPE(POLY_DTYPE_BOOL), to_int = POLY_PASS_DTYPE(POLY_DTYPE_INT32);

  CHECK(poly_expr_begin(ctx, "step", args, 2, (int[]){-1, 0}, given) == 0);
  results[0] = op(ctx, "tanh", op(ctx, "add", op(ctx, "matmul", w, POLY_PASS_T(given[0])), POLY_PASS_T(given[1])), none);
  PolyExpr *step = poly_expr_end(ctx, results, 1);
  CHECK(poly_expr_scan(step, 1, 3, 0, args, 2, &out[0], 1) == 1);

  CHECK(poly_expr_begin(ctx, "double", &x, 1, NULL, given) == 0);
  results[0] = op(ctx, "mul", given[0], POLY_PASS_F(2));
  results[1] = op(ctx, "cast", op(ctx, "relu", op(ctx, "add", op(ctx, "neg", op(ctx, "sum", op(ctx, "square", given[0], none), none), none), POLY_PASS_F(100)), none), to_bool);
  PolyExpr *twice = poly_expr_end(ctx, results, 2);
  CHECK(poly_expr_while(twice, &x, 1, &out[1], 1) == 1);

  PolyArray *which = op(ctx, "cast", op(ctx, "cast", op(ctx, "relu", op(ctx, "sum", x, none), none), to_bool), to_int), *branch[2] = {which, x};
  CHECK(poly_expr_begin(ctx, "choose", branch, 2, NULL, given) == 0);
  results[0] = op(ctx, "exp", given[1], none), results[1] = op(ctx, "sin", given[1], none);
  PolyExpr *chosen = poly_expr_end(ctx, results, 2);
  CHECK(poly_expr_switch(chosen, 2, branch, 2, &out[2], 1) == 1);

  PolyUOp *y[3], *stores[3];
  for (int i = 0; i < 3; i++) {
    y[i] = poly_buffer_f32(ctx, 2);
    stores[i] = poly_store_val(ctx, y[i], poly_array_node(out[i]));
  }
  PolyUOp *sink = poly_sink_n(ctx, stores, 3);
  PolyStep *compiled = poly_compile_step(ctx, sink);
  PolyIrBuffer buffers[] = {{"w", POLY_ROLE_PARAM, 2, {2, 2}, leaf[0]}, {"x", POLY_ROLE_INPUT, 1, {2}, leaf[1]}, {"s", POLY_ROLE_INPUT, 2, {3, 2}, leaf[2]},
                            {"last", POLY_ROLE_OUTPUT, 1, {2}, y[0]},   {"doubled", POLY_ROLE_OUTPUT, 1, {2}, y[1]}, {"chosen", POLY_ROLE_OUTPUT, 1, {2}, y[2]}};
  PolyIrEntry entry = {"forward", sink};
  PolyIrSpec spec = {ctx, buffers, &entry, 6, 1}, again;
  int len = 0, len2 = 0, bundled = 0;
  uint8_t *ir = poly_ir_export(&spec, &len);
  CHECK(compiled && ir && poly_ir_import(ir, len, &again) == 0);
  uint8_t *ir2 = poly_ir_export(&again, &len2);
  CHECK(ir2 && len2 == len && memcmp(ir, ir2, (size_t)len) == 0);
  PolyInstance *m = poly_instance_from_ir(ir, len, NULL, 0);
  CHECK(m && poly_instance_param_count(m) == 1);
  memcpy(poly_instance_param_data(m, 0, NULL), weights, sizeof weights);
  uint8_t *bundle = poly_instance_save_bundle(m, &bundled);
  PolyInstance *loaded = poly_instance_from_bundle(bundle, bundled);
  CHECK(bundle && loaded);
  if (file) { /* for programs in other languages */
    FILE *f = fopen(file, "wb");
    CHECK(f && fwrite(bundle, 1, (size_t)bundled, f) == (size_t)bundled && fclose(f) == 0);
  }

  float sequence[6] = {0.5f, 1, -1, 0.25f, 2, -0.75f}, starts[3][2] = {{1, -0.5f}, {-0.75f, 0.5f}, {30, 5}};
  for (int i = 0; i < 3; i++) {
    float *in = starts[i], want[3][2], got[3][2];
    expected(in, sequence, want[0], want[1], want[2]);
    PolyBufferBinding binds[] = {{leaf[0], {(void *)weights, 16, 0, false}}, {leaf[1], {in, 8, 0, false}}, {leaf[2], {sequence, 24, 0, false}},
                                 {y[0], {got[0], 8, 0, false}}, {y[1], {got[1], 8, 0, false}}, {y[2], {got[2], 8, 0, false}}};
    CHECK(poly_step_run(compiled, binds, 6) == 0);
    for (int k = 0; k < 3; k++) CHECK(close_to(got[k], want[k]));
    PolyIOBinding io[] = {{"x", in}, {"s", sequence}};
    CHECK(poly_instance_forward(loaded, io, 2) == 0);
    for (int k = 0; k < poly_instance_buf_count(loaded); k++) {
      const char *name = poly_instance_buf_name(loaded, k);
      for (int j = 0; j < 3; j++)
        if (strcmp(name, buffers[3 + j].name) == 0) CHECK(close_to(poly_instance_buf_data(loaded, k, NULL), want[j]));
    }
  }

  for (int i = 0; i < len; i++) { /* damaged bytes are read as another graph or refused */
    ir[i] ^= 0x55;
    if (poly_ir_import(ir, len, &again) == 0) {
      poly_ctx_destroy(again.ctx);
      poly_ir_spec_free(&again);
    }
    ir[i] ^= 0x55;
  }
  free(ir), free(ir2), free(bundle);
  poly_step_destroy(compiled);
  poly_instance_free(m), poly_instance_free(loaded);
  poly_expr_release(step), poly_expr_release(twice), poly_expr_release(chosen);
  poly_ctx_destroy(ctx);
}

int main(int argc, char **argv) {
  from_instance();
  to_instance();
  loops(argc > 1 ? argv[1] : NULL);
  return report();
}
