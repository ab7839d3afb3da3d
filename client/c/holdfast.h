/* SPDX-License-Identifier: Apache-2.0
 *
 * Holdfast for C, and for every language that can call C. Link with
 * -lholdfast, or load libholdfast.so.0. That library exports the C++ library,
 * too, under a symbol version of its own.
 *
 *   hf_daemon* daemon;
 *   hf_session* session;
 *   CHECK(hf_daemon_connect("embedded:", &daemon));
 *   CHECK(hf_session_open(daemon, NULL, &session));
 *
 *   hf_compilation* compilation;
 *   CHECK(hf_compile(daemon, source, strlen(source), NULL, &compilation));
 *   hf_module* module;
 *   const hf_object* object = hf_compilation_object(compilation);
 *   CHECK(hf_module_load(session, object, &module));
 *   hf_kernel* kernel;
 *   CHECK(hf_module_kernel(module, "saxpy", &kernel));
 *
 *   hf_stream* stream;
 *   hf_buffer* x;
 *   CHECK(hf_stream_create(session, 0, NULL, &stream));
 *   CHECK(hf_buffer_allocate(session, 0, bytes, stream, &x));
 *   CHECK(hf_buffer_upload(x, 0, values, bytes, stream));
 *   hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
 *   config.grid.x = 196;
 *   config.block.x = 256;
 *   hf_argument arguments[] = {hf_f32(2), hf_pointer(x), hf_u64(n)};
 *   CHECK(hf_launch(stream, &config, kernel, arguments, 3));
 *   CHECK(hf_buffer_download(x, 0, values, bytes, stream));
 *
 * ERRORS. A function that can fail returns an hf_error*: NULL means success;
 * an error belongs to the caller and is freed with hf_error_free. After an
 * error no output argument has been written. No exception leaves the
 * library.
 *
 * ASYNCHRONY. Commands need no answer: success means that the command was
 * submitted. If it fails later, the next call that waits in the same session
 * (marked "Waits.") returns the failure, with the number of the command. A
 * command that uses a resource which could not be made fails with the same
 * cause.
 *
 * FAULTS. A kernel that faults (an illegal address, say) ends the session's
 * executor, and the session continues in another one. The first call that
 * depends on the lost work returns HF_ABORTED, and hf_error_fault() reports the
 * losses. Commands that were submitted before that call returned do not run.
 * After that call every handle is valid, and device memory has its bytes. Once
 * the session itself or the daemon is gone, every call fails with
 * HF_UNAVAILABLE and hf_error_session_lost() is true: open a new session.
 *
 * OBJECTS are opaque and made by functions that take a pointer to a pointer;
 * each has one owner and is freed with hf_NAME_free. Freeing does not wait,
 * except for a session and a daemon, and NULL may be freed. An object may
 * outlive the objects that it was made from: its functions fail then.
 * Strings that accessors return are UTF-8, end with 0 and live as long as the
 * object.
 *
 * THREADS. Every object may be used by several threads at once, except where a
 * function says otherwise. No other thread may use an object while it is freed,
 * or during hf_collection_sleep and hf_collection_wake. The commands of one
 * thread keep their order. After the first connection to a daemon, a child of
 * fork() cannot use Holdfast: every call fails with HF_FAILED_PRECONDITION, and
 * freeing an object does not end it in the daemon. Fork earlier, or call exec()
 * in the child.
 *
 * OPTIONS are structs that begin with their own size: initialize each struct
 * with its HF_..._INIT macro, and then set the members that differ. NULL stands
 * for the defaults. Thus a program also works with a later library that has
 * more options.
 *
 * SIZES and offsets are in bytes. Devices are named by their ordinal.
 *
 * CONTENTS, in this order; each section begins with a line of dashes:
 *   errors               why a call has failed
 *   faults               why an executor has died
 *   text                 bytes that a function returns
 *   daemon               connecting, and lists of what a daemon has
 *   devices              their attributes
 *   session              an executor of one's own
 *   streams              queues of work
 *   events               places in a stream, to wait for and to measure between
 *   fences               places in a session's commands, to wait for
 *   buffers              memory of devices and of the daemon's host
 *   arenas               memory of this process that devices copy from and to
 *   compiling            from source to an object
 *   modules and kernels  from an object to a kernel
 *   launching            arguments and attributes of a launch
 *   graphs               work that is defined once and launched often
 *   sharing              memory, events and semaphores of several sessions
 *   collections          named arrays that outlive their writer
 *   operators            ending, suspending and draining; tenants
 */
#ifndef HOLDFAST_CLIENT_C_HOLDFAST_H_
#define HOLDFAST_CLIENT_C_HOLDFAST_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. The library's is hf_version(). Libraries with the
 * same HF_ABI_VERSION can take each other's place. */
#define HF_VERSION "0.1.0"
#define HF_ABI_VERSION 0

typedef struct hf_error hf_error;
typedef struct hf_text hf_text;
typedef struct hf_daemon hf_daemon;
typedef struct hf_device_info hf_device_info;
typedef struct hf_session hf_session;
typedef struct hf_stream hf_stream;
typedef struct hf_event hf_event;
typedef struct hf_fence hf_fence;
typedef struct hf_buffer hf_buffer;
typedef struct hf_arena hf_arena;
typedef struct hf_span hf_span;
typedef struct hf_object hf_object;
typedef struct hf_compilation hf_compilation;
typedef struct hf_module hf_module;
typedef struct hf_kernel hf_kernel;
typedef struct hf_kernel_info hf_kernel_info;
typedef struct hf_node hf_node;
typedef struct hf_definition hf_definition;
typedef struct hf_capture hf_capture;
typedef struct hf_graph hf_graph;
typedef struct hf_graph_exec hf_graph_exec;
typedef struct hf_semaphore hf_semaphore;
typedef struct hf_mapping hf_mapping;
typedef struct hf_collection hf_collection;
typedef struct hf_collection_writer hf_collection_writer;
typedef struct hf_write_claim hf_write_claim;
typedef struct hf_watch hf_watch;

/* "0.1.0". */
const char* hf_version(void);

/* ------------------------------------------------------------------ errors */

/* The canonical codes of gRPC. */
typedef enum hf_code {
  HF_OK = 0,
  HF_CANCELLED = 1,
  HF_UNKNOWN = 2,
  HF_INVALID_ARGUMENT = 3,
  HF_DEADLINE_EXCEEDED = 4,
  HF_NOT_FOUND = 5,
  HF_ALREADY_EXISTS = 6,
  HF_PERMISSION_DENIED = 7,
  HF_RESOURCE_EXHAUSTED = 8,
  HF_FAILED_PRECONDITION = 9,
  HF_ABORTED = 10,
  HF_OUT_OF_RANGE = 11,
  HF_UNIMPLEMENTED = 12,
  HF_INTERNAL = 13,
  HF_UNAVAILABLE = 14,
  HF_DATA_LOSS = 15,
  HF_UNAUTHENTICATED = 16
} hf_code;

/* "INVALID_ARGUMENT". Never NULL. */
const char* hf_code_name(hf_code code);

/* Accessors of an error. For a NULL error they return HF_OK, "", 0 or false. */
hf_code hf_error_code(const hf_error* error);
/* One or more sentences that name the object, the value and the limit. The log
 * is not included. */
const char* hf_error_message(const hf_error* error);
/* The name of the failed call of the driver or compiler, "cuMemCreate"; "" if
 * Holdfast itself refused. */
const char* hf_error_call(const hf_error* error);
/* The CUresult or nvrtcResult of that call, 0 if there is none; and the name of
 * the result, "CUDA_ERROR_OUT_OF_MEMORY". */
int32_t hf_error_result(const hf_error* error);
const char* hf_error_result_name(const hf_error* error);
/* One sentence that explains the result. */
const char* hf_error_explanation(const hf_error* error);
/* The whole log of the compiler or linker. */
const char* hf_error_log(const hf_error* error);
/* True if every resource of the session is lost. */
bool hf_error_session_lost(const hf_error* error);
void hf_error_free(hf_error* error);

/* ------------------------------------------------------------------ faults */

/* A number of blocks or threads, or the index of one. */
typedef struct hf_dim3 {
  uint32_t x;
  uint32_t y;
  uint32_t z;
} hf_dim3;

/* A resource that did not survive a fault. Calls that use it fail with the
 * reason. */
typedef struct hf_lost_resource {
  uint64_t handle; /* of hf_buffer_handle or a similar function */
  const char* reason;
} hf_lost_resource;

/* The report of one fault: why the session's executor died, and how far the
 * commands had come. The library fills it in. Members beyond `struct_size` do
 * not exist: the library is then older than this header. */
typedef struct hf_fault {
  size_t struct_size;
  /* The number of the epoch that the fault ended: a session's first fault ends
   * epoch 1. */
  uint64_t epoch;
  /* `cause` is one or more sentences. `result_name` is the name of the CUDA
   * error, "" if a signal or a limit ended the executor. */
  const char* cause;
  const char* result_name;
  uint32_t device;
  /* `kernel` is the name of the kernel, "" if no single kernel is known to be
   * the cause. `block` and `thread` are NULL if the driver does not report
   * them. `source_line` is the line in the kernel's source, "saxpy.cu:12", ""
   * if it is not known. */
  const char* kernel;
  const hf_dim3* block;
  const hf_dim3* thread;
  const char* source_line;
  /* Commands are numbered from 1 in the order of their submission. Every
   * command up to `completed_through` is known to have taken effect, for
   * instance up to the last hf_session_synchronize. Later commands, up to
   * `submitted_through`, may have run in part or in whole. Commands after
   * `submitted_through` have not run. The commands from there up to
   * `received_through` had arrived and were dropped. */
  uint64_t completed_through;
  uint64_t submitted_through;
  uint64_t received_through;
  /* Descriptions of the last submitted commands, the oldest first. */
  const char* const* last_commands;
  size_t last_command_count;
  /* The resources that did not survive: the first `lost_listed` of them, at
   * most 64, and the number of all of them. */
  const hf_lost_resource* lost;
  size_t lost_listed;
  uint64_t lost_count;
  /* The report as lines of text for people. */
  const char* description;
} hf_fault;

/* Returns the fault that the error reports; NULL if it reports none. The result
 * lives as long as the error. */
const hf_fault* hf_error_fault(const hf_error* error);

/* -------------------------------------------------------------------- text */

/* Bytes that a function returns, and that the caller frees. A 0 follows the
 * bytes; hf_text_size does not count it. */
const char* hf_text_data(const hf_text* text);
size_t hf_text_size(const hf_text* text);
void hf_text_free(hf_text* text);

/* ------------------------------------------------------------------ daemon */

