package abi

import (
	"regexp"
	"slices"
	"strings"
)

// What callTable cannot tell from the type and the name of a parameter. Expressions are C over the struct
// fixture *f of testdata/fixture.h, whose tensors x and y have shape (4, 4).

// goodByType are arguments by type and name, or by type.
var goodByType = map[string]string{
	"PolyModel *":                    "f->model",
	"PolyModelConfig *":              "f->config",
	"const PolyModelConfig *":        "f->config",
	"PolyJob *":                      "f->job",
	"PolyGenerator *":                "f->generator",
	"PolyFile *":                     "f->file",
	"const char * path":              "f->path",
	"const PolyFileTensor * tensors": "f->file_tensors",
	"const int32_t * tokens":         "f->zeros",
	"const int32_t * lengths":        "f->singles",
	"const char * kind":              `"mlp"`,
	"PolyModelForwardFn":             "&as_it_is",
	"PolyModelCreateFn":              "&no_model",
	"PolyModelReleaseFn":             "NULL",
	"PolyTensor * loss":              "f->error",
	"PolyTensor * bias":              "f->parameters[1]",
	"PolyTensor *":                   "f->tensor", "PolyTensor **": "f->tensors", "PolyLinear *": "f->layer", "PolySGD *": "f->sgd",
	"PolySchedule *": "f->schedule", "PolyCompiledPlan *": "f->compiled",
	"PolyTensor * persistent": "f->persistent", "PolyTensor * target": "f->target",
	"PolyDType": "f->dtype", "PolyArg": "f->zeros", "PolyShape": "f->shape_record",
	"const char * json":                   "MLP",
	"const char * config":                 "HF_CONFIG",
	"const char * entry":                  `"loss"`,
	"const char * meta":                   `"{}"`,
	"const GPT2Config * config":           "f->gpt2",
	"const PolySafetensorEntry * entries": "f->entries",
	"const PolySafetensorViewEx * view":   "f->view",
	"const uint8_t * ir":                  "f->ir",
	"const uint8_t * weights":             "f->weights",
	"PolyBufferBinding * binds":           "f->bindings",
	"PolyVarBinding * vars":               "f->vars",
	"PolyIOBinding * io":                  "f->inputs",
	"PolyIOBinding * inputs":              "f->inputs",
	"PolyUOp ** out":                      "f->out",
	"PolyUOp ** leaves":                   "f->out",
	"PolyUOp ** stores":                   "f->stores",
	"PolyUOp ** targets":                  "f->flats",
	"PolyUOp ** to":                       "f->others",
	"int64_t * dims_out":                  "f->dims",
	"const double * params":               "f->memory",
	"void * data":                         "f->memory",
}

// goodByName are arguments by kind and name.
var goodByName = map[string]map[string]string{
	"NODE": {
		"sink": "f->sink", "store": "f->store", "var": "f->var", "buf": "f->flat", "buffer": "f->flat", "target": "f->y",
		"seed": "f->seed", "idx": "f->index", "index": "f->index", "mask": "f->mask", "cond": "f->mask", "loss": "f->scalar",
		"bias": "f->row", "weight": "f->row",
	},
	"NUMBER": {
		"dtype": "POLY_DTYPE_FLOAT32", "device": "POLY_DEVICE_CPU", "axis": "0", "axis0": "0", "first": "0", "last": "1",
		"json_len": "(int)strlen(MLP)", "config_len": "(int)strlen(HF_CONFIG)", "ir_len": "f->ir_len", "op": "0", "k": "0",
		"weights_len": "f->weights_len", "high": "9", "hi": "4", "i": "0", "idx": "0", "cap": "2", "nbytes": "64", "low": "0",
		"causal": "0", "format": "0", "n_axes": "1", "batch": "2", "seq": "3",
	},
	"REAL": {"stop": "3", "p": "0.5"},
	"INTS": {"perm": "f->order", "axes": "f->order", "counts": "f->halves", "sizes": "f->halves", "kinds": "f->kinds", "args": "f->zeros"},
}

