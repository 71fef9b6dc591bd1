/* Good arguments: a context with nodes of all sorts, programs, a model, files,
 * and arrays that end where their memory ends. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <dirent.h>

#include "calls.h"

enum { ROOM = 64, LIST = 40 }; /* elements of arrays of handles, of numbers */

struct fixture {
  PolyCtx *ctx, *other;
  PolyUOp *x, *y, *row, *flat, *scalar, *index, *mask, *seed, *var, *bound, *symbolic, *store, *sink, *definite;
  PolyUOp *image, *kernel, *row_index, *places, *gates, *sequence, *foreign, *stale;
  PolyStep *step, *computing, *stale_step;
  PolyInstance *instance, *stale_instance;
  PolyWasmStepPlan *plan;
  PolyCtx *stale_ctx;
  PolyUOp **nodes, **others, **stores, **flats, **out;
  void **pointers, *memory;
  int64_t *shape, *order, *halves, *pairs, *dims, *lengths;
  size_t *rooms; /* of memory for a value */
  PolyCallArg *operand, *array_operand, *array_list, *number, *item;
  PolyArray *array, *plain, **arrays, **arrays_out, *number_of_branch;
  PolyPin *pin;
  PolyFunction *function, *thunk;
  PolyExpr *expr, *loop, *choice, *pair, *tangent, *batched, *rule;
  PolyOptim *optimizer;
  PolyRateScheduler *rates;
  int *singles_out;
  void *zeros, *cells, *output;
  int32_t *kinds;
  uint8_t *ir, *weights, *bundle;
  int ir_len, weights_len, bundle_len;
  PolyBufferBinding *bindings;
  PolyVarBinding *vars;
  PolyIOBinding *inputs;
  PolySafetensorEntry *entries;
  PolySafetensorViewEx *view;
  GPT2Config *gpt2;
  PolyDType *dtype;
  PolyArg *one;
  PolyShape *shape_record;
  PolyTensor *tensor, *target, *error, *persistent, **tensors, **parameters;
  PolyLinear *layer;
  PolySGD *sgd;
  PolySchedule *schedule;
  PolyCompiledPlan *compiled;
  int64_t *ones, *nothing;
  PolyModel *model, *own;
  PolyModelConfig *config;
  PolyJob *job;
  PolyInstance *text;
  PolyGenerator *generator;
  PolyTokenizer *tokenizer;
  PolyTextStream *stream;
  int32_t *singles;
  PolyFile *file;
  PolyFileTensor *file_tensors;
  PolyUOp *packed;
  const char *path;
  const char *parameter;
  PolyIrSpec *spec;
  PolyIrBuffer *spec_buffers;
  PolyIrEntry *spec_entry;
};

#define MLP "{\"layers\": [3, 4, 2], \"batch_size\": 2, \"loss\": \"mse\"}"
#define NAM "{\"n_features\": 2, \"hidden_sizes\": [3]}"
#define WORDS "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}"
#define HF_CONFIG                                                                               \
  "{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_embd\": 4, \"n_head\": 2, \"n_layer\": 1, " \
  "\"n_positions\": 3}"

/* Gives a node back without knowing its context: all but one of them ignore it. */
static PolyCtx *contexts[4];
static inline void release_anywhere(PolyUOp *x) {
  for (int i = 0; i < 4; i++)
    if (contexts[i]) poly_uop_release(contexts[i], x);
}

/* A model of the identity, and a constructor that makes none. */
static inline PolyUOp **as_it_is(PolyModel *model, void *user, PolyUOp **inputs, int n, int *n_out) {
  (void)model, (void)user;
  PolyUOp **out = malloc(((size_t)n + 1) * sizeof *out);
  for (int i = 0; i < n; i++) out[i] = poly_uop_retain(contexts[0], inputs[i]);
  *n_out = n;
  return out;
}

static inline PolyModel *no_model(PolyCtx *ctx, PolyModelConfig *config) {
  (void)ctx, (void)config;
  return NULL;
}

static inline void need(int ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "fixture: %s: %s\n", what, poly_last_error());
    exit(2);
  }
}