/* Connects to a daemon. `address`:
 *   "unix:PATH", "tcp:HOST:PORT", "tls:HOST:PORT?ca=FILE,cert=FILE,key=FILE",
 *   "embedded:device=auto|cpu|cuda" (starts a private daemon, which ends with
 *   this object and its sessions);
 *   NULL or "": $HOLDFAST_ADDRESS, else the system's or the user's socket.
 * HF_UNAVAILABLE: there is no daemon. Waits. */
hf_error* hf_daemon_connect(const char* address, hf_daemon** daemon);
/* Returns the address that hf_daemon_connect uses for NULL, whether or not a
 * daemon is there. */
hf_error* hf_default_address(hf_text** address);
/* Frees the connection. The daemon of an embedded: address ends when the
 * sessions of this object are closed, too. */
void hf_daemon_free(hf_daemon* daemon);

/* The address that was given or chosen; for a private daemon, the address of
 * its socket. */
const char* hf_daemon_address(const hf_daemon* daemon);

/* Describe in JSON the daemon itself; its sessions, oldest first; and its cache
 * of compiled programs. The JSON has the names of the fields of
 * GetServerInfoResponse, ListSessionsResponse and GetCacheStatisticsResponse in
 * proto/holdfast/v1. Each waits. HF_PERMISSION_DENIED:
 * hf_daemon_cache_statistics is for operators. */
hf_error* hf_daemon_server_info(hf_daemon* daemon, hf_text** json);
hf_error* hf_daemon_sessions(hf_daemon* daemon, hf_text** json);
hf_error* hf_daemon_cache_statistics(hf_daemon* daemon, hf_text** json);
/* Returns the programs in the cache, most recently used first, as JSON of
 * ListCacheEntriesResponse: all programs if the caller is an operator, else
 * those of its tenant. max_entries 0: as many as the daemon allows. Waits. */
hf_error* hf_daemon_cache_entries(hf_daemon* daemon, uint32_t max_entries,
                                  hf_text** json);
/* Removes every program from the cache. HF_PERMISSION_DENIED: the caller is not
 * an operator. Waits. */
hf_error* hf_daemon_clear_cache(hf_daemon* daemon);

/* ----------------------------------------------------------------- devices */

/* Sets *count to the number of the daemon's devices, which have the ordinals 0
 * to *count - 1. Waits. */
hf_error* hf_daemon_device_count(hf_daemon* daemon, uint32_t* count);

/* Describes one device with every attribute. HF_NOT_FOUND: there is no such
 * device. Waits. */
hf_error* hf_daemon_describe_device(hf_daemon* daemon, uint32_t device,
                                    hf_device_info** info);
void hf_device_info_free(hf_device_info* info);

uint32_t hf_device_info_ordinal(const hf_device_info* info);
const char* hf_device_info_name(const hf_device_info* info);
/* 16 bytes. */
const uint8_t* hf_device_info_uuid(const hf_device_info* info);
/* "0000:01:00.0". */
const char* hf_device_info_pci_bus_id(const hf_device_info* info);
void hf_device_info_compute_capability(const hf_device_info* info,
                                       uint32_t* major, uint32_t* minor);
uint64_t hf_device_info_total_memory(const hf_device_info* info);
/* Sets the range of the priorities of streams. A lower number is more urgent:
 * *greatest <= *least. */
void hf_device_info_stream_priorities(const hf_device_info* info,
                                      int32_t* least, int32_t* greatest);
/* True for Holdfast's software device, false for a GPU. */
bool hf_device_info_is_software(const hf_device_info* info);
/* 1000 * major + 10 * minor, as cuDriverGetVersion returns it. */
int32_t hf_device_info_driver_version(const hf_device_info* info);
/* The path of the library that the daemon's executors have loaded as their
 * driver. */
const char* hf_device_info_driver_path(const hf_device_info* info);

/* Sets *value to a CUdevice_attribute. `name` is the attribute's name without
 * CU_DEVICE_ATTRIBUTE_, in lower case: "max_threads_per_block". Returns false,
 * and leaves *value, if the driver does not have the attribute. */
bool hf_device_info_attribute(const hf_device_info* info, const char* name,
                              int64_t* value);
/* Access the attributes by position, sorted by name.
 * hf_device_info_attribute_at sets *value and returns the name. REQUIRES: index
 * < count. */
size_t hf_device_info_attribute_count(const hf_device_info* info);
const char* hf_device_info_attribute_at(const hf_device_info* info,
                                        size_t index, int64_t* value);

/* ----------------------------------------------------------------- session */

/* The reaction of a session to the death of its executor. */
typedef enum hf_recovery {
  /* The session continues in another executor; see FAULTS, above. */
  HF_RECOVER_ALWAYS = 0,
  /* The session is lost. */
  HF_RECOVER_NEVER = 1,
  /* The session keeps its memory, and every call fails with the fault until
   * hf_session_recover. */
  HF_RECOVER_ASK = 2
} hf_recovery;

typedef struct hf_session_options {
  size_t struct_size;
  /* A label for people, shown by `holdfast sessions`; at most 128 bytes. */
  const char* name;
  /* The devices that the session may use: ordinals, UUIDs or their beginnings
   * ("GPU-b1f6"), or "most-free". device_count 0: all devices. */
  const char* const* devices;
  size_t device_count;
  /* The most bytes of device memory that the session may have in buffers; 0:
   * the daemon's own limit. */
  uint64_t memory_limit;
  /* The time for which the session outlives a broken connection, in seconds; at
   * most 3600. */
  double reconnect_grace;
  /* Takes the output of kernels (printf and failed assertions), in pieces that
   * need not end with a line, before a wait for the kernel returns. Called by
   * one thread at a time, but not always by the same thread. The function must
   * not call this library. NULL: printf goes to standard output and failed
   * assertions to standard error. */
  void (*kernel_output)(void* user, const char* text, size_t size);
  void* kernel_output_user;
  hf_recovery recover;
  /* The time limit of a kernel, or of a launch of a graph, in seconds. A kernel
   * or launch that runs longer causes a fault, and the fault's message names
   * the kernel or launch. 0: the daemon's own limit, if it has one. If both
   * limits are set, the smaller limit holds. */
  double kernel_time_limit;
  /* The time for which the session lives without a client, in seconds: after
   * hf_session_detach, or when its client has died. At most the daemon's
   * --detached-session-limit. */
  double detached_lifetime;
  /* For debugging: each call waits until the work that it has submitted is
   * done, and returns the failure of that work. Work that waits for later work
   * then never ends. HOLDFAST_BLOCKING=1 in the environment also sets this. */
  bool blocking;
} hf_session_options;
#define HF_SESSION_OPTIONS_INIT                                  \
  {                                                              \
    sizeof(hf_session_options), NULL, NULL, 0, 0, 0, NULL, NULL, \
        HF_RECOVER_ALWAYS, 0, 0, false                           \
  }

/* Opens a session, which has an executor process of its own in the daemon and
 * owns streams, events, buffers, modules and graphs there. The session keeps
 * the connection open, even if the hf_daemon is freed. HF_UNAVAILABLE: there is
 * no daemon, or it has no executor. HF_RESOURCE_EXHAUSTED: the daemon has too
 * many sessions. Waits. */
hf_error* hf_session_open(hf_daemon* daemon, const hf_session_options* options,
                          hf_session** session);
/* Attaches to a session of the same tenant, "s-7", that has no client. Options
 * that do not concern the client are ignored. HF_NOT_FOUND: there is no such
 * session; HF_FAILED_PRECONDITION: the session has a client, was opened without
 * a detached_lifetime, or is lost. Waits. */
hf_error* hf_session_attach(hf_daemon* daemon, const char* session_id,
                            const hf_session_options* options,
                            hf_session** session);
/* Leaves the session without a client for its detached_lifetime; another client
 * can attach to it. Its work continues. This hf_session is closed afterwards,
 * and freeing its resources does not end them in the daemon. Waits until all
 * commands have arrived. */
hf_error* hf_session_detach(hf_session* session);
/* With HF_RECOVER_ASK: continues after the fault that a call has reported.
 * HF_FAILED_PRECONDITION: there is no fault. Waits. */
hf_error* hf_session_recover(hf_session* session);
/* Ends the session and drops unfinished work: synchronize first. Returns when
 * the executor is gone and all memory is free, after at most 10 seconds. A
 * closed session may be closed again. Waits. */
hf_error* hf_session_close(hf_session* session);
/* Closes the session as hf_session_close does, and frees the object. */
void hf_session_free(hf_session* session);

/* "s-7". */
const char* hf_session_id(const hf_session* session);
/* Returns an array of *count ordinals: the devices that the session may use, in
 * the order of the options. The array lives as long as the session. */
const uint32_t* hf_session_devices(const hf_session* session, size_t* count);
/* Returns when the work of all streams is done. Waits. */
hf_error* hf_session_synchronize(hf_session* session);
/* Returns when the daemon has processed every command so far; streams may not
 * have finished their work yet. Reports failures, such as a refused allocation,
 * as every call that waits does. Waits. */
hf_error* hf_session_check(hf_session* session);
/* Sends the commands of the batch that is being filled. Returns the number of
 * the last submitted command; commands are numbered from 1. Does not wait. */
uint64_t hf_session_flush(hf_session* session);

/* Sets *can to true if kernels of `device` can be given access to the memory of
 * `peer`. Waits. */
hf_error* hf_session_can_access_peer(hf_session* session, uint32_t device,
                                     uint32_t peer, bool* can);
/* Give kernels of `device` access to the memory of `peer`, or end this
 * access. */
hf_error* hf_session_enable_peer_access(hf_session* session, uint32_t device,
                                        uint32_t peer);
hf_error* hf_session_disable_peer_access(hf_session* session, uint32_t device,
                                         uint32_t peer);

/* Sets the calling thread's hook; NULL removes it. While the thread waits for
 * the result of a command, the hook is called about ten times a second with no
 * lock held. When it returns false, the waiting call returns HF_CANCELLED; the
 * work itself continues. Use a hook in languages whose signal handlers cannot
 * run inside a call. */
void hf_set_wait_hook(bool (*hook)(void));

/* Makes the calling thread quiet, or makes it an ordinary thread again; for a
 * library's own threads. A fault, or the failure of a command, is reported
 * once, by the next call that waits. A call of a quiet thread also fails with a
 * fault, but does not use up the report: the next waiting call of an ordinary
 * thread still returns it. */
void hf_set_quiet_thread(bool quiet);

/* ----------------------------------------------------------------- streams */