// goodArguments are arguments of functions for which the rules above do not do.
var goodArguments = map[string]map[string]string{
	"poly_assign":                 {"target": "f->flat"},
	"poly_ir_spec_free":           {"spec": "f->output"},
	"poly_ir_import":              {"data": "f->ir", "len": "f->ir_len", "out": "f->output"},
	"poly_ir_export":              {"spec": "f->spec"},
	"poly_model_parameter_data":   {"name": "f->parameter", "numel_out": "f->output"},
	"poly_model_forward":          {"model": "f->own"},
	"poly_model_add_parameter":    {"model": "f->own", "node": "f->x"},
	"poly_model_register":         {"kind": `"own"`},
	"poly_model_parameter":        {"name": "f->parameter"},
	"poly_model_config_from_json": {"len": "(int)strlen(MLP)"},
	"poly_kernel_buf":             {"index": "0"},
	"poly_dtype_id_parse":         {"name": `"float32"`},
	"poly_uop_substitute":         {"root": "f->y", "n": "1", "to": "f->others"},
	"poly_shape":                  {"dims": "f->dims"},
	"poly_describe":               {"dims": "f->dims", "dtype": "f->output"},
	"poly_size_info":              {"x": "f->var", "lo": "f->dims", "hi": "f->dims", "value": "f->dims"},
	"poly_size_unbind":            {"x": "f->var"},
	"poly_size_n_variables":       {"x": "f->var"},
	"poly_size_variable":          {"x": "f->var", "value": "f->dims"},
	"poly_size_bind":              {"x": "f->var"},
	"poly_size_of":                {"axis": "0"},
	"poly_step_buf_index":         {"x": "f->flat"},
	"poly_step_value_index":       {"step": "f->computing"},
	"poly_size_text":              {"x": "f->var"},
	"poly_linear":                 {"b_ndim": "1"},
	"poly_randint_seeded":         {"dtype": "POLY_DTYPE_INT32"},
	"poly_alu1":                   {"op": "POLY_OP_NEG"},
	"poly_alu2":                   {"op": "POLY_OP_ADD"},
	"poly_alu3":                   {"op": "POLY_OP_WHERE", "a": "f->mask"},
	"poly_uop":                    {"op": "POLY_OP_ADD", "n_src": "2"},
	"poly_uop0":                   {"op": "POLY_OP_CONST", "arg": "f->one"},
	"poly_uop1":                   {"op": "POLY_OP_NEG"},
	"poly_uop2":                   {"op": "POLY_OP_ADD"},
	"poly_uop3":                   {"op": "POLY_OP_WHERE", "s0": "f->mask"},
	"poly_uop_src":                {"x": "f->y"},
	"poly_dtype_ptr":              {"space": "0"},
	"poly_ctx_owns_ptr":           {"p": "f->x"},
	"poly_diagonal":               {"axis1": "0", "axis2": "1"},
	"poly_diag":                   {"src": "f->row"},
	"poly_setitem":                {"kinds": "f->kinds", "args": "f->zeros", "tensors": "NULL", "value": "f->row"},
	"poly_index_select":           {"index": "f->row_index"},
	"poly_batchnorm":              {"mean": "f->row", "invstd": "f->row", "n_axes": "1", "axes": "f->ones"},
	"poly_conv":                   {"x": "f->image", "weight": "f->kernel", "n": "2", "stride": "f->ones", "dilation": "f->ones", "padding": "f->nothing"},
	"poly_conv_transpose": {"x": "f->image", "weight": "f->kernel", "n": "2", "stride": "f->ones", "dilation": "f->ones",
		"padding": "f->nothing", "output_padding": "f->nothing"},
	"poly_avg_pool":         {"x": "f->image", "kernel": "f->halves", "n": "2", "stride": "f->ones", "dilation": "f->ones", "padding": "f->nothing"},
	"poly_max_pool":         {"x": "f->image", "kernel": "f->halves", "n": "2", "stride": "f->ones", "dilation": "f->ones", "padding": "f->nothing"},
	"poly_max_pool_indices": {"x": "f->image", "kernel": "f->halves", "n": "2", "stride": "f->ones", "dilation": "f->ones", "padding": "f->nothing"},
	"poly_max_unpool": {"x": "f->image", "indices": "f->places", "kernel": "f->halves", "n": "2", "stride": "f->halves",
		"dilation": "f->ones", "padding": "f->nothing", "output_size": "NULL"},
	"poly_interpolate":               {"x": "f->image", "size": "f->halves", "n": "2", "mode": "0"},
	"poly_lars":                      {"momentum": "0", "lr": "f->scalar", "buffer": "f->x", "ns_coefficients": "f->memory", "n": "0", "ns_steps": "1"},
	"poly_lamb":                      {"lr": "f->scalar", "m": "f->x", "v": "f->x", "b1_t": "f->scalar", "b2_t": "f->scalar", "b1": "0.5", "b2": "0.5"},
	"poly_clip_grad_norm":            {"n": "2"},
	"poly_learning_rate":             {"lr": "f->scalar", "t": "f->scalar", "schedule": "POLY_RATE_EXPONENTIAL", "n": "1"},
	"poly_plateau":                   {"lr": "f->scalar", "metric": "f->scalar", "best": "f->scalar", "bad": "f->scalar", "cooling": "f->scalar", "factor": "0.5"},
	"poly_lstm_cell":                 {"w_ih": "f->gates", "w_hh": "f->gates", "b_ih": "NULL", "b_hh": "NULL"},
	"poly_lstm":                      {"x": "f->sequence", "batch_first": "0", "w_ih": "f->gates", "w_hh": "f->gates", "b_ih": "NULL", "b_hh": "NULL"},
	"poly_attention":                 {"enable_gqa": "0", "mask": "f->x", "dropout_p": "0"},
	"poly_cross_entropy_loss":        {"target": "f->y"},
	"poly_sparse_cross_entropy_loss": {"target": "f->row_index"},
	"poly_nll_loss":                  {"target": "f->row_index"},
	"poly_mse_loss":                  {"target": "f->y"}, "poly_l1_loss": {"target": "f->y"}, "poly_huber_loss": {"target": "f->y"},
	"poly_binary_cross_entropy": {"target": "f->y"}, "poly_binary_cross_entropy_logits": {"target": "f->y"},
	"poly_schedule_for":            {"mode": "0"},
	"poly_bitwise_not":             {"x": "f->index"},
	"poly_unflatten":               {"n": "2"},
	"poly_repeat":                  {"n": "2"},
	"poly_rearrange":               {"formula": `"(a b) c -> b a c"`, "names": `"a"`, "sizes": "f->halves"},
	"poly_index":                   {"kinds": "f->kinds", "args": "f->zeros", "tensors": "NULL"},
	"poly_split":                   {"n": "2"},
	"poly_one_hot":                 {"x": "f->index"},
	"poly_reduce_axis":             {"op": "POLY_OP_ADD"},
	"poly_einsum":                  {"formula": `"ij,jk->ik"`, "n": "2", "shapes": "NULL", "ndims": "NULL"},
	"poly_cholesky":                {"x": "f->definite"},
	"poly_cross_entropy":           {"target": "f->y"},
	"poly_grad_many":               {"seed": "f->x", "y": "f->y"},
	"poly_nam_instance":            {"json": "NAM", "json_len": "(int)strlen(NAM)"},
	"poly_instance_from_bundle":    {"data": "f->bundle", "len": "f->bundle_len"},
	"poly_instance_import_weights": {"data": "f->weights", "len": "f->weights_len"},
	"poly_instance_upload_param":   {"len": "48"}, "poly_instance_upload_buf": {"len": "48"},
	"poly_instance_readback_param": {"len": "48"}, "poly_instance_readback_buf": {"len": "48"},
	"poly_bundle_decode":         {"data": "f->bundle", "len": "f->bundle_len"},
	"poly_safetensor_dtype_size": {"dtype": "POLY_SAFETENSOR_F16"},
	"poly_safetensors_decode":    {"data": "f->weights", "len": "f->weights_len"},
	"poly_safetensors_decode_ex": {"data": "f->weights", "len": "f->weights_len"},
	"poly_file_read":             {"data": "f->weights", "len": "f->weights_len"},
	"poly_file_describe":         {"dims": "f->dims", "dtype": "f->output"},
	"poly_lstsq":                 {"rcond": "0"},
	"poly_keccak":                {"rate": "136", "suffix": "6"},
	"poly_dequantize":            {"x": "f->packed", "type": "8", "n": "32"},
	"poly_safetensors_save":      {"n": "1", "max_shard_bytes": "0"},
	"poly_buffer_var":            {"dtype": "f->dtype", "inner": "f->shape"},
	"poly_instance_load_weights": {"data": "f->weights", "len": "f->weights_len"},
	"poly_hf_load_as":            {"weights": `"int8"`},
	"poly_generator_new":         {"inst": "f->text", "rows": "1"},
	"poly_generator_feed":        {"rows": "1"},
	"poly_generator_next":        {"rows": "1", "tokens": "f->output"},
	"poly_generator_sampling":    {"top_p": "0.5"},
}

