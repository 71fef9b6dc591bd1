/* predict FOLDER STEPS: loads FOLDER/model.bundle, computes the output for FOLDER/x and writes it, saves the model
 * again, and trains STEPS steps on x and FOLDER/y, whose losses it writes. Arrays are files of float32. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygrad.h>

static char path[4096];

static void stop(const char *what) {
  fprintf(stderr, "%s: %s\n", what, poly_last_error());
  exit(1);
}

static FILE *file(const char *folder, const char *name, const char *mode) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, mode);
  if (f == NULL) stop(path);
  return f;
}

static void *read_all(const char *folder, const char *name, int *len) {
  FILE *f = file(folder, name, "rb");
  fseek(f, 0, SEEK_END);
  *len = (int)ftell(f);
  rewind(f);
  void *data = malloc((size_t)*len + 1);
  if (data == NULL || fread(data, 1, (size_t)*len, f) != (size_t)*len) stop(path);
  fclose(f);
  return data;
}

static void write_all(const char *folder, const char *name, const void *data, size_t len) {
  FILE *f = file(folder, name, "wb");
  if (fwrite(data, 1, len, f) != len) stop(path);
  fclose(f);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int len = 0;
  uint8_t *bundle = read_all(argv[1], "model.bundle", &len);
  PolyInstance *model = poly_instance_from_bundle(bundle, len);
  free(bundle);
  if (model == NULL) stop("poly_instance_from_bundle");
  PolyIOBinding io[2] = {{"x", read_all(argv[1], "x", &len)}, {"y", NULL}};
  if (poly_instance_forward(model, io, 1) != 0) stop("poly_instance_forward");
  for (int i = 0; i < poly_instance_buf_count(model); i++) {
    int64_t n = 0;
    if (strcmp(poly_instance_buf_name(model, i), "output") == 0) {
      float *output = poly_instance_buf_data(model, i, &n);
      write_all(argv[1], "output", output, (size_t)n * sizeof *output);
    }
  }
  bundle = poly_instance_save_bundle(model, &len);
  if (bundle == NULL) stop("poly_instance_save_bundle");
  write_all(argv[1], "again.bundle", bundle, (size_t)len);
  free(bundle);
  int steps = atoi(argv[2]);
  float *losses = calloc((size_t)steps + 1, sizeof *losses);
  if (steps > 0) io[1].data = read_all(argv[1], "y", &len);
  for (int i = 0; i < steps; i++)
    if (poly_instance_train_step(model, io, 2, &losses[i]) != 0) stop("poly_instance_train_step");
  write_all(argv[1], "losses", losses, (size_t)steps * sizeof *losses);
  free(losses);
  free(io[0].data);
  free(io[1].data);
  poly_instance_free(model);
  return 0;
}