typedef struct hf_stream_options {
  size_t struct_size;
  /* A lower number is more urgent. hf_device_info_stream_priorities returns the
   * device's range. */
  int32_t priority;
  /* The stream synchronizes with the legacy default stream of the executor. */
  bool blocking;
} hf_stream_options;
#define HF_STREAM_OPTIONS_INIT \
  { sizeof(hf_stream_options), 0, false }

/* Makes an ordered queue of work on one device. There is no default stream. */
hf_error* hf_stream_create(hf_session* session, uint32_t device,
                           const hf_stream_options* options,
                           hf_stream** stream);
/* Frees the stream. Work that was submitted to it is still carried out. */
void hf_stream_free(hf_stream* stream);

uint32_t hf_stream_device(const hf_stream* stream);
/* The name of the stream in the session's commands; not a pointer. */
uint64_t hf_stream_handle(const hf_stream* stream);
/* Returns when all work of the stream so far is finished. Waits. */
hf_error* hf_stream_synchronize(hf_stream* stream);
/* Sets *done to true if all work of the stream so far is finished. Waits for
 * the answer. */
hf_error* hf_stream_is_done(hf_stream* stream, bool* done);
/* Records the event after the stream's work so far. */
hf_error* hf_stream_record(hf_stream* stream, hf_event* event);
/* Make later work of the stream wait for the last recording of the event, or
 * for the other stream's work so far. */
hf_error* hf_stream_wait_event(hf_stream* stream, const hf_event* event);
hf_error* hf_stream_wait_stream(hf_stream* stream, const hf_stream* other);
/* Returns the error if the stream could not be made; NULL if no error is known
 * yet. The daemon reports failures only: synchronize first to be sure. The
 * functions hf_NAME_status of other resources do the same. */
hf_error* hf_stream_status(const hf_stream* stream);

/* ------------------------------------------------------------------ events */

typedef struct hf_event_options {
  size_t struct_size;
  /* The event stores its time, for hf_event_elapsed. */
  bool timing;
  /* The executor sleeps, rather than spins, while it waits for the event. */
  bool blocking_sync;
  /* hf_event_export can share the event. Such an event cannot have timing,
   * takes 2 MiB of the device, and cannot be used in graphs. */
  bool interprocess;
} hf_event_options;
#define HF_EVENT_OPTIONS_INIT \
  { sizeof(hf_event_options), false, false, false }

hf_error* hf_event_create(hf_session* session, uint32_t device,
                          const hf_event_options* options, hf_event** event);
void hf_event_free(hf_event* event);

uint64_t hf_event_handle(const hf_event* event);
/* Returns when the last recording has been reached. Waits. */
hf_error* hf_event_synchronize(hf_event* event);
/* Sets *done to true if the last recording has been reached, or if the event
 * was never recorded. Waits for the answer. */
hf_error* hf_event_is_done(hf_event* event, bool* done);
/* Sets *milliseconds to the time from the recording of `start` to the recording
 * of `end`. HF_FAILED_PRECONDITION: one of the events has no timing, or was
 * never recorded. HF_UNAVAILABLE: a recording has not been reached. Waits for
 * the answer. */
hf_error* hf_event_elapsed(const hf_event* start, const hf_event* end,
                           float* milliseconds);
hf_error* hf_event_status(const hf_event* event);

/* ------------------------------------------------------------------ fences */

/* Makes a fence: a place in the session's commands that can be waited for. The
 * fence is reached when every command so far has been processed, and the work
 * of these streams so far is done. */
hf_error* hf_fence_create(hf_session* session, const hf_stream* const* streams,
                          size_t stream_count, hf_fence** fence);
void hf_fence_free(hf_fence* fence);
/* Returns when the fence is reached. Waits. */
hf_error* hf_fence_wait(hf_fence* fence);

/* ----------------------------------------------------------------- buffers */

/* Allocates memory of a device, aligned to 512 bytes, with undefined content.
 * With a stream, the memory can be used on that stream at once, and on other
 * streams after they have waited for that stream. It is then freed in the
 * stream's order. `stream` may be NULL. */
hf_error* hf_buffer_allocate(hf_session* session, uint32_t device,
                             uint64_t size, const hf_stream* stream,
                             hf_buffer** buffer);
/* Allocates memory as hf_buffer_allocate does, with a name by which a later
 * client of the session can take it (hf_buffer_take). The name is UTF-8 of at
 * most 256 bytes. */
hf_error* hf_buffer_allocate_named(hf_session* session, const char* name,
                                   uint32_t device, uint64_t size,
                                   const hf_stream* stream, hf_buffer** buffer);
/* Takes over the first buffer of this name that another client of the session
 * has made and this client has not taken over yet. The memory is freed with
 * *buffer. HF_NOT_FOUND: there is no such buffer. Waits. */
hf_error* hf_buffer_take(hf_session* session, const char* name,
                         hf_buffer** buffer);
/* Allocates pinned memory of the daemon's host. */
hf_error* hf_buffer_allocate_host(hf_session* session, uint64_t size,
                                  hf_buffer** buffer);
/* Makes an hf_buffer for a part of a buffer. The part is valid as long as the
 * buffer. */
hf_error* hf_buffer_sub(const hf_buffer* buffer, uint64_t offset, uint64_t size,
                        hf_buffer** part);
/* Free the memory in the order of a stream. hf_buffer_free uses the stream of
 * the allocation, or all streams if the allocation had none. hf_buffer_free_on
 * uses `stream`. */
void hf_buffer_free(hf_buffer* buffer);
void hf_buffer_free_on(hf_buffer* buffer, const hf_stream* stream);

uint64_t hf_buffer_size(const hf_buffer* buffer);
/* The name of the buffer in the session's commands; not an address. */
uint64_t hf_buffer_handle(const hf_buffer* buffer);
/* Sets *address to the address at which kernels of the session find the first
 * byte. It can be put into structs, tables of pointers in device memory, or
 * arguments of 64 bits. The address does not change over faults, upgrades and
 * suspensions, so only the first call waits. For a module's variable, whose
 * address may change over a suspension, every call waits. */
hf_error* hf_buffer_address(const hf_buffer* buffer, uint64_t* address);
hf_error* hf_buffer_status(const hf_buffer* buffer);

/* Copies from ordinary memory, which may be changed when the call returns. A
 * large copy waits until the bytes are in the buffer. */
hf_error* hf_buffer_upload(const hf_buffer* buffer, uint64_t offset,
                           const void* data, uint64_t size,
                           const hf_stream* stream);
/* Copies to ordinary memory. Success means that `data` has the buffer's bytes.
 * Waits. */
hf_error* hf_buffer_download(const hf_buffer* buffer, uint64_t offset,
                             void* data, uint64_t size,
                             const hf_stream* stream);
/* Copies between buffers; in one buffer the ranges must not overlap. */
hf_error* hf_buffer_copy(const hf_buffer* destination,
                         uint64_t destination_offset, const hf_buffer* source,
                         uint64_t source_offset, uint64_t size,
                         const hf_stream* stream);
/* Fills a range with a repeated pattern of 1, 2 or 4 bytes. `offset` and `size`
 * are multiples of `pattern_size`. */
hf_error* hf_buffer_fill(const hf_buffer* buffer, uint64_t offset,
                         uint64_t size, const void* pattern,
                         size_t pattern_size, const hf_stream* stream);

/* The place of a box in a buffer: the offset of its first row, and the bytes
 * from one row to the next and from one slice to the next. A pitch of 0: there
 * are no gaps. */
typedef struct hf_box_range {
  const hf_buffer* buffer;
  uint64_t offset;
  uint64_t row_pitch;
  uint64_t slice_pitch;
} hf_box_range;

/* Copies `depth` slices of `height` rows of `width` bytes. */
hf_error* hf_buffer_copy_box(const hf_box_range* destination,
                             const hf_box_range* source, uint64_t width,
                             uint64_t height, uint64_t depth,
                             const hf_stream* stream);
/* Fills `height` rows of `width` bytes with a pattern of 1, 2 or 4 bytes. */
hf_error* hf_buffer_fill_rows(const hf_box_range* range, uint64_t width,
                              uint64_t height, const void* pattern,
                              size_t pattern_size, const hf_stream* stream);

typedef struct hf_range_copy {
  const hf_buffer* destination;
  uint64_t destination_offset;
  const hf_buffer* source;
  uint64_t source_offset;
  uint64_t size;
} hf_range_copy;

/* Makes all copies, in any order. If one copy is refused, makes none. */
hf_error* hf_buffer_copy_all(const hf_range_copy* copies, size_t count,
                             const hf_stream* stream);

/* ------------------------------------------------------------------ arenas */

/* Makes an arena: memory of this process that the session's executor also maps
 * and page-locks, so that copies between the arena and buffers need no socket.
 * Takes about 40 ms a GiB: make one arena, and allocate spans in it.
 * HF_FAILED_PRECONDITION: the executor is on another machine. Waits. */
hf_error* hf_arena_create(hf_session* session, uint64_t size, hf_arena** arena);
/* Makes an arena of a whole memfd, which other processes may also have. The
 * memfd must have the seals F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL, and no
 * seal against writing. The caller keeps the descriptor. */
hf_error* hf_arena_create_of(hf_session* session, int memory, hf_arena** arena);
/* Frees the arena. The memory is unmapped when all its spans are freed, too. */
void hf_arena_free(hf_arena* arena);
uint64_t hf_arena_size(const hf_arena* arena);

/* Allocates bytes of the arena, aligned to 256 bytes and not cleared.
 * HF_RESOURCE_EXHAUSTED: no free range is large enough. */
hf_error* hf_arena_allocate(hf_arena* arena, uint64_t size, hf_span** span);
/* Makes a span of bytes that another process has allocated in the same memory.
 * The bytes do not count as allocated in this arena. */
hf_error* hf_arena_span_at(hf_arena* arena, uint64_t offset, uint64_t size,
                           hf_span** span);
/* Frees the span. Synchronize first with the copies and kernels that use it. */
void hf_span_free(hf_span* span);
void* hf_span_data(const hf_span* span);
uint64_t hf_span_size(const hf_span* span);
/* The offset of the span in its arena. */
uint64_t hf_span_offset(const hf_span* span);
/* Sets *address to the address at which kernels of the session find the first
 * byte. It equals hf_span_data, unless that address is in use in this process
 * or the executor, and does not change over faults, upgrades and suspensions.
 * Only pointers that kernels read from memory need it; arguments of launches
 * may be addresses of hf_span_data. HF_FAILED_PRECONDITION: the arena has no
 * lasting address. */
hf_error* hf_span_address(const hf_span* span, uint64_t* address);

/* Copy between a span and a buffer. Do not wait: do not use the bytes of the
 * span until the stream has done the copy. */
