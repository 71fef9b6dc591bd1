// The loops a C programmer would write, for gcc -O3 -msse4.2 to vectorise.
#ifndef POLYGRAD_BENCH_LOOPS_H
#define POLYGRAD_BENCH_LOOPS_H

void loop_add(float *out, const float *a, const float *b, long n);
void loop_chain5(float *out, const float *a, const float *b, long n);
void loop_exp(float *out, const float *a, const float *b, long n);
void loop_relu_scale(float *out, const float *a, const float *b, long n);
void loop_sum(float *out, const float *a, const float *b, long n);
void loop_max(float *out, const float *a, const float *b, long n);
void loop_dot(float *out, const float *a, const float *b, long n);
void loop_row_sum(float *out, const float *a, const float *b, long n);

// The length of a row in loop_row_sum.
enum { LOOP_ROW = 1024 };

#endif
