//go:build cgo

#include "native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// What is used of webgpu.h, as the standard has it: handles are pointers, booleans and enumerations have 32 bits, flags have 64.

typedef void *handle;
typedef struct chain { struct chain *next; uint32_t type; } chain;
typedef struct { const char *data; size_t length; } text;
typedef struct { uint64_t id; } future;

#define TEXT(s) ((text){(s), SIZE_MAX}) // up to its zero
enum { TIMESTAMPS = 9, SHADER_F16 = 11, SUBGROUPS = 18, NATIVE_SUBGROUPS = 0x30021 }; // features; the last one is of wgpu-native
enum { SOURCE_WGSL = 2, ALLOW_PROCESS_EVENTS = 2, HIGH_PERFORMANCE = 2, SUCCESS = 1, STAGE_COMPUTE = 4, MAP_READ = 1, CHECK_BOUNDS = 1, BINDING_UNIFORM = 2, BINDING_STORAGE = 3 };
enum { USE_MAP_READ = 1, USE_MAP_WRITE = 2, USE_COPY_SRC = 4, USE_COPY_DST = 8, USE_UNIFORM = 64, USE_STORAGE = 128, USE_QUERY_RESOLVE = 512, QUERY_TIMESTAMP = 2 };
enum { NO_ERROR = 1, VALIDATION = 1, OUT_OF_MEMORY = 2, SPONTANEOUS = 3 }; // a type of errors, filters of scopes, a mode of callbacks

typedef struct { chain *next; uint32_t feature_level, power; uint32_t fallback, backend; handle surface; } adapter_options;
typedef struct { chain *next; uint32_t mode; void *call; void *user1, *user2; } callback;
typedef struct { chain *next; void *call; void *user1, *user2; } error_callback;
typedef struct {
  chain *next;
  uint32_t texture1, texture2, texture3, layers, groups, groups_and_vertices, bindings, dynamic_uniforms, dynamic_storages, sampled, samplers,
      storage_buffers, storage_textures, uniform_buffers;
  uint64_t uniform_bytes, storage_bytes;
  uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  uint64_t buffer_bytes;
  uint32_t vertex_attributes, vertex_stride, inter_stage, attachments, attachment_bytes, workgroup_bytes, invocations, size_x, size_y, size_z,
      workgroups, immediates;
} limits;
typedef struct { chain *next; text label; } described;
typedef struct {
  chain *next; text label; size_t nfeatures; const uint32_t *features; const limits *limits; described queue; callback lost; error_callback error;
} device_desc;
typedef struct { chain *next; text vendor, architecture, device, description; uint32_t backend, type, vendor_id, device_id, subgroup_min, subgroup_max; } adapter_info;
typedef struct { chain chain; text code; } wgsl_source;
typedef struct {
  chain *next; uint32_t binding; uint64_t visibility; uint32_t array;
  struct { chain *next; uint32_t type, dynamic; uint64_t least; } buffer;
  struct { chain *next; uint32_t type; } sampler;
  struct { chain *next; uint32_t sample, dimension, multisampled; } texture;
  struct { chain *next; uint32_t access, format, dimension; } storage;
} layout_entry;
typedef struct { chain *next; text label; size_t n; const void *entries; } layout_desc;
typedef struct { chain *next; text label; size_t n; const handle *layouts; uint32_t immediates; } pipeline_layout_desc;
typedef struct { chain *next; text label; handle layout; struct { chain *next; handle module; text entry; size_t nconstants; const void *constants; } compute; } pipeline_desc;
typedef struct { chain *next; text label; uint64_t usage, size; uint32_t mapped; } buffer_desc;
typedef struct { chain *next; uint32_t binding; handle buffer; uint64_t offset, size; handle sampler, view; } group_entry;
typedef struct { chain *next; text label; handle layout; size_t n; const group_entry *entries; } group_desc;
typedef struct { chain *next; handle queries; uint32_t begin, end; } timestamps;
typedef struct { chain *next; text label; const timestamps *timestamps; } pass_desc;
typedef struct { chain *next; text label; uint32_t type, n; } queries_desc;