hf_error* hf_span_to_buffer(const hf_span* span, uint64_t span_offset,
                            const hf_buffer* buffer, uint64_t offset,
                            uint64_t size, const hf_stream* stream);
hf_error* hf_span_from_buffer(const hf_span* span, uint64_t span_offset,
                              const hf_buffer* buffer, uint64_t offset,
                              uint64_t size, const hf_stream* stream);

/* The bytes of a buffer or of a span from an offset to the end. Either `buffer`
 * or `span` is NULL. */
typedef struct hf_place {
  const hf_buffer* buffer;
  const hf_span* span;
  uint64_t offset;
} hf_place;

/* Copy and fill buffers and spans. Neither waits for the work: do not use the
 * bytes of a span until the stream has done the work. A fill repeats `pattern`
 * of 1, 2 or 4 bytes over `height` rows of `width` bytes, with `pitch` bytes
 * from one row to the next; 0: without gaps. */
hf_error* hf_place_copy(const hf_place* destination, const hf_place* source,
                        uint64_t size, const hf_stream* stream);
hf_error* hf_place_fill(const hf_place* destination, uint64_t width,
                        uint64_t height, uint64_t pitch, const void* pattern,
                        size_t pattern_size, const hf_stream* stream);

/* --------------------------------------------------------------- compiling */

typedef enum hf_language {
  HF_CUDA_CPP = 1,
  HF_PTX_SOURCE = 2,
  HF_NVVM_IR = 3
} hf_language;

typedef enum hf_format {
  HF_ANY_FORMAT = 0, /* the best format for device 0 of the daemon */
  HF_PTX = 1,
  HF_CUBIN = 2,
  HF_LTOIR = 3,
  HF_FATBIN = 4,
  HF_OBJECT = 5,
  HF_LIBRARY = 6
} hf_format;

/* A name and the bytes that belong to it. */
typedef struct hf_named_bytes {
  const char* name;
  const void* data;
  size_t size;
} hf_named_bytes;

/* The progress of a compilation or a link. */
typedef struct hf_compile_progress {
  /* True: waiting, since all compilers are busy. False: compiling or linking.
   */
  bool queued;
  /* The place in the queue, 1 for the next, and the length of the queue. 0 if
   * `queued` is false. */
  uint32_t queue_position;
  uint32_t queue_length;
} hf_compile_progress;

/* Called now and then, by the thread that called hf_compile or hf_link. */
typedef void (*hf_compile_progress_function)(
    void* user, const hf_compile_progress* progress);

typedef struct hf_compile_options {
  size_t struct_size;
  hf_language language;
  hf_format target;
  /* The name of the source in messages; NULL: "source.cu". */
  const char* name;
  /* "sm_90", "90" ...; NULL: the architecture of device 0. */
  const char* arch;
  /* One word each, as NVRTC spells them: "--fmad=false". */
  const char* const* options;
  size_t option_count;
  /* Template instantiations to compile: "vector_add<float>". */
  const char* const* name_expressions;
  size_t name_expression_count;
  /* Headers that the source may include, by the name in #include. */
  const hf_named_bytes* headers;
  size_t header_count;
  /* For NVVM IR only: more modules of the program. */
  const hf_named_bytes* extra_sources;
  size_t extra_source_count;
  /* Called with `progress_user` while the program waits or is compiled; may be
   * NULL. */
  hf_compile_progress_function progress;
  void* progress_user;
  /* Folders of this machine. The headers in them that the source includes are
   * read and sent. CUDA C++ only. */
  const char* const* include_path;
  size_t include_path_count;
  /* Headers that are included before the source's first line. */
  const char* const* pre_include;
  size_t pre_include_count;
} hf_compile_options;
#define HF_COMPILE_OPTIONS_INIT                                               \
  {                                                                           \
    sizeof(hf_compile_options), HF_CUDA_CPP, HF_ANY_FORMAT, NULL, NULL, NULL, \
        0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, NULL, 0            \
  }

/* Compiles in the daemon, or returns the object code of an earlier compilation.
 * HF_INVALID_ARGUMENT: the source does not compile (hf_error_log() has the
 * log), or an option is wrong. Waits. */
hf_error* hf_compile(hf_daemon* daemon, const void* source, size_t size,
                     const hf_compile_options* options,
                     hf_compilation** compilation);

typedef struct hf_link_options {
  size_t struct_size;
  hf_format target;
  const char* arch;
  /* One word each, as nvJitLink spells them: "-maxrregcount=32". */
  const char* const* options;
  size_t option_count;
  /* Called with `progress_user` while the link waits or runs; may be NULL. */
  hf_compile_progress_function progress;
  void* progress_user;
} hf_link_options;
#define HF_LINK_OPTIONS_INIT \
  { sizeof(hf_link_options), HF_ANY_FORMAT, NULL, NULL, 0, NULL, NULL }

typedef struct hf_link_input {
  const hf_object* object;
  const char* name; /* for messages; may be NULL */
} hf_link_input;

/* Links objects of the daemon's store, in this order. HF_INVALID_ARGUMENT as
 * for hf_compile. Waits. */
hf_error* hf_link(hf_daemon* daemon, const hf_link_input* inputs, size_t count,
                  const hf_link_options* options, hf_compilation** compilation);

void hf_compilation_free(hf_compilation* compilation);
/* Returns the object code, which lives as long as the compilation. */
const hf_object* hf_compilation_object(const hf_compilation* compilation);
/* Warnings and remarks of the compiler. */
const char* hf_compilation_log(const hf_compilation* compilation);
/* Holdfast's own warnings, one a line. */
const char* hf_compilation_warnings(const hf_compilation* compilation);
/* "NVRTC 13.0". */
const char* hf_compilation_compiler(const hf_compilation* compilation);
/* "sm_90" of a cubin, "compute_90" of PTX and LTO IR. */
const char* hf_compilation_arch(const hf_compilation* compilation);
bool hf_compilation_cache_hit(const hf_compilation* compilation);
/* The time in the compiler; 0 if the cache had the result. */
double hf_compilation_seconds(const hf_compilation* compilation);

/* The kind of a kernel's parameter, as far as the kernel's PTX tells it. */
typedef enum hf_parameter_kind {
  HF_OTHER_PARAMETER = 0,   /* a struct, or unknown */
  HF_INTEGER_PARAMETER = 1, /* an integer or a pointer */
  HF_FLOAT_PARAMETER = 2,
} hf_parameter_kind;

/* The number of kernels whose parameters are known. Parameters are known for
 * PTX, and for a cubin that was made by way of PTX. 0 with a daemon that is
 * older than this function. */
size_t hf_compilation_kernel_count(const hf_compilation* compilation);
/* Returns the name that kernel number `index` has in the object. Sets *kinds to
 * the kinds of its *count parameters. REQUIRES: index <
 * hf_compilation_kernel_count(). */
const char* hf_compilation_kernel_at(const hf_compilation* compilation,
                                     size_t index,
                                     const hf_parameter_kind** kinds,
                                     size_t* count);

/* Puts an object into the daemon's store. Objects are immutable, are stored by
 * their SHA-256, and can be used by all sessions of the daemon. `symbols` maps
 * source-level names to names in the object (`data` is a string of `size`
 * bytes); it may be NULL. Waits. */
hf_error* hf_object_put(hf_daemon* daemon, const void* data, size_t size,
                        hf_format format, const hf_named_bytes* symbols,
                        size_t symbol_count, hf_object** object);
void hf_object_free(hf_object* object);
hf_format hf_object_format(const hf_object* object);
uint64_t hf_object_size(const hf_object* object);
/* 32 bytes. */
const uint8_t* hf_object_sha256(const hf_object* object);
size_t hf_object_symbol_count(const hf_object* object);
/* Returns the source-level name number `index`, and sets *lowered to its name
 * in the object. REQUIRES: index < count. */
const char* hf_object_symbol_at(const hf_object* object, size_t index,
                                const char** lowered);
/* Returns the object's bytes. HF_NOT_FOUND: the store does not have them any
 * more. Waits. */
hf_error* hf_object_fetch(hf_daemon* daemon, const hf_object* object,
                          hf_text** bytes);

/* ----------------------------------------------------- modules and kernels */

/* Loads PTX, a cubin or a fatbin on every device of the session. */
hf_error* hf_module_load(hf_session* session, const hf_object* object,
                         hf_module** module);
/* Frees the module. The code is unloaded when its kernels and globals are
 * freed, too. */
void hf_module_free(hf_module* module);
/* Returns the names that the module's kernels have in the object, sorted, one a
 * line. Waits. */
hf_error* hf_module_kernel_names(const hf_module* module, hf_text** names);
/* Finds a kernel by its source-level name, "vector_add<float>", or by its name
 * in the object. Does not wait: if there is no such kernel, launches of *kernel
 * fail with HF_NOT_FOUND. */
hf_error* hf_module_kernel(const hf_module* module, const char* name,
                           hf_kernel** kernel);
/* Makes a buffer for a __device__ or __constant__ variable on one device.
 * HF_NOT_FOUND: there is no such variable. Waits. */
hf_error* hf_module_global(const hf_module* module, const char* name,
                           uint32_t device, hf_buffer** buffer);

void hf_kernel_free(hf_kernel* kernel);
uint64_t hf_kernel_handle(const hf_kernel* kernel);
hf_error* hf_kernel_status(const hf_kernel* kernel);
/* Describes a kernel: its name, its parameters, and its attributes on one
 * device. HF_NOT_FOUND: there is no such kernel; the message lists the module's
 * kernels. Waits. */
hf_error* hf_kernel_describe(const hf_kernel* kernel, uint32_t device,
                             hf_kernel_info** info);
/* Sets an attribute for later launches on the device. `attribute` is a name as
 * in hf_kernel_info_attribute. */
hf_error* hf_kernel_set_attribute(const hf_kernel* kernel, uint32_t device,
                                  const char* attribute, int64_t value);

void hf_kernel_info_free(hf_kernel_info* info);
/* The name of the kernel in the object. */
const char* hf_kernel_info_name(const hf_kernel_info* info);
/* Sets *value to a CUfunction_attribute. `name` is the attribute's name without
 * CU_FUNC_ATTRIBUTE_, in lower case: "num_regs". Returns false, and leaves
 * *value, if the driver does not have the attribute. */
bool hf_kernel_info_attribute(const hf_kernel_info* info, const char* name,
                              int64_t* value);
size_t hf_kernel_info_parameter_count(const hf_kernel_info* info);
/* Sets the offset of a parameter in the block of all parameters, and its size.
 * REQUIRES: index < count. */
void hf_kernel_info_parameter(const hf_kernel_info* info, size_t index,
                              uint64_t* offset, uint64_t* size);

