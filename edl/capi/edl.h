/* EDL for programs in other languages: one library, one header, no C++ in sight.
 *
 * A program describes what it trains by tensors that lie in its own memory, and gives a few
 * functions that EDL calls: make the state, compute a part of a step, apply a step. All of it is
 * called by one thread at a time. Strings are UTF-8 and end with a zero.
 *
 * The interface only grows: functions stay as they are, structures get new members at their end and
 * tell their size, codes keep their numbers. */
#ifndef EDL_CAPI_EDL_H
#define EDL_CAPI_EDL_H

#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): names as C has them */
#ifdef __cplusplus
extern "C" {
#endif

#define EDL_API_VERSION 1

typedef enum edl_code {
  EDL_OK = 0,
  EDL_INVALID = 1,      /* the request makes no sense: fix it */
  EDL_NOT_FOUND = 2,    /* there is no such thing */
  EDL_CONFLICT = 3,     /* somebody else was first: look again */
  EDL_UNAVAILABLE = 4,  /* not now: try again, perhaps elsewhere */
  EDL_TIMEOUT = 5,      /* the deadline passed; it may or may not have happened */
  EDL_VIEW_CHANGED = 6, /* the view this belonged to is over */
  EDL_CORRUPT = 7,      /* stored or received bytes are wrong: do not use them */
  EDL_EXHAUSTED = 8     /* a limit is reached: disk, memory, queue */
} edl_code;

/* EDL_API_VERSION of the library that is loaded. */
uint32_t edl_api_version(void);
/* One sentence about the last call of this thread that did not answer EDL_OK. */
const char* edl_last_message(void);
/* From within a function of the program, which then does not answer 0: why it failed. */
void edl_fail(const char* sentence);

/* Numbers in memory, as DLPack describes them. EDL takes those of the CPU that lie without gaps
 * (strides null, or those of a dense tensor in row order). */
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type; /* 1: CPU */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* 0 integers, 1 unsigned ones, 2 floating point, 4 bfloat16, 6 booleans */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
#endif

typedef enum edl_kind {
  EDL_PARAMETER = 1, /* trained: each part gives a gradient of it. float32 or float64 */
  EDL_BUFFER = 2,    /* changed by forward passes: averaged over parts, integers are of part 0 */
  EDL_STATE = 3 /* what else belongs to the state, by its whole name: optimizer/w/step, user/a */
} edl_kind;

/* What one logical worker computes in one step. */
typedef struct edl_part {
  uint64_t step;
  uint64_t epoch;
  uint64_t logical_worker;
  uint64_t step_samples; /* of all parts together */
  uint64_t micro_batch;  /* samples that are to be computed at a time */
  uint64_t seed;         /* of the job */
  uint64_t random_seed;  /* of what this part draws */
  uint64_t samples;
  const uint64_t* indices; /* of its samples, in order */
} edl_part;

typedef struct edl_measured {
  double loss;     /* summed over the samples of the part */
  double* metrics; /* likewise, as many as the description names */
  int32_t found_inf;
} edl_measured;

/* Where a part's gradients go. */
typedef struct edl_computing edl_computing;
/* A gradient of a parameter (in the order in which they were added), dense and of its type, for
 * `samples` samples of the part: the mean over them. Read when it returns. Each parameter once for
 * each micro batch; one that does not come is zero. */
edl_code edl_gradient(edl_computing* computing, uint32_t parameter, const void* numbers,
                      uint64_t samples);
/* The same without a copy: the tensor is the core's from now on, whatever it answers, and nobody
 * changes its numbers. The core calls its deleter when it has read them, on any thread. */
edl_code edl_gradient_given(edl_computing* computing, uint32_t parameter, DLManagedTensor* gradient,
                            uint64_t samples);
/* All that came for these samples at once, by parameter: numbers to be read, or a tensor that is
 * given, or neither where nothing came. `is_own`: not 0 where nobody else sees the numbers of the
 * tensor, so that the core may write there, too. */
edl_code edl_gradients(edl_computing* computing, const void* const* numbers,
                       DLManagedTensor* const* given, const uint8_t* is_own, uint64_t samples);

typedef struct edl_step {
  uint64_t step;
  uint64_t epoch;
  uint64_t samples;
  uint64_t seen;       /* samples that were trained on, with those of this step */
  double loss;         /* the mean over its samples */
  double lr_factor;    /* what the batch policy and the warm-up make of the learning rate */
  const char* lr_rule; /* none, linear, sqrt, piecewise, lars */
  int32_t found_inf;
  uint32_t members;             /* that computed it */
  uint32_t members_before;      /* in a view's first step: those of the view before; else 0 */
  const void* const* gradients; /* of each parameter; null when no part's loss depends on it */
  /* The same, with the zeros between them: all gradients of a type one behind the other. */
  uint32_t segments;
  const DLTensor* flat;
  /* Where it was evaluated before this step: means over the held-out samples, as the description
   * names them; else null. */
  const double* evaluation;
} edl_step;

typedef struct edl_applied {
  int32_t applied; /* 0: all members skip this step */
  int32_t saves;   /* 1: a checkpoint of the state after it is wanted */
  double lr;       /* that was used */
} edl_applied;

/* The program's functions: each answers 0, or something else after edl_fail. `context` is the
 * program's own. */
typedef struct edl_calls {
  uint64_t bytes; /* sizeof(edl_calls) */
  /* Makes the state before the first step, in the tensors that were added. */
  int (*initialise)(void* context, uint64_t seed);
  /* The bytes of the state were replaced. */
  int (*loaded)(void* context);
  int (*compute)(void* context, edl_computing* computing, const edl_part* part,
                 edl_measured* measured);
  int (*apply)(void* context, const edl_step* step, edl_applied* applied);
  /* Sums over the held-out samples [from, to), as many as the description names. */
  int (*evaluate)(void* context, uint64_t from, uint64_t to, double* sums);
  /* fork() as the program's language wants it to be called; null: that of the C library. */
  int (*fork)(void* context);
  /* A hint: the part that is computed after the next one, most likely. Null: of no use. */
  void (*upcoming)(void* context, const edl_part* part);
} edl_calls;

typedef struct edl_trainee edl_trainee;

/* `description` is a JSON object: `samples`; if the program cares `batch`, `epochs`, `steps`,
 * `logical_workers`, `seed`, `workers`, `checkpoint`, `batch_policy`, `batch_max`, `micro_batch`,
 * `lr_rule`, `warmup_samples`, `fingerprint` (an object of strings), `warnings`; and `metrics`,
 * `evaluation` (names), `held_out` (samples), `takes_one_sample`, `rehearses` (true: a worker that
 * joins computes a part for nobody, before it has a state). Null when it makes no sense. */
edl_trainee* edl_trainee_new(const edl_calls* calls, void* context, const char* description);
void edl_trainee_free(edl_trainee* trainee);
/* The tensor's memory stays the program's, and stays where it is. */
edl_code edl_trainee_add(edl_trainee* trainee, edl_kind kind, const char* name,
                         const DLTensor* tensor);

typedef enum edl_end {
  EDL_TRAINS = 0, /* as far as this worker knows */
  EDL_FINISHED = 1,
  EDL_STOPPED = 2
} edl_end;

/* What a worker knows of its job. It is of the view that computed the last step that was applied
 * here; before a worker's own first step, of the view that it computes in. Asked by the program's
 * functions, by others while one of them waits for these, and behind edl_work. */
typedef struct edl_facts {
  uint64_t bytes;           /* sizeof(edl_facts), set by who asks; what it lacks is not told */
  uint64_t generation;      /* of that view; 0: no step yet, and no view */
  uint64_t step;            /* that was applied last; 0: none */
  int32_t rank;             /* in the view; -1: it catches up with others, or computes again */
  uint32_t size;            /* members of the view */
  int32_t local_rank;       /* among those of its host; -1 like the rank */
  uint32_t local_size;      /* members of its host */
  uint32_t logical_workers; /* of the job; 0: it is in no view yet */
  int32_t end;              /* one of edl_end */
  const char* id;           /* of this worker; empty while the rank is -1 */
  const char* leader;       /* the id of who made the view; empty while the rank is -1 */
} edl_facts;
/* Its strings live until the next function of the program is called. */
edl_code edl_facts_of(const edl_trainee* trainee, edl_facts* facts);

/* The state after the last step that was applied, whatever a part under way does to buffers. Asked
 * like facts. Null when memory is short. */
typedef struct edl_copy edl_copy;
edl_copy* edl_copy_state(const edl_trainee* trainee);
void edl_copy_free(edl_copy* copy);
/* The state's hash, 64 letters that live as long as the copy. */
const char* edl_copy_hash(const edl_copy* copy);
/* Writes DIR/checkpoints/STEP, as a job's own directory has it; whole or not at all. */
edl_code edl_copy_write(const edl_copy* copy, const char* dir);

/* Records that lie one behind the other in files, numbered from 0 on: files by the bytes of their
 * names, then as they lie there. Never changes; by any thread, and behind a fork. `format` is
 * lines, fixed:BYTES, tfrecord or length32. Null when a file cannot be read. */
typedef struct edl_records edl_records;
edl_records* edl_records_open(const char* const* paths, uint64_t count, const char* format);
void edl_records_free(edl_records* records);
uint64_t edl_records_count(const edl_records* records);
typedef struct edl_record {
  const void* bytes; /* these and the name live as long as the records */
  uint64_t length;
  const char* file;
  uint64_t from; /* where it lies there, with what stands around it */
  uint64_t to;
} edl_record;
edl_code edl_records_read(const edl_records* records, uint64_t number, edl_record* record);

/* Whether an agent has started this process to train: then edl_work does what it wants. */
int edl_is_worker(void);
/* What must be done before this process has threads: tells about the program, or forks. Answers -1
 * in a process that is to work, else the exit code of one that has done its part. */
int edl_begin(edl_trainee* trainee);
/* Trains until the job is over or does without this worker; answers the process's exit code. By any
 * thread; the program's functions are called by another one. Begins, where that was not done. */
int edl_work(edl_trainee* trainee);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */

#endif
