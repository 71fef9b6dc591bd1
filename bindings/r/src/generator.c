/* Language models: loading them from files, and texts that they continue. */
#include "glue.h"

/* A model from the text of config.json and raw vectors of safetensors files. */
SEXP r_instance_hf(SEXP config, SEXP files, SEXP batch, SEXP seq, SEXP dtype, SEXP strict) {
  Args a = begin("load_hf_bytes");
  const char *text = arg_string(&a, config, "config");
  int rows = arg_int(&a, batch, "max_batch"), tokens = arg_int(&a, seq, "max_seq_len");
  const char *kind = arg_string(&a, dtype, "dtype");
  NEED(poly_hf_load_as);
  int n = (int)Rf_xlength(files);
  const uint8_t **data = (const uint8_t **)R_alloc((size_t)n + 1, sizeof *data);
  int64_t *lengths = (int64_t *)R_alloc((size_t)n + 1, sizeof *lengths);
  for (int i = 0; i < n; i++) {
    data[i] = RAW(VECTOR_ELT(files, i));
    lengths[i] = (int64_t)Rf_xlength(VECTOR_ELT(files, i));
  }
  PolyInstance *inst = P.poly_hf_load_as(text, (int)strlen(text), data, lengths, n, rows, tokens, kind, Rf_asLogical(strict));
  if (inst == NULL) fail_in("load_hf_bytes", P.poly_last_error());
  return new_instance(inst);
}

/* A model from a folder. */
SEXP r_instance_open(SEXP path, SEXP batch, SEXP seq, SEXP dtype, SEXP strict) {
  Args a = begin("load_hf");
  const char *folder = R_ExpandFileName(arg_string(&a, path, "path"));
  int rows = arg_int(&a, batch, "max_batch"), tokens = arg_int(&a, seq, "max_seq_len");
  const char *kind = arg_string(&a, dtype, "dtype");
  NEED(poly_hf_open);
  PolyInstance *inst = P.poly_hf_open(folder, rows, tokens, kind, Rf_asLogical(strict));
  if (inst == NULL) fail_in("load_hf", P.poly_last_error());
  return new_instance(inst);
}

/* The tokens that end a text, NULL if the model's files name none. */
SEXP r_instance_ends(SEXP inst) {
  NEED(poly_instance_ends);
  int n = P.poly_instance_ends(instance_of(inst), NULL, 0);
  if (n <= 0) return R_NilValue;
  SEXP ends = PROTECT(Rf_allocVector(INTSXP, n));
  P.poly_instance_ends(instance_of(inst), INTEGER(ends), n);
  UNPROTECT(1);
  return ends;
}

static PolyGenerator *generator_of(SEXP gen) { return held(gen, RELEASE(poly_generator_free), "a generator"); }

/* A generator of a number of texts. It keeps its instance alive. */
SEXP r_generator(SEXP inst, SEXP rows) {
  Args a = begin("Generator");
  int n = arg_int(&a, rows, "rows");
  NEED(poly_generator_new);
  return owned(P.poly_generator_new(instance_of(inst), n), RELEASE(poly_generator_free), inst);
}

/* The number of texts, of tokens that there are, and of those that a text can have. */
SEXP r_generator_info(SEXP gen) {
  PolyGenerator *g = generator_of(gen);
  int64_t numbers[3] = {P.poly_generator_rows(g), P.poly_generator_vocab(g), P.poly_generator_room(g)};
  SEXP out = Rf_allocVector(INTSXP, 3);
  for (int i = 0; i < 3; i++) {
    if (numbers[i] < 0) fail();
    INTEGER(out)[i] = (int)numbers[i];
  }
  return out;
}

SEXP r_generator_sampling(SEXP gen, SEXP temperature, SEXP top_k, SEXP top_p, SEXP seed) {
  Args a = begin("generate");
  double t = arg_double(&a, temperature, "temperature"), p = arg_double(&a, top_p, "top_p");
  int k = arg_int(&a, top_k, "top_k");
  uint64_t s = (uint64_t)arg_int64(&a, seed, "seed");
  if (P.poly_generator_sampling(generator_of(gen), t, k, p, s) != 0) fail();
  return R_NilValue;
}

/* Appends tokens: a list of integer vectors. */
SEXP r_generator_feed(SEXP gen, SEXP rows) {
  PolyGenerator *g = generator_of(gen);
  int n = (int)Rf_xlength(rows), total = 0;
  int32_t *lengths = (int32_t *)R_alloc((size_t)n + 1, sizeof *lengths);
  for (int i = 0; i < n; i++) total += lengths[i] = (int32_t)Rf_xlength(VECTOR_ELT(rows, i));
  int32_t *tokens = (int32_t *)R_alloc((size_t)total + 1, sizeof *tokens), *at = tokens;
  for (int i = 0; i < n; i++) {
    memcpy(at, INTEGER(VECTOR_ELT(rows, i)), (size_t)lengths[i] * sizeof *at);
    at += lengths[i];
  }
  if (P.poly_generator_feed(g, tokens, lengths, n) != 0) fail();
  return R_NilValue;
}