/* --------------------------------------------------------------- launching */

/* Attributes of a launch, CUlaunchAttribute; proto/holdfast/v1/launch.proto
 * documents their values. */
typedef enum hf_launch_attribute_kind {
  HF_PROGRAMMATIC_STREAM_SERIALIZATION = 1, /* number: 0 or 1 */
  HF_PRIORITY = 2,                          /* number */
  HF_CLUSTER_SCHEDULING_POLICY = 3,         /* number: an enumeration */
  HF_SYNCHRONIZATION_POLICY = 4,            /* number: an enumeration */
  HF_MEM_SYNC_DOMAIN = 5,                   /* number: an enumeration */
  HF_MEM_SYNC_DOMAIN_MAP = 6,               /* domains */
  HF_PREFERRED_CLUSTER = 7,                 /* dim */
  HF_LAUNCH_COMPLETION_EVENT = 8,           /* event */
  HF_ACCESS_POLICY_WINDOW = 9,              /* window */
  HF_PROGRAMMATIC_EVENT = 10,               /* programmatic_event */
  HF_PREFERRED_SHARED_MEMORY_CARVEOUT = 11  /* number: percent */
} hf_launch_attribute_kind;

/* The cache's policy for accesses to a range of a buffer. */
typedef struct hf_access_policy_window {
  const hf_buffer* buffer;
  uint64_t offset;
  uint64_t size;
  float hit_ratio; /* the share that gets hit_property: 0 to 1 */
  int hit_property, miss_property; /* AccessProperty */
} hf_access_policy_window;

/* An event that is recorded when the kernel triggers it, or when every block
 * has begun. */
typedef struct hf_programmatic_event {
  const hf_event* event;
  bool trigger_at_block_start;
} hf_programmatic_event;

typedef struct hf_launch_attribute {
  hf_launch_attribute_kind kind;
  union {
    int64_t number;
    hf_dim3 dim;
    const hf_event* event;
    struct {
      uint32_t default_domain, remote_domain;
    } domains;
    const hf_access_policy_window* window;
    const hf_programmatic_event* programmatic_event;
  } value;
} hf_launch_attribute;

