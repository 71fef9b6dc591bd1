#include "loops.h"

#include <math.h>

void loop_add(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	for (long i = 0; i < n; i++)
		out[i] = a[i] + b[i];
}

void loop_chain5(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	for (long i = 0; i < n; i++)
		out[i] = ((a[i] + b[i]) * a[i] - b[i]) * 0.5f + 1.0f;
}

void loop_exp(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	(void)b;
	for (long i = 0; i < n; i++)
		out[i] = expf(a[i]);
}

void loop_relu_scale(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	for (long i = 0; i < n; i++)
		out[i] = (a[i] > 0 ? a[i] : 0) * b[i];
}

void loop_sum(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	float sum = 0;
	(void)b;
	for (long i = 0; i < n; i++)
		sum += a[i];
	*out = sum;
}

void loop_max(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	float max = a[0];
	(void)b;
	for (long i = 1; i < n; i++)
		max = a[i] > max ? a[i] : max;
	*out = max;
}

void loop_dot(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	float sum = 0;
	for (long i = 0; i < n; i++)
		sum += a[i] * b[i];
	*out = sum;
}

void loop_row_sum(float *restrict out, const float *restrict a, const float *restrict b, long n) {
	(void)b;
	for (long row = 0; row < n / LOOP_ROW; row++) {
		float sum = 0;
		for (long i = 0; i < LOOP_ROW; i++)
			sum += a[row * LOOP_ROW + i];
		out[row] = sum;
	}
}
