#ifndef POLYGRAD_WEBGPU_NATIVE_H
#define POLYGRAD_WEBGPU_NATIVE_H

// A device of a library with the functions of webgpu.h (wgpu-native, Dawn) that is found at run time.

#include <stddef.h>
#include <stdint.h>

typedef struct pg_gpu pg_gpu;
typedef struct pg_gpu_buffer pg_gpu_buffer;     // WGPUBuffer
typedef struct pg_gpu_pipeline pg_gpu_pipeline; // WGPUComputePipeline with its layout
typedef struct pg_gpu_group pg_gpu_group;       // WGPUBindGroup
typedef struct pg_gpu_list pg_gpu_list;         // commands that are being recorded

typedef struct {
  char name[256], kind[16], driver[1024];
  uint32_t buffers, alignment, dispatch, invocations, workgroup_bytes, features;
  uint64_t buffer_bytes, binding_bytes;
} pg_gpu_limits;

// Features of an adapter, as bits.
enum { PG_GPU_F16 = 1, PG_GPU_SUBGROUPS = 2, PG_GPU_SUBGROUPS_ENABLED = 4 }; // the last one: by a directive in shaders

// Part of a buffer that a kernel is given.
typedef struct {
  pg_gpu_buffer *buffer;
  uint64_t offset, size;
} pg_gpu_binding;

enum { PG_GPU_STORAGE, PG_GPU_UNIFORM, PG_GPU_READBACK };

// Functions that return NULL or -1 have written into error what went wrong; it has 1024 bytes.
// A device is one of the library's choice, or that of the program, of an adapter, if it is not NULL.
pg_gpu *pg_gpu_open(const char *path, void *adapter, void *device, pg_gpu_limits *limits, char *error);
// Whether the device is that one of the program; NULL: of the library's choice.
int pg_gpu_is_given(pg_gpu *g, void *device);
// Whether the device is gone. Nothing that was made on it can be used any more, but all of it is released as before.
int pg_gpu_is_lost(pg_gpu *g);
// Gives the device up as if it had been lost; that of a program stays as it is.
void pg_gpu_lose(pg_gpu *g);
// The first error since the last call; the result is 0 if there was none.
int pg_gpu_error(pg_gpu *g, char *error);

pg_gpu_buffer *pg_gpu_allocate(pg_gpu *g, uint64_t bytes, int use, char *error);
void pg_gpu_free(pg_gpu *g, pg_gpu_buffer *b);
// A reference to a buffer of another owner, of at least so many bytes, and its end. The result is 0 after an error.
int pg_gpu_keep(pg_gpu *g, pg_gpu_buffer *b, uint64_t bytes, char *error);
void pg_gpu_forget(pg_gpu *g, pg_gpu_buffer *b);
// Whether a buffer that the program has, too, can be submitted: 0 if it was destroyed, or is of another device.
int pg_gpu_usable(pg_gpu *g, pg_gpu_buffer *b, char *error);
void pg_gpu_write(pg_gpu *g, pg_gpu_buffer *to, uint64_t offset, const void *from, uint64_t bytes);

pg_gpu_pipeline *pg_gpu_compile(pg_gpu *g, const char *source, size_t length, int buffers, int uniform, char *error);
void pg_gpu_drop(pg_gpu *g, pg_gpu_pipeline *p);

// bindings are the buffers of the kernel and then that of its variables, if it has any.
pg_gpu_group *pg_gpu_make_group(pg_gpu *g, pg_gpu_pipeline *p, const pg_gpu_binding *bindings, int n);
void pg_gpu_drop_group(pg_gpu *g, pg_gpu_group *group);

// timed: the launches up to the first copy are timed, if the device has a clock.
pg_gpu_list *pg_gpu_begin(pg_gpu *g, int timed);
void pg_gpu_launch(pg_gpu *g, pg_gpu_list *l, pg_gpu_pipeline *p, pg_gpu_group *group, uint32_t x, uint32_t y);
void pg_gpu_copy(pg_gpu *g, pg_gpu_list *l, pg_gpu_buffer *to, uint64_t to_offset, pg_gpu_buffer *from, uint64_t from_offset, uint64_t bytes);
// Submits the list and frees it, together with others that soon follow it. The result is 1 if it was timed.
int pg_gpu_submit(pg_gpu *g, pg_gpu_list *l);
// The program submits lists of its own from now on: those of this library do not wait for others any more.
void pg_gpu_share(pg_gpu *g);
// Waits, and is how many nanoseconds the launches of the timed list took that was submitted last; negative if that is not known.
double pg_gpu_took(pg_gpu *g);
// Waits for all that was submitted.
int pg_gpu_wait(pg_gpu *g, char *error);
// Waits, and maps the first bytes of a buffer of READBACK.
const void *pg_gpu_map(pg_gpu *g, pg_gpu_buffer *b, uint64_t bytes, char *error);
void pg_gpu_unmap(pg_gpu *g, pg_gpu_buffer *b);

#endif