/* Memory for good, laid out once: n bytes up to a page that nobody may touch. */
static inline void *tail(size_t n) { return last(region(n), n); }

static inline PolyUOp *leaf(PolyCtx *ctx, int dtype, int64_t rows, int64_t cols, void *data, size_t nbytes) {
  int64_t shape[2] = {rows, cols};
  return poly_buffer_host(ctx, dtype, rows ? shape : shape + 1, rows ? 2 : 1, data, nbytes);
}

/* A folder to work in, which goes with the program: functions that write files do so under odd names, too. */
static char folder[] = "/tmp/polygrad-abi.XXXXXX";
static pid_t folder_owner;
static inline void forget_folder(void) {
  if (getpid() != folder_owner) return;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
  rmdir(folder);
}

/* What does not depend on a context. */
static inline void fixture_arrays(struct fixture *f) {
  static char tensor_name[] = "weight";
  static float *numbers;
  memset(f, 0, sizeof *f);
  f->nodes = tail(ROOM * sizeof(void *)), f->others = tail(ROOM * sizeof(void *));
  f->stores = tail(ROOM * sizeof(void *)), f->flats = tail(ROOM * sizeof(void *)), f->out = tail(ROOM * sizeof(void *));
  f->pointers = tail(ROOM * sizeof(void *)), f->memory = tail(1 << 16), f->zeros = region(4096).page, f->output = tail(4096), f->cells = tail(4096);
  f->rooms = tail(LIST * 8);
  f->shape = tail(LIST * 8), f->order = tail(LIST * 8), f->halves = tail(LIST * 8), f->pairs = tail(LIST * 16);
  f->dims = tail(ROOM * 8), f->lengths = tail(LIST * 8), f->kinds = tail(LIST * 4), f->singles = tail(LIST * 4);
  f->bindings = tail(ROOM * sizeof(PolyBufferBinding)), f->vars = tail(ROOM * sizeof(PolyVarBinding));
  f->inputs = tail(ROOM * sizeof(PolyIOBinding)), f->entries = tail(ROOM * sizeof(PolySafetensorEntry));
  f->view = tail(sizeof(PolySafetensorViewEx)), f->gpt2 = tail(sizeof(GPT2Config));
  f->tensors = tail(ROOM * sizeof(void *)), f->parameters = tail(ROOM * sizeof(void *)), f->sgd = tail(sizeof(PolySGD));
  f->ones = tail(LIST * 8), f->nothing = tail(LIST * 16);
  f->spec = tail(sizeof(PolyIrSpec)), f->spec_buffers = tail(2 * sizeof(PolyIrBuffer)), f->spec_entry = tail(sizeof(PolyIrEntry));
  f->dtype = tail(sizeof(PolyDType)), f->one = tail(sizeof(PolyArg)), f->shape_record = tail(sizeof(PolyShape));
  f->arrays = tail(ROOM * sizeof(void *)), f->arrays_out = tail(ROOM * sizeof(void *)), f->singles_out = tail(LIST * 4);
  f->operand = tail(ROOM * sizeof *f->operand), f->array_operand = tail(ROOM * sizeof *f->operand);
  f->number = tail(ROOM * sizeof *f->operand), f->item = tail(ROOM * sizeof *f->operand), f->array_list = tail(ROOM * sizeof *f->operand);
  for (int i = 0; i < LIST; i++) {
    f->ones[i] = f->singles[i] = 1, f->shape[i] = i < 2 ? 4 : 1, f->order[i] = i, f->halves[i] = 2, f->rooms[i] = 64;
    f->pairs[2 * i] = 0, f->pairs[2 * i + 1] = i < 2 ? 2 : 1;
  }
  mprotect(f->zeros, 4096, PROT_READ);
  PolyInstance *model = poly_mlp_instance(MLP, (int)strlen(MLP));
  need(model != NULL, "poly_mlp_instance");
  uint8_t *p = poly_instance_export_ir(model, &f->ir_len);
  memcpy(f->ir = tail((size_t)f->ir_len), p, (size_t)f->ir_len), free(p);
  p = poly_instance_export_weights(model, &f->weights_len);
  memcpy(f->weights = tail((size_t)f->weights_len), p, (size_t)f->weights_len), free(p);
  p = poly_instance_save_bundle(model, &f->bundle_len);
  memcpy(f->bundle = tail((size_t)f->bundle_len), p, (size_t)f->bundle_len), free(p);
  poly_instance_free(model);
  numbers = tail(64);
  for (int i = 0; i < 16; i++) numbers[i] = (float)i;
  for (int i = 0; i < ROOM; i++) f->entries[i] = (PolySafetensorEntry){tensor_name, numbers, f->shape, 2};
  f->file_tensors = tail(ROOM * sizeof(PolyFileTensor));
  for (int i = 0; i < ROOM; i++) f->file_tensors[i] = (PolyFileTensor){tensor_name, numbers, f->shape, 2, POLY_DTYPE_FLOAT32};
  need(mkdtemp(folder) != NULL && chdir(folder) == 0, "mkdtemp");
  folder_owner = getpid();
  atexit(forget_folder);
  f->path = "model.safetensors";
  need(poly_safetensors_save(f->path, f->file_tensors, 1, NULL, 0) == 1, "poly_safetensors_save");
  FILE *config = fopen("config.json", "w");
  need(config && fputs(HF_CONFIG, config) >= 0 && fclose(config) == 0, "config.json");
  *f->view = (PolySafetensorViewEx){tensor_name, numbers, {4, 4}, 2, 16, POLY_SAFETENSOR_F32};
  *f->dtype = (PolyDType){13, 32, "float", 'f', 1, false, 0, 1, -1};
  *f->one = (PolyArg){.kind = POLY_ARG_FLOAT, .u.f = 1};
  *f->shape_record = (PolyShape){f->shape, 2};
  *f->gpt2 = (GPT2Config){5, 4, 2, 1, 3, 1e-5f};
}