// The functions: type, name, parameters.
#define FUNCTIONS(F) \
  F(handle, CreateInstance, (const void *)) \
  F(future, InstanceRequestAdapter, (handle, const adapter_options *, callback)) \
  F(void, InstanceProcessEvents, (handle)) \
  F(void, InstanceRelease, (handle)) \
  F(uint32_t, AdapterGetInfo, (handle, adapter_info *)) \
  F(void, AdapterInfoFreeMembers, (adapter_info)) \
  F(uint32_t, AdapterGetLimits, (handle, limits *)) \
  F(uint32_t, AdapterHasFeature, (handle, uint32_t)) \
  F(future, AdapterRequestDevice, (handle, const device_desc *, callback)) \
  F(void, AdapterRelease, (handle)) \
  F(handle, DeviceGetQueue, (handle)) \
  F(void, DeviceDestroy, (handle)) \
  F(handle, DeviceCreateBuffer, (handle, const buffer_desc *)) \
  F(handle, DeviceCreateShaderModule, (handle, const described *)) \
  F(handle, DeviceCreateBindGroupLayout, (handle, const layout_desc *)) \
  F(handle, DeviceCreatePipelineLayout, (handle, const pipeline_layout_desc *)) \
  F(handle, DeviceCreateComputePipeline, (handle, const pipeline_desc *)) \
  F(handle, DeviceCreateBindGroup, (handle, const group_desc *)) \
  F(handle, DeviceCreateCommandEncoder, (handle, const void *)) \
  F(handle, CommandEncoderBeginComputePass, (handle, const pass_desc *)) \
  F(void, CommandEncoderCopyBufferToBuffer, (handle, handle, uint64_t, handle, uint64_t, uint64_t)) \
  F(handle, CommandEncoderFinish, (handle, const void *)) \
  F(void, CommandEncoderRelease, (handle)) \
  F(void, CommandBufferRelease, (handle)) \
  F(void, ComputePassEncoderSetPipeline, (handle, handle)) \
  F(void, ComputePassEncoderSetBindGroup, (handle, uint32_t, handle, size_t, const uint32_t *)) \
  F(void, ComputePassEncoderDispatchWorkgroups, (handle, uint32_t, uint32_t, uint32_t)) \
  F(void, ComputePassEncoderEnd, (handle)) \
  F(void, ComputePassEncoderRelease, (handle)) \
  F(void, QueueWriteBuffer, (handle, handle, uint64_t, const void *, size_t)) \
  F(void, QueueSubmit, (handle, size_t, const handle *)) \
  F(future, QueueOnSubmittedWorkDone, (handle, callback)) \
  F(future, BufferMapAsync, (handle, uint64_t, size_t, size_t, callback)) \
  F(const void *, BufferGetConstMappedRange, (handle, size_t, size_t)) \
  F(void, BufferUnmap, (handle)) \
  F(uint64_t, BufferGetSize, (handle)) \
  F(uint64_t, BufferGetUsage, (handle)) \
  F(void, BufferDestroy, (handle)) \
  F(void, BufferAddRef, (handle)) \
  F(void, BufferRelease, (handle)) \
  F(void, ShaderModuleRelease, (handle)) \
  F(void, BindGroupLayoutRelease, (handle)) \
  F(void, BindGroupAddRef, (handle)) \
  F(void, BindGroupRelease, (handle)) \
  F(void, PipelineLayoutRelease, (handle)) \
  F(void, ComputePipelineAddRef, (handle)) \
  F(void, ComputePipelineRelease, (handle))

// Those for timestamps, which a library may lack. A timestamp of wgpu-native is a number of periods, elsewhere one of nanoseconds.
#define CLOCK(F) \
  F(handle, DeviceCreateQuerySet, (handle, const queries_desc *)) \
  F(void, CommandEncoderResolveQuerySet, (handle, handle, uint32_t, uint32_t, handle, uint64_t))

// Those for a device of the program, and wgpu-native's own.
#define GIVEN(F) \
  F(void, DeviceAddRef, (handle)) \
  F(void, DeviceRelease, (handle)) \
  F(uint32_t, DeviceGetLimits, (handle, limits *)) \
  F(uint32_t, DeviceHasFeature, (handle, uint32_t)) \
  F(void, DevicePushErrorScope, (handle, uint32_t)) \
  F(future, DevicePopErrorScope, (handle, callback)) \
  F(uint32_t, DevicePoll, (handle, uint32_t wait, const void *))

// How many commands of lists go together, and for how many microseconds they may wait for each other.
enum { TOGETHER = 32, WAIT_FOR_OTHERS = 100 };

struct pg_gpu {
  handle instance, adapter, device, queue;
  // Of wgpu-native, NULL elsewhere.
  handle (*trusted)(handle, const described *, uint64_t checks);
  pthread_mutex_t mu;
  int failed, lost, errors; // errors counts them
  char error[1024]; // the first
#define F(type, name, params) type(*name) params;
  FUNCTIONS(F)
  CLOCK(F)
  GIVEN(F)
#undef F
  // The device is the program's. It tells the program of errors unless a scope takes them; scopes are of the device, not of threads, so one is open
  // at a time, and an error that the program makes on another thread meanwhile is taken for one of ours.
  int given;
  pthread_mutex_t scope;
  handle sample; // the layout of a group of one buffer
  float (*period)(handle queue);
  // Two timestamps, NULL before the first ones and if there are none; resolved is where they are written, and read where the host reads them.
  int clock;
  handle queries, resolved, read;
  // What was submitted and waits for others: a command buffer and its submit cost a library and a driver as much as a dozen launches,
  // so lists that follow one another soon share one. patience is a thread that does not let them wait for long.
  pthread_mutex_t submitting;
  pthread_cond_t begun;
  handle encoder, pass; // NULL if nothing waits, or between passes
  int commands, patience;
  int shared; // the program submits lists of its own, whose order it knows: none waits
  uint64_t submits; // made so far
  double last;      // when, in microseconds
  pg_gpu *next; // of those that are open
};