// optional are the parameters for which NULL has a meaning; in poly_gather* and so on the shapes of operands, too
// (see isOptional).
var optional = map[string][]string{

	"poly_file_describe":           {"dims", "dtype"},
	"poly_safetensors_save":        {"meta"},
	"poly_realize_async":           {"leaves"},
	"poly_update_async":            {"leaves"},
	"poly_model_new":               {"user"},
	"poly_hf_load_as":              {"weights"},
	"poly_model_config_get_string": {"missing"},

	"poly_size_info":     {"lo", "hi", "value"},
	"poly_size_variable": {"value"},

	"poly_ctx_owns_ptr": {"p"},
	"poly_sgd_new":      {"params"},
	"poly_shape":        {"dims"}, "poly_describe": {"dims", "dtype"}, "poly_index": {"tensors"}, "poly_einsum": {"shapes", "ndims"},
	"poly_grad_many": {"seed"}, "poly_bundle_encode": {"meta"}, "poly_realize_into": {"leaves"}, "poly_update": {"leaves"}, "poly_safetensors_encode": {"meta"}, "poly_attention": {"mask", "seed"},
	"poly_rmsnorm": {"weight"}, "poly_groupnorm": {"weight", "bias"}, "poly_layernorm_axes": {"weight", "bias"},
	"poly_linear": {"bias"}, "poly_affine": {"bias"}, "poly_clip": {"lo", "hi"}, "poly_roll": {"axes"}, "poly_setitem": {"tensors"},
	"poly_batchnorm": {"weight", "bias"}, "poly_conv": {"bias", "stride", "dilation", "padding"},
	"poly_dense":          {"bias"},
	"poly_conv_transpose": {"bias", "stride", "dilation", "padding", "output_padding"},
	"poly_avg_pool":       {"stride", "dilation", "padding"}, "poly_max_pool": {"stride", "dilation", "padding"},
	"poly_max_pool_indices": {"stride", "dilation", "padding"}, "poly_max_unpool": {"stride", "dilation", "padding", "output_size"},
	"poly_lars": {"buffer", "ns_coefficients"}, "poly_lstm_cell": {"b_ih", "b_hh"}, "poly_lstm": {"b_ih", "b_hh"},
	"poly_nll_loss": {"weight"}, "poly_binary_cross_entropy_logits": {"pos_weight"},
	"poly_tensor_linear": {"bias"},
}