/* The context, in which a function is traced whose result is in arrays_out. */
static inline PolyCtx *traced(const struct fixture *f) {
  PolyArray *given;
  if (poly_trace_begin(f->ctx, NULL, &f->array, 1, &given) == 0) f->arrays_out[0] = poly_array_binary(POLY_ADD, given, given);
  return f->ctx;
}

/* An array in a function that is traced to be batched along an axis "i". */
static inline PolyArray *named(const struct fixture *f) {
  PolyArray *given = NULL;
  if (poly_expr_begin(f->ctx, NULL, &f->array, 1, NULL, &given) == 0) poly_expr_axis(f->ctx, "i", 2);
  return given;
}

/* The context, in which a function is traced as an expression whose result is in arrays_out. */
static inline PolyCtx *expressed(const struct fixture *f) {
  PolyArray *given;
  if (poly_expr_begin(f->ctx, NULL, &f->array, 1, NULL, &given) == 0) f->arrays_out[0] = poly_array_binary(POLY_ADD, given, given);
  return f->ctx;
}

/* What lives in a context. */
static inline void fixture_make(struct fixture *f) {
  f->ctx = poly_ctx_new(), f->other = poly_ctx_new(), f->stale_ctx = poly_ctx_new();
  contexts[0] = f->ctx, contexts[1] = f->other;
  f->x = leaf(f->ctx, POLY_DTYPE_FLOAT32, 4, 4, f->memory, 64);
  f->y = poly_exp(f->ctx, f->x);
  f->row = leaf(f->ctx, POLY_DTYPE_FLOAT32, 0, 4, f->memory, 16);
  f->flat = leaf(f->ctx, POLY_DTYPE_FLOAT32, 0, 16, (char *)f->memory + 64, 64);
  f->index = leaf(f->ctx, POLY_DTYPE_INT32, 4, 4, f->cells, 64);
  f->mask = leaf(f->ctx, POLY_DTYPE_BOOL, 4, 4, f->cells, 16);
  f->seed = leaf(f->ctx, POLY_DTYPE_UINT32, 0, 2, f->cells, 8);
  f->scalar = poly_reduce(f->ctx, POLY_REDUCE_SUM, f->x, NULL, -1, 0, 0);
  for (int i = 0; i < ROOM; i++) f->operand[i] = POLY_PASS_T(f->x);
  f->array = poly_array_new(f->ctx, POLY_DTYPE_FLOAT32, f->shape, 2, f->memory, 64);
  f->plain = poly_array_new(f->ctx, POLY_DTYPE_FLOAT32, f->shape, 2, f->memory, 64);
  for (int i = 0; i < ROOM; i++) f->array_operand[i] = POLY_PASS_T(f->array), f->number[i] = POLY_PASS_F(0.5), f->item[i] = POLY_PASS_I(0);
  for (int i = 0; i < ROOM; i++) f->arrays[i] = f->array;
  void *data;
  f->pin = poly_array_pin(f->array, &data, NULL, 0, NULL);
  need(f->array && poly_array_require_grad(f->array, 1) == 0 && f->pin, "array");
  PolyArray *given, *twice;
  need(poly_trace_begin(f->ctx, NULL, &f->array, 1, &given) == 0 && (twice = poly_array_binary(POLY_ADD, given, given)), "traced");
  need((f->function = poly_trace_end(f->ctx, &twice, 1, POLY_TRACE_FIXED)) != NULL, "function");
  poly_array_release(given), poly_array_release(twice);
  need(poly_expr_begin(f->ctx, NULL, &f->array, 1, NULL, &given) == 0 && (twice = poly_array_binary(POLY_ADD, given, given)), "traced");
  need((f->expr = poly_expr_end(f->ctx, &twice, 1)) != NULL, "expression");
  PolyArray *pair[2] = {f->array, f->array}, *placeholders[2];
  need(poly_expr_begin(f->ctx, NULL, pair, 2, NULL, placeholders) == 0 && (twice = poly_array_binary(POLY_ADD, placeholders[1], placeholders[1])), "traced");
  need((f->tangent = poly_expr_end(f->ctx, &twice, 1)) != NULL, "tangent");
  need(poly_expr_begin(f->ctx, NULL, pair, 2, (int[]){0, 0}, placeholders) == 0 && (twice = poly_array_binary(POLY_ADD, placeholders[0], placeholders[1])), "traced");
  need((f->pair = poly_expr_end(f->ctx, &twice, 1)) != NULL, "pair");
  poly_array_release(given), poly_array_release(twice);
  PolyArray *results[2];
  need(poly_expr_begin(f->ctx, NULL, &f->array, 1, NULL, &given) == 0, "traced");
  need((twice = poly_array_binary(POLY_NE, given, given)) && poly_array_call(f->ctx, poly_op("any"), (PolyCallArg[]){POLY_PASS_T(twice)}, 1, &results[1], 1) == 1, "condition");
  results[0] = given;
  need((f->loop = poly_expr_end(f->ctx, results, 2)) != NULL, "loop");
  poly_array_release(given), poly_array_release(twice), poly_array_release(results[1]);
  f->number_of_branch = poly_array_new(f->ctx, POLY_DTYPE_INT32, NULL, 0, f->cells, 4);
  need(poly_expr_begin(f->ctx, NULL, &f->number_of_branch, 1, NULL, &given) == 0 && (f->choice = poly_expr_end(f->ctx, &given, 1)), "choice");
  poly_array_release(given);
  PolyExpr *whole; /* of an expression that misses a rule */
  need(poly_expr_begin(f->ctx, NULL, &f->array, 1, (int[]){0}, &given) == 0 && (f->rule = poly_expr_end(f->ctx, &given, 1)), "rule");
  need(poly_expr_begin(f->ctx, NULL, &f->array, 1, (int[]){0}, placeholders) == 0, "traced");
  need(poly_expr_custom_vmap(f->rule, 0, placeholders, 1, &twice, 1) == 1 && (f->batched = poly_expr_end(f->ctx, &twice, 1)), "batched");
  need((whole = poly_expr_batch(f->batched, -1, (int[]){0}, 1, (int[]){0}, 1)) != NULL, "whole");
  poly_expr_release(whole), poly_expr_release(f->rule);
  poly_array_release(given), poly_array_release(placeholders[0]), poly_array_release(twice);
  need(poly_expr_begin(f->ctx, NULL, &f->array, 1, NULL, &given) == 0 && (f->rule = poly_expr_end(f->ctx, &given, 1)), "rule");
  poly_array_release(given);
  need(poly_trace_begin(f->ctx, "thunk", NULL, 0, NULL) == 0 && (twice = poly_array_binary(POLY_ADD, f->plain, f->plain)), "traced");
  need((f->thunk = poly_trace_end(f->ctx, &twice, 1, POLY_TRACE_FIXED)) != NULL, "thunk");
  poly_array_release(twice);
  for (int i = 0; i < LIST; i++) f->array_list[i] = i ? POLY_PASS_F(0.5) : POLY_PASS_TENSORS(&f->array, 1);
  f->optimizer = poly_optim_new(f->ctx, poly_op("AdamW"), f->array_list, 1, NULL);
  f->rates = poly_optim_schedule(f->optimizer, POLY_RATE_EXPONENTIAL, (double[]){0.5}, 1);
  need(f->optimizer && f->rates, "optimizer");
  f->definite = poly_binary(f->ctx, POLY_ADD, poly_eye(f->ctx, 4), poly_full(f->ctx, f->shape, 2, 0.5));
  f->var = poly_define_var(f->ctx, "n", 1, 4);
  f->bound = poly_bind_var(f->ctx, f->var, 2);
  f->store = poly_store_val(f->ctx, f->flat, f->y);
  f->sink = poly_sink1(f->ctx, f->store);
  int64_t image[4] = {1, 4, 4, 4}, kernel[4] = {4, 4, 2, 2}, sequence[3] = {2, 4, 4};
  f->image = poly_buffer_host(f->ctx, POLY_DTYPE_FLOAT32, image, 4, f->memory, 256);
  f->kernel = poly_buffer_host(f->ctx, POLY_DTYPE_FLOAT32, kernel, 4, f->memory, 256);
  f->gates = leaf(f->ctx, POLY_DTYPE_FLOAT32, 16, 4, f->memory, 256);
  f->sequence = poly_buffer_host(f->ctx, POLY_DTYPE_FLOAT32, sequence, 3, f->memory, 128);
  f->row_index = leaf(f->ctx, POLY_DTYPE_INT32, 0, 4, f->cells, 16);
  f->places = poly_full_int_by_id(f->ctx, POLY_DTYPE_INT32, image, 4, 0);
  f->tensor = poly_tensor_input(f->ctx, f->memory, f->shape, 2), f->target = poly_tensor_input(f->ctx, f->memory, f->shape, 2);
  f->error = poly_tensor_mse(f->tensor, f->target);
  int len, bufs;
  free(poly_render_kernel_wasm(f->ctx, f->sink, &len, &bufs));
  f->persistent = poly_tensor_zeros(f->shape, 2), f->layer = poly_nn_linear(4, 4, true);
  for (int i = 0; i < ROOM; i++) f->tensors[i] = f->persistent, f->parameters[i] = NULL;
  need(poly_nn_linear_params(f->layer, f->parameters, 2) == 2, "layer");
  *f->sgd = poly_sgd_new(f->parameters, 2, 0.1f);
  f->schedule = poly_schedule_for(f->ctx, f->sink, 0), f->compiled = poly_compile_schedule(f->ctx, f->schedule, POLY_DEVICE_AUTO);
  need(f->tensor && f->target && f->error && f->persistent && f->schedule && f->compiled && f->image && f->kernel && f->places && f->gates && f->sequence, "more nodes");
  f->config = poly_model_config_from_json(MLP, (int)strlen(MLP)), f->model = poly_model_create(f->ctx, "mlp", f->config);
  need(f->config && f->model, "model");
  f->parameter = poly_model_parameter_name(f->model, 0);
  f->job = poly_realize_async(f->ctx, &f->y, &f->memory, 1, NULL);
  need(f->job && poly_job_wait(f->job, -1) == 0, "job");
  f->text = poly_gpt2_build(f->gpt2, 1), f->generator = poly_generator_new(f->text, 0);
  need(f->generator && poly_generator_feed(f->generator, f->zeros, f->singles, 1) == 0, "generator");
  static const char ranks[] = "AA== 0\nYQ== 1\n"; /* tokens of a zero and of an a */
  f->tokenizer = poly_tokenizer_new(ranks, sizeof ranks - 1, "r50k_base");
  f->stream = poly_text_stream_new(f->tokenizer, NULL, 0, 0);
  FILE *words = fopen("tokenizer.json", "w");
  need(f->tokenizer && f->stream && words && fputs(WORDS, words) >= 0 && fclose(words) == 0, "tokenizer");
  f->file = poly_file_read(f->weights, f->weights_len, POLY_FILE_AUTO);
  f->packed = leaf(f->ctx, POLY_DTYPE_UINT8, 0, 68, f->cells, 68);
  need(f->file && f->packed, "file");
  f->own = poly_model_new(f->ctx, as_it_is, NULL, NULL);
  need(f->own != NULL, "own model");
  f->spec_buffers[0] = (PolyIrBuffer){"x", POLY_ROLE_INPUT, 2, {4, 4}, f->x};
  f->spec_buffers[1] = (PolyIrBuffer){"output", POLY_ROLE_OUTPUT, 1, {16}, f->flat};
  *f->spec_entry = (PolyIrEntry){"forward", f->sink};
  *f->spec = (PolyIrSpec){f->ctx, f->spec_buffers, f->spec_entry, 2, 1};
  f->foreign = poly_const_float(f->other, 1);
  f->stale = poly_const_float(f->ctx, 7);
  poly_uop_release(f->ctx, f->stale);
  f->step = poly_compile_step(f->ctx, f->sink);
  f->computing = poly_compile_update(f->ctx, &f->y, &f->memory, 1, NULL, NULL, 0);
  f->stale_step = poly_compile_step(f->ctx, f->sink);
  poly_step_destroy(f->stale_step);
  f->plan = poly_render_step_wasm_plan(f->ctx, f->sink);
  f->instance = poly_mlp_instance(MLP, (int)strlen(MLP));
  f->stale_instance = poly_mlp_instance(MLP, (int)strlen(MLP));
  poly_instance_free(f->stale_instance);
  poly_ctx_destroy(f->stale_ctx);
  need(f->step && f->computing && f->plan && f->instance, "compiled");
  need(poly_instance_set_optimizer(f->instance, POLY_OPTIMIZER_SGD, 0.1f, 0, 0, 0, 0) == 0, "optimizer");
  for (int i = 0; i < ROOM; i++) {
    f->nodes[i] = i ? f->y : f->x, f->others[i] = f->definite, f->stores[i] = f->store;
    f->flats[i] = f->flat, f->pointers[i] = f->memory;
    f->bindings[i] = (PolyBufferBinding){f->flat, {f->memory, 64, 0, false}};
    f->vars[i] = (PolyVarBinding){f->var, 2};
    f->inputs[i] = (PolyIOBinding){i ? "y" : "x", f->memory};
  }
  need(f->x && f->sink && f->var && f->bound && f->mask && f->index && f->seed && f->definite && f->foreign, "nodes");
}

static inline void fixture_drop(struct fixture *f) {
  poly_array_unpin(f->pin);
  poly_model_free(f->model);
  poly_model_free(f->own);
  poly_model_config_free(f->config);
  poly_job_release(f->job);
  poly_generator_free(f->generator);
  poly_text_stream_free(f->stream);
  poly_tokenizer_free(f->tokenizer);
  poly_instance_free(f->text);
  poly_file_free(f->file);
  poly_tensor_free(f->tensor);
  poly_tensor_free(f->target);
  poly_tensor_free(f->error);
  poly_tensor_free(f->persistent);
  poly_nn_linear_free(f->layer);
  poly_schedule_free(f->schedule);
  poly_compiled_plan_free(f->compiled);
  poly_step_destroy(f->step);
  poly_step_destroy(f->computing);
  poly_wasm_stepplan_destroy(f->plan);
  poly_instance_free(f->instance);
  poly_ctx_destroy(f->ctx);
  poly_ctx_destroy(f->other);
}

#endif
