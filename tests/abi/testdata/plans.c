/* Programs cut into kernels, compiled for devices, run by slot; single kernels as WebAssembly. */
#include "check.h"

/* out = softmax(x + y) over the rows of (4, 8): several kernels. */
static PolyUOp *softmax(PolyCtx *ctx, PolyUOp *x, PolyUOp *y, PolyUOp *out) {
  int64_t shape[2] = {4, 8};
  PolyUOp *sum = poly_reshape(ctx, poly_alu2(ctx, POLY_OP_ADD, x, y), shape, 2);
  return poly_sink1(ctx, poly_store_val(ctx, out, poly_softmax(ctx, poly_contiguous(ctx, sum), shape, 2, 1)));
}

static int fits(const float *x, const float *y, const float *out) {
  int ok = 1;
  for (int r = 0; r < 4; r++) {
    double sum = 0;
    for (int c = 0; c < 8; c++) sum += exp((double)x[8 * r + c] + y[8 * r + c]);
    for (int c = 0; c < 8; c++) ok = ok && near(out[8 * r + c], exp((double)x[8 * r + c] + y[8 * r + c]) / sum);
  }
  return ok;
}

static int place(PolyCompiledPlan *plan, PolyUOp *buffer) {
  for (int i = 0; i < poly_compiled_plan_n_slots(plan); i++)
    if (poly_compiled_plan_slot_buf(plan, i) == buffer) return i;
  return -1;
}