SEXP r_generator_next(SEXP gen) {
  PolyGenerator *g = generator_of(gen);
  int n = (int)P.poly_generator_rows(g);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, n));
  if (P.poly_generator_next(g, INTEGER(out), n) != 0) fail();
  UNPROTECT(1);
  return out;
}

/* A matrix with the logits of the next token, a row for each text. */
SEXP r_generator_logits(SEXP gen) {
  PolyGenerator *g = generator_of(gen);
  int64_t count, dims[2] = {P.poly_generator_rows(g), P.poly_generator_vocab(g)};
  const float *logits = P.poly_generator_logits(g, &count);
  if (logits == NULL) fail();
  return from_storage(logits, POLY_DTYPE_FLOAT32, 2, dims, 0);
}

SEXP r_generator_reset(SEXP gen) {
  if (P.poly_generator_reset(generator_of(gen)) != 0) fail();
  return R_NilValue;
}

/* A tokenizer of a file (a path or a raw vector), and what it is if its contents do not say it. */
SEXP r_tokenizer(SEXP file, SEXP name) {
  Args a = begin("Tokenizer");
  const char *kind = arg_string(&a, name, "name");
  NEED(poly_tokenizer_new);
  PolyTokenizer *t = TYPEOF(file) == RAWSXP ? P.poly_tokenizer_new(RAW(file), (int64_t)Rf_xlength(file), kind)
                                            : P.poly_tokenizer_open(R_ExpandFileName(arg_string(&a, file, "file")), kind);
  if (t == NULL) fail_in("Tokenizer", P.poly_last_error());
  return owned(t, RELEASE(poly_tokenizer_free), R_NilValue);
}

/* The URL of a vocabulary. */
SEXP r_tokenizer_source(SEXP name) {
  Args a = begin("load_tokenizer");
  const char *text = arg_string(&a, name, "name");
  NEED(poly_tokenizer_source);
  uint8_t *url = P.poly_tokenizer_source(text, NULL);
  if (url == NULL) fail_in("load_tokenizer", P.poly_last_error());
  SEXP out = PROTECT(Rf_mkString((const char *)url));
  free(url), UNPROTECT(1);
  return out;
}

/* A list of the tokens of each text, in UTF-8; of each pair of texts, which stand one after another, by flags. */
SEXP r_tokenizer_encode(SEXP tok, SEXP texts, SEXP flags, SEXP allowed) {
  Args a = begin("encode");
  PolyTokenizer *t = held(tok, RELEASE(poly_tokenizer_free), "a tokenizer");
  const char *mode = arg_string(&a, allowed, "allowed");
  int n = (int)Rf_xlength(texts), kind = Rf_asInteger(flags), rows = kind & POLY_ENCODE_PAIRS ? n / 2 : n;
  int64_t *lengths = (int64_t *)R_alloc((size_t)n + 1, sizeof *lengths), *counts = (int64_t *)R_alloc((size_t)n + 1, sizeof *counts), size = 0;
  for (int i = 0; i < n; i++) size += lengths[i] = (int64_t)Rf_xlength(STRING_ELT(texts, i));
  char *all = R_alloc((size_t)size + 1, 1);
  for (int64_t i = 0, at = 0; i < n; at += lengths[i++]) memcpy(all + at, CHAR(STRING_ELT(texts, i)), (size_t)lengths[i]);
  int32_t *ids = P.poly_tokenizer_encode(t, all, lengths, n, kind, mode, counts), *at = ids;
  if (ids == NULL) fail_in("encode", P.poly_last_error());
  SEXP out = PROTECT(Rf_allocVector(VECSXP, rows));
  for (int i = 0; i < rows; at += counts[i++])
    memcpy(INTEGER(SET_VECTOR_ELT(out, i, Rf_allocVector(INTSXP, counts[i]))), at, (size_t)counts[i] * sizeof *at);
  free(ids), UNPROTECT(1);
  return out;
}

/* The text of tokens. */
SEXP r_tokenizer_decode(SEXP tok, SEXP ids, SEXP special) {
  int64_t n;
  uint8_t *text = P.poly_tokenizer_decode(held(tok, RELEASE(poly_tokenizer_free), "a tokenizer"), INTEGER(ids), (int64_t)Rf_xlength(ids), Rf_asLogical(special), &n);
  if (text == NULL) fail_in("decode", P.poly_last_error());
  for (int64_t i = 0; i < n; i++)
    if (text[i] == 0) text[i] = 0x1a; /* R's texts hold no zeros: the character SUB */
  SEXP out = PROTECT(Rf_ScalarString(Rf_mkCharLenCE((const char *)text, (int)n, CE_UTF8)));
  free(text), UNPROTECT(1);
  return out;
}