// Those that are open, for the end of the process: drivers clean up then, and what still runs on their threads would crash. A device of the program
// is left to it: who waits calls back what the program waits for, in a language that may have ended by then.
static pg_gpu *opened;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_all(void) {
  char error[1024];
  for (pg_gpu *g = opened; g; g = g->next) {
    if (!g->given) pg_gpu_wait(g, error);
  }
}

struct pg_gpu_pipeline { handle pipeline, layout; };
// A command is a launch, or the copy of a buffer to another one. It holds a reference to its objects.
typedef struct { handle pipeline, group, to, from; uint64_t to_offset, from_offset, bytes; uint32_t x, y; } command;
// timed lists have timestamps at the beginning and the end of their only pass.
struct pg_gpu_list { command *commands; int n, room, timed; };

static void set_error(char *error, const char *what, text message) {
  size_t n = message.length;
  if (!message.data) n = 0;
  else if (n == SIZE_MAX) n = strlen(message.data);
  snprintf(error, 1024, "%s%.*s", what, (int)(n < 900 ? n : 900), n ? message.data : "");
}

static void keep_error(pg_gpu *g, const char *what, text message) {
  pthread_mutex_lock(&g->mu);
  g->errors++;
  if (!g->failed) {
    g->failed = 1;
    set_error(g->error, what, message);
  }
  pthread_mutex_unlock(&g->mu);
}

static void on_error(const handle *device, uint32_t type, text message, void *g, void *unused) {
  keep_error(g, "", message);
}

static void on_lost(const handle *device, uint32_t reason, text message, void *of, void *unused) {
  pg_gpu *g = of;
  keep_error(g, "the device was lost: ", message);
  __atomic_store_n(&g->lost, 1, __ATOMIC_RELEASE);
}

int pg_gpu_is_lost(pg_gpu *g) { return __atomic_load_n(&g->lost, __ATOMIC_ACQUIRE); }

// The errors of a scope: their number, and the text of the first.
typedef struct { int n, popped; char message[1024]; } scoped;

static void on_scope(uint32_t status, uint32_t type, text message, void *of, void *unused) {
  scoped *s = of;
  if (type != NO_ERROR && !s->n++) set_error(s->message, "", message);
  __atomic_fetch_add(&s->popped, 1, __ATOMIC_RELEASE);
}

static void open_scope(pg_gpu *g) {
  g->DevicePushErrorScope(g->device, OUT_OF_MEMORY);
  g->DevicePushErrorScope(g->device, VALIDATION);
}

static scoped close_scope(pg_gpu *g) {
  scoped s = {0};
  for (int i = 1; i <= 2; i++) {
    g->DevicePopErrorScope(g->device, (callback){NULL, SPONTANEOUS, on_scope, &s, NULL});
    while (__atomic_load_n(&s.popped, __ATOMIC_ACQUIRE) < i) g->DevicePoll(g->device, 0, NULL);
  }
  return s;
}

// look_for_loss: a device of the program has no other way to tell than that it makes nothing any more. The scope is locked.
static void look_for_loss(pg_gpu *g) {
  if (pg_gpu_is_lost(g)) return;
  open_scope(g);
  handle b = g->DeviceCreateBuffer(g->device, &(buffer_desc){.label = TEXT(""), .usage = USE_COPY_DST, .size = 4});
  int lost = close_scope(g).n;
  if (b) g->BufferRelease(b);
  if (lost) on_lost(NULL, 0, TEXT("it was destroyed, or its driver has ended"), g, NULL);
}

// The errors between begin_scope and end_scope are ours. The result is how many there were, 0 for a device that tells us of all.
static void begin_scope(pg_gpu *g) {
  if (!g->given) return;
  pthread_mutex_lock(&g->scope);
  open_scope(g);
}

static int end_scope(pg_gpu *g) {
  if (!g->given) return 0;
  scoped s = close_scope(g);
  if (s.n) look_for_loss(g);
  pthread_mutex_unlock(&g->scope);
  if (s.n) keep_error(g, "", TEXT(s.message));
  return s.n;
}

static void find_loss(pg_gpu *g) {
  if (!g->given) return;
  pthread_mutex_lock(&g->scope);
  look_for_loss(g);
  pthread_mutex_unlock(&g->scope);
}