static void plans(void) {
  PolyCtx *ctx = poly_ctx_new(), *other = poly_ctx_new();
  float x[32], y[32], out[32];
  for (int i = 0; i < 32; i++) x[i] = (float)(i % 5) * 0.3f, y[i] = (float)(i % 7) * -0.2f;
  PolyUOp *a = poly_buffer_f32(ctx, 32), *b = poly_buffer_f32(ctx, 32), *to = poly_buffer_f32(ctx, 32);
  PolyUOp *sink = softmax(ctx, a, b, to);

  PolyUOp *last = poly_schedule(ctx, sink);
  CHECK(last && poly_uop_op(ctx, last) == POLY_OP_SINK && last != sink);
  char *text = poly_graph_str(last);
  CHECK(text && strstr(text, "PARAM") && strstr(text, "STORE"));
  free(text);

  PolySchedule *s = poly_schedule_for(ctx, sink, POLY_COMPILE_CALL);
  int kernels = poly_schedule_n_kernels(s);
  CHECK(s && kernels >= 2 && poly_schedule_kernel(s, kernels - 1) == last);
  FAILS(poly_schedule_kernel(s, kernels), "poly_schedule_kernel", "out of range");
  FAILS(poly_schedule_for(ctx, sink, 7), "poly_schedule_for", "mode");
  FAILS(poly_schedule_for(ctx, a, 0), "poly_schedule_for", "expected a SINK");
  FAILS(poly_schedule(ctx, poly_sink1(ctx, poly_store_val(ctx, to, a))), "poly_schedule", "no kernel");

  int devices[3] = {POLY_DEVICE_AUTO, POLY_DEVICE_INTERP, POLY_DEVICE_WASM_JIT};
  for (int d = 0; d < 3; d++) {
    PolyCompiledPlan *p = poly_compile_schedule(ctx, s, devices[d]);
    CHECK(p && poly_compiled_plan_n_slots(p) == 3);
    void *slots[3] = {NULL};
    slots[place(p, a)] = x;
    slots[place(p, b)] = y;
    slots[place(p, to)] = out;
    memset(out, 0, sizeof out);
    CHECK(poly_compiled_plan_run(p, slots, 3, NULL, 0) == 0 && fits(x, y, out));
    FAILS(poly_compiled_plan_run(p, slots, 1, NULL, 0) == 0, "poly_compiled_plan_run", "not bound");
    FAILS(poly_compiled_plan_run(p, NULL, 1, NULL, 0) == 0, "poly_compiled_plan_run", "slot_data");
    FAILS(poly_compiled_plan_run(p, slots, -1, NULL, 0) == 0, "poly_compiled_plan_run", "n_slots");
    FAILS(poly_compiled_plan_slot_buf(p, 3), "poly_compiled_plan_slot_buf", "out of range");
    poly_compiled_plan_free(p);
    FAILS(poly_compiled_plan_run(p, slots, 3, NULL, 0) == 0, "poly_compiled_plan_run", "stale");
    poly_compiled_plan_free(p);
  }
  FAILS(poly_compile_schedule(ctx, s, POLY_DEVICE_WEBGPU), "poly_compile_schedule", "WEBGPU");
  FAILS(poly_compile_schedule(ctx, s, 99), "poly_compile_schedule", "99");
  FAILS(poly_compile_schedule(other, s, 0), "poly_compile_schedule", "another context");
  PolyCompiledPlan *kept = poly_compile_schedule(ctx, s, 0);
  poly_schedule_free(s);
  FAILS(poly_compile_schedule(ctx, s, 0), "poly_compile_schedule", "stale");
  FAILS(poly_schedule_n_kernels(s) >= 0, "poly_schedule_n_kernels", "stale");
  poly_schedule_free(s);
  poly_schedule_free(NULL);
  CHECK(poly_compiled_plan_n_slots(kept) == 3);

  PolyCompiledPlan *p = poly_get_plan(ctx, sink, POLY_DEVICE_CPU);
  CHECK(p && poly_get_plan(ctx, sink, POLY_DEVICE_CPU) == p && p != poly_get_plan(ctx, sink, POLY_DEVICE_INTERP));
  poly_compiled_plan_free(p); /* belongs to the sink */
  void *slots[3];
  slots[place(p, a)] = x;
  slots[place(p, b)] = y;
  slots[place(p, to)] = out;
  memset(out, 0, sizeof out);
  CHECK(poly_compiled_plan_run(p, slots, 3, NULL, 0) == 0 && fits(x, y, out));
  FAILS(poly_get_plan(ctx, a, 0), "poly_get_plan", "expected a SINK");
  FAILS(poly_step_n_kernels((PolyStep *)p), "poly_step_n_kernels", "another kind");
  poly_uop_release(ctx, sink);
  FAILS(poly_compiled_plan_run(p, slots, 3, NULL, 0) == 0, "poly_compiled_plan_run", "stale");

  float z[32] = {0}; /* memory of poly_buffer_host needs no slot */
  int64_t n[1] = {32};
  PolyUOp *mine = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, n, 1, x, sizeof x);
  PolyUOp *dst = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, n, 1, z, sizeof z);
  p = poly_get_plan(ctx, poly_sink1(ctx, poly_store_val(ctx, dst, poly_square(ctx, mine))), 0);
  CHECK(poly_compiled_plan_run(p, NULL, 0, NULL, 0) == 0 && near(z[31], x[31] * x[31]));
  CHECK(poly_const_buffer_data(ctx, mine) == x && poly_const_buffer_data(ctx, a) == NULL && !*poly_last_error());
  FAILS(poly_const_buffer_data(ctx, poly_const_float(ctx, 1)), "poly_const_buffer_data", "expected a buffer");

  PolyUOp *var = poly_define_var(ctx, "n", 1, 4);
  PolyVarBinding value = {var, 3};
  PolyUOp *some = poly_buffer_var(ctx, POLY_FLOAT32, var, NULL, 0), *one = poly_buffer_f32(ctx, 1);
  p = poly_get_plan(ctx, poly_sink1(ctx, poly_store_val(ctx, one, poly_reduce(ctx, POLY_REDUCE_SUM, some, NULL, -1, 0, 0))), 0);
  CHECK(poly_compiled_plan_n_slots(p) == 2);
  slots[place(p, one)] = out;
  slots[1 - place(p, one)] = x;
  CHECK(poly_compiled_plan_run(p, slots, 2, &value, 1) == 0 && near(out[0], x[0] + x[1] + x[2]));
  FAILS(poly_compiled_plan_run(p, slots, 2, NULL, 0) == 0, "poly_compiled_plan_run", "no value");

  poly_ctx_destroy(other);
  poly_ctx_destroy(ctx);
  FAILS(poly_compiled_plan_n_slots(kept) >= 0, "poly_compiled_plan_n_slots", "stale");
  poly_compiled_plan_free(kept);
}

