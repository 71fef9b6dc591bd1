/* Train a small network on handwritten digits, in plain C.
 *
 *     cc train.c $(pkg-config --cflags --libs polygrad) -o train
 *     gunzip -c ../data/digits.csv.gz | ./train
 *
 * A row of the table is a digit: 64 pixels from 0 to 16, then the label. One in
 * five is held back for the test. The graph of one training step is built once
 * and compiled; the loop only copies a mini-batch into place and runs it. */
#include <polygrad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64, HIDDEN = 96, CLASSES = 10, BATCH = 64, EPOCHS = 30, MAX_DIGITS = 2000 };
static const double LEARNING_RATE = 0.2;

typedef struct {
  int n;
  float pixels[MAX_DIGITS][PIXELS];
  int32_t labels[MAX_DIGITS];
} Digits;

/* The memory of the network, which the library reads and updates in place. */
static struct {
  float w1[HIDDEN * PIXELS], b1[HIDDEN], w2[CLASSES * HIDDEN], b2[CLASSES];
} net;
enum { PARAMETERS = 4 };

static Digits train, test;

static void stop(const char *what) {
  fprintf(stderr, "train: %s\n", what);
  exit(1);
}

/* Handles are checked when they are made; the library reports the error. */
static PolyUOp *made(PolyUOp *x) {
  if (x == NULL) stop(poly_last_error());
  return x;
}

static void done(int rc) {
  if (rc != 0) stop(poly_last_error());
}

static void read_digits(FILE *table) {
  char line[512];
  for (int row = 0; fgets(line, sizeof line, table) != NULL; row++) {
    Digits *to = row % 5 == 4 ? &test : &train;
    if (to->n == MAX_DIGITS) stop("the table has too many rows");
    char *at = line;
    for (int i = 0; i <= PIXELS; i++) {
      char *end;
      long value = strtol(at, &end, 10);
      if (end == at) stop("the table needs 65 numbers in each row");
      at = end + (*end == ',');
      if (i < PIXELS)
        to->pixels[to->n][i] = (float)value / 16;
      else
        to->labels[to->n] = (int32_t)value;
    }
    to->n++;
  }
  if (train.n < BATCH || test.n == 0) stop("the table has too few rows");
}

static PolyUOp *tensor(PolyCtx *ctx, int dtype, int64_t rows, int64_t columns, void *data) {
  int64_t shape[2] = {rows, columns};
  int ndim = columns ? 2 : 1;
  size_t count = (size_t)(columns ? rows * columns : rows);
  return made(poly_buffer_host(ctx, dtype, shape, ndim, data, count * (size_t)poly_dtype_id_size(dtype)));
}

/* Scores of the ten classes for each row of x. */
static PolyUOp *scores(PolyCtx *ctx, PolyUOp *x, PolyUOp *const p[PARAMETERS]) {
  PolyUOp *h = poly_relu(ctx, poly_affine(ctx, x, p[0], p[1]));
  return made(poly_affine(ctx, h, p[2], p[3]));
}

/* A step: *loss is the loss of the mini-batch x, y, and each parameter moves
 * against its gradient. */
static PolyStep *compile(PolyCtx *ctx, PolyUOp *x, PolyUOp *y, PolyUOp *p[PARAMETERS], float *loss) {
  PolyUOp *l = made(poly_cross_entropy(ctx, scores(ctx, x, p), NULL, 0, y, NULL, 0, -1, NULL, NULL));
  PolyUOp *gradients[PARAMETERS], *updated[PARAMETERS];
  done(poly_grad_many(ctx, l, NULL, p, PARAMETERS, gradients));
  for (int i = 0; i < PARAMETERS; i++) {
    PolyUOp *move = poly_binary_float(ctx, POLY_MUL, gradients[i], LEARNING_RATE, 0);
    updated[i] = made(poly_binary(ctx, POLY_SUB, p[i], move));
  }
  void *data = loss;
  PolyStep *step = poly_compile_update(ctx, &l, &data, 1, p, updated, PARAMETERS);
  if (step == NULL) stop(poly_last_error());
  return step;
}

static double accuracy(PolyCtx *ctx, PolyUOp *p[PARAMETERS]) {
  static int32_t read[MAX_DIGITS];
  const int64_t axis = -1;
  void *data = read;
  PolyUOp *x = tensor(ctx, POLY_DTYPE_FLOAT32, test.n, PIXELS, test.pixels);
  PolyUOp *best = made(poly_reduce(ctx, POLY_REDUCE_ARGMAX, scores(ctx, x, p), &axis, 1, 0, 0));
  done(poly_realize_into(ctx, &best, &data, 1, NULL));
  int right = 0;
  for (int i = 0; i < test.n; i++) right += read[i] == test.labels[i];
  return (double)right / test.n;
}

int main(void) {
  read_digits(stdin);
  printf("%d digits to learn from, %d held back\n", train.n, test.n);

  PolyCtx *ctx = poly_ctx_new();
  if (ctx == NULL) stop(poly_last_error());
  poly_init_param_kaiming(42, "w1", net.w1, HIDDEN * PIXELS, PIXELS);
  poly_init_param_kaiming(42, "w2", net.w2, CLASSES * HIDDEN, HIDDEN);
  PolyUOp *p[PARAMETERS] = {
      tensor(ctx, POLY_DTYPE_FLOAT32, HIDDEN, PIXELS, net.w1),
      tensor(ctx, POLY_DTYPE_FLOAT32, HIDDEN, 0, net.b1),
      tensor(ctx, POLY_DTYPE_FLOAT32, CLASSES, HIDDEN, net.w2),
      tensor(ctx, POLY_DTYPE_FLOAT32, CLASSES, 0, net.b2),
  };
  static float x[BATCH][PIXELS];
  static int32_t y[BATCH];
  float loss;
  PolyStep *step = compile(ctx, tensor(ctx, POLY_DTYPE_FLOAT32, BATCH, PIXELS, x),
                           tensor(ctx, POLY_DTYPE_INT32, BATCH, 0, y), p, &loss);

  int batches = train.n / BATCH;
  for (int epoch = 1; epoch <= EPOCHS; epoch++) {
    double sum = 0;
    for (int b = 0; b < batches; b++) {
      for (int i = 0; i < BATCH; i++) { /* every batches-th digit: no two batches share one */
        memcpy(x[i], train.pixels[i * batches + b], sizeof x[i]);
        y[i] = train.labels[i * batches + b];
      }
      done(poly_step_run(step, NULL, 0));
      sum += loss;
    }
    if (epoch == 1 || epoch % 5 == 0) printf("epoch %2d  loss %.4f\n", epoch, sum / batches);
  }
  printf("test accuracy: %.4f\n", accuracy(ctx, p));
  poly_step_destroy(step);
  poly_ctx_destroy(ctx);
  return 0;
}