// creators take the shape of what they make: NULL is no shape there.
var creators = regexp.MustCompile(`^poly_(full|rand|buffer|empty|uniform|normal|init|from_host|tensor)`)

func isOptional(function, param string) bool {
	return slices.Contains(optional[function], param) || strings.HasSuffix(param, "shape_out") || param == "ndim_out" ||
		strings.HasSuffix(param, "shape") && !creators.MatchString(function)
}

// runs are the functions that compile kernels or run them.
var runs = regexp.MustCompile(`realize|compile|step_run|render|update|_job_|copy_|instance_(forward|call|train|value)|_plan_run|_exec|_generator_`)

// functionFlags are what is special about the errors of a function; see calls.h.
var functionFlags = map[string][]string{
	"poly_tensor_zeros":            {"SMALL"},
	"poly_tensor_ones":             {"SMALL"},
	"poly_tensor_rand":             {"SMALL"},
	"poly_tensor_from_data":        {"SMALL"},
	"poly_tensor_input":            {"SMALL"},
	"poly_tensor_expand":           {"SMALL"},
	"poly_tensor_reshape":          {"SMALL"},
	"poly_model_add_parameter":     {"KEEPS"},
	"poly_model_config_get_int":    {"OWN", "EMPTY"},
	"poly_model_config_get_float":  {"OWN"},
	"poly_model_config_get_string": {"OWN", "EMPTY"},
	"poly_model_register":          {"MANUAL"},
	"poly_set_poll":                {"MANUAL"},
	"poly_file_open":               {"MANUAL"},
	"poly_safetensors_save":        {"MANUAL"},
	"poly_realize_async":           {"MANUAL"},
	"poly_update_async":            {"MANUAL"},
	"poly_step_run_async":          {"MANUAL"},
	"poly_job_wait":                {"MANUAL"},
	"poly_nn_seed":                 {"MANUAL"},
	"poly_tensor_linear":           {"KEEPS"},
	"poly_tensor_wrap":             {"KEEPS"},
	"poly_nn_linear_forward":       {"KEEPS"},
	"poly_sgd_step":                {"KEEPS"},
	"poly_tensor_backward":         {"KEEPS"},
	"poly_toposort":                {"KEEPS"}, "poly_toposort_ex": {"KEEPS"}, "poly_dtype_number": {"EMPTY"},
	"poly_nn_linear":      {"TRUSTS"},
	"poly_uop_release_n":  {"TRUSTS"},
	"poly_step_n_kernels": {"ZERO"}, "poly_step_n_intermediates": {"ZERO"}, "poly_step_n_bindable_buffers": {"ZERO"},
	"poly_step_n_buffers": {"ZERO"}, "poly_wasm_stepplan_n_kernels": {"ZERO"}, "poly_wasm_stepplan_n_buffers": {"ZERO"},
	"poly_wasm_stepplan_n_bindable_buffers": {"ZERO"}, "poly_wasm_stepplan_kernel_n_params": {"ZERO"},
	"poly_instance_param_count": {"ZERO"}, "poly_instance_buf_count": {"ZERO"}, "poly_instance_param_shape": {"ZERO"},
	"poly_instance_buf_shape": {"ZERO"}, "poly_instance_param_grad": {"EMPTY"},
}

// cleanups give back what a call returned where that is more than a handle or a block for free(); r is its result.
var cleanups = map[string]string{
	"poly_ir_import":       "if (r->i == 0) poly_ctx_destroy(((PolyIrSpec *)a[2].p)->ctx), poly_ir_spec_free(a[2].p)",
	"poly_model_forward":   "for (int i = 0; r->p && a[3].p && i < *(int *)a[3].p; i++) { release_anywhere(((PolyUOp **)r->p)[i]); } free(r->p)",
	"poly_tensor_backward": "for (int i = 0; r->p && i < a[3].i; i++) { poly_tensor_free(((PolyTensor **)r->p)[i]); } free(r->p)",
	"poly_safetensors_decode": "for (int i = 0; r->p && i < *(int *)a[2].p; i++) { free(((PolySafetensorView *)r->p)[i].name); } " +
		"if (r->p && a[3].p) free(*(char **)a[3].p), *(char **)a[3].p = NULL",
	"poly_safetensors_decode_ex": "for (int i = 0; r->p && i < *(int *)a[2].p; i++) { free(((PolySafetensorViewEx *)r->p)[i].name); } " +
		"if (r->p && a[3].p) free(*(char **)a[3].p), *(char **)a[3].p = NULL",
}