static void modules(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *a = poly_buffer_f32(ctx, 100), *b = poly_buffer_f32(ctx, 100), *out = poly_buffer_f32(ctx, 100);
  PolyUOp *sink = poly_sink1(ctx, poly_store_val(ctx, out, poly_alu2(ctx, POLY_OP_MUL, a, b)));
  int length = 0, n = 0, seen = 0;
  uint8_t *module = poly_render_kernel_wasm(ctx, sink, &length, &n);
  CHECK(module && length > 8 && memcmp(module, "\0asm", 4) == 0 && n == 3);
  for (int i = 0; i < n; i++) {
    PolyUOp *buffer = poly_kernel_buf(ctx, i);
    seen += (buffer == a) + 2 * (buffer == b) + 4 * (buffer == out);
  }
  CHECK(seen == 7);
  free(module);
  FAILS(poly_kernel_buf(ctx, 3), "poly_kernel_buf", "out of range");
  /* Two outputs of different sizes have no loop in common. */
  PolyUOp *few = poly_buffer_f32(ctx, 7), *stores[2];
  stores[0] = poly_store_val(ctx, out, poly_alu2(ctx, POLY_OP_MUL, a, b));
  stores[1] = poly_store_val(ctx, poly_buffer_f32(ctx, 7), poly_alu2(ctx, POLY_OP_MUL, few, few));
  PolyUOp *many = poly_sink_n(ctx, stores, 2);
  FAILS(poly_render_kernel_wasm(ctx, many, &length, &n), "poly_render_kernel_wasm", "kernels");
  CHECK(length == 0 && n == 0);
  FAILS(poly_render_kernel_wasm(ctx, NULL, &length, &n), "poly_render_kernel_wasm", "NULL");

  PolyUOp *step = softmax(ctx, poly_buffer_f32(ctx, 32), poly_buffer_f32(ctx, 32), poly_buffer_f32(ctx, 32));
  PolyWasmStepPlan *plan = poly_render_step_wasm_plan(ctx, step);
  CHECK(poly_wasm_stepplan_bindable_buf_index(plan, 2) == 2);
  FAILS(poly_wasm_stepplan_bindable_buf_index(plan, 3) >= 0, "poly_wasm_stepplan_bindable_buf_index", "out of range");
  FAILS(poly_wasm_stepplan_bindable_buf_index(NULL, 0) >= 0, "poly_wasm_stepplan_bindable_buf_index", "NULL");
  poly_wasm_stepplan_destroy(plan);

  const PolyBackendDesc *cpu = poly_backend_get(POLY_DEVICE_CPU);
  CHECK(cpu && cpu->device == POLY_DEVICE_CPU && strcmp(cpu->name, "CPU") == 0 && cpu->runs_on[0] && poly_backend_get(POLY_DEVICE_CPU) == cpu);
  FAILS(poly_backend_get(POLY_DEVICE_WEBGPU), "poly_backend_get", "WEBGPU");
  FAILS(poly_backend_get(-1), "poly_backend_get", "-1");
  poly_ctx_destroy(ctx);
}

/* Nodes of kernels are no tensors: whatever is done with them is an error, not a crash. */
static void kernel_nodes(void) {
  PolyCtx *ctx = poly_ctx_new();
  PolyUOp *sink = softmax(ctx, poly_buffer_f32(ctx, 32), poly_buffer_f32(ctx, 32), poly_buffer_f32(ctx, 32));
  int n = 0, failed = 0;
  PolySchedule *s = poly_schedule_for(ctx, sink, 0);
  for (int k = 0; k < poly_schedule_n_kernels(s); k++) {
    PolyUOp **list = poly_toposort(ctx, poly_schedule_kernel(s, k), &n);
    CHECK(list && n > 10);
    for (int i = 0; i < n; i++) {
      float out[64];
      int64_t dims[2] = {1, -1};
      free(poly_uop_str(list[i]));
      free(poly_uop_shape(ctx, list[i]).dims);
      CHECK(poly_uop_n_src(ctx, list[i]) >= 0 && poly_uop_arg(ctx, list[i]).kind <= POLY_ARG_INVALID);
      PolyUOp *made[] = {poly_exp(ctx, list[i]), poly_alu2(ctx, POLY_OP_ADD, list[i], list[0]), poly_reshape(ctx, list[i], dims, 2),
                         poly_reduce(ctx, POLY_REDUCE_SUM, list[i], NULL, -1, 0, 0), poly_matmul(ctx, list[i], list[i]),
                         poly_grad(ctx, list[i], list[0]), poly_cast(ctx, list[i], POLY_INT32), poly_contiguous(ctx, list[i])};
      for (size_t m = 0; m < sizeof made / sizeof *made; m++) {
        failed += made[m] == NULL;
        if (made[m] && poly_numel(ctx, made[m]) >= 0 && poly_numel(ctx, made[m]) <= 8) into(ctx, made[m], out);
      }
    }
  }
  CHECK(failed > 100);
  poly_ctx_destroy(ctx);
  FAILS(poly_schedule_n_kernels(s) >= 0, "poly_schedule_n_kernels", "stale");
}