static double microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void end_pass(pg_gpu *g) {
  if (!g->pass) return;
  g->ComputePassEncoderEnd(g->pass);
  g->ComputePassEncoderRelease(g->pass);
  g->pass = NULL;
}

// submit_lists submits what waits; submitting is locked.
static void submit_lists(pg_gpu *g) {
  if (!g->encoder) return;
  begin_scope(g);
  end_pass(g);
  handle buffer = pg_gpu_is_lost(g) ? NULL : g->CommandEncoderFinish(g->encoder, NULL);
  g->CommandEncoderRelease(g->encoder);
  int wrong = end_scope(g);
  if (buffer) {
    if (!wrong) g->QueueSubmit(g->queue, 1, &buffer); // wgpu-native ends the process if that fails
    g->CommandBufferRelease(buffer);
  }
  g->encoder = NULL;
  g->commands = 0;
  g->submits++;
  g->last = microseconds();
}

// encode puts the commands of a list behind those that wait, and releases what they hold; times are those of its first pass, NULL for
// none. The result is the number of its passes.
static int encode(pg_gpu *g, pg_gpu_list *l, const timestamps *times) {
  begin_scope(g);
  int lost = pg_gpu_is_lost(g), passes = 0;
  if (!lost && !g->encoder) g->encoder = g->DeviceCreateCommandEncoder(g->device, NULL);
  for (command *c = l->commands; c < l->commands + l->n; c++) {
    if (c->pipeline) {
      if (!lost) {
        const pass_desc timed = {NULL, TEXT(""), times};
        if (!g->pass) g->pass = g->CommandEncoderBeginComputePass(g->encoder, times && !passes++ ? &timed : NULL);
        g->ComputePassEncoderSetPipeline(g->pass, c->pipeline);
        g->ComputePassEncoderSetBindGroup(g->pass, 0, c->group, 0, NULL);
        g->ComputePassEncoderDispatchWorkgroups(g->pass, c->x, c->y, 1);
      }
      g->BindGroupRelease(c->group);
      g->ComputePipelineRelease(c->pipeline);
    } else {
      end_pass(g);
      if (!lost) g->CommandEncoderCopyBufferToBuffer(g->encoder, c->from, c->from_offset, c->to, c->to_offset, c->bytes);
      g->BufferRelease(c->from);
      g->BufferRelease(c->to);
    }
  }
  end_scope(g);
  g->commands += l->n;
  return passes;
}

static void *submit_later(void *of) {
  pg_gpu *g = of;
  pthread_mutex_lock(&g->submitting);
  for (;;) {
    while (!g->encoder) pthread_cond_wait(&g->begun, &g->submitting);
    uint64_t before = g->submits;
    pthread_mutex_unlock(&g->submitting);
    usleep(WAIT_FOR_OTHERS);
    pthread_mutex_lock(&g->submitting);
    if (g->submits == before) submit_lists(g);
  }
  return NULL;
}

void pg_gpu_share(pg_gpu *g) {
  pthread_mutex_lock(&g->submitting);
  g->shared = 1;
  submit_lists(g);
  pthread_mutex_unlock(&g->submitting);
}

static void flush_lists(pg_gpu *g) {
  pthread_mutex_lock(&g->submitting);
  submit_lists(g);
  pthread_mutex_unlock(&g->submitting);
}

void pg_gpu_lose(pg_gpu *g) {
  flush_lists(g);
  if (!g->given) g->DeviceDestroy(g->device);
  on_lost(NULL, 0, TEXT("it was given up"), g, NULL);
}

// What a callback was given.
typedef struct { int done; uint32_t status; handle object; char message[1024]; } answer;

static void on_object(uint32_t status, handle object, text message, void *a, void *unused) {
  answer *r = a;
  r->status = status;
  r->object = object;
  set_error(r->message, "", message);
  __atomic_store_n(&r->done, 1, __ATOMIC_RELEASE); // maybe on a thread of the program
}

static void on_done(uint32_t status, text message, void *a, void *unused) { on_object(status, NULL, message, a, unused); }

static callback answering(void *call, answer *a) { return (callback){NULL, ALLOW_PROCESS_EVENTS, call, a, NULL}; }

static int is_done(answer *a) { return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE); }

static void await(pg_gpu *g, answer *a) {
  while (!is_done(a) && !pg_gpu_is_lost(g)) {
    if (g->DevicePoll && g->device) g->DevicePoll(g->device, 1, NULL);
    if (g->instance) g->InstanceProcessEvents(g->instance);
    if (!is_done(a) && !g->DevicePoll) usleep(20);
    if (!is_done(a)) find_loss(g);
  }
}