typedef struct hf_launch_config {
  size_t struct_size;
  /* `grid` is in blocks, also with clusters; `block` is in threads; `cluster`
   * is in blocks, and all 0 if there are no clusters. */
  hf_dim3 grid;
  hf_dim3 block;
  hf_dim3 cluster;
  /* If this is more than 48 KiB, the kernel's limit is raised as needed. */
  uint32_t dynamic_shared_bytes;
  /* True: all blocks of the grid are resident at the same time, so they may
   * wait for each other. */
  bool cooperative;
  const hf_launch_attribute* attributes;
  size_t attribute_count;
} hf_launch_config;
#define HF_LAUNCH_CONFIG_INIT                                                  \
  {                                                                            \
    sizeof(hf_launch_config), {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, false, NULL, \
        0                                                                      \
  }

typedef enum hf_argument_kind {
  HF_ARG_NULL = 0,   /* a null pointer */
  HF_ARG_BUFFER = 1, /* the address of `value.buffer`, plus `size` bytes */
  HF_ARG_BOOL = 2,   /* value.number, 0 or 1 */
  HF_ARG_I8 = 3,     /* value.number ... */
  HF_ARG_I16 = 4,
  HF_ARG_I32 = 5,
  HF_ARG_I64 = 6,
  HF_ARG_U8 = 7,
  HF_ARG_U16 = 8,
  HF_ARG_U32 = 9,
  HF_ARG_U64 = 10,
  HF_ARG_F16 = 11, /* value.number: the bits of a half or a bfloat16 */
  HF_ARG_F32 = 12, /* value.f32 */
  HF_ARG_F64 = 13, /* value.f64 */
  HF_ARG_RAW = 14, /* value.data, `size` bytes: a struct as it stands */
  /* value.number: a condition of a graph, for a parameter of type
   * cudaGraphConditionalHandle of a launch in that graph. */
  HF_ARG_CONDITION = 15,
  HF_ARG_SPAN = 16 /* the address of `value.span`, plus `size` bytes */
} hf_argument_kind;

/* One argument of a kernel. The daemon checks its size against the size of the
 * parameter. The pointers of an argument must be valid until hf_launch or
 * hf_node_launch returns. */
typedef struct hf_argument {
  hf_argument_kind kind;
  uint64_t size;
  union {
    int64_t number;
    float f32;
    double f64;
    const hf_buffer* buffer;
    const hf_span* span;
    const void* data;
  } value;
} hf_argument;

/* Submits one launch, with one argument for each parameter. A configuration
 * that the device cannot run is refused at once. The daemon checks everything
 * else before it launches, and the next call that waits reports the failure. */
hf_error* hf_launch(const hf_stream* stream, const hf_launch_config* config,
                    const hf_kernel* kernel, const hf_argument* arguments,
                    size_t argument_count);

/* Return the occupancy of a device by a kernel, as cuOccupancy* does. Each
 * waits. HF_UNIMPLEMENTED: the device has no clusters. */
hf_error* hf_occupancy_active_blocks(const hf_kernel* kernel, uint32_t device,
                                     uint32_t threads, uint64_t dynamic_shared,
                                     uint64_t* blocks);
/* *threads: the best number of threads in a block, at most `max_threads`.
 * max_threads 0: as many as the kernel allows. *min_grid: the number of blocks
 * that fill the device. */
hf_error* hf_occupancy_block_size(const hf_kernel* kernel, uint32_t device,
                                  uint64_t dynamic_shared, uint32_t max_threads,
                                  uint32_t* threads, uint32_t* min_grid);
hf_error* hf_occupancy_dynamic_shared(const hf_kernel* kernel, uint32_t device,
                                      uint32_t blocks, uint32_t threads,
                                      uint64_t* bytes);
hf_error* hf_occupancy_cluster_size(const hf_kernel* kernel, uint32_t device,
                                    const hf_launch_config* config,
                                    uint64_t* blocks);
hf_error* hf_occupancy_active_clusters(const hf_kernel* kernel, uint32_t device,
                                       const hf_launch_config* config,
                                       uint64_t* clusters);

/* Make arguments from values. */
static inline hf_argument hf_number_(hf_argument_kind kind, int64_t number) {
  hf_argument argument;
  argument.kind = kind;
  argument.size = 0;
  argument.value.number = number;
  return argument;
}
static inline hf_argument hf_bool(bool v) { return hf_number_(HF_ARG_BOOL, v); }
static inline hf_argument hf_i8(int8_t v) { return hf_number_(HF_ARG_I8, v); }
static inline hf_argument hf_i16(int16_t v) {
  return hf_number_(HF_ARG_I16, v);
}
static inline hf_argument hf_i32(int32_t v) {
  return hf_number_(HF_ARG_I32, v);
}
static inline hf_argument hf_i64(int64_t v) {
  return hf_number_(HF_ARG_I64, v);
}
static inline hf_argument hf_u8(uint8_t v) { return hf_number_(HF_ARG_U8, v); }
static inline hf_argument hf_u16(uint16_t v) {
  return hf_number_(HF_ARG_U16, v);
}
static inline hf_argument hf_u32(uint32_t v) {
  return hf_number_(HF_ARG_U32, v);
}
static inline hf_argument hf_u64(uint64_t v) {
  return hf_number_(HF_ARG_U64, (int64_t)v);
}
static inline hf_argument hf_f32(float v) {
  hf_argument argument = hf_number_(HF_ARG_F32, 0);
  argument.value.f32 = v;
  return argument;
}
static inline hf_argument hf_f64(double v) {
  hf_argument argument = hf_number_(HF_ARG_F64, 0);
  argument.value.f64 = v;
  return argument;
}
/* The address of the buffer's byte `offset`. */
static inline hf_argument hf_pointer_at(const hf_buffer* buffer,
                                        uint64_t offset) {
  hf_argument argument = hf_number_(HF_ARG_BUFFER, 0);
  argument.size = offset;
  argument.value.buffer = buffer;
  return argument;
}
static inline hf_argument hf_pointer(const hf_buffer* buffer) {
  return hf_pointer_at(buffer, 0);
}
/* The address of byte `offset` of a span: the kernel uses the memory of this
 * process. Synchronize before the host reads the memory or frees the span. */
static inline hf_argument hf_span_pointer_at(const hf_span* span,
                                             uint64_t offset) {
  hf_argument argument = hf_number_(HF_ARG_SPAN, 0);
  argument.size = offset;
  argument.value.span = span;
  return argument;
}
static inline hf_argument hf_span_pointer(const hf_span* span) {
  return hf_span_pointer_at(span, 0);
}
/* A condition of the graph that the launch is in. */
static inline hf_argument hf_condition(uint32_t condition) {
  return hf_number_(HF_ARG_CONDITION, (int64_t)condition);
}
/* A struct's bytes as they stand in memory. */
static inline hf_argument hf_raw(const void* data, uint64_t size) {
  hf_argument argument = hf_number_(HF_ARG_RAW, 0);
  argument.size = size;
  argument.value.data = data;
  return argument;
}

/* ------------------------------------------------------------------ graphs */

/* An hf_definition is a graph as a value: nodes and the dependencies between
 * them. The daemon checks the definition as a whole and makes an hf_graph of
 * it. From the hf_graph it makes an hf_graph_exec, which is ready to run. A
 * launch is one command, however many nodes the graph has.
 *
 *   hf_node* zero;
 *   hf_node* step;
 *   CHECK(hf_node_fill(y, 0, bytes, &pattern, 4, &zero));
 *   CHECK(hf_node_launch(&config, saxpy, arguments, 3, &step));
 *   uint32_t first, second;
 *   CHECK(hf_definition_create(&definition));
 *   CHECK(hf_definition_add(definition, zero, NULL, 0, &first));
 *   CHECK(hf_definition_add(definition, step, &first, 1, &second));
 *   CHECK(hf_graph_create(session, definition, &graph));
 *   CHECK(hf_graph_instantiate(graph, NULL, &exec));
 *   CHECK(hf_graph_exec_launch(exec, stream));
 *
 * Nodes and definitions are plain values of this process. They name kernels,
 * buffers and events, but do not keep them alive; the hf_graph does. So free a
 * kernel, buffer or event only after the hf_graph was created. Two threads must
 * not change a definition at the same time. */

/* These functions make an hf_node: the kind and the parameters of a node. An
 * hf_node is used to add a node to a definition, or to change a node of a
 * definition or of an hf_graph_exec. The caller frees it. */
hf_error* hf_node_launch(const hf_launch_config* config,
                         const hf_kernel* kernel, const hf_argument* arguments,
                         size_t argument_count, hf_node** node);
/* Copy or fill as hf_buffer_copy_all, hf_buffer_copy_box, hf_buffer_fill and
 * hf_buffer_fill_rows do. */
hf_error* hf_node_copy(const hf_range_copy* copy, hf_node** node);
hf_error* hf_node_copy_box(const hf_box_range* destination,
                           const hf_box_range* source, uint64_t width,
                           uint64_t height, uint64_t depth, hf_node** node);
hf_error* hf_node_fill(const hf_buffer* buffer, uint64_t offset, uint64_t size,
                       const void* pattern, size_t pattern_size,
                       hf_node** node);
hf_error* hf_node_fill_rows(const hf_box_range* range, uint64_t width,
                            uint64_t height, const void* pattern,
                            size_t pattern_size, hf_node** node);
/* Copy or fill as hf_place_copy and hf_place_fill do. */
hf_error* hf_node_place_copy(const hf_place* destination,
                             const hf_place* source, uint64_t size,
                             hf_node** node);
hf_error* hf_node_place_fill(const hf_place* destination, uint64_t width,
                             uint64_t height, uint64_t pitch,
                             const void* pattern, size_t pattern_size,
                             hf_node** node);
/* Records an event, or waits for one, at each launch of the graph. */
hf_error* hf_node_record(const hf_event* event, hf_node** node);
hf_error* hf_node_wait(const hf_event* event, hf_node** node);
/* Sets a semaphore, or waits until its value is at least `value`, at each
 * launch of the graph. The node must run on the semaphore's device: call
 * hf_node_set_device if this device is not the session's first. */
hf_error* hf_node_signal(const hf_semaphore* semaphore, uint64_t value,
                         hf_node** node);
hf_error* hf_node_await(const hf_semaphore* semaphore, uint64_t value,
                        hf_node** node);
/* Does nothing; joins dependencies. */
hf_error* hf_node_empty(hf_node** node);
/* Allocates `memory`, made by hf_buffer_of_graph, on a device; kernels of the
 * devices in `accessible_from` can use it, too. hf_node_release frees this
 * memory. */
hf_error* hf_node_allocation(const hf_buffer* memory, uint32_t device,
                             const uint32_t* accessible_from, size_t count,
                             hf_node** node);
hf_error* hf_node_release(const hf_buffer* memory, hf_node** node);
/* Runs a whole definition as one node. */
hf_error* hf_node_child(const hf_definition* child, hf_node** node);
/* Runs `then` if the condition is not 0, else `otherwise`, which may be NULL.
 * The bodies of conditional nodes may contain launches, copies, fills, empty
 * nodes, child definitions and conditional nodes. HF_INVALID_ARGUMENT: a body
 * contains another kind of node. */
hf_error* hf_node_if(uint32_t condition, const hf_definition* then,
                     const hf_definition* otherwise, hf_node** node);
/* Runs the body repeatedly while the condition is not 0; tests it before each
 * time. */
hf_error* hf_node_while(uint32_t condition, const hf_definition* body,
                        hf_node** node);
/* Runs branch n if the condition is n, and nothing if there is no such
 * branch. */
hf_error* hf_node_switch(uint32_t condition,
                         const hf_definition* const* branches, size_t count,
                         hf_node** node);
/* Sets the device that runs the node. Default: the session's first device. */
void hf_node_set_device(hf_node* node, uint32_t device);
/* Returns the kind and the parameters, as JSON of the message GraphNode in
 * graph_commands.proto. */
hf_error* hf_node_describe(const hf_node* node, hf_text** json);
void hf_node_free(hf_node* node);

/* Makes an hf_buffer for memory that a node of a graph will allocate. It must
 * live until the graph is created. */
hf_error* hf_buffer_of_graph(hf_session* session, uint64_t size,
                             hf_buffer** memory);

hf_error* hf_definition_create(hf_definition** definition);
hf_error* hf_definition_copy(const hf_definition* definition,
                             hf_definition** copy);
void hf_definition_free(hf_definition* definition);
/* Adds a node that runs when all of `after` have finished. *id, which is never
 * 0, names the node in this definition, in its copies and in the graphs that
 * are made from it. */
hf_error* hf_definition_add(hf_definition* definition, const hf_node* node,
                            const uint32_t* after, size_t after_count,
                            uint32_t* id);
/* Gives a node other parameters, of any kind. */
hf_error* hf_definition_set(hf_definition* definition, uint32_t id,
                            const hf_node* node);
/* Removes a node and its edges: its successors do not wait for its
 * predecessors any more. */
hf_error* hf_definition_remove(hf_definition* definition, uint32_t id);
/* Declares a condition, a value that kernels set (cudaGraphSetConditional) and
 * one conditional node tests. At each launch the condition has *default_value;
 * NULL: the value that was set last. *condition receives the id, which is
 * unique in the process. */
hf_error* hf_definition_create_condition(hf_definition* definition,
                                         const uint32_t* default_value,
                                         uint32_t* condition);
size_t hf_definition_size(const hf_definition* definition);
/* Returns node number `index`, in topological order: its id, a copy of the node
 * for the caller to free (`node` may be NULL), and the ids of its *after_count
 * predecessors. The array of ids is valid until the definition changes.
 * HF_OUT_OF_RANGE: index >= size. */
hf_error* hf_definition_node(const hf_definition* definition, size_t index,
                             uint32_t* id, hf_node** node,
                             const uint32_t** after, size_t* after_count);

/* A name for a kernel, buffer or event in texts, by its handle. */
typedef struct hf_handle_name {
  uint64_t handle;
  const char* name;
} hf_handle_name;

/* Describe a definition as text with one line a node, or as a drawing in DOT,
 * for `dot -Tsvg`. Both work in this process, without the daemon. */
hf_error* hf_definition_text(const hf_definition* definition,
                             const hf_handle_name* names, size_t name_count,
                             hf_text** text);
hf_error* hf_definition_dot(const hf_definition* definition,
                            const hf_handle_name* names, size_t name_count,
                            const char* title, hf_text** dot);

/* Write and read a definition as text that can be stored or sent: JSON of the
 * message GraphDefinition in graph_commands.proto. The text names kernels,
 * buffers, events and semaphores of the session by their handles;
 * hf_definition_rebind replaces the handles for another session.
 * hf_definition_read returns HF_INVALID_ARGUMENT if the text is not a valid
 * definition. */
hf_error* hf_definition_json(const hf_definition* definition, hf_text** json);
hf_error* hf_definition_read(const char* json, hf_definition** definition);
typedef struct hf_handle_pair {
  uint64_t from;
  uint64_t to;
} hf_handle_pair;
/* Copies a definition with every handle `from` replaced by its `to`.
 * HF_INVALID_ARGUMENT: a handle has no pair; the message names the node and the
 * handle. */
hf_error* hf_definition_rebind(const hf_definition* definition,
                               const hf_handle_pair* handles,
                               size_t handle_count, hf_definition** rebound);

/* Records the work of a stream until hf_capture_end, instead of submitting it.
 * Launches, copies, fills and allocations on the stream become nodes, and
 * recorded events become edges. A stream that waits for an event of the capture
 * joins the capture, and the first stream must wait for the joined stream
 * before the end. Uploads, downloads and waits fail with HF_FAILED_PRECONDITION
 * and invalidate the capture. HF_FAILED_PRECONDITION: the stream captures
 * already. */
hf_error* hf_capture_begin(const hf_stream* stream, hf_capture** capture);
/* Ends the capture, and returns the definition. HF_FAILED_PRECONDITION: an
 * operation has broken the capture (the message has the first error), or the
 * first stream has not waited for a stream that joined. */
hf_error* hf_capture_end(hf_capture* capture, hf_definition** definition);
/* Frees the capture. If it has not ended, drops the captured work. */
void hf_capture_free(hf_capture* capture);
/* Declares a condition of the captured definition, as
 * hf_definition_create_condition does. */
hf_error* hf_capture_create_condition(hf_capture* capture,
                                      const uint32_t* default_value,
                                      uint32_t* condition);
/* Adds a node of any kind after the captured work of a stream. *id names the
 * node in the definition. */
hf_error* hf_capture_add(hf_capture* capture, const hf_stream* stream,
                         const hf_node* node, uint32_t* id);
bool hf_stream_is_capturing(const hf_stream* stream);

/* Makes a graph of a definition, which the daemon checks. Does not wait. The
 * next call that waits reports a failure, with the path of the node ("node 7,
 * branch 0, node 3"). */
hf_error* hf_graph_create(hf_session* session, const hf_definition* definition,
                          hf_graph** graph);
void hf_graph_free(hf_graph* graph);
hf_error* hf_graph_status(const hf_graph* graph);
/* Returns the driver's drawing of the graph in DOT, without addresses.
 * `verbose`: with the parameters of the nodes. Waits. */
hf_error* hf_graph_draw(const hf_graph* graph, bool verbose, hf_text** dot);

typedef struct hf_graph_options {
  size_t struct_size;
  /* CUDA's flag AUTO_FREE_ON_LAUNCH, accepted for programs that set it. It has
   * no effect: memory is allocated with the graph, and launches do not
   * allocate. */
  bool auto_free_on_launch;
  /* Launches keep the priority of their nodes, not the stream's. */
  bool use_node_priority;
} hf_graph_options;
#define HF_GRAPH_OPTIONS_INIT \
  { sizeof(hf_graph_options), false, false }

/* Makes an hf_graph_exec of a graph. The graph may be freed afterwards. */
hf_error* hf_graph_instantiate(const hf_graph* graph,
                               const hf_graph_options* options,
                               hf_graph_exec** exec);
void hf_graph_exec_free(hf_graph_exec* exec);
uint64_t hf_graph_exec_handle(const hf_graph_exec* exec);
hf_error* hf_graph_exec_status(const hf_graph_exec* exec);
/* Runs the graph as one operation of the stream. */
hf_error* hf_graph_exec_launch(const hf_graph_exec* exec,
                               const hf_stream* stream);
/* Sends the graph to the device ahead of its next launch. */
hf_error* hf_graph_exec_upload(const hf_graph_exec* exec,
                               const hf_stream* stream);
/* Change later launches. hf_graph_exec_update takes all parameters from a graph
 * with the same nodes in the same order; hf_graph_exec_set_node replaces the
 * parameters of one node by others of the same kind; hf_graph_exec_set_enabled
 * enables or disables a launch, copy or fill. `within`: the child nodes that
 * contain the node, the outermost first. If a change is refused, nothing
 * changes, and the next call that waits returns HF_FAILED_PRECONDITION. */
hf_error* hf_graph_exec_update(const hf_graph_exec* exec,
                               const hf_graph* graph);
hf_error* hf_graph_exec_set_node(const hf_graph_exec* exec,
                                 const uint32_t* within, size_t within_count,
                                 uint32_t id, const hf_node* node);
hf_error* hf_graph_exec_set_enabled(const hf_graph_exec* exec,
                                    const uint32_t* within, size_t within_count,
                                    uint32_t id, bool enabled);

/* ----------------------------------------------------------------- sharing */

/* Sessions share buffers, events and semaphores by tokens: 16 bytes that an
 * export makes and an import redeems. A token is a secret: any client of the
 * daemon that has it may use it. Memory lives until its last importer has freed
 * it, even if the session that made it has ended. */
enum { HF_TOKEN_BYTES = 16 };
/* The size of CUipcMemHandle, CUipcEventHandle and CUmemPoolPtrExportData. */
enum { HF_IPC_HANDLE_BYTES = 64 };

typedef struct hf_export_options {
  size_t struct_size;
  /* True: importers may write, or signal. False: the device prevents it. */
  bool writable;
  /* The range of a buffer that importers get; size 0: to the end. The range
   * protects nothing: kernels of importers can access the whole buffer. */
  uint64_t offset;
  uint64_t size;
  /* The session that may import, "s-7"; NULL: any session of the daemon. */
  const char* session_id;
  /* The lifetime of the token in seconds, at most 24 hours. */
  double lifetime;
  /* The number of imports that the token allows. */
  uint32_t max_imports;
  /* The tenant whose sessions may import, "team-a"; NULL: any. */
  const char* tenant;
} hf_export_options;
#define HF_EXPORT_OPTIONS_INIT \
  { sizeof(hf_export_options), false, 0, 0, NULL, 60, 1, NULL }

/* Allocates memory that can be exported. The memory occupies a multiple of 2
 * MiB of the device. */
hf_error* hf_buffer_allocate_shared(hf_session* session, uint32_t device,
                                    uint64_t size, hf_buffer** buffer);
/* Writes a token of HF_TOKEN_BYTES to `token`. HF_FAILED_PRECONDITION: the
 * buffer was not made by hf_buffer_allocate_shared. Waits, but not for streams:
 * synchronize first, or share a semaphore. */
hf_error* hf_buffer_export(const hf_buffer* buffer,
                           const hf_export_options* options, uint8_t* token);
/* Imports memory that another session has exported. HF_NOT_FOUND: there is no
 * such token, or it has expired. Waits. */
hf_error* hf_buffer_import(hf_session* session, uint32_t device,
                           const uint8_t* token, hf_buffer** buffer);
/* Revokes the token: it cannot be imported any more. Present imports stay.
 * Waits. */
hf_error* hf_session_revoke_export(hf_session* session, const uint8_t* token);

/* Export and import an interprocess event. Streams of the importing session can
 * wait for the event's last recording; only the session that made the event
 * records it. When that session has ended, or a fault has dropped the
 * recording, all waits for the event end. Otherwise hf_event_export works as
 * hf_buffer_export, but refuses options->writable and a range. */
hf_error* hf_event_export(const hf_event* event,
                          const hf_export_options* options, uint8_t* token);
hf_error* hf_event_import(hf_session* session, uint32_t device,
                          const uint8_t* token, hf_event** event);
/* Makes a semaphore: a counter of 64 bits in device memory that streams of
 * several sessions signal and wait for, without the host. A stream that has
 * waited for a value sees all writes that the signalling stream made before it
 * signalled this value. Each signal must have a greater value than the one
 * before: a smaller value is written without an error, and later waits for
 * greater values block. */
hf_error* hf_semaphore_create(hf_session* session, uint32_t device,
                              uint64_t initial_value, hf_semaphore** semaphore);
/* Imports a semaphore that another session has exported. Waits. */
hf_error* hf_semaphore_import(hf_session* session, uint32_t device,
                              const uint8_t* token, hf_semaphore** semaphore);
void hf_semaphore_free(hf_semaphore* semaphore);
uint64_t hf_semaphore_handle(const hf_semaphore* semaphore);
hf_error* hf_semaphore_status(const hf_semaphore* semaphore);
/* Exports a semaphore as hf_buffer_export exports a buffer. */
hf_error* hf_semaphore_export(const hf_semaphore* semaphore,
                              const hf_export_options* options, uint8_t* token);
/* Sets the value when the stream reaches this operation; stream NULL: now. */
hf_error* hf_semaphore_signal(const hf_semaphore* semaphore, uint64_t value,
                              const hf_stream* stream);
/* Makes the stream wait until the semaphore is at least `value`. */
hf_error* hf_semaphore_wait(const hf_semaphore* semaphore, uint64_t value,
                            const hf_stream* stream);
/* Sets *value to the present value. Waits for the answer, not for streams. */
hf_error* hf_semaphore_value(const hf_semaphore* semaphore, uint64_t* value);

typedef struct hf_mapping_options {
  size_t struct_size;
  /* True: kernels of this process may write. False: a kernel that writes
   * faults, and this process loses its CUDA context. */
  bool writable;
  /* The driver's library; NULL: libcuda.so.1. */
  const char* driver;
  /* The ordinal of the device in this process. */
  int device;
} hf_mapping_options;
#define HF_MAPPING_OPTIONS_INIT \
  { sizeof(hf_mapping_options), false, NULL, 0 }

/* Maps a buffer of hf_buffer_allocate_shared or hf_collection_buffer in this
 * process, which has a CUDA context of its own. hf_mapping_pointer is then a
 * device pointer for kernels of this process, for PyTorch and for CuPy. The
 * memory stays as long as the mapping. HF_UNAVAILABLE: the driver cannot be
 * loaded. HF_FAILED_PRECONDITION: the daemon is on another machine. Waits. */
hf_error* hf_mapping_create(const hf_buffer* buffer,
                            const hf_mapping_options* options,
                            hf_mapping** mapping);
/* Map memory in two steps, for another process of the daemon's machine, which
 * needs no session. The process with the session exports the memory and passes
 * the struct on; the other process opens it, which is possible once. The struct
 * is a secret. options->session_id and tenant have to be NULL.
 * cuStreamWaitValue64 and, if writable, cuStreamWriteValue64 take a semaphore's
 * 64 bits. Each waits. */
typedef struct hf_local_export {
  uint8_t token[HF_TOKEN_BYTES];
  char address[112]; /* "unix:/path", where the descriptor is taken */
  uint64_t offset;   /* of the exported range in the mapping */
  uint64_t size;
  uint64_t mapped_size;
  bool read_only;
} hf_local_export;
hf_error* hf_buffer_export_local(const hf_buffer* buffer,
                                 const hf_export_options* options,
                                 hf_local_export* memory);
hf_error* hf_semaphore_export_local(const hf_semaphore* semaphore,
                                    const hf_export_options* options,
                                    hf_local_export* memory);
hf_error* hf_mapping_open(const hf_local_export* memory,
                          const hf_mapping_options* options,
                          hf_mapping** mapping);
/* REQUIRES: no kernel uses the memory any more. */
void hf_mapping_free(hf_mapping* mapping);
/* hf_mapping_sleep unmaps the memory and keeps its addresses. hf_mapping_wake
 * maps memory of the same layout at these addresses, so that pointers into the
 * mapping become valid again; it waits. HF_FAILED_PRECONDITION: the mapping is
 * awake, or the memory has another layout: make a new mapping. REQUIRES: no
 * kernel uses the memory when it goes to sleep, or until it is awake. */
hf_error* hf_mapping_sleep(hf_mapping* mapping);
hf_error* hf_mapping_wake(hf_mapping* mapping, const hf_local_export* memory);
uint64_t hf_mapping_pointer(const hf_mapping* mapping);
uint64_t hf_mapping_size(const hf_mapping* mapping);

/* The reverse of a mapping: makes a buffer of the session for memory of this
 * process's own CUDA context, such as PyTorch's or CuPy's, without a copy.
 * `pointer` is an address of options->device; options->writable is ignored,
 * because both sides may write. The streams of the two sides are not ordered.
 * Memory of cuMemAlloc must be kept as long as the buffer, and the session can
 * access the whole allocation that contains the bytes. HF_FAILED_PRECONDITION:
 * the daemon is on another machine, or the memory cannot be shared (memory of
 * cuMemAllocAsync, managed memory, more than one allocation). HF_UNAVAILABLE:
 * the driver cannot be loaded. HF_INVALID_ARGUMENT: the daemon's driver does
 * not accept the memory; the software device accepts only memory of
 * cuMemCreate. Waits. */
hf_error* hf_buffer_import_local(hf_session* session, uint32_t device,
                                 uint64_t pointer, uint64_t size,
                                 const hf_mapping_options* options,
                                 hf_buffer** buffer);

/* Pairs a stream with a CUstream of this process's own CUDA, CuPy's or
 * PyTorch's, so that both act as one stream: the work of each stream waits for
 * all earlier work of both. `handle` points to a CUstream, which must live as
 * long as the stream is given work; NULL: makes a CUstream, which ends with the
 * stream. *paired receives the CUstream. options->writable is ignored.
 * HF_ALREADY_EXISTS: the stream is paired already. HF_FAILED_PRECONDITION: the
 * daemon is on another machine. HF_UNAVAILABLE: the driver cannot be loaded.
 * Waits. */
hf_error* hf_stream_pair(const hf_stream* stream, const uint64_t* handle,
                         const hf_mapping_options* options, uint64_t* paired);

/* Memory for libraries that support only CUDA's older IPC. cuIpcOpenMemHandle
 * takes `handle` and maps `mapped_size` bytes for reading and writing, in which
 * the buffer begins at `offset`. The memory ends with the buffer or with the
 * session's executor; the report of a fault lists the buffer as lost. The
 * memory occupies exactly `size` bytes of the device. hf_buffer_ipc_handle
 * waits. */
typedef struct hf_ipc_memory {
  uint8_t handle[HF_IPC_HANDLE_BYTES];
  uint64_t offset;
  uint64_t size;
  uint64_t mapped_size;
} hf_ipc_memory;
hf_error* hf_buffer_allocate_ipc(hf_session* session, uint32_t device,
                                 uint64_t size, hf_buffer** buffer);
hf_error* hf_buffer_ipc_handle(const hf_buffer* buffer, hf_ipc_memory* memory);
/* Imports an allocation in a memory pool of this process. `fd` comes from
 * cuMemPoolExportToShareableHandle; `data`, HF_IPC_HANDLE_BYTES, comes from
 * cuMemPoolExportPointer. The allocation must be kept as long as the buffer. A
 * fault of the session loses the buffer. HF_FAILED_PRECONDITION: the daemon is
 * on another machine. Waits. */
hf_error* hf_buffer_import_pool(hf_session* session, uint32_t device, int fd,
                                const uint8_t* data, uint64_t size,
                                hf_buffer** buffer);

/* ------------------------------------------------------------- collections */

/* A collection is a named set of arrays in device memory that the daemon keeps
 * when its writer is gone: the weights of a model. Its versions are immutable,
 * and every session that opens one maps the same memory. */

/* One array. Its strings and numbers live as long as the collection or list
 * that it came from. */
typedef struct hf_array {
  const char* name;
  /* The name of the element type in safetensors: "F32", "BF16", "I64", "BOOL"
   * ... */
  const char* dtype;
  /* Elements; rank 0: a scalar. */
  const uint64_t* shape;
  size_t rank;
  /* Bytes; filled in by this library. */
  uint64_t size;
} hf_array;

/* Maps a version for reading; 0: the latest. HF_NOT_FOUND: there is no such
 * collection or version, or this client may not open it. Waits. */
hf_error* hf_collection_open(hf_session* session, uint32_t device,
                             const char* name, uint64_t version,
                             hf_collection** collection);
/* Frees the collection. Buffers of its arrays are not valid any more. */
void hf_collection_free(hf_collection* collection);
uint64_t hf_collection_version(const hf_collection* collection);
size_t hf_collection_array_count(const hf_collection* collection);
/* Returns array number `index` in the order of the names. REQUIRES: index <
 * count. */
hf_array hf_collection_array_at(const hf_collection* collection, size_t index);
/* The strides of the dimensions: the number of elements from one index of a
 * dimension to the next. NULL: C order. REQUIRES: index < count. */
const int64_t* hf_collection_array_strides(const hf_collection* collection,
                                           size_t index);
/* Makes a buffer for the memory of one array, which is read-only. The buffer is
 * valid as long as the collection. HF_NOT_FOUND: there is no such array. */
hf_error* hf_collection_array(const hf_collection* collection, const char* name,
                              hf_buffer** buffer);
/* Returns the place of an array: the index of its buffer, and its offset in the
 * buffer, in bytes. REQUIRES: index < count of arrays. */
void hf_collection_array_place(const hf_collection* collection, size_t index,
                               size_t* buffer, uint64_t* offset);
/* The number of buffers that contain the arrays; there are few, large buffers.
 * To use the arrays in a CUDA context of this process, map each buffer with
 * hf_mapping_create, not writable. Only the tenant that owns the collection can
 * do this. */
size_t hf_collection_buffer_count(const hf_collection* collection);
/* Returns buffer number `index`, which is valid as long as the collection.
 * HF_OUT_OF_RANGE: there is no such index. */
hf_error* hf_collection_buffer(const hf_collection* collection, size_t index,
                               hf_buffer** buffer);
/* Unmaps the memory and keeps its addresses and buffers. The session is no
 * longer a reader, so the version may be freed. Until hf_collection_wake,
 * commands that use the memory fail, and kernels of graphs that use it fault.
 * HF_FAILED_PRECONDITION: a stream of the session is not idle. REQUIRES: no
 * other call uses the object at the same time. Waits. */
hf_error* hf_collection_sleep(hf_collection* collection);
/* The version that was mapped before hf_collection_sleep. */
#define HF_SAME_VERSION UINT64_MAX
/* Maps a version again: HF_SAME_VERSION, another version, or 0, the latest.
 * *moved receives the number of arrays that have another address or type, or no
 * longer exist; buffers of all other arrays are valid again. Descriptions of
 * arrays that were returned before are not valid any more. After an error the
 * collection still sleeps, and the descriptions are valid. HF_NOT_FOUND: there
 * is no such version. HF_FAILED_PRECONDITION: the collection is awake.
 * REQUIRES: no other call uses the object at the same time. Waits. */
hf_error* hf_collection_wake(hf_collection* collection, uint64_t version,
                             size_t* moved);
/* Returns the name of a moved array of the last hf_collection_wake that
 * succeeded. The name lives until the next hf_collection_wake that succeeds.
 * REQUIRES: index < *moved. */
const char* hf_collection_moved_at(const hf_collection* collection,
                                   size_t index);
size_t hf_collection_metadata_count(const hf_collection* collection);
/* Returns the key number `index`, and sets *value. REQUIRES: index < count. */
const char* hf_collection_metadata_at(const hf_collection* collection,
                                      size_t index, const char** value);

/* Makes memory for a new version, in one piece. Fill the arrays, then commit;
 * until the commit no other session sees the arrays. The member `size` of
 * `arrays` is ignored. REQUIRES: the session outlives the writer. */
hf_error* hf_collection_writer_create(hf_session* session, uint32_t device,
                                      const hf_array* arrays, size_t count,
                                      hf_collection_writer** writer);
void hf_collection_writer_free(hf_collection_writer* writer);
/* Makes a buffer for the memory of array number `index`, in the order of
 * hf_collection_writer_create. The buffer is valid as long as the writer. */
hf_error* hf_collection_writer_array(const hf_collection_writer* writer,
                                     size_t index, hf_buffer** buffer);
/* Adds an array of an existing version, without a copy. The collection must
 * live until the commit. */
hf_error* hf_collection_writer_adopt(hf_collection_writer* writer,
                                     const hf_collection* collection,
                                     const char* array);
/* Waits for all streams, and makes the version, whose memory is read-only
 * afterwards. *version receives its number. `metadata`: text by key. Waits. */
hf_error* hf_collection_writer_commit(hf_collection_writer* writer,
                                      const char* name,
                                      const hf_named_bytes* metadata,
                                      size_t metadata_count, uint64_t* version);

/* For "create it if it does not exist, else open it": returns when the
 * collection has a version, or when this session has the sole right to write
 * one. The right ends with the claim or the session. Waits. */
hf_error* hf_write_claim_wait(hf_session* session, const char* name,
                              hf_write_claim** claim);
/* True if this session has the right, and must commit the collection. */
bool hf_write_claim_writes(const hf_write_claim* claim);
void hf_write_claim_free(hf_write_claim* claim);

/* Return JSON of ListCollectionsResponse and DescribeCollectionResponse in
 * proto/holdfast/v1/collections.proto. Version 0: the latest. Each waits. */
hf_error* hf_collections_list(hf_daemon* daemon, hf_text** json);
hf_error* hf_collections_describe(hf_daemon* daemon, const char* name,
                                  uint64_t version, hf_text** json);
/* Deletes a version; 0: all versions. *count receives the number of deleted
 * versions. Sessions that have opened a version keep its memory. Waits. */
hf_error* hf_collections_delete(hf_daemon* daemon, const char* name,
                                uint64_t version, uint32_t* count);
/* Changes the visibility and the number of kept versions of a collection.
 * `json`: ConfigureCollectionRequest. Waits. */
hf_error* hf_collections_configure(hf_daemon* daemon, const char* json);

typedef enum hf_change {
  HF_PRESENT = 1, /* existed when the watch began */
  HF_COMMITTED = 2,
  HF_DELETED = 3,
  HF_RETIRED = 4 /* cannot be opened any more; readers keep it */
} hf_change;

/* Begins to watch one collection; name NULL: all collections that the client
 * may see. */
hf_error* hf_watch_start(hf_daemon* daemon, const char* name, hf_watch** watch);
/* Returns one change a call: first HF_PRESENT for each existing version, then
 * each change as it occurs. *name lives until the next call. HF_CANCELLED:
 * hf_watch_cancel was called. Used by one thread at a time. Waits; the wait
 * hook is not called. */
hf_error* hf_watch_next(hf_watch* watch, hf_change* change, const char** name,
                        uint64_t* version);
/* The owner of the collection that the last hf_watch_next returned, "uid 1000".
 * The string lives until the next call of hf_watch_next. */
const char* hf_watch_owner(const hf_watch* watch);
/* Ends the hf_watch_next that waits in another thread, and all later calls of
 * hf_watch_next. */
void hf_watch_cancel(hf_watch* watch);
void hf_watch_free(hf_watch* watch);

/* --------------------------------------------------------------- operators */

/* These calls are for operators: the daemon's own user or root on a Unix
 * socket, or an identity that the policy names as an operator. Others get
 * HF_PERMISSION_DENIED. Each waits. HF_NOT_FOUND: there is no such session or
 * tenant. */

/* Ends a session of any client, "s-7". The client's later calls fail with
 * `reason`, which may be NULL, in their message. Returns when the session's
 * executor is gone. */
hf_error* hf_admin_end_session(hf_daemon* daemon, const char* session_id,
                               const char* reason);
/* Takes a session off its devices; its next command, or
 * hf_admin_resume_session, brings it back. `file`: the name of a new file in
 * the daemon's --suspend-directory; NULL: suspends to host memory. `timeout`:
 * the time in which the session's work must end, in seconds; 0: the daemon's
 * default. *bytes, if not NULL, receives the size of the session's device
 * memory. HF_FAILED_PRECONDITION: the message names the resource that cannot be
 * suspended, and the session continues. */
hf_error* hf_admin_suspend_session(hf_daemon* daemon, const char* session_id,
                                   const char* file, double timeout,
                                   uint64_t* bytes);
/* Resumes a suspended session. Returns when its memory is on its devices. */
hf_error* hf_admin_resume_session(hf_daemon* daemon, const char* session_id);
/* Makes the daemon refuse new sessions until hf_admin_stop_drain. Returns when
 * the open sessions have ended, or after `timeout` seconds; negative: no
 * timeout. *sessions_left receives the number of sessions that are left. */
hf_error* hf_admin_drain(hf_daemon* daemon, double timeout,
                         uint32_t* sessions_left);
/* Lets the daemon open sessions again. */
hf_error* hf_admin_stop_drain(hf_daemon* daemon);

/* Creates a tenant: an account with a quota, a weight and a bearer token, for
 * example for a job of a scheduler. `json`: CreateTenantRequest of
 * proto/holdfast/v1/admin.proto. *token receives the bearer token.
 * HF_ALREADY_EXISTS: the name is taken. */
hf_error* hf_tenants_create(hf_daemon* daemon, const char* json,
                            hf_text** token);
/* Ends the tenant. Returns when its sessions and collections are gone, and sets
 * *json to its usage: JSON of TenantInfo. `reason`, which may be NULL, is
 * reported to the tenant's clients. */
hf_error* hf_tenants_end(hf_daemon* daemon, const char* name,
                         const char* reason, hf_text** json);
/* Returns JSON of ListTenantsResponse: all tenants if the caller is an
 * operator, else only the caller's tenant. */
hf_error* hf_tenants_list(hf_daemon* daemon, hf_text** json);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_CLIENT_C_HOLDFAST_H_ */