/* Graphs and kernels as text in each form; what is looked at does not change. */
static void views(void) {
  PolyCtx *ctx = poly_ctx_new(), *other = poly_ctx_new();
  float w[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[2] = {2, 3};
  PolyUOp *leaf = poly_buffer_host(ctx, POLY_DTYPE_FLOAT32, dims, 2, w, sizeof w);
  PolyUOp *twice = poly_alu2(ctx, POLY_OP_ADD, leaf, leaf), *both[2] = {leaf, twice};
  const char *of_graph[5] = {"ADD float32 (2,3)", "\"roots\":[", "digraph", "<svg ", "BUFFER"};
  const char *of_kernels[5] = {"1 kernel on ", "\"seconds\":", "updated", "</svg>", "--- kernel 0: "};
  for (int view = POLY_VIEW_TEXT; view <= POLY_VIEW_CODE; view++) {
    char *graph = poly_view_graph(ctx, both, 2, view);
    CHECK(graph && strstr(graph, of_graph[view]));
    free(graph);
    char *kernels = poly_view_kernels(ctx, NULL, 0, &leaf, &twice, 1, 2, view);
    CHECK(kernels && strstr(kernels, of_kernels[view]));
    free(kernels);
  }
  CHECK(w[0] == 1 && w[5] == 6);
  char *value = poly_view_kernels(ctx, &twice, 1, NULL, NULL, 0, 0, POLY_VIEW_JSON);
  CHECK(value && strstr(value, "\"role\":\"output\",\"dtype\":\"float32\",\"shape\":[2,3],\"bytes\":24"));
  free(value);
  CHECK((value = poly_view_kernels(ctx, &leaf, 1, NULL, NULL, 0, 3, POLY_VIEW_TEXT)) && strstr(value, "0 kernels on"));
  free(value);
  FAILS(poly_view_graph(ctx, both, 2, 5), "poly_view_graph", "view");
  FAILS(poly_view_graph(ctx, both, 0, 0), "poly_view_graph", "expected 1 or more");
  FAILS(poly_view_graph(ctx, NULL, 2, 0), "poly_view_graph", "NULL");
  FAILS(poly_view_graph(other, both, 2, 0), "poly_view_graph", "another context");
  FAILS(poly_view_kernels(ctx, &twice, 1, NULL, NULL, 0, 0, -1), "poly_view_kernels", "view");
  FAILS(poly_view_kernels(ctx, &twice, 1, NULL, NULL, 0, -1, 0), "poly_view_kernels", "runs");
  FAILS(poly_view_kernels(ctx, &twice, 1, NULL, NULL, 0, 1000001, 0), "poly_view_kernels", "runs");
  FAILS(poly_view_kernels(ctx, NULL, 0, NULL, NULL, 0, 1, 0), "poly_view_kernels", "expected 1 or more");
  FAILS(poly_view_kernels(ctx, NULL, 0, &twice, &leaf, 1, 1, 0), "poly_view_kernels", "buffer");
  poly_ctx_destroy(other);
  poly_ctx_destroy(ctx);
}

int main(void) {
  plans();
  views();
  modules();
  kernel_nodes();
  return report();
}