// finish awaits an answer and frees it, unless the device was lost and it may still be written.
static uint32_t finish(pg_gpu *g, answer *a) {
  await(g, a);
  if (!is_done(a)) return 0;
  uint32_t status = a->status;
  free(a);
  return status;
}

static const char *find_functions(pg_gpu *g, void *library) {
#define F(type, name, params) \
  if (!(*(void **)&g->name = dlsym(library, "wgpu" #name))) return "wgpu" #name;
  FUNCTIONS(F)
#undef F
#define F(type, name, params) *(void **)&g->name = dlsym(library, "wgpu" #name);
  CLOCK(F)
  GIVEN(F)
#undef F
  *(void **)&g->period = dlsym(library, "wgpuQueueGetTimestampPeriod");
  *(void **)&g->trusted = dlsym(library, "wgpuDeviceCreateShaderModuleTrusted");
  return NULL;
}

// read_info reads what an adapter is.
static void read_info(pg_gpu *g, handle adapter, pg_gpu_limits *out) {
  adapter_info info = {0};
  g->AdapterGetInfo(adapter, &info);
  set_error(out->name, "", (text){info.device.data, info.device.length < 200 || info.device.length == SIZE_MAX ? info.device.length : 200});
  // Texts may end with a zero or be given with their length; a NULL prints as nothing.
  const text of[] = {info.vendor, info.architecture, info.description};
  for (int i = 0; i < 3; i++) {
    char part[1024];
    set_error(part, "", of[i]);
    snprintf(out->driver + strlen(out->driver), sizeof out->driver - strlen(out->driver), "%.300s ", part);
  }
  snprintf(out->driver + strlen(out->driver), sizeof out->driver - strlen(out->driver), "%u %u %u", info.backend, info.vendor_id, info.device_id);
  const char *kinds[] = {"", "discrete", "integrated", "cpu", "unknown"};
  snprintf(out->kind, sizeof out->kind, "%s", kinds[info.type < 5 ? info.type : 0]);
  g->AdapterInfoFreeMembers(info);
}

// read_features writes those that are used of an adapter or a device into an array, and is their number.
static uint32_t read_features(pg_gpu *g, handle of, uint32_t (*has)(handle, uint32_t), uint32_t features[4], pg_gpu_limits *out) {
  const uint32_t wanted[] = {SHADER_F16, NATIVE_SUBGROUPS, SUBGROUPS}; // in the order of their bits
  uint32_t n = 0;
  for (int i = 0; i < (g->DevicePoll ? 2 : 3); i++) {
    if (has(of, wanted[i])) features[n++] = wanted[i], out->features |= 1 << i;
  }
  g->clock = g->DeviceCreateQuerySet && g->CommandEncoderResolveQuerySet && has(of, TIMESTAMPS);
  if (g->clock) features[n++] = TIMESTAMPS;
  return n;
}

// make_device makes a device of the library's choice. The result is 0 if that fails.
static int make_device(pg_gpu *g, limits *l, pg_gpu_limits *out, char *error) {
  g->instance = g->CreateInstance(NULL);
  if (!g->instance) {
    set_error(error, "it makes no instance", TEXT(""));
    return 0;
  }
  answer a = {0};
  adapter_options options = {.power = HIGH_PERFORMANCE};
  g->InstanceRequestAdapter(g->instance, &options, answering(on_object, &a));
  await(g, &a);
  if (a.status != SUCCESS || !a.object) {
    set_error(error, "there is no adapter: ", TEXT(a.message));
    return 0;
  }
  g->adapter = a.object;
  g->AdapterGetLimits(g->adapter, l);
  l->next = NULL;
  read_info(g, g->adapter, out);
  uint32_t features[4], n = read_features(g, g->adapter, g->AdapterHasFeature, features, out);
  device_desc desc = {
      .label = TEXT("polygrad"), .nfeatures = n, .features = features, .limits = l, .queue = {NULL, TEXT("")},
      .lost = {NULL, ALLOW_PROCESS_EVENTS, on_lost, g, NULL}, .error = {NULL, on_error, g, NULL},
  };
  a = (answer){0};
  g->AdapterRequestDevice(g->adapter, &desc, answering(on_object, &a));
  await(g, &a);
  if (a.status != SUCCESS || !a.object) {
    set_error(error, "the adapter gives no device: ", TEXT(a.message));
    return 0;
  }
  g->device = a.object;
  return 1;
}

// take_device takes a device of the program.
static int take_device(pg_gpu *g, handle adapter, handle device, limits *l, pg_gpu_limits *out, char *error) {
#define F(type, name, params) \
  if (!g->name) { \
    set_error(error, "devices of a program have to be those of wgpu-native; it has no function wgpu" #name, TEXT("")); \
    return 0; \
  }
  GIVEN(F)
#undef F
  pthread_mutex_init(&g->scope, NULL);
  g->given = g->shared = 1;
  g->device = device;
  g->DeviceAddRef(device);
  find_loss(g);
  if (pg_gpu_is_lost(g)) {
    pg_gpu_error(g, error);
    g->DeviceRelease(device);
    return 0;
  }
  g->DeviceGetLimits(device, l);
  read_info(g, adapter, out);
  uint32_t features[4];
  read_features(g, device, g->DeviceHasFeature, features, out);
  const layout_entry entry = {.visibility = STAGE_COMPUTE, .buffer = {.type = BINDING_STORAGE}};
  g->sample = g->DeviceCreateBindGroupLayout(device, &(layout_desc){NULL, TEXT(""), 1, &entry});
  return 1;
}

pg_gpu *pg_gpu_open(const char *path, void *adapter, void *device, pg_gpu_limits *out, char *error) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | (device ? RTLD_NOLOAD : 0));
  if (!library) {
    if (device) set_error(error, "the program has not loaded it, so it is none of its devices", TEXT(""));
    else set_error(error, "", TEXT(dlerror()));
    return NULL;
  }
  pg_gpu *g = calloc(1, sizeof *g);
  pthread_mutex_init(&g->mu, NULL);
  pthread_mutex_init(&g->submitting, NULL);
  pthread_cond_init(&g->begun, NULL);
  const char *missing = find_functions(g, library);
  if (missing) {
    set_error(error, "it has no function ", TEXT(missing));
    goto failed;
  }
  limits l = {0};
  if (!(device ? take_device(g, adapter, device, &l, out, error) : make_device(g, &l, out, error))) goto failed;
  g->queue = g->DeviceGetQueue(g->device);
  out->buffers = l.storage_buffers;
  out->alignment = l.storage_alignment;
  out->dispatch = l.workgroups;
  out->invocations = l.invocations < l.size_x ? l.invocations : l.size_x;
  out->workgroup_bytes = l.workgroup_bytes;
  out->buffer_bytes = l.buffer_bytes;
  out->binding_bytes = l.storage_bytes;
  pthread_mutex_lock(&opening);
  // The driver has been loaded by now, so this comes before what it does at the end.
  if (!opened) atexit(wait_for_all);
  g->next = opened;
  opened = g;
  pthread_mutex_unlock(&opening);
  return g;
failed:
  if (g->adapter) g->AdapterRelease(g->adapter);
  if (g->instance) g->InstanceRelease(g->instance);
  free(g);
  // The library stays loaded: it may have threads.
  return NULL;
}

int pg_gpu_is_given(pg_gpu *g, void *device) { return g->given ? g->device == device : !device; }

int pg_gpu_error(pg_gpu *g, char *error) {
  pthread_mutex_lock(&g->mu);
  int failed = g->failed;
  if (failed) memcpy(error, g->error, sizeof g->error);
  g->failed = 0;
  pthread_mutex_unlock(&g->mu);
  return failed;
}

static int errors_of(pg_gpu *g) {
  pthread_mutex_lock(&g->mu);
  int n = g->errors;
  pthread_mutex_unlock(&g->mu);
  return n;
}

pg_gpu_buffer *pg_gpu_allocate(pg_gpu *g, uint64_t bytes, int use, char *error) {
  const uint64_t usage[] = {
      [PG_GPU_STORAGE] = USE_STORAGE | USE_COPY_SRC | USE_COPY_DST, [PG_GPU_UNIFORM] = USE_UNIFORM | USE_COPY_DST, [PG_GPU_READBACK] = USE_MAP_READ | USE_COPY_DST,
  };
  begin_scope(g);
  handle b = g->DeviceCreateBuffer(g->device, &(buffer_desc){.label = TEXT(""), .usage = usage[use], .size = bytes});
  end_scope(g);
  if (pg_gpu_error(g, error) || !b) {
    if (b) g->BufferRelease(b);
    return NULL;
  }
  return b;
}

void pg_gpu_free(pg_gpu *g, pg_gpu_buffer *b) {
  flush_lists(g); // no list may need it
  g->BufferDestroy(b);
  g->BufferRelease(b);
}

int pg_gpu_usable(pg_gpu *g, pg_gpu_buffer *b, char *error) {
  if (!g->given || pg_gpu_is_lost(g)) return 1;
  pthread_mutex_lock(&g->scope);
  open_scope(g);
  const group_entry entry = {.buffer = b, .size = 4};
  handle group = g->DeviceCreateBindGroup(g->device, &(group_desc){NULL, TEXT(""), g->sample, 1, &entry});
  scoped s = close_scope(g);
  if (group) g->BindGroupRelease(group);
  if (s.n) look_for_loss(g);
  pthread_mutex_unlock(&g->scope);
  if (!s.n || pg_gpu_is_lost(g)) return 1;
  size_t n = strlen(s.message);
  while (n && s.message[n - 1] == '\n') s.message[--n] = 0;
  const char *line = strrchr(s.message, '\n'); // the last one says why
  for (line = line ? line + 1 : s.message; *line == ' '; line++) {}
  set_error(error, "it cannot be used on the device: ", TEXT(line));
  return 0;
}

int pg_gpu_keep(pg_gpu *g, pg_gpu_buffer *b, uint64_t bytes, char *error) {
  const uint64_t needed = USE_STORAGE | USE_COPY_SRC | USE_COPY_DST, usage = g->BufferGetUsage(b);
  if ((usage & (needed | USE_MAP_READ | USE_MAP_WRITE)) != needed) {
    snprintf(error, 1024, "its usage is %#llx, expected STORAGE, COPY_SRC and COPY_DST (%#llx), and no MAP_READ or MAP_WRITE", (unsigned long long)usage, (unsigned long long)needed);
    return 0;
  }
  if (g->BufferGetSize(b) < bytes) {
    snprintf(error, 1024, "it has %llu bytes, expected %llu", (unsigned long long)g->BufferGetSize(b), (unsigned long long)bytes);
    return 0;
  }
  if (!pg_gpu_usable(g, b, error)) return 0;
  pg_gpu_share(g);
  g->BufferAddRef(b);
  return 1;
}

void pg_gpu_forget(pg_gpu *g, pg_gpu_buffer *b) { g->BufferRelease(b); }

void pg_gpu_write(pg_gpu *g, pg_gpu_buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
  flush_lists(g);
  begin_scope(g);
  if (!pg_gpu_is_lost(g)) g->QueueWriteBuffer(g->queue, to, offset, from, bytes);
  end_scope(g);
}

pg_gpu_pipeline *pg_gpu_compile(pg_gpu *g, const char *source, size_t length, int buffers, int uniform, char *error) {
  wgsl_source code = {{NULL, SOURCE_WGSL}, {source, length}};
  // wgpu-native counts the iterations of all loops, which might not end, unless it is told that they do: without the
  // count products of 1024 to 4096 take 0.92 to 0.97 of the time on an H200.
  const described desc = {&code.chain, TEXT("")};
  int before = errors_of(g);
  begin_scope(g);
  handle module = g->trusted ? g->trusted(g->device, &desc, CHECK_BOUNDS) : g->DeviceCreateShaderModule(g->device, &desc);
  int n = buffers + uniform;
  layout_entry *entries = calloc(n, sizeof *entries);
  for (int i = 0; i < n; i++) {
    entries[i].binding = i;
    entries[i].visibility = STAGE_COMPUTE;
    entries[i].buffer.type = i < buffers ? BINDING_STORAGE : BINDING_UNIFORM;
  }
  pg_gpu_pipeline *p = calloc(1, sizeof *p);
  p->layout = g->DeviceCreateBindGroupLayout(g->device, &(layout_desc){NULL, TEXT(""), n, entries});
  free(entries);
  handle layout = g->DeviceCreatePipelineLayout(g->device, &(pipeline_layout_desc){NULL, TEXT(""), 1, &p->layout, 0});
  p->pipeline = g->DeviceCreateComputePipeline(g->device, &(pipeline_desc){NULL, TEXT(""), layout, {NULL, module, TEXT("main"), 0, NULL}});
  if (layout) g->PipelineLayoutRelease(layout);
  if (module) g->ShaderModuleRelease(module);
  end_scope(g);
  // Several threads make pipelines: each of those that one fails beside takes the error for its own.
  if (errors_of(g) != before || !p->pipeline) {
    pg_gpu_error(g, error);
    pg_gpu_drop(g, p);
    return NULL;
  }
  return p;
}

void pg_gpu_drop(pg_gpu *g, pg_gpu_pipeline *p) {
  if (p->pipeline) g->ComputePipelineRelease(p->pipeline);
  if (p->layout) g->BindGroupLayoutRelease(p->layout);
  free(p);
}

pg_gpu_list *pg_gpu_begin(pg_gpu *g, int timed) {
  pg_gpu_list *l = calloc(1, sizeof *l);
  if (timed && g->clock && !g->queries) {
    begin_scope(g);
    g->queries = g->DeviceCreateQuerySet(g->device, &(queries_desc){NULL, TEXT(""), QUERY_TIMESTAMP, 2});
    g->resolved = g->DeviceCreateBuffer(g->device, &(buffer_desc){.label = TEXT(""), .usage = USE_QUERY_RESOLVE | USE_COPY_SRC, .size = 16});
    g->read = g->DeviceCreateBuffer(g->device, &(buffer_desc){.label = TEXT(""), .usage = USE_MAP_READ | USE_COPY_DST, .size = 16});
    end_scope(g);
  }
  l->timed = timed && g->queries && g->resolved && g->read;
  return l;
}

pg_gpu_group *pg_gpu_make_group(pg_gpu *g, pg_gpu_pipeline *p, const pg_gpu_binding *bindings, int n) {
  group_entry *entries = calloc(n ? n : 1, sizeof *entries);
  for (int i = 0; i < n; i++) {
    entries[i].binding = i;
    entries[i].buffer = bindings[i].buffer;
    entries[i].offset = bindings[i].offset;
    entries[i].size = bindings[i].size;
  }
  begin_scope(g);
  handle group = g->DeviceCreateBindGroup(g->device, &(group_desc){NULL, TEXT(""), p->layout, n, entries});
  end_scope(g);
  free(entries);
  return group;
}

void pg_gpu_drop_group(pg_gpu *g, pg_gpu_group *group) { g->BindGroupRelease(group); }

static void add(pg_gpu_list *l, command c) {
  if (l->n == l->room) l->commands = realloc(l->commands, (l->room = 2 * l->room + 4) * sizeof c);
  l->commands[l->n++] = c;
}

void pg_gpu_launch(pg_gpu *g, pg_gpu_list *l, pg_gpu_pipeline *p, pg_gpu_group *group, uint32_t x, uint32_t y) {
  if (pg_gpu_is_lost(g)) return;
  g->ComputePipelineAddRef(p->pipeline);
  g->BindGroupAddRef(group);
  add(l, (command){.pipeline = p->pipeline, .group = group, .x = x, .y = y});
}

void pg_gpu_copy(pg_gpu *g, pg_gpu_list *l, pg_gpu_buffer *to, uint64_t to_offset, pg_gpu_buffer *from, uint64_t from_offset, uint64_t bytes) {
  if (pg_gpu_is_lost(g)) return;
  g->BufferAddRef(to);
  g->BufferAddRef(from);
  add(l, (command){.to = to, .from = from, .to_offset = to_offset, .from_offset = from_offset, .bytes = bytes});
}

int pg_gpu_submit(pg_gpu *g, pg_gpu_list *l) {
  int timed = l->timed;
  pthread_mutex_lock(&g->submitting);
  int now = timed || g->shared || (!g->encoder && microseconds() - g->last > WAIT_FOR_OTHERS);
  if (timed) submit_lists(g);
  const timestamps times = {NULL, g->queries, 0, 1};
  timed = encode(g, l, timed ? &times : NULL) == 1 && !pg_gpu_is_lost(g);
  if (timed) {
    end_pass(g);
    g->CommandEncoderResolveQuerySet(g->encoder, g->queries, 0, 2, g->resolved, 0);
    g->CommandEncoderCopyBufferToBuffer(g->encoder, g->resolved, 0, g->read, 0, 16);
  }
  now |= g->commands >= TOGETHER;
  if (!now && !g->patience) {
    pthread_t thread;
    g->patience = !pthread_create(&thread, NULL, submit_later, g) && !pthread_detach(thread);
  }
  if (now || !g->patience) submit_lists(g);
  else if (g->commands == l->n) pthread_cond_signal(&g->begun);
  pthread_mutex_unlock(&g->submitting);
  free(l->commands);
  free(l);
  return timed;
}

double pg_gpu_took(pg_gpu *g) {
  char error[1024];
  const uint64_t *at = pg_gpu_map(g, g->read, 16, error);
  if (!at) return -1;
  double t = at[1] > at[0] ? (double)(at[1] - at[0]) : -1;
  g->BufferUnmap(g->read);
  return g->period && t > 0 ? t * g->period(g->queue) : t;
}

int pg_gpu_wait(pg_gpu *g, char *error) {
  flush_lists(g);
  find_loss(g);
  if (!pg_gpu_is_lost(g)) {
    answer *a = calloc(1, sizeof *a);
    g->QueueOnSubmittedWorkDone(g->queue, answering(on_done, a));
    finish(g, a);
  }
  return pg_gpu_error(g, error) ? -1 : 0;
}

const void *pg_gpu_map(pg_gpu *g, pg_gpu_buffer *b, uint64_t bytes, char *error) {
  flush_lists(g);
  uint32_t status = 0;
  if (!pg_gpu_is_lost(g)) {
    answer *a = calloc(1, sizeof *a);
    begin_scope(g);
    g->BufferMapAsync(b, MAP_READ, 0, bytes, answering(on_done, a));
    end_scope(g);
    status = finish(g, a);
  }
  if (pg_gpu_error(g, error)) return NULL;
  if (status != SUCCESS) {
    set_error(error, "memory cannot be read", TEXT(""));
    return NULL;
  }
  return g->BufferGetConstMappedRange(b, 0, bytes);
}

void pg_gpu_unmap(pg_gpu *g, pg_gpu_buffer *b) { g->BufferUnmap(b); }
